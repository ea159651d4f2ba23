/* Persistent threads: every piece is processed once, round after round, for any number of threads
 * and pieces. */
#include <stdatomic.h>

#include "checks.h"
#include "core/crew.h"

enum { PIECES = 100, ROUNDS = 300 };

static void take(void *context, int64_t piece) {
  atomic_fetch_add(&((atomic_int *)context)[piece], 1);
}

TEST(every_piece_once) {
  static const int threads[] = {-1, 0, 1, 2, 5, 64};
  for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
    dm_crew *crew;
    atomic_int taken[PIECES];
    for (int i = 0; i < PIECES; i++) atomic_init(&taken[i], 0);
    assert_null(dm_crew_new(threads[t], &crew));
    for (int r = 0; r < ROUNDS; r++) dm_crew_run(crew, take, taken, r % 3 == 0 ? PIECES : r % 3);
    dm_crew_free(crew);
    for (int i = 2; i < PIECES; i++) assert_int_equal(atomic_load(&taken[i]), ROUNDS / 3);
    assert_int_equal(atomic_load(&taken[0]), ROUNDS);
  }
  dm_crew_free(NULL);
}

RUN_ALL(test_core_crew)
