/* A part file that is resumed, in any state that an interrupted commit left, and the list of tiles
 * of a complete file. */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "file_cases.h"
#include "io/output_tiles.h"

static bool named;

enum { ROWS = 40, COLS = 30 };

static dm_tile_record tiles[] = {{.rows = 25, .cols = COLS, .checksum = ~(uint64_t)0},
                                 {.row = 25, .rows = 15, .cols = COLS, .checksum = 1234567}};

static void write_and_sync(const dm_output_file *file) {
  dm_output *output;
  bool done;
  char *data = elements(DM_F32, ROWS, COLS);
  ok(dm_output_open(file, &output));
  ok(dm_output_write(output, 0, 0, dm_view_row_major(data, DM_F32, ROWS, COLS)));
  ok(dm_output_syncing(output, false, &done));
  assert_true(done);
  ok(dm_output_sync_start(output, NULL, NULL, NULL));
  fails(dm_output_sync_start(output, NULL, NULL, NULL), DM_E_BUG, "already");
  ok(dm_output_syncing(output, true, &done));
  assert_true(done);
  ok(dm_output_close(output));
  free(data);
}

static void expect_tiles(const dm_location *location, const dm_tile_record *wanted, int64_t count) {
  DM_FREED dm_tile_record *found = NULL;
  dm_dataset c = {.at = *location, .rows = ROWS, .cols = COLS};
  int64_t met;
  ok(dm_output_tiles_read(&c, &found, &met));
  assert_int_equal(met, count);
  for (int64_t i = 0; i < count; i++)
    assert_true(found[i].row == wanted[i].row && found[i].col == wanted[i].col &&
                found[i].rows == wanted[i].rows && found[i].cols == wanted[i].cols &&
                found[i].checksum == wanted[i].checksum);
}

static const char other[DM_ID] = "0123456789abcdef0123456789abcdef";

static dm_status reopen(const dm_location *location, int64_t offset, const char id[DM_ID],
                        dm_output_file *file, bool *there) {
  *file = (dm_output_file){.at = *location, .rows = ROWS, .cols = COLS, .dtype = DM_F32};
  memcpy(file->id, id, DM_ID);
  return dm_output_reopen(file, offset, there);
}

/* DAMAGE: 0 none, 1 everything before the data, 2 too long, 3 shorter than its data. */
static void take_up(const dm_location *location, int damage) {
  dm_output_file first, again;
  struct stat info;
  static dm_attributes facts;
  bool there;
  char noise[8192] = {1, 2, 3};
  ok(create_output(location, DM_F32, ROWS, COLS, &first));
  write_and_sync(&first);
  assert_int_equal(stat(first.part, &info), 0);
  int fd = open(first.part, O_RDWR);
  if (damage == 1) { /* except the file's own name */
    memcpy(noise + 100, first.id, DM_ID_LENGTH);
    assert_int_equal(pwrite(fd, noise, (size_t)first.offset, 0), first.offset);
  }
  if (damage > 1) assert_int_equal(ftruncate(fd, info.st_size + (damage == 2 ? 999 : -999)), 0);
  close(fd);
  dm_output_release(&first);
  fails(reopen(location, first.offset + 8, first.id, &again, &there), DM_E_IO, "another offset");
  fails(reopen(location, first.offset, other, &again, &there), DM_E_IO,
        "is not the file that its journal describes");
  ok(reopen(location, first.offset, first.id, &again, &there));
  assert_true(there && again.offset == first.offset && again.cols == COLS);
  if (damage == 3) write_and_sync(&again); /* data that was cut off is missing */
  ok(dm_output_commit(&again,
                      &(dm_output_completion){.provenance = &facts, .tiles = tiles, .count = 2},
                      NULL, &named));
  dm_output_release(&again);
  char *data = elements(DM_F32, ROWS, COLS);
  expect_data(location, DM_F32, ROWS, COLS, data);
  free(data);
  expect_tiles(location, tiles, 2);
  unlink(location->file);
}

TEST(test_taking_up) {
  dm_location location = at(*state, "C.h5:/deep/er/c");
  for (int damage = 0; damage < 4; damage++) take_up(&location, damage);
}

TEST(test_refusals) {
  dm_location location = at(*state, "D.h5:/c");
  dm_output_file file, again;
  dm_output *writer;
  bool there = true;
  ok(reopen(&location, 4096, other, &again, &there));
  assert_false(there);
  ok(create_output(&location, DM_F32, ROWS, COLS, &file));
  ok(dm_output_open(&file, &writer));
  fails(reopen(&location, file.offset, file.id, &again, &there), DM_E_IO, "another run");
  ok(dm_output_close(writer));
  give_up(&file);
  assert_int_equal(mkdir(file.part, 0700), 0);
  fails(reopen(&location, file.offset, file.id, &again, &there), DM_E_IO, "opened");
  rmdir(file.part);
}

/* An attribute holds 1500 tiles. */
TEST(test_many_tiles) {
  for (int wide = 1; wide <= 3; wide++) {
    dm_location location = at(*state, "E.h5:/c");
    static dm_tile_record many[ROWS * COLS * 3];
    static dm_attributes facts;
    dm_output_file file;
    const int64_t count = ROWS * COLS * wide, cols = COLS * wide;
    dm_dataset c = {.at = location, .rows = ROWS, .cols = cols};
    DM_FREED dm_tile_record *found = NULL;
    int64_t met;
    for (int64_t i = 0; i < count; i++)
      many[i] = (dm_tile_record){
          .row = i / cols, .col = i % cols, .rows = 1, .cols = 1, .checksum = (uint64_t)i << 40};
    ok(create_output(&location, DM_F32, ROWS, cols, &file));
    ok(dm_output_commit(
        &file, &(dm_output_completion){.provenance = &facts, .tiles = many, .count = count}, NULL,
        &named));
    dm_output_release(&file);
    ok(dm_output_tiles_read(&c, &found, &met));
    assert_int_equal(met, count);
    for (int64_t i = 0; i < count; i++)
      assert_true(found[i].row == many[i].row && found[i].checksum == many[i].checksum);
    hid_t h5 = H5Fopen(location.file, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Adelete_by_name(h5, "/c", "damier_tiles", H5P_DEFAULT) >= 0);
    assert_true(H5Fclose(h5) >= 0);
    free(found);
    found = NULL;
    fails(dm_output_tiles_read(&c, &found, &met), DM_E_INPUT, "are damaged");
    unlink(location.file);
  }
}

RUN_ALL_IN_FOLDER(test_io_reopen)
