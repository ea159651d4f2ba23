/* backend: where a panel product is computed.  One table of functions; cpu and cuda fill it.
 *
 * Work is posted and finishes later.  Products run in the order in which they were posted, and so
 * do copies, but copies do not wait for products nor products for copies: whoever posts work has
 * waited for what it needs.  dm_backend_test also moves the work on: on the CPU it computes the
 * next piece. */
#ifndef DM_BACKEND_BACKEND_H
#define DM_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/status.h"
#include "core/view.h"

typedef struct dm_backend dm_backend;
typedef struct dm_jit_ops dm_jit_ops;

/* Stands for posted work; 0 is work that is done already. */
typedef uint64_t dm_event;

typedef struct dm_backend_config {
  int local_rank, local_ranks; /* on this node */
  int threads;                 /* of the CPU product; 0: the cores of the node over the ranks */
  bool tf32;
  int64_t tile;       /* cut products at multiples of it (see dm_plan.border); 0: do not */
  const char *kernel; /* a name of dm_backend_kernels, or "auto" */
} dm_backend_config;

typedef struct dm_device {
  char name[64];                     /* "NVIDIA H200", or the CPU's model */
  char id[48];                       /* UUID of a GPU; empty for a CPU */
  int index;                         /* of the GPU among those this rank sees */
  int visible;                       /* how many those are */
  int sharing;                       /* ranks of the node on this device, at least 1 */
  int threads;                       /* of the CPU product */
  int64_t memory_total, memory_free; /* bytes; of the device */
  char library[96];                  /* "OpenBLAS 0.3.21", "cuBLAS 13.1" */
  char advice[200];                  /* what would make it faster; empty where nothing is known */
} dm_device;

typedef struct dm_backend_ops {
  const char *name;
  const char *about;     /* one line */
  const char *not_built; /* NULL, or why this backend is only a name in this program */
  bool device_memory;    /* DM_DEVICE differs from DM_HOST */
  dm_status (*open)(dm_backend **backend, const dm_backend_config *config);
  void (*close)(dm_backend *backend);
  dm_status (*device)(dm_backend *backend, dm_device *device);
  dm_status (*alloc)(dm_backend *backend, dm_space space, int64_t bytes, void **memory);
  void (*release)(dm_backend *backend, dm_space space, void *memory);
  dm_status (*copy)(dm_backend *backend, dm_view dst, dm_view src, dm_event *done);
  dm_status (*gemm)(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                    dm_event *done);
  dm_status (*test)(dm_backend *backend, dm_event event, bool *done);
  dm_status (*wait)(dm_backend *backend, dm_event event);
  dm_status (*probe)(dm_backend *backend, dm_view matrix, const void *x, void *y, double *squares);
  dm_status (*scan)(dm_backend *backend, dm_view matrix, double *col_squares);
  dm_status (*fill)(dm_backend *backend, dm_view view, const dm_generator *generator, int64_t row,
                    int64_t col);
  dm_status (*add)(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha, double beta);
  dm_status (*dot)(dm_backend *backend, dm_view x, dm_view y, double *sum);
  const char *const *(*kernels)(void); /* names for --kernel, NULL at the end */
  /* (optional) One plain call of the library on whole matrices, C = A B: the yardstick of bench.
   * C of the type of sums, or of A and B. */
  dm_status (*direct)(dm_backend *backend, dm_view c, dm_view a, dm_view b, double *seconds);
  /* Whether KERNEL multiplies WORK; false with the reason in *why (static text). */
  bool (*takes)(const char *kernel, dm_dtype work, bool tf32, const char **why);
  /* (optional) Whole panels of A and B that KERNEL copies in device memory of its own. */
  void (*copies)(const char *kernel, dm_dtype work, bool tf32, int *of_a, int *of_b);
  const dm_jit_ops *jit; /* (optional) of its kernel "jit" (jit.h) */
} dm_backend_ops;

struct dm_backend {
  const dm_backend_ops *ops;
};

/* ---- finding one (backend_list.c) ---- */

/* The table of NAME ("cpu", "cuda"); DM_E_USAGE with the closest match for an unknown name,
 * DM_E_DEVICE with the reason for one that was not built. */
dm_status dm_backend_find(const char *name, const dm_backend_ops **ops);

/* cuda where it was built and sees a GPU, else cpu. */
const dm_backend_ops *dm_backend_auto(void);

/* All names, built or not; NULL at the end. */
const dm_backend_ops *const *dm_backend_all(void);

/* GPUs that this process sees through OPS; 0 for a backend without devices. */
int dm_backend_device_count(const dm_backend_ops *ops);

/* ---- using it (backend.c): checked, thin ---- */

dm_status dm_backend_open(const dm_backend_ops *ops, const dm_backend_config *config,
                          dm_backend **backend);
void dm_backend_close(dm_backend *backend); /* NULL is allowed */
dm_status dm_backend_device(dm_backend *backend, dm_device *device);

/* Host memory is pinned where the backend has a device.  Freed by dm_backend_release, or by close.
 */
dm_status dm_backend_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory);
void dm_backend_release(dm_backend *backend, dm_space space, void *memory);

/* DST = SRC, same shape, rows packed or strided (col_stride 1).  Of one type, or, within one space,
 * both real or both complex floating-point numbers: then as dm_copy rounds them. */
dm_status dm_backend_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done);

/* C (+)= A B; A and B of the work type, C of its accumulator, all with col_stride 1, in DM_DEVICE
 * space where the backend has device memory.  ACCUMULATE false overwrites C without reading it. */
dm_status dm_backend_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                          dm_event *done);

dm_status dm_backend_test(dm_backend *backend, dm_event event, bool *done);
dm_status dm_backend_wait(dm_backend *backend, dm_event event);

/* For verification, synchronous, in either space.  Vectors are host memory of the wide type: f64;
 * two f64 for a complex matrix; int64_t (sums wrap) for an integer matrix. y[i] += sum_j M(i,j)
 * x[j];  squares[i] += sum_j |M(i,j) x[j]|^2 unless squares is NULL. A column whose x is 0 is not
 * read: its elements may be NaN. */
dm_status dm_backend_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                           double *squares);

/* col_squares[j] += sum_i |M(i,j)|^2. */
dm_status dm_backend_scan(dm_backend *backend, dm_view matrix, double *col_squares);

/* VIEW(i,j) = element (row + i, col + j), synchronous. */
dm_status dm_backend_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                          int64_t row, int64_t col);

/* Z = alpha X + beta Y, synchronous, in either space: computed in f64 and rounded once; i32 takes
 * whole factors, and wraps.  All of one shape, space and type of sums (that of an accumulator),
 * with col_stride 1; Z may be X or Y.  What has the factor 0 is not read. */
dm_status dm_backend_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                         double beta);

/* *sum = sum over i, j of X(i,j) Y(i,j) (of complex numbers, the real part of X conj(Y)) in f64 and
 * in a fixed order, synchronous, in either space; in device memory of a type of sums. */
dm_status dm_backend_dot(dm_backend *backend, dm_view x, dm_view y, double *sum);

#endif
