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

RUN_ALL(test_core_fork_join)
