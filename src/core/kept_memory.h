/* kept_memory: host memory of one product, kept for the next, whose pages are then there.
 *
 * The system may take pages that are kept (MADV_FREE): they count as available. */
#ifndef DM_CORE_KEPT_MEMORY_H
#define DM_CORE_KEPT_MEMORY_H

#include <stdint.h>

enum { DM_KEPT = 16 };

/* Blocks; initially all zero. */
typedef struct dm_kept_memory {
  struct {
    void *memory; /* NULL: none */
    int64_t bytes;
  } block[DM_KEPT];
} dm_kept_memory;

/* A kept block of BYTES or little more, which is the caller's now; NULL: there is none. */
void *dm_kept_take(dm_kept_memory *kept, int64_t bytes);

/* Keeps MEMORY of BYTES, from dm_buffer_alloc, or frees it; keeps nothing if address space or data
 * are limited (ulimit -v, -d). */
void dm_kept_give(dm_kept_memory *kept, void *memory, int64_t bytes);

/* Frees what is kept. */
void dm_kept_drop(dm_kept_memory *kept);

/* Those of the kept bytes that are in memory: never used pages are not, nor those that the system
 * took. */
int64_t dm_kept_bytes(const dm_kept_memory *kept);

#endif
