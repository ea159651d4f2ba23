#include "cli/gpus.h"

#include <string.h>

#include "backend/backend.h"
#include "comm/comm.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "options/request.h"
#include "plan/choose.h"
#include "plan/partition.h"
#include "run/cores.h"

/* Options that contradict --gpus, which is given. */
static dm_status gpus_check(const dm_call *call) {
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
  DM_TRY(gpus_check(call));
  dm_backend_gpus(&list);
  DM_TRY(dm_gpu_list_restrict(&list, call->own.gpus));
  dm_gpu_list_show(&list, list.count);
  choice->ranks = (int)dm_max(1, list.count);
  return dm_option_take(dm_option_find("backend"), list.count > 0 ? "cuda" : "cpu",
                        &call->settings);
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
  if (dm_entries_are_small(problem->batch, dm_problem_entry_rows(problem), problem->n, problem->k))
    return false;
  return strcmp(call->settings.kernel, "auto") != 0 || !dm_compute_is_plain(&problem->compute) ||
         !dm_gpu_is_late(dm_product_flops(problem), problem->work, dm_cores());
}

/* ---- the machine that `damier plan` plans for ---- */

static const int64_t gib = 1 << 30;

/* Memory that the words do not state: on the host as much as the GPU has, or 4 GiB per core. */
static void fill_memory(dm_machine *machine) {
  if (machine->host_bytes > 0) return;
  machine->host_bytes =
      machine->gpu ? machine->device_bytes : 4 * gib * dm_max(1, machine->cores_per_rank);
}

/* The files that the call names, if any: both factors and the old C. */
static dm_named_files gpus_names_of(const dm_call *call, dm_location at[2]) {
  const dm_settings *s = &call->settings;
  dm_named_files files = {.writes = dm_given(s, "output") ? s->output.file : NULL};
  for (int i = 0; i < 2 && call->operand_count == 2; i++) {
    dm_status bad = dm_location_parse(call->operands[i], &at[i]);
    if (!bad) files.reads[i] = at[i].file;
    dm_status_free(bad);
  }
  if (dm_given(s, "c")) files.reads[2] = s->old_c.file;
  return files;
}

/* Facts from the files' system, and this computer's cores. */
static void see_files(const dm_call *call, int ranks, const dm_core_part *part,
                      dm_machine *machine) {
  dm_location at[2];
  const dm_named_files files = gpus_names_of(call, at);
  dm_state_files(dm_see_files(&files), (int64_t)ranks * part->cores, 1, machine);
  const int64_t threads = (int64_t)ranks * part->threads;
  dm_state_cores(dm_min(threads, dm_cores()), threads, 1, machine);
}

/* The default of runs with GPUs here. */
static void state_links(const char *gpu, dm_machine *machine) {
  machine->device_links = true;
  machine->link = dm_machine_device_link(gpu);
}

static dm_status ask_device(const dm_call *call, const dm_backend_ops *ops, int ranks,
                            const dm_core_part *part, dm_machine *machine) {
  const dm_backend_config config = {
      .local_ranks = ranks, .threads = part->threads, .kernel = "auto"};
  dm_backend *backend = NULL;
  dm_device device;
  DM_TRY(dm_backend_open(ops, &config, &backend));
  dm_status status = dm_backend_device(backend, &device);
  dm_backend_close(backend);
  if (status) return status;
  dm_machine_stated(ops->device_memory ? device.name : NULL, part->threads, machine);
  machine->shared_slots = !ops->device_memory; /* the default of runs here */
  if (ops->device_memory) {
    state_links(device.name, machine);
    machine->own_kernels = device.own_kernels;
    int gpus = (int)dm_max(1, dm_backend_device_count(ops));
    machine->device_bytes = device.memory_free / (int64_t)dm_ceil_div(ranks, gpus);
  }
  see_files(call, ranks, part, machine);
  return DM_OK;
}

static dm_status this_computer(const dm_call *call, const dm_problem *problem, int ranks,
                               dm_machine *machine) {
  dm_core_part part;
  DM_TRY(dm_cores_expect(ranks, &part));
  const char *backend = dm_request_engine(&call->settings).backend;
  const dm_backend_ops *ops = dm_backend_auto();
  if (call->settings.backend == 0 && ranks == 1 && dm_runs_suit(problem)) backend = "cpu";
  if (strcmp(backend, "auto") != 0) DM_TRY(dm_backend_find(backend, &ops));
  DM_TRY(ask_device(call, ops, ranks, &part, machine));
  machine->nodes = 1;
  machine->ranks_per_node = ranks;
  machine->host_bytes = dm_setup_share(0, (double)dm_memory_available() / ranks);
  if (ranks == 1) machine->process_bytes = dm_setup_process_bytes(NULL); /* with MPI it is larger */
  return DM_OK;
}

/* What the user states. */
static dm_status gpus_take_rates(const dm_call *call, bool rates, dm_machine *machine) {
  const dm_settings *s = &call->settings;
  if (rates && s->machine[0]) DM_TRY(dm_machine_take_rates(s->machine, machine));
  if (s->memory[0]) machine->host_bytes = s->memory[0];
  if (s->memory[1]) machine->device_bytes = s->memory[1];
  return DM_OK;
}

/* This computer with one GPU of that product name, as stated; starts nothing. */
static dm_status machine_of_gpu(const dm_call *call, const char *name, dm_machine *machine) {
  dm_core_part part;
  DM_TRY(dm_cores_expect(1, &part));
  dm_machine_stated(name, part.threads, machine);
  state_links(name, machine);
  see_files(call, 1, &part, machine);
  machine->device_bytes = dm_setup_share(0, (double)dm_machine_device_memory(name));
  machine->host_bytes = dm_setup_share(0, (double)dm_memory_available());
  return gpus_take_rates(call, true, machine);
}

dm_status dm_cli_machine(const dm_call *call, const dm_problem *problem, dm_machine *machine,
                         int *ranks) {
  const dm_settings *s = &call->settings;
  if (call->own.ranks > 1 << 20)
    return dm_fail(DM_E_USAGE, "option '--ranks': %lld ranks are more than a plan can hold",
                   (long long)call->own.ranks);
  const bool described = call->verb->bit == DM_VERB_PLAN && s->machine[0];
  if (described) {
    DM_TRY(dm_machine_parse(s->machine, machine));
    fill_memory(machine);
    *ranks = call->own.ranks ? (int)call->own.ranks : machine->nodes * machine->ranks_per_node;
  } else {
    *ranks = call->own.ranks ? (int)call->own.ranks : dm_comm_size_before_start();
    DM_TRY(this_computer(call, problem, *ranks, machine));
  }
  return gpus_take_rates(call, !described, machine);
}

/* ---- GPUs without a launcher ---- */

dm_status dm_cli_take_gpus(dm_call *call, const dm_problem *problem, dm_gpu_choice *choice) {
  dm_gpu_list list;
  dm_machine one;
  DM_TRY(dm_cli_take_stated_gpus(call, choice));
  choice->uses = may_use_gpus(call, problem);
  if (dm_cli_given(call, "gpus") || !choice->uses) return DM_OK;
  dm_backend_gpus(&list);
  if (list.count < 2) return DM_OK;
  DM_TRY(machine_of_gpu(call, list.gpu[0].name, &one));
  dm_cli_weigh_gpus(call, problem, &one, list.count, choice);
  dm_gpu_list_show(&list, choice->ranks);
  choice->spare.count = list.count - choice->ranks;
  memcpy(choice->spare.gpu, list.gpu + choice->ranks,
         (size_t)choice->spare.count * sizeof list.gpu[0]);
  /* A GPU that does not start is then an error, not a reason to multiply on the CPU. */
  return dm_option_take(dm_option_find("backend"), "cuda", &call->settings);
}
