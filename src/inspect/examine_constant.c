/* A constant component of openPMD: a group with the attributes value and shape stands for a dataset
 * of that shape, all of whose elements are the value. */
#include <string.h>

#include "core/checked.h"
#include "dataset/composite.h"
#include "dataset/hdf5_has.h"
#include "dataset/naming.h"
#include "inspect/attribute_numbers.h"
#include "inspect/inspect_impl.h"

static dm_status examine_constant_read_shape(const dm_dataset *find, const dm_number *list,
                                             int count, dm_axes *axes) {
  *axes = (dm_axes){.count = count};
  for (int i = 0; i < count; i++) {
    if (!list[i].is_integer || list[i].integer < 1)
      return dm_fail_at(DM_E_INPUT, &find->at, "is a constant component with a shape of '%g'",
                        list[i].real);
    axes->extent[i] = list[i].integer;
  }
  return DM_OK;
}

static dm_status examine_constant_fill(const dm_number *value, dm_dataset *find) {
  const float single = (float)value->real;
  dm_composer none = {NULL};
  DM_TRY(dm_composer_finish(&none, find->rows, find->cols, &find->composite));
  if (find->dtype == DM_F32)
    memcpy(find->composite->fill, &single, sizeof single);
  else
    memcpy(find->composite->fill, &value->real, sizeof value->real);
  return DM_OK;
}

dm_status dm_examine_constant(const dm_trust *trust, int64_t group, dm_dataset *find, bool *is) {
  dm_number value[DM_MISSING_VALUES], shape[DM_MISSING_VALUES];
  int values = DM_NO_ATTRIBUTE, extents = DM_NO_ATTRIBUTE;
  bool has[2];
  dm_axes axes;
  *is = false;
  DM_TRY(dm_h5_has_attribute(&find->at, group, "value", &has[0]));
  DM_TRY(dm_h5_has_attribute(&find->at, group, "shape", &has[1]));
  if (!has[0] || !has[1]) return DM_OK;
  DM_TRY(dm_attribute_numbers(&find->at, group, "value", value, &values));
  DM_TRY(dm_attribute_numbers(&find->at, group, "shape", shape, &extents));
  if (values != 1 || extents < 1 || extents > DM_AXES) return DM_OK;
  *is = true;
  DM_TRY(examine_constant_read_shape(find, shape, extents, &axes));
  find->dtype = value->is_single ? DM_F32 : DM_F64;
  find->layout = DM_VIRTUAL;
  find->offset = -1;
  find->meaning.type = find->dtype;
  DM_TRY(dm_examine_lay(trust, &axes, find));
  int64_t elements;
  if (dm_mul_overflows(find->rows, find->cols, &elements) ||
      dm_mul_overflows(elements, dm_dtype_size(find->dtype), &elements))
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more bytes than 64 bits can count");
  return dm_file_named(examine_constant_fill(value, find), &find->at);
}
