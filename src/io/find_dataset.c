#include <stdio.h>
#include <string.h>

#include "io/examine.h"
#include "io/hdf5_attribute.h"
#include "io/hdf5_type.h"
#include "io/hdf5_use.h"

enum { NAMED = 4, ENOUGH = 100 };

/* Matrices met so far; OTHERS are 2-D datasets of types that are not read. */
typedef struct search {
  int matrices, others;
  char name[DM_PATH], other[DM_PATH];
  char list[300];
} search;

/* The shape of a virtual dataset may stand in other files, which must not be opened. */
static bool is_virtual(hid_t set) {
  hid_t creation = H5Dget_create_plist(set);
  bool yes = creation < 0 || H5Pget_layout(creation) == H5D_VIRTUAL;
  if (creation >= 0) H5Pclose(creation);
  return yes;
}

static bool is_matrix(hid_t set, bool *readable) {
  *readable = false;
  if (is_virtual(set))
    return true; /* if it is the only one, its inspection says why it is refused */
  hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  bool flat = space >= 0 && H5Sget_simple_extent_ndims(space) == 2;
  char text[DM_TYPE_TEXT];
  dm_dtype dtype;
  bool swapped;
  *readable = type >= 0 && dm_h5_read_type(type, dm_h5_is_bfloat16(set), &dtype, &swapped, text);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  return flat;
}

static void note(search *found, const char *name, bool readable) {
  int *count = readable ? &found->matrices : &found->others;
  char *first = readable ? found->name : found->other;
  if (++*count == 1) snprintf(first, DM_PATH, "/%s", name);
  size_t used = strlen(found->list);
  if (readable && found->matrices <= NAMED)
    snprintf(found->list + used, sizeof found->list - used, "%s/%.60s", used ? ", " : "", name);
}

static herr_t visit(hid_t root, const char *name, const H5O_info_t *info, void *data) {
  search *found = data;
  bool own = strcmp(name, ".damier") == 0 || strncmp(name, ".damier/", 8) == 0;
  if (info->type != H5O_TYPE_DATASET || own || strlen(name) > DM_PATH - 2) return 0;
  hid_t set = H5Dopen2(root, name, H5P_DEFAULT);
  if (set < 0) return 0; /* a broken dataset that nobody asked for */
  bool readable;
  if (is_matrix(set, &readable)) note(found, name, readable);
  H5Dclose(set);
  return found->matrices >= ENOUGH;
}

dm_status dm_find_dataset(int64_t file, dm_location *at) {
  search found = {0};
  /* Only hard links are followed: no way out of the file, no circles. */
  if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &found) < 0)
    return dm_h5_fail(DM_E_INPUT, at, "its datasets cannot be listed");
  if (found.matrices == 0 && found.others == 0)
    return dm_fail_at(DM_E_INPUT, at, "holds no 2-D dataset");
  if (found.matrices > 1)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "holds %s%d matrices: %s%s",
                              found.matrices >= ENOUGH ? "at least " : "", found.matrices,
                              found.list, found.matrices > NAMED ? ", ..." : ""),
                   "name one: FILE.h5:/path/to/dataset");
  const char *name = found.matrices ? found.name : found.other;
  char clean[DM_PATH];
  snprintf(clean, sizeof clean, "%s", name);
  if (!dm_io_clean(clean))
    return dm_fail_at(DM_E_INPUT, at, "the name of its dataset, '%.200s', is not printable", clean);
  snprintf(at->dataset, sizeof at->dataset, "%s", name);
  return DM_OK;
}
