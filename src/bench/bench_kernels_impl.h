/* bench_kernels_impl: shared declarations of the harness. */
#ifndef DM_BENCH_BENCH_KERNELS_IMPL_H
#define DM_BENCH_BENCH_KERNELS_IMPL_H

#include "bench/bench_kernels.h"

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

/* Computes the expected result of BED for dm_check_size. */
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
