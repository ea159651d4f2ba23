#include "run/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "comm/heartbeat.h"
#include "core/checked.h"
#include "core/units.h"
#include "run/launcher.h"

struct dm_watch {
  const dm_comm *world;
  dm_heartbeat *heartbeat;
  dm_launcher launcher;
  int rank, ranks;
  double seconds, tick;
  int limit;               /* ticks without progress that are a hang */
  int grace;               /* additional ticks on all ranks but 0 */
  int reprieve;            /* ticks between a request to stop and the end, on rank 0 */
  int every;               /* ticks between messages to rank 0 */
  atomic_int ticks;        /* counted by the thread */
  atomic_int polled;       /* tick of the main thread's last poll */
  atomic_llong moves, job; /* progress of this rank; of the job, as last received */
  _Atomic(const char *) phase;
  atomic_int patience;
  atomic_llong done, total;
  int sent; /* tick of the last message to rank 0 */
  dm_watch_calls calls;
  pthread_t thread;
  int over; /* an eventfd: ends the thread */
  /* Early ends of the job: each is written once, and valid once its flag is set. */
  dm_ending mine, heard;
  atomic_bool leaves, passed_on, hears;
};

enum { TICKS = 40, SEND_MOST = 6 };
static const double longest_tick = 0.5, grace = 5, reprieve = 8; /* seconds */

/* Before a rank exits: how long its main thread may take to tell the others, in turns of 50 ms, and
 * how many ms these may take to receive it. The launcher kills all at the first exit, and reports
 * only that. */
enum { FAREWELL = 80, HEARING = 500 };

/* Rank 0 exits first, since it knows more; if it is silent, rank 1, then the next two, and so on:
 * the launcher kills all at the first exit, which may take it a second or two, so few ranks print
 * the same message. */
static double grace_of(int rank) {
  int late = 0;
  for (int r = rank; r > 1 && late < 4; r /= 2) late += late == 0 ? 2 : 1;
  return rank == 0 ? 0 : grace + late;
}

/* ---- messages ---- */

/* Names a rank that has been silent for long: "rank 3 on n3 and 4 others"; returns their number. */
static int name_silent(const dm_watch *w, int now, char *text, size_t size) {
  int silent = 0;
  text[0] = '\0';
  for (int rank = 1; w->rank == 0 && rank < w->ranks; rank++) {
    if (dm_heartbeat_heard(w->heartbeat, rank) > now - w->limit / 2) continue;
    if (silent++ == 0)
      snprintf(text, size, "rank %d on %.60s", rank, dm_heartbeat_host(w->heartbeat, rank));
  }
  const size_t used = strlen(text);
  if (silent > 1)
    snprintf(text + used, size - used, " and %d other%s", silent - 1, silent > 2 ? "s" : "");
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
    char list[160];
    int silent = name_silent(w, now, list, sizeof list);
    if (silent == 0)
      snprintf(who, size, "all ranks respond, but wait for each other or for files");
    else
      snprintf(who, size, "%s %s not respond", list, silent == 1 ? "does" : "do");
  }
}

static void describe_hang(const dm_watch *w, int now, dm_error *error) {
  char who[200], time[32], at[64] = "";
  *error =
      (dm_error){.code = DM_E_HANG,
                 .hint = "is its node up and its process running?  --hang-timeout sets the time "
                         "limit"};
  accuse(w, now, error, who, sizeof who);
  long long done = atomic_load(&w->done), total = atomic_load(&w->total);
  if (total > 0) snprintf(at, sizeof at, " (%lld of %lld panels)", done, total);
  snprintf(error->message, sizeof error->message, "no progress for %s: %s",
           dm_format_seconds(w->seconds * atomic_load(&w->patience), time), who);
  snprintf(error->place, sizeof error->place, "%s%s, seen by rank %d", atomic_load(&w->phase), at,
           w->rank);
}

/* The launcher of a rank on HOST is gone. */
static void describe_orphan(const dm_ending *ending, const char *host, dm_error *error) {
  const char *name = ending->launcher;
  *error = (dm_error){.code = DM_E_MPI,
                      .rank = ending->rank,
                      .hint = "see the logs of that node; often it ran out of memory"};
  snprintf(error->message, sizeof error->message,
           "the %s rank %d on %.60s%s%s%s gone: the job ends",
           name[0] ? "launcher of" : "process that started", ending->rank, host,
           name[0] ? ", " : "", name, name[0] ? ", is" : " is");
}

static const dm_error overdue = {
    .code = DM_E_STOPPED,
    .rank = -1,
    .message = "stopped early: the work under way did not end within 8 s of the signal",
    .hint =
        "is the storage slow? the same command goes on from the last checkpoint, if there is one"};

/* ---- ends ---- */

/* Lets the main thread send ENDING to the others, if it is not stuck. */
static void pass_on(dm_watch *w, const dm_ending *ending) {
  if (w->ranks == 1) return;
  w->mine = *ending;
  atomic_store(&w->leaves, true);
  for (int i = 0; i < FAREWELL && !atomic_load(&w->passed_on); i++) poll(NULL, 0, 50);
  poll(NULL, 0, HEARING);
}

/* Ends this rank: prints ERROR unless it is NULL, and tells the others if ENDING is not NULL. */
static void end(dm_watch *w, const dm_error *error, const dm_ending *ending, dm_code code) {
  if (error) w->calls.say(error);
  if (ending) pass_on(w, ending);
  w->calls.end((int)code);
}

static void end_hang(dm_watch *w, int now) {
  dm_error error;
  describe_hang(w, now, &error);
  const dm_ending ending = {DM_E_HANG, error.rank, -1, ""};
  end(w, &error, w->rank == 0 ? &ending : NULL, DM_E_HANG);
}

/* Output of such a rank is visible only if the lost process was a script between launcher and rank;
 * otherwise rank 0 prints the message, or, if this is rank 0, a rank on another node. */
static void end_orphan(dm_watch *w) {
  dm_ending ending = {.code = DM_E_MPI, .rank = w->rank, .speaker = -1};
  if (dm_launcher_lost(&w->launcher)) {
    ending.speaker = w->rank == 0 ? dm_heartbeat_elsewhere(w->heartbeat) : 0;
    memcpy(ending.launcher, w->launcher.name, sizeof ending.launcher);
  }
  dm_error error;
  describe_orphan(&ending, dm_comm_host(w->world), &error);
  end(w, &error, &ending, DM_E_MPI);
}

static void end_as_told(dm_watch *w) {
  dm_ending ending = w->heard;
  dm_error error;
  const bool speaks = ending.speaker == w->rank;
  const int named = w->rank == 0 ? ending.rank : 0;
  if (speaks) describe_orphan(&ending, dm_heartbeat_host(w->heartbeat, named), &error);
  ending.speaker = -1;
  end(w, speaks ? &error : NULL, w->rank == 0 ? &ending : NULL, ending.code);
}

/* false: the watch is over. */
static bool wait_tick(const dm_watch *w) {
  struct pollfd over = {.fd = w->over, .events = POLLIN};
  int woken;
  do woken = poll(&over, 1, (int)(1e3 * w->tick));
  while (woken < 0 && errno == EINTR);
  return woken == 0;
}

static void *count_ticks(void *argument) {
  dm_watch *w = argument;
  long long seen = -1;
  int changed = 0, asked = 0; /* ASKED: ticks since the job was asked to stop */
  while (wait_tick(w)) {
    int now = atomic_fetch_add(&w->ticks, 1) + 1;
    if (atomic_load(&w->hears)) end_as_told(w);
    if (dm_launcher_gone(&w->launcher)) end_orphan(w);
    if (w->calls.is_asked && w->calls.is_asked()) asked++;
    /* Files are as after a kill: the same command goes on from the last checkpoint. */
    if (asked > w->reprieve + w->grace) end(w, &overdue, NULL, DM_E_STOPPED);
    long long moves = atomic_load(&w->moves) + atomic_load(&w->job);
    if (moves != seen) changed = now;
    seen = moves;
    int limit = w->limit * atomic_load(&w->patience) + w->grace;
    if (w->seconds > 0 && now - changed >= limit) end_hang(w, now);
  }
  return NULL;
}

static dm_status start_thread(dm_watch *w) {
  w->over = eventfd(0, EFD_CLOEXEC);
  const int code = w->over < 0 ? errno : pthread_create(&w->thread, NULL, count_ticks, w);
  if (!code) return DM_OK;
  return dm_hint(dm_fail(DM_E_FIT, "no thread for the watchdog: %s", strerror(code)),
                 "limits such as ulimit -v, -d, -u and -n are too low");
}

/* Sets the tick, and the number of ticks without progress that are a hang. */
static void set_pace(dm_watch *w, double seconds) {
  w->seconds = seconds;
  w->tick = seconds > 0 && seconds / TICKS < longest_tick ? seconds / TICKS : longest_tick;
  w->limit = seconds > 0 ? (int)(seconds / w->tick + 0.5) : 0;
  w->reprieve = (int)(reprieve / w->tick);
  w->grace = (int)(grace_of(w->rank) / w->tick);
  w->every = seconds > 0 ? (int)dm_min(SEND_MOST, w->limit / 16) : SEND_MOST;
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
  (void)eventfd_write(w->over, 1);
  pthread_join(w->thread, NULL);
  close(w->over);
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
    dm_status_free(dm_heartbeat_send_ending(w->heartbeat, &w->mine));
    atomic_store(&w->passed_on, true);
  }
  int now = atomic_load_explicit(&w->ticks, memory_order_relaxed);
  if (now == atomic_load_explicit(&w->polled, memory_order_relaxed)) return;
  atomic_store_explicit(&w->polled, now, memory_order_relaxed);
  int64_t job = 0;
  dm_ending ending = {0};
  bool sends = now - w->sent >= w->every;
  /* Errors of MPI also reach callers that need it. */
  dm_status_free(
      dm_heartbeat_poll(w->heartbeat, now, sends, atomic_load(&w->moves), &job, &ending));
  if (sends) w->sent = now;
  atomic_store(&w->job, job);
  if (ending.code == 0 || atomic_load(&w->hears)) return;
  w->heard = ending;
  atomic_store(&w->hears, true);
}
