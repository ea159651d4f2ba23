/* backend: where a panel product is computed.  One table of functions (backend_table.h); cpu
 * and cuda fill it.
 *
 * Work is posted and finishes later.  Products run in the order in which they were posted, and so
 * do copies, but copies do not wait for products nor products for copies: whoever posts work has
 * waited for what it needs.  dm_backend_test also moves the work on: on the CPU it computes the
 * next piece. */
#ifndef DM_BACKEND_BACKEND_H
#define DM_BACKEND_BACKEND_H

#include "backend/backend_table.h"

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

/* Seconds that a process takes to start a GPU and to leave it. */
double dm_backend_gpu_start(void);

/* Before any other call: this process is the only one of the job, and needs one GPU at most. */
void dm_backend_see_one(void);

/* Before any other call, and before threads: tells an OpenBLAS that does not know this CPU which
 * kernels to use, unless OPENBLAS_CORETYPE does. */
void dm_backend_name_kernels(void);

/* Whether this program knows of GPUs and the machine has a driver for them; starts nothing. */
bool dm_backend_has_driver(void);

/* Starts the GPU of LOCAL_RANK in a thread, while the caller does something else; ONLY: no other
 * rank is of the job.  NULL: there is no need.  (warm_up.c) */
typedef struct dm_warm_up dm_warm_up;
dm_warm_up *dm_backend_warm_up(int local_rank, bool only);
void dm_warm_up_end(dm_warm_up *warm_up); /* waits for it; NULL is allowed */

/* ---- using it (backend.c): checked, thin ---- */

dm_status dm_backend_open(const dm_backend_ops *ops, const dm_backend_config *config,
                          dm_backend **backend);
void dm_backend_close(dm_backend *backend); /* NULL is allowed */
dm_status dm_backend_device(dm_backend *backend, dm_device *device);

/* Host memory is pinned where the backend has a device.  Freed by dm_backend_release, or by close.
 */
dm_status dm_backend_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory);
void dm_backend_release(dm_backend *backend, dm_space space, void *memory);

/* What the caller's MEMORY is; nothing is read. */
dm_status dm_backend_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind);

/* Waits for what is in STREAM, a cudaStream_t of the caller, on the backend's GPU. */
dm_status dm_backend_await(dm_backend *backend, void *stream);

/* DST = SRC, same shape, rows packed or strided (col_stride 1).  Of one type, or, within one space,
 * both real or both complex floating-point numbers: then as dm_copy rounds them. */
dm_status dm_backend_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done);

/* C (+)= A B; A and B of the work type, C of its accumulator, all with col_stride 1, in DM_DEVICE
 * space where the backend has device memory.  ACCUMULATE false overwrites C without reading it. */
dm_status dm_backend_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                          dm_event *done);

/* The same by a row with a FINISH: C, the first accumulator, and those that follow it PLANE
 * elements further each, (+)= A B; then SUMS, in the memory of the accumulators, is made of them.
 * EXPONENTS are of the rows and columns of C, where the row has moduli; its C is real, with two
 * columns for one of complex numbers. */
dm_status dm_backend_product(dm_backend *backend, dm_view c, int64_t plane, dm_view a, dm_view b,
                             bool accumulate, dm_exponents exponents, dm_event *done);
dm_status dm_backend_finish(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                            dm_exponents exponents, dm_event *done);

/* C, the first accumulators, += MORE, those of another layer, in rows of all columns; synchronous,
 * in either space.  FINISH takes sums and exponents in host memory, too: synchronous there. */
dm_status dm_backend_join(dm_backend *backend, dm_view c, dm_view more, int64_t plane);

/* Rows and columns of parts of k that were multiplied natively so far, because core/split.h has no
 * exponent for them; 0 where the row does not split.  Synchronous. */
dm_status dm_backend_natively(dm_backend *backend, int64_t *lines);

dm_status dm_backend_test(dm_backend *backend, dm_event event, bool *done);
dm_status dm_backend_wait(dm_backend *backend, dm_event event);

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
