#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

static const double slurm_margin = 60; /* seconds for stopping, at most a tenth of the time left */

static atomic_int signal_arrived; /* any thread may look at it */
static pid_t signal_listener;     /* the process that prints; not a child that inspects a file */
static const char *line_begin;    /* "\n" if stderr is a terminal, to start a new line */
static atomic_bool speaks;        /* whether this process reports the first SIGINT, */
static bool speaks_of_end;        /* ... and the second */
static bool resumes;              /* whether the verb keeps checkpoints */
static atomic_bool prepares;      /* files are inspected, nothing has begun: ends at once */

static void print_now(const char *text) {
  const ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written; /* a failure cannot be reported any more */
}

static void announce(int number, bool again) {
  char line[200], *end = stpcpy(line, line_begin); /* after the progress bar or "^C" */
  end = stpcpy(end, again               ? "damier: ended at once"
                    : number == SIGTERM ? "damier: SIGTERM: stopping after the work under way"
                                        : "damier: SIGINT: stopping after the work under way");
  if (resumes && again)
    end = stpcpy(end, "; the same command resumes from the last checkpoint, if there is one");
  if (!again && number == SIGINT) end = stpcpy(end, " (Ctrl-C again ends at once)");
  stpcpy(end, "\n");
  print_now(line);
}

/* Storage may take minutes to show a file, and there is nothing to keep. The child that inspects it
 * ends with this process. */
static _Noreturn void end_unprepared(int number) {
  if (speaks_of_end) {
    print_now(line_begin);
    print_now(number == SIGTERM  ? "damier: stopped early: SIGTERM arrived\n"
              : number == SIGINT ? "damier: stopped early: SIGINT arrived\n"
                                 : "damier: stopped early: SIGUSR1 arrived\n");
    print_now("  hint: nothing was begun: run the same command again\n");
  }
  _exit(DM_E_STOPPED);
}

/* Requests a clean stop; a second SIGINT ends at once. mpirun turns SIGINT into SIGTERM and kills
 * soon afterwards. SIGUSR1, which leaves time, replaces no signal that does not. */
static void note_signal(int number) {
  static volatile sig_atomic_t interrupted;
  const int error = errno;
  if (prepares && getpid() == signal_listener) end_unprepared(number);
  const int before = signal_arrived;
  const bool again = number == SIGINT && interrupted;
  const bool first = number != SIGUSR1 && (before == 0 || before == SIGUSR1);
  int none = 0;
  if (number == SIGUSR1)
    atomic_compare_exchange_strong(&signal_arrived, &none, number);
  else
    signal_arrived = number;
  if (number == SIGINT) interrupted = 1;
  if (getpid() == signal_listener && (again ? speaks_of_end : first && speaks))
    announce(number, again);
  if (again) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT); /* delivered on return */
  }
  errno = error;
}

static bool listens(const dm_call *call) {
  return (call->verb->bit & DM_VERBS_STOPPABLE) != 0;
}

void dm_cli_catch_signals(const dm_call *call) {
  if (!listens(call)) return;
  struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
  static const int numbers[] = {SIGUSR1, SIGTERM, SIGINT};
  sigset_t heard;
  sigemptyset(&action.sa_mask);
  sigemptyset(&heard);
  signal_listener = getpid();
  line_begin = isatty(STDERR_FILENO) ? "\n" : "";
  resumes = (call->verb->bit & DM_VERBS_PRODUCT) != 0;
  speaks_of_end = dm_cli_speaks(call);
  prepares = true;
  speaks = speaks_of_end && dm_cli_level(call) >= DM_LOG_WARNING;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    sigaddset(&heard, numbers[i]);
    /* Shells start background jobs with SIGINT ignored; leave it so. */
    if (numbers[i] == SIGINT && sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
      continue;
    sigaction(numbers[i], &action, NULL);
  }
  sigprocmask(SIG_UNBLOCK, &heard, NULL); /* a parent may have blocked them */
}

void dm_cli_stop_speaking(void) {
  speaks = false;
}

/* When Slurm ends the job's allocation (known since Slurm 23.02); 0: unknown. */
static double end_of_allocation(double now) {
  const char *text = getenv("SLURM_JOB_END_TIME");
  double left = text ? (double)(strtoll(text, NULL, 10) - (long long)time(NULL)) : 0;
  if (left <= 0) return 0;
  return now + left - (left < 10 * slurm_margin ? left / 10 : slurm_margin);
}

/* Runs in the watchdog's thread: the main thread may hold any lock, so only write is used. */
static void say_why(const dm_error *error) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return;
  dm_cli_print_error(error, NULL, DM_LOG_NOTE, memory);
  if (fclose(memory) != 0) return;
  print_now(text);
}

/* SIGUSR1 leaves the time that it takes. */
static bool is_urgent(void) {
  return signal_arrived == SIGTERM || signal_arrived == SIGINT;
}

dm_status dm_cli_watch_run(dm_run *run, const dm_call *call) {
  prepares = false;
  const dm_settings *s = &call->settings;
  const dm_watch_calls calls = {.is_asked = is_urgent, .say = say_why, .end = _exit};
  /* If the launcher dies its pipes break; this rank must survive to tell the others. */
  if (!dm_comm_is_one_process(run->world)) signal(SIGPIPE, SIG_IGN);
  if (!listens(call)) return dm_run_watch(run, 0, calls);
  double now = dm_now();
  run->stop = (dm_stop){.on = true,
                        .arrived = &signal_arrived,
                        .limit = call->own.time_limit > 0 ? now + call->own.time_limit : 0,
                        .allocation = end_of_allocation(now)};
  run->strict = dm_given(s, "hang-timeout");
  return dm_run_watch(run, s->hang_timeout, calls);
}
