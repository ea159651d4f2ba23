/* Chunks with a wrong size are refused; unwritten chunks read as the fill value. */
#include <zlib.h>

#include "dataset/chunk_filter.h"
#include "file_cases.h"

enum { SIDE = 32, CHUNK_BYTES = SIDE * SIDE * 8 };

/* Creates /m with 2 x 1 chunks, f64, deflate, fill value 7. */
static hid_t open_new(const char *path, hid_t *file) {
  hsize_t dims[2] = {2 * SIDE, SIDE}, chunk[2] = {SIDE, SIDE};
  double fill = 7;
  hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 2, chunk);
  H5Pset_deflate(list, 1);
  H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &fill);
  *file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t set = H5Dcreate2(*file, "m", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  H5Pclose(list);
  H5Sclose(space);
  assert_true(set >= 0);
  return set;
}

/* Stores a chunk that inflates to BYTES of nearly incompressible data. */
static void put_chunk(hid_t set, int64_t row, size_t bytes) {
  static unsigned char raw[4 * CHUNK_BYTES], packed[5 * CHUNK_BYTES];
  for (size_t i = 0; i < bytes; i++) raw[i] = (unsigned char)rand();
  uLongf length = sizeof packed;
  assert_int_equal(compress(packed, &length, raw, bytes), Z_OK);
  hsize_t offset[2] = {(hsize_t)row, 0};
  assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, offset, length, packed) >= 0);
}

static dm_status read_all(const dm_location *location, bool no_data, double *into) {
  dm_dataset d;
  dm_reader *reader;
  dm_view view = dm_view_row_major(into, DM_F64, 2 * SIDE, SIDE);
  DM_TRY(dm_file_inspect(location, &(dm_trust){.no_data = no_data}, &d, NULL));
  DM_TRY(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &view, 1, false);
  dm_reader_close(reader);
  return status;
}

TEST(test_lengths) {
  static double got[2 * SIDE * SIDE];
  static const size_t lengths[] = {CHUNK_BYTES, CHUNK_BYTES - 1, CHUNK_BYTES + 1, 40,
                                   3 * CHUNK_BYTES};
  for (int i = 0; i < 5; i++) {
    dm_location location = at(*state, "lengths.h5");
    hid_t file, set = open_new(location.file, &file);
    put_chunk(set, 0, CHUNK_BYTES);
    put_chunk(set, SIDE, lengths[i]);
    H5Dclose(set);
    H5Fclose(file);
    dm_status status = read_all(&location, false, got);
    if (i == 0)
      ok(status);
    else if (!status || status->code != DM_E_INPUT)
      fail_msg("case %d is not refused", i);
    else
      dm_status_free(status);
  }
}

TEST(test_fill_value) {
  static double got[2 * SIDE * SIDE];
  dm_location location = at(*state, "fill.h5");
  hid_t file, set = open_new(location.file, &file);
  put_chunk(set, SIDE, CHUNK_BYTES);
  H5Dclose(set);
  H5Fclose(file);
  fails(read_all(&location, false, got), DM_E_INPUT, "has no data in 1 of its 2 chunks");
  ok(read_all(&location, true, got));
  for (int i = 0; i < SIDE * SIDE; i++) assert_true(got[i] == 7);
}

static void undo(const dm_chunk_filter *filter, const void *stored, int64_t length, int64_t bytes,
                 const char *refusal) {
  const size_t room = (size_t)dm_chunk_filter_room(filter, bytes);
  void *data = calloc(1, room), *spare = calloc(1, room);
  memcpy(data, stored, (size_t)length);
  dm_status status = dm_chunk_filter_undo(filter, 0, length, bytes, &data, &spare);
  if (refusal)
    fails(status, DM_E_INPUT, refusal);
  else
    ok(status);
  free(data);
  free(spare);
}

/* For any input it writes nothing outside of its buffer, and returns the length. */
TEST(test_lzf) {
  enum { ROOM = 40, TRIES = 20000 };
  unsigned char packed[24], out[ROOM + 1];
  static const char text[] = "\x02"
                             "abc"
                             "\x60\x02"
                             "\xe0\x03\x00";
  int64_t length = sizeof text - 1;
  ok(dm_chunk_lzf(text, &length, out, ROOM));
  assert_int_equal(length, 20);
  assert_memory_equal(out, "abcabcabbbbbbbbbbbbb", 20);
  for (int i = 0; i < TRIES; i++) {
    length = rand() % (int)sizeof packed;
    for (int64_t at = 0; at < length; at++)
      packed[at] = (unsigned char)(rand() % (at % 3 ? 256 : 40));
    const int64_t room = rand() % ROOM;
    memset(out, 0xa5, sizeof out);
    dm_status status = dm_chunk_lzf(packed, &length, out, room);
    assert_true(status || (length >= 0 && length <= room));
    for (int64_t at = room; at <= ROOM; at++) assert_int_equal(out[at], 0xa5);
    dm_status_free(status);
  }
}

TEST(test_filters) {
  const dm_chunk_filter sum = {.count = 1, .step = {DM_STEP_FLETCHER32}};
  const dm_chunk_filter shuffle = {
      .count = 1, .step = {DM_STEP_SHUFFLE}, .shuffled_size = {0xffffffff}};
  undo(&sum, "\0\0\0\0", 4, 0, NULL);
  undo(&sum, "abc", 3, 3, "shorter than its checksum");
  undo(&sum, "abcdefgh", 8, 4, "does not match its checksum");
  undo(&shuffle, "abcdefgh", 8, 8, NULL); /* elements longer than the chunk: unchanged */
  undo(&(dm_chunk_filter){0}, "abcdefgh", 7, 8, "has 7 bytes where it should have 8");
}

RUN_ALL_IN_FOLDER(test_io_chunks)
