#include <stdio.h>
#include <string.h>

#include "io/examine.h"
#include "io/hdf5_attribute.h"
#include "io/hdf5_type.h"
#include "io/hdf5_use.h"

enum { NAMED = 4, ENOUGH = 100 };

bool dm_examine_is_virtual(int64_t set) {
  hid_t creation = H5Dget_create_plist(set);
  bool yes = creation < 0 || H5Pget_layout(creation) == H5D_VIRTUAL;
  if (creation >= 0) H5Pclose(creation);
  return yes;
}

/* ---- visiting a file ---- */

typedef struct walk {
  const dm_trust *trust;
  dm_visit *visit;
  void *context;
} walk;

static bool is_own(const char *name) {
  return strcmp(name, ".damier") == 0 || strncmp(name, ".damier/", 8) == 0;
}

static herr_t open_and_visit(const walk *w, hid_t root, const char *name) {
  char path[DM_PATH];
  hid_t set = H5Oopen(root, name, H5P_DEFAULT);
  snprintf(path, sizeof path, "/%s", name);
  if (set < 0) return w->visit(w->context, path, DM_UNOPENED);
  const bool stop = H5Iget_type(set) == H5I_DATASET && w->visit(w->context, path, set);
  H5Oclose(set);
  return stop;
}

static herr_t meet_object(hid_t root, const char *name, const H5O_info_t *info, void *data) {
  if (info->type != H5O_TYPE_DATASET || is_own(name) || strlen(name) > DM_PATH - 2) return 0;
  return open_and_visit(data, root, name);
}

static herr_t meet_link(hid_t root, const char *name, const H5L_info_t *info, void *data) {
  const walk *w = data;
  char path[DM_PATH];
  if (info->type != H5L_TYPE_EXTERNAL || strlen(name) > DM_PATH - 2) return 0;
  if (w->trust->external) return open_and_visit(w, root, name);
  snprintf(path, sizeof path, "/%s", name);
  return w->visit(w->context, path, DM_NOT_FOLLOWED);
}

bool dm_each_dataset(int64_t file, const dm_trust *trust, dm_visit *visit, void *context) {
  walk w = {trust, visit, context};
  /* Follows only hard links: they neither leave the file nor form cycles. */
  const herr_t objects = H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, meet_object, &w);
  if (objects != 0) return objects > 0;
  return H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, meet_link, &w) >= 0;
}

/* ---- the only matrix ---- */

/* In order of preference: matrices of types that are multiplied; of other types, such as MATLAB's
 * texts; vectors, if requested; 2-D datasets of unsupported types; links into other files. */
typedef enum kind { MATRIX, WHOLE, VECTOR, UNREAD, LINK, KINDS } kind;

typedef struct search {
  const dm_trust *trust;
  int count[KINDS], lines, all; /* lines: datasets of one dimension, not requested */
  char name[KINDS][DM_PATH];    /* the first of each */
  char list[KINDS][300];        /* the first few */
} search;

/* KINDS: not a candidate. */
static kind kind_of(search *found, hid_t set) {
  if (set < 0) return set == DM_NOT_FOLLOWED ? LINK : KINDS;
  if (dm_examine_is_virtual(set))
    return UNREAD; /* if it is the only one, its inspection says why it is rejected */
  hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  const int rank = space < 0 ? 0 : H5Sget_simple_extent_ndims(space);
  char text[DM_TYPE_TEXT];
  dm_dtype dtype;
  bool swapped, flat = rank == 2 || (rank == 1 && found->trust->vectors != DM_NO_VECTOR);
  const bool readable =
      type >= 0 && dm_h5_read_type(type, dm_h5_is_bfloat16(set), &dtype, &swapped, text);
  found->lines += rank == 1 && !flat;
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  if (!flat || !readable) return flat ? UNREAD : KINDS;
  return rank == 1 ? VECTOR : dtype < DM_DTYPE_COUNT ? MATRIX : WHOLE;
}

static bool visit(void *context, const char *name, int64_t set) {
  search *found = context;
  const kind what = kind_of(found, set);
  found->all++;
  if (what == KINDS) return false;
  if (++found->count[what] == 1) snprintf(found->name[what], DM_PATH, "%s", name);
  char *list = found->list[what];
  const size_t used = strlen(list), room = sizeof found->list[what] - used;
  if (found->count[what] <= NAMED) snprintf(list + used, room, "%s%.60s", used ? ", " : "", name);
  return what == MATRIX && found->count[what] >= ENOUGH;
}

static dm_status none_found(const dm_location *at, const search *found) {
  if (found->count[LINK] > 0)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "holds no 2-D dataset, but links into other files"),
                   "--allow-external follows them");
  dm_status status = dm_fail_at(DM_E_INPUT, at, "holds no 2-D dataset");
  if (found->lines > 0)
    return dm_hint(
        status,
        "--as-column or --as-row takes a dataset of one dimension as a matrix; 'damier info "
        "FILE' lists all");
  return found->all > 0 ? dm_hint(status, "'damier info FILE' lists what it holds") : status;
}

static dm_status several_found(const dm_location *at, kind what, const search *found) {
  static const char *const names[] = {"matrices", "matrices of integers",
                                      "datasets of one dimension"};
  const int count = found->count[what];
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "holds %s%d %s: %s%s",
                            count >= ENOUGH ? "at least " : "", count, names[what],
                            found->list[what], count > NAMED ? ", ..." : ""),
                 "name one: FILE.h5:/path/to/dataset");
}

dm_status dm_find_dataset(int64_t file, const dm_trust *trust, dm_location *at) {
  search found = {.trust = trust};
  if (!dm_each_dataset(file, trust, visit, &found))
    return dm_h5_fail(DM_E_INPUT, at, "its datasets cannot be listed");
  kind what = MATRIX;
  while (what < LINK && found.count[what] == 0) what++;
  if (what == LINK) return none_found(at, &found);
  if (what != UNREAD && found.count[what] > 1) return several_found(at, what, &found);
  char clean[DM_PATH];
  snprintf(clean, sizeof clean, "%s", found.name[what]);
  if (!dm_io_clean(clean))
    return dm_fail_at(DM_E_INPUT, at, "the name of its dataset, '%.200s', is not printable", clean);
  snprintf(at->dataset, sizeof at->dataset, "%s", found.name[what]);
  return DM_OK;
}
