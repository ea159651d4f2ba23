#include "io/pool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/buffer.h"
#include "core/checked.h"

struct dm_pool {
  int threads; /* threads started */
  int64_t limit, more;
  int64_t small;       /* scratch memory that a thread keeps */
  const int64_t *held; /* of MORE, or NULL */
  pthread_t *thread;
  dm_scratch own; /* scratch memory of a caller that helps */

  pthread_mutex_t lock;
  pthread_cond_t posted, ended;
  dm_pool_task *first, *last; /* tasks not started yet */
  int running;
  int64_t running_bytes;
  dm_status error; /* the first */
  bool closing;
};

dm_status dm_scratch_grow(dm_scratch *scratch, int i, int64_t bytes) {
  if (scratch->bytes[i] >= bytes && scratch->memory[i]) return DM_OK;
  free(scratch->memory[i]);
  scratch->memory[i] = NULL;
  scratch->bytes[i] = 0;
  DM_TRY(dm_buffer_alloc(bytes, &scratch->memory[i]));
  scratch->bytes[i] = bytes;
  return DM_OK;
}

void dm_scratch_free(dm_scratch *scratch) {
  for (int i = 0; i < 2; i++) free(scratch->memory[i]);
  memset(scratch, 0, sizeof *scratch);
}

/* Frees scratch memory unless it is small, or NEXT, the thread's next task if it has one, needs it:
 * the kernel clears memory before it gives it again. Called with the lock held; true: the lock was
 * released meanwhile. */
static bool trim(dm_pool *pool, const dm_pool_task *next, dm_scratch *scratch) {
  const int64_t kept = scratch->bytes[0] + scratch->bytes[1];
  if (kept <= pool->small || (next && kept <= next->bytes)) return false;
  pthread_mutex_unlock(&pool->lock);
  dm_scratch_free(scratch);
  pthread_mutex_lock(&pool->lock);
  return true;
}

static dm_pool_task *pool_take(dm_pool *pool) {
  dm_pool_task *task = pool->first;
  if (!task || pool->error || pool->closing) return NULL;
  const int64_t lent = pool->held ? pool->more - *pool->held : 0;
  if (pool->running > 0 && task->bytes > pool->limit + lent - pool->running_bytes) return NULL;
  pool->first = task->next;
  if (!pool->first) pool->last = NULL;
  task->next = NULL;
  pool->running++;
  pool->running_bytes += task->bytes;
  return task;
}

/* Called with the lock held; releases it while the task runs. */
static void pool_run(dm_pool *pool, dm_pool_task *task, dm_scratch *scratch) {
  int64_t bytes = task->bytes; /* the task may be freed when it has run */
  pthread_mutex_unlock(&pool->lock);
  dm_status status = task->run(task, scratch);
  pthread_mutex_lock(&pool->lock);
  pool->error = dm_status_first(pool->error, status);
  pool->running--;
  pool->running_bytes -= bytes;
  pthread_cond_broadcast(&pool->ended);
  /* A task that waited for memory may run now. */
  if (pool->first) pthread_cond_signal(&pool->posted);
}

static void *pool_work(void *argument) {
  dm_pool *pool = argument;
  dm_scratch scratch = {{NULL, NULL}, {0, 0}};
  pthread_mutex_lock(&pool->lock);
  while (!pool->closing) {
    dm_pool_task *task = pool_take(pool);
    const bool released = trim(pool, task, &scratch);
    if (task)
      pool_run(pool, task, &scratch);
    else if (!released)
      pthread_cond_wait(&pool->posted, &pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
  dm_scratch_free(&scratch);
  return NULL;
}

/* The main thread handles signals. */
static dm_status pool_start(dm_pool *pool, int threads) {
  sigset_t all, before;
  DM_TRY(dm_buffer_table(threads, &pool->thread));
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before))
    return dm_fail(DM_E_BUG, "signals cannot be blocked");
  int failed = 0;
  while (pool->threads < threads && !failed) {
    failed = pthread_create(&pool->thread[pool->threads], NULL, pool_work, pool);
    if (!failed) pool->threads++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failed) return DM_OK;
  return dm_hint(dm_fail(DM_E_FIT, "no thread for files: %s", strerror(failed)),
                 "limits such as ulimit -v, -d and -u are too low");
}

static dm_status pool_prepare(dm_pool *pool) {
  pthread_condattr_t monotonic;
  if (pthread_condattr_init(&monotonic)) return dm_fail(DM_E_FIT, "no condition for threads");
  bool bad = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) ||
             pthread_mutex_init(&pool->lock, NULL) || pthread_cond_init(&pool->posted, NULL) ||
             pthread_cond_init(&pool->ended, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return bad ? dm_fail(DM_E_FIT, "no lock for threads") : DM_OK;
}

dm_status dm_pool_open(int threads, int64_t limit, dm_pool **pool) {
  dm_pool *new;
  DM_TRY(dm_buffer_table(1, &new));
  new->limit = limit;
  new->small = limit / dm_max(1, threads);
  dm_status status = pool_prepare(new);
  if (status) {
    free(new);
    return status;
  }
  if (threads > 0) status = pool_start(new, threads);
  if (status) {
    dm_pool_close(new);
    return status;
  }
  *pool = new;
  return DM_OK;
}

void dm_pool_lend(dm_pool *pool, int64_t more, const int64_t *held) {
  pthread_mutex_lock(&pool->lock);
  pool->more = more;
  pool->held = held;
  pthread_mutex_unlock(&pool->lock);
}

void dm_pool_close(dm_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->closing = true;
  pthread_cond_broadcast(&pool->posted);
  pthread_mutex_unlock(&pool->lock);
  for (int i = 0; i < pool->threads; i++) pthread_join(pool->thread[i], NULL);
  pthread_cond_destroy(&pool->posted);
  pthread_cond_destroy(&pool->ended);
  pthread_mutex_destroy(&pool->lock);
  dm_status_free(pool->error);
  dm_scratch_free(&pool->own);
  free(pool->thread);
  free(pool);
}

void dm_pool_cancel(dm_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  if (!pool->error) pool->error = dm_fail(DM_E_BUG, "work on files was cancelled");
  while (pool->running > 0) pthread_cond_wait(&pool->ended, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

int dm_pool_threads(const dm_pool *pool) {
  return pool->threads;
}

void dm_pool_post(dm_pool *pool, dm_pool_task *task) {
  task->next = NULL;
  pthread_mutex_lock(&pool->lock);
  if (pool->last)
    pool->last->next = task;
  else
    pool->first = task;
  pool->last = task;
  pthread_cond_signal(&pool->posted);
  pthread_mutex_unlock(&pool->lock);
}

void dm_pool_help(dm_pool *pool) {
  if (pool->threads > 0) return;
  pthread_mutex_lock(&pool->lock);
  dm_pool_task *task = pool_take(pool);
  if (task) pool_run(pool, task, &pool->own);
  (void)trim(pool, pool->first, &pool->own);
  pthread_mutex_unlock(&pool->lock);
}

void dm_pool_lock(dm_pool *pool) {
  pthread_mutex_lock(&pool->lock);
}

void dm_pool_unlock(dm_pool *pool) {
  pthread_mutex_unlock(&pool->lock);
}

void dm_pool_wait(dm_pool *pool, double seconds) {
  if (pool->threads == 0) return;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t nanoseconds = until.tv_nsec + (int64_t)(seconds * 1e9);
  until.tv_sec += (time_t)(nanoseconds / 1000000000);
  until.tv_nsec = (long)(nanoseconds % 1000000000);
  pthread_cond_timedwait(&pool->ended, &pool->lock, &until);
}

dm_status dm_pool_error(dm_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  dm_status status = pool->error ? dm_status_copy(pool->error) : DM_OK;
  pthread_mutex_unlock(&pool->lock);
  return status;
}
