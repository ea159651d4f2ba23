/** @file
 * damier.h: multiplies matrices over the ranks of an MPI job, from HDF5 files, or from the memory
 * of the ranks or of their GPUs.
 *
 *     C <- alpha op(A) op(B) + beta C
 *
 *     damier_error error;
 *     damier_context *context;
 *     if (damier_open(MPI_COMM_WORLD, &context, &error)) ...   every rank of the communicator
 *     damier_set(context, "op-a", "t", &error);                an option of `damier multiply`
 *     damier_multiply(context, &a, &b, &c, &error);
 *     damier_close(context);
 *
 * Collective calls are made by every rank of the context's communicator, in the same order:
 * damier_open, damier_close, damier_multiply, damier_plan, damier_verify and damier_info.  The
 * other calls only concern the calling rank, but all ranks must set the same options.
 *
 * The library neither starts nor ends MPI, prints nothing, installs no signal handlers, does not
 * bind threads to cores and keeps no state outside of contexts, except that it sets the number of
 * threads of the BLAS library.  Several contexts may be open at a time, on the same communicator or
 * on others; the thread that started MPI makes all calls.  While a call runs, its context must not
 * be used by other threads or by the progress function: such calls return DAMIER_E_USAGE, and
 * damier_close and damier_on_progress do nothing.  A process that was forked opens contexts of its
 * own.  Numbers are read and written as in C whatever the locale of the program.
 *
 * Calls that cannot be right return DAMIER_E_USAGE before anything is done, on all ranks: null
 * pointers, strides that put two elements in one place, a C that overlaps another operand, ranks
 * that call different functions or have set different options.
 *
 * Functions return DAMIER_OK or a code, and then fill *error, which may be NULL. */
#ifndef DAMIER_H
#define DAMIER_H

#include <stdint.h>

#ifndef DAMIER_MPI
#define DAMIER_MPI 1 /**< 0: the library was built without MPI; damier_open is absent */
#endif
#if DAMIER_MPI
#ifdef __has_include
#if !__has_include(<mpi.h>)
#error "mpi.h is missing: compile with mpicc, or with -DDAMIER_MPI=0 for a process without MPI"
#endif
#endif
#include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DAMIER_API __attribute__((visibility("default"))) /**< marks exported functions */
#else
#define DAMIER_API /**< marks exported functions */
#endif

/** The version of this interface; damier_version returns that of the library. */
#define DAMIER_INTERFACE 0

/** Return values; they equal the exit codes of the program. */
typedef enum damier_code {
  DAMIER_OK = 0,           /**< done */
  DAMIER_E_VERIFY = 1,     /**< the result failed its verification */
  DAMIER_E_USAGE = 2,      /**< an invalid argument or option */
  DAMIER_E_INPUT = 3,      /**< a file or matrix was rejected */
  DAMIER_E_IO = 4,         /**< a file could not be read or written */
  DAMIER_E_FIT = 5,        /**< does not fit into memory or on the disk */
  DAMIER_E_DEVICE = 6,     /**< GPU, backend or transport */
  DAMIER_E_CORRUPT = 7,    /**< a result that could not be repaired */
  DAMIER_E_MPI = 9,        /**< MPI */
  DAMIER_E_UNCHECKED = 10, /**< C is complete, but part of it could not be verified (it overflows,
                              or the old C has NaN or Inf); option "allow-unchecked": DAMIER_OK */
  DAMIER_E_BUG = 70,       /**< an internal error of the library */
  DAMIER_E_STOPPED = 75,   /**< the progress function asked to stop */
} damier_code;

/** Why a call failed. */
typedef struct damier_error {
  int code;          /**< a damier_code */
  int agreed;        /**< 1: all ranks have this error.  0: other ranks may be waiting for this one:
                          call MPI_Abort */
  int rank;          /**< the rank that failed; -1: unknown */
  char message[600]; /**< one line without a full stop */
  char hint[600];    /**< advice, or "" */
} damier_error;

/** @name Matrices
 * @{ */

/** Types of elements.  The type of A and B determines the type of sums of products: f64 for f64,
 * f32 for f32, f16 and bf16, likewise for complex types, i32 for i8. */
typedef enum damier_type {
  DAMIER_F64,  /**< double */
  DAMIER_F32,  /**< float */
  DAMIER_F16,  /**< IEEE half precision */
  DAMIER_BF16, /**< the upper half of a float */
  DAMIER_C64,  /**< two f32: real, imaginary */
  DAMIER_C128, /**< two f64: real, imaginary */
  DAMIER_I8,   /**< int8_t; C is i32 */
  DAMIER_I32,  /**< int32_t: C; A and B where the type is stated, or C is exact */

  /* A and B of an exact C of integers, in the host memory of one process. */
  DAMIER_I16 = 16, /**< int16_t */
  DAMIER_I64,      /**< int64_t; also C: products and sums are exact, or refused */
  DAMIER_U8,       /**< uint8_t */
  DAMIER_U16,      /**< uint16_t */
  DAMIER_U32,      /**< uint32_t */
  DAMIER_U64,      /**< uint64_t */
  DAMIER_BOOL      /**< one byte; anything but 0 is 1 */
} damier_type;

/** Where the elements of a matrix are. */
typedef enum damier_division {
  DAMIER_IN_FILE,      /**< a dataset of an HDF5 file, or the destination of C */
  DAMIER_BY_ROWS,      /**< consecutive rows in rank order; ranks may have none */
  DAMIER_ON_ONE,       /**< the whole matrix on one rank */
  DAMIER_BLOCK_CYCLIC, /**< ScaLAPACK's distribution */
  DAMIER_REPLICATED,   /**< the whole matrix on every rank; only A and B */
  DAMIER_KEPT,         /**< C is not stored, see damier_kept */
} damier_division;

/** The kind of memory that `data` points to. */
typedef enum damier_memory {
  DAMIER_HOST_MEMORY, /**< also pinned; managed memory, while no GPU uses it */
  DAMIER_GPU_MEMORY,  /**< of the CUDA GPU that this rank multiplies on; also managed memory */
} damier_memory;

/** A matrix as described by one rank: returned by damier_file, damier_by_rows, damier_on_one,
 * damier_on_all or damier_scalapack, or filled in by hand, starting from zero.  All ranks must
 * describe the whole matrix alike; `data`, strides, `own_rows`, `memory` and `stream` are each
 * rank's own.  The caller owns memory and names; the library accesses them only during a call, and
 * does not change A and B. C must not overlap A, B or the old C; it may be the old C, described
 * alike.  If k is 0, A and B have no elements, and C becomes beta C, or 0. */
typedef struct damier_matrix {
  damier_division division; /**< determines which of the other fields apply */
  const char *file; /**< IN_FILE: "FILE.h5:/dataset", or "FILE.h5" if it contains one matrix */

  damier_type type;   /**< in memory: type of the elements */
  int64_t rows;       /**< in memory: rows of the whole matrix */
  int64_t cols;       /**< in memory: columns of the whole matrix */
  void *data;         /**< in memory: this rank's part; NULL if it has none */
  int64_t row_stride; /**< elements from row to row of this rank's part */
  int64_t col_stride; /**< elements from column to column of it; one of the two is usually 1 */

  int64_t own_rows; /**< BY_ROWS: rows of this rank */
  int rank;         /**< ON_ONE: the rank that has the matrix */

  int grid_rows;     /**< BLOCK_CYCLIC: rows of the process grid */
  int grid_cols;     /**< BLOCK_CYCLIC: columns of the process grid */
  int column_major;  /**< BLOCK_CYCLIC: 1: ranks are numbered down the columns of the grid; 0: along
                          its rows */
  int64_t row_block; /**< BLOCK_CYCLIC: rows of a block */
  int64_t col_block; /**< BLOCK_CYCLIC: columns of a block */
  int first_row;     /**< BLOCK_CYCLIC: process row of the first block */
  int first_col;     /**< BLOCK_CYCLIC: process column of the first block */

  damier_memory memory; /**< in memory: kind of this rank's memory */
  void *stream;         /**< in GPU memory: see damier_in_gpu */

  const struct damier_matrix *parts; /**< see damier_in_parts; NULL: not in parts */
  int part_count;                    /**< number of them */
} damier_matrix;

/** A matrix in a file, or the destination of C.
 * @param location "FILE.h5:/dataset", or "FILE.h5" if it contains one matrix; not copied
 * @return the matrix */
DAMIER_API damier_matrix damier_file(const char *location);

/** Consecutive rows on consecutive ranks, row-major.
 * @param type of the elements
 * @param rows of the whole matrix
 * @param cols of the whole matrix
 * @param own_rows of this rank, 0 or more; the sum over all ranks is `rows`
 * @param data this rank's rows; NULL if it has none
 * @param stride elements from row to row; 0: without gaps
 * @return the matrix */
DAMIER_API damier_matrix damier_by_rows(damier_type type, int64_t rows, int64_t cols,
                                        int64_t own_rows, void *data, int64_t stride);

/** A whole matrix on one rank, row-major.
 * @param type of the elements
 * @param rows of the matrix
 * @param cols of the matrix
 * @param rank the rank that has the matrix, in the context's communicator
 * @param data the matrix; ignored on other ranks
 * @param stride elements from row to row; 0: without gaps
 * @return the matrix */
DAMIER_API damier_matrix damier_on_one(damier_type type, int64_t rows, int64_t cols, int rank,
                                       void *data, int64_t stride);

/** A whole matrix, the same on every rank, row-major; A or B. That the copies are equal is not
 * checked.
 * @param type of the elements
 * @param rows of the matrix
 * @param cols of the matrix
 * @param data this rank's copy
 * @param stride elements from row to row; 0: without gaps
 * @return the matrix */
DAMIER_API damier_matrix damier_on_all(damier_type type, int64_t rows, int64_t cols, void *data,
                                       int64_t stride);

/** A ScaLAPACK matrix on a BLACS grid of the ranks of the context's communicator.  Local arrays are
 * column-major.
 * @param type of the elements
 * @param desc the descriptor: type, context, m, n, mb, nb, rsrc, csrc, lld; the first two are
 *   ignored, and lld is this rank's own
 * @param grid_rows of the process grid
 * @param grid_cols of the process grid
 * @param column_major 0 for a grid created with order "R", 1 for "C"
 * @param data this rank's local array; NULL if it has none
 * @return the matrix */
DAMIER_API damier_matrix damier_scalapack(damier_type type, const int desc[9], int grid_rows,
                                          int grid_cols, int column_major, void *data);

/** The same matrix, with this rank's part in the memory of the GPU that the rank multiplies on. The
 * elements of each row, or those of each column, must be contiguous.
 *
 * Calls access it in their own streams, which do not synchronise with others: the caller's kernels
 * and copies that use it must have finished before the call, or be in `stream`.  When the call
 * returns, it is complete, and any stream may use it.  The call may change the current CUDA device.
 *
 * Calls return DAMIER_E_USAGE if `data` is memory of another kind, and DAMIER_E_DEVICE if it is on
 * another GPU or this rank multiplies on the CPU.  Ranks of a node are assigned its GPUs in turn.
 * @param matrix returned by damier_by_rows, damier_on_one, damier_on_all or damier_scalapack
 * @param stream a cudaStream_t of that GPU: the call waits for the work in it before it accesses
 *   the memory.  cudaStreamLegacy is the default stream; NULL: no wait
 * @return the matrix */
DAMIER_API damier_matrix damier_in_gpu(damier_matrix matrix, void *stream);

/** A matrix of which each GPU of this process has a part, for contexts of damier_open_gpus.
 * @param parts as each of the context's ranks would describe the matrix, in their order: rank i
 *   multiplies on GPU i; not copied
 * @param count the number of the context's GPUs
 * @return the matrix */
DAMIER_API damier_matrix damier_in_parts(const damier_matrix *parts, int count);

/** A C that is not stored: options say what is kept of it ("top", "above", "below", "reduce";
 * "each", "by", "no-self"), and damier_kept_array returns that. Only C, in damier_multiply,
 * damier_gram, damier_cov, damier_cor and those of two; A and B are in files, or in the host memory
 * of one process.
 * @return the matrix */
DAMIER_API damier_matrix damier_kept(void);

/** @}
 * @name Contexts
 * @{ */

/** Ranks that multiply together, and their options. */
typedef struct damier_context damier_context;

#if DAMIER_MPI
/** Opens a context.  Collective over `comm`.
 * @param comm copied; MPI must support MPI_THREAD_FUNNELED or higher.  MPI_COMM_NULL: only this
 *   process, and MPI need not be started
 * @param context the new context, or NULL after an error
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_open(MPI_Comm comm, damier_context **context, damier_error *error);
#endif

/** Opens a context of this process alone, without MPI.
 * @param context the new context, or NULL after an error
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_open_local(damier_context **context, damier_error *error);

/** Opens a context of this process with several of its GPUs, without MPI.
 *
 * Each GPU multiplies on a thread of the library. Matrices are in files, in host memory, as in a
 * context of one rank, or in parts (damier_in_parts), also in the memory of the GPUs. Options that
 * count ranks count GPUs.
 *
 * @param gpus     the number of GPUs, the first ones that the process sees; 1: as damier_open_local
 * @param context  receives the context
 * @param error    receives the error; may be NULL
 * @return DAMIER_OK, or DAMIER_E_DEVICE: the process sees fewer GPUs */
DAMIER_API int damier_open_gpus(int gpus, damier_context **context, damier_error *error);

/** The same with a Fortran or mpi4py communicator.
 * @param comm MPI_Comm_c2f, comm.py2f(); -1: only this process; DAMIER_E_USAGE: it is none, or
 *   the library was built without MPI
 * @param context the new context, or NULL after an error
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_open_f(int comm, damier_context **context, damier_error *error);

/** Closes a context, before MPI is finalized.  Collective.
 * @param context NULL is allowed */
DAMIER_API void damier_close(damier_context *context);

/** Sets an option of `damier multiply` or `damier verify`; it stays set until set again.
 * Options that only make sense for a program, such as output, json, quiet and time-limit, are
 * rejected.
 * @param context of this rank; all ranks set the same
 * @param option the long name without the dashes: "alpha", "beta", "op-a", "op-b", "grid",
 *   "memory", "reproducible", "verify", "force", ...
 * @param value as on the command line; switches take "yes" and "no".  NULL: "yes" for a switch, the
 *   default for any other option
 * @param error filled; may be NULL
 * @return a damier_code; DAMIER_E_USAGE leaves the option as it was */
DAMIER_API int damier_set(damier_context *context, const char *option, const char *value,
                          damier_error *error);

/** Sets one of the options that name a vector to numbers in memory, in place of a file: "weights"
 * (of the terms of each sum: the rows of X in damier_cov, or its columns if rows are compared),
 * "center-a", "center-b" (subtracted from the columns or rows of A or B), "scale-a" or "scale-b"
 * (which divide them). It stays set until damier_set or this call sets the option again;
 * damier_set with NULL: the default.
 * @param context of this rank; all ranks set the same numbers, all of them, whatever part of the
 *   matrices they have
 * @param option the long name without the dashes
 * @param of_rows of "center-a" and so on: 0: a number for each column; else for each row.  Ignored
 *   for "weights"
 * @param type of the numbers, real: DAMIER_F64, DAMIER_F32, DAMIER_I32, ...; they are taken as f64
 * @param count of the numbers, at least 1; a product that needs another count returns
 *   DAMIER_E_INPUT, as it does for numbers that are not finite, and for weights that are negative
 *   or all 0
 * @param numbers consecutive, in host memory; copied, so the caller may change or free them
 * @param error filled; may be NULL
 * @return a damier_code; DAMIER_E_USAGE leaves the option as it was: it takes no vector, or the
 *   arguments are not valid */
DAMIER_API int damier_set_vector(damier_context *context, const char *option, int of_rows,
                                 damier_type type, int64_t count, const void *numbers,
                                 damier_error *error);

/** Sets the matrix that beta multiplies.  By default it is the matrix of option "c", or the
 * contents of C in memory.  With an old C, products need the option "beta" (DAMIER_E_USAGE).
 * @param context of this rank; all ranks set the same matrix
 * @param c in a file or in memory, only read; its fields and name are copied.  NULL: the default
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_old_c(damier_context *context, const damier_matrix *c, damier_error *error);

/** Sets a function that every rank calls repeatedly while panels are multiplied.
 * @param context of this rank
 * @param progress gets `argument`, and the amounts of work done and in total; if it returns
 * anything but 0 on any rank, all ranks stop with DAMIER_E_STOPPED.  NULL: no function
 * @param argument passed to `progress` */
DAMIER_API void damier_on_progress(damier_context *context,
                                   int (*progress)(void *argument, int64_t done, int64_t total),
                                   void *argument);

/** @}
 * @name Work
 * @{ */

/** Multiplies.  Collective.  Each matrix may be in a file or in memory.
 *
 * If all are in files, the call does what `damier multiply` does, with checkpoints, and the same
 * call resumes.  Otherwise a C in a file is verified and renamed in the same way, but an
 * interrupted call starts over.
 *
 * If the call fails, C in memory is unchanged, with three exceptions: after DAMIER_E_UNCHECKED it
 * is complete; DAMIER_E_INPUT for whole numbers that do not fit; and, if C was cut into tiles for
 * lack of memory (the record's plan.tiles), any error after the first tile.
 *
 * With the option "batch" N, matrices in memory are N of equal shapes one below the other: A is
 * N m x k, B is N k x n, C is N m x n, and entry i of C is the product of entries i of A and B. In
 * the host memory of one process threads multiply many entries at a time; in the memory of its GPU
 * one call of cuBLAS multiplies all. Files have batches by their shapes.
 *
 * A C that fails its verification is computed again, once, unless the option "on-corruption" says
 * otherwise (stop or warn) or tiles of it have replaced the old C that beta multiplies.  The
 * record's verification.repaired_tiles counts them.  DAMIER_E_VERIFY: it was not computed again;
 * DAMIER_E_CORRUPT: it was wrong again.  With both the hint says whether C in memory is unchanged,
 * or must not be used.
 * @param context of this rank
 * @param a op(A) is m x k
 * @param b op(B) is k x n. If its type is not that of A both are converted to the narrowest that
 *   holds them, or to that of the option "type"; in GPU memory the types must be equal
 * @param c m x n; the destination
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_multiply(damier_context *context, const damier_matrix *a,
                               const damier_matrix *b, const damier_matrix *c, damier_error *error);

/** Multiplies a matrix with itself: C = alpha X^H X, or alpha X X^H.  Collective.
 *
 * Computes the elements on and below the diagonal and mirrors them, so C is exactly symmetric, or
 * Hermitian with a real diagonal. Otherwise as damier_multiply; the options "op-a" and "op-b" must
 * be "n". An old C (option "beta") must be symmetric, or Hermitian, and be in a file, in the host
 * memory of one process or, on one rank, in GPU memory; else DAMIER_E_USAGE, or DAMIER_E_INPUT. The
 * option "triangle" ("both", "lower", "upper") says which half of a C in a file is stored; the
 * other one is 0.
 * @param context of this rank
 * @param x in a file or in memory
 * @param of_rows 0: X^H X, products of columns; else X X^H, of rows
 * @param c the destination; does not overlap X
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_gram(damier_context *context, const damier_matrix *x, int of_rows,
                           const damier_matrix *c, damier_error *error);

/** Covariances of the columns of X, or of its rows.  Collective.
 *
 * As damier_gram of X less the means of its columns (rows), divided by n - 1 (option "divide"). In
 * a file X is centered while it is read; of an X in memory a centered copy is made in that memory,
 * on every rank of its part. NaN in X is DAMIER_E_INPUT, unless the option "missing" says what it
 * becomes ("nan", "zero", "mean", "complete", "pairwise"). For "pairwise" with X or C in memory all
 * ranks together hold four to six matrices of the size of C in f64; else DAMIER_E_FIT. The options
 * "weights" and "weights-are" name weights in a file.
 * @param context of this rank
 * @param x in a file or in memory, of a floating-point type if C is in memory
 * @param of_rows 0: of columns; else of rows
 * @param c the destination
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_cov(damier_context *context, const damier_matrix *x, int of_rows,
                          const damier_matrix *c, damier_error *error);

/** The same for correlations: columns (rows) are also divided by their standard deviation. Those
 * that are constant become NaN.  Collective.
 * @param context of this rank
 * @param x as in damier_cov
 * @param of_rows 0: of columns; else of rows
 * @param c the destination
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_cor(damier_context *context, const damier_matrix *x, int of_rows,
                          const damier_matrix *c, damier_error *error);

/** Principal components of X.  Collective.
 *
 * The option "rank" says how many; "tolerance", "method", "passes", "oversampling", "seed", "scale"
 * and those of damier_cov say how. A result in memory is a damier_kept: damier_kept_array returns,
 * on rank 0 and in f64, "components" (rank x variables), "singular_values", "explained_variance",
 * "explained_variance_ratio", "mean", with "scale" also "scale", and the residuals |X v - s u| and
 * |X^T u - s v| of each component as parts of the largest singular value, "residuals_u" and
 * "residuals_v". The entry of largest magnitude of each component is positive. The option "scores"
 * names a file for X times the components.
 *
 * DAMIER_E_UNCHECKED: residuals exceed the option "tolerance"; the result is complete.
 * @param context of this rank
 * @param x in a file or in memory, real
 * @param of_rows 0: columns are variables; else rows
 * @param result damier_kept(), or damier_file() for a file with these arrays
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_pca(damier_context *context, const damier_matrix *x, int of_rows,
                          const damier_matrix *result, damier_error *error);

/** The largest singular values of X and its right singular vectors: as damier_pca, but nothing is
 * subtracted, and there are no variances; "squares_ratio" are the squares of the singular values as
 * parts of the sum of all squares, where that is known.  Collective.
 * @param context of this rank
 * @param x in a file or in memory, real
 * @param of_rows 0: vectors of the row space of X; else of its column space
 * @param result as in damier_pca
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_svd(damier_context *context, const damier_matrix *x, int of_rows,
                          const damier_matrix *result, damier_error *error);

/** Covariances of the columns of X with those of Y, or of their rows.  Collective.
 *
 * As damier_cov: C is m x n for m columns (rows) of X and n of Y, which have equally many
 * observations.
 * @param context of this rank
 * @param x as in damier_cov
 * @param y the same; of the type of X
 * @param of_rows 0: of columns; else of rows
 * @param c the destination
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_cov_two(damier_context *context, const damier_matrix *x,
                              const damier_matrix *y, int of_rows, const damier_matrix *c,
                              damier_error *error);

/** The same for correlations.  Collective.
 * @param context of this rank
 * @param x as in damier_cov
 * @param y the same; of the type of X
 * @param of_rows 0: of columns; else of rows
 * @param c the destination
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_cor_two(damier_context *context, const damier_matrix *x,
                              const damier_matrix *y, int of_rows, const damier_matrix *c,
                              damier_error *error);

/** Only plans: the record states what damier_multiply would do, the memory and the time it needs,
 * in "plan" and "forecast"; DAMIER_E_FIT: it would not fit.  Collective.
 * @param context of this rank
 * @param a as in damier_multiply
 * @param b as in damier_multiply
 * @param c as in damier_multiply; nothing is written
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_plan(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                           const damier_matrix *c, damier_error *error);

/** Checks that C is alpha op(A) op(B) + beta C0, as `damier verify` does; all matrices are in
 * files. What of op-a, op-b, alpha, beta and c is not set is taken from the provenance of C, and
 * stated in the record; a wider tolerance (compute, type) is not.  The option "full" recomputes
 * every element in higher precision and compares it.  DAMIER_E_VERIFY and DAMIER_E_UNCHECKED also
 * leave a record. Collective.
 * @param context of this rank
 * @param a in a file
 * @param b in a file
 * @param c in a file; only read
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_verify(damier_context *context, const damier_matrix *a,
                             const damier_matrix *b, const damier_matrix *c, damier_error *error);

/** Describes a file in the record, as `damier info` does.  Collective; rank 0 reads the file.
 * @param context of this rank
 * @param location "FILE.h5:/dataset", or "FILE.h5" for all its contents; NULL: versions, backends,
 *   GPUs and cores of this library
 * @param error filled; may be NULL
 * @return a damier_code */
DAMIER_API int damier_info(damier_context *context, const char *location, damier_error *error);

/** An array of what was kept of a C that is not stored. */
typedef struct damier_array {
  const char *of;   /**< what was kept: "top", "above", "below", "max", ... */
  const char *name; /**< "values", "indices", "data", "indptr", "max", ... */
  int whole;        /**< 1: elements are int64_t; 0: of `type` */
  damier_type type; /**< of the elements, unless they are whole */
  int64_t rows;     /**< lines; or elements, if cols is 0 */
  int64_t cols;     /**< 0: the array has one dimension */
  const void *data; /**< in host memory, row-major */
} damier_array;

/** What the last call kept of a C that is damier_kept; arrays of several options follow each other.
 * Of "top": "values", as C's elements, and
 * "indices", lines x K, best first; a line with fewer elements ends with NaN (0 in whole numbers)
 * and -1. Of "above" and "below": "data", "indices" and "indptr" of a sparse matrix by rows, or,
 * with "each" "column", by columns. Of "reduce": one array of its name, of f64, or whole for
 * "argmax", "argmin" and "count".
 * @param context of this rank; only rank 0 has arrays
 * @param index of the array, from 0 on
 * @param array filled; its texts and data are owned by the context, valid until its next call that
 *   does work, or damier_close
 * @return 1; 0: there is no such array, and `array` is unchanged */
DAMIER_API int damier_kept_array(const damier_context *context, int index, damier_array *array);

/** The record of the last of these calls.
 * @param context of this rank
 * @return a JSON document (schema "damier/1", as with --json), that of rank 0 unless the product
 * was in place; without a record, "".  Owned by the context, valid until its next call */
DAMIER_API const char *damier_record(const damier_context *context);

/** What the last of these calls applied to the numbers of files (packing, missing values, complex
 * axes, ...), ignored, or warned of, as in the record's "warnings".
 * @param context of this rank
 * @return a line for each, on rank 0; without any, "".  Owned by the context, valid until its next
 * call */
DAMIER_API const char *damier_warnings(const damier_context *context);

/** The version of the library.
 * @return "MAJOR.MINOR.PATCH" */
DAMIER_API const char *damier_version(void);

/** OpenBLAS takes its oldest kernels, which are several times slower, on a processor that is newer
 * than it.  This has it take newer ones, as if OPENBLAS_CORETYPE had been set when it was loaded.
 * For programs, before any thread multiplies by that OpenBLAS, also without this library.  Does
 * nothing where the variable is set, the kernels are new enough, or another BLAS library is used.
 */
DAMIER_API void damier_choose_kernels(void);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
