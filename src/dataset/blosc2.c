#include "dataset/blosc2.h"

#ifdef DAMIER_HAVE_BLOSC2
#include <b2nd.h>
#include <blosc2.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/checked.h"

enum { DATASETS_CHUNK = 0, FORMAT_SHIFT = 5 };

void dm_blosc2_start(void) {
  blosc2_init();
}

/* For other codecs and filters the library would start Python to look for plug-ins. */
static bool is_own_format(const uint8_t *chunk, int64_t length) {
  if (length < BLOSC_EXTENDED_HEADER_LENGTH) return false;
  for (int i = 0; i < BLOSC2_MAX_FILTERS; i++)
    if (chunk[BLOSC2_CHUNK_FILTER_CODES + i] > BLOSC_TRUNC_PREC) return false;
  return chunk[BLOSC2_CHUNK_FLAGS] >> FORMAT_SHIFT < BLOSC_UDCODEC_FORMAT;
}

static bool is_own_chunk(blosc2_schunk *frame) {
  uint8_t *chunk = NULL;
  bool owned = false;
  const int length = blosc2_schunk_get_chunk(frame, DATASETS_CHUNK, &chunk, &owned);
  const bool own = length > 0 && is_own_format(chunk, length);
  if (owned) free(chunk);
  return own;
}

/* The bytes of the array that FRAME describes as B2ND; -1: not one whole chunk. Versions of the
 * library before 3 divide by sizes of 0. */
static int64_t array_bytes(blosc2_schunk *frame) {
  uint8_t *text = NULL;
  int32_t length;
  int8_t rank = 0, format;
  int64_t shape[B2ND_MAX_DIM], bytes = frame->typesize;
  int32_t chunk[B2ND_MAX_DIM], block[B2ND_MAX_DIM];
  char *dtype = NULL;
  if (blosc2_meta_get(frame, "b2nd", &text, &length) < 0) return -1;
  if (b2nd_deserialize_meta(text, length, &rank, shape, chunk, block, &dtype, &format) < 0)
    bytes = -1;
  for (int i = 0; i < rank && bytes >= 0; i++)
    if (shape[i] != chunk[i] || block[i] < 1 || block[i] > chunk[i] ||
        dm_mul_overflows(bytes, shape[i], &bytes))
      bytes = -1;
  free(dtype);
  free(text);
  return bytes;
}

/* Frees FRAME. */
static int64_t undo_array(blosc2_schunk *frame, void *out, int64_t room) {
  const int64_t bytes = array_bytes(frame);
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
  if (!frame) return -1;
  if (frame->nchunks == 1 && is_own_chunk(frame) && blosc2_meta_exists(frame, "b2nd") >= 0)
    return undo_array(frame, out, room);
  int64_t made = -1;
  if (frame->nchunks == 1 && is_own_chunk(frame))
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
