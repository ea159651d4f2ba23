/* bitshuffle: byte shuffle (HDF5's own filter), and undoes the filter that gathers the first bits
 * of many elements, then the second ones, and so on, in blocks that may be packed by another codec.
 */
#ifndef DM_IO_BITSHUFFLE_H
#define DM_IO_BITSHUFFLE_H

#include <stdint.h>

#include "core/status.h"

enum { DM_BITS_TOGETHER = 8 }; /* a block has a multiple of so many elements */

static inline uint64_t dm_big_endian(const unsigned char *data, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | data[i];
  return value;
}

/* Turns LENGTH bytes, the first ones of all elements of SIZE bytes, then the second ones, and so
 * on, into elements. Bytes after the last whole element stay at the end. */
void dm_chunk_unshuffle(const unsigned char *data, int64_t length, int64_t size,
                        unsigned char *out);

/* The reverse. */
void dm_chunk_shuffle(const unsigned char *data, int64_t length, int64_t size, unsigned char *out);

/* Unpacks a block of LENGTH bytes; returns the bytes written, at most ROOM, or a negative number.
 */
typedef int64_t dm_unpack_block(void *context, const void *data, int64_t length, void *out,
                                int64_t room);

/* Unpacks LENGTH bytes of DATA, elements of SIZE bytes, to OUT, which has ROOM bytes. UNPACK,
 * called with CONTEXT: of blocks, whose length the data say; NULL: blocks of BLOCK elements (0: the
 * default) are not packed. *made is the number of bytes written; -1: the data are damaged.
 * DM_E_FIT: no memory. */
dm_status dm_bitshuffle_undo(dm_unpack_block *unpack, void *context, int64_t size, int64_t block,
                             const unsigned char *data, int64_t length, unsigned char *out,
                             int64_t room, int64_t *made);

#endif
