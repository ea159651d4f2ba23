#include "cli/gpus.h"

#include <string.h>

#include "backend/backend.h"
#include "cli/plan_machine.h"
#include "comm/comm.h"
#include "core/checked.h"
#include "core/crew.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "options/request.h"
#include "plan/choose.h"

/* Options that contradict --gpus, which is given. */
static dm_status check(const dm_call *call) {
  const char *backend = dm_chosen(&call->settings, "backend");
  const bool none = strcmp(call->own.gpus, "none") == 0;
  const dm_backend_ops *cuda;
  if (dm_comm_size_before_start() > 1)
    return dm_hint(dm_fail(DM_E_USAGE, "--gpus is for a command without mpirun or srun"),
                   "under a launcher every rank uses one GPU: start as many ranks as GPUs");
  if (strcmp(backend, none ? "cuda" : "cpu") == 0)
    return dm_fail(DM_E_USAGE, "--gpus %s and --backend %s cannot be combined", call->own.gpus,
                   backend);
  return none ? DM_OK : dm_backend_find("cuda", &cuda);
}

dm_status dm_cli_take_stated_gpus(dm_call *call, dm_gpu_choice *choice) {
  dm_gpu_list list;
  *choice = (dm_gpu_choice){.ranks = 1};
  if (!dm_cli_given(call, "gpus")) return DM_OK;
  DM_TRY(check(call));
  dm_backend_gpus(&list);
  DM_TRY(dm_gpu_list_restrict(&list, call->own.gpus));
  dm_gpu_list_show(&list, list.count);
  choice->ranks = (int)dm_max(1, list.count);
  return dm_value_take(dm_value_find("backend"), list.count > 0 ? "cuda" : "cpu", &call->settings);
}

void dm_cli_weigh_gpus(const dm_call *call, const dm_problem *problem, const dm_machine *machine,
                       int most, dm_gpu_choice *choice) {
  dm_machine machines[DM_GPUS];
  dm_wishes wishes = dm_request_wishes(&call->settings);
  if (call->settings.checkpoint) wishes.tile_seconds = call->settings.checkpoint_interval;
  for (int i = 0; i < most; i++) {
    machines[i] = *machine;
    machines[i].ranks_per_node = i + 1;
    machines[i].cores_per_rank = (int)dm_max(1, machine->cores_per_rank / (i + 1));
    machines[i].host_bytes = machine->host_bytes / (i + 1);
  }
  choice->most = most;
  choice->ranks = dm_plan_gpus(problem, machines, most, &wishes, choice->seconds);
}

/* Whether GPUs multiply, as far as is known before one has started. */
static bool may_use_gpus(const dm_call *call, const dm_problem *problem) {
  const char *backend = dm_chosen(&call->settings, "backend");
  bool local;
  if (dm_comm_local_rank_before_start(&local) >= 0 || dm_comm_size_before_start() > 1) return false;
  if (strcmp(backend, "auto") != 0) return strcmp(backend, "cuda") == 0;
  return strcmp(call->settings.kernel, "auto") != 0 || !dm_compute_is_plain(&problem->compute) ||
         !dm_gpu_is_late(dm_product_flops(problem), problem->work, dm_cores());
}

dm_status dm_cli_take_gpus(dm_call *call, const dm_problem *problem, dm_gpu_choice *choice) {
  dm_gpu_list list;
  dm_machine one;
  DM_TRY(dm_cli_take_stated_gpus(call, choice));
  if (dm_cli_given(call, "gpus")) return DM_OK;
  if (!may_use_gpus(call, problem)) return DM_OK;
  dm_backend_gpus(&list);
  if (list.count < 2) return DM_OK;
  DM_TRY(dm_cli_machine_of_gpu(call, list.gpu[0].name, &one));
  dm_cli_weigh_gpus(call, problem, &one, list.count, choice);
  dm_gpu_list_show(&list, choice->ranks);
  return DM_OK;
}
