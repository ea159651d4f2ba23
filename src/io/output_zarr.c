/* C as an array of Zarr, version 3, in a folder: made under a temporary name, filled chunk by
 * chunk, completed by its metadata. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/json_file.h"
#include "dataset/zarr.h"
#include "io/output_impl.h"
#include "io/output_tiles.h"

#define STORE_METADATA "zarr.json"
#define STORE_CHUNKS "c"

/* ---- files ---- */

dm_status dm_store_make(dm_output_file *out) {
  if (mkdir(out->part, 0777) < 0) return dm_file_failed(&out->at, out->part, "created");
  out->made = open(out->part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return out->made < 0 ? dm_file_failed(&out->at, out->part, "opened") : DM_OK;
}

static dm_status store_failed(const dm_output_file *out, const char *name) {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return dm_fail_at(full ? DM_E_FIT : DM_E_IO, &out->at, "'%s/%s' cannot be written: %s", out->part,
                    name, strerror(reason));
}

/* Writes NAME in OUT's folder, which may be there. */
static dm_status store_write(const dm_output_file *out, const char *name, const void *data,
                             int64_t bytes) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const int fd = openat(out->made, name, flags, 0666);
  if (fd < 0) return store_failed(out, name);
  dm_status status = dm_batch_move(fd, true, name, (void *)(uintptr_t)data, bytes, 0);
  if (close(fd) < 0 && errno != EINTR && !status) status = store_failed(out, name);
  return status;
}

dm_status dm_store_chunk(const dm_output_file *out, const int64_t *index, int count,
                         const void *data, int64_t bytes) {
  char name[DM_ZARR_KEY + 8] = STORE_CHUNKS;
  size_t used = strlen(name);
  for (int i = 0; i < count; i++) {
    if (mkdirat(out->made, name, 0777) < 0 && errno != EEXIST) return store_failed(out, name);
    used += (size_t)snprintf(name + used, sizeof name - used, "/%lld", (long long)index[i]);
  }
  return store_write(out, name, data, bytes);
}

/* ---- metadata ---- */

/* Adds VALUE, which it takes, to OBJECT; a failure shows when the document is compared. */
static void store_set(json_t *object, const char *key, json_t *value) {
  (void)json_object_set_new(object, key, value);
}

static json_t *store_shape(const dm_output_file *out, int64_t each, int64_t rows, int64_t cols) {
  json_t *list = json_array();
  const dm_leads *leads = &out->leads;
  for (int i = 0; i < leads->count; i++)
    (void)json_array_append_new(list, json_integer(each > 0 ? each : leads->extent[i]));
  if (leads->vector != DM_AS_ROW) (void)json_array_append_new(list, json_integer(rows));
  if (leads->vector != DM_AS_COLUMN) (void)json_array_append_new(list, json_integer(cols));
  return list;
}

static const char *store_type(dm_dtype dtype) {
  switch (dtype) {
  case DM_F64:
    return "float64";
  case DM_F32:
    return "float32";
  case DM_F16:
    return "float16";
  case DM_BF16:
    return "bfloat16";
  case DM_C64:
    return "complex64";
  case DM_C128:
    return "complex128";
  case DM_I8:
    return "int8";
  case DM_I32:
    return "int32";
  default:
    return "int64";
  }
}

/* {"name": NAME, "configuration": CONFIGURATION}; NULL: of these two it has the first. */
static json_t *store_named(const char *name, json_t *configuration) {
  json_t *object = json_object();
  store_set(object, "name", json_string(name));
  store_set(object, "configuration", configuration ? configuration : json_object());
  return object;
}

static json_t *store_codecs(const dm_output_file *out, const dm_output_form *form) {
  json_t *list = json_array(), *bytes = json_object(), *zstd = json_object();
  const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  if (dm_dtype_size(out->dtype) > 1)
    store_set(bytes, "endian", json_string(big ? "big" : "little"));
  store_set(zstd, "level", json_integer(form->zstd));
  store_set(zstd, "checksum", json_false());
  (void)json_array_append_new(list, store_named("bytes", bytes));
  (void)json_array_append_new(list, store_named("zstd", zstd));
  (void)json_array_append_new(list, store_named("crc32c", NULL));
  return list;
}

static json_t *store_fill(dm_dtype dtype) {
  if (dm_dtype_is_integer(dtype)) return json_integer(0);
  if (!dm_dtype_is_complex(dtype)) return json_real(0.0);
  return json_pack("[f, f]", 0.0, 0.0);
}

static json_t *store_document(const dm_output_file *out, const dm_output_form *form) {
  json_t *all = json_object(), *grid = json_object(), *keys = json_object();
  const int64_t rows = out->rows / dm_leads_entries(&out->leads);
  store_set(grid, "chunk_shape", store_shape(out, 1, form->chunk_rows, form->chunk_cols));
  store_set(keys, "separator", json_string("/"));
  store_set(all, "zarr_format", json_integer(3));
  store_set(all, "node_type", json_string("array"));
  store_set(all, "shape", store_shape(out, 0, rows, out->cols));
  store_set(all, "data_type", json_string(store_type(out->dtype)));
  store_set(all, "chunk_grid", store_named("regular", grid));
  store_set(all, "chunk_key_encoding", store_named("default", keys));
  store_set(all, "fill_value", store_fill(out->dtype));
  store_set(all, "codecs", store_codecs(out, form));
  store_set(all, "attributes", json_object());
  store_set(all, "storage_transformers", json_array());
  return all;
}

/* Adds what C (NULL: nothing) states to the attributes of ALL. */
static void store_state(json_t *all, const dm_output_file *out, const dm_output_completion *c) {
  json_t *list = json_object_get(all, "attributes");
  store_set(list, DM_STATE, json_string(c ? "complete" : "incomplete"));
  store_set(list, DM_ID_NAME, json_string(out->id));
  for (int i = 0; c && c->provenance && i < c->provenance->count; i++) {
    dm_attribute one = c->provenance->list[i];
    dm_text_clean(one.text);
    store_set(list, one.name, json_string(one.text));
  }
  if (c) dm_output_state_tiles(list, c->tiles, c->count);
}

static dm_location store_location(const dm_output_file *out) {
  dm_location at = {.names = out->at.names};
  memcpy(at.file, out->part, sizeof at.file - 1); /* as dm_file_sibling made it */
  return at;
}

/* Writes ALL, which it takes, and reads it back. */
static dm_status store_put(const dm_output_file *out, json_t *all) {
  const dm_location at = store_location(out);
  dm_zarr_node node = {.is = false};
  char *text = all ? json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  dm_status status = text ? store_write(out, STORE_METADATA, text, (int64_t)strlen(text))
                          : dm_fail_at(DM_E_FIT, &out->at, "no memory for its metadata");
  if (!status) status = dm_zarr_read_node(&at, "", false, &node);
  if (!status && !json_equal(node.document, all))
    status = dm_fail_at(DM_E_IO, &out->at, "its metadata differ from what was written");
  dm_zarr_node_free(&node);
  free(text);
  json_decref(all);
  return status;
}

dm_status dm_store_describe(const dm_output_file *out, const dm_output_form *form) {
  json_t *all = store_document(out, form);
  store_state(all, out, NULL);
  return store_put(out, all);
}

dm_status dm_store_complete(const dm_output_file *out, const dm_output_completion *completion) {
  const dm_location at = store_location(out);
  dm_zarr_node node;
  dm_status status = dm_zarr_read_node(&at, "", false, &node);
  if (!status && !node.is_array) status = dm_fail_at(DM_E_IO, &out->at, "its metadata are gone");
  json_t *all = status ? NULL : json_deep_copy(node.document);
  dm_zarr_node_free(&node);
  DM_TRY(status);
  store_state(all, out, completion);
  return store_put(out, all);
}

/* ---- a folder that damier made ---- */

/* Whether NAME may be in the folder at DEPTH: 0, the array's; 1, that of the chunks; 2, ... */
static bool store_is_own(const char *name, int depth) {
  if (depth > 0) return name[0] && strspn(name, "0123456789") == strlen(name);
  return strcmp(name, STORE_METADATA) == 0 || strcmp(name, STORE_CHUNKS) == 0;
}

typedef struct store_walk_work {
  bool remove;
  char other[DM_ZARR_KEY]; /* the entry that was looked at last */
  int64_t bytes;           /* of all files */
} store_walk_work;

/* Looks at all of the folder FD, which it closes, and removes it if so asked; false: it holds
 * something else. */
static bool store_walk(int fd, int depth, store_walk_work *work) {
  DIR *folder = fdopendir(fd);
  bool own = folder != NULL && depth <= DM_AXES + 1;
  if (!folder) close(fd);
  for (struct dirent *entry; own && (entry = readdir(folder));) {
    const char *name = entry->d_name;
    struct stat info;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    snprintf(work->other, DM_ZARR_KEY, "%.*s", DM_ZARR_KEY - 1, name);
    own =
        store_is_own(name, depth) && fstatat(dirfd(folder), name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    const bool below = own && S_ISDIR(info.st_mode);
    own = own && (below ? strcmp(name, STORE_METADATA) != 0 : S_ISREG(info.st_mode) != 0);
    if (below) {
      const int inner =
          openat(dirfd(folder), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      own = inner >= 0 && store_walk(inner, depth + 1, work);
    }
    if (own && !below) work->bytes += info.st_size;
    if (own && work->remove) own = unlinkat(dirfd(folder), name, below ? AT_REMOVEDIR : 0) == 0;
  }
  if (folder) closedir(folder);
  return own;
}

static int store_open(const char *path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

dm_status dm_store_remove(const dm_location *at, const char *path) {
  store_walk_work work = {.remove = true};
  const int fd = store_open(path);
  if (fd < 0) return errno == ENOENT ? DM_OK : dm_file_failed(at, path, "opened");
  if (store_walk(fd, 0, &work) && rmdir(path) == 0) return DM_OK;
  return dm_fail_at(DM_E_IO, at, "'%s' cannot be removed: '%s' is in it", path, work.other);
}

bool dm_store_only(const char *path, int64_t *bytes) {
  store_walk_work work = {.remove = false};
  const int fd = store_open(path);
  const bool only = fd >= 0 && store_walk(fd, 0, &work);
  *bytes = work.bytes;
  return only;
}

dm_status dm_store_holds_only(const dm_location *at) {
  dm_location store = {.row_axes = 0};
  dm_zarr_node node;
  store_walk_work work = {.remove = false};
  memcpy(store.file, at->file, sizeof store.file);
  dm_status status = dm_zarr_read_node(&store, "", false, &node);
  const bool ours = !status && node.is_array && json_object_get(node.attributes, DM_STATE);
  dm_zarr_node_free(&node);
  dm_status_free(status);
  const int fd = ours ? store_open(at->file) : -1;
  if (fd < 0)
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "is a directory, and no array that damier wrote"),
                   "nothing was touched; remove it or name another output");
  if (store_walk(fd, 0, &work)) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "exists and holds other files: '%s'", work.other),
                 "nothing was touched; name another output");
}
