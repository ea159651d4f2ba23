/* bulk_copy: copies of boxes of a matrix between global and shared memory by Hopper's tensor memory
 * accelerator (TMA).  One thread issues the copy of a whole box; a tensor map (tensor_map.cuh)
 * describes the matrix.  Loads beyond its borders read zeros, stores there are dropped. */
#ifndef DM_KERNELS_BULK_COPY_CUH
#define DM_KERNELS_BULK_COPY_CUH

#include <cuda.h>

#include "kernels/product/mbarrier.cuh"

/* Prefetches the map. */
static __device__ __forceinline__ void prefetch_map(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Loads the box at (ROW, COL); BARRIER counts its bytes. */
static __device__ __forceinline__ void load_box(void *to, const CUtensorMap *map, int col, int row,
                                                uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier))
               : "memory");
}

/* The same for every block of the cluster whose bit is set in BLOCKS; each counts at its own
 * barrier. */
static __device__ __forceinline__ void load_box_for(int blocks, void *to, const CUtensorMap *map,
                                                    int col, int row, uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(col), "r"(row), "r"(shared_address(barrier)),
               "h"((unsigned short)blocks)
               : "memory");
}

/* Prefetches the box to the L2 cache. */
static __device__ __forceinline__ void prefetch_box(const CUtensorMap *map, int col, int row) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map),
               "r"(col), "r"(row)
               : "memory");
}

/* Makes this thread's stores to shared memory visible to TMA. */
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

/* Adds the box to global memory, in the L2 cache. */
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

/* Waits until all but the last PENDING groups of this thread have read shared memory. */
template <int PENDING> static __device__ __forceinline__ void wait_for_bulk_reads() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

#endif
