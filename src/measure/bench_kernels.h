/* bench_kernels: the lab: every kernel by itself on one GPU, checked first, then timed. */
#ifndef DM_MEASURE_BENCH_KERNELS_H
#define DM_MEASURE_BENCH_KERNELS_H

#include "backend/lab.h"
#include "measure/kernel_choice.h"
#include "run/record.h"
#include "run/run.h"
#include "run/statistics.h"

/* ---- the roofline: the time that a piece of work takes at least on a device (Williams, Waterman,
 * Patterson, CACM 2009): by its arithmetic, or by the bytes that must come and go ---- */

/* Bytes per second, measured: read and written by copies; read alone. */
typedef struct dm_roof {
  dm_lab_limits limits;
  double copy, read;
} dm_roof;

/* What WORK must do: operations on numbers, and bytes if each matrix is moved once. */
typedef struct dm_load {
  double flops, bytes;
} dm_load;

dm_load dm_load_of(dm_kernel_op op, dm_operand type, dm_kernel_size size, bool accumulate);

/* Operations per second of TYPE: the most that a multiprocessor begins in a cycle, by its tensor
 * cores where they take the type, at its highest clock.  0 where that is not known. */
double dm_roof_peak(const dm_lab_limits *limits, dm_operand type);

/* Least seconds; *by is "compute" or "memory".  NAN where the peak is not known. */
double dm_roof_bound(const dm_roof *roof, dm_kernel_op op, dm_operand type, dm_load load,
                     const char **by);

/* ---- the lab ---- */

/* Plain data. */
typedef struct dm_bench_kernels {
  bool chosen[DM_KERNEL_COUNT];
  unsigned types;
  dm_kernel_sizes sizes;
  bool check_only;
  bool accumulate; /* C += A B */
  bool along_k;    /* cuBLAS gets B with its rows along k */
  int64_t pad;     /* elements behind each row */
  int repetitions; /* pairs of a kernel and its yardstick */
  double settle;   /* seconds of warm-up at most */
  double limit;    /* seconds of measuring, after which three pairs are enough */
  uint64_t seed;
} dm_bench_kernels;

/* Small matrices of shapes that break kernels. */
typedef struct dm_edge_check {
  int trials, failed;
  char first[160]; /* failure */
} dm_edge_check;

/* Errors are counted in u |A||B| of each element, u the unit roundoff of the result. */
typedef struct dm_size_check {
  bool done, pass;
  int64_t rows, of_rows; /* looked at */
  double most, median, bound;
} dm_size_check;

typedef struct dm_timing {
  bool done;
  int64_t launches, yardstick_launches, sets; /* of one measurement; places of the matrices */
  bool graph;
  double warmup;
  bool settled;
  int pairs;
  double *kernel_s, *yardstick_s;         /* of one call, by pair */
  dm_statistics kernel, yardstick, share; /* share: yardstick's time over the kernel's, as rates */
  dm_lab_sensors sensors;                 /* medians, while the kernel ran */
} dm_timing;

/* What is known of one kernel in one type and size. */
typedef struct dm_kernel_result {
  const dm_kernel *kernel;
  dm_operand type;
  dm_kernel_size size;
  const dm_bench_kernels *wanted;
  const dm_device *device;
  const dm_roof *roof;
  const dm_run *run;
  const char *tilings; /* "jit:" and a hash; "" for other kernels */
  dm_load load;
  double bound_s;
  const char *bound_by;
  dm_edge_check edges;
  dm_size_check check;
  dm_timing timing;
} dm_kernel_result;

bool dm_kernel_result_pass(const dm_kernel_result *result);
void dm_kernel_result_record(const dm_kernel_result *result, dm_record *record);

/* What the registry says of KERNEL. */
void dm_kernel_describe(const dm_kernel *kernel, dm_record *record);

/* "8.0 and later", "9.0"; returns TEXT. */
char *dm_kernel_capability(const dm_kernel *kernel, char text[32]);

/* Is told each result as it comes; an error ends the benchmark. */
typedef struct dm_kernel_listener {
  void *context;
  dm_status (*tell)(void *context, const dm_kernel_result *result);
} dm_kernel_listener;

typedef struct dm_bench_kernels_sum {
  int results, timed, failed;
} dm_bench_kernels_sum;

/* One rank only.  DM_E_VERIFY at the end where a check failed. */
dm_status dm_bench_kernels_run(dm_run *run, const dm_bench_kernels *wanted,
                               const dm_kernel_listener *listener, dm_bench_kernels_sum *sum);

#endif
