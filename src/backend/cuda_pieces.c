/* Makes library products, whose sums depend on how C is cut, reproducible. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"

dm_view dm_cuda_take(char **room, dm_dtype dtype, int64_t rows, int64_t cols, int64_t stride) {
  const dm_view view = dm_view_strided(*room, dtype, DM_DEVICE, rows, cols, stride);
  *room += dm_round_up(rows * stride * dm_dtype_size(dtype), 256);
  return view;
}

/* A library selects its kernel, and so the order of its sums, by shape and alignment, but the
 * result must not depend on how C was cut into blocks. So C is computed in pieces of tile x tile
 * from the block's origin (blocks start at multiples of the tile), and always in the same place:
 * operands are copied to our own memory, whose alignment and strides depend only on k and the tile.
 * The last pieces are narrower, but they are the last on any grid, as they end at the matrix's
 * border. k is not cut: panels already have fixed borders. */
dm_status dm_cuda_multiply_pieces(dm_cuda *gpu, dm_cuda_library *product, dm_view c, dm_view a,
                                  dm_view b, bool accumulate) {
  const int64_t tile = gpu->tile, k = a.cols;
  const int64_t wide = dm_round_up(tile, 64), deep = dm_round_up(k, 64);
  const int64_t in = dm_dtype_size(a.dtype), out = dm_dtype_size(c.dtype);
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  DM_TRY(dm_cuda_grow(gpu, &gpu->pieces,
                      tile * deep * in + k * wide * in + tile * wide * out + 3 * 256));

  for (int64_t j = 0; j < c.cols; j += tile) {
    const int64_t width = dm_min(tile, c.cols - j);
    const dm_view b_part = dm_view_sub(b, 0, j, k, width);
    char *memory = gpu->pieces.memory;
    const dm_view b_piece = dm_cuda_take(&memory, b.dtype, k, width, wide);
    DM_TRY(dm_cuda_copy_on(gpu, stream, b_piece, b_part));
    for (int64_t i = 0; i < c.rows; i += tile) {
      const int64_t height = dm_min(tile, c.rows - i);
      const dm_view a_part = dm_view_sub(a, i, 0, height, k);
      const dm_view c_part = dm_view_sub(c, i, j, height, width);
      char *rest = memory;
      const dm_view c_piece = dm_cuda_take(&rest, c.dtype, height, width, wide);
      const dm_view a_piece = dm_cuda_take(&rest, a.dtype, height, k, deep);
      DM_TRY(dm_cuda_copy_on(gpu, stream, a_piece, a_part));
      if (accumulate) DM_TRY(dm_cuda_copy_on(gpu, stream, c_piece, c_part));
      DM_TRY(product(gpu, c_piece, a_piece, b_piece, accumulate));
      DM_TRY(dm_cuda_copy_on(gpu, stream, c_part, c_piece));
    }
  }
  return DM_OK;
}

#endif
