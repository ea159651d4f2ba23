/* file_writer: writes memory to a file whose length and space exist, in one of three ways. */
#ifndef DM_IO_FILE_WRITER_H
#define DM_IO_FILE_WRITER_H

#include <stdint.h>

#include "file/write_way.h"

typedef struct dm_file_writer dm_file_writer;

/* The flags for open(2) that WAY needs. */
int dm_file_writer_flags(dm_write_way way);

/* FD is FILE, opened with those flags; the caller closes it. If the system does not support WAY,
 * bytes are written with pwrite: see dm_file_writer_way. */
dm_status dm_file_writer_open(int fd, const char *file, dm_write_way way, dm_file_writer **writer);
dm_write_way dm_file_writer_way(const dm_file_writer *writer);
void dm_file_writer_close(dm_file_writer *writer); /* NULL is allowed */

/* Least bytes of a piece for WAY; shorter pieces are written with pwrite. */
int64_t dm_file_writer_least(const dm_file_writer *writer);

/* Writes BYTES of MEMORY at OFFSET. As after pwrite, the system has them on return; a sync of FD
 * puts them on the disk. Several threads and processes may write ranges that do not overlap. */
dm_status dm_file_writer_bytes(dm_file_writer *writer, const void *memory, int64_t bytes,
                               int64_t offset);

#endif
