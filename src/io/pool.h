/* pool: a few threads that work off a queue of tasks, first come, first served.
 *
 * The threads know neither MPI nor HDF5: tasks keep to files, memory and arithmetic. */
#ifndef DM_IO_POOL_H
#define DM_IO_POOL_H

#include <pthread.h>
#include <stdint.h>

#include "core/status.h"

typedef struct dm_pool dm_pool;

/* Memory of one thread that tasks may use while they run; it grows as they ask, and is kept. */
typedef struct dm_scratch {
  void *memory[2];
  int64_t bytes[2];
} dm_scratch;

/* memory[i] has at least BYTES then; what was in it is lost. */
dm_status dm_scratch_grow(dm_scratch *scratch, int i, int64_t bytes);
void dm_scratch_free(dm_scratch *scratch);

/* A piece of work, owned by whoever posts it; to be embedded in what it works on. */
typedef struct dm_pool_task {
  dm_status (*run)(struct dm_pool_task *task, dm_scratch *scratch);
  int64_t bytes; /* of memory that it takes while it runs */
  struct dm_pool_task *next;
} dm_pool_task;

/* THREADS of them; with 0 nothing is done but in dm_pool_help.  Tasks that run together take at
 * most LIMIT bytes, but one always runs. */
dm_status dm_pool_open(int threads, int64_t limit, dm_pool **pool);

/* Tasks that were not begun are dropped; returns when the others have ended.  NULL is allowed. */
void dm_pool_close(dm_pool *pool);

/* Begins no more tasks, and returns when none runs; from then on there is an error. */
void dm_pool_cancel(dm_pool *pool);

int dm_pool_threads(const dm_pool *pool);

/* The task stays where it is until it has run.  After the first error of any, none is begun. */
void dm_pool_post(dm_pool *pool, dm_pool_task *task);

/* Without threads: runs the next task here.  Otherwise: nothing. */
void dm_pool_help(dm_pool *pool);

/* What tasks and the owner share is guarded by this lock. */
void dm_pool_lock(dm_pool *pool);
void dm_pool_unlock(dm_pool *pool);

/* Waits until a task ends, at most SECONDS; holds the lock before and after. */
void dm_pool_wait(dm_pool *pool, double seconds);

/* A copy of the first error of any task, or DM_OK. */
dm_status dm_pool_error(dm_pool *pool);

#endif
