/* lab: what it takes to check and to measure single kernels on a GPU.  The functions exist in every
 * build; without CUDA dm_lab_open says why there is no lab. */
#ifndef DM_BACKEND_LAB_H
#define DM_BACKEND_LAB_H

#include "backend/backend.h"
#include "kernels/registry.h"

/* One call of a kernel, all matrices in device memory, col_stride 1.  gemm: OUT (+)= X Y;
 * transpose: OUT = X transposed; add: OUT = alpha X + beta Y; dot: OUT, one f64, = X . Y.
 *
 * Yardsticks: cuBLAS; of transpose and add a copy of X to OUT by the copy engine; of dot a kernel
 * that reads X and Y and does nothing else. */
typedef struct dm_lab_work {
  dm_kernel_op op;
  const dm_kernel *kernel; /* NULL: the yardstick of OP */
  dm_operand operand;      /* DM_TF32: f32 is rounded to it */
  bool accumulate;
  double alpha, beta;
  dm_view out, x, y;
  dm_view y_along_k; /* Y transposed, for the yardstick of gemm; base NULL: it takes Y itself */
} dm_lab_work;

typedef struct dm_lab dm_lab;

/* BACKEND must be of dm_backend_cuda and outlive the lab. */
dm_status dm_lab_open(dm_backend *backend, dm_lab **lab);
void dm_lab_close(dm_lab *lab); /* NULL is allowed */

/* ---- what bounds a kernel ---- */

/* Of the device; 0 where unknown. */
typedef struct dm_lab_limits {
  int capability;                  /* times 10 */
  int processors;                  /* multiprocessors */
  int threads, blocks;             /* at once on a multiprocessor */
  int registers;                   /* of a multiprocessor */
  int64_t shared, shared_of_block; /* bytes; of a multiprocessor, and most of a block */
  int threads_of_block;
  int64_t l2, memory;         /* bytes */
  double clock, memory_clock; /* most, per second */
  int memory_width;           /* bits */
} dm_lab_limits;

dm_status dm_lab_limits_of(dm_backend *backend, dm_lab_limits *limits);

/* Of the kernel that does the main part of WORK, which is only recorded, not run. */
typedef struct dm_lab_occupancy {
  bool known; /* false: the rest is empty, because the library does not let it be seen */
  int registers, threads; /* of a thread; of a block */
  int64_t shared;         /* bytes of a block */
  int blocks;             /* at once on a multiprocessor */
  double occupancy;       /* threads on a multiprocessor over the most there can be */
} dm_lab_occupancy;

dm_status dm_lab_occupancy_of(dm_lab *lab, const dm_lab_work *work, dm_lab_occupancy *occupancy);

/* Clock of the multiprocessors, power and temperature now, by NVML; NAN where it does not say. */
typedef struct dm_lab_sensors {
  double clock, power, temperature; /* 1/s, W, degrees Celsius */
} dm_lab_sensors;

void dm_lab_sense(dm_lab *lab, dm_lab_sensors *sensors);

/* ---- checking ---- */

/* Runs WORK and waits for it. */
dm_status dm_lab_run(dm_lab *lab, const dm_lab_work *work);

/* The right result of WORK in COUNT of its rows (host memory), by kernels/reference.h; of gemm with
 * accumulate the old OUT is read.  It is kept in the lab until the next call. */
dm_status dm_lab_expect(dm_lab *lab, const dm_lab_work *work, const int64_t *rows, int64_t count);

/* How many errors dm_lab_judge writes: count * columns * parts of the last dm_lab_expect. */
int64_t dm_lab_judged(const dm_lab *lab);

/* |OUT - expected| / (|X||Y|) of each element expected, into host memory; INFINITY: not a number,
 * or more than |X||Y| away. */
dm_status dm_lab_judge(dm_lab *lab, dm_view out, double *errors);

/* ---- timing ---- */

/* LAUNCHES calls, one after the other, which take turns through SETS works that differ only in
 * where their matrices lie. */
typedef struct dm_lab_series {
  const dm_lab_work *works;
  int64_t sets, launches;
  bool graph;            /* recorded once in a CUDA graph, and launched as one */
  void *graph_of_device; /* of the lab's own */
  int64_t next;          /* set */
} dm_lab_series;

/* Records the graph, if SERIES wants one.  Where the works cannot be recorded, graph becomes false.
 * The works must have run once before. */
dm_status dm_lab_prepare(dm_lab *lab, dm_lab_series *series);
void dm_lab_forget(dm_lab *lab, dm_lab_series *series);

/* Posts all calls; finish waits for them.  *seconds is the GPU's own time for all of them. */
dm_status dm_lab_start(dm_lab *lab, dm_lab_series *series);
dm_status dm_lab_finish(dm_lab *lab, double *seconds);

#endif
