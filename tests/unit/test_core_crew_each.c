/* Each thread of a crew has a number of its own, which it keeps. */
#include <pthread.h>
#include <stdatomic.h>

#include "checks.h"
#include "core/crew.h"

enum { THREADS = 5, ROUNDS = 300 };

typedef struct roll {
  pthread_t thread[THREADS];
  atomic_int calls[THREADS];
} roll;

static void answer(void *context, int64_t thread) {
  roll *r = context;
  if (atomic_fetch_add(&r->calls[thread], 1) == 0) r->thread[thread] = pthread_self();
  if (!pthread_equal(r->thread[thread], pthread_self())) atomic_store(&r->calls[thread], -ROUNDS);
}

static void count(void *context, int64_t piece) {
  (void)piece;
  atomic_fetch_add((atomic_int *)context, 1);
}

TEST(each_thread_keeps_its_number) {
  dm_crew *crew;
  roll r = {.calls = {0}};
  atomic_int pieces = 0;
  assert_null(dm_crew_new(THREADS, &crew));
  assert_int_equal(dm_crew_threads(crew), THREADS);
  for (int i = 0; i < ROUNDS; i++) {
    dm_crew_each(crew, answer, &r);
    dm_crew_run(crew, count, &pieces, 2 * THREADS);
  }
  dm_crew_free(crew);
  assert_true(pthread_equal(r.thread[0], pthread_self()));
  assert_int_equal(atomic_load(&pieces), 2 * THREADS * ROUNDS);
  for (int i = 0; i < THREADS; i++) assert_int_equal(atomic_load(&r.calls[i]), ROUNDS);
}

RUN_ALL(test_core_crew_each)
