/* Mappings of virtual datasets with more than two dimensions, on either side: frames of detectors.
 * A mapping takes a box with steps of each; both are laid as matrices whose elements follow in the
 * same order. */
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_use.h"
#include "dataset/naming.h"
#include "dataset/stretches.h"
#include "inspect/virtual_slabs.h"

enum { MOST_BLOCKS = 1 << 20 };

/* All of EXTENT. */
static void virtual_slabs_take_all(dm_slab *s) {
  for (int i = 0; i < s->rank; i++) {
    s->start[i] = 0;
    s->stride[i] = s->block[i] = s->extent[i];
    s->count[i] = 1;
  }
}

dm_status dm_slab_read(const dm_location *of, int64_t space, dm_slab *s) {
  hsize_t dims[H5S_MAX_RANK];
  const H5S_sel_type kind = H5Sget_select_type(space);
  *s = (dm_slab){.rank = H5Sget_simple_extent_dims(space, dims, NULL), .all = kind == H5S_SEL_ALL};
  if (s->rank < 0) return dm_mappings_unreadable(of);
  if (s->rank > DM_AXES)
    return dm_fail_at(DM_E_INPUT, of, "maps %d dimensions; at most %d are read", s->rank, DM_AXES);
  for (int i = 0; i < s->rank; i++) {
    if (dims[i] > INT64_MAX) return dm_mappings_unreadable(of);
    s->extent[i] = (int64_t)dims[i];
  }
  if (s->all) {
    virtual_slabs_take_all(s);
    return DM_OK;
  }
  if (kind != H5S_SEL_HYPERSLABS)
    return dm_fail_at(DM_E_INPUT, of, "maps single points, which is not supported");
  if (H5Sis_regular_hyperslab(space) <= 0)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, of,
                   "has more than 2 dimensions and a mapping that is not a box with steps"),
        "copy it: in h5py f['copy'] = f['name'][()]");
  DM_TRY(dm_slab_regular(of, space, s));
  for (int i = 0; i < s->rank; i++)
    if (s->count[i] > MOST_BLOCKS) return dm_mappings_unreadable(of);
  return DM_OK;
}

/* Elements of the axes FIRST to END - 1; -1: it overflows. */
static int64_t slab_size(const dm_slab *s, int first, int end) {
  int64_t size = 1;
  for (int i = first; i < end; i++)
    if (dm_mul_overflows(size, s->count[i] * s->block[i], &size)) return -1;
  return size;
}

static dm_status axis_of(const dm_slab *s, int axis, dm_stretches *all) {
  const int64_t count = s->count[axis], block = s->block[axis];
  DM_TRY(dm_buffer_table(block == 1 ? 1 : count, &all->list));
  all->count = 0;
  if (block == 1)
    all->list[all->count++] =
        (dm_run_of_line){{s->start[axis], count > 1 ? s->stride[axis] : 1}, count};
  for (int64_t i = 0; i < count && block > 1; i++)
    all->list[all->count++] = (dm_run_of_line){{s->start[axis] + i * s->stride[axis], 1}, block};
  return DM_OK;
}

static dm_status virtual_slabs_side_of(const dm_slab *s, int first, int end, dm_stretches *all) {
  int64_t size = 1;
  DM_TRY(dm_stretches_one(all));
  for (int i = end - 1; i >= first; i--) {
    dm_stretches outer;
    DM_TRY(axis_of(s, i, &outer));
    dm_status status = dm_stretches_before(&outer, size, all);
    free(outer.list);
    DM_TRY(status);
    size *= s->extent[i];
  }
  return DM_OK;
}

static dm_status slab_mismatch(const dm_location *of, const dm_location *source, const char *why) {
  char name[DM_NAME];
  return dm_fail_at(DM_E_INPUT, of, "maps its source %s %s", dm_location_name(source, name), why);
}

/* Completes FROM, and checks it against the shape of SOURCE. */
static dm_status check_slabs(const dm_location *of, const dm_slab *to, dm_slab *from,
                             const dm_dataset *source) {
  const dm_axes axes = dm_dataset_axes(source);
  if (from->all) {
    from->rank = axes.count;
    memcpy(from->extent, axes.extent, sizeof from->extent);
    virtual_slabs_take_all(from);
  }
  bool same = from->rank == axes.count;
  for (int i = 0; i < axes.count && same; i++)
    same =
        from->start[i] + (from->count[i] - 1) * from->stride[i] + from->block[i] <= axes.extent[i];
  /* The file may state another extent of the source than it has. */
  memcpy(from->extent, axes.extent, sizeof from->extent);
  if (!same) return slab_mismatch(of, &source->at, "beyond its shape");
  const int64_t all = slab_size(to, 0, to->rank);
  if (all < 0 || all != slab_size(from, 0, from->rank))
    return slab_mismatch(of, &source->at, "with another number of elements");
  return DM_OK;
}

/* Lays SOURCE so that the rows of its elements are those of the matrix, whose first OF_ROWS axes
 * are the rows: *of_source. */
static dm_status lay_source(const dm_location *of, const dm_slab *to, int of_rows,
                            const dm_slab *from, dm_dataset *source, int *of_source) {
  dm_axes axes = dm_dataset_axes(source);
  const int64_t rows = slab_size(to, 0, of_rows);
  int at = axes.of_rows;
  if (slab_size(from, 0, at) != rows)
    for (at = 0; at < from->rank && slab_size(from, 0, at) != rows;) at++;
  if (slab_size(from, 0, at) != rows)
    return dm_hint(slab_mismatch(of, &source->at,
                                 "so that rows of it do not begin where rows of "
                                 "the matrix do"),
                   "copy it: in h5py f['copy'] = f['name'][()]");
  *of_source = at;
  if (at == axes.of_rows) return DM_OK;
  if (source->composite)
    return slab_mismatch(of, &source->at, "which is virtual itself, by other rows");
  return dm_dataset_lay(source, &axes, at)
             ? DM_OK
             : slab_mismatch(of, &source->at, "with more elements than 64 bits can count");
}

dm_status dm_slab_map(const dm_location *of, const dm_slab *to, int of_rows, dm_slab *from,
                      dm_dataset *source, dm_composer *made) {
  dm_stretches side[4] = {{NULL, 0}};
  int of_source = 0;
  DM_TRY(check_slabs(of, to, from, source));
  DM_TRY(lay_source(of, to, of_rows, from, source, &of_source));
  dm_status status = virtual_slabs_side_of(to, 0, of_rows, &side[0]);
  if (!status) status = virtual_slabs_side_of(to, of_rows, to->rank, &side[1]);
  if (!status) status = virtual_slabs_side_of(from, 0, of_source, &side[2]);
  if (!status) status = virtual_slabs_side_of(from, of_source, from->rank, &side[3]);
  if (!status) status = dm_stretches_compose(source, &side[0], &side[1], &side[2], &side[3], made);
  for (int i = 0; i < 4; i++) free(side[i].list);
  return dm_file_named(status, of);
}
