/* batch: moves bytes between memory and one run of a file, in few large calls. */
#ifndef DM_FILE_BATCH_H
#define DM_FILE_BATCH_H

#include <stdint.h>
#include <sys/uio.h>

#include "core/status.h"

enum { DM_BATCH_PIECES = 1024 }; /* IOV_MAX of Linux */

typedef struct dm_batch {
  int fd;
  bool writing;
  const char *file;              /* for messages */
  const dm_keepalive *keepalive; /* beats with every call; or NULL */
  int64_t offset, bytes;
  int count;
  struct iovec list[DM_BATCH_PIECES];
} dm_batch;

void dm_batch_start(dm_batch *batch, int fd, bool writing, const char *file,
                    const dm_keepalive *keepalive);

/* Adds BYTES of MEMORY for OFFSET of the file. They move now or with later ones. */
dm_status dm_batch_add(dm_batch *batch, void *memory, int64_t bytes, int64_t offset);

/* Moves everything added so far. */
dm_status dm_batch_flush(dm_batch *batch);

/* Reads or writes BYTES at OFFSET of FILE, which is open as FD, from or to MEMORY. */
dm_status dm_batch_move(int fd, bool writing, const char *file, void *memory, int64_t bytes,
                        int64_t offset);

/* The error for errno NUMBER when FILE was read or written at OFFSET. */
dm_status dm_batch_refused(const char *file, bool writing, int64_t offset, int number);

/* Whether FILE, which is open as FD, is empty or holds only zeros, as after a loss of power. */
dm_status dm_batch_is_zero(const char *file, int fd, bool *zero);

#endif
