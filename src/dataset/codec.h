/* codec: undoes filters of HDF5's registry whose libraries this build has, so that threads can
 * unpack their chunks without HDF5 and without plug-ins. */
#ifndef DM_DATASET_CODEC_H
#define DM_DATASET_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum { DM_CODEC_VALUES = 8 };

typedef enum dm_codec_kind {
  DM_CODEC_ZSTD,
  DM_CODEC_LZ4,
  DM_CODEC_BITSHUFFLE,
  DM_CODEC_BLOSC,
  DM_CODEC_BLOSC2,
  DM_CODEC_LZ4_SIZED /* Zarr's: one block after its size */
} dm_codec_kind;

/* A filter and what its values in the file say. */
typedef struct dm_codec {
  dm_codec_kind kind;
  enum { DM_BITS_ONLY, DM_BITS_LZ4 = 2, DM_BITS_ZSTD = 3 } inner; /* of bitshuffle */
  int64_t size, block; /* elements of SIZE bytes in a block of bitshuffle or LZ4; 0: the default */
} dm_codec;

/* The codec of HDF5's filter number ID with COUNT VALUES; false: this build has none. */
bool dm_codec_find(int id, size_t count, const unsigned *values, dm_codec *codec);

/* The bytes by which packing may enlarge BYTES bytes that it cannot reduce. */
int64_t dm_codec_growth(const dm_codec *codec, int64_t bytes);

/* Unpacks *length bytes of DATA to OUT, which has ROOM bytes, and sets *length to the bytes
 * written. */
dm_status dm_codec_undo(const dm_codec *codec, const void *data, int64_t *length, void *out,
                        int64_t room);

/* Filters' numbers in HDF5's registry; dm_codec_pack applies that of zstd. The last one is not
 * there. */
enum { DM_ZSTD_FILTER = 32015, DM_BLOSC_FILTER = 32001, DM_LZ4_SIZED = -4 };

/* Packs *length bytes of DATA to OUT, which has as many, with zstd at LEVEL, and sets *length to
 * those written. *gained: they are fewer; else *length stays. DM_E_USAGE: the build has no zstd. */
dm_status dm_codec_pack(const void *data, int64_t *length, int level, void *out, bool *gained);

/* Packs BYTES bytes of DATA, whatever that gains, into *made bytes of OUT, which has ROOM bytes;
 * dm_codec_frame_room(BYTES) are enough. */
static inline int64_t dm_codec_frame_room(int64_t bytes) {
  return bytes + bytes / 128 + 1024;
}
dm_status dm_codec_frame(const void *data, int64_t bytes, int level, void *out, int64_t room,
                         int64_t *made);

/* The names of this build's codecs: "deflate (libdeflate), bitshuffle, zstd". */
const char *dm_codec_names(void);

/* ---- byte shuffle (HDF5's own filter); and undoing bitshuffle, which gathers the first bits of
 * many elements, then the second ones, and so on, in blocks that may be packed by another codec
 * ---- */

enum { DM_BITS_TOGETHER = 8 }; /* a block has a multiple of so many elements */

static inline uint64_t dm_little_endian(const unsigned char *data, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | data[i];
  return value;
}

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

/* How elements of SIZE bytes were shuffled. UNPACK, called with CONTEXT: of blocks, whose length
 * the data say; NULL: blocks of BLOCK elements (0: the default) are not packed. */
typedef struct dm_bitshuffle {
  int64_t size, block;
  dm_unpack_block *unpack;
  void *context;
} dm_bitshuffle;

/* Unpacks LENGTH bytes of DATA to OUT, which has ROOM bytes. *made is the number of bytes written;
 * -1: the data are damaged. DM_E_FIT: no memory. */
dm_status dm_bitshuffle_undo(dm_bitshuffle how, const unsigned char *data, int64_t length,
                             unsigned char *out, int64_t room, int64_t *made);

#endif
