/* kahan: the tiled kernel with compensated summation, in float only.
 *
 * The idea is Kahan's: adding a small product to a large sum rounds away its low bits; that error
 * can be computed, kept next to the sum, and subtracted from the next product.  The error of a sum
 * then no longer grows with k: about 2 u |A||B| instead of k u |A||B|, with the unit roundoff
 * u = 2^-24.
 *
 * Adds to tiled_32: accuracy, not speed, with three dependent additions per multiply-add.  Limits:
 * the correction is lost at the end of a panel of k, and a sum that overflows becomes NaN, because
 * the correction of an infinity is NaN.
 *
 * Measured on an H200, N = 8192: f32 0.146 of cuBLAS' speed. */
#include "kernels/product/tiled.cuh"

namespace {

constexpr int TILE = 32;

struct Compensated {
  float sum;
  float excess = 0.0f; /* SUM minus the true sum */

  __device__ explicit Compensated(float old) : sum(old) {
  }
  __device__ __forceinline__ void add(float a, float b) {
    const float term = fmaf(a, b, -excess);
    const float next = __fadd_rn(sum, term);
    excess = __fsub_rn(__fsub_rn(next, sum), term);
    sum = next;
  }
};

__global__ void __launch_bounds__(TILE *TILE) kahan(Product<float> p) {
  multiply_by_tiles<Compensated, TILE>(p);
}

} // namespace

cudaError_t dm_kernels_kahan(const dm_product *product) {
  if (product->a.dtype != DM_F32) return cudaErrorInvalidValue;
  kahan<<<blocks_for_tiles(product->c, TILE, TILE), dim3(TILE, TILE), 0, product->stream>>>(
      product_of<float>(product));
  return cudaGetLastError();
}
