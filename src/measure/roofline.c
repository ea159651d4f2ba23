#include "measure/roofline.h"

#include <math.h>

#include "plan/machine.h"

/* Operations (a multiply-add is two) that a multiprocessor begins in a cycle; dense, sums in f32,
 * i32 or the type itself.  From the whitepapers of the A100 (GA100) and the H100 (GH100). */
typedef struct pace {
  int capability;
  dm_operand_rates flops;
} pace;

static const pace paces[] = {
    {80, {128, 128, 1024, 2048, 4096}},
    {90, {256, 256, 2048, 4096, 8192}},
};

double dm_roof_peak(const dm_lab_limits *limits, dm_operand type) {
  for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++)
    if (paces[i].capability == limits->capability)
      return dm_operand_rate(&paces[i].flops, type) * limits->processors * limits->clock;
  return 0.0;
}

dm_load dm_load_of(dm_kernel_op op, dm_operand type, dm_kernel_size size, bool accumulate) {
  const double m = (double)size.m, n = (double)size.n, k = (double)size.k;
  const dm_dtype dtype = dm_operand_dtype(type);
  const double in = (double)dm_dtype_size(dtype);
  const double out = (double)dm_dtype_size(dm_compute_sum(dtype));
  switch (op) {
  case DM_GEMM:
    return (dm_load){(dm_dtype_is_complex(dtype) ? 8.0 : 2.0) * m * n * k,
                     (m * k + k * n) * in + (accumulate ? 2.0 : 1.0) * m * n * out};
  case DM_TRANSPOSE:
    return (dm_load){0.0, 2.0 * m * n * in};
  case DM_ADD:
    return (dm_load){3.0 * m * n, 3.0 * m * n * in};
  case DM_DOT:
    return (dm_load){2.0 * m * n, 2.0 * m * n * in};
  case DM_KERNEL_OPS:
    break;
  }
  return (dm_load){0};
}

double dm_roof_bound(const dm_roof *roof, dm_kernel_op op, dm_operand type, dm_load load,
                     const char **by) {
  const double peak = dm_roof_peak(&roof->limits, type);
  const double moving = load.bytes / (op == DM_DOT ? roof->read : roof->copy);
  /* Helpers do next to no arithmetic. */
  const double computing = op == DM_GEMM ? load.flops / peak : 0.0;
  *by = computing > moving ? "compute" : "memory";
  return op == DM_GEMM && peak == 0.0 ? (double)NAN : fmax(computing, moving);
}
