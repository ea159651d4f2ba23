/* async_copy: asynchronous copies from global to shared memory without registers (cp.async, since
 * Ampere).  They are committed and awaited in groups, oldest first. */
#ifndef DM_KERNELS_ASYNC_COPY_CUH
#define DM_KERNELS_ASYNC_COPY_CUH

/* Copies BYTES (4 or 8, aligned) to TO. */
template <int BYTES> static __device__ __forceinline__ void copy_async(void *to, const void *from) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES)
               : "memory");
}

/* The same if INSIDE; otherwise reads nothing and sets TO to 0.  SHARED: the address in shared
 * memory. */
template <int BYTES>
static __device__ __forceinline__ void copy_async_or_zero(unsigned shared, const void *from,
                                                          bool inside) {
  const int valid = inside ? BYTES : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES),
               "r"(valid)
               : "memory");
}
template <int BYTES>
static __device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool inside) {
  copy_async_or_zero<BYTES>((unsigned)__cvta_generic_to_shared(to), from, inside);
}

/* Copies 16 bytes, bypassing the L1 cache; reads only the first VALID, the others become 0. */
static __device__ __forceinline__ void copy_vector_async(unsigned shared, const void *from,
                                                         int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(valid)
               : "memory");
}
static __device__ __forceinline__ void copy_vector_async(void *to, const void *from, int valid) {
  copy_vector_async((unsigned)__cvta_generic_to_shared(to), from, valid);
}

static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the last PENDING groups of this thread are complete. */
template <int PENDING> static __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Waits for all copies, committed or not. */
static __device__ __forceinline__ void wait_for_all_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif
