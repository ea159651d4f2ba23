/* Programs whose matrices lie in HDF5 with their dimensions reversed, recognised by what they write
 * beside the numbers. */
#include <string.h>

#include "dataset/hdf5_use.h"
#include "inspect/beside.h"

static const struct {
  dm_origin origin;
  dm_mark mark;
  const char *called; /* the name of the dataset, or NULL: any */
} origins[] = {
    {DM_ORIGIN_MATLAB, {.place = DM_ON_DATASET, .names = "MATLAB_class"}, NULL},
    {DM_ORIGIN_OCTAVE, {.place = DM_ON_GROUP, .names = "OCTAVE_NEW_FORMAT"}, NULL},
    {DM_ORIGIN_R, {.place = DM_ON_DATASET, .names = "rhdf5-NA.OK|storage.mode"}, NULL},
    {DM_ORIGIN_SCILAB, {.place = DM_ON_DATASET, .names = "SCILAB_Class"}, NULL},
    {DM_ORIGIN_CGNS, {.place = DM_ON_GROUP, .names = "label"}, " data"},
};

const char *dm_origin_name(dm_origin origin) {
  static const char *const names[DM_ORIGINS_END] = {"",       "MATLAB", "Octave",   "R",
                                                    "Scilab", "CGNS",   "Armadillo"};
  return names[origin];
}

/* hdf5r's logical values: an enumeration FALSE, TRUE, NA. */
static bool origin_is_r_logical(hid_t set) {
  DM_H5_HELD const hid_t type = H5Dget_type(set);
  if (type < 0 || H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 3) return false;
  char *name = H5Tget_member_name(type, 2);
  const bool is = name && strcmp(name, "NA") == 0;
  if (name) H5free_memory(name);
  return is;
}

static dm_status origin_look(dm_beside *beside, dm_dataset *find) {
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    dm_sign sign;
    if (origins[i].called && strcmp(origins[i].called, dm_beside_name(beside)) != 0) continue;
    DM_TRY(dm_beside_find(beside, &origins[i].mark, -1, &sign));
    const bool is = sign.is;
    dm_sign_close(&sign);
    if (!is) continue;
    find->origin = origins[i].origin;
    return DM_OK;
  }
  const bool bare = beside->level[0].bare && strcmp(find->at.dataset, "/dataset") == 0;
  if (bare) find->origin = DM_ORIGIN_ARMADILLO; /* its default, and all that it writes */
  return DM_OK;
}

dm_status dm_examine_origin(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find) {
  dm_beside beside;
  if (origin_is_r_logical(set)) {
    find->origin = DM_ORIGIN_R;
    return DM_OK;
  }
  DM_TRY(dm_beside_start(trust, &find->at, file, set, &beside));
  dm_status status = origin_look(&beside, find);
  dm_beside_end(&beside);
  return status;
}
