#include "dataset/blosc2.h"

#ifdef DAMIER_HAVE_BLOSC2
#include <b2nd.h>
#include <blosc2.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/checked.h"

enum { DATASETS_CHUNK = 0, FORMAT_SHIFT = 5, OUTSIDE = 0x08 /* the blocks are in a file */ };

void dm_blosc2_start(void) {
  blosc2_init();
}

/* For other codecs and filters the library would start Python to look for plug-ins. */
static bool is_own_format(const uint8_t *chunk, int64_t length) {
  if (length < BLOSC_EXTENDED_HEADER_LENGTH) return false;
  for (int i = 0; i < BLOSC2_MAX_FILTERS; i++)
    if (chunk[BLOSC2_CHUNK_FILTER_CODES + i] > BLOSC_TRUNC_PREC) return false;
  return chunk[BLOSC2_CHUNK_FLAGS] >> FORMAT_SHIFT < BLOSC_UDCODEC_FORMAT &&
         !(chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] & OUTSIDE);
}

/* From the header of a chunk, in bytes: unpacked, packed, and of each block. */
typedef struct blosc2_sizes {
  int32_t bytes, packed, block;
} blosc2_sizes;

/* The only chunk of FRAME, which is in DATA, LENGTH bytes: the library takes its length from the
 * chunk. */
static bool is_own_chunk(blosc2_schunk *frame, const void *data, int64_t length,
                         blosc2_sizes *sizes) {
  uint8_t *chunk = NULL;
  bool owned = false;
  if (frame->nchunks != 1) return false;
  const int64_t packed = blosc2_schunk_get_chunk(frame, DATASETS_CHUNK, &chunk, &owned);
  const bool own = packed > 0 && !owned && packed <= length - (chunk - (const uint8_t *)data) &&
                   is_own_format(chunk, packed) &&
                   blosc2_cbuffer_sizes(chunk, &sizes->bytes, &sizes->packed, &sizes->block) >= 0 &&
                   sizes->packed == packed && sizes->bytes == frame->chunksize &&
                   sizes->block > 0 && sizes->block <= sizes->bytes;
  if (owned) free(chunk);
  return own;
}

/* ---- an array's sizes: "b2nd" in MessagePack ----
 *
 * The library before version 3 trusts them: it writes as many as they say, copies a name of any
 * length, and divides by sizes of 0. So they are read here before it reads them. */

typedef struct b2nd_sizes {
  int rank;
  int64_t shape[B2ND_MAX_DIM], chunk[B2ND_MAX_DIM], block[B2ND_MAX_DIM];
} b2nd_sizes;

/* What is left to read; failed: there was less. */
typedef struct b2nd_text {
  const uint8_t *at;
  int64_t left;
  bool failed;
} b2nd_text;

/* The next number, of BYTES, the highest first. */
static int64_t b2nd_number(b2nd_text *text, int bytes) {
  uint64_t value = 0;
  text->failed |= text->left < bytes;
  for (int i = 0; i < bytes && !text->failed; i++) value = value << 8 | text->at[i];
  text->at += text->failed ? 0 : bytes;
  text->left -= bytes;
  return bytes == 8 ? (int64_t)value : (int32_t)value;
}

/* RANK numbers of BYTES; a mark precedes them, and each of them. */
static void b2nd_list(b2nd_text *text, int rank, int bytes, int64_t *number) {
  b2nd_number(text, 1);
  for (int i = 0; i < rank; i++) {
    b2nd_number(text, 1);
    number[i] = b2nd_number(text, bytes);
  }
}

static bool b2nd_read(const uint8_t *data, int64_t length, b2nd_sizes *sizes) {
  b2nd_text text = {data, length, false};
  b2nd_number(&text, 2); /* the number of entries, the version */
  sizes->rank = (int)b2nd_number(&text, 1);
  if (text.failed || sizes->rank > B2ND_MAX_DIM) return false;
  b2nd_list(&text, sizes->rank, 8, sizes->shape);
  b2nd_list(&text, sizes->rank, 4, sizes->chunk);
  b2nd_list(&text, sizes->rank, 4, sizes->block);
  if (text.failed || text.left == 0) return !text.failed;
  b2nd_number(&text, 2); /* the kind of the type's name, a mark */
  const int64_t name = b2nd_number(&text, 4);
  return !text.failed && name >= 0 && name <= text.left;
}

/* The bytes of the array that FRAME describes as B2ND; -1: not one whole chunk, OF_CHUNK its sizes,
 * which consists of whole blocks. */
static int64_t array_bytes(blosc2_schunk *frame, const blosc2_sizes *of_chunk) {
  uint8_t *text = NULL;
  int32_t length;
  int64_t bytes = frame->typesize, block = bytes, blocks = bytes;
  b2nd_sizes s;
  if (blosc2_meta_get(frame, "b2nd", &text, &length) < 0) return -1;
  const bool whole = b2nd_read(text, length, &s);
  free(text);
  if (!whole) return -1;
  for (int i = 0; i < s.rank; i++)
    if (s.shape[i] != s.chunk[i] || s.block[i] < 1 || s.block[i] > s.chunk[i] ||
        dm_mul_overflows(bytes, s.shape[i], &bytes) ||
        dm_mul_overflows(block, s.block[i], &block) ||
        dm_mul_overflows(blocks, dm_round_up(s.chunk[i], s.block[i]), &blocks))
      return -1;
  return block == of_chunk->block && blocks == of_chunk->bytes ? bytes : -1;
}

/* Frees FRAME. */
static int64_t undo_array(blosc2_schunk *frame, const blosc2_sizes *of_chunk, void *out,
                          int64_t room) {
  const int64_t bytes = array_bytes(frame, of_chunk);
  b2nd_array_t *array = NULL;
  if (bytes < 0 || bytes > room || b2nd_from_schunk(frame, &array) < 0) {
    blosc2_schunk_free(frame);
    return -1;
  }
  const int failed = b2nd_to_cbuffer(array, out, bytes);
  b2nd_free(array);
  return failed < 0 ? -1 : bytes;
}

int64_t dm_blosc2_undo(const void *data, int64_t length, void *out, int64_t room) {
  /* The library only reads the frame. */
  blosc2_schunk *frame = blosc2_schunk_from_buffer((uint8_t *)data, length, false);
  blosc2_sizes sizes = {.bytes = 0};
  if (!frame) return -1;
  const bool own = is_own_chunk(frame, data, length, &sizes);
  if (own && blosc2_meta_exists(frame, "b2nd") >= 0) return undo_array(frame, &sizes, out, room);
  int64_t made = -1;
  if (own)
    made = blosc2_schunk_decompress_chunk(frame, DATASETS_CHUNK, out,
                                          (int32_t)dm_min(room, INT32_MAX));
  blosc2_schunk_free(frame);
  return made;
}

#else

void dm_blosc2_start(void) {
}

int64_t dm_blosc2_undo(const void *data, int64_t length, void *out, int64_t room) {
  return (void)data, (void)length, (void)out, (void)room, -1;
}

#endif
