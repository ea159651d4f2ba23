/* bench_kernels: the harness: checks, then times single kernels on one GPU. */
#ifndef DM_BENCH_BENCH_KERNELS_H
#define DM_BENCH_BENCH_KERNELS_H

#include "backend/harness.h"
#include "bench/kernel_choice.h"
#include "run/record.h"
#include "run/run.h"

/* ---- the roofline: the least time that work takes on a device, bounded by its arithmetic or by
 * the bytes to move (Williams, Waterman, Patterson, CACM 2009) ---- */

/* Measured bytes per second: read and written by copies; only read. */
typedef struct dm_roof {
  dm_harness_limits limits;
  double copy, read;
} dm_roof;

/* Work of a call: operations, and bytes if each matrix is moved once. */
typedef struct dm_load {
  double flops, bytes;
} dm_load;

dm_load dm_load_of(dm_kernel_op op, dm_operand type, dm_kernel_size size, bool accumulate);

/* Peak operations per second for TYPE: issue rate of the multiprocessors, with tensor cores if they
 * support the type, times the highest clock. 0: unknown. */
double dm_roof_peak(const dm_harness_limits *limits, dm_operand type);

/* Least seconds; *by is "compute" or "memory". NAN: the peak is unknown. */
double dm_roof_bound(const dm_roof *roof, dm_kernel_op op, dm_operand type, dm_load load,
                     const char **by);

/* ---- the harness ---- */

/* Plain data. */
typedef struct dm_bench_kernels {
  bool chosen[DM_KERNEL_COUNT];
  unsigned types;
  dm_kernel_sizes sizes;
  bool check_only;
  bool accumulate; /* C += A B */
  bool along_k;    /* cuBLAS reads B with its rows along k */
  int64_t pad;     /* padding of each row in elements */
  int repetitions; /* pairs of measurements: the kernel and its baseline */
  double settle;   /* most seconds of warm-up */
  double limit;    /* seconds of measuring, after which three pairs suffice */
  uint64_t seed;
} dm_bench_kernels;

/* Checks on small matrices of difficult shapes. */
typedef struct dm_edge_check {
  int trials, failed;
  char first[160]; /* the first failure */
} dm_edge_check;

/* Errors are in units of u |A||B| of each element, u the unit roundoff of the result. */
typedef struct dm_size_check {
  bool done, pass;
  int64_t rows, of_rows; /* rows checked, of all rows */
  double most, median, bound;
} dm_size_check;

typedef struct dm_timing {
  bool done;
  int64_t launches, yardstick_launches, sets; /* launches per measurement; sets of matrices */
  bool graph;
  double warmup;
  bool settled;
  int pairs;
  double *kernel_s, *yardstick_s;         /* per call, for each pair */
  dm_statistics kernel, yardstick, share; /* share: the baseline's time over the kernel's */
  dm_harness_sensors sensors;             /* medians while the kernel runs */
} dm_timing;

/* All results of one kernel in one type and size. */
typedef struct dm_kernel_result {
  const dm_kernel *kernel;
  dm_operand type;
  dm_kernel_size size;
  const dm_bench_kernels *wanted;
  const dm_device *device;
  const dm_roof *roof;
  const dm_run *run;
  dm_load load;
  double bound_s;
  const char *bound_by;
  dm_edge_check edges;
  dm_size_check check;
  dm_timing timing;
} dm_kernel_result;

bool dm_kernel_result_pass(const dm_kernel_result *result);
void dm_kernel_result_record(const dm_kernel_result *result, dm_record *record);

/* Records the registry's facts about KERNEL. */
void dm_kernel_describe(const dm_kernel *kernel, dm_record *record);

/* Writes "8.0 and later" or "9.0"; returns TEXT. */
char *dm_kernel_capability(const dm_kernel *kernel, char text[32]);

/* Receives each result as it arrives; an error ends the benchmark. */
typedef struct dm_kernel_listener {
  void *context;
  dm_status (*report)(void *context, const dm_kernel_result *result);
} dm_kernel_listener;

typedef struct dm_bench_kernels_sum {
  int results, timed, failed;
} dm_bench_kernels_sum;

/* One rank only. DM_E_VERIFY at the end if a check failed. */
dm_status dm_bench_kernels_run(dm_run *run, const dm_bench_kernels *wanted,
                               const dm_kernel_listener *listener, dm_bench_kernels_sum *sum);

/* ---- the parts of the harness ---- */

/* The matrices of one operation, type and size: SETS of them, so that no call finds its operands in
 * the cache. */
typedef struct dm_workload {
  dm_backend *backend;
  dm_harness *harness;
  dm_kernel_op op;
  dm_operand type;
  dm_kernel_size size;
  int64_t pad;
  uint64_t seed;
  int64_t sets;
  void *memory;
  dm_harness_work *works; /* one per set; kernel is NULL */
} dm_workload;

/* Allocates random matrices in SETS sets (0: enough for twice the cache of LIMITS). */
dm_status dm_workload_open(const dm_bench_kernels *wanted, const dm_harness_limits *limits,
                           int64_t sets, dm_workload *workload);
void dm_workload_close(dm_workload *workload);

/* Resets OUT of the first set: random if the call reads it, else a value that no correct result
 * has. */
dm_status dm_workload_reset(const dm_workload *workload);

/* Row strides: the length plus PAD, rounded up to MULTIPLE. */
typedef struct dm_rows {
  int64_t pad, multiple;
} dm_rows;

/* Places OUT, X and Y of W's operation and type, in SIZE, one after the other in device MEMORY. */
void dm_harness_lay_out(dm_kernel_size size, dm_rows rows, void *memory, dm_harness_work *w);

/* Bound of the error of a sum of DEPTH products, in u |A||B|. */
double dm_kernel_bound(const dm_kernel *kernel, dm_operand type, int64_t depth);

/* Checks KERNEL in TYPE on many small shapes. */
dm_status dm_check_edges(dm_backend *backend, dm_harness *harness, const dm_kernel *kernel,
                         dm_operand type, uint64_t seed, dm_edge_check *check);

/* Computes the expected result of WORKLOAD for dm_check_size. */
dm_status dm_expect_size(const dm_workload *workload, dm_size_check *check);
dm_status dm_check_size(const dm_workload *workload, const dm_kernel *kernel, dm_size_check *check);

/* Times KERNEL and its baseline, alternating. TIMING's arrays have room for WANTED's
 * repetitions. */
dm_status dm_time_kernel(const dm_workload *workload, const dm_bench_kernels *wanted,
                         const dm_kernel *kernel, dm_timing *timing);

/* Measures bytes per second of copies and of reading. */
dm_status dm_measure_roof(dm_backend *backend, dm_harness *harness, dm_roof *roof);

/* The largest of COUNT numbers; NAN if one is NAN. */
double dm_largest(const double *values, int64_t count);

#endif
