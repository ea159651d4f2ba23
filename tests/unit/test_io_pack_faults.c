/* C in chunks: what goes wrong on the way leaves the contiguous file. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "pack_files.h"

/* Damages the first chunk, whose rows are not packed, when the last one has been written. */
typedef struct damage {
  const char *path, *row;
  size_t length;
  int left;
} damage;

static dm_status do_damage(void *context) {
  damage *d = context;
  if (--d->left != 0) return DM_OK;
  char *whole = malloc(1 << 20);
  int fd = open(d->path, O_RDWR);
  ssize_t bytes = pread(fd, whole, 1 << 20, 0);
  char *found = memmem(whole, (size_t)bytes, d->row, d->length);
  assert_non_null(found);
  assert_int_equal(pwrite(fd, "wrong", 5, found - whole), 5);
  close(fd);
  free(whole);
  return DM_OK;
}

static void test_damage(void **state) {
  const dm_output_form form = {.chunk_rows = 35, .chunk_cols = 31};
  char *data = elements(DM_F64, ROWS, COLS);
  dm_location location = at(*state, "damaged.h5:/c");
  dm_output_file packed, file = contiguous(&location, DM_F64, data);
  char path[DM_PATH + 8];
  snprintf(path, sizeof path, "%s.packing", location.file);
  for (int threads = 0; threads < 3; threads++) {
    damage d = {.path = path, .row = data, .length = 31 * 8, .left = 6};
    expect_error(dm_pack(&file, &form, threads, &(dm_keepalive){do_damage, &d}, &packed), DM_E_IO,
                 "the chunk at (0, 0) of '");
    assert_true(exists(file.part) && !exists(packed.part));
  }
  dm_output_discard(&file);
  free(data);
}

/* A limit on file sizes stands for a disk that fills up. */
static void test_no_space(void **state) {
  const dm_output_form form = {.chunk_rows = 8, .chunk_cols = 8};
  void *data = elements(DM_F64, ROWS, COLS);
  dm_location location = at(*state, "full.h5:/c");
  dm_output_file packed, file = contiguous(&location, DM_F64, data);
  struct rlimit before, low;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  low = before;
  low.rlim_cur = 20000;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
  dm_status room = dm_pack_room(&file, &form);
  dm_status status = dm_pack(&file, &form, 2, NULL, &packed);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  expect_error(room, DM_E_FIT, "the file with chunks, beside the one without");
  assert_true(status && strstr(status->hint, "the whole result is '"));
  expect_error(status, DM_E_FIT, "cannot be ");
  assert_true(exists(file.part) && !exists(packed.part));
  dm_output_discard(&file);
  free(data);
}

TEST_PROGRAM(test_io_pack_faults) {
  char folder[64];
  new_folder(folder);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(test_damage, folder),
      cmocka_unit_test_prestate(test_no_space, folder),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove_folder(folder);
  return failed;
}
