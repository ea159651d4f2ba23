#include "run/watch.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/units.h"
#include "run/launcher.h"

/* Why the job ends early. */
typedef struct watch_ending {
  dm_code code;      /* 0: it does not */
  int rank;          /* the rank that caused it */
  int speaker;       /* the rank that prints it when rank 0 forwards it; -1: already printed */
  char launcher[16]; /* what was lost, for DM_E_MPI; may be empty */
} watch_ending;

enum { GOODBYE = -1, HOST = 61 };

typedef struct news {
  int64_t moves; /* of the sender; from rank 0, of the job. GOODBYE: its last message */
  watch_ending ending;
} news;

/* A rank that this one exchanges messages with: for rank 0 any other, else rank 0. */
typedef struct peer {
  dm_messages *in, *out;
  news received, sent;
  int64_t moves;
  atomic_int heard; /* the tick; INT_MAX: it needs nothing any more */
} peer;

struct dm_watch {
  dm_comm *comm; /* of its messages */
  dm_launcher launcher;
  int rank, ranks;
  double seconds, tick;
  int limit;               /* ticks without progress that are a hang */
  int grace;               /* additional ticks on all ranks but 0 */
  int reprieve;            /* ticks between a request to stop and the end, on rank 0 */
  int every;               /* ticks between messages to rank 0 */
  atomic_int ticks;        /* counted by the thread */
  atomic_int polled;       /* tick of the main thread's last poll */
  atomic_llong moves, job; /* progress of this rank; of the others or the job, as last received */
  _Atomic(const char *) phase;
  atomic_int patience;
  atomic_llong done, total;
  char (*hosts)[HOST]; /* of all ranks */
  peer *peers;         /* by rank */
  int first, end;      /* of PEERS in use */
  int sent;            /* tick of the last message to rank 0 */
  bool asked;          /* an answer of rank 0 is due */
  dm_watch_calls calls;
  pthread_t thread;
  int over; /* an eventfd: ends the thread */
  /* Early ends of the job: each is written once, and valid once its flag is set. */
  news mine, heard;
  atomic_bool leaves, passed_on, hears;
};

enum { TICKS = 40, SEND_MOST = 6 };
static const double longest_tick = 0.5, grace = 5, reprieve = 8; /* seconds */

/* Before a rank exits: how long its main thread may take to tell the others, in turns of 50 ms, and
 * how many ms these may take to receive it. The launcher kills all at the first exit, and reports
 * only that. */
enum { FAREWELL = 80, HEARING = 500 };

/* ---- messages ---- */

static dm_status watch_listen(dm_watch *w, int rank) {
  peer *p = &w->peers[rank];
  return dm_messages_receive(p->in, w->comm, &p->received, sizeof p->received, rank, 0);
}

/* The previous message has arrived, as it was answered or asked for: nothing waits. */
static dm_status send_news(dm_watch *w, int rank, int64_t moves) {
  peer *p = &w->peers[rank];
  DM_TRY(dm_messages_wait_idle(p->out));
  p->sent = (news){.moves = moves};
  return dm_messages_send(p->out, w->comm, &p->sent, sizeof p->sent, rank, 0);
}

static dm_status open_peers(dm_watch *w) {
  for (int r = w->first; r < w->end; r++) {
    DM_TRY(dm_messages_new(&w->peers[r].in));
    DM_TRY(dm_messages_new(&w->peers[r].out));
    DM_TRY(watch_listen(w, r));
  }
  return DM_OK;
}

/* Takes what RANK sent; all but the last message of rank 0 are followed by another one. */
static dm_status watch_take(dm_watch *w, int rank) {
  peer *p = &w->peers[rank];
  const int64_t moves = p->received.moves;
  const bool last = moves == GOODBYE;
  atomic_store(&p->heard, last ? INT_MAX : atomic_load(&w->ticks));
  if (p->received.ending.code) {
    if (!atomic_load(&w->hears)) w->heard = p->received;
    atomic_store(&w->hears, true);
  } else if (w->rank == 0) {
    if (!last) atomic_fetch_add(&w->job, moves - p->moves);
    p->moves = moves;
    DM_TRY(send_news(w, rank, last ? GOODBYE : atomic_load(&w->job) + atomic_load(&w->moves)));
  } else {
    if (!last) atomic_store(&w->job, moves);
    w->asked = false;
  }
  return last ? DM_OK : watch_listen(w, rank);
}

/* Sends the end of this rank, without waiting: silent ranks may never receive it. */
static dm_status pass_on(dm_watch *w) {
  for (int r = w->first; r < w->end; r++)
    DM_TRY(dm_messages_send(w->peers[r].out, w->comm, &w->mine, sizeof w->mine, r, 0));
  return DM_OK;
}

/* MOVES: what this rank now sends if it is not rank 0 and no answer is due; NULL: nothing. */
static dm_status watch_exchange(dm_watch *w, const int64_t *moves) {
  if (atomic_load_explicit(&w->leaves, memory_order_acquire) && !atomic_load(&w->passed_on)) {
    dm_status_free(pass_on(w));
    atomic_store(&w->passed_on, true);
  }
  for (int r = w->first; r < w->end; r++) {
    peer *p = &w->peers[r];
    for (bool done = true; done && atomic_load(&p->heard) != INT_MAX;) {
      DM_TRY(dm_messages_test(p->in, &done));
      if (done) DM_TRY(watch_take(w, r));
    }
  }
  if (!moves || w->rank == 0 || w->asked) return DM_OK;
  w->asked = true;
  return send_news(w, 0, *moves);
}

/* Every rank sends a last message, and rank 0 answers it. Errors are ignored: the job is done. */
static dm_status say_goodbye(dm_watch *w) {
  const int64_t last = GOODBYE;
  int left = w->end - w->first;
  while (left > 0) {
    DM_TRY(watch_exchange(w, w->asked ? NULL : &last));
    atomic_store(&w->polled, atomic_load(&w->ticks));
    left = 0;
    for (int r = w->first; r < w->end; r++) left += atomic_load(&w->peers[r].heard) != INT_MAX;
    if (left > 0) sched_yield();
  }
  for (int r = w->first; r < w->end; r++) DM_TRY(dm_messages_wait_idle(w->peers[r].out));
  return DM_OK;
}

/* ---- reasons ---- */

/* Names the rank that holds up the others; returns it. */
static int accuse(const dm_watch *w, int now, char *who, size_t size) {
  int silent = w->rank != 0, first = 0;
  char more[32] = "";
  for (int r = 1; w->rank == 0 && r < w->ranks; r++)
    if (atomic_load(&w->peers[r].heard) <= now - w->limit / 2 && silent++ == 0) first = r;
  if (silent > 1) snprintf(more, sizeof more, " and %d other%s", silent - 1, "s" + (silent == 2));
  if (atomic_load(&w->polled) <= now - w->limit * atomic_load(&w->patience) / 2)
    snprintf(who, size, "rank %d itself is stuck", first = w->rank);
  else if (silent == 0)
    snprintf(who, size, "all ranks respond, but wait for each other or for files");
  else
    snprintf(who, size, "rank %d on %s%s %s not respond", first, w->hosts[first], more,
             silent == 1 ? "does" : "do");
  return w->rank == 0 ? 0 : first;
}

static void describe_hang(const dm_watch *w, int now, dm_error *error) {
  char who[200], time[32], at[64] = "";
  const long long done = atomic_load(&w->done), total = atomic_load(&w->total);
  *error = (dm_error){.code = DM_E_HANG,
                      .rank = accuse(w, now, who, sizeof who),
                      .hint = "is its node up and its process running?  --hang-timeout sets the "
                              "time limit"};
  if (total > 0) snprintf(at, sizeof at, " (%lld of %lld panels)", done, total);
  snprintf(error->message, sizeof error->message, "no progress for %s: %s",
           dm_format_seconds(w->seconds * atomic_load(&w->patience), time), who);
  snprintf(error->place, sizeof error->place, "%s%s, seen by rank %d", atomic_load(&w->phase), at,
           w->rank);
}

/* The launcher of a rank is gone. */
static void describe_orphan(const dm_watch *w, const watch_ending *why, dm_error *error) {
  const char *name = why->launcher;
  *error = (dm_error){.code = DM_E_MPI,
                      .rank = why->rank,
                      .hint = "see the logs of that node; often it ran out of memory"};
  snprintf(error->message, sizeof error->message, "the %s rank %d on %s%s%s%s gone: the job ends",
           name[0] ? "launcher of" : "process that started", why->rank, w->hosts[why->rank],
           name[0] ? ", " : "", name, name[0] ? ", is" : " is");
}

static const dm_error overdue = {
    .code = DM_E_STOPPED,
    .rank = -1,
    .message = "stopped early: the work under way did not end within 8 s of the signal",
    .hint =
        "is the storage slow? the same command resumes from the last checkpoint, if there is one"};

/* ---- ends ---- */

/* Ends this rank: prints ERROR unless it is NULL; and if WHY is not NULL, lets the main thread tell
 * the others, if it is not stuck. */
static void watch_end(dm_watch *w, const dm_error *error, const watch_ending *why, dm_code code) {
  if (error) w->calls.say(error);
  if (why && w->ranks > 1) {
    w->mine.ending = *why;
    atomic_store(&w->leaves, true);
    for (int i = 0; i < FAREWELL && !atomic_load(&w->passed_on); i++) poll(NULL, 0, 50);
    poll(NULL, 0, HEARING);
  }
  w->calls.end((int)code);
}

static void end_hang(dm_watch *w, int now) {
  dm_error error;
  describe_hang(w, now, &error);
  const watch_ending why = {DM_E_HANG, error.rank, -1, ""};
  watch_end(w, &error, w->rank == 0 ? &why : NULL, DM_E_HANG);
}

/* Output of such a rank is visible only if the lost process was a script between launcher and rank;
 * otherwise rank 0 prints the message, or, if this is rank 0, a rank on another node. */
static void end_orphan(dm_watch *w, bool lost) {
  watch_ending why = {.code = DM_E_MPI, .rank = w->rank, .speaker = -1};
  if (lost) {
    why.speaker = 0;
    for (int r = w->ranks - 1; w->rank == 0 && r > 0; r--)
      if (strcmp(w->hosts[r], w->hosts[0]) != 0) why.speaker = r;
    memcpy(why.launcher, w->launcher.name, sizeof why.launcher);
  }
  dm_error error;
  describe_orphan(w, &why, &error);
  watch_end(w, &error, &why, DM_E_MPI);
}

static void end_with_others(dm_watch *w) {
  watch_ending why = w->heard.ending;
  dm_error error;
  const bool speaks = why.speaker == w->rank;
  if (speaks) describe_orphan(w, &why, &error);
  why.speaker = speaks ? -1 : why.speaker;
  watch_end(w, speaks ? &error : NULL, w->rank == 0 ? &why : NULL, why.code);
}

/* ---- threads ---- */

/* Waits for EVENT, an eventfd, at most MS; whether it came. */
static bool watch_wait_for(int event, int ms) {
  struct pollfd one = {.fd = event, .events = POLLIN};
  int woken;
  do woken = poll(&one, 1, ms);
  while (woken < 0 && errno == EINTR);
  return woken != 0;
}

static void *count_ticks(void *argument) {
  dm_watch *w = argument;
  long long seen = -1;
  bool lost;
  int changed = 0, asked = 0; /* ASKED: ticks since the job was asked to stop */
  while (!watch_wait_for(w->over, (int)(1e3 * w->tick))) {
    const int now = atomic_fetch_add(&w->ticks, 1) + 1;
    if (atomic_load(&w->hears)) end_with_others(w);
    if (dm_launcher_gone(&w->launcher, &lost)) end_orphan(w, lost);
    if (w->calls.is_asked && w->calls.is_asked()) asked++;
    /* Files are as after a kill: the same command resumes from the last checkpoint. */
    if (asked > w->reprieve + w->grace) watch_end(w, &overdue, NULL, DM_E_STOPPED);
    const long long moves = atomic_load(&w->moves) + atomic_load(&w->job);
    if (moves != seen) changed = now;
    seen = moves;
    const int limit = w->limit * atomic_load(&w->patience) + w->grace;
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

/* Rank 0 exits first, since it knows more; if it is silent, rank 1, then the next two, and so on:
 * the launcher kills all at the first exit, which may take it a second or two, so few ranks print
 * the same message. */
static double grace_of(int rank) {
  int late = 0;
  for (int r = rank; r > 1 && late < 4; r /= 2) late += late == 0 ? 2 : 1;
  return rank == 0 ? 0 : grace + late;
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

static dm_status watch_allocate(int ranks, dm_watch **out) {
  dm_watch *w = *out = calloc(1, sizeof *w);
  if (w) w->peers = calloc((size_t)ranks, sizeof *w->peers);
  if (w) w->hosts = calloc((size_t)ranks, sizeof *w->hosts);
  return w && w->peers && w->hosts ? DM_OK : dm_fail(DM_E_FIT, "no memory for the watchdog");
}

dm_status dm_watch_start(const dm_comm *world, double seconds, dm_watch_calls calls,
                         dm_watch **out) {
  dm_watch *w;
  char host[HOST];
  DM_TRY(dm_comm_agree(world, watch_allocate(dm_comm_size(world), &w)));
  w->rank = dm_comm_rank(world);
  w->ranks = dm_comm_size(world);
  w->first = w->rank == 0;
  w->end = w->ranks == 1 ? w->first : w->rank == 0 ? w->ranks : 1;
  w->calls = calls;
  set_pace(w, seconds);
  dm_launcher_find(&w->launcher, !dm_comm_is_one_process(world));
  atomic_init(&w->phase, "starting");
  atomic_init(&w->patience, 1);
  snprintf(host, sizeof host, "%s", dm_comm_host(world));
  DM_TRY(dm_comm_allgather(world, host, sizeof host, w->hosts));
  DM_TRY(dm_comm_split(world, 0, w->rank, &w->comm));
  DM_TRY(dm_comm_agree(world, open_peers(w)));
  DM_TRY(dm_comm_agree(world, start_thread(w)));
  *out = w;
  return DM_OK;
}

void dm_watch_stop(dm_watch *w) {
  if (!w) return;
  dm_status_free(say_goodbye(w)); /* waits for all ranks, still watched */
  (void)eventfd_write(w->over, 1);
  pthread_join(w->thread, NULL);
  close(w->over);
  for (int r = w->first; r < w->end; r++) {
    dm_messages_free(w->peers[r].in);
    dm_messages_free(w->peers[r].out);
  }
  dm_comm_free(w->comm);
  free(w->peers);
  free(w->hosts);
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

/* At most once per tick, but at once to leave. Errors of MPI also reach callers that need it. */
void dm_watch_poll(dm_watch *w) {
  if (!w) return;
  const int now = atomic_load_explicit(&w->ticks, memory_order_relaxed);
  const bool leaves = atomic_load(&w->leaves) && !atomic_load(&w->passed_on);
  if (!leaves && now == atomic_load_explicit(&w->polled, memory_order_relaxed)) return;
  atomic_store_explicit(&w->polled, now, memory_order_relaxed);
  const int64_t moves = atomic_load(&w->moves);
  const bool sends = now - w->sent >= w->every;
  if (sends) w->sent = now;
  dm_status_free(watch_exchange(w, sends ? &moves : NULL));
}

/* ---- work in a thread, while this one exchanges messages ---- */

enum {
  WATCH_TURNS = 10,
  WATCH_LEAST = 600
}; /* exchanges per second; least seconds without a beat */

typedef struct side_work {
  dm_status (*work)(void *context, const dm_keepalive *keepalive);
  void *context;
  dm_keepalive keepalive;
  atomic_llong beats;
  int ended; /* an eventfd */
  dm_status status;
} side_work;

static dm_status count_beat(void *context) {
  atomic_fetch_add_explicit(&((side_work *)context)->beats, 1, memory_order_relaxed);
  return DM_OK;
}

static void *run_work(void *context) {
  side_work *s = context;
  s->status = s->work(s->context, &s->keepalive);
  (void)eventfd_write(s->ended, 1);
  return NULL;
}

/* The main thread handles signals. */
static bool start_work(side_work *s, pthread_t *thread) {
  sigset_t all, before;
  sigfillset(&all);
  s->ended = eventfd(0, EFD_CLOEXEC);
  if (s->ended < 0 || pthread_sigmask(SIG_SETMASK, &all, &before)) return false;
  const int failed = pthread_create(thread, NULL, run_work, s);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !failed;
}

/* Counts turns instead of time, so that a suspended job loses nothing. */
static void accompany(dm_watch *w, side_work *s) {
  const double most = fmax(DM_SYNC_PATIENCE * w->seconds, WATCH_LEAST) * WATCH_TURNS;
  long long seen = 0;
  for (double turns = 0; !watch_wait_for(s->ended, 1000 / WATCH_TURNS); turns++) {
    const long long beats = atomic_load_explicit(&s->beats, memory_order_relaxed);
    if (beats != seen) turns = 0;
    seen = beats;
    if (turns < most) dm_watch_moved(w);
    dm_watch_poll(w);
  }
}

dm_status dm_watch_work(dm_watch *w,
                        dm_status (*work)(void *context, const dm_keepalive *keepalive),
                        void *context) {
  side_work s = {.work = work, .context = context, .keepalive = {count_beat, &s}, .ended = -1};
  pthread_t thread;
  if (w && start_work(&s, &thread)) {
    accompany(w, &s);
    pthread_join(thread, NULL);
  } else {
    s.status = work(context, &s.keepalive);
  }
  if (s.ended >= 0) close(s.ended);
  return s.status;
}
