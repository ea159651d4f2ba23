/* async_copy: copies from global to shared memory that pass no register and that a thread does not
 * wait for (cp.async, since Ampere).  They are committed in groups and waited for in groups, oldest
 * first. */
#ifndef DM_KERNELS_ASYNC_COPY_CUH
#define DM_KERNELS_ASYNC_COPY_CUH

/* BYTES (4, 8 or 16, and aligned so) go to TO; those from the VALID-th on become 0 and are not
 * read. */
template <int BYTES>
static __device__ __forceinline__ void copy_async(void *to, const void *from, int valid) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(BYTES), "r"(valid)
                 : "memory");
}

static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until all but the last PENDING groups of this thread have arrived. */
template <int PENDING> static __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#endif
