/* Outputs that are refused before writing, and full disks. */
#include <sys/mount.h>
#include <sys/stat.h>

#include "dataset/child.h"
#include "file_cases.h"

static void refuse(const char *folder, const char *name, bool force, dm_code code,
                   const char *fragment) {
  dm_location location = at(folder, name);
  fails(dm_output_check(&location, "c", force, NULL, 0, NULL, NULL), code, fragment);
}

static dm_status never(const void *argument, void *result) {
  (void)argument, (void)result;
  pause();
  return DM_OK;
}

/* Like a server that does not answer. */
TEST(test_patience) {
  dm_location location = at(*state, "far.h5:/a");
  char result = 0;
  const dm_child_task task = {
      .at = &location, .seconds = 0.05, .work = never, .result = &result, .bytes = 1};
  dm_kept_child child = {0};
  fails(dm_child_do(&task), DM_E_IO, "did not answer within 0.05 s");
  fails(dm_child_do_by(&child, &task), DM_E_IO, "did not answer within 0.05 s");
  assert_int_equal(child.pid, 0);
}

TEST(test_places) {
  char path[512], target[512];
  refuse(*state, "none/c.h5", false, DM_E_IO, "No such file");
  refuse(*state, "c.h5:/", false, DM_E_USAGE, "keeps for itself");
  refuse(*state, "c.h5:/.damier/c", false, DM_E_USAGE, "keeps for itself");
  assert_int_equal(mkdir(path_in(path, *state, "dir.h5"), 0777), 0);
  refuse(*state, "dir.h5", true, DM_E_USAGE, "is a directory");
  assert_int_equal(symlink("nowhere.h5", path_in(path, *state, "link.h5")), 0);
  refuse(*state, "link.h5", true, DM_E_USAGE, "is a symbolic link");
  write_text(path_in(path, *state, "plain.h5"), "text\n");
  refuse(*state, "plain.h5", false, DM_E_USAGE, "the file exists");
  refuse(*state, "plain.h5", true, DM_E_USAGE, "not an HDF5 file");
  refuse(*state, "plain.h5/c.h5", false, DM_E_IO, "not a directory");
  assert_int_equal(symlink(path, path_in(target, *state, "c.h5.part")), 0);
  refuse(*state, "c.h5", true, DM_E_IO, "cannot be opened");
  unlink(target);
}

/* Adds something to a file with /m that the program must not replace. */
static void add(const char *path, int what) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), id = -1, space = H5Screate(H5S_SCALAR);
  if (what == 0) id = H5Gcreate2(file, "empty", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (what == 1) H5Lcreate_soft("/nowhere", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  if (what == 2) H5Lcreate_external("x.h5", "/x", file, "out", H5P_DEFAULT, H5P_DEFAULT);
  if (what == 3) id = H5Acreate2(file, "note", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  if (what == 4) id = H5Gcreate2(file, ".damier", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (what == 3)
    H5Aclose(id);
  else if (id >= 0)
    H5Gclose(id);
  H5Sclose(space);
  assert_true(H5Fclose(file) >= 0);
}

TEST(test_other_objects) {
  static const char *const found[] = {"objects: /empty", "objects: /soft", "objects: /out",
                                      "attributes of its root", NULL};
  for (int what = 0; what < 5; what++) {
    dm_location location = at(*state, "full.h5:/m");
    write_file(location.file, DM_F64, 3, 4, &(file_form){0});
    add(location.file, what);
    dm_status status = dm_output_check(&location, "c", true, NULL, 0, NULL, NULL);
    if (found[what])
      fails(status, DM_E_USAGE, found[what]);
    else
      ok(status);
    unlink(location.file);
  }
}

TEST(test_too_large) {
  dm_location location = at(*state, "large.h5:/c");
  dm_output_file file;
  int64_t side = 1ll << 26;
  fails(create_output(&location, DM_F64, side, side, &file), DM_E_FIT, "needs");
  fails(create_output(&location, DM_F64, side * side, side, &file), DM_E_FIT, "");
  limit_files(1 << 20);
  fails(create_output(&location, DM_F64, 512, 512, &file), DM_E_FIT, "may have");
  limit_files(-1);
  dm_output *output;
  char *data = elements(DM_F64, 512, 512);
  ok(create_output(&location, DM_F64, 512, 512, &file));
  ok(dm_output_open(&file, &output));
  limit_files(1 << 20); /* as if the disk were full in the middle of the run */
  fails(dm_output_write(output, 0, 0, dm_view_row_major(data, DM_F64, 512, 512)), DM_E_IO,
        "writing at byte 1048576 failed: File too large");
  limit_files(-1);
  ok(dm_output_close(output));
  give_up(&file);
  free(data);
}

TEST(test_full_disk) {
  char disk[512];
  assert_int_equal(mkdir(path_in(disk, *state, "disk"), 0777), 0);
  if (mount("tmpfs", disk, "tmpfs", 0, "size=6m") != 0) skip(); /* needs root */
  dm_location location = at(disk, "c.h5:/c");
  dm_output_file file, second;
  fails(create_output(&location, DM_F64, 1024, 1024, &file), DM_E_FIT, "are free");
  assert_int_not_equal(access(location.file, F_OK), 0);
  ok(create_output(&location, DM_F32, 1024, 1024, &file)); /* 4 of 6 MiB */
  location = at(disk, "d.h5:/c");
  fails(create_output(&location, DM_F32, 1024, 1024, &second), DM_E_FIT, "free");
  assert_int_not_equal(access(second.part, F_OK), 0);
  dm_output_release(&file);
  assert_int_equal(umount(disk), 0);
}

RUN_ALL_IN_FOLDER(test_io_refusals)
