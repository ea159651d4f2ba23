/* A backend: the CPU's, but for its products of f64, which are three loops and counted. */
#include "backend/backend_list.h"
#include "backend/cpu.h"
#include "extensions/toys.h"

_Atomic int toy_products;

static dm_status toy_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                          dm_event *done) {
  (void)backend;
  *done = 0; /* complete */
  toy_products++;
  for (int64_t i = 0; i < c.rows; i++)
    for (int64_t j = 0; j < c.cols; j++) {
      double *sum = dm_view_at(c, i, j);
      if (!accumulate) *sum = 0;
      for (int64_t l = 0; l < a.cols; l++)
        *sum += *(double *)dm_view_at(a, i, l) * *(double *)dm_view_at(b, l, j);
    }
  return DM_OK;
}

static bool toy_takes(const char *kernel, dm_dtype work, const dm_compute *compute,
                      const char **why) {
  (void)kernel;
  if (why) *why = "it has only loops over f64";
  return work == DM_F64 && dm_compute_is_plain(compute);
}

static const dm_backend_ops toy_backend = {.name = "toy",
                                           .about = "for tests",
                                           .base = &dm_backend_cpu,
                                           .gemm = toy_gemm,
                                           .kernel_multiplies = toy_takes};

const dm_backend_ops *const dm_backend_list[] = {&dm_backend_cpu, &toy_backend, NULL};
