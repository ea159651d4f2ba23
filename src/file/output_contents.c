#include <stdio.h>
#include <string.h>

#include "file/child.h"
#include "file/hdf5_attribute.h"
#include "file/hdf5_use.h"
#include "file/output_file.h"

/* The first object in a file that damier must not replace. */
typedef struct search {
  const char *dataset; /* may be replaced, with its parent groups */
  char other[200];
} search;

static bool is_below(const char *path, const char *group) {
  size_t length = strlen(group);
  return strncmp(path, group, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Visits all links, including dangling and external ones, but follows only hard links. < 0: the
 * file cannot be read, which says nothing about what it holds. */
static herr_t visit(hid_t file, const char *name, const H5L_info_t *info, void *data) {
  search *look = data;
  char path[DM_PATH + 2];
  if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) path[0] = '\0';
  bool hard = info->type == H5L_TYPE_HARD && path[0];
  if (hard && is_below(path, "/.damier")) return 0;
  if (hard && is_below(look->dataset, path)) {
    H5O_info_t object;
    if (H5Oget_info_by_name(file, path, &object, H5P_DEFAULT) < 0) return -1;
    const bool target = strcmp(path, look->dataset) == 0 && object.type == H5O_TYPE_DATASET;
    if (target || (object.type != H5O_TYPE_DATASET && object.num_attrs == 0)) return 0;
  }
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
  H5O_info_t root;
  const herr_t read = H5Oget_info_by_name(file, "/", &root, H5P_DEFAULT);
  if (read >= 0 && root.num_attrs > 0)
    snprintf(look.other, sizeof look.other, "attributes of its root");
  else if (read < 0 || H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &look) < 0)
    return dm_h5_fail(DM_E_USAGE, at, "exists and cannot be listed; nothing was touched");
  if (!look.other[0]) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "exists and holds other objects: %s", look.other),
                 "nothing was touched; name another output file");
}
