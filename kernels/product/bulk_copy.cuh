/* bulk_copy: boxes of a matrix, copied between global and shared memory by Hopper's
 * tensor memory accelerator (TMA).  One thread asks for a whole box; a tensor map (tensor_map.cuh)
 * says where it lies.  Beyond the borders of the matrix zeros are read, and nothing is written. */
#ifndef DM_KERNELS_BULK_COPY_CUH
#define DM_KERNELS_BULK_COPY_CUH

#include <cuda.h>

#include "kernels/product/mbarrier.cuh"

/* The map is fetched before it is needed. */
static __device__ __forceinline__ void prefetch_map(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* The box at column COL of row ROW; BARRIER counts its bytes. */
static __device__ __forceinline__ void load_box(void *to, const CUtensorMap *map, int col, int row,
                                                uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier))
               : "memory");
}

/* The same into every block of the cluster whose bit stands in BLOCKS, each counting at its own
 * barrier. */
static __device__ __forceinline__ void load_box_for(int blocks, void *to, const CUtensorMap *map,
                                                    int col, int row, uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier)),
               "h"((unsigned short)blocks)
               : "memory");
}

/* The box is fetched into the L2 cache. */
static __device__ __forceinline__ void prefetch_box(const CUtensorMap *map, int col, int row) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map),
               "r"(col), "r"(row)
               : "memory");
}

/* What this thread has stored to shared memory becomes visible to TMA. */
static __device__ __forceinline__ void publish_to_bulk_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void store_box(const CUtensorMap *map, const void *from, int col,
                                                 int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(shared_address(from)), "r"(col), "r"(row)
      : "memory");
}

/* The box is added to what lies there, by the L2 cache. */
static __device__ __forceinline__ void add_box(const CUtensorMap *map, const void *from, int col,
                                               int row) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
               "[%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(col), "r"(row)
               : "memory");
}

/* Stores are committed in groups. */
static __device__ __forceinline__ void commit_bulk_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Until all but the last PENDING groups of this thread have read shared memory. */
template <int PENDING> static __device__ __forceinline__ void wait_for_bulk_reads() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

#endif
