/* The memory of tasks that run at the same time. */
#include <stdatomic.h>
#include <time.h>

#include "checks.h"
#include "io/pool.h"

enum { LIMIT = 10, MORE = 20, BYTES = 12, TASKS = 4 };

typedef struct one {
  dm_pool_task task; /* first */
  atomic_int *running, *most;
  int awaited;
} one;

static void wait_a_moment(void) {
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Waits until AWAITED tasks run, at most 10 s. */
static dm_status run(dm_pool_task *task, dm_scratch *scratch) {
  (void)scratch;
  const one *o = (const one *)task;
  const int now = atomic_fetch_add(o->running, 1) + 1;
  if (now > atomic_load(o->most)) atomic_store(o->most, now);
  for (int i = 0; i < 10000 && atomic_load(o->most) < o->awaited; i++) wait_a_moment();
  atomic_fetch_sub(o->running, 1);
  return DM_OK;
}

/* The most tasks that run together while HELD of the lent bytes are in use. */
static int together(int64_t held, int awaited) {
  atomic_int running = 0, most = 0;
  one tasks[TASKS];
  dm_pool *pool;
  ok(dm_pool_open(TASKS, LIMIT, &pool));
  dm_pool_lend(pool, MORE, &held);
  for (int i = 0; i < TASKS; i++) {
    tasks[i] = (one){{.run = run, .bytes = BYTES}, &running, &most, awaited};
    dm_pool_post(pool, &tasks[i].task);
  }
  for (int i = 0; i < 10000 && atomic_load(&most) < awaited; i++) wait_a_moment();
  dm_pool_close(pool);
  return most;
}

TEST(test_lent_memory) {
  assert_int_equal(together(0, 2), 2); /* 24 of 30 bytes */
  assert_int_equal(together(8, 1), 1); /* a second one would need 24 of 22 */
  assert_int_equal(together(MORE + 1, 1), 1);
}

typedef struct large {
  dm_pool_task task; /* first */
  int64_t found;     /* bytes of scratch memory that the task before left */
  atomic_bool *posted;
  atomic_int *ended;
} large;

static dm_status run_large(dm_pool_task *task, dm_scratch *scratch) {
  large *l = (large *)task;
  l->found = scratch->bytes[0];
  while (!atomic_load(l->posted)) wait_a_moment();
  DM_TRY(dm_scratch_grow(scratch, 0, BYTES));
  atomic_fetch_add(l->ended, 1);
  return DM_OK;
}

/* Posts COUNT tasks that need more memory than a thread keeps, and runs them. */
static void run_all_large(dm_pool *pool, large *tasks, int count) {
  atomic_bool posted = false;
  atomic_int ended = 0;
  for (int i = 0; i < count; i++) {
    tasks[i] = (large){{.run = run_large, .bytes = BYTES}, -1, &posted, &ended};
    dm_pool_post(pool, &tasks[i].task);
  }
  atomic_store(&posted, true);
  for (int i = 0; i < count; i++) dm_pool_help(pool);
  while (atomic_load(&ended) < count) wait_a_moment();
}

TEST(test_scratch_memory) {
  large tasks[3];
  dm_pool *pool;
  for (int threads = 0; threads < 2; threads++) {
    ok(dm_pool_open(threads, LIMIT, &pool));
    for (int again = 0; again < 2; again++) {
      run_all_large(pool, tasks, 3);
      assert_int_equal(tasks[1].found, BYTES); /* kept for the next task, */
      assert_int_equal(tasks[2].found, BYTES);
      if (threads == 0) assert_int_equal(tasks[0].found, 0); /* and no longer */
    }
    dm_pool_close(pool);
  }
}

RUN_ALL(test_io_pool)
