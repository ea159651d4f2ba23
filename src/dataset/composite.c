#include "dataset/composite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/genotypes.h"

enum { COMPOSITE_FIRST_PLACES = 64, MOST_WORDS = 1 << 24 };

const dm_patch *dm_composite_patches(const dm_composite *composite) {
  return (const dm_patch *)(composite + 1);
}

static const uint64_t *composite_words_of(const dm_composite *composite) {
  return (const uint64_t *)(dm_composite_patches(composite) + composite->patches);
}

static const dm_packed_dataset *packed_of(const dm_composite *composite) {
  return (const dm_packed_dataset *)(composite_words_of(composite) + composite->words);
}

static const char *composite_names_of(const dm_composite *composite) {
  return (const char *)(packed_of(composite) + composite->sources);
}

void dm_composite_source(const dm_composite *composite, int64_t i, dm_dataset *dataset) {
  dm_dataset_unpack(&packed_of(composite)[i], composite_names_of(composite), dataset);
  dataset->composite = NULL;
  dataset->centering = NULL;
  dm_meaning_point(&dataset->meaning, composite_words_of(composite));
}

dm_patch dm_patch_at(const dm_patch *patch, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  const int64_t down = (row - patch->row) * patch->row_step;
  const int64_t right = (col - patch->col) * patch->col_step;
  dm_patch part = *patch;
  part.row = row;
  part.col = col;
  part.rows = rows;
  part.cols = cols;
  part.source_row += patch->folded ? 0 : down;
  part.source_col += patch->folded ? down + right : right;
  return part;
}

bool dm_composite_is_same(const dm_composite *a, const dm_composite *b) {
  dm_dataset of_a, of_b;
  if (!a || !b) return a == b;
  bool same = a->patches == b->patches && a->sources == b->sources &&
              memcmp(dm_composite_patches(a), dm_composite_patches(b),
                     (size_t)a->patches * sizeof(dm_patch)) == 0;
  for (int64_t i = 0; same && i < a->sources; i++) {
    dm_composite_source(a, i, &of_a);
    dm_composite_source(b, i, &of_b);
    same = dm_dataset_is_same(&of_a, &of_b);
  }
  return same;
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

static void composite_shape_of(const dm_composite *composite, int64_t i, int64_t *rows,
                               int64_t *cols) {
  const char *rest = packed_of(composite)[i].rest;
  memcpy(rows, rest, sizeof *rows);
  memcpy(cols, rest + offsetof(dm_dataset, cols) - offsetof(dm_dataset, rows), sizeof *cols);
}

/* ---- checking ---- */

/* Whether ROWS x COLS elements at (row, col) are inside of an extent. */
static bool composite_fits(int64_t row, int64_t col, int64_t rows, int64_t cols, int64_t all_rows,
                           int64_t all_cols) {
  return row >= 0 && col >= 0 && rows > 0 && cols > 0 && rows <= all_rows && cols <= all_cols &&
         row <= all_rows - rows && col <= all_cols - cols;
}

/* Whether the places of P in a source of TALL x WIDE elements are inside of it. */
static bool reaches(const dm_patch *p, int64_t tall, int64_t wide) {
  int64_t down, right;
  if (p->row_step < 1 || p->col_step < 1 || dm_mul_overflows(p->rows - 1, p->row_step, &down) ||
      dm_mul_overflows(p->cols - 1, p->col_step, &right))
    return false;
  if (p->folded) {
    if (p->folded != 1 || tall != 1 || dm_add_overflows(down, right, &right)) return false;
    down = 0;
  }
  return down < tall && right < wide &&
         composite_fits(p->source_row, p->source_col, down + 1, right + 1, tall, wide);
}

/* Whether a name of less than DM_PATH characters begins at OFFSET. */
static bool composite_is_name(const dm_composite *composite, int64_t offset) {
  if (offset < 0 || offset >= composite->names) return false;
  const int64_t room = dm_min(DM_PATH, composite->names - offset);
  return memchr(composite_names_of(composite) + offset, '\0', (size_t)room) != NULL;
}

/* Whether all elements of SOURCE have finite factors there. */
static bool has_sane_slices(const dm_composite *composite, const dm_dataset *source) {
  const dm_slices *s = &source->meaning.slices;
  const dm_axes axes = dm_dataset_axes(source);
  int64_t extent = 1, pairs = 0, end = 0;
  if (s->count == 0) return true;
  if (!source->meaning.packed || source->meaning.shifted || s->count < 0 || s->each < 1 ||
      s->axis < 0 || s->axes < 1 || s->axis > axes.count - s->axes || s->at < 0)
    return false;
  for (int i = s->axis; i < s->axis + s->axes; i++) extent *= axes.extent[i];
  if (dm_mul_overflows(s->count, s->each, &pairs) || pairs != extent ||
      dm_mul_overflows(s->count, 2, &pairs) || dm_add_overflows(s->at, pairs, &end) ||
      end > composite->words)
    return false;
  for (int64_t i = 0; i < pairs; i++)
    if (!isfinite(s->pair[i])) return false;
  return true;
}

static bool has_sane_mask(const dm_composite *composite, const dm_dataset *source) {
  const dm_mask *m = &source->meaning.mask;
  if (m->words == 0) return true;
  return source->meaning.active && m->words == dm_mask_words(source->rows * source->cols) &&
         m->at >= 0 && m->at <= composite->words && m->words <= composite->words - m->at;
}

static bool has_sane_sources(const dm_composite *composite,
                             bool (*accept)(const dm_dataset *source)) {
  const dm_packed_dataset *list = packed_of(composite);
  for (int64_t i = 0; i < composite->sources; i++) {
    dm_dataset source;
    if (!composite_is_name(composite, list[i].file) ||
        !composite_is_name(composite, list[i].dataset))
      return false;
    dm_composite_source(composite, i, &source);
    if (source.layout == DM_VIRTUAL || !accept(&source) || !has_sane_slices(composite, &source) ||
        !has_sane_mask(composite, &source))
      return false;
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
    composite_shape_of(composite, p->source, &tall, &wide);
    if (!composite_fits(p->row, p->col, p->rows, p->cols, rows, cols) || !reaches(p, tall, wide) ||
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
      composite->sources > DM_COMPOSITE_SOURCES || composite->names < 0 || composite->words < 0 ||
      composite->words > bytes / (int64_t)sizeof(uint64_t))
    return false;
  const int64_t tables = (int64_t)sizeof *composite +
                         composite->patches * (int64_t)sizeof(dm_patch) +
                         composite->words * (int64_t)sizeof(uint64_t) +
                         composite->sources * (int64_t)sizeof(dm_packed_dataset);
  return composite->names == bytes - tables && has_sane_sources(composite, accept) &&
         has_sane_patches(composite, rows, cols);
}

/* ---- making one ---- */

void dm_composer_free(dm_composer *composer) {
  free(composer->patch);
  free(composer->source);
  free(composer->names);
  free(composer->word);
  free(composer->table);
  *composer = (dm_composer){0};
}

void dm_composer_source(const dm_composer *composer, int64_t number, dm_dataset *dataset) {
  dm_dataset_unpack(&composer->source[number], composer->names, dataset);
  dm_meaning_point(&dataset->meaning, composer->word);
}

/* Makes room for COUNT elements of SIZE bytes. */
static dm_status composite_grow(void **list, int64_t count, int64_t *room, int64_t size) {
  if (count <= *room) return DM_OK;
  const int64_t more = dm_max(count, dm_max(16, 2 * *room));
  void *memory = realloc(*list, (size_t)(more * size));
  if (!memory) return dm_fail(DM_E_FIT, "no memory for a list of sources");
  *list = memory;
  *room = more;
  return DM_OK;
}

static bool is_source(const dm_composer *composer, int64_t number, const dm_location *at,
                      dm_vector vector, const dm_axes *axes) {
  const dm_packed_dataset *packed = &composer->source[number];
  if (strcmp(composer->names + packed->file, at->file) != 0 ||
      strcmp(composer->names + packed->dataset, at->dataset) != 0)
    return false;
  dm_dataset there;
  dm_composer_source(composer, number, &there);
  return (there.vector == vector || there.vector == DM_NO_VECTOR) &&
         there.axes.count == axes->count && there.axes.of_rows == axes->of_rows;
}

/* The slot of the source, or the free slot for it. */
static int64_t *composite_slot_of(const dm_composer *composer, const dm_location *at,
                                  dm_vector vector, const dm_axes *axes) {
  static const dm_axes none;
  if (!axes) axes = &none;
  uint64_t key = XXH3_64bits(at->file, strlen(at->file));
  key = XXH3_64bits_withSeed(at->dataset, strlen(at->dataset), key);
  for (;; key++) {
    int64_t *slot = &composer->table[key & (uint64_t)(composer->places - 1)];
    if (*slot == 0 || is_source(composer, *slot - 1, at, vector, axes)) return slot;
  }
}

int64_t dm_composer_find(const dm_composer *composer, const dm_location *at, dm_vector vector,
                         const dm_axes *axes) {
  return composer->places > 0 ? *composite_slot_of(composer, at, vector, axes) - 1 : -1;
}

static dm_status grow_table(dm_composer *composer) {
  if (composer->sources < composer->places / 2) return DM_OK;
  free(composer->table);
  composer->table = NULL;
  composer->places = dm_max(COMPOSITE_FIRST_PLACES, 2 * composer->places);
  DM_TRY(dm_buffer_table(composer->places, &composer->table));
  for (int64_t i = 0; i < composer->sources; i++) {
    dm_dataset source;
    dm_composer_source(composer, i, &source);
    *composite_slot_of(composer, &source.at, source.vector, &source.axes) = i + 1;
  }
  return DM_OK;
}

/* Adds COUNT words; *at: the place of the first. */
static dm_status add_words(dm_composer *composer, const void *words, int64_t count, int64_t *at) {
  *at = composer->words;
  if (count == 0) return DM_OK;
  if (count > MOST_WORDS - composer->words)
    return dm_fail(DM_E_INPUT, "has masks and factors of more than %d MiB", MOST_WORDS >> 17);
  DM_TRY(composite_grow((void **)&composer->word, composer->words + count, &composer->word_room,
                        sizeof *composer->word));
  memcpy(composer->word + composer->words, words, (size_t)count * sizeof *composer->word);
  composer->words += count;
  return DM_OK;
}

/* Adds what SOURCE's meaning points to, and sets its places. */
static dm_status add_meaning(dm_composer *composer, dm_meaning *meaning) {
  dm_slices *s = &meaning->slices;
  dm_mask *m = &meaning->mask;
  DM_TRY(add_words(composer, s->pair, 2 * s->count, &s->at));
  return add_words(composer, m->bits, m->words, &m->at);
}

dm_status dm_composer_add_source(dm_composer *composer, const dm_dataset *dataset,
                                 int64_t *number) {
  dm_dataset added = *dataset;
  const dm_dataset *source = &added;
  const int64_t used = composer->names_used + dm_packed_names(&source->at);
  if (composer->sources == DM_COMPOSITE_SOURCES)
    return dm_fail(DM_E_INPUT, "has more than %d sources", DM_COMPOSITE_SOURCES);
  DM_TRY(grow_table(composer));
  DM_TRY(composite_grow((void **)&composer->source, composer->sources + 1, &composer->source_room,
                        sizeof *composer->source));
  DM_TRY(composite_grow((void **)&composer->names, used, &composer->names_room, 1));
  DM_TRY(add_meaning(composer, &added.meaning));
  *number = composer->sources;
  *composite_slot_of(composer, &source->at, source->vector, &source->axes) = *number + 1;
  dm_dataset_pack(source, composer->names, composer->names_used, &composer->source[*number]);
  composer->sources++;
  composer->names_used = used;
  return DM_OK;
}

dm_status dm_composer_add_patch(dm_composer *composer, const dm_patch *patch) {
  if (composer->patches == DM_COMPOSITE_PATCHES)
    return dm_fail(DM_E_INPUT, "consists of more than %d rectangles of its sources",
                   DM_COMPOSITE_PATCHES);
  DM_TRY(composite_grow((void **)&composer->patch, composer->patches + 1, &composer->patch_room,
                        sizeof *composer->patch));
  dm_patch *new = &composer->patch[composer->patches++];
  *new = *patch;
  new->row_step = dm_max(1, patch->row_step);
  new->col_step = dm_max(1, patch->col_step);
  return DM_OK;
}

static dm_status source_of(dm_composer *composer, const dm_dataset *source, int64_t *number) {
  *number = dm_composer_find(composer, &source->at, source->vector, &source->axes);
  return *number >= 0 ? DM_OK : dm_composer_add_source(composer, source, number);
}

/* Adds the part of PATCH, which is of the composite WHOLE, that is INNER's. */
static dm_status add_inner(dm_composer *composer, const dm_dataset *whole, const dm_patch *patch,
                           const dm_patch *inner, int64_t *elements) {
  const dm_line down = {patch->source_row, patch->row_step};
  const dm_line right = {patch->source_col, patch->col_step};
  int64_t row = 0, rows = patch->rows, col = 0, cols = patch->cols;
  dm_line_clip(down, inner->row, inner->rows, &row, &rows);
  dm_line_clip(right, inner->col, inner->cols, &col, &cols);
  if (rows <= 0 || cols <= 0) return DM_OK;
  dm_dataset source;
  dm_patch part = dm_patch_at(inner, dm_line_at(down, row), dm_line_at(right, col), rows, cols);
  part.row = patch->row + row;
  part.col = patch->col + col;
  part.row_step *= down.step;
  part.col_step *= right.step;
  dm_composite_source(whole->composite, inner->source, &source);
  DM_TRY(source_of(composer, &source, &part.source));
  *elements += rows * cols;
  return dm_composer_add_patch(composer, &part);
}

dm_status dm_composer_add_part(dm_composer *composer, const dm_dataset *whole,
                               const dm_patch *patch) {
  const dm_composite *c = whole->composite;
  dm_patch part = *patch;
  int64_t elements = 0;
  part.row_step = dm_max(1, part.row_step);
  part.col_step = dm_max(1, part.col_step);
  if (!c) {
    DM_TRY(source_of(composer, whole, &part.source));
    return dm_composer_add_patch(composer, &part);
  }
  const dm_patch *list = dm_composite_patches(c);
  const int64_t last = part.source_row + (part.rows - 1) * part.row_step;
  for (int64_t i = dm_composite_first(c, part.source_row); i < c->patches && list[i].row <= last;
       i++)
    DM_TRY(add_inner(composer, whole, &part, &list[i], &elements));
  if (elements == part.rows * part.cols) return DM_OK;
  char name[DM_NAME];
  return dm_hint(dm_fail(DM_E_INPUT, "takes elements of %s that no source has",
                         dm_location_name(&whole->at, name)),
                 "only a virtual dataset that is read as a whole has the fill value there");
}

static int composite_by_place(const void *a, const void *b) {
  const dm_patch *x = a, *y = b;
  return dm_place_order(x->row, x->col, y->row, y->col);
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
static dm_status composite_arrange(dm_composer *composer) {
  row_cover cover = {NULL, 0};
  if (composer->patches == 0) return DM_OK;
  qsort(composer->patch, (size_t)composer->patches, sizeof *composer->patch, composite_by_place);
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
    dm_dataset s;
    char name[DM_NAME];
    dm_composer_source(composer, p->source, &s);
    if (!composite_fits(p->row, p->col, p->rows, p->cols, rows, cols))
      return dm_fail(DM_E_INPUT, "maps elements outside of its own shape");
    if (!reaches(p, s.rows, s.cols))
      return dm_fail(DM_E_INPUT, "maps elements that its source %s, %lld x %lld, does not have",
                     dm_location_name(&s.at, name), (long long)s.rows, (long long)s.cols);
    *missing -= p->rows * p->cols; /* they do not overlap */
  }
  return DM_OK;
}

dm_status dm_composer_finish(dm_composer *composer, int64_t rows, int64_t cols,
                             dm_composite **composite) {
  int64_t missing;
  DM_TRY(composite_arrange(composer));
  DM_TRY(check_extents(composer, rows, cols, &missing));
  const dm_composite head = {.patches = composer->patches,
                             .sources = composer->sources,
                             .names = composer->names_used,
                             .words = composer->words,
                             .missing = missing};
  const int64_t patch_bytes = head.patches * (int64_t)sizeof(dm_patch);
  const int64_t word_bytes = head.words * (int64_t)sizeof(uint64_t);
  const int64_t source_bytes = head.sources * (int64_t)sizeof(dm_packed_dataset);
  const struct {
    const void *from;
    int64_t bytes;
  } tables[] = {{composer->patch, patch_bytes},
                {composer->word, word_bytes},
                {composer->source, source_bytes},
                {composer->names, head.names}};
  int64_t used = sizeof head;
  void *memory;
  DM_TRY(dm_buffer_zeroed(used + patch_bytes + word_bytes + source_bytes + head.names, 1, &memory));
  *composite = memory;
  **composite = head;
  for (int i = 0; i < 4; i++) {
    if (tables[i].bytes > 0) memcpy((char *)memory + used, tables[i].from, (size_t)tables[i].bytes);
    used += tables[i].bytes;
  }
  (*composite)->bytes = used;
  return DM_OK;
}

void dm_composite_sum_up(dm_dataset *find) {
  int64_t largest = 0;
  for (int64_t i = 0; i < find->composite->sources; i++) {
    dm_dataset source;
    dm_composite_source(find->composite, i, &source);
    if (dm_add_overflows(find->stored_bytes, source.stored_bytes, &find->stored_bytes))
      find->stored_bytes = INT64_MAX;
    find->filters |= source.filters;
    if (find->names == DM_NAMES_R_I) find->names = source.names;
    if (find->origin == DM_ORIGIN_UNKNOWN) find->origin = source.origin;
    const int64_t chunk = source.chunk_rows * source.chunk_cols * dm_dtype_size(source.dtype);
    if (chunk <= largest) continue;
    largest = chunk;
    find->chunk_rows = source.chunk_rows;
    find->chunk_cols = source.chunk_cols;
  }
}

dm_status dm_composer_wrap(dm_dataset *dataset) {
  const dm_dataset whole = *dataset;
  dm_composer composer = {0};
  dm_status status =
      dm_composer_add_part(&composer, &whole, &(dm_patch){.rows = whole.rows, .cols = whole.cols});
  if (!status)
    status = dm_composer_finish_dataset(&composer, whole.rows, whole.cols, &whole, dataset);
  dm_composer_free(&composer);
  return status;
}

/* TEXT of all sources, of which one has MORE; *several: they differ. */
static void join_texts(char text[DM_MEANING_TEXT], const char *more, bool *several) {
  if (text[0] && more[0]) *several |= strcmp(text, more) != 0;
  if (!text[0]) strcpy(text, more);
}

static void end_text(char text[DM_MEANING_TEXT], bool several) {
  const size_t used = strlen(text);
  if (several) snprintf(text + used, DM_MEANING_TEXT - used, " (others differ)");
}

void dm_composite_sum_meanings(dm_dataset *find) {
  dm_meaning *all = &find->meaning;
  bool several[2] = {false, false};
  for (int64_t i = 0; i < find->composite->sources; i++) {
    dm_dataset source;
    dm_composite_source(find->composite, i, &source);
    all->asked = source.meaning.asked && (!all->found || all->asked);
    all->found |= source.meaning.found;
    const char *complex = dm_parts_text(source.parts), *own = source.meaning.text;
    char text[DM_MEANING_TEXT];
    snprintf(text, sizeof text, "%s%s%.320s", complex, complex[0] && own[0] ? "; " : "", own);
    join_texts(all->text, text, &several[0]);
    join_texts(all->warning, source.meaning.warning, &several[1]);
  }
  end_text(all->text, several[0]);
  end_text(all->warning, several[1]);
}

dm_status dm_composer_finish_dataset(dm_composer *composer, int64_t rows, int64_t cols,
                                     const dm_dataset *whole, dm_dataset *dataset) {
  dm_composite *composite = NULL;
  dm_status status = dm_composer_finish(composer, rows, cols, &composite);
  dataset->rows = rows;
  dataset->cols = cols;
  dataset->composite = composite;
  dataset->layout = DM_VIRTUAL;
  dataset->offset = -1;
  dataset->axes = (dm_axes){0};
  dataset->vector = DM_NO_VECTOR;
  dataset->by_columns = dataset->swapped = false;
  dataset->parts = DM_PARTS_TOGETHER; /* the sources say where they are */
  dataset->dtype = dm_dataset_type(whole);
  dataset->meaning = (dm_meaning){.missing = whole->meaning.missing};
  dataset->stored_bytes = dataset->chunk_rows = dataset->chunk_cols = 0;
  dataset->filters = 0;
  dataset->few = (dm_few_chunks){0};
  dataset->compound = (dm_compound){0};
  if (!status) dm_composite_sum_up(dataset);
  if (!status) dm_composite_sum_meanings(dataset);
  return status;
}

int64_t dm_dataset_chunks(const dm_dataset *d) {
  if (d->layout == DM_CHUNKED) {
    const dm_axes axes = dm_dataset_axes(d);
    return dm_side_chunks(dm_axes_side(&axes, 0)) * dm_side_chunks(dm_axes_side(&axes, 1));
  }
  int64_t chunks = 0;
  dm_dataset source;
  for (int64_t i = 0; d->composite && i < d->composite->sources; i++) {
    dm_composite_source(d->composite, i, &source);
    chunks += dm_dataset_chunks(&source);
  }
  return chunks;
}
