#include "file/output_tiles.h"

#include <stddef.h>
#include <stdio.h>

#include "core/element_sum.h"
#include "file/checksum.h"
#include "file/hdf5_attribute.h"
#include "file/hdf5_use.h"

static const struct {
  const char *name;
  size_t at;
} columns[] = {{"row", offsetof(dm_tile_record, row)},
               {"col", offsetof(dm_tile_record, col)},
               {"rows", offsetof(dm_tile_record, rows)},
               {"cols", offsetof(dm_tile_record, cols)},
               {"checksum", offsetof(dm_tile_record, checksum)}};

enum { COLUMNS = sizeof columns / sizeof columns[0], WIDTH = 8 };

/* The type of records in memory, or of their stored fields. */
static hid_t make_type(bool stored) {
  hid_t type = H5Tcreate(H5T_COMPOUND, stored ? COLUMNS * WIDTH : sizeof(dm_tile_record));
  for (int i = 0; i < COLUMNS && type >= 0; i++)
    if (H5Tinsert(type, columns[i].name, stored ? (size_t)i * WIDTH : columns[i].at,
                  stored ? H5T_STD_U64LE : H5T_NATIVE_UINT64) < 0) {
      H5Tclose(type);
      type = -1;
    }
  return type;
}

hid_t dm_output_tile_type(void) {
  return make_type(false);
}

uint64_t dm_output_tiles_hash(const dm_tile_record *tiles, int64_t count) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t row[COLUMNS] = {(uint64_t)tiles[i].row, (uint64_t)tiles[i].col,
                             (uint64_t)tiles[i].rows, (uint64_t)tiles[i].cols, tiles[i].checksum};
    hash = dm_checksum_bytes(row, sizeof row, hash);
  }
  return hash;
}

static dm_status describe(const dm_location *at, hid_t set, const dm_tile_record *tiles,
                          int64_t count) {
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)dm_output_tiles_hash(tiles, count));
  DM_TRY(dm_h5_write_text(at, set, DM_TILES_OF, at->dataset));
  DM_TRY(dm_h5_write_text(at, set, DM_TILES_CHECKSUM, DM_CHECKSUM));
  return dm_h5_write_text(at, set, DM_TILES_HASH, hash);
}

dm_status dm_output_write_tiles(const dm_location *at, hid_t file, const dm_tile_record *tiles,
                                int64_t count) {
  const hsize_t dims[] = {(hsize_t)count};
  hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(1, dims, NULL);
  hid_t stored = make_type(true), held = make_type(false), set = -1;
  if (links >= 0 && space >= 0 && stored >= 0 && held >= 0 &&
      H5Pset_create_intermediate_group(links, 1) >= 0)
    set = H5Dcreate2(file, DM_TILES, stored, space, links, H5P_DEFAULT, H5P_DEFAULT);
  dm_status status = DM_OK;
  if (set < 0 || H5Dwrite(set, held, H5S_ALL, H5S_ALL, H5P_DEFAULT, tiles) < 0)
    status = dm_h5_fail(DM_E_IO, at, "the checksums of its tiles cannot be written");
  if (!status) status = describe(at, set, tiles, count);
  if (set >= 0 && H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, at, "the checksums of its tiles cannot be written");
  if (links >= 0) H5Pclose(links);
  if (space >= 0) H5Sclose(space);
  if (stored >= 0) H5Tclose(stored);
  if (held >= 0) H5Tclose(held);
  return status;
}
