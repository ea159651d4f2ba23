/* naive_coalesced: C (+)= A B with a two-dimensional grid of threads, the right way round.
 *
 * The idea: x, along which a warp runs, counts columns, along which memory runs.  The 32 loads of B
 * of a warp are then one contiguous piece (they coalesce), its loads of A are one element that all
 * threads share, and its stores are contiguous too.  (coalesced.cuh)
 *
 * It adds to naive nothing but the exchange of x and y.  Its limit is that every multiply-add still
 * loads two numbers, though the caches serve many of those loads.
 *
 * Measured on an H200, N = 8192: f32 0.056, f64 0.024 of cuBLAS' speed. */
#include "kernels/product/coalesced.cuh"

cudaError_t dm_kernels_naive_coalesced(const dm_product *product) {
  return with_real(product, [&](auto p) { return launch_coalesced(p, product->stream); });
}
