/* Threads that share work: every piece is processed once, for any number of threads and pieces. */
#include <stdatomic.h>

#include "checks.h"
#include "core/crew.h"

enum { PIECES = 5000 };

typedef struct pile {
  atomic_int next;
  int taken[PIECES];
} pile;

static void take(void *context) {
  pile *p = context;
  for (;;) {
    const int i = atomic_fetch_add(&p->next, 1);
    if (i >= PIECES) return;
    p->taken[i]++;
  }
}

TEST(every_piece_once) {
  static const int threads[] = {-1, 0, 1, 2, 7, 1000};
  for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
    pile p = {0};
    const int working = dm_fork_join(threads[t], take, &p);
    assert_true(working >= 1 && working <= (threads[t] > 1 ? threads[t] : 1));
    for (int i = 0; i < PIECES; i++) assert_int_equal(p.taken[i], 1);
  }
  assert_true(dm_cores() >= 1);
}

static dm_status take_one(void *context, int64_t i) {
  ((pile *)context)->taken[i]++;
  return DM_OK;
}

/* Some pieces fail: one of their errors comes back, and a thread that meets it takes no more. */
static dm_status fail_on_some(void *context, int64_t i) {
  pile *p = context;
  atomic_fetch_add(&p->next, 1);
  return i % 2 ? dm_fail(DM_E_BUG, "piece %lld", (long long)i) : DM_OK;
}

TEST(each_number_once) {
  for (int threads = 0; threads < 5; threads++)
    for (int64_t count = 0; count < 4; count++) {
      pile p = {0};
      assert_null(dm_fork_each(count, threads, take_one, &p));
      for (int64_t i = 0; i < 5; i++) assert_int_equal(p.taken[i], i < count);
    }
  pile p = {0};
  assert_null(dm_fork_each(PIECES, 0, take_one, &p));
  for (int i = 0; i < PIECES; i++) assert_int_equal(p.taken[i], 1);
}

TEST(the_first_error_ends_it) {
  pile p = {0};
  dm_status status = dm_fork_each(PIECES, 3, fail_on_some, &p);
  assert_non_null(status);
  assert_int_equal(status->code, DM_E_BUG);
  assert_true(atomic_load(&p.next) < PIECES);
  dm_status_free(status);
}

RUN_ALL(test_core_fork_join)
