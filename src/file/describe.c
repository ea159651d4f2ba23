#include <stdio.h>

#include "file/composite.h"
#include "file/hdf5_use.h"
#include "file/inspect.h"

void dm_io_library(char *text, int64_t size) {
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

void dm_io_describe_meaning(const dm_dataset *dataset, char *text, int64_t size) {
  static const char *const done[DM_MISSING_END] = {"refused", "read as NaN", "read as 0",
                                                   "replaced by the mean", "left out pair by pair"};
  const dm_meaning *m = &dataset->meaning;
  const bool says = m->found;
  snprintf(text, (size_t)size, "%s%s%s", m->text, says ? "; missing values are " : "",
           says ? done[m->missing] : "");
}

/* Appends to TEXT, which stays terminated. */
static void append(char *text, int64_t size, int64_t *used, const char *more) {
  if (*used < size) *used += snprintf(text + *used, (size_t)(size - *used), "%s", more);
}

void dm_io_describe(const dm_dataset *dataset, char *text, int64_t size) {
  static const char *const layouts[] = {"contiguous", "chunked", "compact", "virtual"};
  static const struct {
    unsigned flag;
    const char *name;
  } filters[] = {{DM_FILTER_SHUFFLE, ", shuffle"},
                 {DM_FILTER_DEFLATE, ", deflate"},
                 {DM_FILTER_FLETCHER32, ", fletcher32"},
                 {DM_FILTER_LZF, ", lzf"},
                 {DM_FILTER_ZSTD, ", zstd"},
                 {DM_FILTER_LZ4, ", lz4"},
                 {DM_FILTER_BITSHUFFLE, ", bitshuffle"},
                 {DM_FILTER_BLOSC, ", blosc"},
                 {DM_FILTER_BLOSC2, ", blosc2"},
                 {DM_FILTER_OTHER, ", other filters"}};
  int64_t used = 0;
  append(text, size, &used, layouts[dataset->layout]);
  if (dataset->layout == DM_CHUNKED) {
    char shape[64];
    snprintf(shape, sizeof shape, " %lld x %lld", (long long)dataset->chunk_rows,
             (long long)dataset->chunk_cols);
    append(text, size, &used, shape);
  }
  if (dataset->composite) {
    char count[64];
    const long long sources = dataset->composite->sources;
    snprintf(count, sizeof count, ", %lld source%s", sources, sources == 1 ? "" : "s");
    append(text, size, &used, count);
  }
  for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
    if (dataset->filters & filters[i].flag) append(text, size, &used, filters[i].name);
  if (!dataset->at.dataset[0] && !dataset->stack) append(text, size, &used, " in a file of NumPy");
  if (dataset->by_columns) append(text, size, &used, ", by columns");
  if (dataset->swapped) append(text, size, &used, ", other byte order");
  if (dataset->layout != DM_VIRTUAL && dataset->stored_bytes == 0)
    append(text, size, &used, ", no data");
}
