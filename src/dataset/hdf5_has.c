#include "dataset/hdf5_has.h"

#include <stdio.h>
#include <string.h>

#include "dataset/hdf5_use.h"

enum { HAS_TEXT = 200 };

/* "its attributes", or "the attributes of '/g'" if OBJECT is not the dataset AT. Keeps HDF5's error
 * stack. */
static const char *has_whose(const dm_location *at, hid_t object, const char *what,
                             char text[HAS_TEXT]) {
  char name[DM_PATH] = "";
  const hid_t errors = H5Eget_current_stack();
  const ssize_t length = H5Iget_name(object, name, sizeof name);
  if (errors >= 0) (void)H5Eset_current_stack(errors);
  dm_text_clean(name);
  if (length <= 0 || strcmp(name, at->dataset) == 0)
    snprintf(text, HAS_TEXT, "its %s", what);
  else
    snprintf(text, HAS_TEXT, "the %s of '%.100s'", what, name);
  return text;
}

static dm_status has_failed(const dm_location *at, hid_t object, const char *kind,
                            const char *name) {
  char text[HAS_TEXT];
  return dm_h5_fail(DM_E_IO, at, "%s cannot be read, in search of '%.80s'",
                    has_whose(at, object, kind, text), name);
}

dm_status dm_h5_unreadable(const dm_location *at, hid_t object, const char *name) {
  char what[HAS_TEXT], text[HAS_TEXT];
  snprintf(what, sizeof what, "attribute '%.60s'", name);
  return dm_h5_fail(DM_E_IO, at, "%s cannot be read", has_whose(at, object, what, text));
}

dm_status dm_h5_has_attribute(const dm_location *at, hid_t object, const char *name, bool *has) {
  const htri_t found = H5Aexists(object, name);
  *has = found > 0;
  return found < 0 ? has_failed(at, object, "attributes", name) : DM_OK;
}

dm_status dm_h5_has_link(const dm_location *at, hid_t group, const char *name, hid_t access,
                         bool *has) {
  const htri_t found = H5Lexists(group, name, access);
  *has = found > 0;
  return found < 0 ? has_failed(at, group, "links", name) : DM_OK;
}

dm_status dm_h5_open_attribute(const dm_location *at, hid_t object, const char *name,
                               hid_t *attribute) {
  bool has;
  *attribute = -1;
  DM_TRY(dm_h5_has_attribute(at, object, name, &has));
  if (!has) return DM_OK;
  *attribute = H5Aopen(object, name, H5P_DEFAULT);
  return *attribute < 0 ? dm_h5_unreadable(at, object, name) : DM_OK;
}

dm_status dm_h5_open_member(const dm_location *at, hid_t group, const char *name, bool elsewhere,
                            hid_t *member) {
  bool has;
  dm_h5_exit leave;
  char what[HAS_TEXT], text[HAS_TEXT];
  *member = -1;
  DM_TRY(dm_h5_has_link(at, group, name, H5P_DEFAULT, &has));
  if (!has) return DM_OK;
  DM_H5_HELD const hid_t access = dm_h5_access(elsewhere, &leave);
  const htri_t leads = access < 0 ? -1 : H5Oexists_by_name(group, name, access);
  if (leave.met)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "refused: '%.80s' beside it lies in another file", name),
        "--allow-external follows links into other files; --raw takes the stored numbers");
  if (leads == 0) return DM_OK; /* a soft link that leads nowhere */
  *member = leads < 0 ? -1 : H5Oopen(group, name, access);
  snprintf(what, sizeof what, "member '%.60s'", name);
  return *member < 0
             ? dm_h5_fail(DM_E_IO, at, "%s cannot be opened", has_whose(at, group, what, text))
             : DM_OK;
}

dm_status dm_h5_count_attributes(const dm_location *at, hid_t object, int64_t *count) {
  H5O_info_t info;
  char text[HAS_TEXT];
#if H5_VERSION_GE(1, 10, 3)
  /* Not the sizes of its metadata, for which HDF5 reads its layout again. */
  const herr_t known = H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS);
#else
  const herr_t known = H5Oget_info(object, &info);
#endif
  if (known < 0)
    return dm_h5_fail(DM_E_IO, at, "%s cannot be counted",
                      has_whose(at, object, "attributes", text));
  *count = (int64_t)info.num_attrs;
  return DM_OK;
}

typedef struct visiting {
  dm_h5_visit *visit;
  void *context;
  dm_status status;
} visiting;

/* An H5A_operator2_t. */
static herr_t has_met(hid_t object, const char *name, const H5A_info_t *info, void *data) {
  visiting *v = data;
  (void)info;
  v->status = v->visit(v->context, object, name);
  return v->status != DM_OK;
}

dm_status dm_h5_each_attribute(const dm_location *at, hid_t object, dm_h5_visit *visit,
                               void *context) {
  visiting v = {.visit = visit, .context = context};
  char text[HAS_TEXT];
  const herr_t all = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, has_met, &v);
  if (all >= 0 || v.status) return v.status;
  return dm_h5_fail(DM_E_IO, at, "%s cannot be listed", has_whose(at, object, "attributes", text));
}
