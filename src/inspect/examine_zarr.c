/* Examines arrays of Zarr: their storage. What stands beside them is examined in their mirror
 * (zarr_mirror.h), like that of datasets of HDF5. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/checked.h"
#include "dataset/json_file.h"
#include "dataset/naming.h"
#include "inspect/examine_meaning_impl.h"
#include "inspect/inspect_impl.h"
#include "io/zarr_chunks.h"

enum { CHUNK_MOST = 1 << 30, WITH_DOCUMENT = DM_PATH + 16 };

/* ---- copies of metadata ---- */

/* The members that decide what an array's numbers are. */
static bool zarr_same_metadata(const json_t *own, const json_t *copy) {
  static const char *const keys[] = {
      "shape",      "data_type", "chunk_grid", "chunk_key_encoding",
      "fill_value", "codecs",    "dtype",      "chunks",
      "compressor", "filters",   "order",      "dimension_separator"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const json_t *a = json_object_get(own, keys[i]), *b = json_object_get(copy, keys[i]);
    if ((a || b) && !json_equal((json_t *)a, (json_t *)b)) return false;
  }
  return true;
}

/* The copy of the metadata of the array PATH in what the group GROUP has of all arrays; NULL: none.
 */
static const json_t *zarr_copy_of(const json_t *all, const char *path, int version) {
  char key[WITH_DOCUMENT];
  snprintf(key, sizeof key, "%s%s", path, version == 2 ? "/.zarray" : "");
  return json_object_get(json_object_get(all, "metadata"), key);
}

/* Warns if the copy in the group at PATH, which is above ARRAY, is another one: the array's own
 * metadata hold. */
static dm_status zarr_check_copy(bool follow, const char *path, const char *rest,
                                 const dm_zarr_node *array, dm_dataset *find) {
  const dm_location *at = &find->at;
  dm_zarr_node group;
  json_t *second = NULL;
  char file[WITH_DOCUMENT];
  int fd = -1;
  dm_status status = dm_zarr_read_node(at, path, follow, &group);
  snprintf(file, sizeof file, "%s/.zmetadata", path);
  if (!status && array->version == 2) status = dm_zarr_open(at, file, follow, false, &fd);
  if (fd >= 0) {
    status = dm_file_named(dm_context(dm_json_read(fd, &second), "'.zmetadata' in it"), at);
    close(fd);
  }
  const json_t *all =
      array->version == 2 ? second : json_object_get(group.document, "consolidated_metadata");
  const json_t *copy = status ? NULL : zarr_copy_of(all, rest, array->version);
  if (copy && !zarr_same_metadata(array->document, copy))
    dm_meaning_add(find->meaning.warning,
                   "the group '%.100s' has another, perhaps older copy of its metadata: readers of "
                   "that see another array (zarr.consolidate_metadata renews it)",
                   path[0] ? path : "/");
  json_decref(second);
  dm_zarr_node_free(&group);
  return status;
}

/* Looks in all groups above the array; *ZARR and *INFO are its own. */
static dm_status zarr_read(bool follow, dm_dataset *find, dm_zarr *zarr, struct stat *info) {
  const dm_location *at = &find->at;
  dm_zarr_node node;
  char path[DM_PATH];
  dm_status status = dm_zarr_read_node(at, at->dataset, follow, &node);
  if (!status && !node.is_array) status = dm_fail_at(DM_E_INPUT, at, "is not an array of Zarr");
  if (!status) status = dm_zarr_parse(at, &node, zarr);
  for (const char *end = at->dataset; *end && !status; end += 1 + strcspn(end + 1, "/")) {
    snprintf(path, sizeof path, "%.*s", (int)(end - at->dataset), at->dataset);
    status = zarr_check_copy(follow, path, end + 1, &node, find);
  }
  *info = node.info;
  dm_zarr_node_free(&node);
  return status;
}

/* ---- storage ---- */

static dm_status zarr_check_chunks(const dm_dataset *find) {
  int64_t bytes = 0;
  dm_status status = dm_bytes_of(find->rows, find->cols, dm_dtype_size(find->dtype), &bytes);
  if (status) {
    dm_status_free(status);
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more elements than 64 bits can count");
  }
  status = dm_bytes_of(find->chunk_rows, find->chunk_cols, dm_dtype_size(find->dtype), &bytes);
  if (!status && bytes <= CHUNK_MOST) return DM_OK;
  dm_status_free(status);
  return dm_fail_at(DM_E_INPUT, &find->at,
                    "its chunks of %lld x %lld elements are larger than 1 GiB",
                    (long long)find->chunk_rows, (long long)find->chunk_cols);
}

static dm_status zarr_check_files(const dm_trust *trust, const dm_zarr *zarr,
                                  const struct stat *info, dm_dataset *find) {
  dm_zarr_survey s;
  DM_TRY(dm_zarr_look(&find->at, zarr, trust->external, true, &s));
  dm_zarr_identify(info, &s, find);
  find->stored_bytes = s.bytes;
  if (s.present >= s.chunks || trust->no_data) return DM_OK;
  return dm_hint(s.present == 0
                     ? dm_fail_at(DM_E_INPUT, &find->at,
                                  "has no data: none of its %lld chunks is "
                                  "there",
                                  (long long)s.chunks)
                     : dm_fail_at(DM_E_INPUT, &find->at, "has no data in %lld of its %lld chunks",
                                  (long long)(s.chunks - s.present), (long long)s.chunks),
                 "many writers leave out chunks that hold only the fill value: --allow-no-data "
                 "reads it there");
}

static dm_status zarr_storage(const dm_trust *trust, const dm_zarr *zarr, const struct stat *info,
                              const dm_axes *axes, dm_dataset *find) {
  DM_TRY(dm_examine_lay(trust, axes, find));
  if (dm_dataset_is_empty(find)) {
    find->layout = DM_CONTIGUOUS;
    find->chunk_rows = find->chunk_cols = 0;
    memset(find->axes.chunk, 0, sizeof find->axes.chunk);
    return DM_OK;
  }
  DM_TRY(zarr_check_chunks(find));
  return zarr_check_files(trust, zarr, info, find);
}

dm_status dm_examine_zarr(const dm_trust *trust, int64_t set, dm_dataset *find) {
  dm_zarr zarr;
  struct stat info;
  DM_TRY(zarr_read(trust->external, find, &zarr, &info));
  if (zarr.rank == 0) return dm_fail_at(DM_E_INPUT, &find->at, "is a single value, not a matrix");
  if (!dm_zarr_dataset(&zarr, zarr.rank - 1, find))
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more elements than 64 bits can count");
  dm_complex_axis axis;
  dm_axes axes = dm_dataset_axes(find);
  DM_TRY(dm_complex_find(trust, set, &axes, find, &axis));
  if (axis == DM_COMPLEX_NONE) return zarr_storage(trust, &zarr, &info, &axes, find);
  dm_trust reals = *trust;
  reals.any_shape = true;
  DM_TRY(zarr_storage(&reals, &zarr, &info, &axes, find));
  axes = dm_dataset_axes(find);
  return dm_complex_lay(trust, &axes, axis, find);
}
