#include <stdio.h>
#include <string.h>

#include "io/child.h"
#include "io/hdf5_attribute.h"
#include "io/hdf5_use.h"
#include "io/output_file.h"

/* The first object in a file that damier must not replace. */
typedef struct search {
  const char *dataset; /* may be replaced, with its parent groups */
  char other[200];
} search;

static bool is_below(const char *path, const char *group) {
  size_t length = strlen(group);
  return strncmp(path, group, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool has_attributes(hid_t file, const char *path) {
  H5O_info_t info;
  return H5Oget_info_by_name(file, path, &info, H5P_DEFAULT) < 0 || info.num_attrs > 0;
}

static bool is_dataset(hid_t file, const char *path) {
  H5O_info_t info;
  return H5Oget_info_by_name(file, path, &info, H5P_DEFAULT) >= 0 && info.type == H5O_TYPE_DATASET;
}

/* Visits all links, including dangling and external ones, but follows only hard links. */
static herr_t visit(hid_t file, const char *name, const H5L_info_t *info, void *data) {
  search *look = data;
  char path[DM_PATH + 2];
  if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) path[0] = '\0';
  bool hard = info->type == H5L_TYPE_HARD;
  bool own = is_below(path, "/.damier") && hard;
  bool target = strcmp(path, look->dataset) == 0 && hard && is_dataset(file, path);
  bool above = hard && path[0] && is_below(look->dataset, path) && !target &&
               !is_dataset(file, path) && !has_attributes(file, path);
  if (own || target || above) return 0;
  snprintf(look->other, sizeof look->other, "%.150s", path[0] ? path : name);
  return 1;
}

dm_status dm_output_holds_only(const void *location, void *nothing) {
  const dm_location *at = location;
  search look = {.dataset = at->dataset};
  hid_t file;
  *(char *)nothing = 0;
  DM_TRY(dm_h5_start(false));
  DM_TRY(dm_h5_open_file(at, 0, &file));
  if (has_attributes(file, "/"))
    snprintf(look.other, sizeof look.other, "attributes of its root");
  else if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &look) < 0)
    return dm_h5_fail(DM_E_USAGE, at, "exists and cannot be listed; nothing was touched");
  if (!look.other[0]) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "exists and holds other objects: %s", look.other),
                 "nothing was touched; name another output file");
}
