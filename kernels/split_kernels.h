/* split_kernels: f32 products computed as three f16 products on the GPU (core/split.h).  A and C
 * are real; B may be complex.
 *
 * In order, for each panel: split (A and B), product, native.  Streams as in kernels.h; products
 * need a GPU of compute capability 9.0. */
#ifndef DM_KERNELS_SPLIT_KERNELS_H
#define DM_KERNELS_SPLIT_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/split.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a panel of A or B, laid out like the panel of real numbers, in device memory of the
 * caller. */
typedef struct dm_split_parts {
  void *high, *low; /* f16, aligned to 128 bytes */
  int64_t rows, cols;
  int64_t stride; /* in elements, a multiple of DM_SPLIT_ROW; elements beyond COLS are not used */
  int32_t *exponents; /* of rows of A or columns of B; DM_SPLIT_NATIVE: parts are 0 */
} dm_split_parts;

/* Numbers of lines without an exponent, with complex columns counted once; in device memory,
 * initially 0.  All but the last are per product: the caller resets them. */
typedef struct dm_split_count {
  unsigned long long now;
  unsigned few_rows, few_cols, many; /* for dm_kernels_split_native */
  unsigned unused;
  unsigned long long all; /* of all products */
} dm_split_count;

typedef struct dm_split {
  dm_split_parts to;
  dm_view from;         /* f32 (B also c64) with col_stride 1, in device memory */
  dm_split_line *lines; /* for B: device memory for one per real column, at first all bytes 0 */
  int64_t
      depth;    /* of B: rows of each of several lanes, a multiple of DM_SPLIT_BLOCK; 0: one lane */
  int64_t step; /* lines, and exponents, from lane to lane */
  dm_split_count *count; /* NULL: lines are not counted */
  cudaStream_t stream;
} dm_split;

/* Rows of lanes are multiples of these. */
enum { DM_SPLIT_BLOCK = 128 /* of B */, DM_SPLIT_LANE_ROWS = 256 /* of C */ };

/* Split A by rows, with at most DM_SPLIT_DEPTH columns. */
cudaError_t dm_kernels_split_rows(const dm_split *split);
/* Finds the LINES of B, whose parts may not be there yet, and splits it by columns. */
cudaError_t dm_kernels_split_look(const dm_split *split);
cudaError_t dm_kernels_split_columns(const dm_split *split);
/* Adds those of N lines that have no exponent to COUNT. */
cudaError_t dm_kernels_split_count(const dm_split_line *lines, int64_t n, dm_split_count *count,
                                   cudaStream_t stream);

/* k divided among COUNT lanes, whose C's, of ROWS each, are one below the other; 0: it is not. */
typedef struct dm_split_lanes {
  int count;
  int64_t rows;  /* a multiple of DM_SPLIT_LANE_ROWS, not less than C's columns */
  int64_t depth; /* of B, and exponents of ROWS columns, for each lane */
} dm_split_lanes;

/* The number of lanes, at most MOST, with which a C of N columns takes the least time. */
int dm_kernels_split_lanes(int64_t n, int most, int processors);

/* C (+)= A B; lines without exponents count as 0.  With lanes A is B transposed, and only the lower
 * triangles of the lanes' C's are written, and something else in tiles on the diagonal. */
typedef struct dm_split_product {
  dm_view c; /* f32 with col_stride 1, in device memory */
  dm_split_parts a, b;
  dm_split_lanes lanes;
  bool accumulate; /* false: C is overwritten without being read */
  int processors;  /* multiprocessors of the device */
  cudaStream_t stream;
} dm_split_product;
cudaError_t dm_kernels_split_product(const dm_split_product *product);

/* C += A B in f32, in the rows and columns without exponents; does nothing if COUNT has none. */
typedef struct dm_split_native {
  dm_view c, a, b;              /* f32 (B also c64) with col_stride 1, in device memory */
  int32_t *rows, *cols;         /* exponents */
  int32_t *few_rows, *few_cols; /* memory for one number per row and column */
  dm_split_count *count;
  cudaStream_t stream;
} dm_split_native;
cudaError_t dm_kernels_split_native(const dm_split_native *native);

#ifdef __cplusplus
}
#endif

#endif
