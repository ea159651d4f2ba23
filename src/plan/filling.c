#include "plan/filling.h"
#include "plan/choose.h"

enum { STEP = 64, MOST = 1 << 24 };

static dm_status try_size(const dm_problem *problem, const dm_machine *machine, int ranks,
                          const dm_wishes *wishes, int64_t n) {
  dm_problem square = *problem;
  dm_plan plan;
  square.m = square.n = square.k = n;
  return dm_plan_choose(&square, machine, ranks, wishes, &plan);
}

dm_status dm_plan_fill(const dm_problem *problem, const dm_machine *machine, int ranks,
                       const dm_wishes *wishes, double fill, int64_t *n) {
  dm_machine part = *machine;
  part.host_bytes = (int64_t)(fill * (double)machine->host_bytes);
  part.device_bytes = (int64_t)(fill * (double)machine->device_bytes);
  if (part.host_bytes < 1 || (machine->gpu && part.device_bytes < 1))
    return dm_fail(DM_E_USAGE, "there is no memory limit to fill");
  dm_wishes tersely = *wishes;
  tersely.no_advice = true;
  DM_TRY(try_size(problem, &part, ranks, wishes, STEP));
  int64_t low = 1, high = MOST / STEP; /* in steps */
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    dm_status status = try_size(problem, &part, ranks, &tersely, middle * STEP);
    if (status && status->code != DM_E_FIT) return status;
    if (status)
      high = middle;
    else
      low = middle;
    dm_status_free(status);
  }
  *n = low * STEP;
  return DM_OK;
}
