/* Complex numbers whose real and imaginary parts lie along an axis of 2 of a dataset of reals. */
#include <string.h>

#include "dataset/hdf5_has.h"
#include "dataset/hdf5_use.h"
#include "inspect/attribute_numbers.h"
#include "inspect/conventions.h"
#include "inspect/inspect_impl.h"

/* ---- what the file says ---- */

/* HDF5's dimension scales, which netCDF writes; the names "complex" and "ri" say it. */
static const char complex_scales[] = "DIMENSION_LIST";

/* Whether the first scale in LIST, of the dataset SET, is named so. References that lead
 * nowhere, as copies of a dataset without its scales have them, name none. */
static bool names_complex_scale(hid_t set, const hvl_t *list) {
  char path[DM_PATH] = "";
  if (list->len == 0 || !list->p) return false;
  DM_H5_HELD const hid_t scale = H5Rdereference2(set, H5P_DEFAULT, H5R_OBJECT, list->p);
  if (scale < 0 || H5Iget_name(scale, path, sizeof path - 1) < 0) H5Eclear2(H5E_DEFAULT);
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return strcmp(name, "complex") == 0 || strcmp(name, "ri") == 0;
}

/* Whether the last of COUNT dimensions of SET has such a scale. */
static dm_status find_complex_scale(const dm_location *at, hid_t set, int count, bool *is) {
  hvl_t lists[DM_AXES];
  hid_t attribute;
  DM_TRY(dm_h5_open_attribute(at, set, complex_scales, &attribute));
  DM_H5_HELD const hid_t held = attribute, space = held < 0 ? -1 : H5Aget_space(held);
  DM_H5_HELD const hid_t stored = held < 0 ? -1 : H5Aget_type(held);
  DM_H5_HELD const hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
  if (held < 0) return DM_OK;
  if (space < 0 || type < 0 || stored < 0) return dm_h5_unreadable(at, set, complex_scales);
  if (H5Sget_simple_extent_npoints(space) != count || H5Tequal(type, stored) <= 0) return DM_OK;
  if (H5Aread(held, type, lists) < 0) return dm_h5_unreadable(at, set, complex_scales);
  *is = names_complex_scale(set, &lists[count - 1]);
  if (H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists) < 0) H5Eclear2(H5E_DEFAULT);
  return DM_OK;
}

/* Whether SET (negative: a file without marks), of COUNT dimensions, says that it is complex: *is.
 */
static dm_status complex_says(const dm_trust *trust, const dm_location *at, hid_t set, int count,
                              bool *is) {
  bool has;
  *is = false;
  if (set < 0 || trust->raw) return DM_OK;
  for (const dm_convention *row = dm_conventions;
       row < dm_conventions + dm_conventions_count && !*is; row++) {
    if (row->deed != DM_IS_COMPLEX) continue;
    DM_TRY(dm_h5_has_attribute(at, set, row->mark.names, &has));
    if (has) DM_TRY(dm_attribute_is_true(at, set, row->mark.names, is));
  }
  return *is ? DM_OK : find_complex_scale(at, set, count, is);
}

/* ---- which axis it is ---- */

static dm_status refuse_axis(const dm_location *at, const dm_axes *axes, const char *why) {
  char shape[DM_SHAPE_TEXT];
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "%s: its shape is %s", why, dm_axes_text(axes, shape)),
                 "--complex-axis none takes the stored numbers");
}

dm_status dm_complex_find(const dm_trust *trust, int64_t set, const dm_axes *axes,
                          const dm_dataset *find, dm_complex_axis *axis) {
  const bool last = axes->count > 1 && axes->extent[axes->count - 1] == 2;
  const bool first = axes->count > 1 && axes->extent[0] == 2;
  const bool is_complex = dm_dtype_is_complex(find->dtype);
  *axis = trust->complex_axis;
  if (trust->nesting) DM_TRY(dm_complex_refuse_virtual(trust, set, &find->at));
  if (*axis == DM_COMPLEX_AUTO) {
    bool says = false;
    if (last && !is_complex && !trust->nesting)
      DM_TRY(complex_says(trust, &find->at, set, axes->count, &says));
    *axis = says ? DM_COMPLEX_LAST : DM_COMPLEX_NONE;
  }
  if (*axis == DM_COMPLEX_NONE) return DM_OK;
  if (is_complex)
    return refuse_axis(&find->at, axes, "has complex elements, and no axis of their parts");
  if (find->dtype != DM_F32 && find->dtype != DM_F64)
    return dm_hint(dm_fail_at(DM_E_INPUT, &find->at,
                              "says that its numbers are parts of complex ones, but they are %s",
                              dm_dtype_name(find->dtype)),
                   "parts are read in f32 and f64; --complex-axis none takes the stored numbers");
  if (*axis == DM_COMPLEX_LAST ? last : first) return DM_OK;
  return refuse_axis(&find->at, axes,
                     *axis == DM_COMPLEX_LAST ? "has no last axis of 2 for --complex-axis"
                                              : "has no first axis of 2 for --complex-axis");
}

dm_status dm_complex_refuse_virtual(const dm_trust *trust, int64_t set, const dm_location *at) {
  bool is = trust->complex_axis == DM_COMPLEX_LAST || trust->complex_axis == DM_COMPLEX_FIRST;
  if (trust->complex_axis == DM_COMPLEX_AUTO) DM_TRY(complex_says(trust, at, set, 2, &is));
  if (!is) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_INPUT, at,
                            "is a virtual dataset, or a source of one, of the parts of complex "
                            "numbers along an axis"),
                 "that is applied only to datasets that are stored: copy it (h5py: f['copy'] = "
                 "f['name'][..., 0] + 1j * f['name'][..., 1]); --complex-axis none takes the "
                 "stored numbers");
}

/* ---- the matrix ---- */

dm_status dm_complex_lay(const dm_trust *trust, const dm_axes *axes, dm_complex_axis axis,
                         dm_dataset *find) {
  const int last = axes->count - 1, which = axis == DM_COMPLEX_LAST ? last : 0;
  const bool chunked = axes->chunk[0] > 0;
  dm_axes laid = *axes;
  find->dtype = find->dtype == DM_F32 ? DM_C64 : DM_C128;
  if (axis == DM_COMPLEX_LAST && (!chunked || axes->chunk[last] == 2)) {
    find->parts = DM_PARTS_PAIRED;
    laid.extent[last] = 1;
    laid.chunk[last] = chunked;
    return dm_examine_lay(trust, &laid, find);
  }
  find->parts = axis == DM_COMPLEX_LAST ? DM_PARTS_LAST : DM_PARTS_FIRST;
  find->parts_offset = find->offset;
  find->parts_chunk = axes->chunk[which];
  find->offset = -1;
  find->few = (dm_few_chunks){0};
  laid.count--;
  for (int i = which; i < laid.count; i++) {
    laid.extent[i] = laid.extent[i + 1];
    laid.chunk[i] = laid.chunk[i + 1];
  }
  laid.extent[laid.count] = laid.chunk[laid.count] = 0;
  return dm_examine_lay(trust, &laid, find);
}
