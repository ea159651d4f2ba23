#include "dataset/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "dataset/genotypes.h"

dm_axes dm_dataset_axes(const dm_dataset *d) {
  if (d->axes.count > 0) return d->axes;
  if (d->vector == DM_NO_VECTOR)
    return (dm_axes){.count = 2,
                     .of_rows = 1,
                     .extent = {d->rows, d->cols},
                     .chunk = {d->chunk_rows, d->chunk_cols}};
  const bool column = d->vector == DM_AS_COLUMN;
  return (dm_axes){.count = 1,
                   .of_rows = column,
                   .extent = {column ? d->rows : d->cols},
                   .chunk = {column ? d->chunk_rows : d->chunk_cols}};
}

bool dm_dataset_lay(dm_dataset *d, const dm_axes *axes, int of_rows) {
  dm_axes laid = *axes;
  laid.of_rows = of_rows;
  const dm_side rows = dm_axes_side(&laid, 0), cols = dm_axes_side(&laid, 1);
  d->rows = dm_side_size(rows);
  d->cols = dm_side_size(cols);
  const bool chunked = axes->chunk[0] > 0;
  d->chunk_rows = chunked ? dm_side_chunk_size(rows) : 0;
  d->chunk_cols = chunked ? dm_side_chunk_size(cols) : 0;
  d->vector = axes->count > 1 ? DM_NO_VECTOR : of_rows == 1 ? DM_AS_COLUMN : DM_AS_ROW;
  d->axes = laid;
  if (axes->count == 1 || (axes->count == 2 && of_rows == 1)) d->axes = (dm_axes){0};
  return d->rows >= 0 && d->cols >= 0 && d->chunk_rows >= 0 && d->chunk_cols >= 0;
}

void dm_dataset_reals(const dm_dataset *d, dm_dataset *reals) {
  const bool first = d->parts == DM_PARTS_FIRST;
  dm_axes axes = dm_dataset_axes(d);
  *reals = *d;
  for (int i = axes.count; i > 0 && first; i--) {
    axes.extent[i] = axes.extent[i - 1];
    axes.chunk[i] = axes.chunk[i - 1];
  }
  const int which = first ? 0 : axes.count;
  axes.count++;
  axes.extent[which] = 2;
  axes.chunk[which] = d->parts_chunk;
  reals->parts = DM_PARTS_TOGETHER;
  reals->dtype = dm_dtype_real(d->dtype);
  reals->offset = d->parts_offset;
  reals->leads.count = 0;
  reals->batch = 0;
  reals->meaning = (dm_meaning){.type = reals->dtype};
  reals->centering = NULL;
  (void)dm_dataset_lay(reals, &axes, axes.of_rows + first);
}

const char *dm_axes_text(const dm_axes *axes, char text[DM_SHAPE_TEXT]) {
  int used = 0;
  text[0] = '\0';
  for (int i = 0; i < axes->count; i++)
    used += snprintf(text + used, (size_t)(DM_SHAPE_TEXT - used), "%s%lld", i > 0 ? " x " : "",
                     (long long)axes->extent[i]);
  return text;
}

int64_t dm_leads_entries(const dm_leads *leads) {
  int64_t entries = 1;
  for (int i = 0; i < leads->count; i++) entries *= leads->extent[i];
  return entries;
}

const char *dm_dataset_text(const dm_dataset *dataset, char text[DM_SHAPE_TEXT]) {
  const dm_leads *leads = &dataset->leads;
  dm_axes axes = {.count = leads->count + 2};
  memcpy(axes.extent, leads->extent, (size_t)leads->count * sizeof leads->extent[0]);
  axes.extent[leads->count] = dataset->rows / dm_leads_entries(leads);
  axes.extent[leads->count + 1] = dataset->cols;
  return dm_axes_text(&axes, text);
}

void dm_dataset_free(dm_dataset *dataset) {
  free(dataset->composite);
  dataset->composite = NULL;
}

int64_t dm_dataset_bytes(const dm_dataset *d) {
  const int64_t lines = d->by_columns ? d->cols : d->rows;
  if (d->genotypes) return lines * dm_genotype_bytes(d->by_columns ? d->rows : d->cols);
  if (d->compound.bytes > 0) return d->rows * d->cols / dm_dataset_each(d) * d->compound.bytes;
  return d->rows * d->cols * dm_dtype_size(d->dtype);
}

int64_t dm_dataset_each(const dm_dataset *d) {
  const int64_t reals = d->compound.bytes > 0 ? dm_compound_reals(&d->compound) : 0;
  return reals > 0 ? reals / (dm_dtype_is_complex(d->dtype) ? 2 : 1) : 1;
}

bool dm_dataset_stored(const dm_dataset *d, int64_t rows, int64_t cols, int64_t *bytes) {
  const int64_t each = d->compound.bytes > 0 ? d->compound.bytes : dm_dtype_size(d->dtype);
  return rows >= 0 && cols >= 0 && !dm_mul_overflows(rows, cols, bytes) &&
         !dm_mul_overflows(*bytes / dm_dataset_each(d), each, bytes);
}

void dm_dataset_set_memory(dm_dataset *dataset, dm_view view) {
  dataset->memory = view;
  dataset->by_columns = view.row_stride < view.col_stride;
}

bool dm_dataset_is_same(const dm_dataset *a, const dm_dataset *b) {
  char names[2][DM_NAME];
  return a->device == b->device && a->inode == b->inode && a->at.row_axes == b->at.row_axes &&
         a->at.complex_axis == b->at.complex_axis && a->at.fold.way == b->at.fold.way &&
         a->at.fold.rows == b->at.fold.rows && a->at.fold.cols == b->at.fold.cols &&
         strcmp(dm_location_name(&a->at, names[0]), dm_location_name(&b->at, names[1])) == 0;
}

const char *dm_parts_text(dm_parts where) {
  static const char *const texts[] = {
      [DM_PARTS_TOGETHER] = "",
      [DM_PARTS_PAIRED] = "complex: the last axis has real and imaginary parts",
      [DM_PARTS_LAST] = "complex: the last axis has real and imaginary parts",
      [DM_PARTS_FIRST] = "complex: the first axis has real and imaginary parts"};
  return texts[where];
}

const char *dm_fold_text(const dm_fold *fold, char text[DM_FOLD_TEXT]) {
  static const char *const ways[] = {[DM_FOLD_ROWS] = "row after row",
                                     [DM_FOLD_COLUMNS] = "column after column",
                                     [DM_FOLD_LOWER] = "lower",
                                     [DM_FOLD_UPPER] = "upper"};
  text[0] = '\0';
  if (fold->way == DM_FOLD_ROWS || fold->way == DM_FOLD_COLUMNS)
    snprintf(text, DM_FOLD_TEXT, "a line of numbers as %lld x %lld, %s", (long long)fold->rows,
             (long long)fold->cols, ways[fold->way]);
  else if (fold->way != DM_NOT_FOLDED)
    snprintf(text, DM_FOLD_TEXT, "the %s triangle of a symmetric matrix, row after row",
             ways[fold->way]);
  return text;
}
