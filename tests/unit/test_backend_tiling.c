/* Which tile sizes go together, which product uses which, and what `tune` tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/tiling.h"
#include "lib/test_program.h"
#include "measure/tune.h"

enum { H200 = 232448, LEAST = 101376 }; /* bytes of shared memory of a block */
static const dm_tiling large = {DM_TILING_LARGE_F32};
_Static_assert(sizeof large == 11 * sizeof(int), "any_numbers tries every number");

/* They run on GPUs with the least shared memory too (8.6, 8.9). */
static void built_in_tilings_run(void **state) {
  (void)state;
  const dm_tilings built_in = dm_tilings_built_in();
  char why[128] = "";
  for (int t = 0; t < DM_TILING_TYPES; t++)
    for (int i = 0; i < DM_TILING_CLASSES; i++) {
      const dm_tiling *tiling = &built_in.of[t][i];
      const dm_dtype type = t ? DM_F64 : DM_F32;
      if (!dm_tiling_runs(tiling, type, LEAST, why)) fail_msg("type %d, class %d: %s", t, i, why);
    }
}

/* One number changed, and the reason. */
static void each_rule_refuses(void **state) {
  (void)state;
  static const struct {
    dm_tiling tiling;
    const char *why;
  } cases[] = {
      {{256, 128, 7, 4, 64, 64, 8, 1, 8, 2, 0}, "odd"},
      {{256, 128, 8, 1, 64, 64, 8, 1, 8, 2, 0}, "range"},
      {{256, 128, 8, 9, 64, 64, 8, 1, 8, 2, 0}, "range"},
      {{256, 128, 8, 4, 64, 64, 5, 1, 8, 2, 0}, "divide the 32"},
      {{256, 128, 8, 4, 96, 64, 8, 1, 8, 2, 0}, "fill"},
      {{256, 128, 8, 4, 64, 64, 32, 1, 8, 2, 0}, "vectors"},
      {{512, 512, 8, 4, 32, 32, 8, 1, 8, 2, 0}, "1024"},
      {{256, 128, 12, 4, 64, 64, 8, 1, 8, 2, 0}, "tile of A"},
      {{64, 32, 8, 4, 32, 16, 8, 4, 8, 2, 0}, "tile of B"},
      {{256, 128, 64, 8, 64, 64, 8, 1, 8, 2, 0}, "shared memory"},
      {{256, 128, 8, 4, 64, 64, 8, 1, 0, 2, 0}, "range"},
      {{256, 128, 8, 4, 64, 64, 0, 1, 8, 2, 0}, "range"},
      {{256, 128, 8, 4, 64, 64, 8, 1, 8, 3, 0}, "PARTS"},
      {{256, 128, 8, 4, 64, 64, 8, 1, 8, 0, 0}, "range"},
      {{256, 128, 8, 4, 64, 64, 8, 1, 8, 2, 2}, "range"},
      {{-256, 128, 8, 4, 64, 64, 8, 1, 8, 2, 0}, "range"},
      {{INT32_MAX, INT32_MAX, INT32_MAX, 4, 64, 64, 8, 1, 8, 2, 0}, "range"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char why[128] = "";
    if (dm_tiling_runs(&cases[i].tiling, DM_F32, H200, why) || !strstr(why, cases[i].why))
      fail_msg("case %zu: '%s', wanted '%s'", i, why, cases[i].why);
  }
  assert_true(dm_tiling_runs(&large, DM_F32, H200, NULL));
  assert_false(dm_tiling_runs(&large, DM_F16, H200, NULL));
}

/* No numbers, however strange, get past the check and then divide by zero or overflow. */
static void any_numbers(void **state) {
  (void)state;
  static const int values[] = {-1, 0, 1, 2, 3, 4, 7, 8, 16, 32, 33, 64, 128, 256, 512, INT32_MAX};
  unsigned random = 1;
  int fitting = 0;
  for (int i = 0; i < 2000000; i++) {
    int n[11];
    memcpy(n, &large, sizeof n);
    for (int f = 0; f < 11; f++) {
      random = random * 1664525u + 1013904223u;
      if (random >> 30 == 0) n[f] = values[random >> 26 & 15];
    }
    const dm_tiling t = {n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10]};
    if (!dm_tiling_runs(&t, i % 2 ? DM_F64 : DM_F32, H200, NULL)) continue;
    const dm_tiling_need need = dm_tiling_need_of(&t, i % 2 ? DM_F64 : DM_F32);
    assert_true(need.threads >= 32 && need.threads <= 1024);
    assert_true(need.shared > 0 && need.shared <= H200);
    fitting++;
  }
  assert_true(fitting > 0);
}

static void classes_follow_the_tiles(void **state) {
  (void)state;
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

/* What is tuned for a class lies in it, on small GPUs and large ones. */
static void sizes_lie_in_their_class(void **state) {
  (void)state;
  for (int processors = 8; processors <= 200; processors += 4)
    for (int i = 0; i < DM_TILING_CLASSES; i++) {
      const dm_tiling_class kind = (dm_tiling_class)i;
      const int64_t size = dm_tiling_class_size(kind, processors);
      assert_int_equal(dm_tiling_class_of(size, size, processors), kind);
    }
}

/* All of the list are tried on a large GPU, and those that are built in are among them. */
static void candidates_fit_and_differ(void **state) {
  (void)state;
  const dm_tilings built_in = dm_tilings_built_in();
  for (int t = 0; t < DM_TILING_TYPES; t++) {
    dm_tiling list[DM_TUNE_CANDIDATES];
    bool found[DM_TILING_CLASSES] = {false};
    const int count = dm_tune_candidates(t ? DM_F64 : DM_F32, H200, list);
    assert_true(count >= 11);
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < i; j++) assert_false(dm_tiling_equal(&list[i], &list[j]));
      for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
        found[kind] |= dm_tiling_equal(&list[i], &built_in.of[t][kind]);
    }
    for (int kind = 0; kind < DM_TILING_CLASSES; kind++) assert_true(found[kind]);
  }
}

static void text_comes_back(void **state) {
  (void)state;
  static const char *const others[] = {
      "", "256x128x8", "256x128x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=0 ",
      "99999x128x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=0",
      "0256x128x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=0"};
  char text[128];
  dm_tiling back;
  assert_true(dm_tiling_parse(dm_tiling_format(&large, text), &back));
  assert_true(dm_tiling_equal(&large, &back));
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    assert_false(dm_tiling_parse(others[i], &back));
}

TEST_PROGRAM(test_backend_tiling) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(built_in_tilings_run),
                                     cmocka_unit_test(each_rule_refuses),
                                     cmocka_unit_test(any_numbers),
                                     cmocka_unit_test(classes_follow_the_tiles),
                                     cmocka_unit_test(sizes_lie_in_their_class),
                                     cmocka_unit_test(candidates_fit_and_differ),
                                     cmocka_unit_test(text_comes_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
