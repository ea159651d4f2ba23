#include "dataset/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/wide_vectors.h"
#include "dataset/blosc2.h"

#ifdef DAMIER_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef DAMIER_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef DAMIER_HAVE_BLOSC
#include <blosc.h>
#endif

enum {
  ZSTD = DM_ZSTD_FILTER,
  LZ4 = 32004,
  BITSHUFFLE = 32008,
  BLOSC = DM_BLOSC_FILTER,
  MOST_BYTES = 1 << 30, /* of a block: HDF5's chunks are smaller than 4 GiB, LZ4 counts in int */
  LZ4_HEADER = 12,
  DEFAULT_BLOCK = 1 << 13 /* bytes, of bitshuffle; of LZ4 far more */
};

static const bool has_zstd =
#ifdef DAMIER_HAVE_ZSTD
    true;
#else
    false;
#endif
static const bool has_lz4 =
#ifdef DAMIER_HAVE_LZ4
    true;
#else
    false;
#endif

const char *dm_codec_names(void) {
  return
#ifdef DAMIER_HAVE_DEFLATE
      "deflate (libdeflate), "
#else
      "deflate (zlib), "
#endif
      "bitshuffle"
#ifdef DAMIER_HAVE_ZSTD
      ", zstd"
#endif
#ifdef DAMIER_HAVE_LZ4
      ", lz4"
#endif
#ifdef DAMIER_HAVE_BLOSC
      ", blosc"
#endif
#ifdef DAMIER_HAVE_BLOSC2
      ", blosc2"
#endif
      ;
}

static bool find_bitshuffle(size_t count, const unsigned *values, dm_codec *codec) {
  const unsigned inner = count > 4 ? values[4] : 0;
  codec->size = count > 2 ? values[2] : 0;
  codec->block = count > 3 ? values[3] : 0;
  if (codec->size <= 0 || codec->block > MOST_BYTES / codec->size ||
      codec->block % DM_BITS_TOGETHER != 0)
    return false;
  codec->inner = inner == DM_BITS_LZ4    ? DM_BITS_LZ4
                 : inner == DM_BITS_ZSTD ? DM_BITS_ZSTD
                                         : DM_BITS_ONLY;
  return inner == 0 || (inner == DM_BITS_LZ4 && has_lz4) || (inner == DM_BITS_ZSTD && has_zstd);
}

bool dm_codec_find(int id, size_t count, const unsigned *values, dm_codec *codec) {
  *codec = (dm_codec){0};
  switch (id) {
  case ZSTD:
    codec->kind = DM_CODEC_ZSTD;
    return has_zstd;
  case LZ4:
    codec->kind = DM_CODEC_LZ4;
    codec->size = 1;
    codec->block = count > 0 ? values[0] : 0;
    return has_lz4;
  case DM_LZ4_SIZED:
    codec->kind = DM_CODEC_LZ4_SIZED;
    return has_lz4;
  case BITSHUFFLE:
    codec->kind = DM_CODEC_BITSHUFFLE;
    return find_bitshuffle(count, values, codec);
#ifdef DAMIER_HAVE_BLOSC
  case BLOSC:
    codec->kind = DM_CODEC_BLOSC;
    return true;
#endif
#ifdef DAMIER_HAVE_BLOSC2
  case DM_BLOSC2_FILTER:
    codec->kind = DM_CODEC_BLOSC2;
    dm_blosc2_start();
    return true;
#endif
  default:
    return false;
  }
}

int64_t dm_codec_growth(const dm_codec *codec, int64_t bytes) {
  enum { PER_BLOCK = 32 }; /* its length, and the header of zstd or what LZ4 adds to it */
  const int64_t block = codec->block > 0 ? codec->size * codec->block : DEFAULT_BLOCK;
  const bool in_blocks = codec->kind == DM_CODEC_LZ4 || codec->inner != DM_BITS_ONLY;
  return in_blocks ? bytes / block * PER_BLOCK : 0;
}

/* Each unpacks LENGTH bytes of DATA to OUT and returns the bytes written, at most ROOM; -1: the
 * data are damaged. */
static int64_t undo_zstd(const void *data, int64_t length, void *out, int64_t room) {
#ifdef DAMIER_HAVE_ZSTD
  const size_t made = ZSTD_decompress(out, (size_t)room, data, (size_t)length);
  return ZSTD_isError(made) ? -1 : (int64_t)made;
#else
  return (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

static int64_t undo_zstd_block(void *context, const void *data, int64_t length, void *out,
                               int64_t room) {
#ifdef DAMIER_HAVE_ZSTD
  const size_t made = ZSTD_decompressDCtx(context, out, (size_t)room, data, (size_t)length);
  return ZSTD_isError(made) ? -1 : (int64_t)made;
#else
  return (void)context, (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

static int64_t undo_lz4_block(void *context, const void *data, int64_t length, void *out,
                              int64_t room) {
  (void)context;
#ifdef DAMIER_HAVE_LZ4
  if (length > MOST_BYTES) return -1;
  return LZ4_decompress_safe(data, out, (int)length, (int)dm_min(room, MOST_BYTES));
#else
  return (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

static int64_t undo_blosc(const void *data, int64_t length, void *out, int64_t room) {
#ifdef DAMIER_HAVE_BLOSC
  size_t made = 0;
  if (length < BLOSC_MIN_HEADER_LENGTH ||
      blosc_cbuffer_validate(data, (size_t)length, &made) != 0 || made > (size_t)room)
    return -1;
  return blosc_decompress_ctx(data, out, made, 1);
#else
  return (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

/* A header (bytes of all data, bytes of a block), then blocks, each after its packed size; a block
 * that was not reduced is stored as it is. */
static int64_t undo_lz4(const unsigned char *data, int64_t length, unsigned char *out,
                        int64_t room) {
  if (length < LZ4_HEADER) return -1;
  const uint64_t all = dm_big_endian(data, 8), each = dm_big_endian(data + 8, 4);
  int64_t at = LZ4_HEADER, made = 0;
  if (all > (uint64_t)room || (each == 0 && all > 0)) return -1;
  while (made < (int64_t)all) {
    const int64_t block = dm_min((int64_t)each, (int64_t)all - made);
    if (length - at < 4) return -1;
    const int64_t packed = (int64_t)dm_big_endian(data + at, 4);
    at += 4;
    if (packed > length - at) return -1;
    if (packed == block)
      memcpy(out + made, data + at, (size_t)block);
    else if (undo_lz4_block(NULL, data + at, packed, out + made, block) != block)
      return -1;
    at += packed;
    made += block;
  }
  return made;
}

/* The size is little-endian. */
static int64_t undo_lz4_sized(const unsigned char *data, int64_t length, void *out, int64_t room) {
  enum { CODEC_SIZE = 4 };
  int64_t size = 0;
  if (length < CODEC_SIZE) return -1;
  for (int i = CODEC_SIZE - 1; i >= 0; i--) size = size << 8 | data[i];
  return size > room ||
                 undo_lz4_block(NULL, data + CODEC_SIZE, length - CODEC_SIZE, out, size) != size
             ? -1
             : size;
}

static dm_status undo_bitshuffle(const dm_codec *codec, const void *data, int64_t length, void *out,
                                 int64_t room, int64_t *made) {
  dm_bitshuffle how = {.size = codec->size, .block = codec->block};
  if (codec->inner == DM_BITS_LZ4) how.unpack = undo_lz4_block;
#ifdef DAMIER_HAVE_ZSTD
  if (codec->inner == DM_BITS_ZSTD) {
    how.unpack = undo_zstd_block;
    how.context = ZSTD_createDCtx(); /* larger than a block */
    if (!how.context) return dm_fail(DM_E_FIT, "no memory to unpack a chunk of zstd");
  }
#endif
  dm_status status = dm_bitshuffle_undo(how, data, length, out, room, made);
#ifdef DAMIER_HAVE_ZSTD
  ZSTD_freeDCtx(how.context);
#endif
  return status;
}

dm_status dm_codec_undo(const dm_codec *codec, const void *data, int64_t *length, void *out,
                        int64_t room) {
  static const char *const names[] = {"zstd", "LZ4", "bitshuffle", "blosc", "blosc2", "LZ4"};
  int64_t made = -1;
  switch (codec->kind) {
  case DM_CODEC_ZSTD:
    made = undo_zstd(data, *length, out, room);
    break;
  case DM_CODEC_LZ4:
    made = undo_lz4(data, *length, out, room);
    break;
  case DM_CODEC_LZ4_SIZED:
    made = undo_lz4_sized(data, *length, out, room);
    break;
  case DM_CODEC_BLOSC:
    made = undo_blosc(data, *length, out, room);
    break;
  case DM_CODEC_BLOSC2:
    made = dm_blosc2_undo(data, *length, out, room);
    break;
  case DM_CODEC_BITSHUFFLE:
    DM_TRY(undo_bitshuffle(codec, data, *length, out, room, &made));
    break;
  }
  if (made < 0) return dm_fail(DM_E_INPUT, "it is not valid %s data", names[codec->kind]);
  *length = made;
  return DM_OK;
}

dm_status dm_codec_pack(const void *data, int64_t *length, int level, void *out, bool *gained) {
  *gained = false;
#ifdef DAMIER_HAVE_ZSTD
  /* Fails if the room is too small: the chunk is stored as it is. */
  const size_t made = ZSTD_compress(out, (size_t)*length, data, (size_t)*length, level);
  *gained = !ZSTD_isError(made) && (int64_t)made < *length;
  if (*gained) *length = (int64_t)made;
  return DM_OK;
#else
  (void)data, (void)length, (void)level, (void)out;
  return dm_hint(dm_fail(DM_E_USAGE, "this build has no zstd"), "--deflate compresses C, too");
#endif
}

dm_status dm_codec_frame(const void *data, int64_t bytes, int level, void *out, int64_t room,
                         int64_t *made) {
#ifdef DAMIER_HAVE_ZSTD
  const size_t size = ZSTD_compress(out, (size_t)room, data, (size_t)bytes, level);
  if (ZSTD_isError(size)) return dm_fail(DM_E_FIT, "zstd: %s", ZSTD_getErrorName(size));
  *made = (int64_t)size;
  return DM_OK;
#else
  (void)data, (void)bytes, (void)level, (void)out, (void)room, (void)made;
  return dm_fail(DM_E_USAGE, "this build has no zstd");
#endif
}

/* ---- shuffled bytes and bits ---- */

/* SIZE is constant where this is inlined. Gathers the first bytes of all elements, then the second
 * ones, ... */
static inline __attribute__((always_inline)) void gather_bytes(const unsigned char *restrict data,
                                                               int64_t count, int64_t size,
                                                               unsigned char *restrict out) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t byte = 0; byte < size; byte++) out[i * size + byte] = data[byte * count + i];
}

static inline __attribute__((always_inline)) void spread_bytes(const unsigned char *restrict data,
                                                               int64_t count, int64_t size,
                                                               unsigned char *restrict out) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t byte = 0; byte < size; byte++) out[byte * count + i] = data[i * size + byte];
}

#define BY_SIZE(move)                                                                              \
  switch (size) {                                                                                  \
  case 2:                                                                                          \
    move(data, count, 2, out);                                                                     \
    break;                                                                                         \
  case 4:                                                                                          \
    move(data, count, 4, out);                                                                     \
    break;                                                                                         \
  case 8:                                                                                          \
    move(data, count, 8, out);                                                                     \
    break;                                                                                         \
  case 16:                                                                                         \
    move(data, count, 16, out);                                                                    \
    break;                                                                                         \
  default:                                                                                         \
    move(data, count, size, out);                                                                  \
  }

void dm_chunk_unshuffle(const unsigned char *data, int64_t length, int64_t size,
                        unsigned char *out) {
  int64_t count = length / size;
  if (count <= 1) size = 1, count = length; /* the order does not change */
  BY_SIZE(gather_bytes)
  memcpy(out + count * size, data + count * size, (size_t)(length - count * size));
}

void dm_chunk_shuffle(const unsigned char *data, int64_t length, int64_t size, unsigned char *out) {
  int64_t count = length / size;
  if (count <= 1) size = 1, count = length;
  BY_SIZE(spread_bytes)
  memcpy(out + count * size, data + count * size, (size_t)(length - count * size));
}

enum { CODEC_HEADER = 12, DEFAULT_BYTES = 8192, LEAST_BLOCK = 128 };

/* Exchanges the bits of *A above SHIFT that MASK leaves there with those of *B. */
DM_INLINE void codec_exchange(uint64_t *a, uint64_t *b, int shift, uint64_t mask) {
  const uint64_t different = (*a >> shift ^ *b) & mask;
  *b ^= different;
  *a ^= different << shift;
}

/* X[i] holds bit i of a byte of 64 elements, those of elements 8 j to 8 j + 7 in byte j; then X[i]
 * holds the whole bytes of elements i, 8 + i, ...: 8 transpositions of 8 x 8 bits at once. */
DM_INLINE void codec_transpose(uint64_t x[8]) {
  for (int i = 0; i < 4; i++) codec_exchange(&x[i], &x[i + 4], 4, 0x0f0f0f0f0f0f0f0f);
  for (int i = 0; i < 2; i++) {
    codec_exchange(&x[i], &x[i + 2], 2, 0x3333333333333333);
    codec_exchange(&x[i + 4], &x[i + 6], 2, 0x3333333333333333);
  }
  for (int i = 0; i < 8; i += 2) codec_exchange(&x[i], &x[i + 1], 1, 0x5555555555555555);
}

enum { CODEC_STEP = 32 }; /* bytes of each plane that are turned at a time: a wide vector */

/* Turns CODEC_STEP bytes of each of 8 planes, APART bytes apart, into the bytes of 8 * CODEC_STEP
 * elements. Compilers make vectors of these loops. */
DM_INLINE void codec_turn(const unsigned char *planes, int64_t apart, unsigned char *restrict out) {
  unsigned char bytes[8 * CODEC_STEP];
  for (int at = 0; at < CODEC_STEP; at += 8) {
    uint64_t x[8];
    for (int i = 0; i < 8; i++) memcpy(&x[i], planes + i * apart + at, 8);
    codec_transpose(x);
    for (int i = 0; i < 8; i++) memcpy(bytes + i * CODEC_STEP + at, &x[i], 8);
  }
  gather_bytes(bytes, CODEC_STEP, 8, out);
}

/* 8 planes of ROW bytes each become the bytes of 8 * ROW elements. */
DM_INLINE void turn_planes_loop(const unsigned char *planes, int64_t row, unsigned char *out) {
  unsigned char few[8 * CODEC_STEP] = {0}, turned[8 * CODEC_STEP];
  int64_t at = 0;
  for (; at + CODEC_STEP <= row; at += CODEC_STEP) codec_turn(planes + at, row, out + 8 * at);
  if (at == row) return;
  for (int i = 0; i < 8; i++)
    memcpy(few + i * CODEC_STEP, planes + i * row + at, (size_t)(row - at));
  codec_turn(few, CODEC_STEP, turned);
  memcpy(out + 8 * at, turned, (size_t)(8 * (row - at)));
}

DM_BOTH_WIDTHS(turn_planes, (const unsigned char *planes, int64_t row, unsigned char *out),
               (planes, row, out))

/* Planes of bits, bit 0 of byte 0 of all elements first, become COUNT elements of SIZE bytes. BYTES
 * has the same room: it holds byte 0 of all elements, then byte 1, ... */
static void untangle(const unsigned char *planes, int64_t count, int64_t size, unsigned char *bytes,
                     unsigned char *out) {
  unsigned char *const to = size == 1 ? out : bytes;
  for (int64_t at = 0; at < count * size; at += count) turn_planes(planes + at, count / 8, to + at);
  if (size > 1) dm_chunk_unshuffle(bytes, count * size, size, out);
}

typedef struct codec_blocks {
  dm_bitshuffle how;
  const unsigned char *data, *end;
  unsigned char *planes, *bytes; /* room for a block */
} codec_blocks;

/* Unpacks the next block, of COUNT elements. */
static bool undo_block(codec_blocks *b, int64_t count, unsigned char *out) {
  const int64_t bytes = count * b->how.size;
  const unsigned char *planes = b->data;
  int64_t packed = bytes;
  if (b->how.unpack) {
    if (b->end - b->data < 4) return false;
    packed = (int64_t)dm_big_endian(b->data, 4);
    b->data += 4;
  }
  if (packed > b->end - b->data) return false;
  if (b->how.unpack) {
    if (b->how.unpack(b->how.context, b->data, packed, b->planes, bytes) != bytes) return false;
    planes = b->planes;
  }
  b->data += packed;
  untangle(planes, count, b->how.size, b->bytes, out);
  return true;
}

/* Whole blocks, then a shorter one, then elements that are stored as they are. */
static bool undo_blocks(codec_blocks *b, int64_t bytes, unsigned char *out) {
  int64_t left = bytes / b->how.size;
  while (left >= DM_BITS_TOGETHER) {
    const int64_t count = dm_min(b->how.block, left / DM_BITS_TOGETHER * DM_BITS_TOGETHER);
    if (!undo_block(b, count, out)) return false;
    out += count * b->how.size;
    left -= count;
  }
  if (b->end - b->data != left * b->how.size) return false;
  memcpy(out, b->data, (size_t)(left * b->how.size));
  return true;
}

dm_status dm_bitshuffle_undo(dm_bitshuffle how, const unsigned char *data, int64_t length,
                             unsigned char *out, int64_t room, int64_t *made) {
  const int64_t size = how.size;
  codec_blocks b = {.how = how, .data = data, .end = data + length};
  uint64_t bytes = (uint64_t)length;
  int64_t *block = &b.how.block;
  *made = -1;
  if (*block <= 0)
    *block = dm_max(LEAST_BLOCK, DEFAULT_BYTES / size / DM_BITS_TOGETHER * DM_BITS_TOGETHER);
  if (how.unpack) {
    if (length < CODEC_HEADER) return DM_OK;
    bytes = dm_big_endian(data, 8);
    *block = (int64_t)dm_big_endian(data + 8, 4) / size;
    b.data += CODEC_HEADER;
  }
  if (bytes > (uint64_t)room || (int64_t)bytes % size != 0 || *block <= 0 ||
      *block % DM_BITS_TOGETHER != 0)
    return DM_OK;
  const int64_t most = dm_min(*block, (int64_t)bytes / size) * size;
  void *memory;
  DM_TRY(dm_buffer_zeroed(2, most, &memory));
  b.planes = memory;
  b.bytes = b.planes + most;
  if (undo_blocks(&b, (int64_t)bytes, out)) *made = (int64_t)bytes;
  free(memory);
  return DM_OK;
}
