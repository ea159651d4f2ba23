#include "inspect/hdf5_selection.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_use.h"

enum { HDF5_SELECTION_MOST_RUNS = 1 << 22 };

static dm_status hdf5_selection_unreadable(const dm_location *of) {
  return dm_h5_fail(DM_E_INPUT, of, "its mappings cannot be read");
}

/* Fills in a regular dm_selection from axis FIRST on; false: too large. */
static bool take_regular(dm_selection *s, int first, const hsize_t *start, const hsize_t *stride,
                         const hsize_t *count, const hsize_t *block) {
  for (int i = 0; i < s->rank; i++) {
    const int x = first + i;
    int64_t end;
    s->start[x] = (int64_t)start[i];
    s->stride[x] = (int64_t)stride[i];
    s->count[x] = (int64_t)count[i];
    s->block[x] = (int64_t)block[i];
    if (s->start[x] < 0 || s->stride[x] < 1 || s->count[x] < 1 || s->block[x] < 1 ||
        dm_mul_overflows(s->count[x] - 1, s->stride[x], &end) ||
        dm_add_overflows(end, s->block[x], &end) || dm_add_overflows(end, s->start[x], &end))
      return false;
    if (s->stride[x] != s->block[x] && s->count[x] > 1) continue;
    s->block[x] *= s->count[x]; /* one block */
    s->stride[x] = s->block[x];
    s->count[x] = 1;
  }
  return true;
}

static int by_row(const void *a, const void *b) {
  const dm_row_run *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return x->col < y->col ? -1 : x->col > y->col;
}

static dm_status too_many_runs(const dm_location *of) {
  return dm_fail_at(DM_E_INPUT, of, "has a mapping of more than %d pieces",
                    HDF5_SELECTION_MOST_RUNS);
}

static dm_status runs_of_blocks(const dm_location *of, dm_selection *s, const hsize_t *blocks,
                                hssize_t count) {
  int64_t all = 0;
  for (hssize_t i = 0; i < count; i++) {
    const hsize_t *block = blocks + 2 * s->rank * i;
    all += s->rank == 2
               ? (int64_t)dm_min((int64_t)(block[2] - block[0]), HDF5_SELECTION_MOST_RUNS) + 1
               : 1;
    if (all > HDF5_SELECTION_MOST_RUNS) return too_many_runs(of);
  }
  DM_TRY(dm_buffer_table(dm_max(1, all), &s->runs));
  for (hssize_t i = 0; i < count; i++) {
    const hsize_t *from = blocks + 2 * s->rank * i, *to = from + s->rank;
    const int x = s->rank - 1;
    const hsize_t first = s->rank == 2 ? from[0] : 0, last = s->rank == 2 ? to[0] : 0;
    for (hsize_t row = first; row <= last; row++)
      s->runs[s->run_count++] =
          (dm_row_run){(int64_t)row, (int64_t)from[x], (int64_t)(to[x] - from[x]) + 1};
  }
  qsort(s->runs, (size_t)s->run_count, sizeof *s->runs, by_row);
  return DM_OK;
}

static dm_status read_irregular(const dm_location *of, hid_t space, dm_selection *s) {
  const hssize_t count = H5Sget_select_hyper_nblocks(space);
  DM_FREED hsize_t *blocks = NULL;
  if (count < 0) return hdf5_selection_unreadable(of);
  if (count > HDF5_SELECTION_MOST_RUNS) return too_many_runs(of);
  DM_TRY(dm_buffer_table(dm_max(1, 2 * s->rank * count), &blocks));
  if (H5Sget_select_hyper_blocklist(space, 0, (hsize_t)count, blocks) < 0)
    return hdf5_selection_unreadable(of);
  return runs_of_blocks(of, s, blocks, count);
}

dm_status dm_selection_read(const dm_location *of, hid_t space, const char *whose,
                            dm_selection *s) {
  hsize_t dims[H5S_MAX_RANK], start[2], stride[2], count[2], block[2];
  *s = (dm_selection){.rank = H5Sget_simple_extent_dims(space, dims, NULL),
                      .start = {0, 0},
                      .stride = {1, 1},
                      .count = {1, 1},
                      .block = {1, 1},
                      .extent = {1, 1}};
  if (s->rank < 0) return hdf5_selection_unreadable(of);
  s->all = H5Sget_select_type(space) == H5S_SEL_ALL;
  if (s->all && s->rank == 0 && *whose) return DM_OK; /* the file does not keep its extent */
  if (s->rank != 1 && s->rank != 2)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, of,
                   *whose ? "is a virtual dataset, and %shas %d dimensions; only 2 are read"
                          : "is a virtual dataset%s of %d dimensions; only those of 2 are read",
                   whose, s->rank),
        "name the files of its sources, as in 'FOLDER/*.h5:/DATASET', which are read as one; or "
        "copy it: in h5py f['copy'] = f['name'][()]");
  const int first = 2 - s->rank;
  for (int i = 0; i < s->rank; i++) s->extent[first + i] = (int64_t)dims[i];
  switch (H5Sget_select_type(space)) {
  case H5S_SEL_ALL:
    memcpy(s->block, s->extent, sizeof s->block);
    memcpy(s->stride, s->extent, sizeof s->stride);
    return s->extent[0] > 0 && s->extent[1] > 0 ? DM_OK : hdf5_selection_unreadable(of);
  case H5S_SEL_HYPERSLABS:
    break;
  default:
    return dm_fail_at(DM_E_INPUT, of, "maps single points, which is not supported");
  }
  if (H5Sis_regular_hyperslab(space) <= 0) return read_irregular(of, space, s);
  if (H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
    return hdf5_selection_unreadable(of);
  for (int i = 0; i < s->rank; i++)
    if (count[i] == H5S_UNLIMITED || block[i] == H5S_UNLIMITED)
      return dm_hint(
          dm_fail_at(DM_E_INPUT, of, "has a mapping without an end, which is not supported"),
          "map the sources that there are: in h5py without maxshape");
  return take_regular(s, first, start, stride, count, block) ? DM_OK
                                                             : hdf5_selection_unreadable(of);
}

dm_status dm_selection_list(const dm_location *of, dm_selection *s) {
  int64_t rows, all;
  if (s->runs) return DM_OK;
  if (dm_mul_overflows(s->count[0], s->block[0], &rows) ||
      dm_mul_overflows(rows, s->count[1], &all) || all > HDF5_SELECTION_MOST_RUNS)
    return too_many_runs(of);
  DM_TRY(dm_buffer_table(all, &s->runs));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < s->count[1]; j++)
      s->runs[s->run_count++] =
          (dm_row_run){s->start[0] + i / s->block[0] * s->stride[0] + i % s->block[0],
                       s->start[1] + j * s->stride[1], s->block[1]};
  return DM_OK;
}

bool dm_selection_is_block(const dm_selection *s) {
  return !s->runs && s->count[0] == 1 && s->count[1] == 1;
}

bool dm_selection_is_column(const dm_selection *s) {
  if (!s->runs) return s->count[1] == 1 && s->block[1] == 1 && s->count[0] * s->block[0] > 1;
  for (int64_t i = 0; i < s->run_count; i++)
    if (s->runs[i].length != 1 || s->runs[i].col != s->runs[0].col) return false;
  return s->run_count > 1;
}
