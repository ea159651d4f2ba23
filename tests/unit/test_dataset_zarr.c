/* What is behind the readers of Zarr: JSON as Python writes it, checksums, orders of axes, and
 * files that change after an inspection. */
#include <sys/stat.h>

#include "dataset/chunk_filter.h"
#include "dataset/json_file.h"
#include "file_cases.h"

enum { ROWS = 5, COLS = 3 };

static void put_file(const char *folder, const char *name, const void *text, size_t bytes) {
  char path[512];
  FILE *file = fopen(path_in(path, folder, name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, bytes, file), bytes);
  assert_int_equal(fclose(file), 0);
}

/* Two chunks of 4 x 3, the second partly beyond the array. */
static void write_array(const char *folder, double *values) {
  static const char metadata[] =
      "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [5, 3], \"data_type\": "
      "\"float64\","
      "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [4, 3]}},"
      "\"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": \".\"}},"
      "\"fill_value\": 0, \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
      "\"little\"}}]}";
  double chunk[2][4 * COLS] = {{0}};
  for (int i = 0; i < ROWS * COLS; i++) values[i] = chunk[i / 12][i % 12] = i + 1;
  assert_int_equal(mkdir(folder, 0777), 0);
  put_file(folder, "zarr.json", metadata, strlen(metadata));
  put_file(folder, "c.0.0", chunk[0], sizeof chunk[0]);
  put_file(folder, "c.1.0", chunk[1], sizeof chunk[1]);
}

TEST(test_changed) {
  const dm_location location = at(*state, "a.zarr");
  double values[ROWS * COLS], other[4 * COLS] = {7};
  write_array(location.file, values);
  expect_data(&location, DM_F64, ROWS, COLS, values);
  const dm_dataset d = inspected(&location);
  ok(dm_dataset_unchanged(&d));
  put_file(location.file, "c.1.0", other, sizeof other - 1);
  fails(dm_dataset_unchanged(&d), DM_E_IO, "changed since it was inspected");
  put_file(location.file, "c.1.0", other, sizeof other); /* of the same size */
  fails(dm_dataset_unchanged(&d), DM_E_IO, "changed since it was inspected");
  put_file(location.file, "zarr.json", "{}", 2);
  dm_reader *reader;
  fails(dm_reader_open(&d, DM_DTYPE_NONE, &reader), DM_E_IO, "changed since it was inspected");
}

TEST(test_json) {
  static const char *const good[] = {"[NaN, -Infinity, 18446744073709551615, -9223372036854775808]",
                                     "{\"NaN\": \"\\\"NaN\", \"a\": [1e5, -0.0]}"};
  static const char *const bad[] = {"",    "[",     "[\"a]", "{\"a\": 1, \"a\": 2}",
                                    "nan", "[1] 2", "[\"\\"};
  json_t *value;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    fails(dm_json_parse(bad[i], (int64_t)strlen(bad[i]), &value), DM_E_INPUT, "JSON");
  ok(dm_json_parse(good[0], (int64_t)strlen(good[0]), &value));
  assert_string_equal(json_string_value(json_array_get(value, 0)), "NaN");
  assert_string_equal(json_string_value(json_array_get(value, 1)), "-Infinity");
  assert_string_equal(json_string_value(json_array_get(value, 2)), "18446744073709551615");
  assert_true(json_integer_value(json_array_get(value, 3)) == INT64_MIN);
  json_decref(value);
  ok(dm_json_parse(good[1], (int64_t)strlen(good[1]), &value));
  assert_string_equal(json_string_value(json_object_get(value, "NaN")), "\"NaN");
  json_decref(value);
}

TEST(test_crc32c) {
  static const unsigned char zeros[32];
  assert_int_equal(dm_crc32c("123456789", 9), 0xe3069283u); /* RFC 3720 */
  assert_int_equal(dm_crc32c(zeros, sizeof zeros), 0x8a9136aau);
  assert_int_equal(dm_crc32c(zeros, 0), 0);
}

/* Every order of three axes, by its definition. */
TEST(test_orders) {
  static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  enum { A = 3, B = 4, C = 5 };
  uint16_t stored[A * B * C], made[A * B * C];
  for (int o = 0; o < 6; o++) {
    dm_axis_order order = {.count = 3, .shape = {A, B, C}, .size = 2};
    int64_t at[3], place = 0;
    memcpy(order.of, orders[o], sizeof orders[o]);
    for (at[order.of[0]] = 0; at[order.of[0]] < order.shape[order.of[0]]; at[order.of[0]]++)
      for (at[order.of[1]] = 0; at[order.of[1]] < order.shape[order.of[1]]; at[order.of[1]]++)
        for (at[order.of[2]] = 0; at[order.of[2]] < order.shape[order.of[2]]; at[order.of[2]]++)
          stored[place++] = (uint16_t)((at[0] * B + at[1]) * C + at[2]);
    dm_chunk_turn_back(&order, stored, made);
    for (int i = 0; i < A * B * C; i++) assert_int_equal(made[i], i);
  }
}

RUN_ALL_IN_FOLDER(test_dataset_zarr)
