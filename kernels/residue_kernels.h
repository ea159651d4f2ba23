/* residue_kernels: f64 products computed as int8 products on the GPU, bit-identical to
 * core/residues.h.
 *
 * In order: extremes and sums over all of k, which determine the exponents; for each panel, split
 * (A and B) and product; combine at the end.  Streams as in kernels.h; products need a GPU of
 * compute capability 9.0. */
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

/* COUNT planes of residues, one per modulus: ROWS rows of A, or columns of B (called rows here),
 * of DEPTH elements along k each.  Element h of row r of plane x is at base + (x * plane_rows +
 * r) * stride + h.  Columns of B are permuted, see dm_residue_place.  Memory beyond DEPTH and ROWS
 * is neither written nor used.  Complex numbers have DM_RESIDUE_PLANES planes per modulus: of their
 * real parts, imaginary parts, and the sums of both. */
typedef struct dm_residue_panel {
  int8_t *base;        /* device memory, aligned to 16 bytes; the caller's */
  int count;           /* number of planes */
  int64_t rows, depth; /* depth <= DM_RESIDUES_DEPTH for products */
  int64_t stride;      /* bytes, a multiple of 16 */
  int64_t plane_rows;  /* a multiple of 64, at least ROWS */
} dm_residue_panel;

enum { DM_RESIDUE_GROUP = 64, DM_RESIDUE_PLANES = 3 };

/* Bytes of a panel, and the panel at BASE; rows are multiples of 128 bytes. */
int64_t dm_residue_panel_bytes(int count, int64_t rows, int64_t depth);
dm_residue_panel dm_residue_panel_at(void *base, int count, int64_t rows, int64_t depth);

/* The row of the panel that holds column J of B: in each group of 64, the 16 columns
 * 16 q + 2 i + l (i < 8, l < 2), which belong to one thread of a product, are at 8 i + 2 q + l. */
static inline DM_HOST_DEVICE int64_t dm_residue_place(int64_t j) {
  return (j & ~(int64_t)63) | (j >> 1 & 7) << 3 | (j >> 4 & 3) << 1 | (j & 1);
}

/* Stores residues of trunc(FROM(r, h) 2^exponents[r]), which must be below 2^95 in magnitude; of
 * complex numbers those of both parts, and of the sum of these whole numbers.
 * B is passed transposed (dm_view_transpose).  Any strides are correct; one of 1 is fast. */
typedef struct dm_residue_split {
  dm_residue_panel to;
  dm_view from;             /* f64, f32, c128 or c64, to.rows x to.depth, in device memory */
  const int32_t *exponents; /* to.rows exponents in device memory; of complex columns two each,
                               which are equal */
  bool columns;             /* for B: permute rows by dm_residue_place */
  cudaStream_t stream;
} dm_residue_split;
cudaError_t dm_kernels_residue_split(const dm_residue_split *split);

/* ---- products ---- */

/* Adds the sum over h of residue x of A(i, h) times that of B(j, h) to residue x of C(i, j), at
 * c + i * row_stride + x * plane + j, or overwrites it by that sum; modulo p_x.  Complex numbers
 * have two PARTS: the residues are those of A(i, h) B(j, h), at 2 j and 2 j + 1, by three products
 * of residues instead of four.  Fast if c, row_stride and plane are multiples of 16, less fast for
 * 8. */
typedef struct dm_residue_product {
  int8_t *c; /* device memory: a.rows x b.rows elements */
  int parts; /* bytes per element of C: 1, or 2 */
  int64_t row_stride, plane;
  dm_residue_panel a, b; /* of equal count and depth; B split with COLUMNS; with two parts depth is
                            at most a third of DM_RESIDUES_DEPTH */
  bool accumulate;       /* false: C is overwritten without being read */
  int processors;        /* multiprocessors of the device */
  cudaStream_t stream;
} dm_residue_product;

/* cudaErrorInvalidValue if the panels do not match or are too deep. */
cudaError_t dm_kernels_residue_product(const dm_residue_product *product);

/* ---- exponents ---- */

/* The extremes and sums of lines of backend.h, here for the rows of FROM (which may be a transposed
 * view); the numbers per row, in device memory and initially 0. */
enum { DM_RESIDUE_LINE_EXTREMES = 2, DM_RESIDUE_LINE_SUMS = 7 };

/* The bits of the largest magnitude, at most those of infinity; and the largest difference between
 * the bits of infinity and those of a finite magnitude above 0. */
cudaError_t dm_kernels_residue_extremes(dm_view from, uint64_t *extremes, cudaStream_t stream);

/* EXTREMES[2 r]: the largest magnitude in all of row r; DEPTHS: in host memory, below 15. */
cudaError_t dm_kernels_residue_sums(dm_view from, const double *extremes, const int *depths,
                                    int64_t *sums, cudaStream_t stream);

/* ---- layers ---- */

/* C += MORE, modulo each p_x: adds the residues of two layers, laid out as in a product.  Base,
 * row_stride and plane are multiples of 16; the padding between planes is overwritten. */
typedef struct dm_residue_sum {
  dm_view c, more; /* the first planes: int8 with col_stride 1, one shape, in device memory */
  int64_t plane;   /* at least c.cols */
  const dm_moduli *moduli; /* in host memory; read before the call returns */
  cudaStream_t stream;
} dm_residue_sum;
cudaError_t dm_kernels_residue_join(const dm_residue_sum *sum);

/* ---- the end ---- */

/* TO(i, j) = the number whose residues are at C, laid out as in a product (dm_residues_value),
 * times 2^-(of_rows[i] + of_cols[j]). */
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
