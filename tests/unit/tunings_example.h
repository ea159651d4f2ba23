/* tunings_example: tile sizes as `damier tune` might find them. */
#ifndef DM_TESTS_TUNINGS_EXAMPLE_H
#define DM_TESTS_TUNINGS_EXAMPLE_H

#include "checks.h"
#include "engine/tunings.h"

static const dm_jit_facts h200 = {.gpu = "NVIDIA H200",
                                  .capability = 90,
                                  .processors = 132,
                                  .driver = 13000,
                                  .compiler = 13000,
                                  .limits = {2048, 65536, 233472, 232448}};
static const dm_tiling other = {128, 256, 8, 4, 64, 64, 8, 1, 4, 2, 0};

static inline dm_tunings example(void) {
  dm_tunings tunings = {0};
  tunings.of[0][DM_TILES_LARGE] = (dm_tuned){true, other, 8192, 5.1e13, 4.9e13};
  tunings.of[1][DM_TILES_TINY] = (dm_tuned){true, {DM_TILING_SMALL_F64}, 512, 1.0e12, 1.0e12};
  return tunings;
}

#endif
