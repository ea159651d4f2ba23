/* Codecs without hdf5plugin: bitshuffle by its definition, and hostile streams, which are refused.
 */
#include <string.h>

#include "file/bitshuffle.h"
#include "file/codec.h"
#include "file_cases.h"

enum { COUNT = 203, MOST = COUNT * 16 };

static void shuffle(const unsigned char *data, int64_t count, int64_t size, unsigned char *out) {
  memset(out, 0, (size_t)(count * size));
  for (int64_t i = 0; i < count; i++)
    for (int64_t bit = 0; bit < 8 * size; bit++)
      if (data[i * size + bit / 8] >> bit % 8 & 1)
        out[bit * (count / 8) + i / 8] |= (unsigned char)(1 << i % 8);
}

TEST(test_bitshuffle) {
  unsigned char data[MOST], planes[MOST], out[MOST];
  for (int64_t size = 1; size <= 16; size += 1 + size % 4)
    for (unsigned block = 8; block <= 256; block *= 2) {
      const unsigned values[5] = {0, 4, (unsigned)size, block, 0};
      const int64_t bytes = COUNT * size;
      int64_t length = bytes;
      dm_codec codec;
      for (int64_t i = 0; i < bytes; i++) data[i] = (unsigned char)rand();
      memcpy(planes, data, (size_t)bytes);
      for (int64_t at = 0; COUNT - at >= 8;) {
        const int64_t left = (COUNT - at) / 8 * 8, now = left < block ? left : block;
        shuffle(data + at * size, now, size, planes + at * size);
        at += now;
      }
      assert_true(dm_codec_find(32008, 5, values, &codec));
      ok(dm_codec_undo(&codec, planes, &length, out, bytes));
      assert_int_equal(length, bytes);
      assert_memory_equal(out, data, (size_t)bytes);
      length = bytes;
      fails(dm_codec_undo(&codec, planes, &length, out, bytes - 1), DM_E_INPUT, "bitshuffle");
    }
}

/* Random bytes, and headers that declare too much: nothing is written beyond the room. */
TEST(test_hostile_streams) {
  static const int ids[] = {32015, 32004, 32008, 32001};
  static const unsigned inner[] = {0, 2, 3};
  unsigned char data[64], out[200];
  for (int turn = 0; turn < 20000; turn++) {
    const unsigned values[5] = {0, 4, 1u + (unsigned)(turn % 9), 8, inner[turn % 3]};
    dm_codec codec;
    if (!dm_codec_find(ids[turn % 4], 5, values, &codec)) continue;
    int64_t length = 1 + rand() % (int)sizeof data;
    for (int64_t i = 0; i < length; i++) data[i] = (unsigned char)rand();
    if (turn % 5) memset(data, 0, 6); /* plausible sizes */
    memset(out, 0x5a, sizeof out);
    dm_status status = dm_codec_undo(&codec, data, &length, out, 100);
    assert_true(status || (length >= 0 && length <= 100));
    for (size_t i = 100; i < sizeof out; i++) assert_int_equal(out[i], 0x5a);
    dm_status_free(status);
  }
}

TEST(test_codecs_refused) {
  dm_codec codec;
  const unsigned sizes[5] = {0, 4, 0, 0, 0}, blocks[5] = {0, 4, 8, 12, 0},
                 inner[5] = {0, 4, 8, 8, 9};
  assert_false(dm_codec_find(32008, 5, sizes, &codec));
  assert_false(dm_codec_find(32008, 5, blocks, &codec));
  assert_false(dm_codec_find(32008, 5, inner, &codec));
  assert_false(dm_codec_find(307, 0, NULL, &codec));
}

RUN_ALL(test_file_codec)
