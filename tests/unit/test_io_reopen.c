/* A part file that is taken up again, whatever a commit that broke off did to it, and the list of
 * tiles that the whole file holds. */
#include <fcntl.h>
#include <sys/stat.h>

#include "io_files.h"

enum { ROWS = 40, COLS = 30 };

static dm_tile_record tiles[] = {{.rows = 25, .cols = COLS, .checksum = ~(uint64_t)0},
                                 {.row = 25, .rows = 15, .cols = COLS, .checksum = 1234567}};

static void write_data(const dm_output_file *file) {
  dm_output *output;
  bool done;
  char *data = elements(DM_F32, ROWS, COLS);
  expect_ok(dm_output_open(file, &output));
  expect_ok(dm_output_write(output, 0, 0, dm_view_row_major(data, DM_F32, ROWS, COLS)));
  expect_ok(dm_output_syncing(output, false, &done));
  assert_true(done);
  expect_ok(dm_output_sync_start(output));
  expect_error(dm_output_sync_start(output), DM_E_BUG, "already");
  expect_ok(dm_output_syncing(output, true, &done));
  assert_true(done);
  expect_ok(dm_output_close(output));
  free(data);
}

static void expect_data(const dm_location *location) {
  dm_dataset d = inspected(location);
  dm_reader *reader;
  char *data = elements(DM_F32, ROWS, COLS), *got = malloc(ROWS * COLS * 4);
  dm_view view = dm_view_row_major(got, DM_F32, ROWS, COLS);
  expect_ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
  expect_ok(dm_reader_read(reader, 0, 0, &view, 1, false));
  dm_reader_close(reader);
  assert_memory_equal(got, data, ROWS * COLS * 4);
  free(got);
  free(data);
}

static void expect_tiles(const char *path) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t set = H5Dopen2(file, "/.damier/tiles", H5P_DEFAULT), type = H5Dget_type(set);
  uint64_t rows[2][5];
  char hash[32];
  assert_int_equal(H5Tget_size(type), sizeof rows[0]);
  assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
  for (int i = 0; i < 2; i++)
    assert_true(rows[i][0] == (uint64_t)tiles[i].row && rows[i][2] == (uint64_t)tiles[i].rows &&
                rows[i][3] == COLS && rows[i][4] == tiles[i].checksum);
  hid_t attribute = H5Aopen(set, "hash", H5P_DEFAULT), text = H5Aget_type(attribute);
  char *value = NULL;
  assert_true(H5Aread(attribute, text, &value) >= 0);
  snprintf(hash, sizeof hash, "%s", value);
  assert_int_equal(strlen(hash), 16);
  H5free_memory(value);
  H5Tclose(text);
  H5Aclose(attribute);
  H5Tclose(type);
  H5Dclose(set);
  H5Fclose(file);
}

/* Damaged: 0 not at all, 1 all before the data, 2 longer, 3 shorter than its data. */
static void take_up(const dm_location *location, int damage) {
  dm_output_file first, again;
  struct stat info;
  static dm_attributes facts;
  bool there;
  char noise[4096] = {1, 2, 3};
  expect_ok(dm_output_create(location, DM_F32, ROWS, COLS, false, &first));
  write_data(&first);
  assert_int_equal(stat(first.part, &info), 0);
  int fd = open(first.part, O_RDWR);
  if (damage == 1) assert_int_equal(pwrite(fd, noise, (size_t)first.offset, 0), first.offset);
  if (damage > 1) assert_int_equal(ftruncate(fd, info.st_size + (damage == 2 ? 999 : -999)), 0);
  close(fd);
  expect_error(dm_output_reopen(location, DM_F32, ROWS, COLS, first.offset + 8, &again, &there),
               DM_E_IO, "elsewhere");
  expect_ok(dm_output_reopen(location, DM_F32, ROWS, COLS, first.offset, &again, &there));
  assert_true(there && again.offset == first.offset && again.cols == COLS);
  if (damage == 3) write_data(&again); /* what was cut off is no longer there */
  expect_ok(dm_output_commit(&again, &facts, tiles, 2, false));
  expect_data(location);
  expect_tiles(location->file);
  unlink(location->file);
}

static void test_taking_up(void **state) {
  dm_location location = at(*state, "C.h5:/deep/er/c");
  for (int damage = 0; damage < 4; damage++) take_up(&location, damage);
}

static void test_refusals(void **state) {
  dm_location location = at(*state, "D.h5:/c");
  dm_output_file file, again;
  dm_output *writer;
  bool there = true;
  expect_ok(dm_output_reopen(&location, DM_F32, ROWS, COLS, 4096, &again, &there));
  assert_false(there);
  expect_ok(dm_output_create(&location, DM_F32, ROWS, COLS, false, &file));
  expect_ok(dm_output_open(&file, &writer));
  expect_error(dm_output_reopen(&location, DM_F32, ROWS, COLS, file.offset, &again, &there),
               DM_E_IO, "another run");
  expect_ok(dm_output_close(writer));
  dm_output_discard(&file);
  assert_int_equal(mkdir(file.part, 0700), 0);
  expect_error(dm_output_reopen(&location, DM_F32, ROWS, COLS, file.offset, &again, &there),
               DM_E_IO, "opened");
  rmdir(file.part);
}

TEST_PROGRAM(test_io_reopen) {
  char folder[64];
  new_folder(folder);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(test_taking_up, folder),
      cmocka_unit_test_prestate(test_refusals, folder),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove_folder(folder);
  return failed;
}
