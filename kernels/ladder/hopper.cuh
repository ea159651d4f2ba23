/* hopper: barriers that count arrivals and copied bytes, clusters of blocks, and copies of boxes of
 * a matrix by the tensor memory accelerator (TMA).  (PTX ISA: mbarrier, cp.async.bulk.tensor) */
#ifndef DM_KERNELS_HOPPER_CUH
#define DM_KERNELS_HOPPER_CUH

#include <cuda.h>

#include "kernels/gemm.h"

/* Rows of boxes are as long as the 128-byte swizzle of shared memory: 16-byte piece p of row r is
 * stored at p XOR r mod 8, so that a column of pieces covers all banks. */
constexpr int BOX_ROW = 128; /* bytes */

/* Describes ROWS x COLS elements of SIZE bytes to TMA: rows STRIDE elements apart and aligned to 16
 * bytes; boxes of BOX_ROWS rows.  (helpers/tensor_map.cu) */
cudaError_t dm_tensor_map(CUtensorMap *map, CUtensorMapDataType type, int size, void *base,
                          int64_t rows, int64_t cols, int64_t stride, int box_rows);

/* Makes A and B of PRODUCT readable by TMA and wgmma: if need be, copies them to its scratch memory
 * of dm_kernels_tma_scratch bytes.  *TYPE: of their elements.  (helpers/repack.cu) */
cudaError_t dm_prepare_for_tma(dm_gemm *product, CUtensorMapDataType *type);

static inline bool runs_along_k(const dm_gemm_matrix &b) { /* B by columns */
  return b.row_stride == 1 && (b.col_stride != 1 || b.cols == 1);
}

static __device__ __forceinline__ uint32_t shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

/* A phase of a barrier ends after ARRIVALS and all announced bytes. */
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
/* Waits for the end of the phase of PARITY.  In a new barrier, that of parity 1 is over. */
static __device__ __forceinline__ void wait(uint64_t *barrier, int parity) {
  for (int over = 0; !over;)
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, over;\n"
                 "}"
                 : "=r"(over)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
}

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

/* Loads the box at (ROW, COL), zeros beyond the matrix; BARRIER counts its bytes.  With BLOCKS, a
 * set of bits, for every such block of the cluster; each counts at its own barrier. */
static __device__ __forceinline__ void load_box(void *to, const CUtensorMap *map, int col, int row,
                                                uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier))
               : "memory");
}
static __device__ __forceinline__ void load_box_for(int blocks, void *to, const CUtensorMap *map,
                                                    int col, int row, uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier)),
               "h"((unsigned short)blocks)
               : "memory");
}

/* Stores the box, or adds it to global memory in the L2 cache, but for what is outside. */
static __device__ __forceinline__ void store_box(const CUtensorMap *map, const void *from, int col,
                                                 int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(shared_address(from)), "r"(col), "r"(row)
      : "memory");
}
static __device__ __forceinline__ void add_box(const CUtensorMap *map, const void *from, int col,
                                               int row) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
               "[%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(col), "r"(row)
               : "memory");
}

#endif
