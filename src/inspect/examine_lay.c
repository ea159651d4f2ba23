/* How a matrix lies in the dimensions of a dataset. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dataset/hdf5_use.h"
#include "inspect/inspect_impl.h"

/* The n of n * n = COUNT; 0: there is none. */
static int64_t side_of_square(int64_t count) {
  const int64_t n = count < (int64_t)1 << 60 ? (int64_t)(sqrt((double)count) + 0.5) : 0;
  return n * n == count ? n : 0;
}

static dm_status wrong_rank(const dm_dataset *find, const dm_axes *axes, int count) {
  char shape[DM_SHAPE_TEXT], name[DM_NAME];
  const dm_location *at = &find->at;
  const bool complex = find->parts != DM_PARTS_TOGETHER;
  if (count == 1 && !complex) {
    const int64_t square = side_of_square(axes->extent[0]), side = dm_fold_side(axes->extent[0]);
    char how[120] = "--shape-a ROWSxCOLS (of B --shape-b) folds it";
    if (square > 1)
      snprintf(how, sizeof how, "--shape-a %lldx%lld folds it", (long long)square,
               (long long)square);
    else if (side > 2)
      snprintf(how, sizeof how, "--packed-a lower or upper reads the triangle of a %lld x %lld one",
               (long long)side, (long long)side);
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "has 1 dimension; a matrix has 2"),
                   "%s; --as-column or --as-row takes it as a matrix of one column or row", how);
  }
  if (count == 1)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "has 1 dimension%s; a matrix has 2",
                              complex ? " of complex numbers, beside that of their parts" : ""),
                   "--as-column or --as-row takes it as a matrix%s",
                   complex ? "; --complex-axis none or --raw takes the stored numbers" : "");
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "has %d dimensions, %s; a matrix has 2", count,
                            dm_axes_text(axes, shape)),
                 "'%.400s[0]' names a part of it; --row-axes-a and --row-axes-b flatten it%s",
                 dm_location_name(at, name),
                 axes->extent[axes->count - 1] == 2
                     ? "; --complex-axis last takes the last one as real and imaginary parts"
                     : "");
}

dm_status dm_examine_lay(const dm_trust *trust, const dm_axes *axes, dm_dataset *find) {
  const int count = axes->count - (find->parts == DM_PARTS_PAIRED);
  const bool vector = count == 1;
  const bool split = trust->row_axes > 0 && !vector && !trust->any_shape;
  const bool batch = count > 2 && trust->batch && !split && !trust->any_shape;
  const bool known = vector ? trust->any_shape || trust->vectors != DM_NO_VECTOR
                            : count == 2 || trust->any_shape || split || batch;
  if (!known) return wrong_rank(find, axes, count);
  if (split && trust->row_axes > count)
    return dm_fail_at(DM_E_INPUT, &find->at, "has %d dimensions; its rows cannot have %lld of them",
                      count, (long long)trust->row_axes);
  if (split && trust->row_axes == count && find->by_columns)
    return dm_hint(dm_fail_at(DM_E_INPUT, &find->at,
                              "is stored by columns, and cannot be one column "
                              "of all its elements"),
                   "numpy.ascontiguousarray(array) has a .npy file by rows");
  const bool laid = trust->any_shape && trust->laid > 0 && trust->laid <= count + 1;
  const int of_rows = laid     ? trust->laid - 1
                      : vector ? trust->vectors == DM_AS_COLUMN
                      : split  ? (int)trust->row_axes
                               : count - 1;
  if (!dm_dataset_lay(find, axes, of_rows))
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more elements than 64 bits can count");
  if (find->rows == 0 && find->cols == 0)
    return dm_fail_at(DM_E_INPUT, &find->at, "is empty: its shape is 0 x 0");
  if (!batch) return DM_OK;
  find->leads = (dm_leads){.count = count - 2};
  memcpy(find->leads.extent, axes->extent, (size_t)find->leads.count * sizeof axes->extent[0]);
  return dm_leads_entries(&find->leads) == 0 ? dm_fail_at(DM_E_INPUT, &find->at, "has no elements")
                                             : DM_OK;
}
