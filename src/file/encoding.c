#include "file/encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/hdf5_attribute.h"
#include "file/hdf5_type.h"

enum { MEMBERS = 4, WORDS = 64 };

/* A way to recognise an encoding: by an attribute of the group (with one of several TEXTs, unless
 * NULL), or by its members. */
typedef struct sign {
  dm_encoding encoding;
  const char *attribute, *texts; /* "|csr_matrix|csc_matrix|" */
  const char *members[MEMBERS];
} sign;

static const char scipy[] =
    "in Python: file['name'] = scipy.sparse.csr_matrix((g['data'], g['indices'], g['indptr']), "
    "shape).toarray() with h5py; csc_matrix, if it is stored by columns";
static const char anndata[] =
    "in Python: numpy.save('NAME.npy', anndata.read_h5ad(FILE).X.toarray()), or the layer meant";
static const char pandas[] = "in Python: h5py's file['name'] = pandas.read_hdf(FILE).to_numpy()";
static const char matlab[] = "in MATLAB: X = full(X), then save(NAME, 'X', '-v7.3')";
static const char octave[] = "in Octave: X = full(X), then save -hdf5 NAME.h5 X";

/* The first that fits counts. */
static const sign signs[] = {
    {{false, "a sparse matrix of anndata", anndata},
     "encoding-type",
     "|csr_matrix|csc_matrix|",
     {NULL}},
    {{true, "a table of anndata", "in Python: h5py's file['name'] = the frame.to_numpy()"},
     "encoding-type",
     "|dataframe|categorical|nullable-integer|nullable-boolean|string-array|",
     {NULL}},
    {{false, "a sparse matrix", scipy}, "h5sparse_format", NULL, {NULL}},
    {{false, "a sparse matrix of MATLAB", matlab}, "MATLAB_sparse", NULL, {NULL}},
    {{true, "a table of pandas", pandas}, "pandas_type", NULL, {NULL}},
    {{false, "a sparse matrix (data, indices, indptr)", scipy},
     NULL,
     NULL,
     {"data", "indices", "indptr"}},
    {{false, "a sparse matrix of Octave", octave}, NULL, NULL, {"data", "ridx", "cidx"}},
    {{false, "a sparse matrix (data, ir, jc)", matlab}, NULL, NULL, {"data", "ir", "jc"}},
    {{false, "a sparse matrix (row, col, data)",
      "in Python: file['name'] = scipy.sparse.coo_matrix((g['data'], (g['row'], g['col'])), "
      "shape).toarray() with h5py"},
     NULL,
     NULL,
     {"data", "row", "col"}},
    {{false, "a sparse matrix (coords, data)",
      "in Python: h5py's file['name'] = x.todense(), with x of the package sparse"},
     NULL,
     NULL,
     {"data", "coords", "shape"}},
    {{false, "a sparse matrix of cooler",
      "in Python: h5py's file['name'] = cooler.Cooler(FILE).matrix(balance=False)[:]"},
     NULL,
     NULL,
     {"bin1_id", "bin2_id", "count"}},
};

static const dm_encoding octave_special = {
    false, "a matrix of Octave that is not stored element by element", octave};

static bool has_text(const char *texts, const char *word) {
  char wanted[WORDS + 2];
  snprintf(wanted, sizeof wanted, "|%s|", word);
  return strstr(texts, wanted) != NULL;
}

/* Whether the member NAME is a matrix: then the others describe its rows and columns. */
static bool is_matrix(hid_t group, const char *name) {
  hid_t set = H5Dopen2(group, name, H5P_DEFAULT), space = set < 0 ? -1 : H5Dget_space(set);
  const bool yes = space >= 0 && H5Sget_simple_extent_ndims(space) == 2;
  if (space >= 0) H5Sclose(space);
  if (set >= 0) H5Dclose(set);
  return yes;
}

static bool has_members(hid_t group, const char *const members[MEMBERS]) {
  for (int i = 0; i < MEMBERS && members[i]; i++)
    if (H5Lexists(group, members[i], H5P_DEFAULT) <= 0) return false;
  return !is_matrix(group, members[0]);
}

static bool fits(hid_t group, const sign *s) {
  char text[WORDS] = "";
  if (!s->attribute) return has_members(group, s->members);
  if (H5Aexists(group, s->attribute) <= 0) return false;
  return !s->texts ||
         (dm_h5_text_of(group, s->attribute, text, sizeof text) && has_text(s->texts, text));
}

/* Octave writes each variable as a group with its type and value. */
static bool is_octave_special(hid_t group) {
  char text[WORDS] = "";
  if (H5Lexists(group, "type", H5P_DEFAULT) <= 0 || H5Lexists(group, "value", H5P_DEFAULT) <= 0)
    return false;
  hid_t set = H5Dopen2(group, "type", H5P_DEFAULT), kind = set < 0 ? -1 : H5Dget_type(set);
  hid_t space = set < 0 ? -1 : H5Dget_space(set);
  if (kind >= 0 && space >= 0 && H5Tget_class(kind) == H5T_STRING &&
      H5Tis_variable_str(kind) <= 0 && H5Tget_size(kind) < sizeof text &&
      H5Sget_simple_extent_npoints(space) == 1)
    (void)H5Dread(set, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
  if (space >= 0) H5Sclose(space);
  if (kind >= 0) H5Tclose(kind);
  if (set >= 0) H5Dclose(set);
  text[WORDS - 1] = '\0';
  return strstr(text, "sparse") || strstr(text, "diagonal matrix") ||
         strstr(text, "permutation matrix");
}

const dm_encoding *dm_encoding_of(hid_t group) {
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
    if (fits(group, &signs[i])) return &signs[i].encoding;
  return is_octave_special(group) ? &octave_special : NULL;
}

/* ---- shape and type ---- */

static bool read_pair(hid_t object, bool attribute, long long pair[2]) {
  hid_t space = attribute ? H5Aget_space(object) : H5Dget_space(object);
  bool read = space >= 0 && H5Sget_simple_extent_npoints(space) == 2;
  if (read && attribute) read = H5Aread(object, H5T_NATIVE_LLONG, pair) >= 0;
  if (read && !attribute)
    read = H5Dread(object, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, pair) >= 0;
  if (space >= 0) H5Sclose(space);
  return read && pair[0] >= 0 && pair[1] >= 0;
}

static bool shape_from(hid_t group, const char *attribute, const char *member, long long pair[2]) {
  bool read = false;
  if (attribute && H5Aexists(group, attribute) > 0) {
    hid_t id = H5Aopen(group, attribute, H5P_DEFAULT);
    read = id >= 0 && read_pair(id, true, pair);
    if (id >= 0) H5Aclose(id);
  }
  if (member && !read && H5Lexists(group, member, H5P_DEFAULT) > 0) {
    hid_t id = H5Dopen2(group, member, H5P_DEFAULT);
    read = id >= 0 && read_pair(id, false, pair);
    if (id >= 0) H5Dclose(id);
  }
  return read;
}

/* The single number in the member NAME; -1: there is none. */
static long long number_in(hid_t group, const char *name) {
  long long number = -1;
  hid_t set = H5Lexists(group, name, H5P_DEFAULT) > 0 ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
  hid_t space = set < 0 ? -1 : H5Dget_space(set);
  if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
      H5Dread(set, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number) < 0)
    number = -1;
  if (space >= 0) H5Sclose(space);
  if (set >= 0) H5Dclose(set);
  return number;
}

/* The elements of the member NAME; 0: there is none. */
static long long length_of(hid_t group, const char *name) {
  hid_t set = H5Lexists(group, name, H5P_DEFAULT) > 0 ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
  hid_t space = set < 0 ? -1 : H5Dget_space(set);
  const long long length = space < 0 ? 0 : (long long)H5Sget_simple_extent_npoints(space);
  if (space >= 0) H5Sclose(space);
  if (set >= 0) H5Dclose(set);
  return length;
}

static bool octave_shape(hid_t group, long long shape[2]) {
  hid_t value = -1;
  if (H5Lexists(group, "value", H5P_DEFAULT) > 0) value = H5Oopen(group, "value", H5P_DEFAULT);
  const bool inside = value >= 0 && H5Iget_type(value) == H5I_GROUP;
  shape[0] = number_in(inside ? value : group, "nr");
  shape[1] = number_in(inside ? value : group, "nc");
  if (value >= 0) H5Oclose(value);
  return shape[0] >= 0 && shape[1] >= 0;
}

/* MATLAB stores the number of rows, and where each column begins and the last one ends. */
static bool matlab_shape(hid_t group, long long shape[2]) {
  char rows[32] = "";
  if (!dm_h5_text_of(group, "MATLAB_sparse", rows, sizeof rows)) return false;
  shape[0] = atoll(rows);
  shape[1] = length_of(group, "jc") - 1;
  return shape[0] >= 0 && shape[1] >= 0;
}

void dm_encoding_describe(hid_t group, char *text, size_t size) {
  long long shape[2];
  text[0] = '\0';
  if (shape_from(group, "shape", "shape", shape) ||
      shape_from(group, "h5sparse_shape", NULL, shape) || matlab_shape(group, shape) ||
      octave_shape(group, shape))
    snprintf(text, size, "%lld x %lld", shape[0], shape[1]);
}
