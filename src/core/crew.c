#include "core/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct dm_crew {
  int others; /* threads besides the caller */
  pthread_t *thread;
  pthread_mutex_t lock;
  pthread_cond_t begun, ended;
  int64_t round; /* number of rounds started */
  int working;   /* others that have not finished this round */
  bool leaves;
  bool each; /* the thread has its own piece, and no others */
  void (*work)(void *context, int64_t piece);
  void *context;
  int64_t pieces;
  atomic_int_fast64_t next;
  atomic_int_fast64_t numbered; /* threads that have a number */
};

static void crew_take_pieces(dm_crew *crew, int64_t thread) {
  if (crew->each) {
    crew->work(crew->context, thread);
    return;
  }
  for (;;) {
    const int64_t piece = atomic_fetch_add(&crew->next, 1);
    if (piece >= crew->pieces) return;
    crew->work(crew->context, piece);
  }
}

static void *crew_serve(void *argument) {
  dm_crew *crew = argument;
  const int64_t thread = 1 + atomic_fetch_add(&crew->numbered, 1);
  int64_t served = 0;
  pthread_mutex_lock(&crew->lock);
  for (;;) {
    while (crew->round == served && !crew->leaves) pthread_cond_wait(&crew->begun, &crew->lock);
    if (crew->leaves) break;
    served = crew->round;
    pthread_mutex_unlock(&crew->lock);
    crew_take_pieces(crew, thread);
    pthread_mutex_lock(&crew->lock);
    if (--crew->working == 0) pthread_cond_signal(&crew->ended);
  }
  pthread_mutex_unlock(&crew->lock);
  return NULL;
}

dm_status dm_crew_new(int threads, dm_crew **out) {
  dm_crew *crew = calloc(1, sizeof *crew);
  const size_t most = threads > 1 ? (size_t)threads - 1 : 0;
  if (crew) crew->thread = calloc(most + 1, sizeof *crew->thread);
  if (!crew || !crew->thread) {
    free(crew);
    return dm_fail(DM_E_FIT, "no memory for threads");
  }
  pthread_mutex_init(&crew->lock, NULL);
  pthread_cond_init(&crew->begun, NULL);
  pthread_cond_init(&crew->ended, NULL);
  while (crew->others < (int)most &&
         pthread_create(&crew->thread[crew->others], NULL, crew_serve, crew) == 0)
    crew->others++;
  *out = crew;
  return DM_OK;
}

void dm_crew_free(dm_crew *crew) {
  if (!crew) return;
  pthread_mutex_lock(&crew->lock);
  crew->leaves = true;
  pthread_cond_broadcast(&crew->begun);
  pthread_mutex_unlock(&crew->lock);
  for (int i = 0; i < crew->others; i++) (void)pthread_join(crew->thread[i], NULL);
  pthread_cond_destroy(&crew->ended);
  pthread_cond_destroy(&crew->begun);
  pthread_mutex_destroy(&crew->lock);
  free(crew->thread);
  free(crew);
}

int dm_crew_threads(const dm_crew *crew) {
  return crew->others + 1;
}

static void crew_round(dm_crew *crew, bool alone) {
  if (!alone) {
    pthread_mutex_lock(&crew->lock);
    crew->round++;
    crew->working = crew->others;
    pthread_cond_broadcast(&crew->begun);
    pthread_mutex_unlock(&crew->lock);
  }
  crew_take_pieces(crew, 0);
  if (alone) return;
  pthread_mutex_lock(&crew->lock);
  while (crew->working > 0) pthread_cond_wait(&crew->ended, &crew->lock);
  pthread_mutex_unlock(&crew->lock);
}

void dm_crew_run(dm_crew *crew, void (*work)(void *context, int64_t piece), void *context,
                 int64_t pieces) {
  crew->work = work;
  crew->context = context;
  crew->pieces = pieces;
  crew->each = false;
  atomic_store(&crew->next, 0);
  crew_round(crew, crew->others == 0 || pieces < 2);
}

void dm_crew_each(dm_crew *crew, void (*work)(void *context, int64_t thread), void *context) {
  crew->work = work;
  crew->context = context;
  crew->each = true;
  crew_round(crew, crew->others == 0);
}

enum { CREW_MOST = 256 };

typedef struct crew_call {
  void (*work)(void *context);
  void *context;
} crew_call;

static void *crew_begin(void *argument) {
  const crew_call *one = argument;
  one->work(one->context);
  return NULL;
}

int dm_fork_join(int threads, void (*work)(void *context), void *context) {
  pthread_t others[CREW_MOST - 1];
  crew_call one = {work, context};
  int started = 0;
  while (started < threads - 1 && started < CREW_MOST - 1 &&
         pthread_create(&others[started], NULL, crew_begin, &one) == 0)
    started++;
  work(context);
  for (int i = 0; i < started; i++) (void)pthread_join(others[i], NULL);
  return started + 1;
}

typedef struct crew_counting {
  dm_status (*work)(void *context, int64_t i);
  void *context;
  int64_t count;
  atomic_int_fast64_t next;
  _Atomic(dm_status) failed; /* the first */
} crew_counting;

static void count_on(void *context) {
  crew_counting *c = context;
  while (!atomic_load(&c->failed)) {
    const int64_t i = atomic_fetch_add(&c->next, 1);
    if (i >= c->count) return;
    dm_status none = DM_OK, status = c->work(c->context, i);
    if (status && !atomic_compare_exchange_strong(&c->failed, &none, status))
      dm_status_free(status);
  }
}

dm_status dm_fork_each(int64_t count, int threads, dm_status (*work)(void *context, int64_t i),
                       void *context) {
  crew_counting all = {.work = work, .context = context, .count = count};
  if (count == 1) return work(context, 0);
  if (threads == 0) threads = dm_cores();
  (void)dm_fork_join(count < threads ? (int)count : threads, count_on, &all);
  return atomic_load(&all.failed);
}

int dm_cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
