/* C in chunks: after failures the contiguous file is left. */
#include <fcntl.h>

#include "core/element_sum.h"
#include "pack_files.h"

/* Damages the first chunk, whose rows are not packed yet, after the last one was written. */
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

TEST(test_damage) {
  const dm_output_form form = {.chunk_rows = 35, .chunk_cols = 31};
  char *data = elements(DM_F64, ROWS, COLS);
  dm_location location = at(*state, "damaged.h5:/c");
  dm_output_file packed, file = contiguous(&location, DM_F64, data);
  char path[DM_SIBLING_PATH];
  snprintf(path, sizeof path, "%s.damier-new", location.file);
  for (int threads = 0; threads < 3; threads++) {
    damage d = {.path = path, .row = data, .length = 31 * 8, .left = 6};
    fails(dm_pack(&file, &form, threads, NULL, &(dm_keepalive){do_damage, &d}, &packed), DM_E_IO,
          "the chunk at (0, 0) of '");
    assert_true(exists(file.part) && !exists(packed.part));
  }
  give_up(&file);
  free(data);
}

/* Packed data are compared with the recorded checksums, for any boundaries of chunks and tiles. */
TEST(test_tiles) {
  const dm_output_form form = {.chunk_rows = 35, .chunk_cols = 31};
  char *data = elements(DM_F64, ROWS, COLS);
  const dm_view all = dm_view_row_major(data, DM_F64, ROWS, COLS);
  dm_tile_record tiles[] = {{.rows = 40, .cols = COLS},
                            {.row = 40, .rows = ROWS - 40, .cols = COLS}};
  for (int i = 0; i < 2; i++)
    tiles[i].checksum = dm_checksum_view(dm_view_sub(all, tiles[i].row, 0, tiles[i].rows, COLS),
                                         tiles[i].row, 0, COLS);
  dm_location location = at(*state, "tiles.h5:/c");
  dm_output_file packed, file = contiguous(&location, DM_F64, data);
  for (int damaged = 0; damaged < 2; damaged++) {
    dm_tile_sums *sums;
    ok(dm_tile_sums_open(tiles, 2, COLS, &sums));
    if (damaged)
      assert_int_equal(pwrite(file.made, "x", 1, file.offset + (ROWS * COLS - 1) * 8), 1);
    dm_status status = dm_pack(&file, &form, damaged, sums, NULL, &packed);
    if (damaged)
      fails(status, DM_E_IO, "tile 2 of '");
    else
      ok(status);
    dm_tile_sums_close(sums);
    if (!damaged) dm_output_discard(&packed);
    if (!damaged) dm_output_release(&packed);
  }
  give_up(&file);
  free(data);
}

TEST(test_no_space) {
  const dm_output_form form = {.chunk_rows = 8, .chunk_cols = 8};
  void *data = elements(DM_F64, ROWS, COLS);
  dm_location location = at(*state, "full.h5:/c");
  dm_output_file packed, file = contiguous(&location, DM_F64, data);
  limit_files(20000);
  dm_status room = dm_pack_room(&file, &form);
  dm_status status = dm_pack(&file, &form, 2, NULL, NULL, &packed);
  limit_files(-1);
  fails(room, DM_E_FIT, "the file with chunks, beside the one without");
  assert_true(status && strstr(status->hint, "the complete result is '"));
  fails(status, DM_E_FIT, "cannot be ");
  assert_true(exists(file.part) && !exists(packed.part));
  give_up(&file);
  free(data);
}

RUN_ALL_IN_FOLDER(test_io_pack_faults)
