#include "dataset/dataset_text.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "dataset/chunk_facts.h"
#include "dataset/composite.h"
#include "dataset/hdf5_use.h"

void dm_h5_library(char *text, int64_t size) {
  DM_H5_ALONE;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  unsigned version = major * 10000 + minor * 100 + release;
  const char *warning = "";
  if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR)
    warning = "; these do not fit together";
  else if (version < 11404)
    warning = "; before 1.14.4 crafted files can crash it";
  snprintf(text, (size_t)size, "HDF5 %u.%u.%u (loaded), built with %d.%d.%d%s", major, minor,
           release, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, warning);
}

void dm_dataset_describe_meaning(const dm_dataset *dataset, char *text, int64_t size) {
  static const char *const done[DM_MISSING_END] = {"refused",
                                                   "read as NaN",
                                                   "read as 0",
                                                   "replaced by the mean",
                                                   "left out pair by pair",
                                                   "left out with their observations"};
  const dm_meaning *m = &dataset->meaning;
  const bool says = m->found;
  const char *complex = dataset->compound.pairs
                            ? "complex: two equal members are real and imaginary parts"
                            : dm_parts_text(dataset->parts);
  char folded[DM_FOLD_TEXT];
  dm_fold_text(&dataset->at.fold, folded);
  snprintf(text, (size_t)size, "%s%s%s%s%s%s%s", folded,
           folded[0] && (complex[0] || m->text[0]) ? "; " : "", complex,
           complex[0] && m->text[0] ? "; " : "", m->text, says ? "; missing values are " : "",
           says ? done[m->missing] : "");
}

/* Appends to TEXT, which stays terminated. */
static void dataset_text_append(char *text, int64_t size, int64_t *used, const char *more) {
  if (*used < size) *used += snprintf(text + *used, (size_t)(size - *used), "%s", more);
}

/* *source: what the composite DATASET is, if it only holds what its meaning points to. */
static bool is_wrapped(const dm_dataset *dataset, dm_dataset *source) {
  if (!dataset->composite || dataset->composite->sources != 1 || dataset->at.part[0]) return false;
  dm_composite_source(dataset->composite, 0, source);
  return dm_meaning_points(&source->meaning) && dm_dataset_is_same(dataset, source);
}

void dm_dataset_describe(const dm_dataset *dataset, char *text, int64_t size) {
  dm_dataset source;
  if (is_wrapped(dataset, &source)) dataset = &source;
  static const char *const layouts[] = {"contiguous", "chunked", "compact", "virtual"};
  int64_t used = 0;
  if (dataset->composite && dataset->composite->sources == 0) {
    dataset_text_append(text, size, &used, "one number for all elements");
    return;
  }
  dataset_text_append(text, size, &used, layouts[dataset->layout]);
  if (dataset->layout == DM_CHUNKED) {
    char shape[64];
    snprintf(shape, sizeof shape, " %lld x %lld", (long long)dataset->chunk_rows,
             (long long)dataset->chunk_cols);
    dataset_text_append(text, size, &used, shape);
  }
  if (dataset->composite) {
    char count[64];
    const long long sources = dataset->composite->sources;
    snprintf(count, sizeof count, ", %lld source%s", sources, sources == 1 ? "" : "s");
    dataset_text_append(text, size, &used, count);
  }
  for (const dm_filter *f = dm_filters; f->flag; f++) {
    if (!(dataset->filters & f->flag)) continue;
    dataset_text_append(text, size, &used, ", ");
    dataset_text_append(text, size, &used, f->name);
  }
  if (dataset->filters & DM_FILTER_OTHER) dataset_text_append(text, size, &used, ", other filters");
  if (dataset->zarr)
    dataset_text_append(text, size, &used, ", of Zarr");
  else if (!dataset->at.dataset[0] && !dataset->stack)
    dataset_text_append(text, size, &used,
                        dataset->genotypes ? ", 2 bits each, in a file of PLINK"
                                           : " in a file of NumPy");
  if (dataset->by_columns) dataset_text_append(text, size, &used, ", by columns");
  if (dataset->swapped) dataset_text_append(text, size, &used, ", other byte order");
  if (dataset->layout != DM_VIRTUAL && dataset->stored_bytes == 0)
    dataset_text_append(text, size, &used, ", no data");
}
