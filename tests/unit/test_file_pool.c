/* The memory of tasks that run at the same time. */
#include <stdatomic.h>
#include <time.h>

#include "checks.h"
#include "file/pool.h"

enum { LIMIT = 10, MORE = 20, BYTES = 12, TASKS = 4 };

typedef struct one {
  dm_pool_task task; /* first */
  atomic_int *running, *most;
  int awaited;
} one;

/* Waits until AWAITED tasks run, at most 10 s. */
static dm_status run(dm_pool_task *task, dm_scratch *scratch) {
  (void)scratch;
  const one *o = (const one *)task;
  const int now = atomic_fetch_add(o->running, 1) + 1;
  if (now > atomic_load(o->most)) atomic_store(o->most, now);
  for (int i = 0; i < 10000 && atomic_load(o->most) < o->awaited; i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
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
  for (int i = 0; i < 10000 && atomic_load(&most) < awaited; i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  dm_pool_close(pool);
  return most;
}

TEST(test_lent_memory) {
  assert_int_equal(together(0, 2), 2); /* 24 of 30 bytes */
  assert_int_equal(together(8, 1), 1); /* a second one would need 24 of 22 */
  assert_int_equal(together(MORE + 1, 1), 1);
}

RUN_ALL(test_file_pool)
