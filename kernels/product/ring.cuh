/* ring: stages in shared memory that all threads of a block fill by asynchronous copies and all
 * warps read in sequence, guarded by barriers that count arrivals (mbarrier, since Ampere).  Unlike
 * with __syncthreads, no warp waits for one that lags slightly behind.
 *
 * Every stage has two barriers: FILLED, at which each thread's copies arrive, and READ, at which
 * each warp arrives.  A thread waits for the end of the phase with a given parity; in a new
 * barrier, the phase of parity 1 counts as over.  Addresses are in shared memory. */
#ifndef DM_KERNELS_RING_CUH
#define DM_KERNELS_RING_CUH

/* Bytes of barriers per stage. */
constexpr int RING_BARRIERS = 16;

struct Ring {
  unsigned stages, barriers; /* start addresses */
  int count, bytes;          /* number of stages, bytes per stage */

  __device__ __forceinline__ unsigned stage(int slot) const {
    return stages + slot * bytes;
  }
  __device__ __forceinline__ unsigned filled(int slot) const {
    return barriers + slot * RING_BARRIERS;
  }
  __device__ __forceinline__ unsigned read(int slot) const {
    return filled(slot) + RING_BARRIERS / 2;
  }
};

/* A stage, and the parity of its phase. */
struct RingPlace {
  int slot, parity;

  __device__ __forceinline__ RingPlace next(int count) const {
    return slot + 1 == count ? RingPlace{0, parity ^ 1} : RingPlace{slot + 1, parity};
  }
};

/* Creates a ring of COUNT stages in MEMORY; synchronizes the block. */
static __device__ __forceinline__ Ring make_ring(void *memory, int count, int bytes) {
  const unsigned begin = (unsigned)__cvta_generic_to_shared(memory);
  Ring ring = {begin, begin + count * bytes, count, bytes};
  if (threadIdx.x == 0)
    for (int slot = 0; slot < count; slot++) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(ring.filled(slot)), "r"(blockDim.x)
                   : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(ring.read(slot)), "r"(blockDim.x / 32)
                   : "memory");
    }
  __syncthreads();
  asm volatile("" : "+r"(ring.stages)); /* keeps it in a register: recomputing it is slow */
  return ring;
}

/* Whether the phase of PARITY is over. */
static __device__ __forceinline__ bool phase_over(unsigned barrier, int parity) {
  int over;
#if __CUDA_ARCH__ >= 900
#define DM_TEST "mbarrier.try_wait" /* waits for a limited time */
#else
#define DM_TEST "mbarrier.test_wait"
#endif
  asm volatile("{\n"
               ".reg .pred over;\n" DM_TEST ".parity.shared.b64 over, [%1], %2;\n"
               "selp.b32 %0, 1, 0, over;\n"
               "}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
#undef DM_TEST
  return over;
}

/* Waits for the end of the phase, unless it is known to be OVER. */
static __device__ __forceinline__ void await_phase(unsigned barrier, int parity,
                                                   bool over = false) {
  while (!over) over = phase_over(barrier, parity);
}

/* Arrives for this thread once all its copies so far are complete. */
static __device__ __forceinline__ void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/* Arrives once for the whole warp. */
static __device__ __forceinline__ void arrive_as_warp(unsigned barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("{\n"
                 ".reg .b64 state;\n"
                 "mbarrier.arrive.shared.b64 state, [%0];\n"
                 "}" ::"r"(barrier)
                 : "memory");
}

#endif
