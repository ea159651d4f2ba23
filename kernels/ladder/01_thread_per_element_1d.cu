/* thread_per_element_1d: C (+)= A B with a thread for each element of C.
 *
 * The idea: elements of C do not depend on each other, so each gets its own thread.  Threads are
 * numbered in one dimension, row after row.
 *
 * This is the first rung: no data is reused on the multiprocessor, and every multiply-add loads two
 * numbers.  The 32 threads of a warp have consecutive indices, so their elements are adjacent and
 * their loads of B happen to be contiguous.
 *
 * Measured on an H200, N = 8192: f32 0.059, f64 0.046 of cuBLAS' speed. */
#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int THREADS = 256;

template <class T> __global__ void thread_per_element_1d(Product<T> p) {
  const int64_t count = p.c.rows * p.c.cols, step = (int64_t)gridDim.x * THREADS;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += step)
    multiply_element(p, i / p.c.cols, i % p.c.cols);
}

} // namespace

cudaError_t dm_kernels_thread_per_element_1d(const dm_product *product) {
  const unsigned blocks = blocks_for(divide_up(product->c.rows * product->c.cols, THREADS));
  return with_real(product, [&](auto p) {
    thread_per_element_1d<<<blocks, THREADS, 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
