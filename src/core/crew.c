#include "core/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers ---- */

enum { MOST = 256 };

/* Work that more threads may join. */
typedef struct job {
  struct job *next;
  void (*work)(void *context);
  void *context;
  cpu_set_t cores; /* of the caller */
  int wanted;      /* helpers that may still come; 0: it is not in the list */
  int running;     /* helpers at work */
  pthread_cond_t ended;
} job;

/* Threads that wait for work, for as long as the process lives. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t begun;
  job *jobs;
  int count, idle; /* helpers */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER};

/* With the lock held. */
static void close_job(job *one) {
  job **at = &pool.jobs;
  if (one->wanted == 0) return;
  while (*at != one) at = &(*at)->next;
  *at = one->next;
  one->wanted = 0;
}

/* Ranks that are threads may have cores of their own. */
static void move_to(const cpu_set_t *cores, cpu_set_t *own) {
  if (memcmp(cores, own, sizeof *own) == 0) return;
  if (sched_setaffinity(0, sizeof *cores, cores) == 0) *own = *cores;
}

static void *help(void *unused) {
  cpu_set_t own;
  CPU_ZERO(&own);
  (void)unused;
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    job *one = pool.jobs;
    if (!one) {
      pool.idle++;
      pthread_cond_wait(&pool.begun, &pool.lock);
      pool.idle--;
      continue;
    }
    if (one->wanted == 1)
      close_job(one);
    else
      one->wanted--;
    one->running++;
    pthread_mutex_unlock(&pool.lock);
    move_to(&one->cores, &own);
    one->work(one->context);
    pthread_mutex_lock(&pool.lock);
    if (--one->running == 0) pthread_cond_signal(&one->ended);
  }
  return NULL;
}

/* A child has none of its parent's helpers. */
static void forget_helpers(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.begun, NULL);
  pool.jobs = NULL;
  pool.count = pool.idle = 0;
}

static void prepare_for_forks(void) {
  (void)pthread_atfork(NULL, NULL, forget_helpers);
}

/* With the lock held: COUNT helpers are there, or fewer if the system refuses more. */
static void hire(int count) {
  pthread_attr_t detached;
  pthread_t thread;
  if (pool.idle >= count || pthread_attr_init(&detached) != 0) return;
  (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int i = pool.idle; i < count && pool.count < MOST; i++, pool.count++)
    if (pthread_create(&thread, &detached, help, NULL) != 0) break;
  (void)pthread_attr_destroy(&detached);
}

void dm_fork_join(int threads, void (*work)(void *context), void *context) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  job one = {.work = work, .context = context, .wanted = threads - 1};
  if (threads < 2 || sched_getaffinity(0, sizeof one.cores, &one.cores) != 0) {
    work(context);
    return;
  }
  (void)pthread_once(&once, prepare_for_forks);
  pthread_cond_init(&one.ended, NULL);
  pthread_mutex_lock(&pool.lock);
  hire(one.wanted);
  one.next = pool.jobs;
  pool.jobs = &one;
  pthread_cond_broadcast(&pool.begun);
  pthread_mutex_unlock(&pool.lock);
  work(context);
  pthread_mutex_lock(&pool.lock);
  close_job(&one);
  while (one.running > 0) pthread_cond_wait(&one.ended, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
  pthread_cond_destroy(&one.ended);
}

/* ---- pieces ---- */

typedef struct counting {
  dm_status (*work)(void *context, int64_t i);
  void *context;
  int64_t count;
  atomic_int_fast64_t next;
  _Atomic(dm_status) failed; /* the first */
} counting;

static void count_on(void *context) {
  counting *c = context;
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
  counting all = {.work = work, .context = context, .count = count};
  if (count == 1) return work(context, 0);
  if (threads == 0) threads = dm_cores();
  dm_fork_join(count < threads ? (int)count : threads, count_on, &all);
  return atomic_load(&all.failed);
}

struct dm_crew {
  int threads;
  void (*work)(void *context, int64_t piece);
  void *context;
};

dm_status dm_crew_new(int threads, dm_crew **crew) {
  *crew = calloc(1, sizeof **crew);
  if (!*crew) return dm_fail(DM_E_FIT, "no memory for threads");
  (*crew)->threads = threads > 1 ? threads : 1;
  return DM_OK;
}

void dm_crew_free(dm_crew *crew) {
  free(crew);
}

static dm_status take_piece(void *context, int64_t piece) {
  const dm_crew *crew = context;
  crew->work(crew->context, piece);
  return DM_OK;
}

void dm_crew_run(dm_crew *crew, void (*work)(void *context, int64_t piece), void *context,
                 int64_t pieces) {
  dm_crew own = {crew->threads, work, context};
  (void)dm_fork_each(pieces, own.threads, take_piece, &own);
}

int dm_cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
