/* async_copy: asynchronous copies from global to shared memory without registers (cp.async, since
 * Ampere), and operands whose rows they can copy 16 bytes at a time; for tensor cores. */
#ifndef DM_KERNELS_ASYNC_COPY_CUH
#define DM_KERNELS_ASYNC_COPY_CUH

#include "kernels/gemm.h"

/* If rows of A or B are not aligned to 16 bytes, copies that operand to PRODUCT's scratch memory of
 * dm_kernels_aligned_scratch bytes, and replaces it by the copy.  (helpers/repack.cu) */
cudaError_t dm_align_operands(dm_gemm *product);

/* Copies BYTES (4 or 8, aligned) to TO, an address in shared memory, if INSIDE; otherwise reads
 * nothing and sets TO to 0. */
template <int BYTES>
static __device__ __forceinline__ void copy_async_or_zero(unsigned to, const void *from,
                                                          bool inside) {
  const int valid = inside ? BYTES : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES),
               "r"(valid)
               : "memory");
}

/* Copies 16 bytes, bypassing the L1 cache; reads only the first VALID, the others become 0. */
static __device__ __forceinline__ void copy_vector_async(unsigned to, const void *from, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid)
               : "memory");
}
static __device__ __forceinline__ void copy_vector_async(void *to, const void *from, int valid) {
  copy_vector_async((unsigned)__cvta_generic_to_shared(to), from, valid);
}

/* Copies are committed and awaited in groups, oldest first. */
static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the last PENDING groups of this thread are complete. */
template <int PENDING> static __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* The corner of BLOCK's tile.  Blocks run in the order of their numbers, which go down GROUP rows
 * of tiles, then to the next column: concurrent blocks share rows of A and columns of B in the L2
 * cache. */
template <int GROUP, class T>
static __device__ __forceinline__ Corner grouped_corner(const Matrix<T> &c, int rows, int cols,
                                                        int64_t block = blockIdx.x) {
  const int64_t down = (c.rows + rows - 1) / rows, across = (c.cols + cols - 1) / cols;
  const int64_t group = block / (GROUP * across), rest = block % (GROUP * across);
  const int64_t height = min((int64_t)GROUP, down - group * GROUP); /* the last may be lower */
  return {(group * GROUP + rest % height) * rows, rest / height * cols};
}

#endif
