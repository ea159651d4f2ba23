#include "layout/layout_choice.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

enum { LAYOUT_CHOICE_ALIGNED = 256 }; /* bytes, at multiples of which lines and matrices start */

/* A rank should not multiply more than this share of an even part of C. */
static const double uneven = 1.5;

/* ---- choices ---- */

/* What is known of the matrices before one is chosen; the same on all ranks. */
typedef struct choices {
  dm_part_layout lying[3];
  bool stays[3];   /* it may stay where it is */
  int64_t cost[3]; /* bytes that a move of it takes */
  int tried;       /* a bit for each set of moved matrices */
} choices;

static bool is_even(const dm_distribution *c, int ranks) {
  const double all = (double)c->rows.total * (double)c->cols.total;
  dm_extent part;
  for (int r = 0; r < ranks; r++) {
    (void)dm_distribution_extent(c, r, &part);
    if ((double)dm_range_size(part.rows) * (double)dm_range_size(part.cols) > uneven * all / ranks)
      return false;
  }
  return true;
}

static bool is_contiguous(const dm_distribution *of, int ranks) {
  dm_extent part;
  bool all = true;
  for (int r = 0; r < ranks; r++) all = all && dm_distribution_extent(of, r, &part);
  return all;
}

static dm_status layout_choice_inspect(const dm_layout_choice *a, bool reads_c, choices *c) {
  const int ranks = a->run->ranks;
  for (int x = 0; x < 3; x++) {
    const dm_distribution *of = &a->callers[x].of;
    const dm_view local = a->callers[x].local;
    DM_TRY(dm_part_layout_of(a->run->world, local, &c->lying[x]));
    DM_TRY(dm_bytes_of(of->rows.total, of->cols.total, dm_dtype_size(local.dtype), &c->cost[x]));
    c->stays[x] =
        !c->lying[x].on_host && is_contiguous(of, ranks) && (x != (int)DM_C || is_even(of, ranks));
  }
  if (reads_c && dm_mul_overflows(c->cost[DM_C], 2, &c->cost[DM_C])) c->cost[DM_C] = INT64_MAX;
  return DM_OK;
}

/* The next set of matrices to move, the cheapest first; negative: there is none. */
static int next_set(choices *c) {
  int best = -1;
  double least = 0;
  for (int set = 0; set < 8; set++) {
    double cost = 0;
    bool possible = !(c->tried & 1 << set);
    for (int x = 0; x < 3; x++) {
      const bool moves = set & 1 << x;
      possible &= moves ? !c->lying[x].rows_apart || !c->lying[x].cols_apart : c->stays[x];
      cost += moves ? (double)c->cost[x] : 0;
    }
    if (!possible || (best >= 0 && cost >= least)) continue;
    best = set;
    least = cost;
  }
  if (best >= 0) c->tried |= 1 << best;
  return best;
}

/* ---- opening ---- */

/* Whether the ranks have whole rows of C, in their order: SIZES of them. */
static bool layout_choice_has_rows(const dm_distribution *c, int ranks, int64_t *sizes) {
  dm_extent part;
  int64_t at = 0;
  for (int r = 0; r < ranks; r++) {
    if (!dm_distribution_extent(c, r, &part)) return false;
    sizes[r] = dm_range_size(part.rows);
    if (sizes[r] > 0 && (part.rows.begin != at || dm_range_size(part.cols) != c->cols.total))
      return false;
    at += sizes[r];
  }
  return at == c->rows.total;
}

/* The rows of C that ranks have, or with C NULL even ones. */
static dm_status divide_rows(const dm_distribution *c, int64_t total, int ranks, dm_axis *rows) {
  int64_t *sizes = NULL;
  DM_TRY(dm_buffer_table(ranks, &sizes));
  dm_status status = c && layout_choice_has_rows(c, ranks, sizes)
                         ? dm_axis_of_sizes(sizes, ranks, rows)
                         : dm_axis_even(total, ranks, rows);
  free(sizes);
  return status;
}

/* The rows that take the place of GIVEN, without memory. *bytes: of the largest part. */
static dm_status layout_choice_divide(const dm_run *run, const dm_distributed *callers,
                                      bool by_columns, const dm_distribution *c, dm_distributed *to,
                                      int64_t *bytes) {
  const dm_dtype dtype = callers->local.dtype;
  const int64_t cols = callers->of.cols.total, size = dm_dtype_size(dtype);
  int64_t most = 0;
  *to = (dm_distributed){.on_gpus = true};
  DM_TRY(divide_rows(c, callers->of.rows.total, run->ranks, &to->of.rows));
  for (int r = 0; r < run->ranks; r++) most = dm_max(most, dm_axis_size(&to->of.rows, r));
  const int64_t own = dm_axis_size(&to->of.rows, run->rank);
  const int64_t line = dm_round_up(by_columns ? most : cols, LAYOUT_CHOICE_ALIGNED / size);
  DM_TRY(dm_bytes_of(line, by_columns ? cols : most, size, bytes));
  DM_TRY(dm_axis_of_sizes(&cols, 1, &to->of.cols));
  DM_TRY(dm_distribution_ranks(&to->of));
  for (int r = 0; r < run->ranks; r++) to->of.ranks[r] = r;
  to->local = dm_view_strided(NULL, dtype, DM_DEVICE, by_columns ? cols : own,
                              by_columns ? own : cols, line);
  if (by_columns) to->local = dm_view_transpose(to->local);
  if (own == 0) to->local = (dm_view){.dtype = dtype};
  return DM_OK;
}

typedef struct need {
  int64_t broadcast, moving, bytes; /* for the broadcast; for a move; of all */
  int64_t at[3];                    /* of the moved matrices */
} need;

static dm_status add_bytes(int64_t more, int64_t *all) {
  if (dm_add_overflows(*all, dm_round_up(more, LAYOUT_CHOICE_ALIGNED), all))
    return dm_fail(DM_E_FIT, "the size of a workspace overflows 64 bits");
  return DM_OK;
}

static dm_status open_moves(dm_layout_choice *a, const choices *c, need *n) {
  for (int x = 0; x < 3; x++) {
    const bool by_columns = c->lying[x].rows_apart;
    if (!a->moved[x]) continue;
    DM_TRY(dm_relocation_open(a->run, &a->callers[x], &a->used[x], by_columns, 0, &a->in[x]));
    n->moving = dm_max(n->moving, a->in[x].rounds.bytes);
    if (x != (int)DM_C) continue;
    DM_TRY(dm_relocation_open(a->run, &a->used[x], &a->callers[x], by_columns, 0, &a->out));
    n->moving = dm_max(n->moving, a->out.rounds.bytes);
  }
  return DM_OK;
}

/* Chooses where the matrices of SET are moved to. */
static dm_status move_set(dm_layout_choice *a, const choices *c, int set, need *n) {
  for (int x = 0; x < 3; x++) {
    int64_t bytes;
    a->moved[x] = set & 1 << x;
    a->used[x] = a->callers[x];
    if (!a->moved[x]) continue;
    const bool follows = x == (int)DM_A && !(set & 1 << DM_C);
    DM_TRY(layout_choice_divide(a->run, &a->callers[x], c->lying[x].rows_apart,
                                follows ? &a->callers[DM_C].of : NULL, &a->used[x], &bytes));
    n->at[x] = n->bytes;
    DM_TRY(add_bytes(bytes, &n->bytes));
  }
  return open_moves(a, c, n);
}

static dm_status agree_suited(const dm_layout_choice *a, bool *suited) {
  int64_t unsuited = !dm_broadcast_is_suited(&a->broadcast);
  DM_TRY(dm_comm_max_i64(a->run->world, &unsuited, 1));
  *suited = !unsuited;
  return DM_OK;
}

static void set_matrices(const dm_layout_choice *a, dm_whole_product *whole) {
  whole->a = a->used[DM_A].local;
  whole->b = a->used[DM_B].local;
  whole->c = a->used[DM_C].local;
}

/* *fits: with these matrices moved, in a workspace of N->bytes. */
static dm_status try_set(dm_layout_choice *a, const choices *c, int set, dm_whole_product whole,
                         need *n, bool *fits) {
  *n = (need){0};
  DM_TRY(dm_comm_agree(a->run->world, move_set(a, c, set, n)));
  set_matrices(a, &whole);
  const dm_strip_widths *widths =
      dm_backend_prepares(a->backend) ? &dm_prepared_strips : &dm_plain_strips;
  DM_TRY(dm_broadcast_open(a->space, a->backend, a->run, a->used, &whole, widths, &a->broadcast,
                           &n->broadcast, fits));
  /* An op(A) that would travel to even rows of C is moved there instead. */
  if (a->moved[DM_C] && a->broadcast.both && !a->moved[DM_A]) *fits = false;
  a->area = dm_round_up(n->broadcast, LAYOUT_CHOICE_ALIGNED);
  DM_TRY(add_bytes(a->area, &n->bytes));
  return add_bytes(n->moving, &n->bytes);
}

/* The moved matrices lie behind what travels and moves. */
static void layout_choice_place(dm_layout_choice *a, const need *n) {
  const int64_t behind = a->area + dm_round_up(n->moving, LAYOUT_CHOICE_ALIGNED);
  for (int x = 0; x < 3; x++)
    if (a->moved[x] && !dm_view_is_empty(a->used[x].local))
      a->used[x].local.base = (char *)a->space->memory + behind + n->at[x];
}

static void close_set(dm_layout_choice *a) {
  dm_broadcast_close(&a->broadcast);
  dm_relocation_close(&a->out);
  for (int x = 0; x < 3; x++) {
    dm_relocation_close(&a->in[x]);
    if (a->moved[x]) dm_distributed_close(&a->used[x]);
    a->moved[x] = false;
  }
}

dm_status dm_layout_choice_open(dm_layout_choice *a, const dm_whole_product *whole, bool reads_c,
                                bool *fits) {
  choices c = {.tried = 0};
  need n;
  *fits = false;
  DM_TRY(layout_choice_inspect(a, reads_c, &c));
  for (int set; !*fits && (set = next_set(&c)) >= 0;) {
    bool there;
    close_set(a);
    DM_TRY(try_set(a, &c, set, *whole, &n, fits));
    if (!*fits) continue;
    DM_TRY(dm_workspace_open(a->space, a->run, a->backend, a->transport, n.bytes, &there));
    *fits = there;
    if (!there) return DM_OK; /* no other set needs much less */
    dm_whole_product placed = *whole;
    layout_choice_place(a, &n);
    dm_layout_choice_renew(a, &placed);
    DM_TRY(agree_suited(a, fits));
  }
  return DM_OK;
}

void dm_layout_choice_close(dm_layout_choice *choice) {
  close_set(choice);
  *choice = (dm_layout_choice){0};
}

void dm_layout_choice_renew(dm_layout_choice *a, dm_whole_product *whole) {
  for (int x = 0; x < 3; x++)
    if (!a->moved[x]) a->used[x] = a->callers[x];
  set_matrices(a, whole);
  dm_broadcast_move(&a->broadcast, whole);
}

/* ---- moves ---- */

dm_status dm_layout_choice_bring(dm_layout_choice *a, bool reads_c) {
  for (int x = 0; x < (reads_c ? 3 : 2); x++)
    if (a->moved[x]) DM_TRY(dm_relocation_run(&a->in[x], a->broadcast.space, a->area));
  return DM_OK;
}

dm_status dm_layout_choice_deliver(dm_layout_choice *a) {
  return a->moved[DM_C] ? dm_relocation_run(&a->out, a->broadcast.space, a->area) : DM_OK;
}
