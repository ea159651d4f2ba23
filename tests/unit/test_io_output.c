/* The file of C: written in pieces, complete when it has its name, and never at the cost of
 * another. */
#include <sys/stat.h>

#include "io_files.h"

static bool exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

/* Writes LOCATION in rectangles through two writers, and commits. */
static void write_all(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                      bool force) {
  dm_output_file file;
  dm_output *writers[2];
  dm_attributes facts = {0};
  char *data = elements(dtype, rows, cols);
  dm_view whole = dm_view_row_major(data, dtype, rows, cols);
  expect_ok(dm_output_create(location, dtype, rows, cols, force, &file));
  assert_true(exists(file.part));
  expect_ok(dm_output_open(&file, &writers[0]));
  expect_ok(dm_output_open(&file, &writers[1]));
  int64_t top = rows / 2, left = cols / 3;
  expect_ok(dm_output_write(writers[0], 0, 0, dm_view_sub(whole, 0, 0, top, left)));
  expect_ok(dm_output_write(writers[1], 0, left, dm_view_sub(whole, 0, left, top, cols - left)));
  expect_ok(dm_output_write(writers[1], top, 0, dm_view_sub(whole, top, 0, rows - top, cols)));
  expect_error(dm_output_write(writers[0], 1, 0, whole), DM_E_BUG, "do not fit");
  for (int i = 0; i < 2; i++) {
    expect_ok(dm_output_sync(writers[i]));
    expect_ok(dm_output_close(writers[i]));
  }
  expect_ok(dm_attributes_add(&facts, "software", "damier"));
  expect_ok(dm_attributes_add(&facts, "inputs", "M\xc3\xbc.h5:/a %0300d", 7));
  expect_ok(dm_output_commit(&file, &facts, NULL, 0, force));
  assert_false(exists(file.part));
  free(data);
}

static void check_all(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols) {
  dm_dataset d;
  dm_reader *reader;
  static dm_attributes facts;
  char *data = elements(dtype, rows, cols);
  size_t bytes = (size_t)(rows * cols * dm_dtype_size(dtype));
  char *got = malloc(bytes);
  dm_view view = dm_view_row_major(got, dtype, rows, cols);
  expect_ok(dm_io_inspect(location, &(dm_trust){0}, &d, &facts));
  assert_true(d.dtype == dtype && d.rows == rows && d.cols == cols && !d.swapped);
  assert_true(d.offset >= 0 && d.layout == DM_CONTIGUOUS);
  assert_string_equal(dm_attributes_find(&facts, "damier_state"), "complete");
  assert_string_equal(dm_attributes_find(&facts, "software"), "damier");
  assert_int_equal(strlen(dm_attributes_find(&facts, "inputs")), 310);
  expect_ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
  expect_ok(dm_reader_read(reader, 0, 0, &view, 1, false));
  dm_reader_close(reader);
  assert_memory_equal(got, data, bytes);
  free(got);
  free(data);
}

static void test_every_type(void **state) {
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    dm_location location = at(*state, dtype % 2 ? "t.h5:/deep/er/c" : "t.h5:/c");
    unlink(location.file);
    expect_ok(dm_output_check(&location, "c", false, NULL, 0, NULL));
    write_all(&location, (dm_dtype)dtype, 40 + dtype, 1 + 9 * dtype, false);
    check_all(&location, (dm_dtype)dtype, 40 + dtype, 1 + 9 * dtype);
  }
}

static void test_replacing(void **state) {
  dm_location location = at(*state, "again.h5"), other = at(*state, "again.h5:/other");
  expect_ok(dm_output_check(&location, "c", false, NULL, 0, NULL));
  assert_string_equal(location.dataset, "/c");
  write_all(&location, DM_F32, 30, 20, false);
  expect_error(dm_output_check(&location, "c", false, NULL, 0, NULL), DM_E_USAGE, "exists");
  dm_dataset self = inspected(&location);
  expect_error(dm_output_check(&location, "c", true, &self, 1, NULL), DM_E_USAGE, "also an input");
  expect_error(dm_output_check(&other, "c", true, NULL, 0, NULL), DM_E_USAGE, "other objects: /c");
  expect_ok(dm_output_check(&location, "c", true, NULL, 0, &self));
  write_all(&location, DM_F64, 31, 21, true);
  check_all(&location, DM_F64, 31, 21);
}

static void test_leftovers(void **state) {
  dm_location location = at(*state, "left.h5:/c");
  dm_output_file file, second;
  dm_output *writer;
  expect_ok(dm_output_create(&location, DM_F64, 30, 20, false, &file));
  expect_error(dm_output_check(&location, "c", false, NULL, 0, NULL), DM_E_IO, "is left of");
  expect_error(dm_output_create(&location, DM_F64, 3, 2, false, &second), DM_E_IO, "is left of");
  expect_ok(dm_output_open(&file, &writer));
  expect_error(dm_output_check(&location, "c", true, NULL, 0, NULL), DM_E_IO, "another run");
  expect_error(dm_output_create(&location, DM_F64, 3, 2, true, &second), DM_E_IO, "another run");
  assert_true(exists(file.part));
  expect_ok(dm_output_close(writer));
  expect_ok(dm_output_check(&location, "c", true, NULL, 0, NULL));
  expect_ok(dm_output_create(&location, DM_F64, 3, 2, true, &second));
  dm_location part = at(*state, "left.h5.part:/c");
  static dm_attributes facts;
  dm_dataset unfinished;
  expect_ok(dm_io_inspect(&part, &(dm_trust){0}, &unfinished, &facts));
  assert_string_equal(dm_attributes_find(&facts, "damier_state"), "incomplete");
  expect_error(dm_output_check(&location, "c", true, &unfinished, 1, NULL), DM_E_USAGE, "an input");
  dm_output_discard(&second);
  assert_false(exists(file.part) || exists(location.file));
}

static void test_name_taken_meanwhile(void **state) {
  dm_location location = at(*state, "late.h5:/c");
  dm_output_file file;
  expect_ok(dm_output_create(&location, DM_F64, 3, 2, false, &file));
  write_file(location.file, DM_F64, 2, 2, &(file_form){0});
  expect_error(dm_output_commit(&file, &(dm_attributes){0}, NULL, 0, false), DM_E_IO, "appeared");
  assert_true(exists(file.part));
  dm_location taken = at(*state, "late.h5:/m");
  assert_int_equal(inspected(&taken).rows, 2); /* untouched */
  dm_output_discard(&file);
}

TEST_PROGRAM(test_io_output) {
  char folder[64];
  new_folder(folder);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(test_every_type, folder),
      cmocka_unit_test_prestate(test_replacing, folder),
      cmocka_unit_test_prestate(test_leftovers, folder),
      cmocka_unit_test_prestate(test_name_taken_meanwhile, folder),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove_folder(folder);
  return failed;
}
