/* Runs the jobs of a list one after the other in a worker: a process that is forked once, and again
 * after a job that fails or ends it. So no job can harm another one, and none loads a library. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/job_list.h"
#include "cli/program.h"
#include "cli/session.h"
#include "comm/comm.h"
#include "core/clock.h"

/* What a worker says: it begins JOB (CODE negative), or JOB has ended with CODE. */
typedef struct jobs_message {
  int64_t job;
  int64_t code;
} jobs_message;

enum { JOBS_BEGINS = -1 };

typedef struct running {
  const dm_call *call;
  const dm_job_list *list;
  int64_t next, failed, done; /* jobs */
  int first;                  /* the first exit code that is not 0 */
  bool stopped;
} running;

/* ---- signals: the worker stops, and then the list ---- */

static volatile sig_atomic_t jobs_asked, jobs_worker;

/* Those of a terminal reach the worker, too. */
static void jobs_forward(int number, siginfo_t *info, void *context) {
  const int error = errno;
  (void)context;
  jobs_asked = 1;
  if (jobs_worker > 0 && info->si_code <= 0) kill((pid_t)jobs_worker, number);
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

static void jobs_say(int to, int64_t job, int64_t code) {
  const jobs_message message = {job, code};
  if (write(to, &message, sizeof message) != (ssize_t)sizeof message) _exit(DM_E_IO);
}

/* After a job that failed, what it left in this process is not trusted. */
static _Noreturn void jobs_work(const running *r, int to) {
  int code = 0;
  jobs_catch(false);
  dm_comm_forget_launcher();
  for (int64_t i = r->next; i < r->list->count && code == 0 && !r->list->jobs[i].wrong; i++) {
    const dm_job_line *job = &r->list->jobs[i];
    jobs_say(to, i, JOBS_BEGINS);
    code = dm_cli_job(job->words, job->word, r->call);
    fflush(NULL);
    jobs_say(to, i, code);
  }
  _exit(code);
}

/* ---- in the first process ---- */

static void jobs_ended(running *r, int64_t job, int code, const char *why) {
  const int64_t line = r->list->jobs[job].line;
  r->next = job + 1;
  if (code == 0) {
    r->done++;
    return;
  }
  if (r->first == 0) r->first = code;
  r->stopped |= code == DM_E_STOPPED;
  r->failed++;
  fflush(stdout);
  fprintf(stderr, "damier: %s:%lld: %s%sexit %d\n", r->call->operands[0], (long long)line, why,
          *why ? ", " : "", code);
}

/* Takes what the worker says until it ends; *begun: a job that it has not ended, or -1. */
static void jobs_listen(running *r, int from, int64_t *begun) {
  jobs_message message;
  *begun = -1;
  for (;;) {
    const ssize_t got = read(from, &message, sizeof message);
    if (got < 0 && errno == EINTR) continue;
    if (got != (ssize_t)sizeof message) return;
    *begun = message.code == JOBS_BEGINS ? message.job : -1;
    if (message.code != JOBS_BEGINS) jobs_ended(r, message.job, (int)message.code, "");
  }
}

/* A job that ended its process did so with its exit code. */
static void jobs_wait(running *r, pid_t worker, int64_t begun) {
  int how = 0;
  char why[64] = "";
  while (waitpid(worker, &how, 0) < 0 && errno == EINTR) continue;
  jobs_worker = 0;
  if (begun < 0) return;
  if (WIFSIGNALED(how)) snprintf(why, sizeof why, "killed by signal %d", WTERMSIG(how));
  jobs_ended(r, begun, WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how), why);
}

/* A worker runs jobs from the next one on. */
static dm_status jobs_one_worker(running *r) {
  int ends[2];
  int64_t begun;
  if (pipe(ends) < 0) return dm_fail(DM_E_IO, "no pipe: %s", strerror(errno));
  fflush(NULL);
  const pid_t worker = fork();
  if (worker < 0) {
    close(ends[0]);
    close(ends[1]);
    return dm_fail(DM_E_FIT, "no process can be started: %s", strerror(errno));
  }
  if (worker == 0) {
    close(ends[0]);
    jobs_work(r, ends[1]);
  }
  jobs_worker = worker;
  close(ends[1]);
  const int64_t before = r->next;
  jobs_listen(r, ends[0], &begun);
  close(ends[0]);
  jobs_wait(r, worker, begun);
  return r->next > before ? DM_OK : dm_fail(DM_E_BUG, "a worker ended without a job");
}

static dm_status jobs_all(running *r) {
  while (r->next < r->list->count && !r->stopped && !jobs_asked) {
    const dm_job_line *job = &r->list->jobs[r->next];
    if (job->wrong)
      jobs_ended(r, r->next, DM_E_USAGE, job->wrong);
    else
      DM_TRY(jobs_one_worker(r));
  }
  return DM_OK;
}

static dm_status jobs_check(void) {
  if (dm_comm_size_before_start() <= 1) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "damier run is one process, but a launcher started %d",
                         dm_comm_size_before_start()),
                 "start it without mpirun or srun; --jobs-of I/N divides the list over processes");
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
  dm_status status = jobs_check();
  if (!status) status = dm_job_list_read(call->operands[0], call->own.jobs_of, &list);
  jobs_catch(true);
  if (!status) status = jobs_all(&r);
  const int code = status ? dm_cli_finish(call, status) : jobs_report(&r, dm_now() - start);
  dm_job_list_free(&list);
  return code;
}
