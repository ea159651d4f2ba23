#include "programs/cut.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "dataset/composite.h"

/* LINES of what CENTERING centers, which count from the first of them. */
static void cut_centering(dm_cut *c, dm_lines lines, dm_range range) {
  const dm_centering *whole = c->dataset.centering;
  if (!whole) return;
  dm_centering *part = &c->centering;
  *part = *whole;
  if (whole->lines == lines) {
    const int64_t numbers = range.begin * whole->parts;
    part->count = dm_range_size(range);
    if (part->power) part->power += range.begin;
    if (part->factor) part->factor += range.begin;
    if (part->shift) part->shift += numbers;
    if (part->fill) part->fill += numbers;
  }
  if (part->weight && whole->weight_lines == lines) part->weight += range.begin;
  c->dataset.centering = part;
}

/* Datasets of one name are one matrix: a part has a name of its own. */
static void name_part(dm_location *at, bool rows, dm_range range) {
  char text[64];
  snprintf(text, sizeof text, rows ? "[%lld:%lld, :]" : "[:, %lld:%lld]", (long long)range.begin,
           (long long)range.end);
  const size_t used = strlen(at->part), room = sizeof at->part;
  memcpy(at->part + (used + sizeof text <= room ? used : room - sizeof text), text, sizeof text);
}

/* SET becomes its rows, or columns, RANGE. */
static void cut_memory(dm_lines lines, dm_range range, dm_dataset *set) {
  const bool rows = lines == DM_ROW_LINES;
  const int64_t size = dm_range_size(range);
  const dm_view part = rows ? dm_view_sub(set->memory, range.begin, 0, size, set->cols)
                            : dm_view_sub(set->memory, 0, range.begin, set->rows, size);
  set->rows = part.rows;
  set->cols = part.cols;
  dm_dataset_set_memory(set, part);
  name_part(&set->at, rows, range);
}

dm_status dm_cut_lines(const dm_dataset *whole, dm_lines lines, dm_range range, dm_cut *c) {
  const bool rows = lines == DM_ROW_LINES;
  const int64_t all = rows ? whole->rows : whole->cols;
  *c = (dm_cut){.dataset = *whole};
  cut_centering(c, lines, range);
  if (range.begin == 0 && range.end == all) return DM_OK;
  if (whole->memory.base) {
    cut_memory(lines, range, &c->dataset);
    return DM_OK;
  }
  const dm_patch patch = {.rows = rows ? dm_range_size(range) : whole->rows,
                          .cols = rows ? whole->cols : dm_range_size(range),
                          .source_row = rows ? range.begin : 0,
                          .source_col = rows ? 0 : range.begin};
  dm_composer composer = {.patch = NULL};
  dm_status status = dm_composer_add_part(&composer, whole, &patch);
  if (!status)
    status = dm_composer_finish_dataset(&composer, patch.rows, patch.cols, whole, &c->dataset);
  if (c->dataset.centering) c->dataset.centering = &c->centering;
  dm_composer_free(&composer);
  name_part(&c->dataset.at, rows, range);
  c->made = !status;
  return status;
}

void dm_cut_free(dm_cut *c) {
  if (c->made) dm_dataset_free(&c->dataset);
  c->made = false;
}
