#include "cli/session.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/gpu_list.h"
#include "check/verdict.h"
#include "cli/ending.h"
#include "cli/signals.h"
#include "comm/team.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/version.h"
#include "engine/dataset_input.h"
#include "options/request.h"

int dm_cli_end(const dm_call *call, dm_status status) {
  if (!status) return 0;
  int code = (int)status->code;
  if (dm_cli_speaks(call))
    dm_cli_print_error(status, NULL, dm_cli_level(call), stderr);
  else
    sleep(1); /* launchers kill the job at the first exit: let the rank that prints exit first */
  dm_status_free(status);
  return code;
}

int dm_cli_finish(const dm_call *call, dm_status status) {
  return dm_cli_end(call, dm_status_first(status, dm_cli_close_reports(call)));
}

/* ---- the work ---- */

/* Settings are sent as plain memory, so all ranks must run the same program. */
static dm_status same_version(const dm_run *run) {
  static const char mine[96] = DM_VERSION " (git " DM_GIT ")";
  char first[sizeof mine];
  memcpy(first, mine, sizeof mine);
  DM_TRY(dm_comm_broadcast(run->world, first, sizeof first, 0));
  dm_status status = DM_OK;
  if (memcmp(first, mine, sizeof mine) != 0)
    status = dm_hint(dm_fail(DM_E_MPI, "rank %d on %s is damier %s, rank 0 is damier %s", run->rank,
                             dm_comm_host(run->world), mine, first),
                     "install the program on a file system that all nodes share");
  return dm_comm_agree(run->world, status);
}

/* Replaces "@FILE" of --machine by the words that rank 0 has read there. */
static dm_status share_machine(const dm_run *run, dm_settings *settings) {
  char words[sizeof settings->machine];
  memcpy(words, settings->machine, sizeof words);
  DM_TRY(dm_comm_broadcast(run->world, words, sizeof words, 0));
  if (settings->machine[0] == '@') memcpy(settings->machine, words, sizeof words);
  return DM_OK;
}

/* Rank 0 decides for all, but a rank that was started with something else was meant to do it. */
static dm_status same_call(const dm_run *run, const dm_call *call) {
  static const char *const operands[] = {"operand 1", "operand 2", "operand 3"};
  dm_alike alike = {0};
  dm_alike_add_text(&alike, "the verb", call->verb->name);
  for (int i = 0; i < (int)(sizeof operands / sizeof *operands); i++)
    dm_alike_add_text(&alike, operands[i], i < call->operand_count ? call->operands[i] : NULL);
  dm_cli_add_alike(&alike, call);
  return dm_hint(dm_alike_check(run->world, &alike),
                 "all ranks need the same command line and the same DAMIER_* variables; mpirun -x "
                 "NAME passes a variable to other computers");
}

static dm_status session_share(const dm_run *run, dm_call *call, dm_status prepared,
                               const dm_work *work) {
  DM_TRY(dm_comm_agree(run->world, prepared));
  DM_TRY(dm_comm_broadcast(run->world, &call->settings, sizeof call->settings, 0));
  DM_TRY(dm_comm_broadcast(run->world, &call->own, sizeof call->own, 0));
  if (work->bytes == 0 || run->ranks == 1) return DM_OK;
  DM_TRY(dm_comm_broadcast(run->world, work->shared, work->bytes, 0));
  return dm_datasets_share(run->world, run->rank, work->datasets, work->dataset_count);
}

/* Reporting failed with REPORTED, but the result exists. */
static dm_status say_complete(const dm_call *call, dm_status reported) {
  const bool product = (call->verb->bit & DM_VERBS_PRODUCT) != 0;
  if (!reported || (!product && call->verb->bit != DM_VERB_GENERATE)) return reported;
  return dm_hint(reported, "%s is complete: only the report is missing",
                 product ? call->settings.output.file : call->operands[0]);
}

/* Runs the work, and writes its trace if one is requested; a trace of failed work is useless. */
static dm_status work_traced(dm_run *run, const dm_call *call, const dm_work *work,
                             dm_record *record) {
  const char *path = call->own.trace;
  if (!path[0]) {
    dm_status status = work->run(run, call, work->shared, record);
    dm_trace_phase(&run->trace, NULL);
    return status;
  }
  DM_TRY(dm_trace_open(&run->trace, run->world, path));
  dm_status status = work->run(run, call, work->shared, record);
  if (!status || dm_verdict_is(status))
    return dm_status_first(
        status, say_complete(call, dm_trace_write(&run->trace, run->world, &run->log, path)));
  dm_trace_drop(&run->trace, run->world, path);
  return status;
}

static dm_status perform(dm_run *run, dm_call *call, dm_status prepared, const dm_work *work) {
  dm_status same = same_version(run);
  if (!same) same = share_machine(run, &call->settings);
  if (!same) same = same_call(run, call);
  if (same) dm_status_free(prepared);
  DM_TRY(same);
  DM_TRY(session_share(run, call, prepared, work));
  DM_TRY(dm_comm_agree(run->world, run->rank == 0 ? dm_cli_open_reports(call) : DM_OK));
  if (call->settings.threads > 0) DM_TRY(dm_run_place(run, (int)call->settings.threads, ""));
  DM_TRY(dm_cli_watch_run(run, call));
  dm_record *record = NULL;
  if (work->reports) return work_traced(run, call, work, NULL);
  dm_status status = dm_record_new(call->verb->name, call->command, &record);
  if (!status) status = work_traced(run, call, work, record);
  /* A failed verification still gets its report. */
  if (!status || dm_verdict_is(status)) {
    dm_status reported = run->rank == 0 ? dm_cli_publish(call, record) : DM_OK;
    if (!status) reported = say_complete(call, reported);
    status = dm_status_first(status, dm_comm_agree(run->world, reported));
  }
  dm_record_free(record);
  return status;
}

/* Of several ranks in this process, the first one that ends the job prints why. */
static void be_the_only_one(void) {
  static atomic_flag ends = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&ends)) pause();
}

/* Prints STATUS once and frees it; an error that only this rank knows ends the job here. */
static int session_leave(const dm_run *run, dm_status status) {
  if (!status) return 0;
  int code = (int)status->code;
  bool alone = !status->agreed && run->ranks > 1;
  if (alone) be_the_only_one();
  if (alone || run->rank == 0) dm_cli_print_error(status, run, run->log.level, stderr);
  dm_status_free(status);
  if (alone && run->at_end) dm_status_free(run->at_end(run->what));
  if (alone) dm_comm_abort(run->world, code);
  return code;
}

/* ---- a rank ---- */

/* The ranks of this process: threads, or a single one. */
typedef struct team {
  dm_call *call;
  dm_status prepared;
  const dm_work *work;
  int ranks, code;
  int gpu[DM_GPUS];    /* of each rank */
  bool fails[DM_GPUS]; /* its GPU does not start */
  bool again;          /* ... and others can do its work */
} team;

static bool has_spare(const team *t) {
  return t->work->spare && t->work->spare->count > 0;
}

/* Ranks that --grid needs. */
static int64_t grid_ranks(const dm_settings *s) {
  return dm_max(1, s->grid[0]) * dm_max(1, s->grid[1]) * dm_max(1, s->grid[2]);
}

/* Collective, with an agreed STATUS: whether other GPUs can do the work of those that do not
 * start. */
static bool can_go_on(team *t, const dm_run *run, dm_warm_up *warm_up, const dm_error *status) {
  const bool threads = t->work->threads > 1;
  if (!status || status->code != DM_E_DEVICE || (threads ? !status->agreed : !has_spare(t)))
    return false;
  int64_t failing = threads ? !dm_warm_up_started(warm_up) : !run->has_used_gpu;
  t->fails[run->rank] = failing;
  dm_status failed = dm_comm_sum_i64(run->world, &failing, 1);
  const int64_t left = run->ranks - failing;
  const bool enough = left > 0 ? left >= grid_ranks(&t->call->settings) : has_spare(t);
  const bool yes = !failed && failing > 0 && enough;
  dm_status_free(failed);
  if (run->rank == 0) t->again = yes;
  if (run->rank == 0 && yes) dm_log_line(&run->log, DM_LOG_WARNING, "%s", status->message);
  return yes;
}

/* WORLD: of team T; NULL: T has one rank, and MPI is started if there is a launcher. */
static int run_rank(dm_call *call, dm_status prepared, const dm_work *work, dm_comm *world,
                    team *t) {
  dm_run run;
  memset(&run, 0, sizeof run);
  bool only = false;
  const int gpu = world ? t->gpu[dm_comm_rank(world)] : dm_comm_local_rank_before_start(&only);
  const bool early = !world && work->warms_up_alone;
  dm_warm_up *warm_up = NULL;
  if (work->warms_up || early) warm_up = dm_backend_warm_up(early ? 0 : gpu, early || only);
  dm_status status = dm_run_start(&run, world, dm_cli_level(call),
                                  (dm_progress_mode)call->own.progress, call->command);
  if (status) {
    dm_status_free(prepared);
    dm_warm_up_end(warm_up);
    if (!world) return dm_cli_finish(call, status);
    return session_leave(&run, dm_status_first(status, dm_cli_close_reports(call)));
  }
  run.born = run.lap = call->born;
  run.log.notes = call->notes;
  run.ends = true;
  if (world) run.gpu = gpu;
  status = perform(&run, call, prepared, work);
  const bool silent = can_go_on(t, &run, warm_up, status);
  status = dm_status_first(status, dm_cli_close_reports(call));
  int code = silent ? (int)status->code : 0;
  if (silent) {
    dm_status_free(status);
  } else {
    dm_cli_stop_speaking();
    code = session_leave(&run, status);
  }
  const bool alone = dm_comm_is_alone(run.world);
  /* An MPI that uses GPUs may need them until it ends. */
  if (code == 0 && !world && !alone && dm_comm_ignores_gpus()) dm_warm_up_undo(warm_up);
  dm_run_stop(&run);
  dm_warm_up_end(warm_up);
  if (run.at_end) {
    fflush(NULL);
    const int ended = dm_cli_end(call, run.at_end(run.what));
    if (code == 0) code = ended;
  }
  if (code == 0 && !world && alone && run.has_used_gpu) dm_cli_end_ahead();
  if (code == 0 && !world && run.at_end) _exit(0); /* not after the libraries have wound up */
  return code;
}

/* ---- ranks that are threads of this process ---- */

/* What another rank than 0 has of its own; rank 0 sends it the contents. */
typedef struct session_follower {
  dm_call call;
  dm_cli_reports reports;
  dm_work work;
  dm_dataset *datasets[DM_CLI_DATASETS];
} session_follower;

static session_follower *session_follow(const team *t, int rank) {
  session_follower *f = calloc(1, sizeof *f);
  char *shared = calloc(1, (size_t)t->work->bytes + 1);
  if (!f || !shared) {
    free(shared);
    free(f);
    return NULL;
  }
  f->call = *t->call;
  f->call.rank = rank;
  f->call.reports = &f->reports;
  f->work = *t->work;
  f->work.shared = shared;
  f->work.datasets = f->datasets;
  for (int i = 0; i < f->work.dataset_count; i++) {
    const ptrdiff_t place = (char *)t->work->datasets[i] - (char *)t->work->shared;
    f->datasets[i] = (dm_dataset *)(void *)(shared + place);
  }
  return f;
}

static void run_follower(team *t, int rank, dm_comm *world) {
  session_follower *f = session_follow(t, rank);
  if (!f) {
    dm_run run = {.world = world, .rank = rank, .ranks = dm_comm_size(world)};
    session_leave(&run, dm_fail(DM_E_FIT, "no memory for a rank"));
    return;
  }
  (void)run_rank(&f->call, DM_OK, &f->work, world, t);
  for (int i = 0; i < f->work.dataset_count; i++) dm_dataset_free(f->datasets[i]);
  free(f->work.shared);
  free(f);
}

static void session_play(dm_comm *world, void *context) {
  team *t = context;
  const int rank = dm_comm_rank(world);
  if (rank == 0)
    t->code = run_rank(t->call, t->prepared, t->work, world, t);
  else
    run_follower(t, rank, world);
}

/* The product is left to the ranks whose GPUs start. */
static void drop_failing(team *t) {
  const dm_log log = dm_cli_log(t->call);
  dm_gpu_list list;
  int left = 0;
  dm_backend_gpus(&list);
  for (int r = 0; r < t->ranks; r++)
    if (t->fails[r])
      dm_log_line(&log, DM_LOG_WARNING, "GPU %s does not start: the product is left to the others",
                  list.gpu[t->gpu[r]].entry);
    else
      t->gpu[left++] = t->gpu[r];
  t->ranks = left;
  t->prepared = DM_OK; /* it was agreed on */
  t->again = false;
}

/* A process cannot show its driver other GPUs than at first: the command starts anew. */
static int start_with_spare(const team *t) {
  dm_gpu_list_show(t->work->spare, t->work->spare->count);
  fflush(NULL);
  execv("/proc/self/exe", t->call->argv);
  return dm_cli_end(t->call, dm_fail(DM_E_DEVICE, "damier cannot be started with another GPU: %m"));
}

/* The GPUs of a team start side by side. */
int dm_cli_run_job(dm_call *call, dm_status prepared, const dm_work *work) {
  const bool threads = work->threads > 1;
  team t = {.call = call, .prepared = prepared, .work = work, .ranks = threads ? work->threads : 1};
  for (int r = 0; r < t.ranks; r++) t.gpu[r] = r;
  for (;;) {
    dm_status status = DM_OK;
    if (threads)
      status = dm_team_run(t.ranks, session_play, &t);
    else
      t.code = run_rank(call, t.prepared, work, NULL, &t);
    if (status) {
      dm_status_free(t.prepared);
      return dm_cli_finish(call, status);
    }
    if (!t.again && t.code == 0 && threads) dm_cli_end_ahead();
    if (!t.again) return t.code;
    drop_failing(&t);
    if (t.ranks == 0) return start_with_spare(&t);
  }
}
