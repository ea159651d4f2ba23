/* residue_kernels: products of f64 by products of int8 on the GPU: what core/residues.h defines,
 * with the same bits.
 *
 * In order: largest and squares over all of k, exponents; then for each panel, split (A and B) and
 * product; combine at the end.  What kernels.h says of streams holds here too; products want a GPU
 * of compute capability 9.0. */
#ifndef DM_KERNELS_RESIDUE_KERNELS_H
#define DM_KERNELS_RESIDUE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/residues.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- panels ---- */

/* COUNT planes of residues, one for each modulus: ROWS rows of A, or columns of B (here "rows",
 * too), with DEPTH elements along k each.  Residue x of element h of row r is at base + (x *
 * plane_rows + r) * stride + h.  Columns of B lie in an order of their own, see dm_residue_place.
 * Memory beyond DEPTH and ROWS is neither written nor used. */
typedef struct dm_residue_panel {
  int8_t *base;        /* device memory, aligned to 16 bytes; the caller's */
  int count;           /* of planes */
  int64_t rows, depth; /* depth <= DM_RESIDUES_DEPTH for products */
  int64_t stride;      /* bytes, a multiple of 16 */
  int64_t plane_rows;  /* a multiple of 64, at least ROWS */
} dm_residue_panel;

enum { DM_RESIDUE_GROUP = 64 };

/* Bytes of a panel, and the panel at BASE with rows of whole 128 bytes. */
int64_t dm_residue_panel_bytes(int count, int64_t rows, int64_t depth);
dm_residue_panel dm_residue_panel_at(void *base, int count, int64_t rows, int64_t depth);

/* ROWS rows from row FIRST, in columns of B a multiple of DM_RESIDUE_GROUP. */
dm_residue_panel dm_residue_panel_part(dm_residue_panel panel, int64_t first, int64_t rows);

/* Where column J of B lies, counted in rows of the panel: in each group of 64, the 16 columns
 * 16 q + 2 i + l (i < 8, l < 2) that a thread of a product gets are at 8 i + 2 q + l. */
static inline DM_HOST_DEVICE int64_t dm_residue_place(int64_t j) {
  return (j & ~(int64_t)63) | (j >> 1 & 7) << 3 | (j >> 4 & 3) << 1 | (j & 1);
}

/* FROM(r, h) as residues of trunc(FROM(r, h) 2^exponents[r]), which must be below 2^95.
 * B is given transposed (dm_view_transpose); any strides, fast where one of them is 1.
 *
 * Complex numbers: A is given as its parts (dm_view_parts).  x + iy of B in column j and row h
 * becomes x, -y in rows 2 h, 2 h + 1 of column 2 j and y, x in those of column 2 j + 1. */
typedef struct dm_residue_split {
  dm_residue_panel to;
  dm_view from;             /* f64 or f32, to.rows x to.depth, in device memory; of B also c128 or
                               c64, half as large each way */
  const int32_t *exponents; /* in device memory, to.rows of them */
  bool columns;             /* of B: rows go where dm_residue_place says */
  cudaStream_t stream;
} dm_residue_split;
cudaError_t dm_kernels_residue_split(const dm_residue_split *split);

/* ---- products ---- */

/* Adds the sum over h of residue x of A(i, h) times that of B(j, h) to residue x of C(i, j), at
 * base + i * row_stride + x * plane + j, or sets it to that sum; modulo p_x.  Fast where base,
 * row_stride and plane are multiples of 16, less so of 8. */
typedef struct dm_residue_product {
  int8_t *c; /* device memory: a.rows x b.rows elements */
  int64_t row_stride, plane;
  dm_residue_panel a, b; /* of one count and depth; B split with COLUMNS */
  bool accumulate;       /* false: C is overwritten without being read */
  int processors;        /* multiprocessors of the device */
  cudaStream_t stream;
} dm_residue_product;

/* cudaErrorInvalidValue where panels do not fit or are too deep. */
cudaError_t dm_kernels_residue_product(const dm_residue_product *product);

/* ---- exponents ---- */

/* What backend.h says of extremes and sums of lines, here the rows of FROM (or those of a
 * transposed view), each in COUNT numbers that are at first 0, in device memory. */
enum { DM_RESIDUE_LINE_EXTREMES = 2, DM_RESIDUE_LINE_SUMS = 7 };

/* Bits of the largest size, at most infinity's; and the largest of the bits of infinity less those
 * of a finite size above 0. */
cudaError_t dm_kernels_residue_extremes(dm_view from, uint64_t *extremes, cudaStream_t stream);

/* EXTREMES[2 r] is the largest size of all of row r; DEPTHS in host memory, below 15. */
cudaError_t dm_kernels_residue_sums(dm_view from, const double *extremes, const int *depths,
                                    int64_t *sums, cudaStream_t stream);

/* ---- layers ---- */

/* C += MORE, modulo each p_x: adds the residues of two layers, both as in a product.  Base,
 * row_stride and plane are multiples of 16; the padding between planes is overwritten. */
typedef struct dm_residue_sum {
  dm_view c, more; /* int8 with col_stride 1, of one shape, in device memory; the first planes */
  int64_t plane;   /* at least c.cols */
  const dm_moduli *moduli; /* in host memory; read before the call returns */
  cudaStream_t stream;
} dm_residue_sum;
cudaError_t dm_kernels_residue_join(const dm_residue_sum *sum);

/* ---- the end ---- */

/* TO(i, j) = the number whose residues lie at C as in a product, times
 * 2^-(of_rows[i] + of_cols[j]); dm_residues_value says which. */
typedef struct dm_residue_combination {
  dm_view to; /* f64 with col_stride 1, in device memory; not overlapping C */
  const int8_t *c;
  int64_t row_stride, plane;
  const int32_t *of_rows, *of_cols; /* in device memory */
  const dm_moduli *moduli;          /* in host memory; read before the call returns */
  cudaStream_t stream;
} dm_residue_combination;
cudaError_t dm_kernels_residue_combine(const dm_residue_combination *combination);

#ifdef __cplusplus
}
#endif

#endif
