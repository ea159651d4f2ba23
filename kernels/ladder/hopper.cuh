/* hopper: barriers that count arrivals and copied bytes, copies of boxes of a matrix by the tensor
 * memory accelerator (TMA), and what all products by wgmma need.  (PTX ISA: mbarrier,
 * cp.async.bulk.tensor, wgmma) */
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
/* For 16-bit types and B by rows, with dm_kernels_aligned_scratch bytes. */
cudaError_t dm_prepare_rows_for_tma(dm_gemm *product, CUtensorMapDataType *type);

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

/* Loads the box at (ROW, COL), zeros beyond the matrix; BARRIER counts its bytes. */
static __device__ __forceinline__ void load_box(void *to, const CUtensorMap *map, int col, int row,
                                                uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier))
               : "memory");
}

/* ---- wgmma: D += A B, a 64 x K tile of A by a K x N tile of B in shared memory, with D in the
 * registers of a warpgroup; K is 32 bytes of a row.  Tiles have the layout of TMA: swizzled rows of
 * 128 bytes in groups of eight, located by a descriptor.  Rows run along k, or for 16-bit types
 * also along n. ---- */

/* NEXT_ROWS: bytes from eight rows to the next eight; NEXT_BLOCK: from a block of 128 bytes across
 * to the next. */
static __device__ __forceinline__ uint64_t tile_descriptor(const void *tile, int next_rows,
                                                           int next_block) {
  const uint64_t permuted_by_128_bytes = (uint64_t)1 << 62;
  return permuted_by_128_bytes | (uint64_t)(next_rows >> 4) << 32 |
         (uint64_t)(next_block >> 4) << 16 | (shared_address(tile) & 0x3FFFF) >> 4;
}

/* A descriptor BYTES further on. */
static __device__ __forceinline__ uint64_t advance(uint64_t descriptor, int bytes) {
  return descriptor + (uint64_t)(bytes >> 4);
}

/* Needed before the first product after writing registers or shared memory. */
static __device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until all but the last PENDING groups are complete. */
template <int PENDING> static __device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* The compiler may not move or copy D across this. */
template <int COUNT> static __device__ __forceinline__ void pin(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}
template <int COUNT> static __device__ __forceinline__ void pin(int32_t (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+r"(d[i])::"memory");
}

#endif
