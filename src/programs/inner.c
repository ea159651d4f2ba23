#include "programs/inner.h"

#include "core/checked.h"
#include "product/multiply.h"

static dm_status inner_checked(dm_run *run, const dm_multiply *multiply, bool *unchecked) {
  dm_status status = dm_multiply_run(run, multiply, NULL);
  if (!status || status->code != DM_E_UNCHECKED) return status;
  *unchecked = true;
  dm_status_free(status);
  return DM_OK;
}

dm_status dm_inner_multiply(dm_run *run, const dm_multiply *multiply, bool *unchecked) {
  const dm_level level = run->log.level;
  const dm_progress_mode progress = run->progress;
  if (level < DM_LOG_DETAIL) run->log.level = (dm_level)dm_min(level, DM_LOG_WARNING);
  run->progress = DM_PROGRESS_NEVER;
  dm_status status = inner_checked(run, multiply, unchecked);
  run->log.level = level;
  run->progress = progress;
  return status;
}

dm_memory_matrix dm_inner_memory(const dm_dataset *set) {
  const dm_view *view = &set->memory;
  return (dm_memory_matrix){.division = DM_ON_ONE,
                            .dtype = view->dtype,
                            .rows = view->rows,
                            .cols = view->cols,
                            .data = view->base,
                            .row_stride = view->row_stride,
                            .col_stride = view->col_stride};
}
