/* Tile sizes: those that jit chooses from, and the kernel's constraints. */
#include "backend/kernel_list.h"
#include "checks.h"

enum { H200 = 232448, LEAST = 101376 }; /* bytes of shared memory of a block */

/* The kernel's assumptions: LENGTH elements form a vector. */
static void check_rules(const dm_tiling *t, int length, const dm_tiling_need *need) {
  const int across = 32 / t->down, vectors = t->bn / length; /* per row of B */
  assert_true(t->bk % 2 == 0 && t->bk % t->parts == 0 && 32 % t->down == 0);
  assert_true(t->stages >= 2 && t->blocks >= 1 && t->group >= 1 && t->by_rows >> 1 == 0);
  assert_true(t->bm % t->wm == 0 && t->bn % t->wn == 0); /* warps fill the block's tile */
  assert_true(t->wm % (t->down * length) == 0 && t->wn % (across * length) == 0);
  assert_true(need->threads >= 32 && need->threads <= 1024);
  assert_true(need->threads % t->bk == 0 && t->bm * t->bk % need->threads == 0);
  assert_true(need->threads % vectors == 0 && t->bk * vectors % need->threads == 0);
}

/* Some also run on GPUs with the least shared memory (8.6, 8.9). */
TEST(candidates_fit_and_differ) {
  const dm_dtype types[] = {DM_F32, DM_F64};
  for (int x = 0; x < 2; x++) {
    int count, fitting = 0;
    const dm_tiling *all = dm_tiling_candidates(types[x], &count);
    for (int i = 0; i < count; i++) {
      const dm_tiling_need need = dm_tiling_need_of(&all[i], types[x]);
      check_rules(&all[i], x ? 2 : 4, &need);
      assert_true(need.shared > 0 && need.shared <= H200);
      fitting += need.shared <= LEAST;
      for (int j = 0; j < i; j++) assert_memory_not_equal(&all[i], &all[j], sizeof *all);
    }
    assert_true(count >= 4 && fitting >= 3);
  }
}

TEST(other_types_have_none) {
  int count;
  assert_null(dm_tiling_candidates(DM_F16, &count));
  assert_int_equal(count, 0);
}

RUN_ALL(test_backend_tiling)
