/* ring: stages of shared memory that all threads of a block fill by asynchronous copies and all
 * warps read, one after the other, guarded by barriers that count arrivals (mbarrier, since
 * Ampere).  Unlike behind __syncthreads, nobody waits for a warp that lags a little behind.
 *
 * Every stage has two barriers: FILLED, at which each thread's copies arrive, and READ, at which
 * each warp does.  Their phases take turns: a waiting thread names the parity of the phase that
 * shall be over; of a new barrier, phase 1 counts as over.  Addresses are those of shared memory.
 */
#ifndef DM_KERNELS_RING_CUH
#define DM_KERNELS_RING_CUH

/* Bytes of the barriers of a stage. */
constexpr int RING_BARRIERS = 16;

struct Ring {
  unsigned stages, barriers; /* where they begin */
  int count, bytes;          /* of stages, and in one */

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

/* Which stage, and the parity of its phase. */
struct RingPlace {
  int slot, parity;

  __device__ __forceinline__ RingPlace next(int count) const {
    return slot + 1 == count ? RingPlace{0, parity ^ 1} : RingPlace{slot + 1, parity};
  }
};

/* A ring of COUNT stages in MEMORY; all threads of the block come together here. */
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
  asm volatile("" : "+r"(ring.stages)); /* kept in a register: to find it again takes long */
  return ring;
}

/* Whether the phase of PARITY is over. */
static __device__ __forceinline__ bool phase_over(unsigned barrier, int parity) {
  int over;
#if __CUDA_ARCH__ >= 900
#define DM_TEST "mbarrier.try_wait" /* for a while */
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

/* Until it is, unless it was seen OVER. */
static __device__ __forceinline__ void await_phase(unsigned barrier, int parity,
                                                   bool over = false) {
  while (!over) over = phase_over(barrier, parity);
}

/* This thread arrives when all its copies so far have. */
static __device__ __forceinline__ void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/* This warp arrives, all its threads. */
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
