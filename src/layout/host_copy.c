#include "layout/host_copy.h"

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"

static dm_status host_copy_take(void *context, dm_view part, int64_t row, int64_t col) {
  const dm_view *to = context;
  dm_copy(dm_view_sub(*to, row, col, part.rows, part.cols), part, false);
  return DM_OK;
}

/* Takes this rank's elements. What others have is 0, so that sums of the bits are the elements. */
static dm_status host_copy_own(dm_run *run, const dm_engine_options *engine, dm_distributed *from,
                               const char *name, dm_view *to) {
  dm_backend *backend = NULL;
  dm_status status = dm_distributed_open_backend(run, engine, from, name, &backend);
  if (!status) status = dm_distributed_each(from, run->rank, host_copy_take, to);
  dm_backend_close(backend);
  return status;
}

dm_status dm_host_copy(dm_run *run, const dm_engine_options *engine, const dm_memory_matrix *stated,
                       const char *name, int64_t room, dm_dataset *set, void **copy) {
  const int64_t word = (int64_t)sizeof(int64_t);
  int64_t bytes = 0;
  dm_distributed from;
  *copy = NULL;
  dm_status status = dm_bytes_of(set->rows, set->cols, dm_dtype_size(stated->dtype), &bytes);
  if (!status && bytes > room)
    status = dm_fail(DM_E_FIT, "a copy of %s does not fit in host memory", name);
  if (!status) status = dm_buffer_zeroed(dm_ceil_div(bytes, word), word, copy);
  DM_TRY(dm_comm_agree(run->world, status));
  dm_view whole = dm_view_row_major(*copy, stated->dtype, set->rows, set->cols);
  status = dm_distributed_open(run->world, stated, name, &from);
  if (!status) status = dm_comm_agree(run->world, host_copy_own(run, engine, &from, name, &whole));
  dm_distributed_close(&from);
  DM_TRY(status);
  if (run->ranks > 1) DM_TRY(dm_comm_sum_i64(run->world, *copy, dm_ceil_div(bytes, word)));
  dm_dataset_set_memory(set, whole);
  return DM_OK;
}
