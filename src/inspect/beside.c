#include "inspect/beside.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"

enum { BESIDE_MEMBERS = 8 }; /* of an enumeration, that are looked at */

/* ---- names ---- */

/* Copies name I of NAMES to NAME; false: there are not so many. */
static bool beside_name_of(const char *names, int i, char name[DM_MARK_NAME]) {
  for (; i > 0 && names; i--) {
    names = strchr(names, '|');
    if (names) names++;
  }
  if (!names) return false;
  snprintf(name, DM_MARK_NAME, "%.*s", (int)strcspn(names, "|"), names);
  return true;
}

bool dm_beside_is_one_of(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = names; at; at = strchr(at, '|')) {
    at += *at == '|';
    if (strncmp(at, name, length) == 0 && (at[length] == '|' || at[length] == '\0')) return true;
  }
  return false;
}

void dm_beside_plain(const char *name, char plain[DM_MARK_TEXT]) {
  size_t used = 0;
  for (; *name && used + 1 < DM_MARK_TEXT; name++)
    if (isalnum((unsigned char)*name)) plain[used++] = (char)tolower((unsigned char)*name);
  plain[used] = '\0';
}

/* Whether PATTERN, up to a bar, is WORD. */
static bool beside_fits(const char *pattern, const char *word) {
  for (; *pattern != '*'; pattern++, word++) {
    const bool end = *pattern == '|' || *pattern == '\0';
    if (end) return *word == '\0';
    if (*pattern != *word) return false;
  }
  for (;; word++) {
    if (beside_fits(pattern + 1, word)) return true;
    if (*word == '\0') return false;
  }
}

bool dm_beside_is_like(const char *names, const char *plain) {
  for (const char *at = names; at; at = strchr(at, '|')) {
    at += *at == '|';
    if (beside_fits(at, plain)) return true;
  }
  return false;
}

const char *dm_beside_name(const dm_beside *b) {
  const char *slash = strrchr(b->level[0].path, '/');
  return slash ? slash + 1 : b->level[0].path;
}

/* ---- levels ---- */

/* Shortens PATH to that of the group around it; false: that was the root. */
static bool beside_go_up(char path[DM_PATH]) {
  char *end = strrchr(path, '/');
  if (!end || end[1] == '\0') return false;
  end[end == path] = '\0';
  return true;
}

static void beside_list_levels(dm_beside *b) {
  char path[DM_PATH];
  memcpy(path, b->level[0].path, sizeof path);
  while (beside_go_up(path)) {
    const bool full = b->levels == DM_LEVELS; /* the last place is that of the root */
    dm_beside_level *level = &b->level[b->levels - full];
    *level = (dm_beside_level){.object = -1};
    memcpy(level->path, path, sizeof path);
    b->levels += !full;
  }
}

static dm_status beside_count_attributes(const dm_beside *b, dm_beside_level *level) {
  int64_t count = 0;
  DM_TRY(dm_h5_count_attributes(b->at, level->object, &count));
  level->bare = count == 0;
  return DM_OK;
}

static dm_status beside_open_level(dm_beside *b, int i) {
  dm_beside_level *level = &b->level[i];
  dm_h5_exit leave;
  if (level->object >= 0) return DM_OK;
  DM_H5_HELD hid_t access = dm_h5_access(b->trust->external, &leave);
  level->object = access < 0 ? -1 : H5Oopen(b->file, level->path, access);
  if (level->object < 0) return dm_h5_fail(DM_E_IO, b->at, "'%s' cannot be opened", level->path);
  return beside_count_attributes(b, level);
}

dm_status dm_beside_start(const dm_trust *trust, const dm_location *at, int64_t file, int64_t set,
                          dm_beside *b) {
  b->trust = trust;
  b->at = at;
  b->file = file;
  b->own_file = false;
  b->levels = 1;
  b->level[0] = (dm_beside_level){.object = set};
  dm_beside_follow(b);
  beside_list_levels(b);
  return beside_count_attributes(b, &b->level[0]);
}

void dm_beside_end(dm_beside *b) {
  for (int i = 1; i < b->levels; i++) {
    const hid_t object = b->level[i].object;
    dm_h5_cleanup(&object);
  }
  const hid_t file = b->file;
  if (b->own_file) dm_h5_cleanup(&file);
  b->levels = 0;
}

/* ---- marks ---- */

void dm_sign_close(dm_sign *sign) {
  const hid_t object = sign->object;
  if (sign->own) dm_h5_cleanup(&object);
  *sign = (dm_sign){.object = -1};
}

/* Whether TEXT is as VALUE wants. */
static bool beside_says(const char *text, const char *value) {
  char one[DM_MARK_NAME];
  const bool negated = value[0] == '!';
  for (int i = 0; beside_name_of(value + negated, i, one); i++)
    if (one[0] == '*' ? strstr(text, one + 1) != NULL : strncmp(text, one, strlen(one)) == 0)
      return !negated;
  return negated;
}

/* Whether OBJECT has the attribute of SIGN, with VALUE unless that is NULL. */
static dm_status beside_attribute(const dm_beside *b, const char *value, hid_t object,
                                  dm_sign *sign) {
  bool is;
  DM_TRY(dm_h5_has_attribute(b->at, object, sign->name, &is));
  if (is && value) {
    DM_TRY(dm_h5_text_of(b->at, object, sign->name, sign->text, sizeof sign->text, &is));
    is = is && beside_says(sign->text, value);
  }
  sign->is = is;
  if (sign->is) sign->object = object;
  return DM_OK;
}

/* The attribute of SIGN on the levels FIRST to LAST, the nearest. */
static dm_status beside_on_levels(dm_beside *b, int first, int last, const char *value,
                                  dm_sign *sign) {
  for (int i = first; i <= last && i < b->levels && !sign->is; i++) {
    DM_TRY(beside_open_level(b, i));
    if (!b->level[i].bare) DM_TRY(beside_attribute(b, value, b->level[i].object, sign));
  }
  return DM_OK;
}

/* Opens the object NAME of GROUP if it is of KIND; *object is negative otherwise. */
static dm_status beside_member(const dm_beside *b, hid_t group, const char *name, H5I_type_t kind,
                               hid_t *object) {
  DM_TRY(dm_h5_open_member(b->at, group, name, b->trust->external, object));
  if (*object < 0 || H5Iget_type(*object) == kind) return DM_OK;
  dm_h5_cleanup(object);
  *object = -1;
  return DM_OK;
}

/* The attribute of SIGN in a group called MARK->object. */
static dm_status beside_in_groups(dm_beside *b, const dm_mark *mark, dm_sign *sign) {
  for (int i = 1; i < b->levels && !sign->is; i++) {
    hid_t group;
    DM_TRY(beside_open_level(b, i));
    if (H5Iget_type(b->level[i].object) != H5I_GROUP) return DM_OK;
    DM_TRY(beside_member(b, b->level[i].object, mark->object, H5I_GROUP, &group));
    if (group < 0) continue;
    dm_status status = beside_attribute(b, mark->value, group, sign);
    sign->own = sign->is;
    if (!sign->is) dm_h5_cleanup(&group);
    if (status) return status;
  }
  return DM_OK;
}

/* The dataset of SIGN beside this one. */
static dm_status beside_dataset(dm_beside *b, const char *value, dm_sign *sign) {
  const char *own = dm_beside_name(b);
  char rest[DM_MARK_NAME];
  hid_t object;
  memcpy(rest, sign->name, sizeof rest);
  if (rest[0] == '*')
    snprintf(sign->name, sizeof sign->name, "%.*s%.60s", DM_PATH - 1, own, rest + 1);
  if (b->levels < 2) return DM_OK;
  DM_TRY(beside_open_level(b, 1));
  if (H5Iget_type(b->level[1].object) != H5I_GROUP || strcmp(sign->name, own) == 0) return DM_OK;
  DM_TRY(beside_member(b, b->level[1].object, sign->name, H5I_DATASET, &object));
  sign->object = object;
  sign->own = object >= 0;
  if (object >= 0 && value) DM_TRY(dm_h5_text_in(b->at, object, sign->text, sizeof sign->text));
  sign->is = object >= 0 && (!value || beside_says(sign->text, value));
  return DM_OK;
}

/* Whether a group around the dataset is called as SIGN says. */
static bool beside_is_under(const dm_beside *b, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = b->level[0].path; (at = strchr(at, '/')) != NULL; at++)
    if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '/') return true;
  return false;
}

/* The value of the member NAME of the enumeration that the dataset's elements are. */
static dm_status beside_member_of_type(const dm_beside *b, const char *name, bool *is,
                                       dm_number *n) {
  long long whole = 0;
  *is = false;
  DM_H5_HELD hid_t type = H5Dget_type(b->level[0].object);
  if (type < 0) return dm_h5_fail(DM_E_IO, b->at, "its element type cannot be read");
  const int count = H5Tget_class(type) == H5T_ENUM ? H5Tget_nmembers(type) : 0;
  if (count < 0) return dm_h5_fail(DM_E_IO, b->at, "the members of its type cannot be read");
  for (unsigned i = 0; (int)i < count && i < BESIDE_MEMBERS && !*is; i++) {
    char *member = H5Tget_member_name(type, i);
    if (!member) return dm_h5_fail(DM_E_IO, b->at, "the members of its type cannot be read");
    *is = strcmp(member, name) == 0;
    H5free_memory(member);
    if (!*is) continue;
    DM_H5_HELD hid_t base = H5Tget_super(type);
    if (base < 0 || H5Tget_size(base) > sizeof whole || H5Tget_member_value(type, i, &whole) < 0 ||
        H5Tconvert(base, H5T_NATIVE_LLONG, 1, &whole, NULL, H5P_DEFAULT) < 0)
      return dm_h5_fail(DM_E_IO, b->at, "the member '%s' of its type cannot be read", name);
  }
  *n = (dm_number){.real = (double)whole, .integer = whole, .is_integer = true};
  return DM_OK;
}

static dm_status beside_find_one(dm_beside *b, const dm_mark *mark, dm_sign *sign) {
  const int last = DM_LEVELS - 1;
  switch (mark->place) {
  case DM_ON_DATASET:
    return beside_on_levels(b, 0, 0, mark->value, sign);
  case DM_ON_GROUP:
    return beside_on_levels(b, 1, 1, mark->value, sign);
  case DM_ON_ANCESTOR:
    return beside_on_levels(b, 1, last, mark->value, sign);
  case DM_ON_FILE:
    return b->levels > 1 ? beside_on_levels(b, b->levels - 1, last, mark->value, sign) : DM_OK;
  case DM_IN_GROUP:
    return beside_in_groups(b, mark, sign);
  case DM_BESIDE:
    return beside_dataset(b, mark->value, sign);
  case DM_UNDER:
    sign->is = beside_is_under(b, sign->name);
    return DM_OK;
  case DM_MEMBER:
    return beside_member_of_type(b, sign->name, &sign->is, &sign->member);
  case DM_ALWAYS:
    sign->is = true;
    return DM_OK;
  case DM_ON_DATASET_AS:
    break;
  }
  return DM_OK;
}

dm_status dm_beside_find(dm_beside *b, const dm_mark *mark, int only, dm_sign *sign) {
  *sign = (dm_sign){.object = -1};
  if (mark->place == DM_ALWAYS) return beside_find_one(b, mark, sign);
  for (int i = only < 0 ? 0 : only; beside_name_of(mark->names, i, sign->name); i++) {
    sign->which = i;
    dm_status status = beside_find_one(b, mark, sign);
    if (sign->is && !status) break;
    dm_sign_close(sign);
    if (status || i == only) return status;
  }
  return DM_OK;
}
