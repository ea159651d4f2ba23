#include "layout/broadcast.h"

#include <stdlib.h>

#include "backend/whole_product.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "transport/transport_table.h"

enum { BROADCAST_TILE = 256 }; /* bytes, at multiples of which matrices start */

const dm_strip_widths dm_plain_strips = {64, 4, 4, (int64_t)512 << 20};
const dm_strip_widths dm_prepared_strips = {16, 8, 2, (int64_t)1 << 30};

/* ---- strips ---- */

enum { BROADCAST_STEP = 128 };

static bool broadcast_is_same(dm_range a, dm_range b) {
  return a.begin == b.begin && a.end == b.end;
}

static bool broadcast_holds(dm_range outer, dm_range inner) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

/* Whether each rank's rows of C are its rows of A, all columns of them. */
static bool broadcast_has_rows(const dm_distribution *a, const dm_distribution *c, int ranks) {
  dm_extent of_a, of_c;
  for (int r = 0; r < ranks; r++) {
    if (!dm_distribution_extent(a, r, &of_a) || !dm_distribution_extent(c, r, &of_c)) return false;
    if (dm_range_size(of_c.rows) == 0) continue;
    if (!broadcast_is_same(of_a.rows, of_c.rows) || dm_range_size(of_a.cols) != a->cols.total)
      return false;
  }
  return true;
}

/* ---- groups of columns ---- */

static void add_group(dm_strips *s, dm_range cols) {
  if (dm_range_size(cols) == 0) return;
  for (int g = 0; g < s->groups; g++)
    if (broadcast_is_same(s->group[g], cols)) return;
  s->group[s->groups++] = cols;
}

/* Whether each rank that has any of COLS has all columns. */
static bool has_all(const dm_range *cols, int ranks, int64_t all) {
  for (int r = 0; r < ranks; r++) {
    const int64_t size = dm_range_size(cols[r]);
    if (size > 0 && size < all) return false;
  }
  return true;
}

/* At each strip a rank gives one piece: to all ranks, to one after the other, or to those that need
 * the same columns as it has. Images need columns that are one rank's rows of C. */
static bool broadcast_group(dm_strips *s, const dm_distribution *of) {
  const int64_t all = of->cols.total;
  const bool needs_all = has_all(s->wanted, s->ranks, all), has = has_all(s->cols, s->ranks, all);
  const dm_range *cols = has && s->mirrored  ? s->mirrored->rows
                         : has && !needs_all ? s->wanted
                                             : s->cols;
  int64_t covered = 0;
  s->own = !needs_all && !has;
  for (int r = 0; r < s->ranks; r++) add_group(s, cols[r]);
  for (int g = 0; g < s->groups; g++) covered += dm_range_size(s->group[g]);
  if (covered != all) return false;
  for (int r = 0; r < s->ranks && s->own; r++) {
    const bool both = dm_range_size(s->wanted[r]) > 0 && dm_range_size(s->cols[r]) > 0;
    bool known = dm_range_size(s->wanted[r]) == 0;
    for (int g = 0; g < s->groups; g++) known |= broadcast_is_same(s->group[g], s->wanted[r]);
    if (!known || (both && !broadcast_is_same(s->cols[r], s->wanted[r]))) return false;
  }
  return true;
}

/* ---- cuts ---- */

static int64_t widest(const dm_strips *s) {
  int64_t cols = 0;
  for (int g = 0; g < s->groups; g++) cols = dm_max(cols, dm_range_size(s->group[g]));
  return cols;
}

/* The first strip is narrow, as nothing can be multiplied before it is there; the next are wider by
 * what arrives meanwhile. */
static dm_status broadcast_cut(dm_strips *s, const dm_strip_widths *of, int64_t most) {
  const int64_t cols = widest(s);
  const int64_t cap = dm_max(
      BROADCAST_STEP, dm_min(most, dm_round_up(dm_ceil_div(cols, of->share), BROADCAST_STEP)));
  DM_TRY(dm_buffer_table(3 + dm_ceil_div(cols, BROADCAST_STEP), &s->bounds));
  int64_t width = dm_min(cap, dm_round_up(dm_ceil_div(cols, of->first), BROADCAST_STEP));
  for (int64_t at = 0; at < cols;) {
    const int64_t left = cols - at;
    if (s->slices > 0) {
      const int64_t more = dm_ceil_div(left, dm_min(cap, width * of->growth));
      width = dm_min(cap, dm_round_up(dm_ceil_div(left, more), BROADCAST_STEP));
    }
    at += dm_min(width, left);
    s->most_cols = dm_max(s->most_cols, at - s->bounds[s->slices]);
    s->bounds[++s->slices] = at;
  }
  s->count = s->own ? s->slices : s->slices * s->groups;
  return DM_OK;
}

dm_status dm_strips_open(const dm_distribution *of, const dm_distribution *c, int ranks,
                         const dm_mirror_rows *mirrored, int64_t size,
                         const dm_strip_widths *widths, dm_strips *s, bool *fits) {
  dm_extent part, needed;
  *s = (dm_strips){.ranks = ranks, .mirrored = mirrored, .depth = of->rows.total};
  *fits = true;
  DM_TRY(dm_buffer_table(ranks, &s->rows));
  DM_TRY(dm_buffer_table(ranks, &s->cols));
  DM_TRY(dm_buffer_table(ranks, &s->wanted));
  DM_TRY(dm_buffer_table(ranks, &s->group));
  for (int r = 0; r < ranks && *fits; r++) {
    *fits = dm_distribution_extent(of, r, &part) && dm_distribution_extent(c, r, &needed);
    s->rows[r] = part.rows;
    s->cols[r] = part.cols;
    s->wanted[r] = needed.cols;
  }
  if (*fits) *fits = broadcast_group(s, of);
  if (!*fits) return DM_OK;
  return broadcast_cut(s, widths,
                       widths->most / dm_max(1, s->depth * size) / BROADCAST_STEP * BROADCAST_STEP);
}

/* One strip for all columns of a group, of a matrix that every rank has. */
static void unite(dm_strips *s) {
  s->bounds[1] = widest(s);
  s->slices = 1;
  s->count = s->own ? 1 : s->groups;
  s->most_cols = 0;
}

void dm_strips_close(dm_strips *s) {
  free(s->rows);
  free(s->cols);
  free(s->wanted);
  free(s->group);
  free(s->bounds);
  *s = (dm_strips){0};
}

/* ---- strips ---- */

dm_range dm_strips_cols(const dm_strips *s, int64_t strip, int rank) {
  const bool needs = dm_range_size(s->wanted[rank]) > 0;
  const dm_range all = !s->own ? s->group[strip % s->groups]
                       : needs ? s->wanted[rank]
                               : s->cols[rank];
  const int64_t slice = s->own ? strip : strip / s->groups;
  const int64_t near = s->bounds[slice], far = s->bounds[slice + 1];
  if (s->mirrored) /* every rank needs the last columns first */
    return (dm_range){dm_max(all.begin, all.end - far), dm_max(all.begin, all.end - near)};
  return (dm_range){dm_min(all.end, all.begin + near), dm_min(all.end, all.begin + far)};
}

bool dm_strips_gives(const dm_strips *s, int64_t strip, int rank) {
  const dm_range cols = dm_strips_cols(s, strip, rank);
  return dm_range_size(cols) > 0 && dm_range_size(s->rows[rank]) > 0 &&
         broadcast_holds(s->cols[rank], cols);
}

bool dm_strips_takes(const dm_strips *s, int64_t strip, int rank) {
  const dm_range cols = dm_strips_cols(s, strip, rank);
  return dm_range_size(cols) > 0 && dm_range_size(s->wanted[rank]) > 0 &&
         broadcast_holds(s->wanted[rank], cols) &&
         (!s->mirrored || dm_mirror_rows_need(s->mirrored, rank, cols));
}

bool dm_strips_needs(const dm_strips *s, int64_t strip, int except) {
  bool needed = false;
  for (int r = 0; r < s->ranks; r++) needed |= r != except && dm_strips_takes(s, strip, r);
  return needed;
}

bool dm_strips_moves(const dm_strips *s, int64_t strip, int giver, int taker) {
  return dm_strips_gives(s, strip, giver) && dm_strips_takes(s, strip, taker) &&
         broadcast_is_same(dm_strips_cols(s, strip, giver), dm_strips_cols(s, strip, taker));
}

/* ---- order ---- */

int64_t dm_broadcast_items(const dm_broadcast *t) {
  return t->carried[DM_RIGHT].strips.count + (t->both ? t->carried[DM_LEFT].strips.count : 0);
}

/* The strips of op(A)^T are multiplied by the first one of op(B) as they arrive. */
dm_item dm_broadcast_item(const dm_broadcast *t, int64_t index) {
  const int64_t left = t->both ? t->carried[DM_LEFT].strips.count : 0;
  if (index > 0 && index <= left) return (dm_item){DM_LEFT, index - 1};
  return (dm_item){DM_RIGHT, index > 0 ? index - left : 0};
}

/* With BOTH, the first one keeps its slot until all of op(A)^T has arrived. */
static int64_t broadcast_slot_of(const dm_broadcast *t, int64_t index) {
  if (!t->both) return index % t->slots;
  return index == 0 ? t->slots : (index - 1) % t->slots;
}

int64_t dm_broadcast_before(const dm_broadcast *t, int64_t index) {
  return t->both && index <= t->slots ? -1 : index - t->slots;
}

/* ---- places ---- */

int64_t dm_broadcast_place(const dm_broadcast *t, int64_t index) {
  return broadcast_slot_of(t, index) * t->slot_bytes;
}

int64_t dm_broadcast_bytes(const dm_broadcast *t, int64_t rows, int64_t cols) {
  return rows * cols * dm_dtype_size(t->carried[DM_RIGHT].part.dtype);
}

dm_view dm_broadcast_dense(const dm_broadcast *t, dm_hand hand, char *at, int64_t rows,
                           int64_t cols) {
  const dm_carried *c = &t->carried[hand];
  if (!c->by_columns) return dm_view_strided(at, c->part.dtype, DM_DEVICE, rows, cols, cols);
  return dm_view_transpose(dm_view_strided(at, c->part.dtype, DM_DEVICE, cols, rows, rows));
}

bool dm_broadcast_joins(const dm_broadcast *t, dm_hand hand) {
  const dm_carried *c = &t->carried[hand];
  return hand == DM_LEFT || (c->by_columns && c->split && dm_view_is_empty(c->replica));
}

/* Op(A)^T of this rank's rows. */
static dm_view broadcast_gathered(const dm_broadcast *t) {
  return dm_broadcast_dense(t, DM_LEFT, (char *)t->space->memory + t->gathered,
                            t->carried[DM_LEFT].strips.depth, t->whole.c.rows);
}

/* Where products read STRIP of op(B), which came in as item INDEX. */
static dm_view broadcast_operand(const dm_broadcast *t, int64_t index, int64_t strip) {
  const dm_strips *s = &t->carried[DM_RIGHT].strips;
  const dm_range of = dm_strips_cols(s, strip, t->run->rank);
  const int64_t cols = dm_range_size(of);
  const dm_view whole = t->carried[DM_RIGHT].replica;
  if (!dm_view_is_empty(whole)) return dm_view_sub(whole, 0, of.begin, s->depth, cols);
  const int64_t at = dm_broadcast_joins(t, DM_RIGHT) ? t->joined + strip % DM_JOINED * t->slot_bytes
                                                     : dm_broadcast_place(t, index);
  return dm_broadcast_dense(t, DM_RIGHT, (char *)t->space->memory + at, s->depth, cols);
}

dm_view dm_broadcast_joined(const dm_broadcast *t, int64_t index) {
  const dm_item item = dm_broadcast_item(t, index);
  if (item.hand == DM_RIGHT) return broadcast_operand(t, index, item.strip);
  const dm_strips *s = &t->carried[DM_LEFT].strips;
  const dm_range rows = dm_strips_cols(s, item.strip, t->run->rank);
  return dm_view_sub(broadcast_gathered(t), 0, rows.begin - s->wanted[t->run->rank].begin, s->depth,
                     dm_range_size(rows));
}

int dm_broadcast_read(const dm_broadcast *t, int64_t strip) {
  if (dm_broadcast_joins(t, DM_RIGHT)) return (int)(strip % DM_JOINED);
  const int64_t left = t->both && strip > 0 ? t->carried[DM_LEFT].strips.count : 0;
  return (int)broadcast_slot_of(t, strip + left);
}

/* ---- products ---- */

bool dm_broadcast_product(const dm_broadcast *t, int64_t index, dm_whole_product *product,
                          dm_extent *part, int64_t *strip) {
  const dm_item item = dm_broadcast_item(t, index);
  const int rank = t->run->rank;
  const bool left = item.hand == DM_LEFT;
  const dm_strips *right = &t->carried[DM_RIGHT].strips;
  *strip = left ? 0 : item.strip;
  if (t->both && index == 0) return false;
  if (left && !dm_strips_takes(&t->carried[DM_LEFT].strips, item.strip, rank)) return false;
  if (!dm_strips_takes(right, *strip, rank)) return false;
  const dm_range cols = dm_strips_cols(right, *strip, rank);
  const int64_t col = cols.begin - right->wanted[rank].begin, width = dm_range_size(cols);
  dm_range rows = {0, t->whole.c.rows};
  if (left) {
    const dm_strips *s = &t->carried[DM_LEFT].strips;
    const int64_t first = s->wanted[rank].begin;
    rows = dm_strips_cols(s, item.strip, rank);
    rows = (dm_range){rows.begin - first, rows.end - first};
  }
  const dm_view a = t->both ? dm_view_transpose(broadcast_gathered(t)) : t->whole.a;
  *part = (dm_extent){rows, {col, col + width}};
  *product = dm_whole_part(&t->whole, rows.begin, dm_range_size(rows), col, width);
  product->symmetric = false;
  product->a = dm_view_sub(a, rows.begin, 0, dm_range_size(rows), a.cols);
  product->b = broadcast_operand(t, left ? 0 : index, *strip);
  return true;
}

bool dm_broadcast_square(const dm_broadcast *t, dm_whole_product *square) {
  if (!t->mirrored.rows || t->whole.c.rows == 0) return false;
  const int64_t rows = t->whole.c.rows;
  *square = dm_whole_part(&t->whole, 0, rows, t->mirrored.rows[t->run->rank].begin, rows);
  if (t->both) square->a = dm_view_transpose(broadcast_gathered(t));
  square->b = dm_view_transpose(square->a);
  return true;
}

bool dm_broadcast_is_suited(const dm_broadcast *t) {
  dm_whole_product one;
  dm_extent part;
  int64_t strip;
  if (t->split_k.parts) {
    one = dm_split_k_product(&t->split_k, t->space, t->run->rank, &t->whole);
    return dm_backend_can_multiply(t->space->backend, &one);
  }
  if (dm_broadcast_square(t, &one) && !dm_backend_can_multiply(t->space->backend, &one))
    return false;
  for (int64_t i = 0; i < dm_broadcast_items(t); i++)
    if (dm_broadcast_product(t, i, &one, &part, &strip) &&
        !dm_backend_can_multiply(t->space->backend, &one))
      return false;
  return true;
}

/* ---- opening ---- */

typedef struct three {
  dm_distribution a, b, c;
} three;

void dm_broadcast_move(dm_broadcast *t, const dm_whole_product *whole) {
  const dm_view copy = t->matrix[t->turned ? DM_A : DM_B].replica;
  t->whole = t->turned ? dm_whole_transposed(whole) : *whole;
  t->carried[DM_RIGHT].replica = t->turned ? dm_view_transpose(copy) : copy;
  t->carried[DM_RIGHT].part = t->whole.b;
  t->carried[DM_LEFT].part = dm_view_transpose(t->whole.a);
}

static void broadcast_turn(dm_broadcast *t, three *of) {
  const dm_whole_product whole = t->whole;
  const dm_distribution a = of->a;
  t->turned = !t->turned;
  t->whole = dm_whole_transposed(&whole);
  of->a = of->b;
  of->b = a;
  dm_distribution_transpose(&of->a);
  dm_distribution_transpose(&of->b);
  dm_distribution_transpose(&of->c);
}

/* Each rank has rows of a symmetric C. */
static dm_status open_mirrored(dm_broadcast *t, const dm_distribution *c, bool *fits) {
  const int ranks = t->run->ranks;
  dm_range *rows;
  dm_extent part;
  DM_TRY(dm_buffer_table(ranks, &rows));
  for (int r = 0; r < ranks && *fits; r++) {
    *fits = dm_distribution_extent(c, r, &part) &&
            (dm_range_size(part.rows) == 0 || dm_range_size(part.cols) == c->cols.total);
    rows[r] = part.rows;
  }
  return dm_mirror_rows_open(rows, ranks, dm_dtype_size(t->whole.c.dtype),
                             dm_whole_is_hermitian(&t->whole), &t->mirrored, &t->mirrored_bytes);
}

static dm_status broadcast_open_strips(dm_broadcast *t, three *of, bool *fits) {
  const int ranks = t->run->ranks;
  const int64_t size = dm_dtype_size(t->whole.a.dtype);
  *fits = true;
  if (t->whole.symmetric) DM_TRY(open_mirrored(t, &of->c, fits));
  if (!*fits) return DM_OK;
  DM_TRY(dm_strips_open(&of->b, &of->c, ranks, t->whole.symmetric ? &t->mirrored : NULL, size,
                        t->widths, &t->carried[DM_RIGHT].strips, fits));
  if (*fits && !dm_view_is_empty(t->matrix[t->turned ? DM_A : DM_B].replica))
    unite(&t->carried[DM_RIGHT].strips);
  if (!*fits || !t->both) return DM_OK;
  dm_distribution_transpose(&of->a);
  dm_distribution_transpose(&of->c);
  return dm_strips_open(&of->a, &of->c, ranks, NULL, size, t->widths, &t->carried[DM_LEFT].strips,
                        fits);
}

/* The matrix that is multiplied as it arrives has contiguous rows, if one has. */
static dm_status choose_hands(dm_broadcast *t, three *of) {
  dm_part_layout b;
  if (broadcast_has_rows(&of->a, &of->c, t->run->ranks)) return DM_OK;
  broadcast_turn(t, of);
  if (broadcast_has_rows(&of->a, &of->c, t->run->ranks)) return DM_OK;
  broadcast_turn(t, of);
  t->both = true;
  DM_TRY(dm_part_layout_of(t->run->world, t->whole.b, &b));
  if (b.rows_apart) broadcast_turn(t, of);
  return DM_OK;
}

/* Pieces have contiguous rows or columns, as the ranks' parts. */
static dm_status broadcast_choose_order(const dm_broadcast *t, dm_carried *c, bool *fits) {
  dm_part_layout part;
  DM_TRY(dm_part_layout_of(t->run->world, c->part, &part));
  c->by_columns = part.rows_apart;
  for (int r = 0; r < t->run->ranks; r++) {
    const int64_t rows = dm_range_size(c->strips.rows[r]);
    c->split |= rows > 0 && rows < c->strips.depth;
  }
  *fits = !part.rows_apart || !part.cols_apart;
  return DM_OK;
}

/* Images have rows. */
static dm_status c_has_rows(const dm_broadcast *t, bool *fits) {
  dm_part_layout c;
  DM_TRY(dm_part_layout_of(t->run->world, t->whole.c, &c));
  *fits = !c.rows_apart;
  return DM_OK;
}

/* The places of the workspace, the same on all ranks. */
static dm_status broadcast_lay_out(dm_broadcast *t, int64_t *bytes) {
  const int64_t size = dm_dtype_size(t->whole.a.dtype);
  const dm_carried *left = &t->carried[DM_LEFT], *right = &t->carried[DM_RIGHT];
  int64_t most = 0, area = 0;
  for (int r = 0; r < t->run->ranks && t->both; r++)
    most = dm_max(most, dm_range_size(left->strips.wanted[r]));
  DM_TRY(dm_bytes_of(right->strips.depth, dm_max(left->strips.most_cols, right->strips.most_cols),
                     size, &t->slot_bytes));
  DM_TRY(dm_bytes_of(left->strips.depth, most, size, &area));
  /* Strips of a symmetric C are narrower, and a rank takes every second one or less: with more of
   * them it gives pieces that others need while it multiplies. */
  t->slots =
      (int)dm_min(t->mirrored.rows ? DM_SLOTS : DM_SLOTS / 2, dm_broadcast_items(t) - t->both);
  t->slot_bytes = dm_round_up(t->slot_bytes, BROADCAST_TILE);
  t->joined = (t->slots + t->both) * t->slot_bytes;
  const int64_t joined = dm_broadcast_joins(t, DM_RIGHT) ? DM_JOINED * t->slot_bytes : 0;
  t->gathered = dm_max(t->joined + joined, t->mirrored_bytes);
  *bytes = t->gathered + area;
  return DM_OK;
}

/* Whether sums of parts of k travel, and not the operands. */
static dm_status open_split_k(dm_broadcast *t, const three *of, int64_t *bytes) {
  dm_backend *backend = t->backend;
  const dm_dtype sum = dm_backend_type_of_sums(backend, t->whole.a.dtype);
  const int64_t sizes[2] = {dm_dtype_size(t->whole.a.dtype), dm_dtype_size(sum)};
  const bool pays = !dm_backend_cuts_k(backend) && dm_backend_has_epilogue(t->whole.c.dtype, sum) &&
                    dm_split_k_pays(&of->a, &of->b, &of->c, t->run->ranks, sizes);
  if (!pays) return DM_OK;
  t->both = true; /* no rank has what it takes of either */
  return dm_split_k_open(&of->c, t->run->ranks, sum, &t->split_k, bytes);
}

dm_status dm_broadcast_open(dm_workspace *space, dm_backend *backend, const dm_run *run,
                            const dm_distributed matrix[3], const dm_whole_product *whole,
                            const dm_strip_widths *widths, dm_broadcast *t, int64_t *bytes,
                            bool *fits) {
  three of = {matrix[DM_A].of, matrix[DM_B].of, matrix[DM_C].of}; /* without their memory */
  *t = (dm_broadcast){.run = run,
                      .space = space,
                      .backend = backend,
                      .matrix = matrix,
                      .widths = widths,
                      .whole = *whole};
  *fits = false;
  *bytes = 0;
  DM_TRY(dm_comm_agree(run->world, open_split_k(t, &of, bytes)));
  *fits = t->split_k.parts != NULL;
  if (*fits) return DM_OK;
  DM_TRY(choose_hands(t, &of));
  DM_TRY(dm_comm_agree(run->world, broadcast_open_strips(t, &of, fits)));
  dm_broadcast_move(t, whole);
  for (int hand = 0; hand <= (int)t->both && *fits; hand++)
    DM_TRY(broadcast_choose_order(t, &t->carried[hand], fits));
  if (*fits && t->mirrored.rows) DM_TRY(c_has_rows(t, fits));
  return *fits ? broadcast_lay_out(t, bytes) : DM_OK;
}

bool dm_broadcast_has_rows(const dm_broadcast *t) {
  const dm_strips *s = &t->carried[DM_RIGHT].strips;
  const dm_distribution *c = &t->matrix[DM_C].of;
  const int64_t least = !t->both ? 1 : t->turned ? c->rows.total : c->cols.total;
  bool all = true;
  for (int r = 0; r < t->run->ranks; r++)
    all = all && dm_range_size(t->split_k.parts ? t->split_k.parts[r].cols : s->wanted[r]) >=
                     (t->split_k.parts ? c->cols.total : least);
  return all;
}

void dm_broadcast_close(dm_broadcast *broadcast) {
  dm_strips_close(&broadcast->carried[DM_RIGHT].strips);
  dm_strips_close(&broadcast->carried[DM_LEFT].strips);
  dm_mirror_rows_close(&broadcast->mirrored);
  dm_split_k_close(&broadcast->split_k);
}
