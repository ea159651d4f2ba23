/* codec_cases: damages packed chunks. Whatever comes of them, nothing is written beyond the room.
 */
#ifndef DM_TEST_CODEC_CASES_H
#define DM_TEST_CODEC_CASES_H

#include <stdlib.h>
#include <string.h>

#include "dataset/codec.h"
#include "file_cases.h"

enum { CHUNK_ROOM = 8192, PACKED_ROOM = 3 * CHUNK_ROOM, GUARD = 64, TURNS = 1500 };

/* A chunk of elements of 4 bytes that are easily packed, but not all the same. */
static inline void fill_chunk(unsigned char *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i++)
    data[i] = (unsigned char)(i % 4 == 0 ? i / 4 : i % 64 == 1 ? rand() : 0);
}

static inline void undo_packed(const dm_codec *codec, const unsigned char *packed, int64_t length,
                               const unsigned char *wanted, int64_t bytes) {
  unsigned char *exact = malloc((size_t)length + 1); /* sanitizers see reads beyond it */
  unsigned char *out = malloc((size_t)bytes + GUARD);
  assert_true(exact && out);
  memcpy(exact, packed, (size_t)length);
  memset(out, 0x5a, (size_t)bytes + GUARD);
  int64_t made = length;
  dm_status status = dm_codec_undo(codec, exact, &made, out, bytes);
  if (wanted) {
    ok(status);
    assert_int_equal(made, bytes);
    assert_memory_equal(out, wanted, (size_t)bytes);
  } else {
    assert_true(status ? status->code == DM_E_INPUT : made >= 0 && made <= bytes);
    dm_status_free(status);
  }
  for (int64_t i = 0; i < GUARD; i++) assert_int_equal(out[bytes + i], 0x5a);
  free(exact);
  free(out);
}

/* PACKED, LENGTH bytes, is the chunk WANTED: changes bytes, mostly of the header, cuts it off,
 * tells of more room, and less. */
static inline void damage(const dm_codec *codec, const unsigned char *packed, int64_t length,
                          const unsigned char *wanted, int64_t bytes) {
  unsigned char changed[PACKED_ROOM];
  undo_packed(codec, packed, length, wanted, bytes);
  for (int turn = 0; turn < TURNS; turn++) {
    const int64_t left = turn % 3 ? length : 1 + rand() % length;
    memcpy(changed, packed, (size_t)length);
    for (int i = rand() % 5; i >= 0; i--)
      changed[rand() % (turn % 2 && left > 48 ? 48 : left)] ^= (unsigned char)(1 << rand() % 8);
    undo_packed(codec, changed, left, NULL, turn % 7 ? bytes : 1 + rand() % bytes);
  }
}

#endif
