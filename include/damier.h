/* damier.h: multiplies matrices over the ranks of an MPI job, from HDF5 files or from memory.
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
 * Every call that takes a context is collective over its communicator, but for damier_set,
 * damier_on_progress and damier_record, and all ranks set the same options.  The library neither
 * starts nor ends MPI, prints nothing, installs no signal handlers, does not bind threads to cores
 * and keeps no state outside of contexts, but for the number of threads of the BLAS library.
 * Several contexts may be open at a time; one thread, the one that started MPI, calls for all of
 * them.
 *
 * Functions return DAMIER_OK or a code, and then fill *ERROR, which may be NULL. */
#ifndef DAMIER_H
#define DAMIER_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DAMIER_API __attribute__((visibility("default")))
#else
#define DAMIER_API
#endif

/* The version of this interface; damier_version tells that of the library. */
#define DAMIER_INTERFACE 0

/* The codes are the exit codes of the program. */
typedef enum damier_code {
  DAMIER_OK = 0,
  DAMIER_E_VERIFY = 1,     /* the result failed its verification */
  DAMIER_E_USAGE = 2,      /* an argument or option that is not offered */
  DAMIER_E_INPUT = 3,      /* a file was rejected */
  DAMIER_E_IO = 4,         /* a file could not be read or written */
  DAMIER_E_FIT = 5,        /* does not fit into memory or on the disk */
  DAMIER_E_DEVICE = 6,     /* GPU, backend or transport */
  DAMIER_E_CORRUPT = 7,    /* a result that could not be repaired */
  DAMIER_E_MPI = 9,        /* MPI */
  DAMIER_E_UNCHECKED = 10, /* C is there, but not all of it could be verified (NaN, Inf, exponents
                              at the end of their range); option "allow-unchecked": DAMIER_OK */
  DAMIER_E_BUG = 70,       /* an assumption of the library does not hold */
  DAMIER_E_STOPPED = 75,   /* the progress function asked to stop */
} damier_code;

typedef struct damier_error {
  int code;          /* a damier_code */
  int agreed;        /* 1: every rank has this error.  0: the others may be waiting for this one;
                        only MPI_Abort is left */
  int rank;          /* where it happened; -1: not known */
  char message[600]; /* one line without a full stop */
  char hint[600];    /* what can be done about it, or "" */
} damier_error;

/* ---- matrices ---- */

typedef enum damier_type {
  DAMIER_F64,
  DAMIER_F32,
  DAMIER_F16,
  DAMIER_BF16,
  DAMIER_C64,  /* two f32: real, imaginary */
  DAMIER_C128, /* two f64: real, imaginary */
  DAMIER_I8,
  DAMIER_I32,
} damier_type;

typedef enum damier_division {
  DAMIER_IN_FILE,      /* a dataset of an HDF5 file, or where C is to be written */
  DAMIER_BY_ROWS,      /* consecutive rows, in the order of the ranks; some may have none */
  DAMIER_ON_ONE,       /* all of it on one rank */
  DAMIER_BLOCK_CYCLIC, /* as ScaLAPACK divides a matrix */
} damier_division;

/* A matrix as one rank sees it.  Begin with one of the functions below, or with all zero.  The
 * memory stays the caller's; A and B are not changed. */
typedef struct damier_matrix {
  damier_division division;
  const char *file; /* IN_FILE: "FILE.h5:/dataset", or "FILE.h5" where it holds one matrix */

  /* ---- in memory ---- */
  damier_type type;
  int64_t rows, cols;             /* of the whole matrix */
  void *data;                     /* this rank's part; NULL where it has none */
  int64_t row_stride, col_stride; /* elements from row to row and from column to column of it */

  int64_t own_rows; /* BY_ROWS: rows of this rank */
  int rank;         /* ON_ONE: who has it */

  /* BLOCK_CYCLIC: the process grid, blocks of row_block x col_block, and the process row and column
   * of the first one. */
  int grid_rows, grid_cols;
  int column_major; /* ranks are numbered down the columns of the grid; else along its rows */
  int64_t row_block, col_block;
  int first_row, first_col;
} damier_matrix;

DAMIER_API damier_matrix damier_file(const char *location);

/* Row-major, STRIDE elements from row to row (0: without gaps). */
DAMIER_API damier_matrix damier_by_rows(damier_type type, int64_t rows, int64_t cols,
                                        int64_t own_rows, void *data, int64_t stride);
DAMIER_API damier_matrix damier_on_one(damier_type type, int64_t rows, int64_t cols, int rank,
                                       void *data, int64_t stride);

/* By ScaLAPACK's descriptor DESC of nine numbers, on a BLACS grid of GRID_ROWS x GRID_COLS made
 * with order "R" (COLUMN_MAJOR 0) or "C" (1) from the ranks of the context's communicator.  Local
 * arrays are column-major. */
DAMIER_API damier_matrix damier_scalapack(damier_type type, const int desc[9], int grid_rows,
                                          int grid_cols, int column_major, void *data);

/* ---- contexts ---- */

typedef struct damier_context damier_context;

/* A context on a copy of COMM.  MPI must offer MPI_THREAD_FUNNELED or more; MPI_COMM_NULL: this
 * process alone, and MPI need not be started. */
DAMIER_API int damier_open(MPI_Comm comm, damier_context **context, damier_error *error);

/* The same with a communicator of Fortran, or of mpi4py (comm.py2f()); -1: this process alone. */
DAMIER_API int damier_open_f(int comm, damier_context **context, damier_error *error);

DAMIER_API void damier_close(damier_context *context); /* NULL is allowed */

/* Sets an option of `damier multiply` or `damier verify` by its long name without the dashes:
 * "alpha", "beta", "op-a", "op-b", "grid", "memory", "reproducible", ...  VALUE NULL: "yes" for a
 * switch, or else the default again.  Options stay set until they are set again. */
DAMIER_API int damier_set(damier_context *context, const char *option, const char *value,
                          damier_error *error);

/* From now on beta multiplies C, in place of what the option "c" names or of the elements that a C
 * in memory has: a file, or memory, which is not changed.  NULL: as before.  The names are copied,
 * the memory stays the caller's. */
DAMIER_API int damier_old_c(damier_context *context, const damier_matrix *c, damier_error *error);

/* PROGRESS is called on every rank now and then while panels are multiplied; any rank may answer
 * with something other than 0: then all end with DAMIER_E_STOPPED.  NULL: nobody is called. */
DAMIER_API void damier_on_progress(damier_context *context,
                                   int (*progress)(void *argument, int64_t done, int64_t total),
                                   void *argument);

/* ---- work ---- */

/* Multiplies.  Either all three matrices are in files or all are in memory, and A and B are of one
 * type then.  C in a file is written, checked and named as `damier multiply` does it; beta takes
 * the old C from the option "c".  C in memory has its old elements where beta is not 0, and is left
 * as it was where the call fails, but for DAMIER_E_UNCHECKED, and for DAMIER_E_INPUT of whole
 * numbers that do not fit. */
DAMIER_API int damier_multiply(damier_context *context, const damier_matrix *a,
                               const damier_matrix *b, const damier_matrix *c, damier_error *error);

/* Plans only: what damier_multiply would do, need and take is in the record. */
DAMIER_API int damier_plan(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                           const damier_matrix *c, damier_error *error);

/* Checks that C is alpha op(A) op(B) + beta C0, as `damier verify` does; all three are in files.
 * What no option states comes from the provenance of C.  The option "full" has every element
 * multiplied again in higher precision and compared.  DAMIER_E_VERIFY and DAMIER_E_UNCHECKED leave
 * a record, too. */
DAMIER_API int damier_verify(damier_context *context, const damier_matrix *a,
                             const damier_matrix *b, const damier_matrix *c, damier_error *error);

/* What LOCATION holds ("FILE.h5:/dataset", or "FILE.h5" for all of it), as `damier info` tells it;
 * NULL: versions, backends, GPUs and cores of this library.  The answer is in the record.  Rank 0
 * looks. */
DAMIER_API int damier_info(damier_context *context, const char *location, damier_error *error);

/* On rank 0 what the last of these calls found out, as a JSON document (schema "damier/1", the same
 * as of --json); "" where there is none, and on other ranks.  The context's own, until its next
 * call. */
DAMIER_API const char *damier_record(const damier_context *context);

DAMIER_API const char *damier_version(void);

#ifdef __cplusplus
}
#endif
#endif
