/* Kernels are checked before they are timed: whole numbers must come out exactly, random ones
 * within a bound for each element, and nothing behind the rows of a result may change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "measure/bench_kernels_impl.h"

enum { SAMPLE = 1 << 20, MOST_ROWS = 65535 }; /* elements looked at; rows of a reference */

/* The rounding errors of a chain of k additions are at most (k + 1) u |A||B|; those of random
 * numbers add up like a random walk, and stay below 6 sqrt(k + 1) u |A||B| with a probability of
 * failure below 1e-7 for each element (Higham, Mary, SIAM J. Sci. Comput. 41, 2019).  Tensor cores
 * cut the low bits off, which is up to twice a rounding; and what a library does is not known.
 * Operands may be shortened before that. */
double dm_kernel_bound(const dm_kernel *kernel, dm_operand type, int64_t depth) {
  const double k = (double)depth + 1.0, walk = fmin(k, 6.0 * sqrt(k));
  if (kernel->op == DM_TRANSPOSE || kernel->op == DM_ADD) return 0.0;
  const dm_dtype dtype = dm_operand_dtype(type);
  const dm_compute *row = dm_compute_by(type);
  if (dm_dtype_is_integer(dtype)) return 0.0;
  if (kernel->op == DM_DOT) return walk;
  const double terms = dm_dtype_is_complex(dtype) ? sqrt(2.0) : 1.0; /* 2 k products */
  const double cut = 2.0 * row->shortening / row->roundoff;
  switch (dm_kernel_sums_of(kernel, dtype)) {
  case DM_SUM_CHAIN:
    return cut + terms * walk;
  case DM_SUM_COMPENSATED:
    return cut + 3.0;
  case DM_SUM_GROUPED:
  case DM_SUM_ANY:
    break;
  }
  return cut + 2.0 * terms * walk;
}

/* Errors in |A||B| become errors in u |A||B|; whole numbers have no u. */
static double unit_of(dm_dtype result) {
  const double u = dm_dtype_roundoff(result);
  return u > 0.0 ? u : 1.0;
}

double dm_largest(const double *values, int64_t count) {
  double largest = 0.0;
  for (int64_t i = 0; i < count; i++)
    if (isnan(values[i]))
      return NAN;
    else if (values[i] > largest)
      largest = values[i];
  return largest;
}

/* ---- at the size that is timed ---- */

/* COUNT of ROWS, one from each of as many runs of equal length. */
static void sample(int64_t rows, int64_t count, uint64_t seed, int64_t *chosen) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t begin = rows * i / count, end = rows * (i + 1) / count;
    chosen[i] = begin + (int64_t)(dm_mix(seed + (uint64_t)i) % (uint64_t)(end - begin));
  }
}

dm_status dm_expect_size(const dm_bed *bed, dm_size_check *check) {
  const dm_view out = bed->works[0].out;
  void *rows;
  check->of_rows = out.rows;
  check->rows = dm_min(dm_min(out.rows, MOST_ROWS), dm_max(16, SAMPLE / out.cols));
  DM_TRY(dm_buffer_alloc(check->rows * 8, &rows));
  sample(out.rows, check->rows, bed->seed, rows);
  dm_status status = dm_bed_reset(bed);
  if (!status) status = dm_lab_expect(bed->lab, &bed->works[0], rows, check->rows);
  free(rows);
  return status;
}

dm_status dm_check_size(const dm_bed *bed, const dm_kernel *kernel, dm_size_check *check) {
  dm_lab_work work = bed->works[0];
  const int64_t depth = bed->op == DM_GEMM ? work.x.cols : work.x.rows * work.x.cols;
  const int64_t count = dm_lab_judged(bed->lab);
  const double unit = unit_of(work.out.dtype);
  void *errors;
  work.kernel = kernel;
  DM_TRY(dm_bed_reset(bed));
  DM_TRY(dm_lab_run(bed->lab, &work));
  DM_TRY(dm_buffer_alloc(count * 8, &errors));
  dm_status status = dm_lab_judge(bed->lab, work.out, errors);
  if (!status) {
    check->most = dm_largest(errors, count) / unit;
    check->median = dm_statistics_of(errors, count).median / unit;
    check->bound = dm_kernel_bound(kernel, bed->type, depth);
    check->pass = check->most <= check->bound;
    check->done = true;
  }
  free(errors);
  return status;
}
