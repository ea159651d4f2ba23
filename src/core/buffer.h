/* buffer: host memory for matrices: aligned, its size checked, its failure an error. */
#ifndef DM_CORE_BUFFER_H
#define DM_CORE_BUFFER_H

#include <stdint.h>

#include "core/status.h"

enum { DM_ALIGNMENT = 4096 }; /* bytes: a page, for direct I/O and pinning */

/* *memory points to BYTES of memory (at least one) that the caller frees with free(). */
dm_status dm_buffer_alloc(int64_t bytes, void **memory);

/* The same, set to zero: for tables; COUNT elements of SIZE bytes. */
dm_status dm_buffer_zeroed(int64_t count, int64_t size, void **memory);

/* The same of what *POINTER, a typed one, points to. */
#define dm_buffer_table(count, pointer)                                                            \
  dm_buffer_zeroed(count, sizeof **(pointer), (void **)(pointer))

/* Physical memory of this node in bytes, and what is free to use now: the smaller of what the
 * kernel and the control group say.  0 where unknown. */
int64_t dm_memory_total(void);
int64_t dm_memory_available(void);

/* Bytes of memory of this process' own, now and at most so far: not what is mapped from files, as
 * the program itself, which ranks share and the kernel can drop.  0 where unknown.  The peak is as
 * exact as what is mapped from files stays. */
int64_t dm_memory_own(void);
int64_t dm_memory_own_peak(void);

#endif
