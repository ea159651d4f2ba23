/* The file of C: written in pieces, complete once it has its name, and never at the expense of
 * another file. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "file_cases.h"
#include "io/pack.h"

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
  ok(create_output(location, dtype, rows, cols, &file));
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
  ok(dm_output_commit(&file, &(dm_output_completion){.provenance = &facts, .force = force}, NULL,
                      &named));
  dm_output_release(&file);
  assert_false(exists(file.part));
  free(data);
}

static void check_all(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols) {
  dm_dataset d;
  static dm_attributes facts;
  char *data = elements(dtype, rows, cols);
  ok(dm_file_inspect(location, &(dm_trust){0}, &d, &facts));
  assert_true(d.offset >= 0 && d.layout == DM_CONTIGUOUS);
  assert_string_equal(dm_attributes_find(&facts, "damier_state"), "complete");
  assert_string_equal(dm_attributes_find(&facts, "software"), "damier");
  assert_int_equal(strlen(dm_attributes_find(&facts, "inputs")), 310);
  expect_data(location, dtype, rows, cols, data);
  free(data);
}

/* In a folder like /tmp a user cannot replace another user's file; tried by root alone, who may
 * become one. */
TEST(test_sticky_folder) {
  if (geteuid() != 0) return;
  dm_location location = at(*state, "sticky/C.h5:/c");
  char folder[DM_PATH], parent[DM_PATH];
  dm_path_directory(location.file, folder);
  dm_path_directory(folder, parent);
  assert_int_equal(chmod(parent, 0755), 0);
  assert_int_equal(mkdir(folder, 0777), 0);
  write_all(&location, DM_F64, 3, 2, false);
  assert_int_equal(chmod(location.file, 0666), 0);
  for (int sticky = 0; sticky < 2; sticky++) {
    assert_int_equal(chmod(folder, sticky ? 01777 : 0777), 0);
    assert_int_equal(seteuid(12345), 0);
    dm_status status = dm_output_check(&location, "c", true, NULL, 0, NULL, NULL);
    assert_int_equal(seteuid(0), 0);
    if (sticky)
      fails(status, DM_E_IO, "sticky bit");
    else
      ok(status);
  }
}

TEST(test_every_type) {
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    dm_location location = at(*state, dtype % 2 ? "t.h5:/deep/er/c" : "t.h5:/c");
    unlink(location.file);
    ok(dm_output_check(&location, "c", false, NULL, 0, NULL, NULL));
    write_all(&location, (dm_dtype)dtype, 40 + dtype, 1 + 9 * dtype, false);
    check_all(&location, (dm_dtype)dtype, 40 + dtype, 1 + 9 * dtype);
  }
}

TEST(test_replacing) {
  dm_location location = at(*state, "again.h5"), other = at(*state, "again.h5:/other");
  ok(dm_output_check(&location, "c", false, NULL, 0, NULL, NULL));
  assert_string_equal(location.dataset, "/c");
  write_all(&location, DM_F32, 30, 20, false);
  fails(dm_output_check(&location, "c", false, NULL, 0, NULL, NULL), DM_E_USAGE, "exists");
  dm_dataset self = inspected(&location);
  fails(dm_output_check(&location, "c", true, (const dm_dataset *[]){&self}, 1, NULL, NULL),
        DM_E_USAGE, "also an input");
  fails(dm_output_check(&other, "c", true, NULL, 0, NULL, NULL), DM_E_USAGE, "other objects: /c");
  ok(dm_output_check(&location, "c", true, NULL, 0, &self, NULL));
  write_all(&location, DM_F64, 31, 21, true);
  check_all(&location, DM_F64, 31, 21);
}

TEST(test_leftovers) {
  dm_location location = at(*state, "left.h5:/c");
  dm_output_file file, second;
  dm_output *writer;
  ok(create_output(&location, DM_F64, 30, 20, &file));
  fails(dm_output_check(&location, "c", false, NULL, 0, NULL, NULL), DM_E_IO, "another run");
  fails(create_output(&location, DM_F64, 3, 2, &second), DM_E_IO, "another run");
  ok(dm_output_open(&file, &writer));
  fails(dm_output_check(&location, "c", true, NULL, 0, NULL, NULL), DM_E_IO, "another run");
  fails(create_output(&location, DM_F64, 3, 2, &second), DM_E_IO, "another run");
  ok(dm_output_close(writer));
  fails(dm_output_check(&location, "c", true, NULL, 0, NULL, NULL), DM_E_IO, "another run");
  assert_true(exists(file.part));
  dm_output_release(&file); /* only now has the last user closed it */
  ok(dm_output_check(&location, "c", false, NULL, 0, NULL,
                     NULL)); /* unfinished, so no --force is needed */
  ok(create_output(&location, DM_F64, 3, 2, &second));
  dm_location part = at(*state, "left.h5.part:/c");
  static dm_attributes facts;
  dm_dataset unfinished;
  ok(dm_file_inspect(&part, &(dm_trust){0}, &unfinished, &facts));
  assert_string_equal(dm_attributes_find(&facts, "damier_state"), "incomplete");
  fails(dm_output_check(&location, "c", true, (const dm_dataset *[]){&unfinished}, 1, NULL, NULL),
        DM_E_USAGE, "is an input");
  give_up(&second);
  assert_false(exists(file.part) || exists(location.file));
}

/* Temporary names of a run may belong to files of the user. */
TEST(test_files_of_the_user) {
  static const char *const endings[] = {".part", ".journal"};
  static const char text[] = "a list of things to do";
  dm_location location = at(*state, "own.h5:/c");
  for (int i = 0; i < 2; i++) {
    char path[DM_PATH + 16], back[sizeof text];
    snprintf(path, sizeof path, "%s%s", location.file, endings[i]);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    dm_dataset input = {.device = 0};
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    input.device = (uint64_t)info.st_dev;
    input.inode = (uint64_t)info.st_ino;
    fails(dm_output_check(&location, "c", true, (const dm_dataset *[]){&input}, 1, NULL, NULL),
          DM_E_USAGE, "is an input");
    fails(dm_output_check(&location, "c", true, NULL, 0, &input, NULL), DM_E_USAGE, "is an input");
    fails(dm_output_check(&location, "c", true, NULL, 0, NULL, NULL), DM_E_USAGE,
          "not made by damier");
    assert_int_equal(pread(fd, back, sizeof back, 0), sizeof text);
    assert_memory_equal(back, text, sizeof text);
    close(fd);
    unlink(path);
  }
}

/* A user who renames a result may need it. */
TEST(test_a_result_named_part) {
  dm_location location = at(*state, "mine.h5:/c");
  dm_output_file file;
  struct stat before, after;
  write_all(&location, DM_F64, 30, 20, false);
  char part[DM_SIBLING_PATH];
  snprintf(part, sizeof part, "%s.part", location.file);
  assert_int_equal(rename(location.file, part), 0);
  assert_int_equal(stat(part, &before), 0);
  fails(dm_output_check(&location, "c", true, NULL, 0, NULL, NULL), DM_E_USAGE,
        "is a complete result");
  fails(create_output(&location, DM_F64, 3, 2, &file), DM_E_USAGE, "is a complete result");
  assert_int_equal(stat(part, &after), 0);
  assert_int_equal(before.st_ino, after.st_ino);
  unlink(part);
}

/* What a loss of power can leave of a file whose data never reached the disk. */
TEST(test_leftovers_without_data) {
  dm_location location = at(*state, "lost.h5:/c");
  dm_output_file file;
  static const off_t lengths[] = {0, 1, 4096, (1 << 20) + 1, 5 << 20};
  for (int i = 0; i < 10; i++) {
    char part[DM_SIBLING_PATH], last = 'x';
    snprintf(part, sizeof part, "%s.part", location.file);
    const int fd = open(part, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(ftruncate(fd, lengths[i % 5]), 0);
    const bool foreign = i >= 5 && lengths[i % 5] > 0;
    if (foreign) assert_int_equal(pwrite(fd, &last, 1, lengths[i % 5] - 1), 1);
    close(fd);
    if (foreign)
      fails(create_output(&location, DM_F64, 3, 2, &file), DM_E_USAGE, "not made by damier");
    else
      ok(create_output(&location, DM_F64, 3, 2, &file));
    if (!foreign) give_up(&file);
    unlink(part);
  }
}

static mode_t mode_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return info.st_mode & 07777;
}

/* The new file has the owner, the rights and the attributes of the old one, and never more. */
TEST(test_rights) {
  static const mode_t modes[] = {0600, 0640, 0444, 0777};
  dm_location location = at(*state, "rights.h5:/c");
  dm_output_file file;
  for (int i = 0; i < 4; i++) {
    struct stat info;
    char value[4] = "";
    unlink(location.file);
    write_all(&location, DM_F32, 3, 2, false);
    assert_int_equal(chmod(location.file, modes[i]), 0);
    if (geteuid() == 0) assert_int_equal(chown(location.file, 12345, 54321), 0);
    const bool tagged = setxattr(location.file, "user.tag", "abc", 3, 0) == 0;
    ok(create_output(&location, DM_F32, 3, 2, &file));
    assert_int_equal(mode_of(file.part) & ~modes[i] & 077, 0);
    give_up(&file);
    write_all(&location, DM_F32, 3, 2, true);
    assert_int_equal(mode_of(location.file), modes[i]);
    assert_int_equal(stat(location.file, &info), 0);
    if (geteuid() == 0) assert_true(info.st_uid == 12345 && info.st_gid == 54321);
    if (tagged) assert_int_equal(getxattr(location.file, "user.tag", value, sizeof value), 3);
  }
}

/* {owner rw, user 12345 r, group -, mask r, others -}, as the kernel stores it. */
static const unsigned char list[] = {
    2, 0,    0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    4,
    0, 0x39, 0x30, 0,    0,    4,    0,    0, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
    4, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 0,    0,    0xff, 0xff, 0xff, 0xff};

TEST(test_lists_of_rights) {
  dm_location location = at(*state, "list.h5:/c");
  unsigned char back[sizeof list] = {0};
  write_all(&location, DM_F32, 3, 2, false);
  if (setxattr(location.file, "system.posix_acl_access", list, sizeof list, 0) < 0) skip();
  write_all(&location, DM_F32, 3, 2, true);
  assert_int_equal(getxattr(location.file, "system.posix_acl_access", back, sizeof back),
                   sizeof back);
  assert_memory_equal(back, list, sizeof list);
  assert_int_equal(mode_of(location.file), 0640);
}

/* Large enough for a thread that reserves space: the file can be opened at the same time. */
TEST(test_reserved_meanwhile) {
  dm_location location = at(*state, "large.h5:/c");
  dm_output_file file;
  dm_output *writer;
  dm_reservation *reservation;
  struct stat info;
  ok(dm_output_create_early(&location, DM_F64, 2048, 2048, NULL, &file, &reservation));
  assert_non_null(reservation);
  ok(dm_output_open(&file, &writer));
  for (bool has = false; !has;) ok(dm_reservation_has(reservation, 2048, &has));
  ok(dm_reservation_end(reservation, true));
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
  ok(create_output(&location, DM_F64, 3, 2, &first));
  char new[DM_SIBLING_PATH];
  snprintf(new, sizeof new, "%s.damier-new", location.file);
  unlink(first.part);
  fails(dm_output_commit(&first, &(dm_output_completion){.provenance = &facts}, NULL, &named),
        DM_E_IO, "removed or replaced");
  fails(create_output(&location, DM_F64, 3, 2, &second), DM_E_IO, "another run");
  unlink(new);
  ok(create_output(&location, DM_F64, 3, 2, &second));
  fails(dm_output_open(&first, &writer), DM_E_IO, "is not the file that rank 0 made");
  fails(dm_output_part(&first, &set), DM_E_IO, "is not the file that rank 0 made");
  fails(dm_output_commit(&first, &(dm_output_completion){.provenance = &facts, .force = true}, NULL,
                         &named),
        DM_E_IO, "removed or replaced");
  assert_false(exists(location.file));
  give_up(&first); /* keeps the other run's file */
  ok(dm_output_commit(&second, &(dm_output_completion){.provenance = &facts}, NULL, &named));
  dm_output_release(&second);
  assert_true(exists(location.file));
}

TEST(test_name_taken_meanwhile) {
  dm_location location = at(*state, "late.h5:/c");
  dm_output_file file;
  ok(create_output(&location, DM_F64, 3, 2, &file));
  write_file(location.file, DM_F64, 2, 2, &(file_form){0});
  fails(dm_output_commit(&file, &(dm_output_completion){.provenance = &(dm_attributes){0}}, NULL,
                         &named),
        DM_E_IO, "appeared");
  assert_true(exists(file.part));
  dm_location taken = at(*state, "late.h5:/m");
  assert_int_equal(inspected(&taken).rows, 2); /* untouched */
  give_up(&file);
}

RUN_ALL_IN_FOLDER(test_io_output)
