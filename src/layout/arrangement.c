#include "layout/arrangement.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

enum { ARRANGEMENT_ALIGNED = 256 }; /* bytes, at multiples of which lines and matrices start */

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

static dm_status arrangement_inspect(const dm_arrangement *a, bool reads_c, choices *c) {
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
static bool arrangement_has_rows(const dm_distribution *c, int ranks, int64_t *sizes) {
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
  dm_status status = c && arrangement_has_rows(c, ranks, sizes)
                         ? dm_axis_of_sizes(sizes, ranks, rows)
                         : dm_axis_even(total, ranks, rows);
  free(sizes);
  return status;
}

/* The rows that take the place of GIVEN, without memory. *bytes: of the largest part. */
static dm_status arrangement_divide(const dm_run *run, const dm_distributed *callers,
                                    bool by_columns, const dm_distribution *c, dm_distributed *to,
                                    int64_t *bytes) {
  const dm_dtype dtype = callers->local.dtype;
  const int64_t cols = callers->of.cols.total, size = dm_dtype_size(dtype);
  int64_t most = 0;
  *to = (dm_distributed){.on_gpus = true};
  DM_TRY(divide_rows(c, callers->of.rows.total, run->ranks, &to->of.rows));
  for (int r = 0; r < run->ranks; r++) most = dm_max(most, dm_axis_size(&to->of.rows, r));
  const int64_t own = dm_axis_size(&to->of.rows, run->rank);
  const int64_t line = dm_round_up(by_columns ? most : cols, ARRANGEMENT_ALIGNED / size);
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
  int64_t travel, moving, bytes; /* for the travel; for a move; of all */
  int64_t at[3];                 /* of the moved matrices */
} need;

static dm_status add_bytes(int64_t more, int64_t *all) {
  if (dm_add_overflows(*all, dm_round_up(more, ARRANGEMENT_ALIGNED), all))
    return dm_fail(DM_E_FIT, "the size of a workspace overflows 64 bits");
  return DM_OK;
}

static dm_status open_moves(dm_arrangement *a, const choices *c, need *n) {
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
static dm_status move_set(dm_arrangement *a, const choices *c, int set, need *n) {
  for (int x = 0; x < 3; x++) {
    int64_t bytes;
    a->moved[x] = set & 1 << x;
    a->used[x] = a->callers[x];
    if (!a->moved[x]) continue;
    const bool follows = x == (int)DM_A && !(set & 1 << DM_C);
    DM_TRY(arrangement_divide(a->run, &a->callers[x], c->lying[x].rows_apart,
                              follows ? &a->callers[DM_C].of : NULL, &a->used[x], &bytes));
    n->at[x] = n->bytes;
    DM_TRY(add_bytes(bytes, &n->bytes));
  }
  return open_moves(a, c, n);
}

static dm_status agree_suited(const dm_arrangement *a, bool *suited) {
  int64_t unsuited = !dm_travel_is_suited(&a->travel);
  DM_TRY(dm_comm_max_i64(a->run->world, &unsuited, 1));
  *suited = !unsuited;
  return DM_OK;
}

static void set_matrices(const dm_arrangement *a, dm_whole_product *whole) {
  whole->a = a->used[DM_A].local;
  whole->b = a->used[DM_B].local;
  whole->c = a->used[DM_C].local;
}

/* *fits: with these matrices moved, in a workspace of N->bytes. */
static dm_status try_set(dm_arrangement *a, const choices *c, int set, dm_whole_product whole,
                         need *n, bool *fits) {
  *n = (need){0};
  DM_TRY(dm_comm_agree(a->run->world, move_set(a, c, set, n)));
  set_matrices(a, &whole);
  const dm_strip_widths *widths =
      dm_backend_prepares(a->backend) ? &dm_prepared_strips : &dm_plain_strips;
  DM_TRY(dm_travel_open(a->space, a->backend, a->run, a->used, &whole, widths, &a->travel,
                        &n->travel, fits));
  /* An op(A) that would travel to even rows of C is moved there instead. */
  if (a->moved[DM_C] && a->travel.both && !a->moved[DM_A]) *fits = false;
  a->area = dm_round_up(n->travel, ARRANGEMENT_ALIGNED);
  DM_TRY(add_bytes(a->area, &n->bytes));
  return add_bytes(n->moving, &n->bytes);
}

/* The moved matrices lie behind what travels and moves. */
static void arrangement_place(dm_arrangement *a, const need *n) {
  const int64_t behind = a->area + dm_round_up(n->moving, ARRANGEMENT_ALIGNED);
  for (int x = 0; x < 3; x++)
    if (a->moved[x] && !dm_view_is_empty(a->used[x].local))
      a->used[x].local.base = (char *)a->space->memory + behind + n->at[x];
}

static void close_set(dm_arrangement *a) {
  dm_travel_close(&a->travel);
  dm_relocation_close(&a->out);
  for (int x = 0; x < 3; x++) {
    dm_relocation_close(&a->in[x]);
    if (a->moved[x]) dm_distributed_close(&a->used[x]);
    a->moved[x] = false;
  }
}

dm_status dm_arrangement_open(dm_arrangement *a, const dm_whole_product *whole, bool reads_c,
                              bool *fits) {
  choices c = {.tried = 0};
  need n;
  *fits = false;
  DM_TRY(arrangement_inspect(a, reads_c, &c));
  for (int set; !*fits && (set = next_set(&c)) >= 0;) {
    bool there;
    close_set(a);
    DM_TRY(try_set(a, &c, set, *whole, &n, fits));
    if (!*fits) continue;
    DM_TRY(dm_workspace_open(a->space, a->run, a->backend, a->transport, n.bytes, &there));
    *fits = there;
    if (!there) return DM_OK; /* no other set needs much less */
    dm_whole_product placed = *whole;
    arrangement_place(a, &n);
    dm_arrangement_renew(a, &placed);
    DM_TRY(agree_suited(a, fits));
  }
  return DM_OK;
}

void dm_arrangement_close(dm_arrangement *arrangement) {
  close_set(arrangement);
  *arrangement = (dm_arrangement){0};
}

void dm_arrangement_renew(dm_arrangement *a, dm_whole_product *whole) {
  for (int x = 0; x < 3; x++)
    if (!a->moved[x]) a->used[x] = a->callers[x];
  set_matrices(a, whole);
  dm_travel_move(&a->travel, whole);
}

/* ---- moves ---- */

dm_status dm_arrangement_bring(dm_arrangement *a, bool reads_c) {
  for (int x = 0; x < (reads_c ? 3 : 2); x++)
    if (a->moved[x]) DM_TRY(dm_relocation_run(&a->in[x], a->travel.space, a->area));
  return DM_OK;
}

dm_status dm_arrangement_deliver(dm_arrangement *a) {
  return a->moved[DM_C] ? dm_relocation_run(&a->out, a->travel.space, a->area) : DM_OK;
}

/* ---- moving a matrix to the workspace ---- */

enum { FROM, TO };

/* ---- messages ---- */

/* From where to where elements are copied: from the caller's part to a message, on, or directly. */
typedef enum arrangement_way { ARRANGEMENT_PACK, ARRANGEMENT_UNPACK, STAY } arrangement_way;

typedef struct arrangement_message {
  int giver, taker;
  int64_t first, rows, cols; /* in this round; ROWS is 0: nothing */
} arrangement_message;

static arrangement_message arrangement_message_of(const dm_relocation *m, int giver, int taker,
                                                  int64_t round) {
  const int64_t pair = (int64_t)giver * m->run->ranks + taker, first = round * m->rounds.height;
  const int64_t rows = dm_max(0, dm_min(m->rounds.height, m->down[pair] - first));
  return (arrangement_message){giver, taker, first, rows, m->across[pair]};
}

/* Elements FIRST .. FIRST + COUNT of those along an axis that part FROM_PART gives TO_PART. */
typedef struct path {
  const dm_segments *segments;
  const dm_axis *from, *to;
  int from_part, to_part;
  int64_t first, count;
} path;

static bool is_on(const path *p, dm_segment s) {
  return p->from->runs[s.from].part == p->from_part && p->to->runs[s.to].part == p->to_part;
}

static int64_t length(const path *p) {
  int64_t all = 0;
  for (int64_t i = 0; i < p->segments->count; i++)
    if (is_on(p, p->segments->list[i])) all += p->segments->list[i].size;
  return all;
}

static int64_t arrangement_add(dm_copy_run *list, int64_t count, dm_copy_run one) {
  dm_copy_run *last = count > 0 ? &list[count - 1] : NULL;
  if (last && last->to + last->size == one.to && last->from + last->size == one.from) {
    last->size += one.size;
    return count;
  }
  list[count] = one;
  return count + 1;
}

static int64_t arrangement_runs_of(const path *p, arrangement_way how, dm_copy_run *list) {
  int64_t at = 0, count = 0;
  for (int64_t i = 0; i < p->segments->count; i++) {
    const dm_segment s = p->segments->list[i];
    if (!is_on(p, s)) continue;
    const int64_t begin = dm_max(at, p->first), end = dm_min(at + s.size, p->first + p->count);
    const int64_t place = s.begin + begin - at;
    const dm_axis_run *from = &p->from->runs[s.from], *to = &p->to->runs[s.to];
    if (begin < end)
      count = arrangement_add(
          list, count,
          (dm_copy_run){.to = how == ARRANGEMENT_PACK ? begin - p->first
                                                      : to->local + place - to->begin,
                        .from = how == ARRANGEMENT_UNPACK ? begin - p->first
                                                          : from->local + place - from->begin,
                        .size = end - begin});
    at += s.size;
  }
  return count;
}

/* The parts of the giver and of the taker; false: one has none. */
static bool paths_of(const dm_relocation *m, const arrangement_message *one, path *rows,
                     path *cols) {
  *rows = (path){.segments = &m->rows,
                 .from = &m->of[FROM].rows,
                 .to = &m->of[TO].rows,
                 .first = one->first,
                 .count = one->rows};
  *cols = (path){
      .segments = &m->cols, .from = &m->of[FROM].cols, .to = &m->of[TO].cols, .count = one->cols};
  return dm_distribution_parts(&m->of[FROM], one->giver, &rows->from_part, &cols->from_part) &&
         dm_distribution_parts(&m->of[TO], one->taker, &rows->to_part, &cols->to_part);
}

static dm_view local(const dm_relocation *m, const dm_distributed *end) {
  return m->by_columns ? dm_view_transpose(end->local) : end->local;
}

/* Copies ONE, a dense matrix at MEMORY of the workspace, or without it. */
static dm_status arrangement_copy(const dm_relocation *m, const arrangement_message *one,
                                  arrangement_way how, void *memory, dm_event *copied) {
  path rows, cols;
  if (one->rows == 0 || !paths_of(m, one, &rows, &cols)) return DM_OK;
  const dm_view dense =
      dm_view_strided(memory, m->from->local.dtype, DM_DEVICE, one->rows, one->cols, one->cols);
  const dm_copy_runs of = {.rows = m->row_list,
                           .row_count = arrangement_runs_of(&rows, how, m->row_list),
                           .cols = m->col_list,
                           .col_count = arrangement_runs_of(&cols, how, m->col_list)};
  const dm_view to = how == ARRANGEMENT_PACK ? dense : local(m, m->to);
  const dm_view from = how == ARRANGEMENT_UNPACK ? dense : local(m, m->from);
  dm_backend *backend = m->space->backend;
  if ((to.space == DM_HOST && m->to->pageable) || (from.space == DM_HOST && m->from->pageable))
    return dm_staging_copy_runs(&m->space->staging, backend, to, from, &of, copied);
  return dm_backend_copy_runs(backend, to, from, &of, copied);
}

static int64_t arrangement_bytes_of(const void *context, int giver, int taker, int64_t round) {
  const dm_relocation *m = context;
  const arrangement_message one = arrangement_message_of(m, giver, taker, round);
  return one.rows * one.cols * dm_dtype_size(m->from->local.dtype);
}

static dm_status copy_message(const void *context, int giver, int taker, int64_t round,
                              void *memory, dm_event *done) {
  const dm_relocation *m = context;
  const arrangement_message one = arrangement_message_of(m, giver, taker, round);
  return arrangement_copy(m, &one, giver == m->run->rank ? ARRANGEMENT_PACK : ARRANGEMENT_UNPACK,
                          memory, done);
}

static dm_status keep_own(const void *context, dm_event *done) {
  const dm_relocation *m = context;
  const int me = m->run->rank;
  const int64_t pair = (int64_t)me * (m->run->ranks + 1);
  const arrangement_message all = {me, me, 0, m->down[pair], m->across[pair]};
  return arrangement_copy(m, &all, STAY, NULL, done);
}

dm_status dm_relocation_run(dm_relocation *m, dm_workspace *space, int64_t at) {
  static const dm_exchange_ops ops = {
      .bytes = arrangement_bytes_of, .copy = copy_message, .keep = keep_own};
  m->space = space;
  return dm_exchange_run(&ops, m, m->run, space, at, &m->rounds);
}

/* ---- opening ---- */

/* What all pairs of ranks exchange; *widest: columns of a message. */
static int64_t arrangement_measure(dm_relocation *m, int64_t *widest) {
  const int ranks = m->run->ranks;
  int64_t most = 0;
  *widest = 1;
  for (int g = 0; g < ranks; g++)
    for (int t = 0; t < ranks; t++) {
      path rows, cols;
      const arrangement_message one = {.giver = g, .taker = t};
      if (!paths_of(m, &one, &rows, &cols)) continue;
      const int64_t down = length(&rows), across = length(&cols);
      if (down == 0 || across == 0) continue;
      m->down[(int64_t)g * ranks + t] = down;
      m->across[(int64_t)g * ranks + t] = across;
      if (g == t) continue;
      most = dm_max(most, down);
      *widest = dm_max(*widest, across);
    }
  return most;
}

static dm_status lay_rounds(dm_relocation *m, int64_t per_round) {
  int64_t widest, line;
  const int64_t most = arrangement_measure(m, &widest);
  DM_TRY(dm_bytes_of(1, widest, dm_dtype_size(m->from->local.dtype), &line));
  return dm_rounds_of(most, line, per_round, m->run->ranks, &m->rounds);
}

dm_status dm_relocation_open(const dm_run *run, const dm_distributed *from,
                             const dm_distributed *to, bool by_columns, int64_t per_round,
                             dm_relocation *m) {
  const int64_t pairs = (int64_t)run->ranks * run->ranks;
  *m = (dm_relocation){
      .run = run, .from = from, .to = to, .by_columns = by_columns, .of = {from->of, to->of}};
  for (int end = 0; end < 2 && by_columns; end++) dm_distribution_transpose(&m->of[end]);
  DM_TRY(dm_axis_cut(&m->of[FROM].rows, &m->of[TO].rows, &m->rows));
  DM_TRY(dm_axis_cut(&m->of[FROM].cols, &m->of[TO].cols, &m->cols));
  DM_TRY(dm_buffer_table(pairs, &m->down));
  DM_TRY(dm_buffer_table(pairs, &m->across));
  DM_TRY(dm_buffer_table(dm_max(1, m->rows.count), &m->row_list));
  DM_TRY(dm_buffer_table(dm_max(1, m->cols.count), &m->col_list));
  return lay_rounds(m, per_round);
}

void dm_relocation_close(dm_relocation *m) {
  dm_segments_free(&m->rows);
  dm_segments_free(&m->cols);
  free(m->down);
  free(m->across);
  free(m->row_list);
  free(m->col_list);
  *m = (dm_relocation){0};
}
