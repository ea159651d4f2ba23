/* Runs the jobs of a list in workers: processes that are forked once, and again after a job that
 * fails or ends one. So no job can harm another one, and none loads a library. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/job_list.h"
#include "cli/job_order.h"
#include "cli/job_text.h"
#include "cli/program.h"
#include "cli/session.h"
#include "comm/comm.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "dataset/child.h"

/* What a worker says: it begins JOB (CODE negative), or JOB has ended with CODE, and printed up to
 * ENDS of its sheet. */
typedef struct jobs_message {
  int64_t job;
  int64_t code;
  int64_t ends[2];
} jobs_message;

enum { JOBS_BEGINS = -1 };

enum { JOBS_AT_ONCE = 256 };

/* A worker runs every N-th job, of N workers. */
typedef struct jobs_lane {
  int64_t next, begun; /* jobs; begun: that the worker has not ended, or -1 */
  pid_t worker;        /* 0: none */
  int from;            /* the end of its pipe */
  dm_job_sheet sheet;  /* of several lanes: what its jobs print */
} jobs_lane;

/* How a job ended; what it printed is told when all before it have ended. */
typedef struct jobs_end {
  bool known;
  int code, signal; /* signal: that ended its process, or 0 */
  dm_job_text text;
} jobs_end;

typedef struct running {
  const dm_call *call;
  const dm_job_list *list;
  dm_kept_child inspector; /* each worker's own */
  int64_t failed, done;
  jobs_end *end; /* of each job; the first TOLD were told */
  int64_t told;
  int first; /* the exit code of the first job in the list that failed, */
  int64_t first_job;
  bool stopped;
  int lanes;
  jobs_lane lane[JOBS_AT_ONCE];
} running;

/* ---- signals: the workers stop, and then the list ---- */

static volatile sig_atomic_t jobs_asked, jobs_workers[JOBS_AT_ONCE];

/* Those of a terminal reach the workers, too. */
static void jobs_forward(int number, siginfo_t *info, void *context) {
  const int error = errno;
  (void)context;
  jobs_asked = 1;
  for (int i = 0; i < JOBS_AT_ONCE; i++)
    if (jobs_workers[i] > 0 && info->si_code <= 0) kill((pid_t)jobs_workers[i], number);
  errno = error;
}

static const int jobs_signals[] = {SIGUSR1, SIGTERM, SIGINT};

static void jobs_catch(bool catches) {
  for (size_t i = 0; i < sizeof jobs_signals / sizeof jobs_signals[0]; i++) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = catches ? SA_SIGINFO : 0;
    if (catches)
      action.sa_sigaction = jobs_forward;
    else
      action.sa_handler = SIG_DFL;
    /* Shells start background jobs with SIGINT ignored; leave it so. */
    if (sigaction(jobs_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    sigaction(jobs_signals[i], &action, NULL);
  }
}

/* ---- in the worker ---- */

static void jobs_say(int to, const jobs_lane *lane, int64_t job, int64_t code) {
  jobs_message message = {.job = job, .code = code};
  dm_job_sheet_ends(&lane->sheet, message.ends);
  if (write(to, &message, sizeof message) != (ssize_t)sizeof message) _exit(DM_E_IO);
}

/* After a job that failed, what it left in this process is not trusted. */
static _Noreturn void jobs_work(running *r, const jobs_lane *lane, int to) {
  int code = 0;
  jobs_catch(false);
  dm_comm_forget_launcher();
  dm_job_sheet_use(&lane->sheet);
  for (int64_t i = lane->next; i < r->list->count && code == 0; i += r->lanes) {
    const dm_job_line *job = &r->list->jobs[i];
    if (job->wrong) break;
    jobs_say(to, lane, i, JOBS_BEGINS);
    code = dm_cli_job(job->words, job->word, r->call);
    fflush(NULL);
    jobs_say(to, lane, i, code);
  }
  dm_child_dismiss(&r->inspector);
  _exit(code);
}

/* ---- in the first process ---- */

static void jobs_tell(running *r, int64_t job) {
  jobs_end *end = &r->end[job];
  const char *wrong = r->list->jobs[job].wrong;
  char why[64] = "";
  if (end->signal) snprintf(why, sizeof why, "killed by signal %d, ", end->signal);
  dm_job_text_tell(&end->text);
  if (end->code == 0) return;
  fprintf(stderr, "damier: %s:%lld: %s%s%sexit %d\n", r->call->operands[0],
          (long long)r->list->jobs[job].line, why, wrong ? wrong : "", wrong ? ", " : "",
          end->code);
}

/* In the order of the list; ALL: also what follows a job that has not ended. */
static void jobs_tell_ended(running *r, bool all) {
  for (; r->told < r->list->count && (all || r->end[r->told].known); r->told++)
    if (r->end[r->told].known) jobs_tell(r, r->told);
}

static void jobs_ended(running *r, jobs_lane *lane, int64_t job, jobs_end end) {
  lane->next = job + r->lanes;
  lane->begun = -1;
  end.known = true;
  r->end[job] = end;
  r->done += end.code == 0;
  r->failed += end.code != 0;
  r->stopped |= end.code == DM_E_STOPPED;
  if (end.code != 0 && (r->first == 0 || job < r->first_job)) {
    r->first = end.code;
    r->first_job = job;
  }
  jobs_tell_ended(r, false);
}

/* A job that ended its process did so with its exit code. */
static void jobs_wait(running *r, jobs_lane *lane) {
  int how = 0;
  close(lane->from);
  while (waitpid(lane->worker, &how, 0) < 0 && errno == EINTR) continue;
  jobs_workers[lane - r->lane] = 0;
  lane->worker = 0;
  if (lane->begun < 0) return;
  const int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  jobs_end end = {.code = number ? 128 + number : WEXITSTATUS(how), .signal = number};
  int64_t ends[2];
  dm_job_sheet_ends(&lane->sheet, ends);
  dm_job_sheet_take(&lane->sheet, ends, &end.text);
  jobs_ended(r, lane, lane->begun, end);
}

/* Takes what a worker says. */
static void jobs_listen(running *r, jobs_lane *lane) {
  jobs_message message;
  const ssize_t got = read(lane->from, &message, sizeof message);
  if (got < 0 && errno == EINTR) return;
  if (got != (ssize_t)sizeof message)
    jobs_wait(r, lane);
  else if (message.code == JOBS_BEGINS)
    lane->begun = message.job;
  else {
    jobs_end end = {.code = (int)message.code};
    dm_job_sheet_take(&lane->sheet, message.ends, &end.text);
    jobs_ended(r, lane, message.job, end);
  }
}

static dm_status jobs_start(running *r, jobs_lane *lane) {
  int ends[2];
  if (pipe(ends) < 0) return dm_fail(DM_E_IO, "no pipe: %s", strerror(errno));
  fflush(NULL);
  const pid_t worker = fork();
  if (worker < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    return dm_fail(DM_E_FIT, "no process can be started: %s", strerror(reason));
  }
  if (worker == 0) {
    close(ends[0]);
    jobs_work(r, lane, ends[1]);
  }
  close(ends[1]);
  lane->worker = worker;
  lane->from = ends[0];
  lane->begun = -1;
  jobs_workers[lane - r->lane] = worker;
  return DM_OK;
}

/* Whether the lane has a job for a new worker. */
static bool jobs_has_next(running *r, jobs_lane *lane) {
  while (lane->next < r->list->count && !r->stopped && !jobs_asked) {
    const dm_job_line *job = &r->list->jobs[lane->next];
    if (!job->wrong) return true;
    jobs_ended(r, lane, lane->next, (jobs_end){.code = DM_E_USAGE});
  }
  return false;
}

/* Starts a worker in each lane that has none; *count: that have one, whose pipes are in POLLED. */
static dm_status jobs_start_all(running *r, struct pollfd *polled, jobs_lane **of, int *count) {
  *count = 0;
  for (int i = 0; i < r->lanes; i++) {
    jobs_lane *lane = &r->lane[i];
    if (!lane->worker && jobs_has_next(r, lane)) DM_TRY(jobs_start(r, lane));
    if (!lane->worker) continue;
    polled[*count] = (struct pollfd){.fd = lane->from, .events = POLLIN};
    of[(*count)++] = lane;
  }
  return DM_OK;
}

static dm_status jobs_all(running *r) {
  struct pollfd polled[JOBS_AT_ONCE];
  jobs_lane *of[JOBS_AT_ONCE];
  for (int count;;) {
    DM_TRY(jobs_start_all(r, polled, of, &count));
    if (count == 0) return DM_OK;
    if (poll(polled, (nfds_t)count, -1) < 0 && errno != EINTR)
      return dm_fail(DM_E_IO, "poll: %s", strerror(errno));
    for (int i = 0; i < count; i++)
      if (polled[i].revents) jobs_listen(r, of[i]);
  }
}

static dm_status jobs_check(const dm_call *call) {
  if (call->own.at_once > JOBS_AT_ONCE)
    return dm_fail(DM_E_USAGE, "option '--at-once': at most %d jobs run at once", JOBS_AT_ONCE);
  if (dm_comm_size_before_start() <= 1) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "damier run is one process, but a launcher started %d",
                         dm_comm_size_before_start()),
                 "start it without mpirun or srun; --jobs-of I/N divides the list over processes");
}

static dm_status jobs_open(running *r) {
  r->lanes = (int)r->call->own.at_once;
  DM_TRY(dm_buffer_table(r->list->count + 1, &r->end));
  for (int i = 0; i < r->lanes; i++) {
    r->lane[i] = (jobs_lane){.next = i, .sheet = {.file = {-1, -1}}};
    if (r->lanes > 1) (void)dm_job_sheet_open(&r->lane[i].sheet);
  }
  return DM_OK;
}

static void jobs_close(running *r) {
  if (r->end) jobs_tell_ended(r, true);
  for (int i = 0; i < r->lanes; i++) dm_job_sheet_close(&r->lane[i].sheet);
  free(r->end);
}

static int jobs_report(const running *r, double seconds) {
  const int64_t left = r->list->count - r->done - r->failed;
  if (r->call->own.quiet < 2)
    printf("damier: run jobs=%lld done=%lld failed=%lld left=%lld time_s=%.3f %s\n",
           (long long)r->list->count, (long long)r->done, (long long)r->failed, (long long)left,
           seconds,
           r->failed ? "FAIL"
           : left    ? "STOPPED"
                     : "DONE");
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fputs("damier: error: standard output could not be written\n", stderr);
    return DM_E_IO;
  }
  return r->stopped || (left > 0 && jobs_asked) ? DM_E_STOPPED : r->first;
}

int dm_cli_run_list(dm_call *call) {
  const double start = dm_now();
  dm_job_list list = {.count = 0};
  running r = {.call = call, .list = &list};
  dm_status status = jobs_check(call);
  if (!status) status = dm_job_list_read(call->operands[0], call->own.jobs_of, &list);
  if (!status && call->own.at_once == 0) call->own.at_once = dm_job_list_at_once(&list);
  if (!status) status = jobs_open(&r);
  call->settings.inspector = &r.inspector;
  jobs_catch(true);
  if (!status) status = jobs_all(&r);
  jobs_close(&r);
  const int code = status ? dm_cli_finish(call, status) : jobs_report(&r, dm_now() - start);
  dm_job_list_free(&list);
  return code;
}
