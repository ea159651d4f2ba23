/* lab: checks and measures single kernels on a GPU. The functions exist in every build; without
 * CUDA dm_lab_open reports why there is no lab. */
#ifndef DM_BACKEND_LAB_H
#define DM_BACKEND_LAB_H

#include "backend/backend.h"
#include "kernels/registry.h"

/* One call of a kernel; all matrices are in device memory, col_stride 1. gemm: OUT (+)= X Y;
 * transpose: OUT = X transposed; add: OUT = alpha X + beta Y; dot: OUT, one f64, = X . Y.
 *
 * Baselines: for gemm, cuBLAS; for transpose and add, a copy of X to OUT by the copy engine; for
 * dot, a kernel that only reads X and Y. */
typedef struct dm_lab_work {
  dm_kernel_op op;
  const dm_kernel *kernel; /* NULL: the baseline of OP */
  dm_operand operand;      /* DM_TF32: f32 is rounded to it */
  bool accumulate;
  double alpha, beta;
  dm_view out, x, y;
  dm_view y_along_k; /* Y transposed, for the baseline of gemm; base NULL: use Y itself */
} dm_lab_work;

typedef struct dm_lab dm_lab;

/* BACKEND must be a dm_backend_cuda and outlive the lab. */
dm_status dm_lab_open(dm_backend *backend, dm_lab **lab);
void dm_lab_close(dm_lab *lab); /* NULL is allowed */

/* ---- limits ---- */

/* Limits of the device; 0: unknown. */
typedef struct dm_lab_limits {
  int capability;                  /* times 10 */
  int processors;                  /* multiprocessors */
  int threads, blocks;             /* resident per multiprocessor */
  int registers;                   /* per multiprocessor */
  int64_t shared, shared_of_block; /* bytes; per multiprocessor, and at most per block */
  int threads_of_block;
  int64_t l2, memory;         /* bytes */
  double clock, memory_clock; /* highest, in 1/s */
  int memory_width;           /* bits */
} dm_lab_limits;

dm_status dm_lab_limits_of(dm_backend *backend, dm_lab_limits *limits);

/* Current clock of the multiprocessors, power and temperature, by NVML; NAN: unknown. */
typedef struct dm_lab_sensors {
  double clock, power, temperature; /* 1/s, W, degrees Celsius */
} dm_lab_sensors;

void dm_lab_sense(dm_lab *lab, dm_lab_sensors *sensors);

/* ---- checking ---- */

/* Runs WORK and waits for it. */
dm_status dm_lab_run(dm_lab *lab, const dm_lab_work *work);

/* Computes the correct result of WORK in COUNT of its ROWS (host memory) by kernels/reference.h;
 * for gemm with accumulate it reads the old OUT. The lab keeps it until the next call. */
dm_status dm_lab_expect(dm_lab *lab, const dm_lab_work *work, const int64_t *rows, int64_t count);

/* Number of errors that dm_lab_judge writes: count * columns * parts of the last dm_lab_expect. */
int64_t dm_lab_judged(const dm_lab *lab);

/* Writes |OUT - expected| / (|X||Y|) of each expected element to host memory; INFINITY: not a
 * number, or off by more than |X||Y|. */
dm_status dm_lab_judge(dm_lab *lab, dm_view out, double *errors);

/* ---- timing ---- */

/* LAUNCHES consecutive calls, cycling through SETS works that differ only in the addresses of their
 * matrices. */
typedef struct dm_lab_series {
  const dm_lab_work *works;
  int64_t sets, launches;
  bool graph;            /* record once in a CUDA graph, and launch that */
  void *graph_of_device; /* owned by the lab */
  int64_t next;          /* next set */
} dm_lab_series;

/* Records the graph if SERIES requests one. If the works cannot be recorded, graph becomes false.
 * The works must have run once before. */
dm_status dm_lab_prepare(dm_lab *lab, dm_lab_series *series);
void dm_lab_forget(dm_lab *lab, dm_lab_series *series);

/* start posts all calls; finish waits for them. *seconds: the GPU's time for all of them. */
dm_status dm_lab_start(dm_lab *lab, dm_lab_series *series);
dm_status dm_lab_finish(dm_lab *lab, double *seconds);

#endif
