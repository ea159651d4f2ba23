#include "file/output_tiles.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/element_sum.h"
#include "file/child.h"
#include "file/hdf5_type.h"
#include "file/hdf5_use.h"
#include "file/journal.h"

#define TILES "/.damier/tiles"
#define TILES_OF "dataset" /* attribute: the dataset of the tiles */
#define TILES_HASH "hash"
#define TILES_CHECKSUM "checksum" /* attribute: DM_CHECKSUM */

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

static uint64_t hash_of(const dm_tile_record *tiles, int64_t count) {
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
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash_of(tiles, count));
  DM_TRY(dm_h5_write_text(at, set, TILES_OF, at->dataset));
  DM_TRY(dm_h5_write_text(at, set, TILES_CHECKSUM, DM_CHECKSUM));
  return dm_h5_write_text(at, set, TILES_HASH, hash);
}

dm_status dm_output_write_tiles(const dm_location *at, int64_t file, const dm_tile_record *tiles,
                                int64_t count) {
  const hsize_t dims[] = {(hsize_t)count};
  hid_t set = -1;
  DM_H5_HELD hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(1, dims, NULL);
  DM_H5_HELD hid_t stored = make_type(true), held = make_type(false);
  if (links >= 0 && space >= 0 && stored >= 0 && held >= 0 &&
      H5Pset_create_intermediate_group(links, 1) >= 0)
    set = H5Dcreate2(file, TILES, stored, space, links, H5P_DEFAULT, H5P_DEFAULT);
  dm_status status = DM_OK;
  if (set < 0 || H5Dwrite(set, held, H5S_ALL, H5S_ALL, H5P_DEFAULT, tiles) < 0)
    status = dm_h5_fail(DM_E_IO, at, "the checksums of its tiles cannot be written");
  if (!status) status = describe(at, set, tiles, count);
  if (set >= 0 && H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, at, "the checksums of its tiles cannot be written");
  return status;
}

/* ---- reading them back ---- */

enum { MOST = 1 << 20 };

/* The child's answer, which the tiles follow. */
typedef struct answer {
  int64_t count;
  char hash[32];
  dm_tile_record *tiles; /* in the child */
} answer;

static dm_status damaged(const dm_location *at) {
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "the checksums of its tiles are damaged"),
                 "remove /.damier/tiles from the file to verify without them");
}

/* Whether the attributes of SET, a dataset of tiles, name AT and our checksums. */
static dm_status read_texts(const dm_location *at, hid_t set, char hash[32], bool *ours) {
  DM_FREED dm_attributes *texts = NULL;
  DM_TRY(dm_buffer_table(1, &texts));
  dm_status status = dm_h5_read_attributes(at, set, texts);
  const char *of = dm_attributes_find(texts, TILES_OF);
  const char *found = dm_attributes_find(texts, TILES_HASH);
  const char *kind = dm_attributes_find(texts, TILES_CHECKSUM);
  *ours = !status && of && strcmp(of, at->dataset) == 0 && kind && strcmp(kind, DM_CHECKSUM) == 0;
  memset(hash, 0, 32);
  if (found) memcpy(hash, found, strnlen(found, 31));
  return status;
}

static int64_t count_of(hid_t set) {
  hsize_t dims[H5S_MAX_RANK] = {0};
  DM_H5_HELD hid_t space = H5Dget_space(set);
  const bool list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                    H5Sget_simple_extent_dims(space, dims, NULL) == 1;
  return list && dims[0] <= MOST ? (int64_t)dims[0] : -1;
}

static dm_status read_tiles(const dm_location *at, hid_t set, answer *a) {
  bool ours;
  DM_TRY(read_texts(at, set, a->hash, &ours));
  const int64_t count = ours ? count_of(set) : 0;
  DM_H5_HELD hid_t type = make_type(false);
  if (count < 0 || type < 0) return damaged(at);
  DM_TRY(dm_buffer_table(count, &a->tiles));
  a->count = count;
  return count == 0 || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->tiles) >= 0
             ? DM_OK
             : damaged(at);
}

/* A dm_child_work: dm_location -> answer. The process ends afterwards, which closes everything. */
static dm_status read_in_child(const void *argument, void *result) {
  const dm_location *at = argument;
  hid_t file;
  dm_h5_exit leave;
  DM_TRY(dm_h5_start(false));
  DM_TRY(dm_h5_open_file(at, &file));
  hid_t access = dm_h5_access(false, &leave);
  if (access < 0) return dm_h5_fail(DM_E_IO, at, "no access list");
  if (H5Lexists(file, "/.damier", H5P_DEFAULT) <= 0 || H5Lexists(file, TILES, H5P_DEFAULT) <= 0)
    return DM_OK;
  const hid_t set = H5Dopen2(file, TILES, access);
  return set < 0 ? damaged(at) : read_tiles(at, set, result);
}

static const void *tiles_of(const void *result, int64_t *bytes) {
  const answer *a = result;
  *bytes = a->count * (int64_t)sizeof *a->tiles;
  return a->tiles;
}

/* The numbers come from an untrusted file. */
static bool is_sane(const dm_tile_record *t, const dm_dataset *c) {
  return t->row >= 0 && t->col >= 0 && t->rows >= 0 && t->cols >= 0 && t->row <= c->rows &&
         t->col <= c->cols && t->rows <= c->rows - t->row && t->cols <= c->cols - t->col;
}

/* Checks that every tile is in C and that their areas add up to C. Overlapping tiles can pass this,
 * but then their checksums do not match. */
static dm_status accept(const dm_dataset *c, const answer *a, const dm_tile_record *tiles,
                        int64_t bytes) {
  char hash[32];
  int64_t elements = 0;
  if (a->count < 0 || a->count > MOST || a->count * (int64_t)sizeof *tiles != bytes)
    return damaged(&c->at);
  for (int64_t i = 0; i < a->count; i++) {
    if (!is_sane(&tiles[i], c)) return damaged(&c->at);
    elements += tiles[i].rows * tiles[i].cols;
    if (elements > c->rows * c->cols) return damaged(&c->at);
  }
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash_of(tiles, a->count));
  const bool good = elements == c->rows * c->cols && strncmp(hash, a->hash, sizeof hash) == 0;
  return a->count == 0 || good ? DM_OK : damaged(&c->at);
}

dm_status dm_output_tiles_read(const dm_dataset *c, dm_tile_record **tiles, int64_t *count) {
  answer a = {0};
  dm_child_tail tail = {.of = tiles_of, .limit = MOST * (int64_t)sizeof **tiles};
  *tiles = NULL;
  *count = 0;
  if (!c->at.dataset[0] || c->at.part[0]) return DM_OK; /* a NumPy file; a part of C */
  DM_TRY(dm_child_run_within(&c->at, 0.0, read_in_child, &c->at, &a, sizeof a, &tail));
  dm_status status = accept(c, &a, tail.memory, tail.bytes);
  if (status) {
    free(tail.memory);
    return status;
  }
  *tiles = tail.memory;
  *count = a.count;
  return DM_OK;
}
