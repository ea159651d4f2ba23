/* Nodes of a store: their folders, and their metadata. */
#include "dataset/zarr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/checked.h"
#include "dataset/json_file.h"
#include "dataset/naming.h"
#include "dataset/zarr_impl.h"

enum { WITH_NAME = 2 * DM_PATH };

/* ---- folders ---- */

bool dm_zarr_is(const dm_location *at) {
  static const char *const names[] = {"zarr.json", ".zarray", ".zgroup", ".zmetadata"};
  char path[DM_PATH + 16];
  struct stat info;
  if (stat(at->file, &info) < 0 || !S_ISDIR(info.st_mode)) return false;
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", at->file, names[i]);
    if (lstat(path, &info) == 0) return true;
  }
  return false;
}

/* STATUS of NAME in the open FOLDER, which could not be opened. */
static dm_status zarr_not_opened(const dm_location *at, int folder, const char *name, int reason) {
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "refused: '%.200s' in it is a symbolic link", name),
                   "--allow-external follows it");
  return dm_fail_at(reason == ENOTDIR ? DM_E_INPUT : DM_E_IO, at, "'%.200s' in it: %s", name,
                    strerror(reason));
}

dm_status dm_zarr_open(const dm_location *at, const char *path, bool follow, bool folder, int *fd) {
  const int last = folder ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
  const int links = O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
  char name[DM_PATH];
  path += strspn(path, "/");
  *fd = open(at->file, *path ? O_PATH | O_DIRECTORY | O_CLOEXEC : last | O_CLOEXEC);
  if (*fd < 0) return dm_fail_at(DM_E_IO, at, "cannot be opened: %s", strerror(errno));
  while (*path) {
    const size_t length = strcspn(path, "/"), next = length + strspn(path + length, "/");
    const int above = *fd, how = path[next] ? O_PATH | O_DIRECTORY : last;
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    if (strcmp(name, "..") == 0) {
      close(above);
      return dm_fail_at(DM_E_INPUT, at, "refused: '..' leads out of a store of Zarr");
    }
    *fd = openat(above, name, how | links);
    const int reason = *fd < 0 ? errno : 0;
    dm_status status =
        reason && reason != ENOENT ? zarr_not_opened(at, above, name, reason) : DM_OK;
    close(above);
    if (*fd < 0) return status;
    path += next;
  }
  return DM_OK;
}

/* ---- metadata ---- */

/* Reads NAME of the node at PATH; *document is NULL if there is none. */
static dm_status zarr_read_document(const dm_location *at, const char *path, const char *name,
                                    bool follow, json_t **document, struct stat *info) {
  char file[WITH_NAME];
  int fd;
  *document = NULL;
  snprintf(file, sizeof file, "%s/%s", path, name);
  DM_TRY(dm_zarr_open(at, file, follow, false, &fd));
  if (fd < 0) return DM_OK;
  dm_status status = fstat(fd, info) < 0 ? dm_fail(DM_E_IO, "fstat: %s", strerror(errno))
                                         : dm_json_read(fd, document);
  close(fd);
  if (!status && !json_is_object(*document)) {
    json_decref(*document);
    *document = NULL;
    status = dm_fail(DM_E_INPUT, "is not an object of JSON");
  }
  return dm_file_named(dm_context(status, "'%s' in it", name), at);
}

void dm_zarr_node_free(dm_zarr_node *node) {
  json_decref(node->document);
  json_decref(node->attributes);
  *node = (dm_zarr_node){.is = false};
}

/* Version 3: one document. */
static dm_status zarr_take_third(const dm_location *at, dm_zarr_node *node) {
  const char *type = json_string_value(json_object_get(node->document, "node_type"));
  json_t *attributes = json_object_get(node->document, "attributes");
  int64_t format = 0;
  node->is = true;
  node->version = 3;
  if (!dm_json_integer(json_object_get(node->document, "zarr_format"), &format) || format != 3)
    return dm_fail_at(DM_E_INPUT, at, "'zarr.json' is not of version 3 of Zarr");
  if (!type || (strcmp(type, "array") != 0 && strcmp(type, "group") != 0))
    return dm_fail_at(DM_E_INPUT, at, "'zarr.json' states neither an array nor a group");
  node->is_array = strcmp(type, "array") == 0;
  if (json_is_object(attributes)) node->attributes = json_incref(attributes);
  if (attributes && !json_is_object(attributes) && !json_is_null(attributes))
    return dm_fail_at(DM_E_INPUT, at, "its attributes are not an object of JSON");
  return DM_OK;
}

dm_status dm_zarr_read_node(const dm_location *at, const char *path, bool follow,
                            dm_zarr_node *node) {
  struct stat info;
  *node = (dm_zarr_node){.version = 2};
  DM_TRY(zarr_read_document(at, path, "zarr.json", follow, &node->document, &node->info));
  if (node->document) return zarr_take_third(at, node);
  DM_TRY(zarr_read_document(at, path, ".zarray", follow, &node->document, &node->info));
  node->is_array = node->document != NULL;
  if (!node->document)
    DM_TRY(zarr_read_document(at, path, ".zgroup", follow, &node->document, &node->info));
  node->is = node->document != NULL;
  return node->is ? zarr_read_document(at, path, ".zattrs", follow, &node->attributes, &info)
                  : DM_OK;
}

dm_status dm_zarr_read_array(const dm_location *at, bool follow, dm_zarr *zarr, struct stat *info) {
  dm_zarr_node node;
  dm_status status = dm_zarr_read_node(at, at->dataset, follow, &node);
  if (!status && !node.is_array) status = dm_fail_at(DM_E_INPUT, at, "is not an array of Zarr");
  if (!status) status = dm_zarr_parse(at, &node, zarr);
  if (info) *info = node.info;
  dm_zarr_node_free(&node);
  return status;
}

/* ---- parsing what all versions have ---- */

/* Puts the fill value in the byte order of the file. */
static dm_status zarr_take_fill(const dm_location *at, const json_t *value, dm_zarr *zarr) {
  if (!dm_zarr_value(value, zarr->dtype, zarr->fill))
    return dm_fail_at(DM_E_INPUT, at, "its fill_value is not a number of type %s",
                      dm_dtype_name(zarr->dtype));
  if (zarr->swapped) dm_swap_bytes(zarr->fill, zarr->dtype, 1);
  return DM_OK;
}

dm_status dm_zarr_parse(const dm_location *at, const dm_zarr_node *node, dm_zarr *zarr) {
  const json_t *fill = json_object_get(node->document, "fill_value");
  *zarr = (dm_zarr){.version = node->version, .rank = -1, .dtype = DM_DTYPE_NONE};
  DM_TRY(dm_zarr_take_extents(at, json_object_get(node->document, "shape"), "shape", 0, &zarr->rank,
                              zarr->extent));
  DM_TRY(node->version == 3 ? dm_zarr_third(at, node->document, zarr)
                            : dm_zarr_second(at, node->document, zarr));
  if (node->version == 2 && (!fill || json_is_null(fill))) return DM_OK; /* reads as 0 */
  return zarr_take_fill(at, fill, zarr);
}

bool dm_zarr_dataset(const dm_zarr *zarr, int of_rows, dm_dataset *d) {
  dm_axes axes = {.count = zarr->rank};
  memcpy(axes.extent, zarr->extent, sizeof axes.extent);
  memcpy(axes.chunk, zarr->chunk, sizeof axes.chunk);
  if (zarr->rank == 0) axes = (dm_axes){.count = 1, .extent = {1}, .chunk = {1}};
  d->zarr = true;
  d->dtype = zarr->dtype;
  d->swapped = zarr->swapped;
  d->layout = DM_CHUNKED;
  d->filters = zarr->filters;
  d->offset = -1;
  d->axes = axes;
  return dm_dataset_lay(d, &axes, of_rows);
}
