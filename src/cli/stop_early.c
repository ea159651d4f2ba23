#include "cli/stop_early.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/session.h"
#include "core/clock.h"

static const double slurm_margin = 60; /* seconds to stop in, at most a tenth of what is left */

static volatile sig_atomic_t arrived;

static void note_signal(int number) {
  arrived = number;
}

static bool listens(const dm_call *call) {
  return (call->verb->bit & DM_VERBS_STOPPABLE) != 0;
}

void dm_cli_catch_signals(const dm_call *call) {
  if (!listens(call)) return;
  struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* When the job's allocation ends, which Slurm tells since 23.02; 0: not known. */
static double end_of_allocation(double now) {
  const char *text = getenv("SLURM_JOB_END_TIME");
  double left = text ? (double)(strtoll(text, NULL, 10) - (long long)time(NULL)) : 0;
  if (left <= 0) return 0;
  return now + left - (left < 10 * slurm_margin ? left / 10 : slurm_margin);
}

/* In the watchdog's thread: the main thread may hold any lock, so nothing but write is used. */
static void say(const dm_error *error, void *context) {
  char *text = NULL;
  size_t size = 0;
  (void)context;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return;
  dm_cli_print_error(error, NULL, memory);
  if (fclose(memory) != 0) return;
  ssize_t written = write(STDERR_FILENO, text, size);
  (void)written; /* nobody is left to be told */
}

static void end(int code, void *context) {
  (void)context;
  _exit(code);
}

dm_status dm_cli_watch(dm_run *run, const dm_call *call) {
  const dm_settings *s = &call->settings;
  const dm_watch_calls calls = {NULL, say, end};
  /* Where a launcher dies its pipes break; the rank must live to tell the others. */
  if (run->ranks > 1) signal(SIGPIPE, SIG_IGN);
  if (!listens(call)) return dm_run_watch(run, 0, calls);
  double now = dm_now();
  run->stop = (dm_stop){.on = true,
                        .arrived = &arrived,
                        .limit = s->time_limit > 0 ? now + s->time_limit : 0,
                        .allocation = end_of_allocation(now)};
  return dm_run_watch(run, s->hang_timeout, calls);
}
