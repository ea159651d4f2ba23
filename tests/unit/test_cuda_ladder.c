/* The registry's kernels on CUDA cores, in each of their real types. Each element must equal, to
 * the last bit, the chain of fused multiply-adds over k that the registry promises (kahan: within 3
 * u |A||B|); integers are therefore exact, and random numbers in f32 within k u |A||B|. */
#include "ladder.h"

/* The sum in the type of the kernel's sums, or (EXACT) as exactly as f64 allows. */
static double chain(const trial *t, const double *a, const double *b, double old, bool exact) {
  const bool single = dm_compute_sum(t->dtype) == DM_F32 && !exact;
  double sum = old;
  for (int64_t l = 0; l < t->k; l++)
    sum = single ? (double)fmaf((float)a[l], (float)b[l * t->n], (float)sum)
                 : fma(a[l], b[l * t->n], sum);
  return sum;
}

static double magnitude(const trial *t, const double *a, const double *b, double old) {
  double sum = fabs(old);
  for (int64_t l = 0; l < t->k; l++) sum += fabs(a[l] * b[l * t->n]);
  return sum;
}

static void judge(const trial *t, const double *a, const double *b, const double *was,
                  const double *is) {
  const double old = *was, result = *is;
  const bool kahan = t->kernel->sums == DM_SUM_COMPENSATED;
  const double wanted = chain(t, a, b, old, kahan);
  if (!kahan && result != wanted) refuse_element(t, result, wanted);
  if (t->dtype == DM_F64) return; /* only the chain: nothing here is more exact */
  const double u = dm_dtype_roundoff(DM_F32), factor = kahan ? 3.0 : (double)t->k + 1.0;
  const double bound = t->whole ? 0.0 : factor * u * magnitude(t, a, b, old);
  const double near = chain(t, a, b, old, true);
  if (!(fabs(result - near) <= bound)) refuse_element(t, result, near);
}

static void test_kernel(void **state) {
  const dm_kernel *kernel = *state;
  const dm_dtype dtypes[] = {DM_F32, DM_F64, DM_F16, DM_BF16, DM_I8};
  for (int d = 0; d < 5; d++)
    if (dm_kernel_takes(kernel, (dm_operand)dtypes[d]))
      run_trials(kernel, dtypes[d], false, 0, judge);
}

TEST_PROGRAM(test_cuda_ladder) {
  return run_ladder(test_kernel, DM_SUM_CHAIN, DM_SUM_COMPENSATED);
}
