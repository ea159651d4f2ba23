/* The checksum of a tile: the same for any division of the tile, different after any change. */
#include <fcntl.h>
#include <string.h>

#include "core/element.h"
#include "core/element_sum.h"
#include "file_cases.h"
#include "io/journal.h"

enum { ROWS = 37, COLS = 53 };

/* DM_CHECKSUM, word for word. */
static uint64_t hash(uint64_t x, uint64_t place) {
  const uint64_t y = 1ULL << 63 | (x ^ (place + 1) * 0x9e3779b97f4a7c15);
  return (y & 0xffffffff) * (y >> 32) + x;
}

static uint64_t bits_of(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

TEST(test_is_what_it_says) {
  double v[2] = {1.5, -2.25};
  const uint64_t x[] = {bits_of(v[0]), bits_of(v[1])};
  const dm_view real = dm_view_row_major(v, DM_F64, 1, 2);
  assert_true(dm_checksum_view(real, 3, 4, 100) == hash(x[0], 304) + hash(x[1], 305));
  assert_true(dm_checksum_view(dm_view_row_major(v, DM_F64, 0, 2), 3, 4, 100) == 0);
  const dm_view complex = dm_view_row_major(v, DM_C128, 1, 1);
  assert_true(dm_checksum_view(complex, 3, 4, 100) == hash(x[0], 608) + hash(x[1], 609));
  int8_t small[] = {-1, 5};
  const dm_view bytes = dm_view_row_major(small, DM_I8, 1, 2);
  assert_true(dm_checksum_view(bytes, 0, 7, 100) == hash(255, 7) + hash(5, 8));
}

/* Strided columns have the same sum as contiguous ones. */
TEST(test_strides) {
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    char *data = elements((dm_dtype)dtype, COLS, ROWS),
         *turned = elements((dm_dtype)dtype, ROWS, COLS);
    const dm_view from = dm_view_transpose(dm_view_row_major(data, (dm_dtype)dtype, COLS, ROWS));
    const dm_view to = dm_view_row_major(turned, (dm_dtype)dtype, ROWS, COLS);
    const size_t size = (size_t)dm_dtype_size((dm_dtype)dtype);
    for (int64_t i = 0; i < ROWS; i++)
      for (int64_t j = 0; j < COLS; j++) memcpy(dm_view_at(to, i, j), dm_view_at(from, i, j), size);
    assert_true(dm_checksum_view(from, 2, 3, 90) == dm_checksum_view(to, 2, 3, 90));
    free(data);
    free(turned);
  }
}

/* Divided at every column and several rows, with gaps after the rows of the parts. */
TEST(test_any_cut) {
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    char *data = elements((dm_dtype)dtype, ROWS, COLS);
    dm_view whole = dm_view_row_major(data, (dm_dtype)dtype, ROWS, COLS);
    uint64_t sum = dm_checksum_view(whole, 5, 11, 1000);
    for (int64_t j = 0; j <= COLS; j++) {
      const int64_t i = j * 5 % ROWS;
      dm_view part[] = {dm_view_sub(whole, 0, 0, i, j), dm_view_sub(whole, 0, j, i, COLS - j),
                        dm_view_sub(whole, i, 0, ROWS - i, COLS)};
      uint64_t parts = dm_checksum_view(part[2], 5 + i, 11, 1000) +
                       dm_checksum_view(part[1], 5, 11 + j, 1000) +
                       dm_checksum_view(part[0], 5, 11, 1000);
      assert_true(parts == sum);
    }
    free(data);
  }
}

TEST(test_any_change) {
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    const int64_t size = dm_dtype_size((dm_dtype)dtype);
    char *data = elements((dm_dtype)dtype, 6, 7);
    dm_view whole = dm_view_row_major(data, (dm_dtype)dtype, 6, 7);
    const uint64_t sum = dm_checksum_view(whole, 0, 0, 7);
    for (int64_t bit = 0; bit < 6 * 7 * size * 8; bit++) {
      data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
      assert_true(dm_checksum_view(whole, 0, 0, 7) != sum);
      data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
    }
    assert_true(dm_checksum_view(whole, 0, 1, 7) != sum); /* the same elements in another place */
    memset(data, 0, (size_t)(6 * 7 * size));
    const uint64_t zeros = dm_checksum_view(whole, 0, 0, 7);
    assert_true(zeros != 0 && zeros != dm_checksum_view(whole, 1, 0, 7));
    free(data);
  }
}

static void write_byte(const char *path, int64_t offset, char value) {
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  assert_int_equal(pwrite(fd, &value, 1, offset), 1);
  close(fd);
}

TEST(test_sample) {
  const int64_t sizes[] = {1, 100, 4096, 5000, 300000, 10000000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    dm_dataset file = {.at = at(*state, "sample:/x")};
    uint64_t sum, again, other;
    unlink(file.at.file);
    write_byte(file.at.file, sizes[i] - 1, 1);
    ok(dm_checksum_sample(&file, &sum));
    ok(dm_checksum_sample(&file, &again));
    assert_true(sum == again);
    write_byte(file.at.file, sizes[i] - 1, 2);
    ok(dm_checksum_sample(&file, &other));
    assert_true(other != sum);
    write_byte(file.at.file, sizes[i] - 1, 1);
    write_byte(file.at.file, 0, 3);
    ok(dm_checksum_sample(&file, &other));
    assert_true(other != sum);
  }
  dm_dataset none = {.at = at(*state, "none:/x")};
  fails(dm_checksum_sample(&none, &(uint64_t){0}), DM_E_IO, "opened");
}

RUN_ALL_IN_FOLDER(test_io_checksum)
