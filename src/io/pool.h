/* pool: threads that process a queue of tasks in order.
 *
 * The threads use neither MPI nor HDF5: tasks only use files, memory and arithmetic. */
#ifndef DM_IO_POOL_H
#define DM_IO_POOL_H

#include <pthread.h>
#include <stdint.h>

#include "core/status.h"

typedef struct dm_pool dm_pool;

/* Scratch memory of one thread for running tasks; it grows on demand and is kept. */
typedef struct dm_scratch {
  void *memory[2];
  int64_t bytes[2];
} dm_scratch;

/* Ensures that memory[i] has BYTES; its contents are lost. */
dm_status dm_scratch_grow(dm_scratch *scratch, int i, int64_t bytes);
void dm_scratch_free(dm_scratch *scratch);

/* A piece of work, owned by its poster; embed it in the structure it works on. */
typedef struct dm_pool_task {
  dm_status (*run)(struct dm_pool_task *task, dm_scratch *scratch);
  int64_t bytes; /* of memory that it needs while it runs */
  struct dm_pool_task *next;
} dm_pool_task;

/* Starts THREADS; with 0, tasks only run in dm_pool_help. Running tasks need at most LIMIT bytes
 * together, but one always runs. */
dm_status dm_pool_open(int threads, int64_t limit, dm_pool **pool);

/* Running tasks need at most as many bytes more as *HELD, guarded by the lock, leaves of MORE. */
void dm_pool_lend(dm_pool *pool, int64_t more, const int64_t *held);

/* Drops tasks that have not started; returns when the others have ended. NULL is allowed. */
void dm_pool_close(dm_pool *pool);

/* Starts no more tasks, and returns when none runs; afterwards dm_pool_error is an error. */
void dm_pool_cancel(dm_pool *pool);

int dm_pool_threads(const dm_pool *pool);

/* The task must stay in place until it has run. After the first error no more tasks start. */
void dm_pool_post(dm_pool *pool, dm_pool_task *task);

/* Without threads: runs the next task in the caller. Otherwise: does nothing. */
void dm_pool_help(dm_pool *pool);

/* This lock guards what tasks and the owner share. */
void dm_pool_lock(dm_pool *pool);
void dm_pool_unlock(dm_pool *pool);

/* Waits until a task ends, at most SECONDS; the lock is held before and after. */
void dm_pool_wait(dm_pool *pool, double seconds);

/* A copy of the first error of any task, or DM_OK. */
dm_status dm_pool_error(dm_pool *pool);

#endif
