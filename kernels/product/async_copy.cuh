/* async_copy: copies from global to shared memory that pass no register and that a thread does not
 * wait for (cp.async, since Ampere).  They are committed in groups and waited for in groups, oldest
 * first. */
#ifndef DM_KERNELS_ASYNC_COPY_CUH
#define DM_KERNELS_ASYNC_COPY_CUH

/* BYTES (4 or 8, and aligned so) go to TO. */
template <int BYTES> static __device__ __forceinline__ void copy_async(void *to, const void *from) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES)
               : "memory");
}

/* The same, where INSIDE; otherwise nothing is read, and TO becomes 0.  SHARED: the address in
 * shared memory. */
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

/* 16 bytes, past the first-level cache, of which only the first VALID are read: the others become
 * 0. */
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

/* Until all but the last PENDING groups of this thread have arrived. */
template <int PENDING> static __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Until all have arrived, committed or not. */
static __device__ __forceinline__ void wait_for_all_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif
