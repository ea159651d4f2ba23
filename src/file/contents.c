#include "file/contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/hdf5_attribute.h"
#include "file/hdf5_type.h"
#include "file/hdf5_use.h"

/* ---- objects with several names ---- */

typedef struct addresses {
  haddr_t *slots; /* HADDR_UNDEF: free */
  size_t room, count;
} addresses;

static bool place_in(haddr_t *slots, size_t room, haddr_t address) {
  size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
  while (slots[at] != HADDR_UNDEF && slots[at] != address) at = (at + 1) & (room - 1);
  const bool new = slots[at] == HADDR_UNDEF;
  slots[at] = address;
  return new;
}

static bool grow(addresses *set) {
  const size_t room = set->room ? 2 * set->room : 64;
  haddr_t *slots = malloc(room * sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < room; i++) slots[i] = HADDR_UNDEF;
  for (size_t i = 0; i < set->room; i++)
    if (set->slots[i] != HADDR_UNDEF) place_in(slots, room, set->slots[i]);
  free(set->slots);
  set->slots = slots;
  set->room = room;
  return true;
}

/* False: ADDRESS was there already, or there is no memory. */
static bool add_address(addresses *set, haddr_t address) {
  if (2 * set->count >= set->room && !grow(set)) return false;
  const bool new = place_in(set->slots, set->room, address);
  set->count += new;
  return new;
}

/* ---- the walk ---- */

typedef struct walk {
  const dm_trust *trust;
  dm_visit *visit;
  void *context;
  char path[DM_PATH];
  size_t length;
  const dm_encoding *table; /* that the current group belongs to */
  addresses several;        /* objects with several names that were met */
  bool stopped;
} walk;

static bool meet(walk *w, int64_t object, const dm_encoding *encoding) {
  const dm_met met = {w->path, object, encoding};
  w->stopped = w->visit(w->context, &met);
  return w->stopped;
}

/* Groups that hold the parts of others: damier's own, those of MATLAB's cells, PyTables' indices.
 */
static bool is_hidden(const char *name) {
  return strcmp(name, ".damier") == 0 || strcmp(name, "#refs#") == 0 ||
         strcmp(name, "#subsystem#") == 0 || strncmp(name, "_i_", 3) == 0;
}

static herr_t meet_member(hid_t group, const char *name, const H5L_info_t *info, void *data);

static void walk_group(walk *w, hid_t group) {
  const dm_encoding *encoding = dm_encoding_of(group), *before = w->table;
  if (w->length == 0) strcpy(w->path, "/");
  if (encoding && !encoding->table) {
    meet(w, group, encoding);
    return;
  }
  if (encoding) w->table = encoding;
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, meet_member, w) < 0 && !w->stopped)
    meet(w, DM_UNOPENED, NULL);
  w->table = before;
}

/* An object of this file. */
static void meet_object(walk *w, hid_t group, const char *name) {
  H5O_info_t object;
#if H5_VERSION_GE(1, 10, 3)
  /* Not the parts that fail if one message of the object cannot be decoded. */
  const herr_t known = H5Oget_info_by_name2(group, name, &object, H5O_INFO_BASIC, H5P_DEFAULT);
#else
  const herr_t known = H5Oget_info_by_name(group, name, &object, H5P_DEFAULT);
#endif
  if (known >= 0 && object.type == H5O_TYPE_GROUP && is_hidden(name)) return;
  if (known >= 0 && object.type != H5O_TYPE_GROUP && object.type != H5O_TYPE_DATASET) return;
  if (known >= 0 && object.rc > 1 && !add_address(&w->several, object.addr)) return;
  const hid_t id = known < 0 ? -1 : H5Oopen(group, name, H5P_DEFAULT);
  if (id < 0)
    meet(w, DM_UNOPENED, NULL);
  else if (object.type == H5O_TYPE_GROUP)
    walk_group(w, id);
  else
    meet(w, id, w->table);
  if (id >= 0) H5Oclose(id);
}

/* Whether NAME is a soft link to another link of this file: that is met itself. */
static bool is_alias(hid_t group, const char *name, const H5L_info_t *info) {
  char target[DM_PATH] = "";
  dm_h5_exit leave;
  if (info->type != H5L_TYPE_SOFT || info->u.val_size >= sizeof target ||
      H5Lget_val(group, name, target, sizeof target, H5P_DEFAULT) < 0)
    return false;
  const hid_t inside = dm_h5_access(false, &leave);
  const bool yes = inside >= 0 && H5Lexists(group, target, inside) > 0;
  if (inside >= 0) H5Pclose(inside);
  return yes;
}

/* A link that is no hard one. */
static void meet_link(walk *w, hid_t group, const char *name) {
  dm_h5_exit leave;
  const hid_t access = dm_h5_access(w->trust->external, &leave);
  if (access < 0) return;
  const hid_t id = H5Oopen(group, name, access);
  if (id < 0)
    meet(w, leave.met ? DM_NOT_FOLLOWED : DM_UNOPENED, NULL);
  else
    meet(w, id, H5Iget_type(id) == H5I_GROUP ? dm_encoding_of(id) : NULL);
  if (id >= 0) H5Oclose(id);
  H5Pclose(access);
}

static herr_t meet_member(hid_t group, const char *name, const H5L_info_t *info, void *data) {
  walk *w = data;
  const size_t before = w->length, length = strlen(name);
  const bool fits = before + length + 1 < sizeof w->path;
  snprintf(w->path + before, sizeof w->path - before, "/%s", name);
  w->length = fits ? before + length + 1 : sizeof w->path - 1;
  if (!fits)
    meet(w, DM_TOO_LONG, NULL);
  else if (info->type == H5L_TYPE_HARD)
    meet_object(w, group, name);
  else if (!is_alias(group, name, info))
    meet_link(w, group, name);
  w->length = before;
  strcpy(w->path + before, before ? "" : "/");
  return w->stopped;
}

bool dm_each_dataset(hid_t file, const dm_trust *trust, dm_visit *visit, void *context) {
  walk w = {.trust = trust, .visit = visit, .context = context};
  hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
  if (root < 0) return false;
  H5O_info_t object;
  if (H5Oget_info(root, &object) >= 0) add_address(&w.several, object.addr);
  walk_group(&w, root);
  H5Gclose(root);
  free(w.several.slots);
  return true;
}

/* ---- descriptions ---- */

bool dm_is_virtual(hid_t set) {
  hid_t creation = H5Dget_create_plist(set);
  bool yes = creation < 0 || H5Pget_layout(creation) == H5D_VIRTUAL;
  if (creation >= 0) H5Pclose(creation);
  return yes;
}

/* The space of a virtual dataset as its first mapping states it. */
static hid_t virtual_space(hid_t set) {
  hid_t creation = H5Dget_create_plist(set), space = -1;
  size_t mappings = 0;
  if (creation >= 0 && H5Pget_virtual_count(creation, &mappings) >= 0 && mappings > 0)
    space = H5Pget_virtual_vspace(creation, 0);
  if (creation >= 0) H5Pclose(creation);
  return space;
}

int dm_rank_of(hid_t set, hsize_t dims[H5S_MAX_RANK]) {
  hid_t space = dm_is_virtual(set) ? virtual_space(set) : H5Dget_space(set);
  if (space < 0) return -1;
  const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
  H5Sclose(space);
  return rank;
}

static bool is_dataset(const dm_met *met) {
  return met->object >= 0 && H5Iget_type(met->object) == H5I_DATASET;
}

void dm_describe_shape(const dm_met *met, char *text, size_t size) {
  text[0] = '\0';
  if (met->object >= 0 && met->encoding && !is_dataset(met))
    dm_encoding_describe(met->object, text, size);
  if (!is_dataset(met)) return;
  hsize_t dims[H5S_MAX_RANK];
  const int rank = dm_rank_of(met->object, dims);
  size_t used = 0;
  if (rank == 0) snprintf(text, size, "single value");
  for (int i = 0; i < rank && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? " x " : "",
                             (unsigned long long)dims[i]);
}

void dm_describe_type(const dm_met *met, char *text, size_t size) {
  char words[DM_TYPE_TEXT] = "";
  dm_dtype dtype;
  bool swapped;
  text[0] = '\0';
  if (met->object >= 0 && !is_dataset(met))
    snprintf(text, size, "%s", met->encoding ? "sparse" : "group");
  else if (met->object < 0)
    snprintf(text, size, "%s",
             met->object == DM_NOT_FOLLOWED ? "link into another file" : "cannot be opened");
  hid_t type = is_dataset(met) ? H5Dget_type(met->object) : -1;
  if (type < 0) return;
  const bool known = dm_h5_read_type(type, dm_h5_is_bfloat16(met->object), &dtype, &swapped, words);
  snprintf(text, size, "%s", known ? dm_dtype_name(dtype) : words);
  H5Tclose(type);
}
