#include "file/composite.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/checksum.h"

/* What follows the location in a dataset. */
enum { REST = sizeof(dm_dataset) - offsetof(dm_dataset, rows), FIRST_PLACES = 64 };

/* A source without the room for the longest names. */
typedef struct packed {
  int64_t file, dataset; /* offsets of the names */
  char rest[REST];
} packed;

const dm_patch *dm_composite_patches(const dm_composite *composite) {
  return (const dm_patch *)(composite + 1);
}

static const packed *packed_of(const dm_composite *composite) {
  return (const packed *)(dm_composite_patches(composite) + composite->patches);
}

static const char *names_of(const dm_composite *composite) {
  return (const char *)(packed_of(composite) + composite->sources);
}

void dm_composite_source(const dm_composite *composite, int64_t i, dm_dataset *dataset) {
  const packed *from = &packed_of(composite)[i];
  const char *names = names_of(composite);
  memset(&dataset->at, 0, sizeof dataset->at);
  strcpy(dataset->at.file, names + from->file);
  strcpy(dataset->at.dataset, names + from->dataset);
  memcpy(&dataset->rows, from->rest, REST);
  dataset->composite = NULL;
}

int64_t dm_composite_first(const dm_composite *composite, int64_t row) {
  const dm_patch *patch = dm_composite_patches(composite);
  int64_t low = 0, high = composite->patches;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (patch[middle].reach > row)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static void shape_of(const dm_composite *composite, int64_t i, int64_t *rows, int64_t *cols) {
  const char *rest = packed_of(composite)[i].rest;
  memcpy(rows, rest, sizeof *rows);
  memcpy(cols, rest + offsetof(dm_dataset, cols) - offsetof(dm_dataset, rows), sizeof *cols);
}

void dm_dataset_free(dm_dataset *dataset) {
  free(dataset->composite);
  dataset->composite = NULL;
}

int64_t dm_dataset_chunks(const dm_dataset *d) {
  if (d->layout == DM_CHUNKED)
    return dm_ceil_div(d->rows, d->chunk_rows) * dm_ceil_div(d->cols, d->chunk_cols);
  int64_t chunks = 0;
  dm_dataset source;
  for (int64_t i = 0; d->composite && i < d->composite->sources; i++) {
    dm_composite_source(d->composite, i, &source);
    chunks += dm_dataset_chunks(&source);
  }
  return chunks;
}

/* ---- checking ---- */

/* Whether ROWS x COLS elements at (row, col) are inside of an extent. */
static bool fits(int64_t row, int64_t col, int64_t rows, int64_t cols, int64_t all_rows,
                 int64_t all_cols) {
  return row >= 0 && col >= 0 && rows > 0 && cols > 0 && rows <= all_rows && cols <= all_cols &&
         row <= all_rows - rows && col <= all_cols - cols;
}

/* Whether a name of less than DM_PATH characters begins at OFFSET. */
static bool is_name(const dm_composite *composite, int64_t offset) {
  if (offset < 0 || offset >= composite->names) return false;
  const int64_t room = dm_min(DM_PATH, composite->names - offset);
  return memchr(names_of(composite) + offset, '\0', (size_t)room) != NULL;
}

static bool has_sane_sources(const dm_composite *composite,
                             bool (*accept)(const dm_dataset *source)) {
  const packed *list = packed_of(composite);
  for (int64_t i = 0; i < composite->sources; i++) {
    dm_dataset source;
    if (!is_name(composite, list[i].file) || !is_name(composite, list[i].dataset)) return false;
    dm_composite_source(composite, i, &source);
    if (source.layout == DM_VIRTUAL || !accept(&source)) return false;
  }
  return true;
}

static bool has_sane_patches(const dm_composite *composite, int64_t rows, int64_t cols) {
  const dm_patch *patch = dm_composite_patches(composite);
  int64_t reach = 0, elements = 0;
  for (int64_t i = 0; i < composite->patches; i++) {
    const dm_patch *p = &patch[i];
    int64_t tall, wide; /* the source */
    if (p->source < 0 || p->source >= composite->sources) return false;
    shape_of(composite, p->source, &tall, &wide);
    if (!fits(p->row, p->col, p->rows, p->cols, rows, cols) ||
        !fits(p->source_row, p->source_col, p->rows, p->cols, tall, wide) ||
        (i > 0 && p->row < patch[i - 1].row))
      return false;
    reach = dm_max(reach, p->row + p->rows);
    if (p->reach != reach || dm_add_overflows(elements, p->rows * p->cols, &elements)) return false;
  }
  return elements <= rows * cols && composite->missing == rows * cols - elements;
}

bool dm_composite_is_sane(const dm_composite *composite, int64_t bytes, int64_t rows, int64_t cols,
                          bool (*accept)(const dm_dataset *source)) {
  if (bytes < (int64_t)sizeof *composite || composite->bytes != bytes || composite->patches < 0 ||
      composite->patches > DM_COMPOSITE_PATCHES || composite->sources < 0 ||
      composite->sources > DM_COMPOSITE_SOURCES || composite->names < 0)
    return false;
  const int64_t tables = (int64_t)sizeof *composite +
                         composite->patches * (int64_t)sizeof(dm_patch) +
                         composite->sources * (int64_t)sizeof(packed);
  return composite->names == bytes - tables && has_sane_sources(composite, accept) &&
         has_sane_patches(composite, rows, cols);
}

/* ---- making one ---- */

void dm_composer_free(dm_composer *composer) {
  free(composer->patch);
  free(composer->source);
  free(composer->table);
  *composer = (dm_composer){0};
}

/* Makes room for one more element of SIZE bytes. */
static dm_status grow(void **list, int64_t count, int64_t *room, int64_t size) {
  if (count < *room) return DM_OK;
  const int64_t more = dm_max(16, 2 * *room);
  void *memory = realloc(*list, (size_t)(more * size));
  if (!memory) return dm_fail(DM_E_FIT, "no memory for a list of sources");
  *list = memory;
  *room = more;
  return DM_OK;
}

/* The slot of the source, or the free slot for it. */
static int64_t *slot_of(const dm_composer *composer, const dm_location *at, dm_vector vector) {
  uint64_t key = dm_checksum_bytes(at->file, (int64_t)strlen(at->file), 0);
  key = dm_checksum_bytes(at->dataset, (int64_t)strlen(at->dataset), key);
  for (;; key++) {
    int64_t *slot = &composer->table[key & (uint64_t)(composer->places - 1)];
    const dm_dataset *there = *slot > 0 ? &composer->source[*slot - 1] : NULL;
    if (!there ||
        ((there->vector == vector || there->vector == DM_NO_VECTOR) &&
         strcmp(there->at.file, at->file) == 0 && strcmp(there->at.dataset, at->dataset) == 0))
      return slot;
  }
}

int64_t dm_composer_find(const dm_composer *composer, const dm_location *at, dm_vector vector) {
  return composer->places > 0 ? *slot_of(composer, at, vector) - 1 : -1;
}

static dm_status grow_table(dm_composer *composer) {
  if (composer->sources < composer->places / 2) return DM_OK;
  free(composer->table);
  composer->table = NULL;
  composer->places = dm_max(FIRST_PLACES, 2 * composer->places);
  DM_TRY(dm_buffer_table(composer->places, &composer->table));
  for (int64_t i = 0; i < composer->sources; i++)
    *slot_of(composer, &composer->source[i].at, composer->source[i].vector) = i + 1;
  return DM_OK;
}

dm_status dm_composer_add_source(dm_composer *composer, const dm_dataset *source, int64_t *number) {
  if (composer->sources == DM_COMPOSITE_SOURCES)
    return dm_fail(DM_E_INPUT, "has more than %d sources", DM_COMPOSITE_SOURCES);
  DM_TRY(grow_table(composer));
  DM_TRY(grow((void **)&composer->source, composer->sources, &composer->source_room,
              sizeof *composer->source));
  *number = composer->sources;
  *slot_of(composer, &source->at, source->vector) = ++composer->sources;
  composer->source[*number] = *source;
  return DM_OK;
}

dm_status dm_composer_add_patch(dm_composer *composer, const dm_patch *patch) {
  if (composer->patches == DM_COMPOSITE_PATCHES)
    return dm_fail(DM_E_INPUT, "consists of more than %d rectangles of its sources",
                   DM_COMPOSITE_PATCHES);
  DM_TRY(grow((void **)&composer->patch, composer->patches, &composer->patch_room,
              sizeof *composer->patch));
  composer->patch[composer->patches++] = *patch;
  return DM_OK;
}

static int by_place(const void *a, const void *b) {
  const dm_patch *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return x->col < y->col ? -1 : x->col > y->col;
}

static dm_status overlap(const dm_patch *patch) {
  return dm_fail(DM_E_INPUT, "maps the element at (%lld, %lld) twice", (long long)patch->row,
                 (long long)patch->col);
}

/* Patches that cover a row, sorted by column. */
typedef struct row_cover {
  const dm_patch **list;
  int64_t count;
} row_cover;

static void drop_ended(row_cover *cover, int64_t row) {
  int64_t left = 0;
  for (int64_t i = 0; i < cover->count; i++)
    if (cover->list[i]->row + cover->list[i]->rows > row) cover->list[left++] = cover->list[i];
  cover->count = left;
}

static dm_status cover_by(row_cover *cover, const dm_patch *patch) {
  int64_t low = 0, high = cover->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (cover->list[middle]->col > patch->col)
      high = middle;
    else
      low = middle + 1;
  }
  const dm_patch *left = low > 0 ? cover->list[low - 1] : NULL;
  const dm_patch *right = low < cover->count ? cover->list[low] : NULL;
  if (left && left->col + left->cols > patch->col) return overlap(patch);
  if (right && right->col < patch->col + patch->cols)
    return overlap(&(dm_patch){.row = patch->row, .col = right->col});
  memmove(&cover->list[low + 1], &cover->list[low],
          (size_t)(cover->count - low) * sizeof *cover->list);
  cover->list[low] = patch;
  cover->count++;
  return DM_OK;
}

/* Sorts the patches, and checks that they do not overlap. */
static dm_status arrange(dm_composer *composer) {
  row_cover cover = {NULL, 0};
  if (composer->patches == 0) return DM_OK;
  qsort(composer->patch, (size_t)composer->patches, sizeof *composer->patch, by_place);
  DM_TRY(dm_buffer_table(composer->patches, &cover.list));
  dm_status status = DM_OK;
  int64_t reach = 0;
  for (int64_t i = 0; i < composer->patches && !status; i++) {
    dm_patch *p = &composer->patch[i];
    p->reach = reach = dm_max(reach, p->row + p->rows);
    if (i == 0 || p->row > p[-1].row) drop_ended(&cover, p->row);
    status = cover_by(&cover, p);
  }
  free(cover.list);
  return status;
}

static dm_status check_extents(const dm_composer *composer, int64_t rows, int64_t cols,
                               int64_t *missing) {
  *missing = rows * cols;
  for (int64_t i = 0; i < composer->patches; i++) {
    const dm_patch *p = &composer->patch[i];
    const dm_dataset *s = &composer->source[p->source];
    char name[DM_NAME];
    if (!fits(p->row, p->col, p->rows, p->cols, rows, cols))
      return dm_fail(DM_E_INPUT, "maps elements outside of its own shape");
    if (!fits(p->source_row, p->source_col, p->rows, p->cols, s->rows, s->cols))
      return dm_fail(DM_E_INPUT, "maps elements that its source %s, %lld x %lld, does not have",
                     dm_location_name(&s->at, name), (long long)s->rows, (long long)s->cols);
    *missing -= p->rows * p->cols; /* they do not overlap */
  }
  return DM_OK;
}

static int64_t names_bytes(const dm_composer *composer) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < composer->sources; i++) {
    const dm_location *at = &composer->source[i].at;
    bytes += (int64_t)(strlen(at->file) + strlen(at->dataset)) + 2;
  }
  return bytes;
}

static int64_t put_name(char *names, int64_t *used, const char *name) {
  const int64_t at = *used;
  strcpy(names + at, name);
  *used += (int64_t)strlen(name) + 1;
  return at;
}

dm_status dm_composer_finish(dm_composer *composer, int64_t rows, int64_t cols,
                             dm_composite **composite) {
  int64_t missing, used = 0;
  DM_TRY(arrange(composer));
  DM_TRY(check_extents(composer, rows, cols, &missing));
  const dm_composite head = {.patches = composer->patches,
                             .sources = composer->sources,
                             .names = names_bytes(composer),
                             .missing = missing};
  const int64_t patch_bytes = head.patches * (int64_t)sizeof(dm_patch);
  const int64_t source_bytes = head.sources * (int64_t)sizeof(packed);
  void *memory;
  DM_TRY(
      dm_buffer_zeroed((int64_t)sizeof head + patch_bytes + source_bytes + head.names, 1, &memory));
  dm_composite *c = memory;
  *c = head;
  c->bytes = (int64_t)sizeof head + patch_bytes + source_bytes + head.names;
  if (patch_bytes > 0) memcpy(c + 1, composer->patch, (size_t)patch_bytes);
  packed *list = (packed *)((char *)(c + 1) + patch_bytes);
  char *names = (char *)(list + head.sources);
  for (int64_t i = 0; i < head.sources; i++) {
    const dm_dataset *source = &composer->source[i];
    list[i].file = put_name(names, &used, source->at.file);
    list[i].dataset = put_name(names, &used, source->at.dataset);
    memcpy(list[i].rest, &source->rows, REST);
  }
  *composite = c;
  return DM_OK;
}
