#include "io/arrays_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "dataset/npy_header.h"
#include "io/npz.h"
#include "io/output.h"
#include "io/output_impl.h"

enum {
  ARRAYS_FILE_HEAD_BYTES = 1 << 16,
  ARRAYS_FILE_BLOCK = 1 << 22 /* bytes written at once, between two beats */
};

/* What is written, and where. */
typedef struct arrays_file_writing {
  const dm_output_file *file;
  const dm_keepalive *keepalive;
  const dm_file_group *groups;
  int count;
  hid_t group;
} arrays_file_writing;

static hid_t array_type(const dm_array *array) {
  return array->dtype == DM_DTYPE_NONE ? H5Tcopy(H5T_NATIVE_INT64) : dm_h5_make_type(array->dtype);
}

static int64_t array_size(const dm_array *array) {
  return array->dtype == DM_DTYPE_NONE ? (int64_t)sizeof(int64_t) : dm_dtype_size(array->dtype);
}

/* Rows FIRST to FIRST + COUNT of ARRAY. */
static bool array_write_rows(hid_t set, hid_t type, const dm_array *array, int64_t first,
                             int64_t count) {
  const int64_t width = dm_max(1, array->cols);
  const int rank = array->cols > 0 ? 2 : 1;
  const hsize_t start[2] = {(hsize_t)first, 0}, extent[2] = {(hsize_t)count, (hsize_t)width};
  DM_H5_HELD hid_t memory = H5Screate_simple(rank, extent, NULL), space = H5Dget_space(set);
  return memory >= 0 && space >= 0 &&
         H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0 &&
         H5Dwrite(set, type, memory, space, H5P_DEFAULT,
                  (const char *)array->data + first * width * array_size(array)) >= 0;
}

static dm_status array_write(const arrays_file_writing *w, const dm_array *array) {
  const int64_t width = dm_max(1, array->cols),
                step = dm_max(1, ARRAYS_FILE_BLOCK / (width * array_size(array)));
  const hsize_t dims[2] = {(hsize_t)array->rows, (hsize_t)width};
  DM_H5_HELD hid_t space = H5Screate_simple(array->cols > 0 ? 2 : 1, dims, NULL);
  DM_H5_HELD hid_t type = array_type(array), set = -1;
  if (space >= 0 && type >= 0)
    set = H5Dcreate2(w->group, array->name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool written = set >= 0;
  for (int64_t first = 0; first < array->rows && written; first += step) {
    written = array_write_rows(set, type, array, first, dm_min(step, array->rows - first));
    if (written) DM_TRY(dm_keepalive_beat(w->keepalive));
  }
  return written
             ? DM_OK
             : dm_h5_fail(DM_E_IO, &w->file->at, "its array '%s' cannot be written", array->name);
}

/* "shape", as anndata and others write it. */
static bool arrays_write_shape(hid_t group, const int64_t shape[2]) {
  const hsize_t two = 2;
  DM_H5_HELD hid_t space = H5Screate_simple(1, &two, NULL), attribute = -1;
  if (space >= 0)
    attribute = H5Acreate2(group, "shape", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
  return attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT64, shape) >= 0;
}

static dm_status arrays_write_attributes(const arrays_file_writing *w,
                                         const dm_file_encoding *encoding,
                                         const dm_attributes *list) {
  const dm_location *at = &w->file->at;
  for (int i = 0; i < list->count; i++)
    DM_TRY(dm_h5_write_text(at, w->group, list->list[i].name, list->list[i].text));
  DM_TRY(dm_h5_write_text(at, w->group, DM_STATE, "complete"));
  if (!encoding) return DM_OK;
  DM_TRY(dm_h5_write_text(at, w->group, "encoding-type", encoding->type));
  DM_TRY(dm_h5_write_text(at, w->group, "encoding-version", encoding->version));
  return arrays_write_shape(w->group, encoding->shape)
             ? DM_OK
             : dm_h5_fail(DM_E_IO, at, "its attribute 'shape' cannot be written");
}

static hid_t arrays_make_group(hid_t file, const char *path) {
  DM_H5_HELD hid_t links = H5Pcreate(H5P_LINK_CREATE);
  if (links < 0 || H5Pset_create_intermediate_group(links, 1) < 0) return -1;
  return H5Gcreate2(file, path, links, H5P_DEFAULT, H5P_DEFAULT);
}

static dm_status arrays_fill_group(arrays_file_writing *w, hid_t file, const dm_file_group *of) {
  const dm_location *at = &w->file->at;
  char path[DM_PATH];
  const int length = snprintf(path, sizeof path, "%s%s%s", at->dataset, of->name ? "/" : "",
                              of->name ? of->name : "");
  if (length >= (int)sizeof path) return dm_fail_at(DM_E_USAGE, at, "the name is too long");
  DM_H5_HELD hid_t group = arrays_make_group(file, path);
  if (group < 0) return dm_h5_fail(DM_E_IO, at, "the group '%s' cannot be created", path);
  w->group = group;
  for (int i = 0; i < of->count; i++) DM_TRY(array_write(w, &of->arrays[i]));
  return arrays_write_attributes(w, of->encoding, of->attributes);
}

/* Says in the group above COUNT GROUPS that they are all. */
static dm_status arrays_name_groups(const arrays_file_writing *w, hid_t file,
                                    const dm_file_group *groups, int count) {
  const dm_location *at = &w->file->at;
  char names[DM_ATTRIBUTE_TEXT] = "";
  DM_H5_HELD hid_t above = H5Gopen2(file, at->dataset, H5P_DEFAULT);
  if (above < 0) return dm_h5_fail(DM_E_IO, at, "the group cannot be opened");
  for (int i = 0; i < count; i++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? " " : "", groups[i].name);
  }
  DM_TRY(dm_h5_write_text(at, above, DM_GROUPS_ATTRIBUTE, names));
  return dm_h5_write_text(at, above, DM_STATE, "complete");
}

/* A dm_output_filling. */
static dm_status arrays_fill_file(void *context, dm_output_file *out) {
  arrays_file_writing *w = context;
  DM_H5_ALONE;
  char path[DM_DESCRIPTOR];
  DM_TRY(dm_h5_start(false));
  hid_t file = -1;
  DM_H5_HELD hid_t access = dm_h5_unlocked();
  if (access >= 0)
    file = H5Fcreate(dm_output_by_descriptor(out->made, path), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) return dm_h5_fail(DM_E_IO, &w->file->at, "the file cannot be created");
  dm_status status = DM_OK;
  for (int i = 0; i < w->count && !status; i++) status = arrays_fill_group(w, file, &w->groups[i]);
  if (!status && w->groups[0].name) status = arrays_name_groups(w, file, w->groups, w->count);
  if (!status && H5Fflush(file, H5F_SCOPE_LOCAL) < 0)
    status = dm_h5_fail(DM_E_IO, &w->file->at, "the file cannot be flushed");
  if (H5Fclose(file) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &w->file->at, "the file cannot be closed");
  return status;
}

/* ---- an archive of NumPy ---- */

/* What becomes members of an archive: of each group its arrays, what scipy.sparse.load_npz reads
 * besides, and its attributes as text. */
enum {
  OF_GROUP = 16, /* members */
  OF_TEXT = DM_ATTRIBUTES * (DM_ATTRIBUTE_NAME + DM_ATTRIBUTE_TEXT + 4)
};
typedef struct archive {
  const dm_keepalive *keepalive;
  dm_npz_member *members;
  int count;
  char *texts; /* OF_TEXT of each group */
  char integer[DM_NPY_TYPE];
} archive;

/* The next member, "NAME.npy". */
static dm_npz_member *archive_next(archive *a, const char *name) {
  dm_npz_member *m = &a->members[a->count++];
  snprintf(m->name, sizeof m->name, "%s.npy", name);
  return m;
}

static dm_status archive_add_array(archive *a, const dm_array *array) {
  dm_npz_member *m = archive_next(a, array->name);
  const long long rows = array->rows, cols = array->cols;
  DM_TRY(dm_npy_type(array->dtype == DM_DTYPE_NONE ? DM_I64 : array->dtype, m->type));
  snprintf(m->shape, sizeof m->shape, cols > 0 ? "%lld, %lld" : "%lld,", rows, cols);
  m->data = array->data;
  return dm_bytes_of(rows, dm_max(1, cols), (int)array_size(array), &m->bytes);
}

static void archive_add_encoding(archive *a, const dm_file_encoding *encoding) {
  static const bool yes = true;
  dm_npz_member *format = archive_next(a, "format"), *shape = archive_next(a, "shape"),
                *is_array = archive_next(a, "_is_array");
  strcpy(format->type, "|S3"); /* "csr" of "csr_matrix" */
  format->data = encoding->type;
  format->bytes = 3;
  strcpy(shape->type, a->integer);
  strcpy(shape->shape, "2,");
  shape->data = encoding->shape;
  shape->bytes = sizeof encoding->shape;
  strcpy(is_array->type, "|b1");
  is_array->data = &yes;
  is_array->bytes = sizeof yes;
}

/* "name: text" on a line for each attribute. */
static void archive_add_text(archive *a, int which, const dm_file_group *of) {
  char *text = a->texts + (size_t)which * OF_TEXT;
  int used = 0;
  for (int i = 0; i < of->attributes->count; i++)
    used += snprintf(text + used, (size_t)(OF_TEXT - used), "%s: %s\n",
                     of->attributes->list[i].name, of->attributes->list[i].text);
  dm_npz_member *m = &a->members[a->count++];
  snprintf(m->name, sizeof m->name, "%s.txt", of->name ? of->name : "damier");
  m->data = text;
  m->bytes = used;
}

static dm_status archive_gather(archive *a, const dm_file_group *groups, int count) {
  DM_TRY(dm_npy_type(DM_I64, a->integer));
  DM_TRY(dm_buffer_table(count * OF_GROUP, &a->members));
  DM_TRY(dm_buffer_alloc((int64_t)count * OF_TEXT, (void **)&a->texts));
  for (int g = 0; g < count; g++) {
    for (int i = 0; i < groups[g].count; i++) DM_TRY(archive_add_array(a, &groups[g].arrays[i]));
    if (groups[g].encoding) archive_add_encoding(a, groups[g].encoding);
    archive_add_text(a, g, &groups[g]);
  }
  return DM_OK;
}

/* A dm_output_filling. */
static dm_status archive_fill_file(void *context, dm_output_file *out) {
  const archive *a = context;
  return dm_npz_write(out->made, out->part, a->members, a->count, a->keepalive);
}

/* ---- all of it ---- */

static dm_status arrays_check_room(const dm_location *at, const dm_file_group *groups, int count) {
  int64_t all = ARRAYS_FILE_HEAD_BYTES;
  for (int g = 0; g < count; g++)
    for (int i = 0; i < groups[g].count; i++) {
      const dm_array *array = &groups[g].arrays[i];
      int64_t bytes;
      DM_TRY(dm_bytes_of(array->rows, dm_max(1, array->cols), (int)array_size(array), &bytes));
      all = dm_sat_add(all, bytes);
    }
  return dm_output_room(at, all);
}

/* WORK fills the file, which then gets its name. */
static dm_status arrays_make_file(const dm_location *at, bool force, dm_output_filling *work,
                                  void *context, const dm_attributes *noted,
                                  const dm_keepalive *keepalive, dm_output_file *file) {
  const dm_output_file wanted = {.at = *at, .made = -1};
  const dm_output_completion completion = {.force = force, .noted = noted};
  bool named = false;
  DM_TRY(dm_output_forget(at));
  DM_TRY(dm_output_fill(file, &wanted, NULL, false, work, context));
  dm_status status = dm_output_commit(file, &completion, keepalive, &named);
  if (!named) dm_output_discard(file);
  dm_output_release(file);
  return status;
}

static dm_status arrays_write_archive(const dm_location *at, bool force,
                                      const dm_file_group *groups, int count,
                                      const dm_keepalive *keepalive) {
  archive a = {.keepalive = keepalive};
  dm_output_file file;
  dm_status status = archive_gather(&a, groups, count);
  if (!status) status = dm_output_room(at, dm_npz_bytes(a.members, a.count));
  const dm_attributes *noted = count == 1 ? groups->attributes : NULL;
  if (!status) status = arrays_make_file(at, force, archive_fill_file, &a, noted, keepalive, &file);
  free(a.members);
  free(a.texts);
  return status;
}

dm_status dm_arrays_write(const dm_location *at, bool force, const dm_file_group *groups, int count,
                          const dm_keepalive *keepalive) {
  dm_output_file file;
  if (dm_output_is_npz(at)) return arrays_write_archive(at, force, groups, count, keepalive);
  DM_TRY(arrays_check_room(at, groups, count));
  arrays_file_writing w = {&file, keepalive, groups, count, -1};
  return arrays_make_file(at, force, arrays_fill_file, &w, NULL, keepalive, &file);
}
