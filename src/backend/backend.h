/* backend: computes panel products. Each backend (cpu, cuda) fills one table of functions
 * (backend_table.h).
 *
 * Work is posted and finishes later. Products run in the order of posting, and so do copies, but
 * copies and products do not wait for each other: a caller waits for its dependencies before it
 * posts work. dm_backend_test also makes progress: on the CPU it computes the next piece. */
#ifndef DM_BACKEND_BACKEND_H
#define DM_BACKEND_BACKEND_H

#include "backend/backend_table.h"
#include "backend/gpu_list.h"
#include "kernels/registry.h"

/* ---- selecting a backend (backend_find.c) ---- */

/* The table of NAME ("cpu", "cuda"). DM_E_USAGE: unknown name, with the closest match; DM_E_DEVICE:
 * not built, with the reason. */
dm_status dm_backend_find(const char *name, const dm_backend_ops **ops);

/* cuda if it was built and sees a GPU, else cpu. */
const dm_backend_ops *dm_backend_auto(void);

/* All names, built or not; NULL at the end. */
const dm_backend_ops *const *dm_backend_all(void);

/* The backend for GPUs, built or not, and all kernels of this program for GPUs: DM_KERNEL_COUNT, by
 * dm_kernel_id. */
const dm_backend_ops *dm_backend_for_gpus(void);
const dm_kernel *dm_backend_registry(void);

/* GPUs that this process sees through OPS; 0 for a backend without devices. */
int dm_backend_device_count(const dm_backend_ops *ops);

/* The GPUs of this computer that CUDA_VISIBLE_DEVICES does not hide, in its order; starts none.
 * Empty: there are none, this program was built without CUDA, or the system does not tell. */
void dm_backend_gpus(dm_gpu_list *list);

/* Call first, if this process is the only one of the job and needs at most one GPU. */
void dm_backend_use_one_gpu(void);

/* Call first, before threads start, in a program: sets variables that libraries read, unless they
 * are set: OPENBLAS_CORETYPE to the kernels for an OpenBLAS that does not know this CPU, and
 * CUDA_DEVICE_MAX_CONNECTIONS to few queues, which a GPU has sooner. */
void dm_backend_prepare(void);

/* Of these the kernels alone, while no thread multiplies; the variable does not stay. */
void dm_backend_choose_kernels(void);

/* Whether this program was built for GPUs and the machine has a driver for them; starts nothing. */
bool dm_backend_has_driver(void);

/* The GPU that the calling thread has selected, and its selection: backends change it. -1: the
 * machine has none, or the program was built without GPUs. */
int dm_backend_current_gpu(void);
void dm_backend_select_gpu(int index);

/* Starts the GPU of LOCAL_RANK in a thread while the caller works. ONLY: the job has no other rank.
 * NULL: not needed. (backend_find.c) */
typedef struct dm_warm_up dm_warm_up;
dm_warm_up *dm_backend_warm_up(int local_rank, bool only);

/* Waits for the start; false: it failed. NULL is allowed: then nothing was started. */
bool dm_warm_up_started(dm_warm_up *warm_up);

/* Shuts the GPU down in a thread while the caller ends MPI: call when nothing uses the GPU any
 * more, and nothing will. NULL is allowed. */
void dm_warm_up_undo(dm_warm_up *warm_up);
void dm_warm_up_end(dm_warm_up *warm_up); /* waits for both; NULL is allowed */

/* Whether the driver takes long to end a process that has used this one's GPUs, and lets others use
 * them meanwhile. */
bool dm_backend_ends_slowly(void);

/* ---- asking a table, which need not be open (backend.c) ---- */

const char *const *dm_backend_kernel_names(const dm_backend_ops *ops); /* NULL at the end */
bool dm_backend_kernel_multiplies(const dm_backend_ops *ops, const char *kernel, dm_dtype work,
                                  const dm_compute *compute, const char **why);

/* Sets *OF_A and *OF_B if KERNEL copies panels. */
void dm_backend_kernel_copies(const dm_backend_ops *ops, const char *kernel, dm_dtype work,
                              const dm_compute *compute, int *of_a, int *of_b);

/* ---- using a backend (backend.c): checks, then calls the table, or the base's ---- */

/* Opens the bases, too. */
dm_status dm_backend_open(const dm_backend_ops *ops, const dm_backend_config *config,
                          dm_backend **backend);
/* From now on release and close leave all but large memory on the device to the end of the process.
 */
void dm_backend_leave(dm_backend *backend);
void dm_backend_close(dm_backend *backend); /* NULL is allowed */
dm_status dm_backend_device(dm_backend *backend, dm_device *device);

/* If the backend has a device, host memory is pinned. Freed by dm_backend_release, or on close. */
dm_status dm_backend_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory);
void dm_backend_release(dm_backend *backend, dm_space space, void *memory);

/* The kind of the caller's MEMORY; its contents are not read. */
dm_status dm_backend_memory_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind);

/* Waits for the work in STREAM, a cudaStream_t of the caller, on the backend's GPU. */
dm_status dm_backend_await(dm_backend *backend, void *stream);

/* DST = SRC, same shape, rows packed or strided (col_stride 1). The types are equal or, within one
 * space, both real or both complex floating-point: then rounded as by dm_copy. */
dm_status dm_backend_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done);

/* The same for the elements in all rows and columns of OF, which differ from each other, of
 * matrices of one type. OF is only read while posting. */
dm_status dm_backend_copy_runs(dm_backend *backend, dm_view dst, dm_view src,
                               const dm_copy_runs *of, dm_event *done);

/* TO(j, i) = FROM(i, j), or with CONJUGATE its conjugate; posted as a copy within one space. */
dm_status dm_backend_transpose(dm_backend *backend, dm_view to, dm_view from, bool conjugate,
                               dm_event *done);

/* The same in device memory, after the products that were posted and before later ones. */
dm_status dm_backend_transpose_in_order(dm_backend *backend, dm_view to, dm_view from,
                                        bool conjugate, dm_event *done);

/* C (+)= A B. A and B have the work type and contiguous rows, or columns unless they are split; C
 * has the accumulator's and contiguous rows; all are in DM_DEVICE space if the backend has device
 * memory. Without ACCUMULATE, C is overwritten and not read. */
dm_status dm_backend_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                          dm_event *done);

/* The same of A and its transpose; elements above the diagonal of C may be left out. */
dm_status dm_backend_syrk(dm_backend *backend, dm_view c, dm_view a, bool accumulate,
                          dm_event *done);

/* Whether this does half of the work for a C of SIZE rows, so that it need not be cut. */
bool dm_backend_halves(dm_backend *backend, dm_dtype dtype, int64_t size);

/* The same for a row with a FINISH: C, the first accumulator, and those that follow at distances of
 * PLANE elements, (+)= A B; finish then computes SUMS, in the place of the accumulators or
 * elsewhere. For a row with moduli, EXPONENTS are those of the rows and columns of C, and C is
 * real, with two columns per complex one. */
dm_status dm_backend_gemm_parts(dm_backend *backend, dm_view c, int64_t plane, dm_view a, dm_view b,
                                bool accumulate, dm_exponents exponents, dm_event *done);
dm_status dm_backend_finish(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                            dm_exponents exponents, dm_event *done);

/* Elements of SQUARE above its diagonal become the mirror images of those below it in rows from
 * FIRST on, with CONJUGATE their conjugates, and the diagonal there real. Posted after products;
 * the type is that of sums or accumulators, the space that of products. */
dm_status dm_backend_mirror(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                            dm_event *done);

/* C, the first accumulators, += MORE, those of another layer, in full rows; synchronous, in either
 * space. dm_backend_finish also accepts sums and exponents in host memory, and is synchronous
 * there. */
dm_status dm_backend_join(dm_backend *backend, dm_view c, dm_view more, int64_t plane);

/* ---- whole products (backend_whole.c) ---- */

/* Sets how whole products are multiplied from now on; no work is pending. After an error the mode
 * is undefined. */
dm_status dm_backend_set_mode(dm_backend *backend, const dm_backend_mode *mode);

/* The type of the sums of products of WORK in this mode. */
dm_dtype dm_backend_type_of_sums(const dm_backend *backend, dm_dtype work);

/* Whether k is cut at the same places whoever multiplies: then the sums' parts are not others. */
bool dm_backend_cuts_k(const dm_backend *backend);

/* Whether in this mode each product first prepares all of A and B, so that few large ones are
 * better than many. */
bool dm_backend_prepares(const dm_backend *backend);

/* Whether the backend multiplies the caller's matrices where they are, in its mode: by their types,
 * strides and memory. */
bool dm_backend_can_multiply(const dm_backend *backend, const dm_whole_product *product);

/* Posts such a product to STREAM, a cudaStream_t of the caller, and does not wait for it; NULL: to
 * the backend's own queue, and *DONE is its event. STREAM: only what takes one. */
bool dm_backend_takes_stream(const dm_backend *backend, const dm_whole_product *product);
dm_status dm_backend_multiply(dm_backend *backend, const dm_whole_product *product, void *stream,
                              dm_event *done);

/* Multiplies several entries in host memory, with STEPS around each, on the backend's threads;
 * synchronous. After an error the other entries may be incomplete. */
dm_status dm_backend_multiply_entries(dm_backend *backend, const dm_whole_product *product,
                                      const dm_entry_steps *steps);

/* The baseline of the benchmarks, if there is one. */
bool dm_backend_has_library(const dm_backend *backend);
dm_status dm_backend_library_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                                  double *seconds);

/* Rows and columns of parts of k multiplied natively so far, because core/split.h has no exponent
 * for them; 0 if the row does not split. Synchronous. */
dm_status dm_backend_native_lines(dm_backend *backend, int64_t *lines);

dm_status dm_backend_test(dm_backend *backend, dm_event event, bool *done);
dm_status dm_backend_wait(dm_backend *backend, dm_event event);

static inline dm_status dm_backend_copy_now(dm_backend *backend, dm_view dst, dm_view src) {
  dm_event done;
  DM_TRY(dm_backend_copy(backend, dst, src, &done));
  return dm_backend_wait(backend, done);
}

/* VIEW(i,j) = element (row + i, col + j), synchronous. */
dm_status dm_backend_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                          int64_t row, int64_t col);

/* Z = alpha X + beta Y, synchronous, in either space: computed in f64 and rounded once. i32 needs
 * integer factors, and wraps. All have one shape, space and accumulator type, and col_stride 1; Z
 * may be X or Y. An operand with factor 0 is not read. */
dm_status dm_backend_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                         double beta);

/* C = alpha SUMS + beta OLD in device memory, computed and rounded as by dm_apply_alpha_beta
 * (engine/alpha_beta.h); posted like a product. OLD may be C, and has its type; NULL: beta is 0. C
 * and OLD may have any strides, SUMS has contiguous rows. HAS_EPILOGUE: of these types, with any
 * factors. FINISHES: or with these; sums of integers are only copied. */
bool dm_backend_has_epilogue(dm_dtype c, dm_dtype sums);
bool dm_backend_finishes(dm_dtype c, dm_dtype sums, const double alpha[2], bool reads_c);
dm_status dm_backend_epilogue(dm_backend *backend, dm_view c, dm_view sums, const dm_view *old,
                              const double alpha[2], const double beta[2], dm_event *done);

/* *sum = sum over i, j of X(i,j) Y(i,j) (for complex numbers, the real part of X conj(Y)) in f64
 * and a fixed order; synchronous, in either space. In device memory X and Y have an accumulator's
 * type. */
dm_status dm_backend_dot(dm_backend *backend, dm_view x, dm_view y, double *sum);

/* ---- for matrices in device memory; synchronous ---- */

/* The moments (core/centering.h) of lines of MATRIX as numbers[what * width + j], with a WIDTH of
 * as many numbers as elements of all lines have. The bits are the same in every run; the squares of
 * an element's two parts are one sum. *FIRST: the first missing element, row * columns + column;
 * INT64_MAX: none. */
dm_status dm_backend_moments(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                             double *numbers, int64_t *first);

/* TO = FROM, centered: computed in f64 and rounded once. Both are real or both complex, and in both
 * rows are contiguous, or in both columns. */
dm_status dm_backend_center(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                            const dm_centering *centering);

/* C, real floating-point, = the covariances or correlations of OF as FORM says (core/pairs.h),
 * rounded once. C may be the counts. *doubtful: the sums of a pair are (dm_pair_is_doubtful). */
dm_status dm_backend_pairs(dm_backend *backend, dm_view c, const dm_pairs *of,
                           const dm_pair_form *form, bool *doubtful);

/* As dm_correlate (core/pairs.h). */
dm_status dm_backend_correlate(dm_backend *backend, dm_view c, int64_t row, int64_t col,
                               double factor, bool diagonal);

/* Elements of C, real floating-point with contiguous rows, that pass SIEVE: *count, in any order in
 * LIST, host memory with ROOM for at most 2^31; if they are more than ROOM, the list is not valid.
 * *nans: of NaN. CAN_SIFT: a backend has this and the next function. */
bool dm_backend_can_sift(const dm_backend *backend);
dm_status dm_backend_sift(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                          int64_t room, int64_t *count, int64_t *nans);

/* LIMITS, of C's rows, or its columns, become at least a number that fewer than BEST elements of
 * the line are at most: those, and perhaps a few more, pass. NaN, no limit, stays where the line
 * has fewer than BEST elements, or the backend does not know. */
dm_status dm_backend_raise(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                           bool by_row, int64_t best, float *limits);

#endif
