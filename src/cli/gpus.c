#include "cli/gpus.h"

#include <string.h>

#include "backend/backend.h"
#include "comm/comm.h"
#include "core/checked.h"

/* Options that contradict --gpus, which is given. */
static dm_status check(const dm_call *call) {
  const char *backend = dm_chosen(&call->settings, "backend");
  const bool none = strcmp(call->own.gpus, "none") == 0;
  if (dm_comm_size_before_start() > 1)
    return dm_hint(dm_fail(DM_E_USAGE, "--gpus is for a command without mpirun or srun"),
                   "under a launcher every rank uses one GPU: start as many ranks as GPUs");
  if (strcmp(backend, none ? "cuda" : "cpu") == 0)
    return dm_fail(DM_E_USAGE, "--gpus %s and --backend %s cannot be combined", call->own.gpus,
                   backend);
  const dm_backend_ops *cuda;
  return none ? DM_OK : dm_backend_find("cuda", &cuda);
}

dm_status dm_cli_take_gpus(dm_call *call, int *ranks) {
  dm_gpu_list list;
  *ranks = 1;
  if (!dm_cli_given(call, "gpus")) return DM_OK;
  DM_TRY(check(call));
  dm_backend_gpus(&list);
  DM_TRY(dm_gpu_list_restrict(&list, call->own.gpus));
  dm_gpu_list_show(&list, list.count);
  *ranks = (int)dm_max(1, list.count);
  return dm_value_take(dm_value_find("backend"), list.count > 0 ? "cuda" : "cpu", &call->settings);
}
