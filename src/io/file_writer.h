/* file_writer: bytes from memory into a file whose length and space are there, in one of three
 * ways. */
#ifndef DM_IO_FILE_WRITER_H
#define DM_IO_FILE_WRITER_H

#include <stdint.h>

#include "io/write_way.h"

typedef struct dm_file_writer dm_file_writer;

/* What open(2) has to be asked for, for WAY. */
int dm_file_writer_flags(dm_write_way way);

/* FD is FILE, opened so, and stays the caller's.  Where the system does not allow WAY, bytes are
 * written by pwrite: dm_file_writer_way tells. */
dm_status dm_file_writer_open(int fd, const char *file, dm_write_way way, dm_file_writer **writer);
dm_write_way dm_file_writer_way(const dm_file_writer *writer);
void dm_file_writer_close(dm_file_writer *writer); /* NULL is allowed */

/* Bytes from which on a piece is worth another way than pwrite; shorter ones go by that. */
int64_t dm_file_writer_least(const dm_file_writer *writer);

/* BYTES of MEMORY at OFFSET; they are with the system then, as after pwrite, and on the disk after
 * a sync of FD.  Several threads may write, and several processes, what does not overlap. */
dm_status dm_file_writer_bytes(dm_file_writer *writer, const void *memory, int64_t bytes,
                               int64_t offset);

#endif
