/* The file of C: written in pieces, complete once it has its name, and never at the expense of
 * another file. */
#include <fcntl.h>
#include <sys/stat.h>

#include "io/pack.h"
#include "io_files.h"

static bool named;

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
  ok(dm_output_create(location, dtype, rows, cols, force, &file));
  assert_true(exists(file.part));
  ok(dm_output_open(&file, &writers[0]));
  ok(dm_output_open(&file, &writers[1]));
  int64_t top = rows / 2, left = cols / 3;
  ok(dm_output_write(writers[0], 0, 0, dm_view_sub(whole, 0, 0, top, left)));
  ok(dm_output_write(writers[1], 0, left, dm_view_sub(whole, 0, left, top, cols - left)));
  ok(dm_output_write(writers[1], top, 0, dm_view_sub(whole, top, 0, rows - top, cols)));
  fails(dm_output_write(writers[0], 1, 0, whole), DM_E_BUG, "do not fit");
  for (int i = 0; i < 2; i++) {
    ok(dm_output_sync(writers[i], NULL));
    ok(dm_output_close(writers[i]));
  }
  ok(dm_attributes_add(&facts, "software", "damier"));
  ok(dm_attributes_add(&facts, "inputs", "M\xc3\xbc.h5:/a %0300d", 7));
  ok(dm_output_commit(&file, &facts, NULL, 0, force, NULL, &named));
  dm_output_release(&file);
  assert_false(exists(file.part));
  free(data);
}

static void check_all(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols) {
  dm_dataset d;
  static dm_attributes facts;
  char *data = elements(dtype, rows, cols);
  ok(dm_io_inspect(location, &(dm_trust){0}, &d, &facts));
  assert_true(d.offset >= 0 && d.layout == DM_CONTIGUOUS);
  assert_string_equal(dm_attributes_find(&facts, "damier_state"), "complete");
  assert_string_equal(dm_attributes_find(&facts, "software"), "damier");
  assert_int_equal(strlen(dm_attributes_find(&facts, "inputs")), 310);
  expect_data(location, dtype, rows, cols, data);
  free(data);
}

TEST(test_every_type) {
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    dm_location location = at(*state, dtype % 2 ? "t.h5:/deep/er/c" : "t.h5:/c");
    unlink(location.file);
    ok(dm_output_check(&location, "c", false, NULL, 0, NULL));
    write_all(&location, (dm_dtype)dtype, 40 + dtype, 1 + 9 * dtype, false);
    check_all(&location, (dm_dtype)dtype, 40 + dtype, 1 + 9 * dtype);
  }
}

TEST(test_replacing) {
  dm_location location = at(*state, "again.h5"), other = at(*state, "again.h5:/other");
  ok(dm_output_check(&location, "c", false, NULL, 0, NULL));
  assert_string_equal(location.dataset, "/c");
  write_all(&location, DM_F32, 30, 20, false);
  fails(dm_output_check(&location, "c", false, NULL, 0, NULL), DM_E_USAGE, "exists");
  dm_dataset self = inspected(&location);
  fails(dm_output_check(&location, "c", true, &self, 1, NULL), DM_E_USAGE, "also an input");
  fails(dm_output_check(&other, "c", true, NULL, 0, NULL), DM_E_USAGE, "other objects: /c");
  ok(dm_output_check(&location, "c", true, NULL, 0, &self));
  write_all(&location, DM_F64, 31, 21, true);
  check_all(&location, DM_F64, 31, 21);
}

TEST(test_leftovers) {
  dm_location location = at(*state, "left.h5:/c");
  dm_output_file file, second;
  dm_output *writer;
  ok(dm_output_create(&location, DM_F64, 30, 20, false, &file));
  fails(dm_output_check(&location, "c", false, NULL, 0, NULL), DM_E_IO,
        "belongs to an earlier run");
  fails(dm_output_create(&location, DM_F64, 3, 2, false, &second), DM_E_IO,
        "belongs to an earlier run");
  ok(dm_output_open(&file, &writer));
  fails(dm_output_check(&location, "c", true, NULL, 0, NULL), DM_E_IO, "another run");
  fails(dm_output_create(&location, DM_F64, 3, 2, true, &second), DM_E_IO, "another run");
  ok(dm_output_close(writer));
  fails(dm_output_check(&location, "c", true, NULL, 0, NULL), DM_E_IO, "another run");
  assert_true(exists(file.part));
  dm_output_release(&file); /* only now has the last user closed it */
  ok(dm_output_check(&location, "c", true, NULL, 0, NULL));
  ok(dm_output_create(&location, DM_F64, 3, 2, true, &second));
  dm_location part = at(*state, "left.h5.part:/c");
  static dm_attributes facts;
  dm_dataset unfinished;
  ok(dm_io_inspect(&part, &(dm_trust){0}, &unfinished, &facts));
  assert_string_equal(dm_attributes_find(&facts, "damier_state"), "incomplete");
  fails(dm_output_check(&location, "c", true, &unfinished, 1, NULL), DM_E_USAGE, "is an input");
  give_up(&second);
  assert_false(exists(file.part) || exists(location.file));
}

/* Temporary names of a run may belong to files of the user. */
TEST(test_files_of_the_user) {
  static const char *const endings[] = {".part", ".journal", ".packing"};
  static const char text[] = "a list of things to do";
  dm_location location = at(*state, "own.h5:/c");
  for (int i = 0; i < 3; i++) {
    char path[DM_PATH + 16], back[sizeof text];
    snprintf(path, sizeof path, "%s%s", location.file, endings[i]);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    dm_dataset input = {.device = 0};
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    input.device = (uint64_t)info.st_dev;
    input.inode = (uint64_t)info.st_ino;
    fails(dm_output_check(&location, "c", true, &input, 1, NULL), DM_E_USAGE, "is an input");
    fails(dm_output_check(&location, "c", true, NULL, 0, &input), DM_E_USAGE, "is an input");
    dm_status status = dm_output_check(&location, "c", true, NULL, 0, NULL);
    fails(status ? status : dm_pack_check(&location, true), DM_E_USAGE, "not made by damier");
    assert_int_equal(pread(fd, back, sizeof back, 0), sizeof text);
    assert_memory_equal(back, text, sizeof text);
    close(fd);
    unlink(path);
  }
}

/* Large enough for a thread that reserves space: the file can be opened at the same time. */
TEST(test_reserved_meanwhile) {
  dm_location location = at(*state, "large.h5:/c");
  dm_output_file file;
  dm_output *writer;
  dm_reservation *reservation;
  struct stat info;
  ok(dm_output_create_early(&location, DM_F64, 2048, 2048, false, &file, &reservation));
  assert_non_null(reservation);
  ok(dm_output_open(&file, &writer));
  ok(dm_reservation_end(reservation));
  assert_int_equal(stat(file.part, &info), 0);
  assert_true(info.st_blocks * 512 >= 2048 * 2048 * 8);
  ok(dm_output_close(writer));
  give_up(&file);
}

/* File systems without locks, or a user who removed the part file. */
TEST(test_part_file_replaced_meanwhile) {
  dm_location location = at(*state, "twice.h5:/c");
  dm_output_file first, second;
  dm_output *writer;
  dm_dataset set;
  static dm_attributes facts;
  ok(dm_output_create(&location, DM_F64, 3, 2, false, &first));
  unlink(first.part);
  fails(dm_output_commit(&first, &facts, NULL, 0, false, NULL, &named), DM_E_IO,
        "removed or replaced");
  ok(dm_output_create(&location, DM_F64, 3, 2, false, &second));
  fails(dm_output_open(&first, &writer), DM_E_IO, "is not the file that rank 0 made");
  fails(dm_output_part(&first, &set), DM_E_IO, "is not the file that rank 0 made");
  fails(dm_output_commit(&first, &facts, NULL, 0, true, NULL, &named), DM_E_IO,
        "removed or replaced");
  assert_false(exists(location.file));
  give_up(&first); /* keeps the other run's file */
  ok(dm_output_commit(&second, &facts, NULL, 0, false, NULL, &named));
  dm_output_release(&second);
  assert_true(exists(location.file));
}

TEST(test_name_taken_meanwhile) {
  dm_location location = at(*state, "late.h5:/c");
  dm_output_file file;
  ok(dm_output_create(&location, DM_F64, 3, 2, false, &file));
  write_file(location.file, DM_F64, 2, 2, &(file_form){0});
  fails(dm_output_commit(&file, &(dm_attributes){0}, NULL, 0, false, NULL, &named), DM_E_IO,
        "appeared");
  assert_true(exists(file.part));
  dm_location taken = at(*state, "late.h5:/m");
  assert_int_equal(inspected(&taken).rows, 2); /* untouched */
  give_up(&file);
}

RUN_ALL_IN_FOLDER(test_io_output)
