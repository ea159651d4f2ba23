#include "engine/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/gpu_list.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/status.h"
#include "core/suggest.h"
#include "core/units.h"
#include "engine/phases.h"
#include "io/cache_ahead.h"
#include "plan/choose.h"
#include "plan/partition.h"
#include "plan/plan_text.h"
#include "plan/tiles.h"
#include "run/facts.h"

/* Fraction of the free memory that a rank may plan with; the rest is for libraries and the
 * system. */
static const double setup_usable = 0.85;

/* Seconds from which on what is predicted is told before the work. */
static const double setup_told = 5.0;

/* "auto, cblas": the kernels of OPS that can multiply PROBLEM. */
static void list_fitting(const dm_backend_ops *ops, const dm_problem *problem, char *text,
                         size_t size) {
  const char *const *names = dm_backend_kernel_names(ops);
  const char *why;
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; names[i] && used < size; i++)
    if (dm_backend_kernel_multiplies(ops, names[i], problem->work, &problem->compute, &why))
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", names[i]);
}

static dm_status check_kernel(const dm_backend_ops *ops, const char *kernel,
                              const dm_problem *problem) {
  const char *const *names = dm_backend_kernel_names(ops);
  const dm_compute *row = &problem->compute;
  char type[40];
  snprintf(type, sizeof type, "%s%s%s", dm_dtype_name(problem->work),
           dm_compute_is_plain(row) ? "" : " in ", dm_compute_is_plain(row) ? "" : row->name);
  char fitting[500];
  list_fitting(ops, problem, fitting, sizeof fitting);
  int count = 0;
  bool known = false;
  for (; names[count]; count++) known |= strcmp(kernel, names[count]) == 0;
  if (!known) {
    dm_status status = dm_fail(DM_E_USAGE, "backend %s has no kernel '%s'", ops->name, kernel);
    const int closest = dm_closest(kernel, names, count);
    const char *near = closest < 0 ? "" : names[closest];
    return dm_hint(status, "%s%s%skernels for %s: %s", closest < 0 ? "" : "did you mean '", near,
                   closest < 0 ? "" : "'? ", type, fitting);
  }
  const char *why = "";
  if (dm_backend_kernel_multiplies(ops, kernel, problem->work, &problem->compute, &why))
    return DM_OK;
  dm_status status = dm_fail(DM_E_USAGE, "kernel %s of backend %s does not support %s: %s", kernel,
                             ops->name, type, why);
  if (fitting[0]) return dm_hint(status, "kernels for %s: %s", type, fitting);
  return row->finish == DM_NO_FINISH ? status : dm_hint(status, "--backend cpu multiplies them");
}

bool dm_gpu_is_late(double flops, dm_dtype work, int cores) {
  return dm_backend_for_gpus()->slow_start && dm_cpu_is_sooner(flops, work, cores);
}

static dm_status find_sooner(const dm_run *run, const dm_engine_options *engine,
                             const dm_problem *problem, bool *cpu) {
  int64_t cores = run->cores.threads;
  *cpu = run->ranks == 1 && !engine->require_gpu_per_rank && strcmp(engine->kernel, "auto") == 0 &&
         dm_runs_suit(problem);
  if (*cpu) return DM_OK;
  if (!engine->once || engine->require_gpu_per_rank || strcmp(engine->kernel, "auto") != 0 ||
      !dm_compute_is_plain(&problem->compute))
    return DM_OK;
  DM_TRY(dm_comm_sum_i64(run->world, &cores, 1));
  *cpu = dm_gpu_is_late(dm_product_flops(problem), problem->work, (int)dm_min(cores, INT32_MAX));
  return DM_OK;
}

static void warn_of_driver(const dm_run *run) {
  dm_gpu_list list;
  dm_backend_gpus(&list);
  if (list.count > 0 && run->rank == 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "no GPU starts: the CPU multiplies (nvidia-smi shows the state of the driver)");
}

/* "auto" is cuda only if every rank has a GPU: all ranks multiply in the same way. Kernels are
 * checked before it matters whether their backend was built, so errors are the same in every
 * build. */
static dm_status find_backend(dm_run *run, const dm_engine_options *engine,
                              const dm_problem *problem, const dm_backend_ops **ops) {
  const char *name = engine->backend;
  if (run->ranks == 1 && !run->stays) dm_backend_use_one_gpu();
  if (strcmp(name, "auto") != 0) {
    dm_status status = DM_OK;
    for (const dm_backend_ops *const *one = dm_backend_all(); *one; one++)
      if (strcmp((*one)->name, name) == 0) status = check_kernel(*one, engine->kernel, problem);
    return dm_comm_agree(run->world, status ? status : dm_backend_find(name, ops));
  }
  bool cpu;
  DM_TRY(find_sooner(run, engine, problem, &cpu));
  if (cpu && dm_backend_has_driver())
    dm_log_line(&run->log, DM_LOG_NOTE,
                "multiplied on the CPU before a GPU has started; --backend cuda takes one");
  if (cpu) return dm_backend_find("cpu", ops);
  *ops = dm_backend_auto();
  int64_t without = dm_backend_device_count(*ops) == 0;
  if (without) warn_of_driver(run);
  DM_TRY(dm_comm_max_i64(run->world, &without, 1));
  DM_TRY(without ? dm_backend_find("cpu", ops) : DM_OK);
  return dm_comm_agree(run->world, check_kernel(*ops, engine->kernel, problem));
}

void dm_cached_backend_close(dm_cached_backend *kept) {
  dm_backend_close(kept->backend);
  *kept = (dm_cached_backend){0};
}

static bool is_same_backend(const dm_cached_backend *kept, const dm_backend_ops *ops,
                            const dm_backend_config *config) {
  return kept->backend && kept->backend->ops == ops && kept->tile == config->tile &&
         kept->gpu == config->local_rank && kept->local_ranks == config->local_ranks &&
         strcmp(kept->kernel, config->kernel) == 0 &&
         strcmp(kept->compute.name, config->compute->name) == 0 &&
         kept->compute.operand == config->compute->operand;
}

/* Opens the backend of CONFIG, or takes the one that an earlier product left open. */
static dm_status take_backend(const dm_engine_options *engine, const dm_backend_ops *ops,
                              dm_backend_config config, dm_setup *setup) {
  dm_cached_backend *kept = ops->device_memory && !config.calls ? engine->cached : NULL;
  setup->cached = kept;
  if (!kept) return dm_backend_open(ops, &config, &setup->backend);
  if (!is_same_backend(kept, ops, &config)) {
    dm_cached_backend_close(kept);
    *kept = (dm_cached_backend){.compute = *config.compute,
                                .tile = config.tile,
                                .gpu = config.local_rank,
                                .local_ranks = config.local_ranks};
    snprintf(kept->kernel, sizeof kept->kernel, "%s", config.kernel);
    config.compute = &kept->compute; /* as long as the backend */
    config.caches = true;
    DM_TRY(dm_backend_open(ops, &config, &kept->backend));
  }
  setup->backend = kept->backend;
  return DM_OK;
}

/* OpenBLAS starts its threads in a millisecond, and they turn in a loop for some more before they
 * sleep. */
static const double few_flops = 2.5e8;

static dm_status setup_open_backend(dm_run *run, const dm_engine_options *engine,
                                    const dm_problem *problem, const dm_backend_ops *ops,
                                    dm_setup *setup) {
  const bool cuts = engine->wishes.reproducible && !dm_compute_is_exact(&problem->compute);
  dm_backend_config config = {.local_rank = run->gpu,
                              .local_ranks = run->local_ranks,
                              .threads = run->cores.threads,
                              .compute = &problem->compute,
                              .calls = engine->compute,
                              .tile = cuts ? DM_BORDER : 0,
                              .kernel = engine->kernel,
                              .few = dm_product_flops(problem) < few_flops};
  DM_TRY(take_backend(engine, ops, config, setup));
  DM_TRY(dm_backend_device(setup->backend, &setup->device));
  if (setup->device.advice[0]) dm_log_line(&run->log, DM_LOG_WARNING, "%s", setup->device.advice);
  if (!ops->device_memory && engine->require_gpu_per_rank)
    return dm_hint(dm_fail(DM_E_DEVICE, "this rank multiplies on the CPU: backend %s", ops->name),
                   "leave out --require-gpu-per-rank, or see damier info for the GPUs");
  return DM_OK;
}

/* Places ranks close to their GPUs if there are enough cores. */
static dm_status sit_near(dm_run *run, const dm_engine_options *engine, const dm_setup *setup) {
  if (!setup->backend->ops->device_memory || run->local_ranks == 1) return DM_OK;
  return dm_run_place(run, engine->threads, setup->device.near);
}

/* The GPU's unique name identifies ranks that share it: with a launcher that shows each process a
 * different GPU, all have index 0. */
static dm_status count_sharing(const dm_run *run, dm_device *device) {
  const int64_t size = sizeof device->id;
  DM_FREED char *ids = NULL;
  if (!device->id[0]) return DM_OK;
  DM_TRY(dm_buffer_zeroed(run->local_ranks, size, (void **)&ids));
  DM_TRY(dm_comm_allgather(run->node, device->id, size, ids));
  device->sharing = 0;
  for (int i = 0; i < run->local_ranks; i++)
    if (memcmp(ids + i * size, device->id, strlen(device->id)) == 0) device->sharing++;
  return DM_OK;
}

/* GPUs of a computer that no rank uses. */
static void setup_hint_at_others(const dm_run *run, const dm_device *device) {
  if (dm_comm_is_one_process(run->world) || device->visible <= run->local_ranks) return;
  dm_log_line(
      &run->log, DM_LOG_NOTE,
      "%d GPUs and %d rank%s on this computer: start as many ranks as GPUs; or, on a single "
      "computer, leave out the launcher, and all GPUs that help are used (--gpus)",
      device->visible, run->local_ranks, run->local_ranks == 1 ? "" : "s");
}

static dm_status check_sharing(const dm_run *run, const dm_engine_options *engine,
                               const dm_setup *setup) {
  if (!setup->backend->ops->device_memory) return DM_OK;
  if (setup->device.sharing == 1) setup_hint_at_others(run, &setup->device);
  if (setup->device.sharing == 1) return DM_OK;
  if (engine->require_gpu_per_rank)
    return dm_hint(dm_fail(DM_E_DEVICE, "%d ranks of this node share GPU %s", setup->device.sharing,
                           setup->device.id),
                   "start at most %d ranks on a node, or leave out --require-gpu-per-rank",
                   setup->device.visible);
  dm_log_line(&run->log, DM_LOG_WARNING, "%d ranks share one GPU (%s)", setup->device.sharing,
              setup->device.name);
  return DM_OK;
}

int64_t dm_setup_share(int64_t limit, double available) {
  int64_t share = (int64_t)(available * setup_usable);
  return limit > 0 ? limit : share;
}

/* In factors of two around the stated rate: the noise of one measurement must not choose another
 * grid, whose sums have other bits. --machine states finer rates. */
static double setup_steady(double stated, double measured) {
  return stated * exp2(round(log2(measured / stated)));
}

/* Its part of the present memory of this process, and a margin for libraries, in coarse steps, so
 * that the next run gets the same plan. A program linked with CUDA starts with three times the
 * memory of one without. */
int64_t dm_setup_process_bytes(const dm_run *run) {
  const int64_t later = 16 << 20, kept = run ? dm_cached_bytes(&run->cached) : 0;
  const int ranks = run && dm_comm_is_one_process(run->world) ? run->ranks : 1;
  return dm_round_up(dm_max(0, dm_memory_own() / ranks - kept) + later, later);
}

/* Facts that rank 0 sees of the files, all ranks' cores, and the user's rates. */
static dm_status state_rates(const dm_run *run, const dm_engine_options *engine, dm_setup *setup) {
  dm_seen_files seen = {.cached = false};
  int64_t counts[2] = {run->cores.cores, setup->device.threads};
  if (run->rank == 0) seen = dm_see_files(&engine->files);
  DM_TRY(dm_comm_broadcast(run->world, &seen, sizeof seen, 0));
  DM_TRY(dm_comm_sum_i64(run->world, counts, 2));
  const int64_t there = (int64_t)CPU_COUNT(&run->job_cpus) * run->nodes;
  dm_state_files(seen, counts[0], run->nodes, &setup->machine);
  dm_state_cores(dm_min(there, counts[1]), counts[1], run->nodes, &setup->machine);
  if (!engine->machine) return DM_OK;
  return dm_comm_agree(run->world, dm_machine_take_rates(engine->machine, &setup->machine));
}

/* What the planner may use: the rank with the least memory decides. */
static dm_status describe_machine(dm_run *run, const dm_engine_options *engine,
                                  const dm_problem *problem, dm_setup *setup) {
  dm_machine *machine = &setup->machine;
  const bool gpu = setup->backend->ops->device_memory;
  const dm_device *device = &setup->device;
  dm_machine_stated(gpu ? device->name : NULL, (int)dm_max(1, device->threads), machine);
  machine->nodes = run->nodes;
  machine->gpu = gpu;
  machine->slower = engine->slower;
  dm_backend_kernel_copies(setup->backend->ops, engine->kernel, problem->work, &problem->compute,
                           &machine->copies_a, &machine->copies_b);
  machine->device_links = gpu && setup->links.chosen->device_memory;
  machine->shared_slots = !gpu && setup->links.chosen->shared_slots;
  const dm_link_rates *rates = &setup->links.rates;
  if (machine->device_links && rates->inside > 0)
    machine->link = setup_steady(dm_machine_device_link(device->name), rates->inside);
  const int64_t process =
      engine->process_bytes > 0 ? engine->process_bytes : dm_setup_process_bytes(run);
  int64_t values[7] = {
      process -
          dm_setup_share(engine->memory_host, (double)dm_memory_available() / run->local_ranks),
      gpu ? -dm_setup_share(engine->memory_device, (double)device->memory_free / device->sharing)
          : 0,
      dm_comm_size(run->near),
      gpu ? device->sharing : 1,
      process,
      !device->own_kernels,
      engine->memory_host > 0 && !dm_plan_all_in_files(problem) ? engine->beside : 0};
  DM_TRY(dm_comm_max_i64(run->world, values, 7));
  machine->own_kernels = gpu && !values[5];
  machine->process_bytes = values[4];
  /* Processes differ: the least that is left beside one, and the largest. */
  machine->host_bytes = dm_max(1, values[4] - values[0] - values[6]);
  machine->device_bytes = -values[1];
  machine->ranks_per_node = (int)values[2];
  if ((machine->device_links || !gpu) && rates->between > 0)
    machine->network = setup_steady(machine->network, rates->between * (double)values[2]);
  for (int i = 0; i < DM_OPERANDS; i++) machine->flops[i] /= (double)values[3];
  machine->upload /= (double)values[3];
  machine->memory /= (double)values[3];
  return state_rates(run, engine, setup);
}

/* What lasts is told beforehand to all, in one line; the rest of the plan to those who ask for
 * details. */
static void say_need(dm_run *run, const dm_setup *setup) {
  char host[32], device[32], has[32], disk[32], time[32], recipe[DM_RECIPE];
  char on_gpu[112] = "", on_disk[64] = "";
  const dm_plan *plan = &setup->plan;
  const double predicted = plan->forecast.start + plan->forecast.total;
  const dm_level level = predicted >= setup_told ? DM_LOG_NOTE : DM_LOG_DETAIL;
  dm_plan_recipe(plan, recipe);
  dm_format_bytes(plan->host_bytes, host);
  if (dm_plan_in_file(&plan->problem, DM_C))
    snprintf(on_disk, sizeof on_disk, " and %s on disk", dm_format_bytes(plan->disk_bytes, disk));
  dm_log_line(&run->log, level, "predicted %s, with %s of memory per rank%s",
              dm_format_seconds(predicted, time), host, on_disk);
  dm_log_line(&run->log, DM_LOG_DETAIL, "plan: %s", recipe);
  if (plan->gpu)
    snprintf(on_gpu, sizeof on_gpu, ", %s of GPU memory (has %s)",
             dm_format_bytes(plan->device_bytes, device),
             dm_format_bytes(setup->machine.device_bytes, has));
  dm_log_line(&run->log, DM_LOG_DETAIL, "needs per rank: %s of host memory (has %s)%s", host,
              dm_format_bytes(setup->machine.host_bytes, has), on_gpu);
}

static dm_status same_everywhere(dm_run *run, const dm_plan *plan) {
  int64_t hash = (int64_t)(dm_plan_hash(plan) >> 1), extremes[2] = {hash, -hash};
  DM_TRY(dm_comm_max_i64(run->world, extremes, 2));
  if (extremes[0] == hash && -extremes[1] == hash) return DM_OK;
  return dm_fail(DM_E_BUG, "the ranks do not hold the same plan");
}

dm_status dm_setup_choose(const dm_run *run, const dm_engine_options *engine,
                          const dm_problem *problem, dm_setup *setup) {
  dm_problem adjusted = *problem;
  dm_wishes wishes = engine->wishes;
  adjusted.fastest &= strcmp(engine->kernel, "auto") == 0; /* other kernels have one mode */
  wishes.by_links = strcmp(engine->transport, "auto") != 0;
  /* C's file was made when planning began, before the GPUs had started. */
  if (engine->once) setup->machine.pages_since = dm_now() - run->lap;
  DM_TRY(dm_plan_choose(&adjusted, &setup->machine, run->ranks, &wishes, &setup->plan));
  if (engine->once) setup->plan.forecast.start = dm_now() - run->born;
  return DM_OK;
}

static dm_status open_backends(dm_run *run, const dm_engine_options *engine,
                               const dm_problem *problem, dm_setup *setup) {
  const dm_backend_ops *ops;
  if (engine->pretend_nodes > 1)
    DM_TRY(dm_comm_agree(run->world, dm_run_pretend_nodes(run, engine->pretend_nodes)));
  DM_TRY(find_backend(run, engine, problem, &ops));
  DM_TRY(dm_comm_agree(run->world, setup_open_backend(run, engine, problem, ops, setup)));
  run->has_used_gpu |= ops->device_memory;
  DM_TRY(sit_near(run, engine, setup));
  DM_TRY(count_sharing(run, &setup->device));
  if (run->rank == 0) dm_gpu_facts_ask(&run->facts, setup->device.id);
  return dm_comm_agree(run->world, check_sharing(run, engine, setup));
}

dm_status dm_setup_open_backend(dm_run *run, const dm_engine_options *engine,
                                const dm_problem *problem, dm_setup *setup) {
  memset(setup, 0, sizeof *setup);
  /* Nodes would not know which parts of a file each of them needs. */
  const bool waits = engine->once && run->rank == 0 && run->nodes == 1 && dm_backend_has_driver();
  const char *const *files = engine->files.reads;
  dm_cache_ahead *ahead = waits ? dm_cache_ahead_start(files, DM_FILES_READ) : NULL;
  dm_status status = open_backends(run, engine, problem, setup);
  if (ahead) dm_cache_ahead_stop(ahead);
  return status;
}

/* The backend was opened for the original mode; the plan may have chosen a faster one. */
static dm_status open_for_plan(dm_run *run, const dm_engine_options *engine,
                               const dm_problem *problem, dm_setup *setup) {
  const dm_problem *planned = &setup->plan.problem;
  const dm_backend_ops *ops = setup->backend->ops;
  const dm_device device = setup->device; /* with the number of ranks that share it */
  if (strcmp(planned->compute.name, problem->compute.name) == 0) return DM_OK;
  dm_setup_close(setup);
  DM_TRY(setup_open_backend(run, engine, planned, ops, setup));
  setup->device = device;
  return DM_OK;
}

dm_status dm_setup_open(dm_run *run, const dm_engine_options *engine, const dm_problem *problem,
                        dm_setup *setup) {
  dm_run_phase(run, "starting the backend", 1);
  DM_TRY(dm_setup_open_backend(run, engine, problem, setup));
  if (run->ranks > 1) dm_run_phase(run, "testing links", 1);
  DM_TRY(dm_links_recall(run, setup->backend, setup->device.index, engine->transport, engine->known,
                         &setup->links));
  dm_run_phase(run, "planning", 1);
  DM_TRY(describe_machine(run, engine, problem, setup));
  dm_status status = DM_OK;
  if (run->rank == 0) status = dm_setup_choose(run, engine, problem, setup);
  snprintf(setup->plan.kernel, sizeof setup->plan.kernel, "%s", engine->kernel);
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_broadcast(run->world, &setup->plan, sizeof setup->plan, 0));
  DM_TRY(dm_comm_agree(run->world, same_everywhere(run, &setup->plan)));
  DM_TRY(dm_comm_agree(run->world, open_for_plan(run, engine, problem, setup)));
  setup->transport = dm_links_for(&setup->links, &setup->plan);
  say_need(run, setup);
  return DM_OK;
}

void dm_setup_close(dm_setup *setup) {
  if (!setup->cached) dm_backend_close(setup->backend);
  setup->backend = NULL;
}

void dm_setup_discard(dm_setup *setup) {
  if (setup->cached) dm_cached_backend_close(setup->cached);
  dm_setup_close(setup);
}

void dm_setup_record_machine(const dm_setup *setup, const dm_run *run, dm_record *record) {
  dm_record_text(record, "machine.backend", NULL, "%s", setup->backend->ops->name);
  dm_record_text(record, "machine.device", "device", "%s", setup->device.name);
  dm_record_text(record, "machine.device_id", NULL, "%s", setup->device.id);
  dm_record_text(record, "machine.library", NULL, "%s", setup->device.library);
  dm_record_text(record, "machine.host", NULL, "%s", dm_comm_host(run->world));
  dm_record_integer(record, "machine.nodes", NULL, DM_SHOWN_PLAIN, run->nodes);
  dm_record_flag(record, "machine.pretended_nodes", NULL, run->pretends);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_record_integer(record, "machine.threads", NULL, DM_SHOWN_PLAIN, setup->device.threads);
  dm_record_text(record, "machine.where", "ranks", "%d on %d %s%s, backend %s", run->ranks,
                 run->nodes, run->pretends ? "pretended " : "", run->nodes == 1 ? "node" : "nodes",
                 setup->backend->ops->name);
  dm_run_record_cores(run, record);
  dm_facts_record(run->facts, false, record);
}

void dm_setup_record_sizes(const dm_problem *p, dm_record *record) {
  if (dm_problem_entries(p) > 1)
    dm_record_integer(record, "problem.batch", NULL, DM_SHOWN_PLAIN, dm_problem_entries(p));
  dm_record_integer(record, "problem.m", NULL, DM_SHOWN_PLAIN, dm_problem_entry_rows(p));
  dm_record_integer(record, "problem.n", NULL, DM_SHOWN_PLAIN, p->n);
  dm_record_integer(record, "problem.k", NULL, DM_SHOWN_PLAIN, p->no_k ? 0 : p->k);
}

void dm_setup_record_sums(const dm_problem *p, dm_record *record) {
  static const double right = 1e-5, cut_off = 6e-9; /* the latter of each product, on an H200 */
  const int64_t piece = p->compute.piece;
  if (!p->compute.truncates || p->compute.operand == DM_TF32) return;
  dm_record_text(record, "problem.accumulate", NULL, "%s", piece > 0 ? "f32" : "fast");
  if (piece > 0)
    dm_record_text(record, "problem.sums", "sums",
                   "of at most %lld products, added in f32; too small by %.0e at most",
                   (long long)piece, right);
  else
    dm_record_text(record, "problem.sums", "sums", "of the GPU's units; too small by up to %.1e",
                   cut_off * (double)p->k);
}

void dm_setup_record(const dm_setup *setup, const dm_run *run, dm_record *record) {
  const dm_plan *plan = &setup->plan;
  const dm_problem *p = &plan->problem;
  const dm_link_rates *rates = &setup->links.rates;
  const bool plain = dm_compute_is_plain(&p->compute);
  char recipe[DM_RECIPE], ramp[32], time[32];
  dm_plan_recipe(plan, recipe);
  dm_plan_ramp_text(plan, ramp);
  char times[32] = "";
  if (dm_problem_entries(p) > 1)
    snprintf(times, sizeof times, "%lld of ", (long long)dm_problem_entries(p));
  dm_record_text(record, "problem.shape", "product", "%s%lld x %lld x %lld", times,
                 (long long)dm_problem_entry_rows(p), (long long)p->n,
                 p->no_k ? 0LL : (long long)p->k);
  dm_setup_record_sizes(p, record);
  dm_record_text(record, "problem.types", "types", "%s%s%s%s, sums in %s, C in %s",
                 dm_dtype_name(p->work), plain ? "" : " (", plain ? "" : p->compute.name,
                 plain ? "" : ")", dm_dtype_name(p->accumulator), dm_dtype_name(p->c));
  dm_record_text(record, "problem.work", NULL, "%s", dm_dtype_name(p->work));
  dm_record_text(record, "problem.c", NULL, "%s", dm_dtype_name(p->c));
  if (plan->gpu) dm_setup_record_sums(p, record);
  dm_setup_record_machine(setup, run, record);
  dm_record_text(record, "transport.name", NULL, "%s", setup->transport->name);
  dm_record_text(record, "transport.tried", NULL, "%s", setup->links.reasons);
  dm_record_real(record, "transport.proved_rate", NULL, DM_SHOWN_PLAIN,
                 rates->inside > 0 ? rates->inside : rates->between);
  dm_record_real(record, "transport.proved_rate_between_nodes", NULL, DM_SHOWN_PLAIN,
                 rates->between);
  dm_record_text(record, "transport.choice", run->ranks > 1 ? "panels travel by" : NULL,
                 "%s (self-test: %s)", setup->transport->name, setup->links.reasons);
  dm_record_text(record, "plan.recipe", "plan", "%s", recipe);
  dm_record_text(record, "plan.rates", NULL, "%s",
                 setup->machine.rates_of_user ? "given" : "stated");
  dm_record_text(record, "plan.grid", NULL, "%dx%dx%d", plan->pm, plan->pn, plan->pk);
  dm_record_integer(record, "plan.panel", NULL, DM_SHOWN_PLAIN, plan->kb);
  dm_record_text(record, "plan.ramp", NULL, "%s", ramp);
  dm_record_text(record, "plan.a_in", NULL, "%s", dm_residence_name(plan->a));
  dm_record_text(record, "plan.b_in", NULL, "%s", dm_residence_name(plan->b));
  dm_record_integer(record, "plan.tiles", NULL, DM_SHOWN_PLAIN, dm_plan_tiles(plan));
  dm_record_flag(record, "plan.overlap", NULL, plan->overlap);
  dm_record_flag(record, "plan.read_first", NULL, plan->read_first);
  dm_record_integer(record, "plan.host_bytes", NULL, DM_SHOWN_BYTES, plan->host_bytes);
  dm_record_integer(record, "plan.device_bytes", NULL, DM_SHOWN_BYTES, plan->device_bytes);
  dm_forecast_record(plan, &setup->machine, record);
  if (plan->forecast.start > 0)
    dm_record_line(record, "predicted",
                   dm_format_seconds(plan->forecast.start + plan->forecast.total, time));
}
