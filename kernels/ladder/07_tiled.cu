/* tiled, tiled_32: C (+)= A B with square tiles of A and B in shared memory.
 *
 * The idea: a block of TILE x TILE threads computes a TILE x TILE tile of C, one element for each
 * thread.  Along k it repeatedly loads a tile of A and one of B, waits (first barrier), multiplies
 * them from shared memory, and waits again (second barrier) before it overwrites them.  (CUDA C++
 * Programming Guide, "Shared Memory")
 *
 * Adds to row_shared: reuse of both A and B.  Every number loaded from global memory is used TILE
 * times: TILE / 4 operations for each byte in f32, so tiles of 32 need half the loads of 16.  This
 * is the one rung for all types: 16-bit numbers are summed in f32, i8 in i32.
 *
 * What limits it: shared memory.  Each multiply-add loads two numbers from it, and a multiprocessor
 * delivers 32 numbers of 4 bytes per clock to 128 multiply-adds. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/dtype.h"
#include "kernels/gemm.h"

namespace {

template <class Part> struct Complex { Part re, im; };
template <class Part>
__device__ __forceinline__ Complex<Part> mad(Complex<Part> a, Complex<Part> b, Complex<Part> c) {
  return {::mad(-a.im, b.im, ::mad(a.re, b.re, c.re)), ::mad(a.im, b.re, ::mad(a.re, b.im, c.im))};
}
template <class T> __device__ __forceinline__ T mad(T a, T b, T c) {
  return ::mad(a, b, c);
}

template <int TILE, class Element, class Sum>
__global__ void __launch_bounds__(TILE *TILE) tiled(Product<Element, Sum> p) {
  __shared__ Sum a_tile[TILE][TILE], b_tile[TILE][TILE];

  const int x = threadIdx.x, y = threadIdx.y;
  const Corner corner = block_corner(p.c, TILE, TILE);
  const int64_t row = corner.row + y, col = corner.col + x;

  Sum sum = p.old(row, col);
  for (int64_t k = 0; k < p.a.cols; k += TILE) {
    a_tile[y][x] = load<Sum>(p.a, row, k + x);
    b_tile[y][x] = load<Sum>(p.b, k + y, col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum = mad(a_tile[y][i], b_tile[i][x], sum);
    __syncthreads();
  }
  if (row < p.c.rows && col < p.c.cols) p.c.at(row, col) = sum;
}

template <int TILE, class Element> cudaError_t launch(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, TILE, TILE);
  tiled<TILE><<<blocks, dim3(TILE, TILE), 0, product->stream>>>(product_of<Element>(product));
  return cudaGetLastError();
}

template <int TILE> cudaError_t launch_typed(const dm_gemm *product) {
  switch (product->dtype) {
  case DM_F64:
    return launch<TILE, double>(product);
  case DM_F32:
    return launch<TILE, float>(product);
  case DM_F16:
    return launch<TILE, __half>(product);
  case DM_BF16:
    return launch<TILE, __nv_bfloat16>(product);
  case DM_C64:
    return launch<TILE, Complex<float>>(product);
  case DM_C128:
    return launch<TILE, Complex<double>>(product);
  case DM_I8:
    return launch<TILE, int8_t>(product);
  default:
    return cudaErrorInvalidValue;
  }
}

} // namespace

extern "C" cudaError_t dm_kernels_tiled(const dm_gemm *product) {
  return launch_typed<16>(product);
}

extern "C" cudaError_t dm_kernels_tiled_32(const dm_gemm *product) {
  return launch_typed<32>(product);
}
