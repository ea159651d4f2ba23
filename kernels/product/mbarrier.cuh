/* mbarrier: barriers in shared memory that count arrivals, and the bytes that TMA copies (Hopper).
 * Barriers go through phases: a thread waits for the end of the phase with a given parity; in a new
 * barrier, the phase of parity 1 counts as over. */
#ifndef DM_KERNELS_MBARRIER_CUH
#define DM_KERNELS_MBARRIER_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

/* A phase ends after ARRIVALS and all announced bytes. */
static __device__ __forceinline__ void init_barrier(uint64_t *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}

/* Makes new barriers visible to the other blocks of the cluster and to TMA. */
static __device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Arrives and announces BYTES of copies. */
static __device__ __forceinline__ void arrive_expecting(uint64_t *barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

static __device__ __forceinline__ void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

/* Arrives at the corresponding barrier of block RANK of the cluster. */
static __device__ __forceinline__ void arrive_at(uint64_t *barrier, int rank) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(shared_address(barrier)),
               "r"(rank)
               : "memory");
}

/* Waits for a limited time; returns whether the phase of PARITY is over. */
static __device__ __forceinline__ bool try_wait(uint64_t *barrier, int parity) {
  int over;
  asm volatile("{\n"
               ".reg .pred over;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
               "selp.b32 %0, 1, 0, over;\n"
               "}"
               : "=r"(over)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return over;
}

#ifndef DM_MBARRIER_STUCK /* lets a debugging build give up */
#define DM_MBARRIER_STUCK(barrier, parity, tries)
#endif

static __device__ __forceinline__ void wait(uint64_t *barrier, int parity) {
  for (unsigned tries = 0; !try_wait(barrier, parity); tries++)
    DM_MBARRIER_STUCK(barrier, parity, tries);
}

/* Synchronizes all threads of the cluster. */
static __device__ __forceinline__ void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

static __device__ __forceinline__ int rank_in_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* Synchronizes THREADS threads of the block, a multiple of 32, at named barrier ID. */
template <int THREADS> static __device__ __forceinline__ void synchronize_threads(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}

#endif
