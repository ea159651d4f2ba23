#include "measure/bench_host.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/fill.h"
#include "plan/partition.h"

enum { LEAST_PART = 256 }; /* columns, and their borders are multiples of it */

/* Bytes that a piece of the widest panel takes. */
static int64_t pitch_of(const dm_rank_state *local, dm_matrix matrix) {
  const dm_view piece = dm_rank_piece(local, matrix, local->panels.begin);
  const int64_t rows =
      matrix == DM_A ? piece.rows : dm_plan_b_share_most(local->plan, local->coords.i);
  const int64_t cols = matrix == DM_A ? dm_plan_width(local->plan) : piece.cols;
  return rows * cols * dm_dtype_size(piece.dtype);
}

static dm_view in_host(const dm_bench_host *host, dm_matrix matrix, int64_t panel) {
  const dm_rank_state *local = host->local;
  const dm_view piece = dm_rank_piece(local, matrix, panel);
  return dm_view_row_major(host->pieces[matrix] +
                               (panel - local->panels.begin) * pitch_of(local, matrix),
                           piece.dtype, piece.rows, piece.cols);
}

static dm_status copy(const dm_bench_host *host, dm_view dst, dm_view src) {
  dm_event copied;
  DM_TRY(dm_backend_copy(host->local->backend, dst, src, &copied));
  return dm_backend_wait(host->local->backend, copied);
}

static dm_status take_pieces(dm_bench_host *host, dm_matrix matrix) {
  const dm_rank_state *local = host->local;
  const int64_t panels = dm_range_size(local->panels);
  if (panels == 0) return DM_OK;
  const dm_view last = dm_rank_piece(local, matrix, local->panels.end - 1);
  const int64_t size = dm_dtype_size(last.dtype);
  int64_t full, rest;
  DM_TRY(dm_bytes_of(panels - 1, pitch_of(local, matrix), 1, &full));
  DM_TRY(dm_bytes_of(last.rows, last.cols, size, &rest));
  DM_TRY(dm_backend_alloc(local->backend, DM_HOST, full + rest, (void **)&host->pieces[matrix]));
  DM_TRY(dm_buffer_zeroed(panels, sizeof(dm_event), (void **)&host->copied[matrix]));
  for (int64_t p = local->panels.begin; p < local->panels.end; p++)
    DM_TRY(copy(host, in_host(host, matrix, p), dm_rank_piece(local, matrix, p)));
  return DM_OK;
}

/* Whether all panels of MATRIX are on the GPU after the loop. */
static bool stays(const dm_rank_state *local, dm_matrix matrix) {
  const dm_plan *plan = local->plan;
  const bool fetches = matrix == DM_A ? dm_plan_fetches_a(plan) : dm_plan_fetches_b(plan);
  return !fetches || plan->in_place;
}

/* A half, that panels are brought behind, then ever less: nothing hides the return of the last. */
static void choose_parts(dm_bench_host *host) {
  const dm_rank_state *local = host->local;
  const int64_t cols = local->c.cols;
  host->parts = 1;
  host->border[1] = cols;
  if (local->plan->pk > 1 || !stays(local, DM_A) || !stays(local, DM_B)) return;
  if (cols < 8 * LEAST_PART || dm_range_size(local->panels) == 0) return;
  host->parts = DM_RETURNS;
  for (int i = 1; i < DM_RETURNS; i++)
    host->border[i] = dm_round_up(cols - (cols >> i), LEAST_PART);
  host->border[DM_RETURNS] = cols;
}

dm_status dm_bench_host_open(dm_rank_state *local, dm_bench_host *host) {
  *host = (dm_bench_host){.local = local};
  if (local->coords.idle) return DM_OK;
  DM_TRY(take_pieces(host, DM_A));
  DM_TRY(take_pieces(host, DM_B));
  const dm_plan *plan = local->plan;
  const dm_range rows = plan->pk > 1
                            ? dm_plan_c_share(plan, local->tile, local->coords.i, local->coords.l)
                            : local->rows;
  int64_t bytes;
  DM_TRY(dm_bytes_of(dm_range_size(rows), local->c.cols, dm_dtype_size(local->c.dtype), &bytes));
  void *memory;
  DM_TRY(dm_backend_alloc(local->backend, DM_HOST, bytes, &memory));
  host->c = dm_view_row_major(memory, local->c.dtype, dm_range_size(rows), local->c.cols);
  choose_parts(host);
  return DM_OK;
}

void dm_bench_host_close(dm_bench_host *host) {
  if (!host->local) return;
  for (int x = 0; x < 2; x++) {
    dm_backend_release(host->local->backend, DM_HOST, host->pieces[x]);
    free(host->copied[x]);
  }
  dm_backend_release(host->local->backend, DM_HOST, host->c.base);
}

static dm_status spoil(const dm_bench_host *host, dm_matrix matrix) {
  const dm_rank_state *local = host->local;
  const dm_generator other = {.kind = DM_CONSTANT, .parameter = 3.0};
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
    const int slot = (int)((p - local->panels.begin) % local->plan->slots);
    DM_TRY(dm_backend_fill(local->backend, dm_rank_piece(local, matrix, p), &other, 0, 0));
    if (factor->device_ring)
      DM_TRY(dm_backend_fill(local->backend, dm_rank_slot(local, matrix, p, slot, DM_DEVICE),
                             &other, 0, 0));
  }
  return DM_OK;
}

dm_status dm_bench_host_spoil(dm_bench_host *host) {
  if (host->local->coords.idle) return DM_OK;
  DM_TRY(spoil(host, DM_A));
  return spoil(host, DM_B);
}

dm_status dm_bench_host_load(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  dm_bench_host *host = context;
  dm_event *copied = &host->copied[matrix][panel - local->panels.begin];
  const dm_view src = in_host(host, matrix, panel);
  local->first_cols = host->border[1];
  local->phases.uploaded += src.rows * src.cols * dm_dtype_size(src.dtype);
  return dm_backend_copy(local->backend, dm_rank_piece(local, matrix, panel), src, copied);
}

dm_status dm_bench_host_loaded(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                               bool *done) {
  const dm_bench_host *host = context;
  return dm_backend_test(local->backend, host->copied[matrix][panel - local->panels.begin], done);
}

static dm_view part_of(const dm_bench_host *host, dm_view view, int part) {
  return dm_view_sub(view, 0, host->border[part], view.rows,
                     host->border[part + 1] - host->border[part]);
}

static dm_status multiply_part(const dm_bench_host *host, int part, dm_event *done) {
  const dm_rank_state *local = host->local;
  for (int64_t p = local->panels.begin; p < local->panels.end; p++)
    DM_TRY(dm_backend_gemm(
        local->backend, part_of(host, local->c, part), dm_rank_operand(local, DM_A, p, 0),
        part_of(host, dm_rank_operand(local, DM_B, p, 0), part), p > local->panels.begin, done));
  return DM_OK;
}

dm_status dm_bench_host_return(dm_bench_host *host) {
  dm_rank_state *local = host->local;
  dm_event computed[DM_RETURNS] = {0}, copied[DM_RETURNS] = {0};
  if (local->coords.idle) return DM_OK;
  local->first_cols = 0;
  host->sums = local->plan->pk > 1 ? local->c_sum : local->c;
  for (int i = 1; i < host->parts; i++) DM_TRY(multiply_part(host, i, &computed[i]));
  for (int i = 0; i < host->parts; i++) {
    DM_TRY(dm_backend_wait(local->backend, computed[i]));
    DM_TRY(dm_backend_copy(local->backend, part_of(host, host->c, i), part_of(host, host->sums, i),
                           &copied[i]));
  }
  for (int i = 0; i < host->parts; i++) DM_TRY(dm_backend_wait(local->backend, copied[i]));
  return DM_OK;
}

dm_status dm_bench_host_show(dm_bench_host *host) {
  if (host->local->coords.idle || host->sums.space == DM_HOST) return DM_OK;
  return copy(host, host->sums, host->c);
}
