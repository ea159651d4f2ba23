#include "file/bitshuffle.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/wide_vectors.h"

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

enum { HEADER = 12, DEFAULT_BYTES = 8192, LEAST_BLOCK = 128 };

/* Exchanges the bits of *A above SHIFT that MASK leaves there with those of *B. */
DM_INLINE void exchange(uint64_t *a, uint64_t *b, int shift, uint64_t mask) {
  const uint64_t different = (*a >> shift ^ *b) & mask;
  *b ^= different;
  *a ^= different << shift;
}

/* X[i] holds bit i of a byte of 64 elements, those of elements 8 j to 8 j + 7 in byte j; then X[i]
 * holds the whole bytes of elements i, 8 + i, ...: 8 transpositions of 8 x 8 bits at once. */
DM_INLINE void transpose(uint64_t x[8]) {
  for (int i = 0; i < 4; i++) exchange(&x[i], &x[i + 4], 4, 0x0f0f0f0f0f0f0f0f);
  for (int i = 0; i < 2; i++) {
    exchange(&x[i], &x[i + 2], 2, 0x3333333333333333);
    exchange(&x[i + 4], &x[i + 6], 2, 0x3333333333333333);
  }
  for (int i = 0; i < 8; i += 2) exchange(&x[i], &x[i + 1], 1, 0x5555555555555555);
}

/* Transposes BYTES bytes, at most 8, from each of 8 rows, COUNT bytes apart. */
DM_INLINE void transpose_rows(const unsigned char *rows, int64_t count, size_t bytes,
                              unsigned char *out) {
  uint64_t x[8] = {0};
  for (int i = 0; i < 8; i++) memcpy(&x[i], rows + i * count, bytes);
  transpose(x);
  for (int i = 0; i < 8; i++) memcpy(out + i * count, &x[i], bytes);
}

/* Compilers make vectors of this loop. */
DM_INLINE void transpose_planes(const unsigned char *restrict planes, int64_t count,
                                unsigned char *restrict out) {
  int64_t at = 0;
  for (; at + 8 <= count; at += 8) transpose_rows(planes + at, count, 8, out + at);
  if (at < count) transpose_rows(planes + at, count, (size_t)(count - at), out + at);
}

static void transpose_plain(const unsigned char *planes, int64_t count, unsigned char *out) {
  transpose_planes(planes, count, out);
}

DM_WIDE_VECTORS static void transpose_wide(const unsigned char *planes, int64_t count,
                                           unsigned char *out) {
  transpose_planes(planes, count, out);
}

/* Planes of bits, bit 0 of byte 0 of all elements first, become COUNT elements of SIZE bytes. BYTES
 * has the same room: it holds byte 0 of all elements, then byte 1, ... */
static void untangle(const unsigned char *planes, int64_t count, int64_t size, unsigned char *bytes,
                     unsigned char *out) {
  const bool wide = dm_has_wide_vectors();
  for (int64_t at = 0; at < count * size; at += count) {
    (wide ? transpose_wide : transpose_plain)(planes + at, count / 8, out);
    dm_chunk_unshuffle(out, count, 8, bytes + at);
  }
  dm_chunk_unshuffle(bytes, count * size, size, out);
}

typedef struct blocks {
  dm_unpack_block *unpack;
  void *context;
  int64_t size, block;
  const unsigned char *data, *end;
  unsigned char *planes, *bytes; /* room for a block */
} blocks;

/* Unpacks the next block, of COUNT elements. */
static bool undo_block(blocks *b, int64_t count, unsigned char *out) {
  const int64_t bytes = count * b->size;
  const unsigned char *planes = b->data;
  int64_t packed = bytes;
  if (b->unpack) {
    if (b->end - b->data < 4) return false;
    packed = (int64_t)dm_big_endian(b->data, 4);
    b->data += 4;
  }
  if (packed > b->end - b->data) return false;
  if (b->unpack) {
    if (b->unpack(b->context, b->data, packed, b->planes, bytes) != bytes) return false;
    planes = b->planes;
  }
  b->data += packed;
  untangle(planes, count, b->size, b->bytes, out);
  return true;
}

/* Whole blocks, then a shorter one, then elements that are stored as they are. */
static bool undo_blocks(blocks *b, int64_t bytes, unsigned char *out) {
  int64_t left = bytes / b->size;
  while (left >= DM_BITS_TOGETHER) {
    const int64_t count = dm_min(b->block, left / DM_BITS_TOGETHER * DM_BITS_TOGETHER);
    if (!undo_block(b, count, out)) return false;
    out += count * b->size;
    left -= count;
  }
  if (b->end - b->data != left * b->size) return false;
  memcpy(out, b->data, (size_t)(left * b->size));
  return true;
}

static int64_t default_block(int64_t size) {
  return dm_max(LEAST_BLOCK, DEFAULT_BYTES / size / DM_BITS_TOGETHER * DM_BITS_TOGETHER);
}

dm_status dm_bitshuffle_undo(dm_unpack_block *unpack, void *context, int64_t size, int64_t block,
                             const unsigned char *data, int64_t length, unsigned char *out,
                             int64_t room, int64_t *made) {
  blocks b = {
      .unpack = unpack, .context = context, .size = size, .data = data, .end = data + length};
  uint64_t bytes = (uint64_t)length;
  b.block = block > 0 ? block : default_block(size);
  *made = -1;
  if (unpack) {
    if (length < HEADER) return DM_OK;
    bytes = dm_big_endian(data, 8);
    b.block = (int64_t)dm_big_endian(data + 8, 4) / size;
    b.data += HEADER;
  }
  if (bytes > (uint64_t)room || (int64_t)bytes % size != 0 || b.block <= 0 ||
      b.block % DM_BITS_TOGETHER != 0)
    return DM_OK;
  const int64_t most = dm_min(b.block, (int64_t)bytes / size) * size;
  void *memory;
  DM_TRY(dm_buffer_zeroed(2, most, &memory));
  b.planes = memory;
  b.bytes = b.planes + most;
  if (undo_blocks(&b, (int64_t)bytes, out)) *made = (int64_t)bytes;
  free(memory);
  return DM_OK;
}
