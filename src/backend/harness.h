/* harness: checks and measures single kernels on a GPU. The functions exist in every build; without
 * CUDA dm_harness_open reports why there is no harness. */
#ifndef DM_BACKEND_LAB_H
#define DM_BACKEND_LAB_H

#include "backend/backend.h"
#include "kernels/registry.h"

/* One call of a kernel; all matrices are in device memory, col_stride 1. gemm: OUT (+)= X Y;
 * transpose: OUT = X transposed; add: OUT = alpha X + beta Y; dot: OUT, one f64, = X . Y.
 *
 * Baselines: for gemm, cuBLAS; for transpose and add, a copy of X to OUT by the copy engine; for
 * dot, a kernel that only reads X and Y. */
typedef struct dm_harness_work {
  dm_kernel_op op;
  const dm_kernel *kernel; /* NULL: the baseline of OP */
  dm_operand operand;      /* DM_TF32: f32 is rounded to it */
  bool accumulate;
  double alpha, beta;
  dm_view out, x, y;
  dm_view y_along_k; /* Y transposed, for the baseline of gemm; base NULL: use Y itself */
} dm_harness_work;

typedef struct dm_harness dm_harness;

/* BACKEND must be a dm_backend_cuda and outlive the harness. */
dm_status dm_harness_open(dm_backend *backend, dm_harness **harness);
void dm_harness_close(dm_harness *harness); /* NULL is allowed */

/* ---- limits ---- */

/* Limits of the device; 0: unknown. */
typedef struct dm_harness_limits {
  int capability;                  /* times 10 */
  int processors;                  /* multiprocessors */
  int threads, blocks;             /* resident per multiprocessor */
  int registers;                   /* per multiprocessor */
  int64_t shared, shared_of_block; /* bytes; per multiprocessor, and at most per block */
  int threads_of_block;
  int64_t l2, memory;         /* bytes */
  double clock, memory_clock; /* highest, in 1/s */
  int memory_width;           /* bits */
} dm_harness_limits;

dm_status dm_harness_limits_of(dm_backend *backend, dm_harness_limits *limits);

/* Current clock of the multiprocessors, power and temperature, by NVML; NAN: unknown. */
typedef struct dm_harness_sensors {
  double clock, power, temperature; /* 1/s, W, degrees Celsius */
} dm_harness_sensors;

void dm_harness_sense(dm_harness *harness, dm_harness_sensors *sensors);

/* ---- checking ---- */

/* DM_E_USAGE: KERNEL needs a library that is not installed. */
dm_status dm_harness_ready(dm_harness *harness, const dm_kernel *kernel);

/* Runs WORK and waits for it. */
dm_status dm_harness_run(dm_harness *harness, const dm_harness_work *work);

/* Computes the correct result of WORK in COUNT of its ROWS (host memory) by kernels/reference.h;
 * for gemm with accumulate it reads the old OUT. The harness keeps it until the next call. */
dm_status dm_harness_expect(dm_harness *harness, const dm_harness_work *work, const int64_t *rows,
                            int64_t count);

/* Number of errors that dm_harness_judge writes: count * columns * parts of the last
 * dm_harness_expect. */
int64_t dm_harness_judged(const dm_harness *harness);

/* Writes |OUT - expected| / (|X||Y|) of each expected element to host memory; INFINITY: not a
 * number, or off by more than |X||Y|. */
dm_status dm_harness_judge(dm_harness *harness, dm_view out, double *errors);

/* ---- timing ---- */

/* LAUNCHES consecutive calls, cycling through SETS works that differ only in the addresses of their
 * matrices. */
typedef struct dm_harness_series {
  const dm_harness_work *works;
  int64_t sets, launches;
  bool graph;            /* record once in a CUDA graph, and launch that */
  void *graph_of_device; /* owned by the harness */
  int64_t next;          /* next set */
} dm_harness_series;

/* Records the graph if SERIES requests one. If the works cannot be recorded, graph becomes false.
 * The works must have run once before. */
dm_status dm_harness_prepare(dm_harness *harness, dm_harness_series *series);
void dm_harness_forget(dm_harness *harness, dm_harness_series *series);

/* start posts all calls; finish waits for them. *seconds: the GPU's time for all of them. */
dm_status dm_harness_start(dm_harness *harness, dm_harness_series *series);
dm_status dm_harness_finish(dm_harness *harness, double *seconds);

#endif
