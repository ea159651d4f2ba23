#include "run/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/checked.h"
#include "core/units.h"
#include "run/watch_impl.h"

enum { TICKS = 40, TELL_MOST = 6 };
static const double longest_tick = 0.5, grace = 5, reprieve = 8; /* seconds */

/* Before a rank exits: how long its main thread may take to tell the others, and how long these may
 * take to receive it. The launcher kills all at the first exit, and reports only that. */
static const double farewell = 4, hearing = 0.5;

/* Rank 0 exits first, since it knows more; if it is silent, rank 1, then the next two, and so on:
 * the launcher kills all at the first exit, which may take it a second or two, so few ranks print
 * the same message. */
static double grace_of(int rank) {
  int late = 0;
  for (int r = rank; r > 1 && late < 4; r /= 2) late += late == 0 ? 2 : 1;
  return rank == 0 ? 0 : grace + late;
}

static void pause_for(double seconds) {
  struct timespec time = {.tv_nsec = (long)(seconds * 1e9)}; /* less than one */
  nanosleep(&time, NULL);
}

/* Lets the main thread send ENDING to the others, if it is not stuck. */
static void pass_on(dm_watch *w, const dm_ending *ending) {
  if (w->ranks == 1) return;
  w->mine = *ending;
  atomic_store(&w->leaves, true);
  for (double waited = 0; waited < farewell && !atomic_load(&w->passed_on); waited += 0.05)
    pause_for(0.05);
  pause_for(hearing);
}

static void end_hang(dm_watch *w, int now) {
  dm_error error;
  dm_watch_describe_hang(w, now, &error);
  w->calls.say(&error, w->calls.context);
  if (w->rank == 0) pass_on(w, &(dm_ending){DM_E_HANG, error.rank, -1, ""});
  w->calls.end(DM_E_HANG, w->calls.context);
}

/* Output of such a rank is visible only if the lost process was a script between launcher and rank;
 * otherwise rank 0 prints the message, or, if this is rank 0, a rank on another node. */
static void end_orphan(dm_watch *w) {
  dm_ending ending = {.code = DM_E_MPI, .rank = w->rank, .speaker = 0};
  if (w->rank == 0) ending.speaker = dm_heartbeat_elsewhere(w->heartbeat);
  if (dm_launcher_lost(&w->launcher))
    memcpy(ending.launcher, w->launcher.name, sizeof ending.launcher);
  else
    ending.speaker = -1;
  dm_error error;
  dm_watch_describe_orphan(&ending, dm_comm_host(w->world), &error);
  w->calls.say(&error, w->calls.context);
  pass_on(w, &ending);
  w->calls.end(DM_E_MPI, w->calls.context);
}

static void end_as_told(dm_watch *w) {
  dm_ending ending = w->heard;
  if (ending.speaker == w->rank) {
    int named = w->rank == 0 ? ending.rank : 0;
    dm_error error;
    dm_watch_describe_orphan(&ending, dm_heartbeat_host(w->heartbeat, named), &error);
    w->calls.say(&error, w->calls.context);
  }
  if (w->rank == 0) {
    ending.speaker = -1;
    pass_on(w, &ending);
  }
  w->calls.end((int)ending.code, w->calls.context);
}

/* Files are as after a kill: the same command goes on from the last checkpoint. */
static void end_asked(dm_watch *w) {
  dm_error error;
  dm_watch_describe_stop(&error);
  w->calls.say(&error, w->calls.context);
  w->calls.end(DM_E_STOPPED, w->calls.context);
}

static void wait_tick(dm_watch *w) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t nanoseconds = until.tv_nsec + (int64_t)(w->tick * 1e9);
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  while (!w->ending && pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT) {
  }
}

static void *count_ticks(void *argument) {
  dm_watch *w = argument;
  long long seen = -1;
  int changed = 0, asked = 0; /* ASKED: ticks since the job was asked to stop */
  pthread_mutex_lock(&w->lock);
  for (wait_tick(w); !w->ending; wait_tick(w)) {
    int now = atomic_fetch_add(&w->ticks, 1) + 1;
    if (atomic_load(&w->hears)) end_as_told(w);
    if (dm_launcher_gone(&w->launcher)) end_orphan(w);
    if (w->calls.is_asked && w->calls.is_asked(w->calls.context)) asked++;
    if (asked > w->reprieve + w->grace) end_asked(w);
    long long moves = atomic_load(&w->moves) + atomic_load(&w->job);
    if (moves != seen) changed = now;
    seen = moves;
    int limit = w->limit * atomic_load(&w->patience) + w->grace;
    if (w->seconds > 0 && now - changed >= limit) end_hang(w, now);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static dm_status start_thread(dm_watch *w) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  int code = pthread_create(&w->thread, NULL, count_ticks, w);
  if (!code) return DM_OK;
  return dm_hint(dm_fail(DM_E_FIT, "no thread for the watchdog: %s", strerror(code)),
                 "limits such as ulimit -v, -d and -u are too low");
}

/* Sets the tick, and the number of ticks without progress that are a hang. */
static void set_pace(dm_watch *w, double seconds) {
  w->seconds = seconds;
  w->tick = seconds > 0 && seconds / TICKS < longest_tick ? seconds / TICKS : longest_tick;
  w->limit = seconds > 0 ? (int)(seconds / w->tick + 0.5) : 0;
  w->reprieve = (int)(reprieve / w->tick);
  w->grace = (int)(grace_of(w->rank) / w->tick);
  w->every = seconds > 0 ? (int)dm_min(TELL_MOST, w->limit / 16) : TELL_MOST;
}

dm_status dm_watch_start(const dm_comm *world, double seconds, dm_watch_calls calls,
                         dm_watch **out) {
  dm_watch *w = calloc(1, sizeof *w);
  DM_TRY(dm_comm_agree(world, w ? DM_OK : dm_fail(DM_E_FIT, "no memory for the watchdog")));
  w->world = world;
  w->rank = dm_comm_rank(world);
  w->ranks = dm_comm_size(world);
  set_pace(w, seconds);
  dm_launcher_find(&w->launcher, !dm_comm_is_one_process(world));
  w->calls = calls;
  atomic_init(&w->phase, "starting");
  atomic_init(&w->patience, 1);
  DM_TRY(dm_heartbeat_open(world, &w->heartbeat));
  DM_TRY(dm_comm_agree(world, start_thread(w)));
  *out = w;
  return DM_OK;
}

void dm_watch_stop(dm_watch *w) {
  if (!w) return;
  dm_heartbeat_close(w->heartbeat); /* waits for all ranks, still watched */
  pthread_mutex_lock(&w->lock);
  w->ending = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

void dm_watch_phase(dm_watch *w, const char *phase, int patience) {
  if (!w) return;
  atomic_store(&w->done, 0);
  atomic_store(&w->total, 0);
  atomic_store(&w->phase, phase);
  atomic_store(&w->patience, patience);
  dm_watch_moved(w);
}

void dm_watch_moved(dm_watch *w) {
  if (w) atomic_fetch_add_explicit(&w->moves, 1, memory_order_relaxed);
}

void dm_watch_at(dm_watch *w, int64_t done, int64_t total) {
  if (!w) return;
  atomic_store_explicit(&w->done, done, memory_order_relaxed);
  atomic_store_explicit(&w->total, total, memory_order_relaxed);
}

/* At most once per tick. */
void dm_watch_poll(dm_watch *w) {
  if (!w) return;
  if (atomic_load_explicit(&w->leaves, memory_order_acquire) && !atomic_load(&w->passed_on)) {
    dm_status_free(dm_heartbeat_tell(w->heartbeat, &w->mine));
    atomic_store(&w->passed_on, true);
  }
  int now = atomic_load_explicit(&w->ticks, memory_order_relaxed);
  if (now == atomic_load_explicit(&w->polled, memory_order_relaxed)) return;
  atomic_store_explicit(&w->polled, now, memory_order_relaxed);
  int64_t job = 0;
  bool tells = now - w->told >= w->every;
  /* Errors of MPI also reach callers that need it. */
  dm_status_free(dm_heartbeat_poll(w->heartbeat, now, tells, atomic_load(&w->moves), &job));
  if (tells) w->told = now;
  atomic_store(&w->job, job);
  if (!atomic_load(&w->hears) && dm_heartbeat_told(w->heartbeat, &w->heard))
    atomic_store(&w->hears, true);
}

/* Lists the ranks that have been silent for long: "rank 3 on n3", "rank 2 on n2, rank 3 on n2 and 4
 * others". */
static int list_silent(const dm_watch *w, int now, char *text, size_t size) {
  int silent = 0, shown = 0;
  const char *host = NULL;
  size_t used = 0;
  for (int rank = 1; w->rank == 0 && rank < w->ranks; rank++) {
    if (dm_heartbeat_heard(w->heartbeat, rank) > now - w->limit / 2) continue;
    silent++;
    if (shown == 4) continue;
    const char *at = dm_heartbeat_host(w->heartbeat, rank);
    if (used < size)
      used += (size_t)snprintf(text + used, size - used, "%srank %d on %.60s", host ? ", " : "",
                               rank, at);
    host = at;
    shown++;
  }
  if (silent > shown && used < size)
    snprintf(text + used, size - used, " and %d others", silent - shown);
  return silent;
}

/* Describes which ranks hold up the others. */
static void accuse(const dm_watch *w, int now, dm_error *error, char *who, size_t size) {
  int patience = atomic_load(&w->patience);
  bool stuck = atomic_load(&w->polled) <= now - w->limit * patience / 2;
  error->rank = w->rank;
  if (stuck) {
    snprintf(who, size, "rank %d itself is stuck", w->rank);
  } else if (w->rank != 0) {
    error->rank = 0;
    snprintf(who, size, "rank 0 on %.60s does not respond", dm_heartbeat_host(w->heartbeat, 0));
  } else {
    char list[400];
    int silent = list_silent(w, now, list, sizeof list);
    if (silent == 0)
      snprintf(who, size, "all ranks respond, but wait for each other or for files");
    else
      snprintf(who, size, "%s %s not respond", list, silent == 1 ? "does" : "do");
  }
}

void dm_watch_describe_hang(const dm_watch *w, int now, dm_error *error) {
  char who[520], time[32], at[64] = "";
  *error = (dm_error){.code = DM_E_HANG};
  accuse(w, now, error, who, sizeof who);
  long long done = atomic_load(&w->done), total = atomic_load(&w->total);
  if (total > 0) snprintf(at, sizeof at, " (%lld of %lld panels)", done, total);
  snprintf(error->message, sizeof error->message, "no progress for %s: %s",
           dm_format_seconds(w->seconds * atomic_load(&w->patience), time), who);
  snprintf(error->place, sizeof error->place, "%s%s, seen by rank %d", atomic_load(&w->phase), at,
           w->rank);
  snprintf(error->hint, sizeof error->hint,
           "is its node up and its process running?  --hang-timeout sets the time limit");
}

void dm_watch_describe_orphan(const dm_ending *ending, const char *host, dm_error *error) {
  *error = (dm_error){.code = DM_E_MPI, .rank = ending->rank};
  if (ending->launcher[0])
    snprintf(error->message, sizeof error->message,
             "the launcher of rank %d on %.60s, %s, is gone: the job ends", ending->rank, host,
             ending->launcher);
  else
    snprintf(error->message, sizeof error->message,
             "the process that started rank %d on %.60s is gone: the job ends", ending->rank, host);
  snprintf(error->hint, sizeof error->hint,
           "see the logs of that node; often it ran out of memory");
}

void dm_watch_describe_stop(dm_error *error) {
  *error = (dm_error){.code = DM_E_STOPPED, .rank = -1};
  snprintf(error->message, sizeof error->message,
           "stopped early: the work under way did not end within 8 s of the signal");
  snprintf(
      error->hint, sizeof error->hint,
      "is the storage slow? the same command goes on from the last checkpoint, if there is one");
}
