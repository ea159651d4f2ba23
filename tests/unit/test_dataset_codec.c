/* Codecs without hdf5plugin: bitshuffle by its definition, and hostile streams, which are refused.
 */
#include <string.h>
#ifdef DAMIER_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef DAMIER_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef DAMIER_HAVE_BLOSC
#include <blosc.h>
#endif

#include "codec_cases.h"
#include "dataset/codec.h"

/* More than two wide vectors of each plane, part of one, and elements that are stored as they are.
 */
enum { COUNT = 8 * 75 + 3, MOST = COUNT * 17 };

static void shuffle(const unsigned char *data, int64_t count, int64_t size, unsigned char *out) {
  memset(out, 0, (size_t)(count * size));
  for (int64_t i = 0; i < count; i++)
    for (int64_t bit = 0; bit < 8 * size; bit++)
      if (data[i * size + bit / 8] >> bit % 8 & 1)
        out[bit * (count / 8) + i / 8] |= (unsigned char)(1 << i % 8);
}

TEST(test_bitshuffle) {
  unsigned char data[MOST], planes[MOST], out[MOST];
  for (int64_t size = 1; size <= 17; size++)
    for (unsigned block = 8; block <= 8 * 77; block += block < 64 ? 8 : 184) {
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

static void put_big_endian(unsigned char *to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

/* Undoes LENGTH bytes of STREAM, which sanitizers guard, into ROOM bytes; -1: refused. */
static int64_t undone(const dm_codec *codec, const unsigned char *stream, int64_t length,
                      int64_t room) {
  unsigned char *exact = malloc((size_t)length + 1), *out = malloc((size_t)room);
  int64_t made = length;
  assert_true(exact && out);
  memcpy(exact, stream, (size_t)length);
  dm_status status = dm_codec_undo(codec, exact, &made, out, room);
  if (status) assert_int_equal(status->code, DM_E_INPUT);
  if (status) made = -1;
  dm_status_free(status);
  free(exact);
  free(out);
  return made;
}

/* Packs DATA in blocks of BLOCK bytes as the filters for LZ4 and bitshuffle do. */
static int64_t pack_blocks(int64_t (*pack)(const void *, int64_t, void *, int64_t),
                           const unsigned char *data, int64_t bytes, int64_t block,
                           unsigned char *out) {
  int64_t at = 12;
  put_big_endian(out, (uint64_t)bytes, 8);
  put_big_endian(out + 8, (uint64_t)block, 4);
  for (int64_t from = 0; from < bytes; from += block) {
    const int64_t packed = pack(data + from, block, out + at + 4, PACKED_ROOM - at - 4);
    put_big_endian(out + at, (uint64_t)packed, 4);
    at += 4 + packed;
  }
  return at;
}

#ifdef DAMIER_HAVE_ZSTD
static int64_t pack_zstd(const void *data, int64_t bytes, void *out, int64_t room) {
  return (int64_t)ZSTD_compress(out, (size_t)room, data, (size_t)bytes, 3);
}
#endif

#ifdef DAMIER_HAVE_LZ4
static int64_t pack_lz4(const void *data, int64_t bytes, void *out, int64_t room) {
  return LZ4_compress_default(data, out, (int)bytes, (int)room);
}
#endif

/* Bitshuffle and a codec: planes of bits, packed block by block. */
static void damage_bitshuffle(int inner, int64_t (*pack)(const void *, int64_t, void *, int64_t)) {
  enum { BLOCK = 128 };
  unsigned char data[CHUNK_ROOM], planes[CHUNK_ROOM], packed[PACKED_ROOM];
  const unsigned values[5] = {0, 4, 4, BLOCK, (unsigned)inner};
  dm_codec codec;
  fill_chunk(data, CHUNK_ROOM);
  for (int64_t at = 0; at < CHUNK_ROOM; at += 4 * BLOCK) shuffle(data + at, BLOCK, 4, planes + at);
  assert_true(dm_codec_find(32008, 5, values, &codec));
  damage(&codec, packed, pack_blocks(pack, planes, CHUNK_ROOM, 4 * BLOCK, packed), data,
         CHUNK_ROOM);
}

TEST(test_damaged_streams) {
  unsigned char data[CHUNK_ROOM], packed[PACKED_ROOM];
  dm_codec codec;
  fill_chunk(data, CHUNK_ROOM);
#ifdef DAMIER_HAVE_ZSTD
  assert_true(dm_codec_find(32015, 0, NULL, &codec));
  damage(&codec, packed, pack_zstd(data, CHUNK_ROOM, packed, PACKED_ROOM), data, CHUNK_ROOM);
  damage_bitshuffle(DM_BITS_ZSTD, pack_zstd);
#endif
#ifdef DAMIER_HAVE_LZ4
  assert_true(dm_codec_find(32004, 0, NULL, &codec));
  damage(&codec, packed, pack_blocks(pack_lz4, data, CHUNK_ROOM, 1024, packed), data, CHUNK_ROOM);
  damage_bitshuffle(DM_BITS_LZ4, pack_lz4);
#endif
#ifdef DAMIER_HAVE_BLOSC
  static const char *const names[] = {"lz4", "zstd", "zlib", "blosclz"};
  assert_true(dm_codec_find(32001, 0, NULL, &codec));
  for (int i = 0; i < 8; i++) {
    const int length = blosc_compress_ctx(5, i % 3, 4, CHUNK_ROOM, data, packed, PACKED_ROOM,
                                          names[i % 4], i < 4 ? 0 : 1024, 1);
    if (length > 0) damage(&codec, packed, length, data, CHUNK_ROOM);
  }
#endif
}

#ifdef DAMIER_HAVE_LZ4
/* One block of 64 elements of 4 bytes, and 3 elements as they are: fields of its headers at their
 * limits, and every length that is too short. */
TEST(test_limits_of_headers) {
  enum { ALL = 67 * 4, BLOCK = 64 * 4, AT_PACKED = 12 };
  static const uint64_t all[] = {0,       1,         ALL - 1,           ALL + 1,
                                 ALL + 4, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX};
  static const uint64_t blocks[] = {0, 1, 4, 31, 33, BLOCK - 32, UINT32_MAX};
  const unsigned values[5] = {0, 4, 4, 0, DM_BITS_LZ4};
  unsigned char data[ALL], planes[BLOCK], stream[ALL + 64], changed[ALL + 64];
  dm_codec codec;
  assert_true(dm_codec_find(32008, 5, values, &codec));
  fill_chunk(data, ALL);
  shuffle(data, 64, 4, planes);
  int64_t length = pack_blocks(pack_lz4, planes, BLOCK, BLOCK, stream);
  const uint64_t packed = dm_big_endian(stream + AT_PACKED, 4);
  put_big_endian(stream, ALL, 8);
  memcpy(stream + length, data + BLOCK, ALL - BLOCK);
  length += ALL - BLOCK;
  undo_packed(&codec, stream, length, data, ALL);
  for (int64_t less = 0; less < length; less++)
    assert_int_equal(undone(&codec, stream, less, ALL), -1);
  for (int64_t room = 1; room < ALL; room++)
    assert_int_equal(undone(&codec, stream, length, room), -1);
#define CHANGED(at, bytes, value)                                                                  \
  memcpy(changed, stream, (size_t)length);                                                         \
  put_big_endian(changed + (at), value, bytes);                                                    \
  assert_int_equal(undone(&codec, changed, length, ALL), -1)
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    CHANGED(0, 8, all[i]);
  }
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    CHANGED(8, 4, blocks[i]);
  }
  const uint64_t lengths[] = {0, packed - 1, packed + 1, INT32_MAX, 1u << 31, UINT32_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    CHANGED(AT_PACKED, 4, lengths[i]);
  }
#undef CHANGED
  put_big_endian(stream + 8, 1u << 31, 4); /* a block may be larger than the chunk */
  undo_packed(&codec, stream, length, data, ALL);
}
#endif

TEST(test_codecs_refused) {
  dm_codec codec;
  const unsigned sizes[5] = {0, 4, 0, 0, 0}, blocks[5] = {0, 4, 8, 12, 0},
                 inner[5] = {0, 4, 8, 8, 9};
  assert_false(dm_codec_find(32008, 5, sizes, &codec));
  assert_false(dm_codec_find(32008, 5, blocks, &codec));
  assert_false(dm_codec_find(32008, 5, inner, &codec));
  assert_false(dm_codec_find(307, 0, NULL, &codec));
}

RUN_ALL(test_dataset_codec)
