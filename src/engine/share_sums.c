#include "engine/share_sums.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/verify_sums.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "core/clock.h"
#include "core/crew.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* Bytes: that justify a thread; of a block, which stays in cache while it is hashed and summed; of
 * a part of a row that is hashed separately, so that threads can split a piece by rows or by
 * columns. */
enum { SHARE_SUMS_AT_ONCE = 4 << 20, SHARE_SUMS_BLOCK = 64 << 10, SEGMENT = 8 << 10 };

static int64_t share_sums_place_of(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  return dm_plan_place_of(local->plan, matrix, dm_range_size(local->panels), local->tile,
                          panel - local->panels.begin);
}

/* What to do with a block besides hashing it. */
typedef struct share_sums_visit {
  dm_freivalds_part *take; /* NULL: only hash */
  dm_freivalds *check;
  bool by_col;      /* TAKE adds to columns, not rows: threads split the columns */
  int64_t row, col; /* start of the piece in the matrix */
} share_sums_visit;

/* Rows or columns for threads to process; their order does not affect the sum. */
typedef struct share_sums_loop {
  dm_view of;
  const share_sums_visit *visit;
  int64_t each; /* lines that a thread claims at a time */
  atomic_uint_least64_t sum;
} share_sums_loop;

static int64_t segment_of(dm_view piece) {
  return SEGMENT / dm_dtype_size(piece.dtype);
}

/* Rows that are hashed together, from a multiple of their number on: short ones that follow each
 * other. */
static int64_t rows_hashed(dm_view piece) {
  return dm_view_is_packed(piece) ? dm_max(1, segment_of(piece) / dm_max(1, piece.cols)) : 1;
}

/* Hashes elements COLS of COUNT rows from ROW on: at most one segment, from its start. */
static uint64_t hash_segment(dm_view piece, int64_t row, int64_t count, dm_range cols) {
  return dm_checksum_bytes(dm_view_at(piece, row, cols.begin),
                           count * dm_range_size(cols) * dm_dtype_size(piece.dtype),
                           (uint64_t)row << 32 ^ (uint64_t)cols.begin);
}

/* Hashes ROWS of a segment of columns, and sums them while they are in cache. */
static dm_status share_sums_take_block(share_sums_loop *l, dm_range rows, dm_range cols) {
  const share_sums_visit *with = l->visit;
  uint64_t sum = 0;
  const int64_t together = rows_hashed(l->of);
  for (int64_t i = rows.begin; i < rows.end; i += together)
    sum += hash_segment(l->of, i, dm_min(together, rows.end - i), cols);
  atomic_fetch_add(&l->sum, sum);
  if (!with->take) return DM_OK;
  return with->take(
      with->check, NULL,
      dm_view_sub(l->of, rows.begin, cols.begin, dm_range_size(rows), dm_range_size(cols)),
      with->row + rows.begin, with->col + cols.begin);
}

static dm_status take_lines(void *context, int64_t turn) {
  share_sums_loop *l = context;
  const bool by_col = l->visit->by_col;
  const int64_t first = turn * l->each, all = by_col ? l->of.cols : l->of.rows;
  const dm_range lines = {first, dm_min(first + l->each, all)};
  const dm_range rows = by_col ? (dm_range){0, l->of.rows} : lines;
  const dm_range cols = by_col ? lines : (dm_range){0, l->of.cols};
  const int64_t width = segment_of(l->of), size = dm_dtype_size(l->of.dtype);
  const int64_t most = SHARE_SUMS_BLOCK / dm_max(1, size * dm_min(width, dm_range_size(cols)));
  const int64_t height = dm_round_up(dm_max(1, most), rows_hashed(l->of));
  for (int64_t i = rows.begin; i < rows.end; i += height)
    for (int64_t j = cols.begin; j < cols.end; j += width)
      DM_TRY(share_sums_take_block(l, (dm_range){i, dm_min(i + height, rows.end)},
                                   (dm_range){j, dm_min(j + width, cols.end)}));
  return DM_OK;
}

static dm_status share_sums_sum_up(dm_view piece, const share_sums_visit *with, uint64_t *sum) {
  const int64_t count = with->by_col ? piece.cols : piece.rows;
  const int64_t line = (with->by_col ? piece.rows : piece.cols) * dm_dtype_size(piece.dtype);
  share_sums_loop all = {.of = piece, .visit = with};
  all.each = dm_max(1, SHARE_SUMS_AT_ONCE / dm_max(1, line));
  all.each = dm_round_up(all.each, with->by_col ? segment_of(piece) : rows_hashed(piece));
  dm_status status = dm_fork_each(dm_ceil_div(count, all.each), 0, take_lines, &all);
  *sum = atomic_load(&all.sum);
  return status;
}

/* Operands multiplied in the page cache are never loaded; X is held once. */
static bool share_sums_holds(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_residence(local->plan, matrix) == DM_IN_HOST && !local->mapped[matrix] &&
         !dm_triangle_shares(local->plan, matrix);
}

/* ---- shares in GPU memory ---- */

static bool share_sums_is_on_device(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_residence(local->plan, matrix) == DM_IN_DEVICE &&
         !dm_triangle_shares(local->plan, matrix);
}

static int64_t share_sums_places_of(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_places(local->plan, matrix, dm_range_size(local->panels));
}

/* Clears the sums: those of A follow that of C, and those of B follow A's. */
static dm_status open_on_device(dm_rank_state *local, dm_share_sums *sums) {
  int64_t count = 0;
  void *first;
  DM_FREED uint64_t *zeros = NULL;
  if (!share_sums_is_on_device(local, DM_A) && !share_sums_is_on_device(local, DM_B)) return DM_OK;
  DM_TRY(dm_backend_expect_sums(local->backend, local->plan->problem.work,
                                local->plan->problem.accumulator));
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_DEVICE_SUMS, &first));
  first = (uint64_t *)first + 1;
  for (int x = 0; x < 2; x++) {
    if (!share_sums_is_on_device(local, (dm_matrix)x)) continue;
    sums->on_device[x] = (uint64_t *)first + count;
    count += share_sums_places_of(local, (dm_matrix)x);
  }
  DM_TRY(dm_buffer_table(dm_max(1, count), &zeros));
  return dm_device_sums_set(local->backend, first, zeros, count);
}

static dm_status add_on_device(const dm_share_sums *sums, const dm_rank_state *local,
                               dm_matrix matrix, int64_t panel, bool subtract) {
  const dm_problem *p = &local->plan->problem;
  const dm_element_place place = {dm_rank_piece_rows(local, matrix, panel).begin,
                                  dm_rank_piece_cols(local, matrix, panel).begin,
                                  matrix == DM_A ? p->k : p->n};
  return dm_backend_checksum(local->backend, dm_rank_piece(local, matrix, panel), place, subtract,
                             sums->on_device[matrix] + share_sums_place_of(local, matrix, panel));
}

dm_status dm_check_piece(dm_freivalds *check, dm_freivalds_part *take, const dm_rank_state *local,
                         dm_matrix matrix, int64_t panel) {
  return take(check, local->backend, dm_rank_piece(local, matrix, panel),
              dm_rank_piece_rows(local, matrix, panel).begin,
              dm_rank_piece_cols(local, matrix, panel).begin);
}

static dm_status count_on_device(const dm_share_sums *sums, const dm_rank_state *local,
                                 dm_matrix matrix, int64_t *changed) {
  const int64_t count = sums->on_device[matrix] ? share_sums_places_of(local, matrix) : 0;
  DM_FREED uint64_t *left = NULL;
  if (count == 0) return DM_OK;
  DM_TRY(dm_buffer_table(count, &left));
  DM_TRY(dm_device_sums_get(local->backend, left, sums->on_device[matrix], count));
  for (int64_t i = 0; i < count; i++) *changed += left[i] != 0;
  return DM_OK;
}

/* ---- all ---- */

dm_status dm_share_sums_open(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums) {
  *sums = (dm_share_sums){0};
  if (local->coords.idle) return DM_OK;
  const bool in_place = !local->backend->ops->device_memory || share_sums_is_on_device(local, DM_B);
  if (in_place && !dm_plan_streams(local->plan)) sums->scans = check;
  for (int x = 0; x < 2; x++) {
    const dm_matrix matrix = (dm_matrix)x;
    if (!share_sums_holds(local, matrix) && !share_sums_is_on_device(local, matrix)) continue;
    const int64_t places = share_sums_places_of(local, matrix);
    if (share_sums_holds(local, matrix)) DM_TRY(dm_buffer_table(places, &sums->sums[x]));
    DM_TRY(dm_buffer_table(places, &sums->taken[x]));
  }
  return open_on_device(local, sums);
}

void dm_share_sums_close(dm_share_sums *sums) {
  for (int x = 0; x < 2; x++) {
    free(sums->sums[x]);
    free(sums->taken[x]);
  }
  *sums = (dm_share_sums){0};
}

dm_status dm_share_sums_take(dm_share_sums *sums, const dm_rank_state *local, dm_matrix matrix,
                             int64_t panel) {
  const dm_view piece = dm_rank_piece(local, matrix, panel);
  if (!sums->taken[matrix]) return DM_OK;
  const int64_t place = share_sums_place_of(local, matrix, panel);
  if (sums->on_device[matrix]) {
    if (sums->taken[matrix][place]) return DM_OK; /* loaded again: the same elements */
    sums->taken[matrix][place] = true;
    DM_TRY(add_on_device(sums, local, matrix, panel, false));
    if (matrix != DM_B || !sums->scans) return DM_OK;
    return dm_check_piece(sums->scans, dm_freivalds_scan_b, local, DM_B, panel);
  }
  const bool scans = matrix == DM_B && sums->scans && !sums->taken[matrix][place];
  const share_sums_visit with = {.take = scans ? dm_freivalds_scan_b : NULL,
                                 .check = sums->scans,
                                 .by_col = scans,
                                 .row = dm_rank_piece_rows(local, matrix, panel).begin,
                                 .col = dm_rank_piece_cols(local, matrix, panel).begin};
  sums->taken[matrix][place] = true;
  return share_sums_sum_up(piece, &with, &sums->sums[matrix][place]);
}

bool dm_share_sums_scanned(const dm_share_sums *sums, const dm_rank_state *local, int64_t panel) {
  return sums->scans && sums->taken[DM_B] &&
         sums->taken[DM_B][share_sums_place_of(local, DM_B, panel)];
}

static dm_status share_sums_compare_piece(dm_share_sums *sums, const dm_rank_state *local,
                                          dm_matrix matrix, int64_t panel,
                                          const share_sums_visit *with) {
  const int64_t place = share_sums_place_of(local, matrix, panel);
  uint64_t sum;
  if (sums->on_device[matrix]) return add_on_device(sums, local, matrix, panel, true);
  DM_TRY(share_sums_sum_up(dm_rank_piece(local, matrix, panel), with, &sum));
  sums->changed[matrix] += sum != sums->sums[matrix][place];
  return DM_OK;
}

dm_status dm_share_sums_show(dm_share_sums *sums, dm_rank_state *local, dm_matrix matrix,
                             int64_t panel, dm_freivalds_part *take, dm_freivalds *check,
                             bool *shown) {
  const bool on_host = !local->backend->ops->device_memory;
  *shown = false;
  if (!sums->taken[matrix] || !sums->taken[matrix][share_sums_place_of(local, matrix, panel)])
    return DM_OK;
  const share_sums_visit with = {.take = on_host ? take : NULL,
                                 .check = check,
                                 .row = dm_rank_piece_rows(local, matrix, panel).begin,
                                 .col = dm_rank_piece_cols(local, matrix, panel).begin};
  *shown = on_host;
  sums->compared[matrix] = true;
  return share_sums_compare_piece(sums, local, matrix, panel, &with);
}

static dm_status share_sums_compare_all(dm_share_sums *sums, dm_rank_state *local,
                                        dm_matrix matrix) {
  const share_sums_visit only_hash = {0};
  if (sums->compared[matrix] || !sums->taken[matrix]) return DM_OK;
  for (int64_t i = 0; i < dm_plan_todo(local->plan); i++) {
    const int64_t t = dm_plan_todo_tile(local->plan, i);
    if (!dm_plan_is_first(local->plan, matrix, t)) continue;
    dm_rank_turn_to(local, t);
    for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
      if (!sums->taken[matrix][share_sums_place_of(local, matrix, p)]) continue;
      DM_TRY(share_sums_compare_piece(sums, local, matrix, p, &only_hash));
      DM_TRY(dm_run_beat(local->run));
    }
  }
  return DM_OK;
}

dm_status dm_share_sums_compare(dm_share_sums *sums, dm_rank_state *local, int64_t changed[2]) {
  const double start = dm_now();
  dm_status status = share_sums_compare_all(sums, local, DM_A);
  if (!status) status = share_sums_compare_all(sums, local, DM_B);
  for (int x = 0; x < 2 && !status; x++) {
    changed[x] = sums->changed[x];
    status = count_on_device(sums, local, (dm_matrix)x, &changed[x]);
  }
  DM_TRY(dm_comm_agree(local->run->world, status));
  DM_TRY(dm_comm_sum_i64(local->run->world, changed, 2));
  local->phases.check += dm_now() - start;
  return DM_OK;
}

/* Each sum seen as two i32. */
static dm_view share_sums_view_of(uint64_t *sums, dm_space space, int64_t count) {
  return dm_view_strided(sums, DM_I32, space, 1, 2 * count, 2 * count);
}

dm_status dm_device_sums_set(dm_backend *backend, uint64_t *device, uint64_t *host, int64_t count) {
  return dm_backend_copy_now(backend, share_sums_view_of(device, DM_DEVICE, count),
                             share_sums_view_of(host, DM_HOST, count));
}

dm_status dm_device_sums_get(dm_backend *backend, uint64_t *host, uint64_t *device, int64_t count) {
  DM_TRY(dm_backend_settle(backend));
  return dm_backend_copy_now(backend, share_sums_view_of(host, DM_HOST, count),
                             share_sums_view_of(device, DM_DEVICE, count));
}
