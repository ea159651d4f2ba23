/* batch: moves bytes between memory and one run of a file, in few large calls, and writes those of
 * C in several ways. */
#ifndef DM_IO_BATCH_H
#define DM_IO_BATCH_H

#include <stdbool.h>
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
  int64_t calls; /* so far */
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

/* Whether FILE, which is open as FD, is empty or holds only zeros, as after a loss of power. */
dm_status dm_batch_is_zero(const char *file, int fd, bool *zero);

/* Reserves BYTES of a file from AT on on its disk; MODE as in fallocate(2). Returns errno; 0 also
 * if the file system cannot do that. */
int dm_batch_reserve(int fd, int mode, int64_t at, int64_t bytes);

/* ---- the ways to write the bytes of C to its file, whose length and space exist ---- */

typedef enum dm_write_way {
  DM_WRITE_PWRITE, /* through the page cache: works everywhere */
  DM_WRITE_MAPPED, /* into mapped pages: pwrite serialises the threads of a node */
  DM_WRITE_AUTO,   /* only as a wish: choose what suits the file system */
} dm_write_way;

const char *dm_write_way_name(dm_write_way way);

/* Chooses the way for the existing FILE, which WRITERS threads of a node write at once. DM_E_USAGE:
 * WISH, unless AUTO, is not supported. */
dm_status dm_write_way_choose(const char *file, dm_write_way wish, int writers, dm_write_way *way);

typedef struct dm_file_writer {
  int fd;
  const char *file; /* for messages */
  char *pages;      /* all of the file; NULL: pwrite */
  int64_t length;
} dm_file_writer;

/* The flags for open(2) that WAY needs. */
int dm_file_writer_flags(dm_write_way way);

/* FD is FILE, opened with those flags; the caller closes it. Where pages cannot be mapped, bytes
 * are written with pwrite. */
dm_status dm_file_writer_open(int fd, const char *file, dm_write_way way, dm_file_writer *writer);
void dm_file_writer_close(dm_file_writer *writer);

/* Whether a piece of BYTES goes into mapped pages; shorter ones are written with pwrite. */
bool dm_file_writer_maps(const dm_file_writer *writer, int64_t bytes);

/* Writes BYTES of MEMORY at OFFSET. As after pwrite, the system has them on return; a sync of FD
 * puts them on the disk. Several threads and processes may write ranges that do not overlap. */
dm_status dm_file_writer_bytes(const dm_file_writer *writer, const void *memory, int64_t bytes,
                               int64_t offset);

#endif
