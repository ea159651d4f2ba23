#include "inspect/hdf5_selection.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_use.h"

enum { HDF5_SELECTION_MOST_RUNS = 1 << 22 };

dm_status dm_mappings_unreadable(const dm_location *of) {
  return dm_h5_fail(DM_E_INPUT, of, "its mappings cannot be read");
}

/* Whether axis I of S ends before 2^63, its blocks apart. */
static bool slab_ends(const dm_slab *s, int i) {
  int64_t end;
  return s->start[i] >= 0 && s->stride[i] >= 1 && s->count[i] >= 1 && s->block[i] >= 1 &&
         (s->count[i] == 1 || s->stride[i] >= s->block[i]) &&
         !dm_mul_overflows(s->count[i] - 1, s->stride[i], &end) &&
         !dm_add_overflows(end, s->block[i], &end) && !dm_add_overflows(end, s->start[i], &end);
}

dm_status dm_slab_regular(const dm_location *of, hid_t space, dm_slab *s) {
  hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
  if (H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
    return dm_mappings_unreadable(of);
  for (int i = 0; i < s->rank; i++) {
    if (count[i] == H5S_UNLIMITED || block[i] == H5S_UNLIMITED)
      return dm_hint(
          dm_fail_at(DM_E_INPUT, of, "has a mapping without an end, which is not supported"),
          "map the sources that there are: in h5py without maxshape");
    s->start[i] = (int64_t)start[i];
    s->stride[i] = (int64_t)stride[i];
    s->count[i] = (int64_t)count[i];
    s->block[i] = (int64_t)block[i];
    if (!slab_ends(s, i)) return dm_mappings_unreadable(of);
  }
  return DM_OK;
}

/* Fills in a regular dm_selection; blocks that touch are one. */
static dm_status read_regular(const dm_location *of, hid_t space, dm_selection *s) {
  dm_slab slab = {.rank = s->rank};
  DM_TRY(dm_slab_regular(of, space, &slab));
  for (int i = 0; i < s->rank; i++) {
    const int x = 2 - s->rank + i;
    const bool touch = slab.count[i] == 1 || slab.stride[i] == slab.block[i];
    s->start[x] = slab.start[i];
    s->count[x] = touch ? 1 : slab.count[i];
    s->block[x] = touch ? slab.count[i] * slab.block[i] : slab.block[i];
    s->stride[x] = touch ? s->block[x] : slab.stride[i];
  }
  return DM_OK;
}

static int by_row(const void *a, const void *b) {
  const dm_row_run *x = a, *y = b;
  return dm_place_order(x->row, x->col, y->row, y->col);
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
  if (count < 0) return dm_mappings_unreadable(of);
  if (count > HDF5_SELECTION_MOST_RUNS) return too_many_runs(of);
  DM_TRY(dm_buffer_table(dm_max(1, 2 * s->rank * count), &blocks));
  if (H5Sget_select_hyper_blocklist(space, 0, (hsize_t)count, blocks) < 0)
    return dm_mappings_unreadable(of);
  return runs_of_blocks(of, s, blocks, count);
}

dm_status dm_selection_read(const dm_location *of, hid_t space, const char *whose,
                            dm_selection *s) {
  hsize_t dims[H5S_MAX_RANK];
  *s = (dm_selection){.rank = H5Sget_simple_extent_dims(space, dims, NULL),
                      .start = {0, 0},
                      .stride = {1, 1},
                      .count = {1, 1},
                      .block = {1, 1},
                      .extent = {1, 1}};
  if (s->rank < 0) return dm_mappings_unreadable(of);
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
    return s->extent[0] > 0 && s->extent[1] > 0 ? DM_OK : dm_mappings_unreadable(of);
  case H5S_SEL_HYPERSLABS:
    break;
  default:
    return dm_fail_at(DM_E_INPUT, of, "maps single points, which is not supported");
  }
  return H5Sis_regular_hyperslab(space) > 0 ? read_regular(of, space, s)
                                            : read_irregular(of, space, s);
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
