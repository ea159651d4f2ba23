/* cuda_state: the state of the cuda backend, and what its parts offer each other. */
#ifndef DM_BACKEND_CUDA_STATE_H
#define DM_BACKEND_CUDA_STATE_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend_table.h"
#include "core/residues.h"
#include "kernels/registry.h"

typedef struct dm_cuda dm_cuda;

/* ---- errors (cuda_state.c) ---- */

/* Returns an error from the calling function if CALL, of the CUDA runtime, fails. */
#define DM_CUDA(gpu, call)                                                                         \
  do {                                                                                             \
    cudaError_t dm_cuda_result_ = (call);                                                          \
    if (dm_cuda_result_ != cudaSuccess)                                                            \
      return dm_cuda_error(gpu, dm_cuda_result_, #call, __FILE__, __LINE__, __func__);             \
  } while (0)

/* The same for cuBLAS. */
#define DM_CUBLAS(gpu, call)                                                                       \
  do {                                                                                             \
    cublasStatus_t dm_cublas_result_ = (call);                                                     \
    if (dm_cublas_result_ != CUBLAS_STATUS_SUCCESS)                                                \
      return dm_cublas_error(gpu, dm_cublas_result_, #call, __FILE__, __LINE__, __func__);         \
  } while (0)

dm_status dm_cuda_error(const dm_cuda *gpu, cudaError_t error, const char *call, const char *file,
                        int line, const char *function);
dm_status dm_cublas_error(const dm_cuda *gpu, cublasStatus_t error, const char *call,
                          const char *file, int line, const char *function);

/* Events per lane: with so many unfinished, posting waits for the oldest. */
enum { DM_CUDA_RING = 1024 };

/* Queues that run in order: products; copies to the GPU, inside it and inside the host; copies from
 * it. */
typedef enum dm_cuda_lane_name { DM_COMPUTE, DM_INWARD, DM_OUTWARD, DM_LANES } dm_cuda_lane_name;

/* Work of a lane finishes in the order of posting, so the count COMPLETED describes its state.
 * ring[i % DM_CUDA_RING] is recorded after work i; work counts from 1. */
typedef struct dm_cuda_lane {
  cudaStream_t stream;
  cudaEvent_t *ring; /* NULL: not yet created */
  uint64_t posted, completed;
} dm_cuda_lane;

/* Device memory of the backend that grows on demand. */
typedef struct dm_cuda_area {
  void *memory;
  int64_t bytes;
} dm_cuda_area;

typedef struct dm_cuda_block dm_cuda_block;
typedef struct dm_cuda_lt dm_cuda_lt; /* cuBLASLt and its cached choices */
typedef struct dm_cuda_pending dm_cuda_pending;
typedef struct dm_cuda_loading dm_cuda_loading;

struct dm_cuda {
  dm_backend base;
  dm_compute mode;                 /* of products */
  dm_operand operand;              /* DM_TF32: products of f32 use TF32 */
  const dm_kernel *kernel;         /* from the registry; NULL: the fastest for each product */
  bool pedantic_f64, pedantic_f32; /* the environment asks cuBLAS to emulate these */
  int64_t tile;
  int index, visible, sharing;
  char name[64], id[48];
  int processors;      /* multiprocessors */
  int capability;      /* compute capability, times 10 */
  int64_t pitch_limit; /* largest row pitch of 2-D copies, in bytes */
  dm_cuda_lane lanes[DM_LANES];
  cudaStream_t side; /* for probe, scan, fill, ...: ahead of waiting products */
  cublasHandle_t cublas;
  cublasHandle_t
      whole; /* for products of the caller's matrices, in any stream; NULL until needed */
  cublasHandle_t whole_beside; /* for those that run at the same time in this stream: NULL, too */
  cudaStream_t beside;
  dm_cuda_lt *lt;  /* NULL until needed */
  void *workspace; /* for cuBLAS and cuBLASLt */
  int64_t workspace_bytes;
  void *nvrtc;                      /* the library, of the kernel jit; NULL until needed */
  struct dm_jit *compiled;          /* what it has compiled */
  dm_cuda_area pieces;              /* for reproducible products */
  dm_cuda_area scratch;             /* for the kernel */
  dm_cuda_area turned;              /* an operand by rows */
  dm_cuda_area lanes_of_k;          /* sums of parts of k, of a symmetric C */
  dm_cuda_area padded;              /* rows of their operand */
  cudaEvent_t summed_lanes;         /* they are free again; NULL until needed */
  dm_cuda_area runs;                /* lists of copies, in the inward lane */
  dm_cuda_area vectors;             /* for probe and scan */
  dm_cuda_area sifted;              /* elements that passed a sieve */
  dm_cuda_area checking;            /* vectors of the verification of whole products */
  struct dm_verified_found *judged; /* pinned, what it found; NULL until needed */
  unsigned *turn;                   /* in GPU memory, 0 between launches; NULL until needed */
  void *summed;                     /* pinned, for vectors that ranks sum; NULL until needed */
  int64_t summed_bytes;
  void *staged;             /* pinned, for numbers of lines; NULL until needed */
  cudaEvent_t ordered;      /* orders streams; NULL until needed */
  cudaEvent_t brought;      /* a vector has come to SUMMED; NULL until needed */
  dm_cuda_loading *loading; /* loading of kernels for later; NULL: none */
  dm_cuda_pending *pending; /* pending sums; NULL until needed */
  dm_cuda_area residues;    /* of A and B, if the compute mode's row has moduli */
  dm_moduli moduli;         /* of that row; else empty */
  bool splits;              /* the row splits operands; parts are in scratch */
  dm_cuda_area natively;    /* its counters, a dm_split_count */
  dm_cuda_block *blocks;    /* memory not yet released */
  dm_cuda_block *cached;    /* released, for later allocations: */
  size_t keeps;             /* bytes of them, at most */
  bool leaves;              /* which is left to the end of the process */
};

static inline dm_cuda *dm_cuda_of(dm_backend *backend) {
  return (dm_cuda *)backend;
}

/* ---- events ---- */

/* *done covers all work in the lane's stream so far. */
dm_status dm_cuda_post(dm_cuda *gpu, dm_cuda_lane_name lane, dm_event *done);
dm_status dm_cuda_test(dm_backend *backend, dm_event event, bool *done);
dm_status dm_cuda_wait(dm_backend *backend, dm_event event);

/* Work of TO waits for what FROM has so far. */
dm_status dm_cuda_order(dm_cuda *gpu, cudaStream_t from, cudaStream_t to);

/* ---- memory (cuda_memory.c) ---- */

/* Makes the GPU current in the calling thread; every function of the table calls it first. */
dm_status dm_cuda_enter(const dm_cuda *gpu);
dm_status dm_cuda_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory);
void dm_cuda_release(dm_backend *backend, dm_space space, void *memory);
void dm_cuda_release_all(dm_cuda *gpu);
int64_t dm_cuda_cached_bytes(const dm_cuda *gpu);                        /* of GPU memory */
dm_status dm_cuda_grow(dm_cuda *gpu, dm_cuda_area *area, int64_t bytes); /* contents are lost */

/* Memory and streams of the caller; see backend.h. */
dm_status dm_cuda_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind);
dm_status dm_cuda_await(dm_backend *backend, void *stream);

/* ---- copies (cuda_memory.c) ---- */

dm_status dm_cuda_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done);
dm_status dm_cuda_copy_runs(dm_backend *backend, dm_view dst, dm_view src, const dm_copy_runs *of,
                            dm_event *done);
dm_status dm_cuda_copy_on(dm_cuda *gpu, cudaStream_t stream, dm_view dst, dm_view src);
dm_status dm_cuda_zero_on(dm_cuda *gpu, cudaStream_t stream, dm_view view);

/* ---- products (cuda_gemm.c) ---- */

dm_status dm_cuda_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                       dm_event *done);

/* Whole products (cuda_cublas.c). */
bool dm_cuda_suits(const dm_backend *backend, const dm_whole_product *product);
bool dm_cuda_has_in_mode(const dm_backend *backend, const dm_whole_product *product);
bool dm_cuda_prefers_panels(const dm_backend *backend, const dm_whole_product *product);
dm_status dm_cuda_multiply_whole(dm_backend *backend, const dm_whole_product *product, void *stream,
                                 dm_event *done);

/* (cuda_verified.c) */
dm_status dm_cuda_multiply_verified(dm_backend *backend, const dm_verified_product *product,
                                    dm_verified_found *found);

/* (cuda_cublas.c) */
dm_status dm_cuda_time_direct(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                              double *seconds);

/* ---- sums and dot products (cuda_verify.c) ---- */

dm_status dm_cuda_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                      double beta);
dm_status dm_cuda_dot(dm_backend *backend, dm_view x, dm_view y, double *sum);

/* ---- products of residues (cuda_residues.c), and line statistics for their exponents
 * (cuda_lines.c); see backend.h and verify_sums.h ---- */

bool dm_cuda_is_hopper(const dm_cuda *gpu);

/* Prepares GPU for the moduli of its mode, if that has any; DM_E_USAGE: it needs another GPU. */
dm_status dm_cuda_open_residues(dm_cuda *gpu);
dm_status dm_cuda_multiply_residues(dm_backend *backend, dm_view c, int64_t plane, dm_view a,
                                    dm_view b, bool accumulate, dm_exponents exponents,
                                    dm_event *done);
dm_status dm_cuda_finish_residues(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents, dm_event *done);
dm_status dm_cuda_join_residues(dm_backend *backend, dm_view c, dm_view more, int64_t plane);
dm_status dm_cuda_extremes(dm_backend *backend, dm_view matrix, bool by_row, double *extremes);
dm_status dm_cuda_line_sums(dm_backend *backend, dm_view matrix, bool by_row,
                            const double *extremes, int64_t *sums);

/* ---- products whose operands are sums of two f16 (core/split.h; cuda_split.c) ---- */

/* Prepares GPU for its mode if that splits operands. The lanes must be open. */
dm_status dm_cuda_open_split(dm_cuda *gpu);

/* C (+)= A B of f32 or c64, k >= 1. */
dm_status dm_cuda_multiply_split(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate);

dm_status dm_cuda_natively(dm_backend *backend, int64_t *lines);

/* ---- CUDA's larger libraries, loaded on demand ----
 *
 * Loading cuBLAS takes 40 ms: while a GPU starts, or when the first product needs it. */

/* Loads "libcublas.so.13" for NAME "cublas" and MAJOR 13 from the loader's paths, else from the
 * toolkit that this program was built with, else from NVIDIA's Python packages beside damier's;
 * NULL: not found. It stays loaded. */
void *dm_cuda_library_open(const char *name, int major);

/* The version of cuBLAS: of the library, if it is loaded already, else that at build time. */
void dm_cuda_cublas_version(int version[3]);

/* ---- sums for the verification, and generated matrices, on the GPU ---- */

enum { DM_CUDA_SUMS_LEAST = 4 << 20 }; /* smallest area in bytes: growing waits for the GPU */

dm_status dm_cuda_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares);
dm_status dm_cuda_scan(dm_backend *backend, dm_view matrix, double *col_squares);
dm_status dm_cuda_checksum(dm_backend *backend, dm_view matrix, dm_element_place place,
                           bool subtract, uint64_t *sum);
dm_status dm_cuda_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                       int64_t row, int64_t col);

dm_status dm_cuda_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c);
void dm_cuda_expect_end(dm_cuda *gpu); /* waits for it */

/* Moments of lines, centered copies and covariances of pairs (cuda_moments.c). */
dm_status dm_cuda_moments(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                          double *numbers, int64_t *first);
dm_status dm_cuda_center(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                         const dm_centering *centering);
dm_status dm_cuda_pairs(dm_backend *backend, dm_view c, const dm_pairs *of,
                        const dm_pair_form *form, bool *doubtful);
dm_status dm_cuda_correlate(dm_backend *backend, dm_view c, int64_t row, int64_t col, double factor,
                            bool diagonal);

/* What a reduction may keep of a tile (cuda_sieve.c). */
dm_status dm_cuda_sift(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                       int64_t room, int64_t *count, int64_t *nans);
dm_status dm_cuda_raise(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                        bool by_row, int64_t best, float *limits);

/* For 2 vectors TO[i] of COUNT[i] 8-byte numbers, *DEVICE[i] is the device memory whose sums
 * settling adds to TO[i]; NULL for NULL. IS_WHOLE: the first has integers. */
dm_status dm_cuda_pending_open(dm_cuda *gpu); /* allocates the usual size */
dm_status dm_cuda_pending_add(dm_cuda *gpu, void *const to[2], const int64_t count[2],
                              bool is_whole, void *device[2]);
dm_status dm_cuda_settle(dm_backend *backend);

#endif
