#include "bench/bench_library.h"

#include "core/checked.h"
#include "core/clock.h"
#include "plan/partition.h"
#include "run/record.h"

enum { ONE_CALLS = 9, LEAST_DEPTH = 64 };

static dm_status whole(const dm_rank_state *local, dm_range rows, dm_range cols,
                       const dm_generator *generator, dm_view *view) {
  const dm_dtype work = local->plan->problem.work;
  const dm_space space = local->backend->ops->device_memory ? DM_DEVICE : DM_HOST;
  const int64_t stride = dm_device_stride(dm_range_size(cols), work); /* as in panels */
  int64_t bytes;
  void *memory;
  DM_TRY(dm_bytes_of(dm_range_size(rows), stride, dm_dtype_size(work), &bytes));
  DM_TRY(dm_backend_alloc(local->backend, space, bytes, &memory));
  *view = dm_view_strided(memory, work, space, dm_range_size(rows), dm_range_size(cols), stride);
  return dm_backend_fill(local->backend, *view, generator, rows.begin, cols.begin);
}

dm_status dm_bench_library_open(const dm_rank_state *local, const dm_generator generators[2],
                                dm_bench_library *library) {
  const dm_plan *plan = local->plan;
  *library = (dm_bench_library){0};
  if (local->coords.idle) return DM_OK;
  if (dm_plan_used(plan) == 1 && plan->panels == 1 && !dm_plan_uploads_a(plan) &&
      !dm_plan_uploads_b(plan)) {
    library->a = dm_rank_piece(local, DM_A, 0);
    library->b = dm_rank_piece(local, DM_B, 0);
    return DM_OK;
  }
  const dm_range depth = dm_plan_layer_k(plan, local->coords.l);
  library->owned = true;
  DM_TRY(whole(local, local->rows, depth, &generators[DM_A], &library->a));
  return whole(local, depth, local->cols, &generators[DM_B], &library->b);
}

void dm_bench_library_close(const dm_rank_state *local, dm_bench_library *library) {
  if (!library->owned) return;
  dm_backend_release(local->backend, library->a.space, library->a.base);
  dm_backend_release(local->backend, library->b.space, library->b.base);
  library->owned = false;
}

/* Libraries can also round products of 16-bit numbers to their type. */
static dm_view result_of(const dm_rank_state *local, dm_view narrow) {
  const bool fits = narrow.base && narrow.space == local->c.space && local->plan->pk == 1 &&
                    narrow.dtype == local->plan->problem.work;
  return fits ? narrow : local->c;
}

dm_status dm_bench_library_run(const dm_rank_state *local, const dm_bench_library *library,
                               dm_view narrow, double *seconds) {
  *seconds = 0.0;
  DM_TRY(dm_comm_barrier(local->run->world));
  dm_status status = DM_OK;
  if (!local->coords.idle && !dm_view_is_empty(library->a))
    status = local->backend->ops->direct(local->backend, result_of(local, narrow), library->a,
                                         library->b, seconds);
  DM_TRY(dm_comm_agree(local->run->world, status));
  return dm_comm_max_f64(local->run->world, seconds, 1);
}

static int64_t operand_bytes(const dm_rank_state *local, int64_t depth) {
  const dm_dtype work = local->plan->problem.work;
  return dm_dtype_size(work) * (dm_range_size(local->rows) * dm_device_stride(depth, work) +
                                depth * dm_device_stride(dm_range_size(local->cols), work));
}

/* All of the layer's k, or as much as fits; 0 if that is next to nothing. */
static int64_t depth_for(const dm_rank_state *local, int64_t room) {
  int64_t depth = dm_range_size(dm_plan_layer_k(local->plan, local->coords.l));
  while (depth > LEAST_DEPTH && operand_bytes(local, depth) > room) depth /= 2;
  return operand_bytes(local, depth) <= room ? depth : 0;
}

static dm_status time_calls(const dm_rank_state *local, const dm_bench_library *library,
                            double limit, double *seconds) {
  double times[ONE_CALLS], first;
  int64_t count = 0;
  const double start = dm_now();
  DM_TRY(local->backend->ops->direct(local->backend, local->c, library->a, library->b, &first));
  while (count < ONE_CALLS && (count == 0 || dm_now() - start < limit)) {
    DM_TRY(local->backend->ops->direct(local->backend, local->c, library->a, library->b,
                                       &times[count++]));
    DM_TRY(dm_run_beat(local->run));
  }
  *seconds = dm_statistics_of(times, count).median;
  return DM_OK;
}

static dm_status multiply_alone(const dm_rank_state *local, const dm_generator generators[2],
                                int64_t room, double limit, dm_bench_one *one) {
  const int64_t depth = depth_for(local, room);
  dm_bench_library library = {.owned = true};
  double seconds = 0;
  if (!local->backend->ops->direct || depth == 0 || dm_view_is_empty(local->c)) return DM_OK;
  const dm_range part = {0, depth};
  dm_status status = whole(local, local->rows, part, &generators[DM_A], &library.a);
  if (!status) status = whole(local, part, local->cols, &generators[DM_B], &library.b);
  if (!status) status = time_calls(local, &library, limit, &seconds);
  dm_bench_library_close(local, &library);
  if (status && status->code == DM_E_USAGE) { /* the library has no product of this type */
    dm_status_free(status);
    return DM_OK;
  }
  DM_TRY(status);
  const double each = dm_dtype_is_complex(local->plan->problem.work) ? 8.0 : 2.0;
  *one = (dm_bench_one){dm_range_size(local->rows), dm_range_size(local->cols), depth, 0};
  if (seconds > 0)
    one->flops = each * (double)one->rows * (double)one->cols * (double)depth / seconds;
  return DM_OK;
}

dm_status dm_bench_one_run(const dm_rank_state *local, const dm_generator generators[2],
                           int64_t room, double limit, dm_bench_one *one) {
  dm_status status = DM_OK;
  *one = (dm_bench_one){0};
  if (local->run->rank == 0 && !local->coords.idle)
    status = multiply_alone(local, generators, room, limit, one);
  dm_status rested = dm_comm_rest(local->run->world);
  return dm_comm_agree(local->run->world, dm_status_first(status, rested));
}
