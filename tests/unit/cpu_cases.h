/* cpu_cases: matrices in host memory with guard elements after their rows, and the CPU backend. */
#ifndef DM_TESTS_CPU_CASES_H
#define DM_TESTS_CPU_CASES_H

#include "backend/backend.h"
#include "backend/cpu.h"
#include "checks.h"
#include "core/copy.h"
#include "core/element.h"

enum { PAD = 5, GUARD = 0x5c };

/* A generated matrix with PAD guard elements after each row. */
static inline dm_view guarded(dm_dtype dtype, int64_t rows, int64_t cols, dm_kind kind,
                              uint64_t seed, double parameter) {
  int64_t bytes = (rows * (cols + PAD) + 1) * dm_dtype_size(dtype);
  void *memory = malloc((size_t)bytes);
  assert_non_null(memory);
  memset(memory, GUARD, (size_t)bytes);
  dm_view view = dm_view_strided(memory, dtype, DM_HOST, rows, cols, cols + PAD);
  dm_fill(view, &(dm_generator){.kind = kind, .seed = seed, .parameter = parameter}, 0, 0);
  return view;
}

static inline void check_guards(dm_view view) {
  for (int64_t i = 0; i < view.rows; i++) {
    const unsigned char *behind = dm_view_at(view, i, view.cols);
    for (int64_t p = 0; p < PAD * dm_dtype_size(view.dtype); p++)
      assert_int_equal(behind[p], GUARD);
  }
}

/* Loads both parts of an element. */
static inline void load(dm_view view, int64_t i, int64_t j, double value[2]) {
  value[1] = 0.0;
  dm_load_wide(value, dm_view_at(view, i, j), view.dtype, 1, 1);
}

static inline dm_backend *cpu_of(int64_t tile, int threads) {
  dm_backend_config config = {.local_ranks = 1, .threads = threads, .tile = tile, .kernel = "auto"};
  dm_backend *backend;
  ok(dm_backend_open(&dm_backend_cpu, &config, &backend));
  return backend;
}

#endif
