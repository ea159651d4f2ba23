#include "inspect/contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/hdf5_compound.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"

/* ---- objects with several names ---- */

typedef struct addresses {
  haddr_t *slots; /* HADDR_UNDEF: free */
  size_t room, count;
} addresses;

static bool contents_place_in(haddr_t *slots, size_t room, haddr_t address) {
  size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
  while (slots[at] != HADDR_UNDEF && slots[at] != address) at = (at + 1) & (room - 1);
  const bool new = slots[at] == HADDR_UNDEF;
  slots[at] = address;
  return new;
}

static bool contents_grow(addresses *set) {
  const size_t room = set->room ? 2 * set->room : 64;
  haddr_t *slots = malloc(room * sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < room; i++) slots[i] = HADDR_UNDEF;
  for (size_t i = 0; i < set->room; i++)
    if (set->slots[i] != HADDR_UNDEF) contents_place_in(slots, room, set->slots[i]);
  free(set->slots);
  set->slots = slots;
  set->room = room;
  return true;
}

/* False: ADDRESS was there already, or there is no memory. */
static bool add_address(addresses *set, haddr_t address) {
  if (2 * set->count >= set->room && !contents_grow(set)) return false;
  const bool new = contents_place_in(set->slots, set->room, address);
  set->count += new;
  return new;
}

/* ---- the walk ---- */

typedef struct contents_walk {
  const dm_location *at;
  const dm_trust *trust;
  dm_visit *visit;
  void *context;
  char path[DM_PATH];
  size_t length;
  const dm_encoding *table; /* that the current group belongs to */
  addresses several;        /* objects with several names that were met */
  bool stopped;
} contents_walk;

static bool meet(contents_walk *w, int64_t object, const dm_encoding *encoding) {
  const dm_met met = {w->path, object, encoding, NULL};
  w->stopped = w->visit(w->context, &met);
  return w->stopped;
}

/* What the open OBJECT is, if it is a group; a group of which HDF5 cannot say that is met, too. */
static const dm_encoding *encoding_of(contents_walk *w, hid_t object) {
  dm_location at = *w->at;
  const dm_encoding *encoding = NULL;
  memcpy(at.dataset, w->path, sizeof at.dataset);
  if (H5Iget_type(object) != H5I_GROUP) return NULL;
  dm_status status = dm_encoding_of(&at, object, &encoding);
  if (!status) return encoding;
  const dm_met met = {w->path, DM_UNOPENED, NULL, status};
  w->stopped = w->visit(w->context, &met);
  dm_status_free(status);
  return NULL;
}

/* Groups that hold the parts of others: those of damier 0.3.0 and before, of MATLAB's cells,
 * PyTables' indices. */
static bool is_hidden(const char *name) {
  return strcmp(name, ".damier") == 0 || strcmp(name, "#refs#") == 0 ||
         strcmp(name, "#subsystem#") == 0 || strncmp(name, "_i_", 3) == 0;
}

static herr_t meet_member(hid_t group, const char *name, const H5L_info_t *info, void *data);

static void walk_group(contents_walk *w, hid_t group) {
  const dm_encoding *before = w->table;
  if (w->length == 0) strcpy(w->path, "/");
  const dm_encoding *encoding = encoding_of(w, group);
  if (w->stopped) return;
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
static void meet_object(contents_walk *w, hid_t group, const char *name) {
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
  DM_H5_HELD const hid_t id = known < 0 ? -1 : H5Oopen(group, name, H5P_DEFAULT);
  if (id < 0)
    meet(w, DM_UNOPENED, NULL);
  else if (object.type == H5O_TYPE_GROUP)
    walk_group(w, id);
  else
    meet(w, id, w->table);
}

/* Whether NAME is a soft link to another link of this file: that is met itself. */
static bool is_alias(hid_t group, const char *name, const H5L_info_t *info) {
  char target[DM_PATH] = "";
  dm_h5_exit leave;
  if (info->type != H5L_TYPE_SOFT || info->u.val_size >= sizeof target ||
      H5Lget_val(group, name, target, sizeof target, H5P_DEFAULT) < 0)
    return false; /* it is met, and its target cannot be opened */
  bool exists = false;
  const dm_location at = {.file = ""};
  DM_H5_HELD const hid_t inside = dm_h5_access(false, &leave);
  if (inside >= 0) dm_status_free(dm_h5_has_link(&at, group, target, inside, &exists));
  return exists;
}

/* A link that is no hard one. */
static void meet_link(contents_walk *w, hid_t group, const char *name) {
  dm_h5_exit leave;
  DM_H5_HELD const hid_t access = dm_h5_access(w->trust->external, &leave);
  if (access < 0) return;
  DM_H5_HELD const hid_t id = H5Oopen(group, name, access);
  if (id < 0)
    meet(w, leave.met ? DM_NOT_FOLLOWED : DM_UNOPENED, NULL);
  else
    meet(w, id, encoding_of(w, id));
}

static herr_t meet_member(hid_t group, const char *name, const H5L_info_t *info, void *data) {
  contents_walk *w = data;
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

bool dm_each_dataset(const dm_location *at, hid_t file, const dm_trust *trust, dm_visit *visit,
                     void *context) {
  contents_walk w = {.at = at, .trust = trust, .visit = visit, .context = context};
  DM_H5_HELD hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
  if (root < 0) return false;
  H5O_info_t object;
  if (H5Oget_info(root, &object) >= 0) add_address(&w.several, object.addr);
  walk_group(&w, root);
  free(w.several.slots);
  return true;
}

/* ---- descriptions ---- */

bool dm_is_virtual(hid_t set) {
  DM_H5_HELD hid_t creation = H5Dget_create_plist(set);
  return creation < 0 || H5Pget_layout(creation) == H5D_VIRTUAL;
}

/* The space of a virtual dataset as its first mapping states it. */
static hid_t virtual_space(hid_t set) {
  DM_H5_HELD hid_t creation = H5Dget_create_plist(set);
  size_t mappings = 0;
  return creation >= 0 && H5Pget_virtual_count(creation, &mappings) >= 0 && mappings > 0
             ? H5Pget_virtual_vspace(creation, 0)
             : -1;
}

int dm_rank_of(hid_t set, hsize_t dims[H5S_MAX_RANK]) {
  DM_H5_HELD hid_t space = dm_is_virtual(set) ? virtual_space(set) : H5Dget_space(set);
  return space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
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
  DM_H5_HELD hid_t type = is_dataset(met) ? H5Dget_type(met->object) : -1;
  if (type < 0) return;
  const dm_location at = {.file = ""};
  bool bfloat16;
  dm_status status = dm_h5_is_bfloat16(&at, met->object, type, &bfloat16);
  const bool known = !status && dm_h5_read_type(type, bfloat16, &dtype, &swapped, words);
  if (!status) snprintf(text, size, "%s", known ? dm_dtype_name(dtype) : words);
  hsize_t dims[H5S_MAX_RANK];
  const H5T_class_t kind = H5Tget_class(type);
  if (!status && !known && (kind == H5T_COMPOUND || kind == H5T_ARRAY))
    dm_h5_describe_compound(type, dm_rank_of(met->object, dims), text, size);
  dm_status_free(status);
}

/* ---- matrices and tables in several datasets ---- */

enum { CONTENTS_MEMBERS = 4, CONTENTS_WORDS = 64 };

/* A way to recognise an encoding: by an attribute of the group (with one of several TEXTs, unless
 * NULL), or by its members. */
typedef struct sign {
  dm_encoding encoding;
  const char *attribute, *texts; /* "|csr_matrix|csc_matrix|" */
  const char *members[CONTENTS_MEMBERS];
} sign;

static const char scipy[] =
    "in Python: file['name'] = scipy.sparse.csr_matrix((g['data'], g['indices'], g['indptr']), "
    "shape).toarray() with h5py; csc_matrix, if it is stored by columns";
static const char anndata[] =
    "in Python: numpy.save('NAME.npy', anndata.read_h5ad(FILE).X.toarray()), or the layer meant";
static const char pandas[] =
    "'FILE:/NAME/table.values_block_0' takes numbers of its format 'table'; or in "
    "Python: h5py's file['name'] = pandas.read_hdf(FILE).to_numpy()";
static const char contents_matlab[] = "in MATLAB: X = full(X), then save(NAME, 'X', '-v7.3')";
static const char coo[] =
    "in Python: file['name'] = scipy.sparse.coo_matrix((g['data'], (g['row'], g['col'])), "
    "shape).toarray() with h5py";
static const char sparse[] =
    "in Python: h5py's file['name'] = x.todense(), with x of the package sparse";
static const char cooler[] =
    "in Python: h5py's file['name'] = cooler.Cooler(FILE).matrix(balance=False)[:]";
static const char constant[] =
    "in Python: h5py's file['name'] = numpy.full(g.attrs['shape'], g.attrs['value'])";
static const char contents_octave[] = "in Octave: X = full(X), then save -hdf5 NAME.h5 X";

/* The first that fits counts. */
/* clang-format off */
#define ATTRIBUTE(table, what, hint, name, texts) {{table, what, hint}, name, texts, {NULL}}
#define CONTENTS_MATRIX(what, hint, ...) {{false, what, hint}, NULL, NULL, {__VA_ARGS__}}
static const sign signs[] = {
    ATTRIBUTE(false, "a sparse matrix of anndata", anndata, "encoding-type", "|csr_matrix|csc_matrix|"),
    ATTRIBUTE(true, "a table of anndata", "in Python: h5py's file['name'] = the frame.to_numpy()", "encoding-type",
              "|dataframe|categorical|nullable-integer|nullable-boolean|string-array|"),
    ATTRIBUTE(false, "a sparse matrix", scipy, "h5sparse_format", NULL),
    ATTRIBUTE(false, "a sparse matrix of MATLAB", contents_matlab, "MATLAB_sparse", NULL),
    ATTRIBUTE(true, "a table of pandas", pandas, "pandas_type", NULL),
    ATTRIBUTE(true, "one number for all elements (a constant component of openPMD)", constant, "unitSI", NULL),
    CONTENTS_MATRIX("a sparse matrix (data, indices, indptr)", scipy, "data", "indices", "indptr"),
    CONTENTS_MATRIX("a sparse matrix of Octave", contents_octave, "data", "ridx", "cidx"),
    CONTENTS_MATRIX("a sparse matrix (data, ir, jc)", contents_matlab, "data", "ir", "jc"),
    CONTENTS_MATRIX("a sparse matrix (row, col, data)", coo, "data", "row", "col"),
    CONTENTS_MATRIX("a sparse matrix (coords, data)", sparse, "data", "coords", "shape"),
    CONTENTS_MATRIX("a sparse matrix of cooler", cooler, "bin1_id", "bin2_id", "count"),
};
/* clang-format on */

static const dm_encoding octave_special = {
    false, "a matrix of Octave that is not stored element by element", contents_octave};

static bool has_text(const char *texts, const char *word) {
  char wanted[CONTENTS_WORDS + 2];
  snprintf(wanted, sizeof wanted, "|%s|", word);
  return strstr(texts, wanted) != NULL;
}

/* *set is the open dataset NAME of GROUP; negative: there is none. */
static dm_status open_set(const dm_location *at, hid_t group, const char *name, hid_t *set) {
  DM_TRY(dm_h5_open_member(at, group, name, false, set));
  if (*set < 0 || H5Iget_type(*set) == H5I_DATASET) return DM_OK;
  H5Oclose(*set);
  *set = -1;
  return DM_OK;
}

/* Whether the member NAME is a matrix: then the others describe its rows and columns. */
static dm_status is_matrix(const dm_location *at, hid_t group, const char *name, bool *is) {
  DM_H5_HELD hid_t set = -1;
  DM_TRY(open_set(at, group, name, &set));
  *is = false;
  if (set < 0) return DM_OK;
  DM_H5_HELD const hid_t space = H5Dget_space(set);
  const int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
  *is = rank == 2;
  return rank < 0 ? dm_h5_fail(DM_E_IO, at, "'%.80s': its shape cannot be read", name) : DM_OK;
}

static dm_status has_members(const dm_location *at, hid_t group,
                             const char *const members[CONTENTS_MEMBERS], bool *has) {
  bool matrix;
  *has = true;
  for (int i = 0; i < CONTENTS_MEMBERS && members[i] && *has; i++)
    DM_TRY(dm_h5_has_link(at, group, members[i], H5P_DEFAULT, has));
  if (!*has) return DM_OK;
  DM_TRY(is_matrix(at, group, members[0], &matrix));
  *has = !matrix;
  return DM_OK;
}

static dm_status contents_fits(const dm_location *at, hid_t group, const sign *s, bool *fit) {
  char text[CONTENTS_WORDS] = "";
  if (!s->attribute) return has_members(at, group, s->members, fit);
  DM_TRY(dm_h5_has_attribute(at, group, s->attribute, fit));
  if (!*fit || !s->texts) return DM_OK;
  DM_TRY(dm_h5_text_of(at, group, s->attribute, text, sizeof text, fit));
  *fit = *fit && has_text(s->texts, text);
  return DM_OK;
}

/* Octave writes each variable as a group with its type and value. */
static dm_status is_octave_special(const dm_location *at, hid_t group, bool *is) {
  char text[CONTENTS_WORDS] = "";
  DM_TRY(dm_h5_has_link(at, group, "value", H5P_DEFAULT, is));
  if (!*is) return DM_OK;
  DM_TRY(dm_h5_member_text(at, group, "type", text, sizeof text));
  *is = strstr(text, "sparse") || strstr(text, "diagonal matrix") ||
        strstr(text, "permutation matrix");
  return DM_OK;
}

dm_status dm_encoding_of(const dm_location *at, hid_t group, const dm_encoding **encoding) {
  bool is = false;
  *encoding = NULL;
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
    DM_TRY(contents_fits(at, group, &signs[i], &is));
    if (is) *encoding = &signs[i].encoding;
    if (is) return DM_OK;
  }
  DM_TRY(is_octave_special(at, group, &is));
  if (is) *encoding = &octave_special;
  return DM_OK;
}

/* ---- shape and type, as far as they are known ---- */

/* COUNT numbers in the member NAME. */
static bool read_member(hid_t group, const char *name, int count, long long *numbers) {
  const dm_location at = {.file = ""};
  DM_H5_HELD hid_t set = -1;
  dm_status_free(open_set(&at, group, name, &set));
  DM_H5_HELD hid_t space = set < 0 ? -1 : H5Dget_space(set);
  return space >= 0 && H5Sget_simple_extent_npoints(space) == count &&
         H5Dread(set, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0;
}

/* Two sizes in the attribute NAME, or else in the member. */
static bool read_sizes(hid_t group, const char *name, long long sizes[2]) {
  const dm_location at = {.file = ""};
  DM_H5_HELD hid_t id = -1;
  dm_status_free(dm_h5_open_attribute(&at, group, name, &id));
  DM_H5_HELD hid_t space = id < 0 ? -1 : H5Aget_space(id);
  const bool read = id < 0 ? read_member(group, name, 2, sizes)
                           : space >= 0 && H5Sget_simple_extent_npoints(space) == 2 &&
                                 H5Aread(id, H5T_NATIVE_LLONG, sizes) >= 0;
  return read && sizes[0] >= 0 && sizes[1] >= 0;
}

/* The elements of the member NAME; 0: there is none. */
static long long length_of(hid_t group, const char *name) {
  const dm_location at = {.file = ""};
  DM_H5_HELD hid_t set = -1;
  dm_status_free(open_set(&at, group, name, &set));
  DM_H5_HELD hid_t space = set < 0 ? -1 : H5Dget_space(set);
  return space < 0 ? 0 : (long long)H5Sget_simple_extent_npoints(space);
}

static bool octave_shape(hid_t group, long long shape[2]) {
  const dm_location at = {.file = ""};
  DM_H5_HELD hid_t value = -1;
  dm_status_free(dm_h5_open_member(&at, group, "value", false, &value));
  const hid_t of = value >= 0 && H5Iget_type(value) == H5I_GROUP ? value : group;
  return read_member(of, "nr", 1, &shape[0]) && read_member(of, "nc", 1, &shape[1]) &&
         shape[0] >= 0 && shape[1] >= 0;
}

/* MATLAB stores the number of rows, and where each column begins and the last one ends. */
static bool matlab_shape(hid_t group, long long shape[2]) {
  const dm_location at = {.file = ""};
  char rows[32] = "";
  bool is_text;
  dm_status_free(dm_h5_text_of(&at, group, "MATLAB_sparse", rows, sizeof rows, &is_text));
  if (!is_text) return false;
  shape[0] = atoll(rows);
  shape[1] = length_of(group, "jc") - 1;
  return shape[0] >= 0 && shape[1] >= 0;
}

void dm_encoding_describe(hid_t group, char *text, size_t size) {
  long long shape[2];
  text[0] = '\0';
  if (read_sizes(group, "shape", shape) || read_sizes(group, "h5sparse_shape", shape) ||
      matlab_shape(group, shape) || octave_shape(group, shape))
    snprintf(text, size, "%lld x %lld", shape[0], shape[1]);
}
