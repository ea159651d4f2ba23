/* cached_memory: host memory of one product, kept for the next, whose pages are then there.
 *
 * The system may take pages that are kept (MADV_FREE): they count as available. */
#ifndef DM_CORE_CACHED_MEMORY_H
#define DM_CORE_CACHED_MEMORY_H

#include <stdint.h>

enum { DM_CACHED = 16 };

/* Blocks; initially all zero. */
typedef struct dm_cached_memory {
  struct {
    void *memory; /* NULL: none */
    int64_t bytes;
  } block[DM_CACHED];
} dm_cached_memory;

/* A kept block of BYTES or little more, which is the caller's now; NULL: there is none. */
void *dm_cached_take(dm_cached_memory *cached, int64_t bytes);

/* Keeps MEMORY of BYTES, from dm_buffer_alloc, or frees it; keeps nothing if address space or data
 * are limited (ulimit -v, -d). */
void dm_cached_give(dm_cached_memory *cached, void *memory, int64_t bytes);

/* Frees what is kept. */
void dm_cached_drop(dm_cached_memory *cached);

/* Those of the kept bytes that are in memory: never used pages are not, nor those that the system
 * took. */
int64_t dm_cached_bytes(const dm_cached_memory *cached);

#endif
