/* buffer: aligned host memory for matrices, with checked sizes. */
#ifndef DM_CORE_BUFFER_H
#define DM_CORE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

enum { DM_ALIGNMENT = 4096 }; /* bytes: a page, for direct I/O and pinning */

/* *memory points to BYTES of memory (at least one) that the caller frees with free(). */
dm_status dm_buffer_alloc(int64_t bytes, void **memory);

/* COUNT elements of SIZE bytes set to zero, for tables. */
dm_status dm_buffer_zeroed(int64_t count, int64_t size, void **memory);

/* The same for elements of the type that *POINTER points to. */
#define dm_buffer_table(count, pointer)                                                            \
  dm_buffer_zeroed(count, sizeof **(pointer), (void **)(pointer))

/* A pointer whose memory is freed at the end of its block: DM_FREED char *strip = NULL; */
#define DM_FREED __attribute__((cleanup(dm_buffer_cleanup)))
static inline void dm_buffer_cleanup(void *pointer) {
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  free(memory);
}

/* DM_E_FIT: a limit on address space or data (ulimit -v, -d) leaves no BYTES for NEED, "OpenBLAS
 * with 8 threads". Libraries that find no memory retry for ever, or crash: ask before they are
 * called. */
dm_status dm_memory_room(int64_t bytes, const char *need);

/* Physical memory of this node, and the memory available now, the smaller value of the kernel's and
 * the control group's; bytes. 0: unknown. */
int64_t dm_memory_total(void);
int64_t dm_memory_available(void);

/* Private memory of this process in bytes, now and its peak. Pages of mapped files, such as the
 * program, do not count: ranks share them and the kernel can drop them. 0: unknown. The peak is
 * exact as long as the number of pages of mapped files stays the same. */
int64_t dm_memory_own(void);
int64_t dm_memory_own_peak(void);

/* Whether the byte at MEMORY can be read by this process; that of a GPU cannot. */
bool dm_memory_is_readable(const void *memory);

/* ---- pages ---- */

/* Populates all pages from BASE, a page boundary, on all cores that this process may use; WRITE:
 * for writing. Returns 0, or the errno that would otherwise become a signal later; EINVAL: Linux is
 * older than 5.14, nothing was done. */
int dm_populate(void *base, int64_t bytes, bool write);

#endif
