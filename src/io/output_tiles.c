#include "io/output_tiles.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "core/element_sum.h"
#include "dataset/child.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "dataset/json_file.h"
#include "dataset/zarr.h"
#include "io/journal.h"

#define TILES "damier_tiles"
#define TILES_CHECKSUM "damier_tiles_checksum" /* DM_CHECKSUM */

/* Rows in one attribute, which has at most 64 KiB with its description; and in all of them. */
enum { OUTPUT_TILES_ROWS = 1500, OUTPUT_TILES_MOST = 1 << 20 };

static const struct {
  const char *name;
  size_t at;
} output_tiles_columns[] = {{"row", offsetof(dm_tile_record, row)},
                            {"col", offsetof(dm_tile_record, col)},
                            {"rows", offsetof(dm_tile_record, rows)},
                            {"cols", offsetof(dm_tile_record, cols)},
                            {"checksum", offsetof(dm_tile_record, checksum)}};

enum {
  OUTPUT_TILES_COLUMNS = sizeof output_tiles_columns / sizeof output_tiles_columns[0],
  OUTPUT_TILES_WIDTH = 8
};

/* The type of records in memory, or of their stored fields. */
static hid_t make_type(bool stored) {
  hid_t type = H5Tcreate(H5T_COMPOUND, stored ? OUTPUT_TILES_COLUMNS * OUTPUT_TILES_WIDTH
                                              : sizeof(dm_tile_record));
  for (int i = 0; i < OUTPUT_TILES_COLUMNS && type >= 0; i++)
    if (H5Tinsert(type, output_tiles_columns[i].name,
                  stored ? (size_t)i * OUTPUT_TILES_WIDTH : output_tiles_columns[i].at,
                  stored ? H5T_STD_U64LE : H5T_NATIVE_UINT64) < 0) {
      H5Tclose(type);
      type = -1;
    }
  return type;
}

static uint64_t hash_of(const dm_tile_record *tiles, int64_t count) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t row[OUTPUT_TILES_COLUMNS] = {(uint64_t)tiles[i].row, (uint64_t)tiles[i].col,
                                          (uint64_t)tiles[i].rows, (uint64_t)tiles[i].cols,
                                          tiles[i].checksum};
    hash = dm_checksum_bytes(row, sizeof row, hash);
  }
  return hash;
}

/* The name of the attribute that starts with row FIRST. */
static void name_list(int64_t first, char name[32]) {
  if (first == 0)
    snprintf(name, 32, TILES);
  else
    snprintf(name, 32, TILES "_%lld", (long long)(first / OUTPUT_TILES_ROWS + 1));
}

static dm_status not_written(const dm_location *at) {
  return dm_h5_fail(DM_E_IO, at, "the checksums of its tiles cannot be written");
}

/* Rows FIRST to FIRST + COUNT, of which TILES is the first. */
static dm_status write_list(const dm_location *at, hid_t set, const dm_tile_record *tiles,
                            int64_t first, int64_t count) {
  const hsize_t dims[] = {(hsize_t)count};
  char name[32];
  name_list(first, name);
  DM_H5_HELD hid_t space = H5Screate_simple(1, dims, NULL);
  DM_H5_HELD hid_t stored = make_type(true), held = make_type(false);
  bool exists;
  DM_TRY(dm_h5_has_attribute(at, set, name, &exists));
  if (space < 0 || stored < 0 || held < 0 || (exists && H5Adelete(set, name) < 0))
    return not_written(at);
  const hid_t list = H5Acreate2(set, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool written = list >= 0 && H5Awrite(list, held, tiles) >= 0;
  return (list >= 0 && H5Aclose(list) < 0) || !written ? not_written(at) : DM_OK;
}

dm_status dm_output_write_tiles(const dm_location *at, int64_t set, const dm_tile_record *tiles,
                                int64_t count) {
  char hash[32];
  if (count > OUTPUT_TILES_MOST) return DM_OK; /* that many would not be read */
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash_of(tiles, count));
  for (int64_t i = 0; i < count; i += OUTPUT_TILES_ROWS)
    DM_TRY(write_list(at, set, tiles + i, i, dm_min(OUTPUT_TILES_ROWS, count - i)));
  DM_TRY(dm_h5_write_text(at, set, TILES_CHECKSUM, DM_CHECKSUM));
  return dm_h5_write_text(at, set, DM_TILES_HASH, hash);
}

/* ---- in metadata of Zarr ---- */

enum { TILE_NUMBERS = 6, STATED_TILES_MOST = 10000 };

void dm_output_state_tiles(json_t *attributes, const dm_tile_record *tiles, int64_t count) {
  char hash[32];
  json_t *list = json_array();
  for (int64_t i = 0; i < count && count <= STATED_TILES_MOST; i++) {
    const int64_t numbers[TILE_NUMBERS] = {tiles[i].row,
                                           tiles[i].col,
                                           tiles[i].rows,
                                           tiles[i].cols,
                                           (int64_t)(tiles[i].checksum >> 32),
                                           (int64_t)(tiles[i].checksum & 0xffffffff)};
    for (int j = 0; j < TILE_NUMBERS; j++)
      (void)json_array_append_new(list, json_integer(numbers[j]));
  }
  if (json_array_size(list) > 0) { /* a failure shows when the metadata are read again */
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash_of(tiles, count));
    (void)json_object_set(attributes, TILES, list);
    (void)json_object_set_new(attributes, TILES_CHECKSUM, json_string(DM_CHECKSUM));
    (void)json_object_set_new(attributes, DM_TILES_HASH, json_string(hash));
  }
  json_decref(list);
}

/* ---- reading them back ---- */

/* The child's answer, which the tiles follow. */
typedef struct output_tiles_answer {
  int64_t count;
  char hash[32];
  dm_tile_record *tiles; /* in the child */
} output_tiles_answer;

static dm_status output_tiles_damaged(const dm_location *at) {
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "the checksums of its tiles are damaged"),
                 "remove its attribute " DM_TILES_HASH " to verify without them");
}

/* Whether the attributes of SET name our checksums. */
static dm_status are_ours(const dm_location *at, hid_t set, char hash[32], bool *ours) {
  DM_TRY(dm_h5_text_is(at, set, TILES_CHECKSUM, DM_CHECKSUM, ours));
  return *ours ? dm_h5_text_of(at, set, DM_TILES_HASH, hash, 32, ours) : DM_OK;
}

/* The rows in LIST; negative: it is none of ours. */
static int64_t output_tiles_count_of(hid_t list) {
  hsize_t dims[H5S_MAX_RANK] = {0};
  DM_H5_HELD hid_t space = H5Aget_space(list);
  const bool rows = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                    H5Sget_simple_extent_dims(space, dims, NULL) == 1;
  return rows && dims[0] >= 1 && dims[0] <= OUTPUT_TILES_ROWS ? (int64_t)dims[0] : -1;
}

/* Adds the rows of the next list to A, which has room for OUTPUT_TILES_ROWS more; *END: there is
 * none. */
static dm_status output_tiles_read_list(const dm_location *at, hid_t set, hid_t type,
                                        output_tiles_answer *a, bool *end) {
  char name[32];
  name_list(a->count, name);
  DM_H5_HELD hid_t list = -1;
  DM_TRY(dm_h5_open_attribute(at, set, name, &list));
  *end = list < 0;
  if (*end) return DM_OK;
  const int64_t count = output_tiles_count_of(list);
  if (count < 0 || H5Aread(list, type, a->tiles + a->count) < 0) return output_tiles_damaged(at);
  a->count += count;
  *end = count < OUTPUT_TILES_ROWS;
  return DM_OK;
}

static dm_status read_tiles(const dm_location *at, hid_t set, output_tiles_answer *a) {
  bool ours, end;
  DM_TRY(are_ours(at, set, a->hash, &ours));
  end = !ours;
  DM_H5_HELD hid_t type = make_type(false);
  if (type < 0) return output_tiles_damaged(at);
  while (!end) {
    if (a->count > OUTPUT_TILES_MOST) return output_tiles_damaged(at);
    void *more = realloc(a->tiles, (size_t)(a->count + OUTPUT_TILES_ROWS) * sizeof *a->tiles);
    if (!more) return dm_fail_at(DM_E_FIT, at, "no memory for the checksums of its tiles");
    a->tiles = more;
    DM_TRY(output_tiles_read_list(at, set, type, a, &end));
  }
  return DM_OK;
}

/* The same of ATTRIBUTES of Zarr. */
static dm_status read_stated(const json_t *attributes, output_tiles_answer *a) {
  const json_t *list = json_object_get(attributes, TILES);
  const char *kind = json_string_value(json_object_get(attributes, TILES_CHECKSUM));
  const char *hash = json_string_value(json_object_get(attributes, DM_TILES_HASH));
  const int64_t tiles = (int64_t)json_array_size(list) / TILE_NUMBERS;
  if (!kind || strcmp(kind, DM_CHECKSUM) != 0 || !hash || tiles > STATED_TILES_MOST) return DM_OK;
  snprintf(a->hash, sizeof a->hash, "%s", hash);
  if (tiles == 0) return DM_OK;
  DM_TRY(dm_buffer_table(tiles, &a->tiles));
  for (; a->count < tiles; a->count++) {
    int64_t one[TILE_NUMBERS] = {0};
    for (int j = 0; j < TILE_NUMBERS; j++)
      (void)dm_json_integer(json_array_get(list, (size_t)(a->count * TILE_NUMBERS + j)), &one[j]);
    a->tiles[a->count] =
        (dm_tile_record){.row = one[0],
                         .col = one[1],
                         .rows = one[2],
                         .cols = one[3],
                         .checksum = (uint64_t)one[4] << 32 | ((uint64_t)one[5] & 0xffffffff)};
  }
  return DM_OK;
}

/* A dm_child_work, as that below. */
static dm_status read_zarr_in_child(const void *argument, void *result) {
  const dm_location *at = argument;
  dm_zarr_node node;
  dm_status status = dm_zarr_read_node(at, at->dataset, false, &node);
  if (!status) status = read_stated(node.attributes, result);
  dm_zarr_node_free(&node);
  return status;
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
  const hid_t set = H5Dopen2(file, at->dataset, access);
  return set < 0 ? dm_h5_fail(DM_E_IO, at, "cannot be opened") : read_tiles(at, set, result);
}

static const void *output_tiles_of(const void *result, int64_t *bytes) {
  const output_tiles_answer *a = result;
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
static dm_status output_tiles_accept(const dm_dataset *c, const output_tiles_answer *a,
                                     const dm_tile_record *tiles, int64_t bytes) {
  char hash[32];
  int64_t elements = 0;
  if (a->count < 0 || a->count > OUTPUT_TILES_MOST || a->count * (int64_t)sizeof *tiles != bytes)
    return output_tiles_damaged(&c->at);
  for (int64_t i = 0; i < a->count; i++) {
    if (!is_sane(&tiles[i], c)) return output_tiles_damaged(&c->at);
    elements += tiles[i].rows * tiles[i].cols;
    if (elements > c->rows * c->cols) return output_tiles_damaged(&c->at);
  }
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash_of(tiles, a->count));
  const bool good = elements == c->rows * c->cols && strncmp(hash, a->hash, sizeof hash) == 0;
  const bool none = a->count == 0 && !a->hash[0];
  return none || good ? DM_OK : output_tiles_damaged(&c->at);
}

dm_status dm_output_tiles_read(const dm_dataset *c, dm_tile_record **tiles, int64_t *count) {
  output_tiles_answer a = {0};
  dm_child_tail tail = {.of = output_tiles_of,
                        .limit = OUTPUT_TILES_MOST * (int64_t)sizeof **tiles};
  *tiles = NULL;
  *count = 0;
  if ((!c->at.dataset[0] && !c->zarr) || c->at.part[0])
    return DM_OK; /* a NumPy file; a part of C */
  DM_TRY(dm_child_do(&(dm_child_task){.at = &c->at,
                                      .work = c->zarr ? read_zarr_in_child : read_in_child,
                                      .argument = &c->at,
                                      .result = &a,
                                      .bytes = sizeof a,
                                      .tail = &tail}));
  dm_status status = output_tiles_accept(c, &a, tail.memory, tail.bytes);
  if (status) {
    free(tail.memory);
    return status;
  }
  *tiles = tail.memory;
  *count = a.count;
  return DM_OK;
}
