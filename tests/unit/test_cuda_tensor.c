/* The registry's kernels on tensor cores, in each of their types. The hardware adds up to 16
 * products at once: it aligns them to the largest, truncates two bits below the last one of f32,
 * and truncates the sum. With u the unit roundoff of f32, each product loses at most u/2 of the
 * largest and each sum 2u, in total at most 2 (k + 16) u |A||B|; f64 is one chain of fused
 * multiply-adds over k, to the last bit, as on CUDA cores. Integers must be exact. TF32 first
 * rounds the operands to nearest, by at most 2^-11 each. */
#include "ladder.h"

static void judge(const trial *t, const double *a, const double *b, const double *was,
                  const double *is) {
  const double old = *was, result = *is;
  long double sum = old;
  double magnitude = fabs(old), products = 0.0, chain = old;
  for (int64_t l = 0; l < t->k; l++) {
    sum += (long double)a[l] * b[l * t->n];
    products += fabs(a[l] * b[l * t->n]);
    chain = fma(a[l], b[l * t->n], chain);
  }
  if (t->dtype == DM_F64 && result != chain) refuse_element(t, result, chain);
  magnitude += products;
  const double u = dm_dtype_roundoff(dm_compute_sum(t->dtype));
  const double rounded = t->tf32 ? 0x1p-10 * (1.0 + 0x1p-12) * products : 0.0;
  const double bound = t->whole ? 0.0 : 2.0 * ((double)t->k + 16.0) * u * magnitude + rounded;
  if (!((double)fabsl((long double)result - sum) <= bound)) refuse_element(t, result, (double)sum);
}

/* f64 has special tiles for long k and a C that fills 132 multiprocessors with a small remainder.
 */
static void run_long_trials(const dm_kernel *kernel) {
  dm_backend *gpu = open_gpu(kernel->name, false, 0);
  for (int layout = 1; layout <= 2; layout++) { /* unaligned and aligned rows */
    const trial t = {kernel, DM_F64, false, 2811, 1789, 2053, layout, layout == 2, false};
    run_trial(gpu, &t, judge);
  }
  dm_backend_close(gpu);
}

static void test_kernel(void **state) {
  const dm_kernel *kernel = *state;
  const dm_dtype dtypes[] = {DM_F64, DM_F16, DM_BF16, DM_I8, DM_F32};
  for (int d = 0; d < 5; d++) {
    if (dm_kernel_takes(kernel, (dm_operand)dtypes[d]))
      run_trials(kernel, dtypes[d], false, 0, judge);
    if (dtypes[d] == DM_F32 && dm_kernel_takes(kernel, DM_TF32))
      run_trials(kernel, DM_F32, true, 0, judge);
  }
  if (dm_kernel_takes(kernel, DM_F64)) run_long_trials(kernel);
}

TEST_PROGRAM(test_cuda_tensor) {
  return run_ladder(test_kernel, DM_SUM_GROUPED, DM_SUM_GROUPED);
}
