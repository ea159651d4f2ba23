#include "file/tiles_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/element_sum.h"
#include "file/child.h"
#include "file/hdf5_attribute.h"
#include "file/hdf5_use.h"
#include "file/output_tiles.h"

enum { MOST = 1 << 20 };

typedef struct question {
  dm_location at;
  int64_t count; /* 0: only asks for the number */
} question;

/* The child's answer; TILES has as many as requested. */
typedef struct answer {
  int64_t count;
  char hash[32];
  dm_tile_record tiles[];
} answer;

static dm_status damaged(const dm_location *at) {
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "the checksums of its tiles are damaged"),
                 "remove /.damier/tiles from the file to verify without them");
}

/* Whether the attributes of SET, a dataset of tiles, name AT and our checksums. */
static dm_status read_texts(const dm_location *at, hid_t set, char hash[32], bool *ours) {
  dm_attributes *texts;
  DM_TRY(dm_buffer_table(1, &texts));
  dm_status status = dm_h5_read_attributes(at, set, texts);
  const char *of = dm_attributes_find(texts, DM_TILES_OF);
  const char *found = dm_attributes_find(texts, DM_TILES_HASH);
  const char *kind = dm_attributes_find(texts, DM_TILES_CHECKSUM);
  *ours = !status && of && strcmp(of, at->dataset) == 0 && kind && strcmp(kind, DM_CHECKSUM) == 0;
  memset(hash, 0, 32);
  if (found) memcpy(hash, found, strnlen(found, 31));
  free(texts);
  return status;
}

static int64_t count_of(hid_t set) {
  hsize_t dims[H5S_MAX_RANK] = {0};
  hid_t space = H5Dget_space(set);
  const bool list = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                    H5Sget_simple_extent_dims(space, dims, NULL) == 1;
  if (space >= 0) H5Sclose(space);
  return list && dims[0] <= MOST ? (int64_t)dims[0] : -1;
}

static dm_status read_tiles(const question *q, hid_t set, answer *a) {
  bool ours;
  DM_TRY(read_texts(&q->at, set, a->hash, &ours));
  a->count = ours ? count_of(set) : 0;
  if (a->count < 0) return damaged(&q->at);
  if (q->count == 0) return DM_OK;
  hid_t type = dm_output_tile_type();
  if (a->count != q->count || type < 0 ||
      H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->tiles) < 0)
    return damaged(&q->at);
  return DM_OK;
}

/* A dm_child_work: question -> answer. The process ends afterwards, which closes everything. */
static dm_status look(const void *argument, void *result) {
  const question *q = argument;
  answer *a = result;
  hid_t file, set = -1;
  dm_h5_exit leave;
  a->count = 0;
  DM_TRY(dm_h5_start(false));
  DM_TRY(dm_h5_open_file(&q->at, 0, &file));
  hid_t access = dm_h5_access(false, &leave);
  if (access < 0) return dm_h5_fail(DM_E_IO, &q->at, "no access list");
  if (H5Lexists(file, "/.damier", H5P_DEFAULT) > 0 && H5Lexists(file, DM_TILES, H5P_DEFAULT) > 0)
    set = H5Dopen2(file, DM_TILES, access);
  else
    return DM_OK;
  return set < 0 ? damaged(&q->at) : read_tiles(q, set, a);
}

/* The numbers come from an untrusted file. */
static bool is_sane(const dm_tile_record *t, const dm_dataset *c) {
  return t->row >= 0 && t->col >= 0 && t->rows >= 0 && t->cols >= 0 && t->row <= c->rows &&
         t->col <= c->cols && t->rows <= c->rows - t->row && t->cols <= c->cols - t->col;
}

/* Checks that every tile is in C and that their areas add up to C. Overlapping tiles can pass this,
 * but then their checksums do not match. */
static dm_status accept(const dm_dataset *c, const answer *a, int64_t count) {
  char hash[32];
  int64_t elements = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!is_sane(&a->tiles[i], c)) return damaged(&c->at);
    elements += a->tiles[i].rows * a->tiles[i].cols;
    if (elements > c->rows * c->cols) return damaged(&c->at);
  }
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)dm_output_tiles_hash(a->tiles, count));
  const bool good = a->count == count && elements == c->rows * c->cols &&
                    strncmp(hash, a->hash, sizeof hash) == 0;
  return good ? DM_OK : damaged(&c->at);
}

static dm_status fetch(const dm_dataset *c, const question *q, dm_tile_record **tiles) {
  answer *a;
  const int64_t bytes = (int64_t)sizeof *a + q->count * (int64_t)sizeof **tiles;
  DM_TRY(dm_buffer_zeroed(1, bytes, (void **)&a));
  dm_status status = dm_child_run(&c->at, look, q, a, bytes);
  if (!status) status = accept(c, a, q->count);
  if (!status) status = dm_buffer_table(q->count, tiles);
  if (!status) memcpy(*tiles, a->tiles, (size_t)q->count * sizeof **tiles);
  free(a);
  return status;
}

dm_status dm_tiles_look(const dm_dataset *c, dm_tile_record **tiles, int64_t *count) {
  question q = {.at = c->at};
  answer first = {0};
  *tiles = NULL;
  *count = 0;
  if (!c->at.dataset[0] || c->at.part[0]) return DM_OK; /* a NumPy file; a part of C */
  DM_TRY(dm_child_run(&c->at, look, &q, &first, sizeof first));
  if (first.count < 0 || first.count > MOST) return damaged(&c->at);
  if (first.count == 0) return DM_OK;
  q.count = first.count;
  DM_TRY(fetch(c, &q, tiles));
  *count = first.count;
  return DM_OK;
}
