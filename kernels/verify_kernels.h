/* verify_kernels: sums over matrices for the verification.  Functions follow the conventions of
 * kernels.h. */
#ifndef DM_KERNELS_VERIFY_KERNELS_H
#define DM_KERNELS_VERIFY_KERNELS_H

#include "core/element_sum.h"
#include "core/row_bound.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sums[i] += sum_j M(i,j) x[j];  squares[i] += sum_j |M(i,j) x[j]|^2 unless squares is NULL.  With
 * SIZES, in the same pass: squares[i] += sum_j |M(i,j) sizes[j]|^2, and unless norms is NULL
 * norms[i] += sum_j |M(i,j)|^2; columns whose size is 0 count as 0, but not in norms.
 * x and sums have the wide type (f64, two f64, int64_t); columns whose x is 0 count as 0.  Fast if
 * rows or columns are contiguous and 16-byte aligned.  With several ENTRIES, of as many rows each,
 * one below the other, those of entry e meet x + e X_STEP and sizes + e X_STEP.
 * (helpers/probe.cu) */
typedef struct dm_probe_work {
  dm_view matrix;
  const void *x;
  int64_t entries; /* 0: one */
  int64_t x_step;  /* numbers of the wide type; even */
  int64_t parts;
  void *scratch; /* PARTS * rows numbers of the wide type; as many f64 for squares, and for norms */
  void *
      sums; /* NULL: the sums of the parts stay in SCRATCH; SQUARES and NORMS say which there are */
  double *squares;
  const double *sizes; /* NULL: those of x */
  double *norms;
  int64_t most; /* blocks that run at once, beside other kernels; 0: any number */
  cudaStream_t stream;
} dm_probe_work;
cudaError_t dm_kernels_probe(const dm_probe_work *work);

/* The number of PARTS, ranges of columns with separate sums, that keeps PROCESSORS multiprocessors
 * busy. */
int64_t dm_kernels_probe_parts(dm_view matrix, int processors);

/* sums[j] += sum_i |M(i,j)|^2; SCRATCH holds PARTS * cols values, which are all that is set if SUMS
 * is NULL.  MOST blocks run at once, or with 0 any number.  (helpers/scan.cu) */
cudaError_t dm_kernels_scan(dm_view matrix, int64_t parts, int64_t most, double *scratch,
                            double *sums, cudaStream_t stream);
int64_t dm_kernels_scan_parts(dm_view matrix, int processors);

/* *sum += the checksum (core/element_sum.h) of MATRIX, which begins at PLACE; SUBTRACT: -=.  c128
 * is passed as its parts, with twice as many columns.  (helpers/checksum.cu) */
cudaError_t dm_kernels_checksum(dm_view matrix, dm_element_place place, bool subtract,
                                uint64_t *sum, int processors, cudaStream_t stream);

/* Sums of PARTS parts of a matrix, one part after the other. */
typedef struct dm_part_sums {
  int64_t parts;
  const void *sums; /* of the wide type; ROWS of them per part, as of the others */
  const double *squares, *norms;
} dm_part_sums;

/* The vectors of the verification of a whole product: WIDTH f64 per number, or int64_t if EXACT, of
 * integers.  All sums but those of B w are as probes and scans leave them.  (helpers/judge.cu) */
typedef struct dm_judge_work {
  int64_t rows, cols, depth; /* m, n, and k; of a batch, m and k of all entries */
  int64_t entry_depth;       /* k of an entry, ... */
  int64_t t_step;            /* ... whose numbers begin at t + e T_STEP */
  int width;
  bool exact;
  bool turns_t, turns_y; /* conjugates B w, and A (B w), of operands that are conjugated */
  uint64_t seed;
  int64_t step; /* squares of columns are of every STEP-th row; else 1 */
  dm_row_factors factors;
  double *w, *sizes_w;                     /* n */
  double *t, *sizes_t;                     /* B w, and roots of sums of squares */
  dm_part_sums columns_of_b, b, a, c, old; /* squares of columns; B w, A t, C w, the old C w */
  dm_columns_found *columns;               /* of blocks: dm_kernels_judge_parts(cols) */
  dm_rows_found *found;                    /* the same: dm_kernels_judge_parts(rows) */
  unsigned *turn;                          /* 0 */
  dm_verified_found *judged;               /* in memory that the host reads, too */
  cudaStream_t stream;
} dm_judge_work;
cudaError_t dm_kernels_weigh(const dm_judge_work *work);  /* sets w, sizes_w, columns */
cudaError_t dm_kernels_take_t(const dm_judge_work *work); /* sets t, sizes_t */
cudaError_t dm_kernels_judge(const dm_judge_work *work);  /* sets judged */
int64_t dm_kernels_judge_parts(int64_t count);

/* Of a product X^T X (or X^H X) both B w and A t in one pass over X, in place of two probes and
 * take_t: sets a.sums and a.squares, and unless SUMS is NULL adds those of all parts to SUMS and
 * SQUARES.  The number of parts is 0 if X is not suitable: rows of real or complex numbers,
 * contiguous and 16-byte aligned, and not too long.  (helpers/probe_gram.cu) */
cudaError_t dm_kernels_probe_gram(const dm_judge_work *work, dm_view x, double *sums,
                                  double *squares);
int64_t dm_kernels_probe_gram_parts(dm_view x, int processors);

/* The same of small matrices at once, after they are multiplied, without an old C: sets judged.  Of
 * A, B and C those of ENTRIES products lie one below the other; WORK has seed, factors, exact,
 * turns_t, turns_y, turn, and room for DM_JUDGED_PARTS columns and found.  Each entry has weights
 * of its own. (helpers/judge_entries.cu) */
/* Columns of A and B; those of which a warp reads an entry; rows of A. */
enum { DM_ENTRY_MOST = 128, DM_ENTRY_SHORT = 32, DM_ENTRY_ROWS = 256 };
cudaError_t dm_kernels_judge_entries(const dm_judge_work *work, dm_view a, dm_view b, dm_view c,
                                     int64_t entries, int processors);

/* Load the kernels that these functions launch for aligned matrices of DTYPE, to save the time at
 * the first launch. */
cudaError_t dm_kernels_probe_load(dm_dtype dtype);
cudaError_t dm_kernels_scan_load(dm_dtype dtype);
cudaError_t dm_kernels_checksum_load(dm_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
