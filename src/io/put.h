/* put: bytes from memory into a file whose length and space are there, in one of three ways. */
#ifndef DM_IO_PUT_H
#define DM_IO_PUT_H

#include <stdint.h>

#include "io/write_way.h"

typedef struct dm_put dm_put;

/* What open(2) has to be asked for, for WAY. */
int dm_put_flags(dm_write_way way);

/* FD is FILE, opened so, and stays the caller's.  Where the system does not allow WAY, bytes are
 * put by pwrite: dm_put_way tells. */
dm_status dm_put_open(int fd, const char *file, dm_write_way way, dm_put **put);
dm_write_way dm_put_way(const dm_put *put);
void dm_put_close(dm_put *put); /* NULL is allowed */

/* Bytes from which on a piece is worth another way than pwrite; shorter ones go by that. */
int64_t dm_put_least(const dm_put *put);

/* BYTES of MEMORY at OFFSET; they are with the system then, as after pwrite, and on the disk after
 * a sync of FD.  Several threads may put, and several processes, what does not overlap. */
dm_status dm_put_bytes(dm_put *put, const void *memory, int64_t bytes, int64_t offset);

#endif
