/* Blosc2: arrays in blocks and plain chunks, and damaged frames, which are refused. */
#ifdef DAMIER_HAVE_BLOSC2
#define print_error blosc2_error_text /* cmocka has a function of that name */
#include <b2nd.h>
#include <blosc2.h>
#undef print_error
#endif

#include "codec_cases.h"
#include "dataset/blosc2.h"

#ifdef DAMIER_HAVE_BLOSC2
enum { DOWN = 40, RIGHT = 50, BYTES = 4 * DOWN * RIGHT };

static blosc2_cparams parameters(int number) {
  static const uint8_t codecs[] = {BLOSC_LZ4, BLOSC_ZSTD, BLOSC_BLOSCLZ, BLOSC_ZLIB};
  static const uint8_t filters[] = {BLOSC_SHUFFLE, BLOSC_BITSHUFFLE, BLOSC_NOFILTER, BLOSC_DELTA};
  blosc2_cparams p = BLOSC2_CPARAMS_DEFAULTS;
  p.typesize = 4;
  p.compcode = codecs[number % 4];
  p.filters[BLOSC2_MAX_FILTERS - 1] = filters[(number + number / 4) % 4];
  return p;
}

/* As HDF5's filter does for chunks of more than one dimension: blocks that do not divide the chunk.
 */
static int64_t pack_array(const unsigned char *data, int number, unsigned char *packed) {
  const int64_t shape[] = {DOWN, RIGHT};
  const int32_t chunk[] = {DOWN, RIGHT}, block[] = {16, 32};
  blosc2_cparams p = parameters(number);
  blosc2_storage storage = {.cparams = &p};
  b2nd_context_t *context = b2nd_create_ctx(&storage, 2, shape, chunk, block, "|V4", 0, NULL, 0);
  b2nd_array_t *array = NULL;
  uint8_t *frame = NULL;
  int64_t length = 0;
  bool owned = false;
  assert_true(context && b2nd_from_cbuffer(context, &array, data, BYTES) >= 0);
  assert_true(b2nd_to_cframe(array, &frame, &length, &owned) >= 0);
  assert_true(length > 0 && length <= PACKED_ROOM);
  memcpy(packed, frame, (size_t)length);
  if (owned) free(frame);
  b2nd_free(array);
  b2nd_free_ctx(context);
  return length;
}

/* As it does for those of one dimension. */
static int64_t pack_plain(const unsigned char *data, int number, unsigned char *packed) {
  blosc2_cparams p = parameters(number);
  blosc2_storage storage = {.cparams = &p};
  blosc2_schunk *chunk = blosc2_schunk_new(&storage);
  uint8_t *frame = NULL;
  bool owned = false;
  assert_true(chunk && blosc2_schunk_append_buffer(chunk, data, BYTES) >= 0);
  const int64_t length = blosc2_schunk_to_buffer(chunk, &frame, &owned);
  assert_true(length > 0 && length <= PACKED_ROOM);
  memcpy(packed, frame, (size_t)length);
  if (owned) free(frame);
  blosc2_schunk_free(chunk);
  return length;
}
#endif

TEST(test_frames) {
#ifdef DAMIER_HAVE_BLOSC2
  static unsigned char data[BYTES], packed[PACKED_ROOM];
  dm_codec codec;
  assert_true(dm_codec_find(DM_BLOSC2_FILTER, 0, NULL, &codec));
  fill_chunk(data, BYTES);
  for (int number = 0; number < 8; number++) {
    damage(&codec, packed, pack_array(data, number, packed), data, BYTES);
    damage(&codec, packed, pack_plain(data, number, packed), data, BYTES);
  }
#else
  dm_codec codec;
  assert_false(dm_codec_find(DM_BLOSC2_FILTER, 0, NULL, &codec));
#endif
}

RUN_ALL(test_dataset_blosc2)
