#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/cgroup.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "run/launcher.h"

enum { MOST_IO_THREADS = 16 };

static dm_status beat(void *run) {
  return dm_run_beat(run);
}

static dm_status beat_of_thread(void *run) {
  dm_watch_moved(((dm_run *)run)->watch);
  return DM_OK;
}

/* ---- the cores of a node, divided among its ranks ---- */

/* Sent by each rank to the others of its node. */
typedef struct core_standing {
  cpu_set_t bound, job, near;
  bool asked;
} core_standing;

static dm_status run_divide(dm_run *run, const core_standing *all, cpu_set_t *sets, int threads) {
  const int ranks = run->local_ranks;
  dm_core_case of = {.ranks = ranks,
                     .bound = sets,
                     .near = sets + ranks,
                     .job = all[0].job,
                     .quota = dm_cgroup_cores(""),
                     .threads = threads > 0 ? threads : dm_cores_threads_stated()};
  for (int r = 0; r < ranks; r++) {
    sets[r] = all[r].bound;
    sets[ranks + r] = all[r].near;
    CPU_OR(&of.job, &of.job, &all[r].job);
    of.keep |= all[r].asked;
  }
  if (!run->topology) { /* hwloc takes 20 ms */
    DM_TRY(dm_buffer_table(1, &run->topology));
    dm_topology_for(&of, run->topology);
  }
  dm_cores_divide(&of, run->topology, run->local_rank, &run->cores);
  run->job_cpus = of.job;
  return DM_OK;
}

/* Binds the process, or this thread if it is one of several ranks, and threads started later. */
static bool run_take_cores(const dm_run *run, const cpu_set_t *cpus) {
  if (run->ranks > 1 && dm_comm_is_one_process(run->world))
    return sched_setaffinity(0, sizeof *cpus, cpus) == 0;
  return dm_cores_take(cpus);
}

dm_status dm_run_place(dm_run *run, int threads, const char *near) {
  const int64_t size = sizeof(core_standing);
  core_standing own = {.bound = run->bound, .job = run->job_cpus};
  DM_FREED core_standing *all = NULL;
  DM_FREED cpu_set_t *sets = NULL;
  dm_cpus_parse(near, &own.near);
  own.asked = run->stays || dm_cores_asked(&own.job);
  dm_status status = dm_buffer_zeroed(run->local_ranks, size, (void **)&all);
  if (!status) status = dm_buffer_table(2 * (int64_t)run->local_ranks, &sets);
  DM_TRY(dm_comm_agree(run->node, status));
  DM_TRY(dm_comm_allgather(run->node, &own, size, all));
  DM_TRY(run_divide(run, all, sets, threads));
  if (run->stays) return DM_OK;
  if (CPU_EQUAL(&run->cores.cpus, &run->taken) || run_take_cores(run, &run->cores.cpus)) {
    run->taken = run->cores.cpus;
    return DM_OK;
  }
  /* Binding is not permitted: use what the launcher left. */
  run->cores.cpus = run->bound;
  run->cores.threads = (int)dm_min(run->cores.threads, CPU_COUNT(&run->bound));
  run->cores.reason = DM_CORES_BOUND;
  return DM_OK;
}

void dm_run_take_node(dm_run *run) {
  if (!run->stays && run_take_cores(run, &run->job_cpus)) run->taken = run->job_cpus;
}

void dm_run_record_cores(const dm_run *run, dm_record *record) {
  char cpus[256], bound[256], why[320] = "";
  dm_cpus_text(&run->cores.cpus, cpus, sizeof cpus);
  dm_cpus_text(&run->bound, bound, sizeof bound);
  if (run->cores.reason == DM_CORES_BOUND) snprintf(why, sizeof why, ", as the launcher bound it");
  if (run->cores.reason == DM_CORES_PART)
    snprintf(why, sizeof why, ", its part of what %d ranks share", run->local_ranks);
  if (run->cores.reason == DM_CORES_WIDENED)
    snprintf(why, sizeof why, ", its fair part; the launcher had bound it to %s", bound);
  dm_record_text(record, "machine.cpus", NULL, "%s", cpus);
  dm_record_text(record, "machine.binding", run->ranks > 1 ? "rank 0 runs on" : "runs on",
                 "CPU%s %s%s", CPU_COUNT(&run->cores.cpus) == 1 ? "" : "s", cpus, why);
}

/* ---- nodes ---- */

static int run_part_of(const dm_run *run, int count) {
  return (int)((int64_t)run->local_rank * count / run->local_ranks);
}

static dm_status part_nodes(dm_run *run, int count) {
  DM_TRY(dm_comm_split(run->node, run_part_of(run, count), run->rank, &run->near));
  int64_t nodes = dm_comm_rank(run->near) == 0;
  DM_TRY(dm_comm_sum_i64(run->world, &nodes, 1));
  run->nodes = (int)nodes;
  return DM_OK;
}

/* Sets up RUN, which has its world. */
static dm_status find_nodes(dm_run *run) {
  run->rank = run->log.rank = dm_comm_rank(run->world);
  run->ranks = dm_comm_size(run->world);
  DM_TRY(dm_comm_split_node(run->world, &run->node));
  run->local_rank = dm_comm_rank(run->node);
  run->local_ranks = dm_comm_size(run->node);
  run->gpu = run->local_rank;
  dm_cores_allowed(&run->bound, &run->job_cpus);
  run->taken = run->bound;
  if (dm_comm_is_one_process(run->world)) run->job_cpus = run->bound;
  DM_TRY(dm_run_place(run, 0, ""));
  return part_nodes(run, 1);
}

/* A run with nothing but what its caller states. */
static void run_prepare(dm_run *run, dm_comm *world, dm_level level, dm_progress_mode progress,
                        const char *command) {
  *run = (dm_run){.world = world,
                  .log = {.out = stderr, .level = level},
                  .progress = progress,
                  .command = command,
                  .born = dm_now(),
                  .keepalive = {beat, run},
                  .of_thread = {beat_of_thread, run}};
  run->lap = run->born;
}

dm_status dm_run_start(dm_run *run, dm_comm *world, dm_level level, dm_progress_mode progress,
                       const char *command) {
  run_prepare(run, world, level, progress, command);
  if (!world) DM_TRY(dm_comm_start(&run->world));
  return find_nodes(run);
}

dm_status dm_run_start_in(dm_run *run, dm_comm *world, const char *command) {
  run_prepare(run, world, DM_LOG_ERROR, DM_PROGRESS_NEVER, command);
  run->stays = true;
  return find_nodes(run);
}

dm_status dm_run_pretend_nodes(dm_run *run, int count) {
  int64_t fewest = -run->local_ranks;
  DM_TRY(dm_comm_max_i64(run->world, &fewest, 1));
  if (count > -fewest)
    return dm_fail(DM_E_USAGE, "%lld ranks cannot pretend to be %d nodes", (long long)-fewest,
                   count);
  dm_comm_free(run->near);
  run->near = NULL;
  DM_TRY(part_nodes(run, count));
  run->pretends = count > 1;
  /* Makes NCCL, too, treat the ranks as separate nodes. */
  char name[64];
  snprintf(name, sizeof name, "%.40s-%d", dm_comm_host(run->world), run_part_of(run, count));
  if (run->pretends && !dm_comm_is_one_process(run->world) && setenv("NCCL_HOSTID", name, 1) != 0)
    return dm_fail(DM_E_FIT, "no memory for a variable");
  return DM_OK;
}

static void wait_on(void *watch) {
  dm_watch_poll(watch);
}

dm_status dm_run_watch(dm_run *run, double seconds, dm_watch_calls calls) {
  DM_TRY(dm_watch_start(run->world, seconds, calls, &run->watch));
  run->timeout = seconds;
  dm_comm_on_wait(run->world, wait_on, run->watch);
  dm_comm_on_wait(run->node, wait_on, run->watch);
  dm_comm_on_wait(run->near, wait_on, run->watch);
  return DM_OK;
}

void dm_run_lap(dm_run *run, double *seconds) {
  const double now = dm_now();
  *seconds += now - run->lap;
  run->lap = now;
}

/* ---- progress of phases ---- */

static const double marks[] = {1, 2, 5, 10, 30}, /* seconds; after the last one the interval is: */
    run_step = 30;

double dm_run_next_line(double shown) {
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (shown < marks[i]) return marks[i];
  return (floor(shown / run_step) + 1) * run_step;
}

static bool shows_progress(const dm_run *run) {
  return run->rank == 0 && (run->progress == DM_PROGRESS_ALWAYS ||
                            (run->progress == DM_PROGRESS_AUTO && run->log.level >= DM_LOG_NOTE));
}

/* Whether another line that is not a bar should be shown by now. */
static bool line_is_due(const dm_run *run, double now) {
  return now - run->born >= dm_run_next_line(run->shown);
}

static void show_phase(dm_run *run) {
  char seconds[32];
  const double now = dm_now();
  if (!shows_progress(run) || !run->phase || !line_is_due(run, now)) return;
  run->shown = now - run->born;
  const bool terminal = isatty(fileno(run->log.out));
  fprintf(run->log.out, "%sdamier: %s, %s after the start\n", terminal ? "\r\033[K" : "",
          run->phase, dm_format_seconds(run->shown, seconds));
}

void dm_run_phase(dm_run *run, const char *phase, int patience) {
  dm_watch_phase(run->watch, phase, dm_run_patience(run, patience));
  dm_trace_phase(&run->trace, phase);
  run->phase = phase;
  show_phase(run);
}

dm_status dm_run_beat(dm_run *run) {
  dm_watch_moved(run->watch);
  dm_watch_poll(run->watch);
  show_phase(run);
  return dm_stop_check(&run->stop);
}

int dm_run_io_threads(const dm_run *run, int wanted) {
  return wanted >= 0 ? wanted : (int)dm_min(MOST_IO_THREADS, dm_max(1, run->cores.cores));
}

int dm_run_writers(const dm_run *run, int wanted) {
  return (int)dm_max(1, dm_run_io_threads(run, wanted)) * run->local_ranks;
}

void dm_run_poll_late(dm_run *run) {
  dm_watch_poll(run->watch);
  show_phase(run);
  if (run->warned_late) return;
  dm_status status = dm_stop_check(&run->stop);
  if (!status) return;
  run->warned_late = true;
  dm_log_line(&run->log, DM_LOG_WARNING,
              "too late to be %s: all products are done, and C is being written", status->message);
  dm_status_free(status);
}

dm_status dm_run_span(const dm_run *run, double start, double end, double *seconds) {
  double extremes[2] = {end, -start};
  DM_TRY(dm_comm_max_f64(run->node, extremes, 2));
  *seconds = extremes[0] + extremes[1];
  return dm_comm_max_f64(run->world, seconds, 1);
}

static void close_nodes(dm_run *run) {
  dm_cached_drop(&run->cached);
  dm_watch_stop(run->watch);
  dm_comm_free(run->near);
  dm_comm_free(run->node);
  dm_gpu_facts_close(run->facts);
  run->facts = NULL;
  free(run->topology);
  run->topology = NULL;
}

void dm_run_stop(dm_run *run) {
  close_nodes(run);
  dm_comm_stop(run->world);
}

void dm_run_leave(dm_run *run) {
  close_nodes(run);
  dm_comm_free(run->world);
}

void dm_run_record_launch(const dm_run *run, dm_record *record) {
  char name[16];
  const double age = dm_launcher_age(name), before = age - (dm_now() - run->born);
  if (age <= 0 || before < 0) return;
  dm_record_text(record, "machine.launcher", NULL, "%s", name);
  dm_record_real(record, "times.launch_s", name[0] ? "launching, before main" : "before main",
                 DM_SHOWN_SECONDS, before);
}

/* ---- a part of a run: its first ranks, whole nodes before others ---- */

typedef struct run_standing {
  int64_t node, rank; /* the node's number is the lowest of its ranks */
} run_standing;

static dm_status run_find_place(const dm_run *run, int64_t *place) {
  run_standing own = {run->rank, run->rank};
  DM_FREED run_standing *all = NULL;
  DM_TRY(dm_comm_broadcast(run->node, &own.node, sizeof own.node, 0));
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(run->ranks, &all)));
  DM_TRY(dm_comm_allgather(run->world, &own, sizeof own, all));
  *place = 0;
  for (int r = 0; r < run->ranks; r++)
    *place += all[r].node < own.node || (all[r].node == own.node && all[r].rank < own.rank);
  return DM_OK;
}

/* The first of the ranks that count as one node in the whole run, pretended or not. */
static dm_status find_near(const dm_run *run, int64_t *first) {
  *first = run->rank;
  return dm_comm_broadcast(run->near, first, sizeof *first, 0);
}

static dm_status count_nodes(dm_run *part, int64_t near) {
  part->rank = dm_comm_rank(part->world);
  part->ranks = dm_comm_size(part->world);
  DM_TRY(dm_comm_split_node(part->world, &part->node));
  DM_TRY(dm_comm_split(part->node, (int)near, part->rank, &part->near));
  int64_t nodes[2] = {dm_comm_rank(part->near) == 0, dm_comm_rank(part->node) == 0};
  DM_TRY(dm_comm_sum_i64(part->world, nodes, 2));
  part->nodes = (int)nodes[0];
  part->pretends = nodes[0] > nodes[1];
  return DM_OK;
}

dm_status dm_run_part_open(const dm_run *run, int count, dm_run *part) {
  int64_t place, near;
  *part = *run;
  part->world = part->node = part->near = NULL;
  part->pretends = false;
  part->cached = (dm_cached_memory){0};
  DM_TRY(run_find_place(run, &place));
  DM_TRY(find_near(run, &near));
  DM_TRY(dm_comm_split(run->world, place < count ? 0 : -1, (int)place, &part->world));
  return part->world ? count_nodes(part, near) : DM_OK;
}

void dm_run_part_close(dm_run *part) {
  if (!part->world) return;
  dm_cached_drop(&part->cached);
  dm_comm_free(part->near);
  dm_comm_free(part->node);
  dm_comm_free(part->world);
}

/* ---- progress ---- */

enum { RUN_WIDTH = 30 };

void dm_progress_start(dm_progress *progress, dm_run *run, const char *label, double flops,
                       double before, int used) {
  const bool terminal = isatty(STDERR_FILENO);
  double now = dm_now();
  *progress = (dm_progress){.run = run,
                            .label = label,
                            .on = shows_progress(run),
                            .terminal = terminal,
                            .flops = flops,
                            .before = before,
                            .used = used,
                            .started = now,
                            .measured = now,
                            .then = {.done = before},
                            .shown = now - 1};
  /* "always" is for tests and for following a log: the first step is shown at once. */
  progress->at_once = run->progress == DM_PROGRESS_ALWAYS;
}

/* "1.2 TFLOP/s, reads 3.4 GB/s, writes 0.5 GB/s": in a log since the last line; on a terminal over
 * a second, or since the start while that is less. */
static void run_take_rates(dm_progress *p, const dm_standing *at, double now) {
  const double seconds = now - p->measured;
  const bool whole = !p->terminal || seconds >= 1.0, first = p->measured == p->started;
  char flops[32], read[32], written[32];
  if (seconds <= 0 || at->done <= p->then.done || (!whole && !first)) return;
  const double used = (double)p->used;
  dm_format_flops((at->done - p->then.done) * p->flops / seconds, flops);
  dm_format_rate((double)(at->read - p->then.read) * used / seconds, read);
  dm_format_rate((double)(at->written - p->then.written) * used / seconds, written);
  int length = snprintf(p->rates, sizeof p->rates, "%s", flops);
  if (at->read > p->then.read)
    length += snprintf(p->rates + length, sizeof p->rates - (size_t)length, ", reads %s", read);
  if (at->written > p->then.written)
    snprintf(p->rates + length, sizeof p->rates - (size_t)length, ", writes %s", written);
  if (!whole) return;
  p->measured = now;
  p->then = *at;
}

bool dm_progress_is_due(const dm_progress *p) {
  if (!p->on) return false;
  const double now = dm_now();
  return p->terminal ? now - p->shown >= 1.0 / 6 : p->at_once || line_is_due(p->run, now);
}

void dm_progress_show(dm_progress *p, dm_standing at) {
  const double now = dm_now(), spent = now - p->started;
  if (!dm_progress_is_due(p)) return;
  p->shown = now;
  p->run->shown = now - p->run->born;
  p->at_once = false;
  char left[32] = "?", before[40] = "";
  if (at.done > p->before) dm_format_seconds(spent / (at.done - p->before) * (1.0 - at.done), left);
  if (p->before > 0) snprintf(before, sizeof before, " (%d %% were there)", (int)(100 * p->before));
  run_take_rates(p, &at, now);
  const char *note = at.note ? at.note : "", *comma = p->rates[0] ? ", " : "";
  const char *stop = at.note ? "; " : "";
  const int percent = (int)(100 * at.done);
  if (!p->terminal) {
    fprintf(stderr, "damier: %s %d %%%s, %s%s%s left%s%s\n", p->label, percent, before, p->rates,
            comma, left, stop, note);
    return;
  }
  char bar[RUN_WIDTH + 1];
  for (int i = 0; i < RUN_WIDTH; i++) {
    const int here = i * 100;
    bar[i] = here < (int)(100 * p->before) * RUN_WIDTH ? '='
             : here < percent * RUN_WIDTH              ? '#'
                                                       : '.';
  }
  bar[RUN_WIDTH] = '\0';
  fprintf(stderr, "\r%s [%s] %3d %%%s, %s%s%s left%s%s\033[K", p->label, bar, percent, before,
          p->rates, comma, left, stop, note);
  fflush(stderr);
}

void dm_progress_end(dm_progress *progress) {
  if (progress->on && progress->terminal) fprintf(stderr, "\r\033[K");
  progress->on = false;
}
