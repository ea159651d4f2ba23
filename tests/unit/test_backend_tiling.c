/* Tile sizes: the available ones, the kernel's constraints, and the choice for a product. */
#include "backend/tiling.h"
#include "checks.h"

enum { H200 = 232448, LEAST = 101376 }; /* bytes of shared memory of a block */

/* They also run on GPUs with the least shared memory (8.6, 8.9). */
TEST(built_in_tilings_fit) {
  const dm_tilings built_in = dm_tilings_built_in();
  for (int t = 0; t < DM_TILING_TYPES; t++)
    for (int i = 0; i < DM_TILING_CLASSES; i++)
      assert_true(dm_tiling_need_of(&built_in.of[t][i], t ? DM_F64 : DM_F32).shared <= LEAST);
}

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

TEST(classes_follow_the_tiles) {
  assert_int_equal(dm_tiling_class_of(1, 1, 132), DM_TILES_TINY);
  assert_int_equal(dm_tiling_class_of(128, 128 * 33, 132), DM_TILES_TINY);
  assert_int_equal(dm_tiling_class_of(128, 128 * 33 + 1, 132), DM_TILES_SMALL);
  assert_int_equal(dm_tiling_class_of(128 * 132, 128, 132), DM_TILES_SMALL);
  assert_int_equal(dm_tiling_class_of(128 * 132 + 1, 128, 132), DM_TILES_MEDIUM);
  assert_int_equal(dm_tiling_class_of(128 * 132, 128 * 8, 132), DM_TILES_MEDIUM);
  assert_int_equal(dm_tiling_class_of(8192, 8192, 132), DM_TILES_LARGE);
  assert_int_equal(dm_tiling_class_of(INT64_MAX / 2, INT64_MAX / 2, 132), DM_TILES_LARGE);
  assert_int_equal(dm_tiling_class_of(0, 5, 132), DM_TILES_TINY);
}

/* Sizes tuned for a class belong to it, on small and large GPUs. */
TEST(sizes_lie_in_their_class) {
  for (int processors = 8; processors <= 200; processors += 4)
    for (int i = 0; i < DM_TILING_CLASSES; i++) {
      const dm_tiling_class kind = (dm_tiling_class)i;
      const int64_t size = dm_tiling_class_size(kind, processors);
      assert_int_equal(dm_tiling_class_of(size, size, processors), kind);
    }
}

/* All candidates fit on a large GPU; their texts identify them. */
TEST(candidates_fit_and_differ) {
  for (int t = 0; t < DM_TILING_TYPES; t++) {
    const dm_tiling *all = dm_tiling_candidates[t];
    int count = 0;
    for (int i = 0; i < DM_TILING_CANDIDATES && all[i].bm > 0; i++, count++) {
      char text[128];
      const dm_tiling_need need = dm_tiling_need_of(&all[i], t ? DM_F64 : DM_F32);
      check_rules(&all[i], t ? 2 : 4, &need);
      assert_true(need.shared > 0 && need.shared <= H200);
      assert_ptr_equal(dm_tiling_find(t, dm_tiling_format(&all[i], text)), &all[i]);
    }
    assert_true(count >= 11);
  }
}

TEST(other_texts_find_nothing) {
  static const char *const others[] = {
      "", "128x256x8", "128x256x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=1 ",
      "0128x256x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=1",
      "0x0x0 stages=0 warp=0x0 down=0 blocks=0 group=0 parts=0 rows=0"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    for (int t = 0; t < DM_TILING_TYPES; t++) assert_null(dm_tiling_find(t, others[i]));
}

RUN_ALL(test_backend_tiling)
