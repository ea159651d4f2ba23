#include "job/bench_library.h"

#include "core/checked.h"

static dm_status whole(dm_task *task, dm_range rows, dm_range cols, const dm_generator *generator,
                       dm_view *view) {
  const dm_dtype work = task->plan->problem.work;
  const dm_space space = task->backend->ops->device_memory ? DM_DEVICE : DM_HOST;
  const int64_t stride =
      dm_round_up(dm_range_size(cols), dm_max(1, 16 / dm_dtype_size(work))); /* as panels have it */
  int64_t bytes;
  void *memory;
  DM_TRY(dm_bytes_of(dm_range_size(rows), stride, dm_dtype_size(work), &bytes));
  DM_TRY(dm_backend_alloc(task->backend, space, bytes, &memory));
  *view = dm_view_strided(memory, work, space, dm_range_size(rows), dm_range_size(cols), stride);
  return dm_backend_fill(task->backend, *view, generator, rows.begin, cols.begin);
}

dm_status dm_bench_library_open(dm_task *task, const dm_generator generators[2],
                                dm_bench_library *library) {
  const dm_plan *plan = task->plan;
  *library = (dm_bench_library){0};
  if (task->place.idle) return DM_OK;
  if (dm_plan_used(plan) == 1 && plan->panels == 1 && !dm_plan_uploads_a(plan) &&
      !dm_plan_uploads_b(plan)) {
    library->a = dm_task_piece(task, DM_A, 0);
    library->b = dm_task_piece(task, DM_B, 0);
    return DM_OK;
  }
  const dm_range depth = dm_plan_layer_k(plan, task->place.l);
  library->owned = true;
  DM_TRY(whole(task, task->rows, depth, &generators[DM_A], &library->a));
  return whole(task, depth, task->cols, &generators[DM_B], &library->b);
}

void dm_bench_library_close(dm_task *task, dm_bench_library *library) {
  if (!library->owned) return;
  dm_backend_release(task->backend, library->a.space, library->a.base);
  dm_backend_release(task->backend, library->b.space, library->b.base);
  library->owned = false;
}

dm_status dm_bench_library_run(dm_task *task, const dm_bench_library *library, double *seconds) {
  *seconds = 0.0;
  DM_TRY(dm_comm_barrier(task->run->world));
  dm_status status = DM_OK;
  if (!task->place.idle && !dm_view_is_empty(library->a))
    status = task->backend->ops->direct(task->backend, task->c, library->a, library->b, seconds);
  DM_TRY(dm_comm_agree(task->run->world, status));
  return dm_comm_max_f64(task->run->world, seconds, 1);
}
