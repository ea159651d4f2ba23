#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "run/cache_file.h"

/* Turns "NVIDIA H200" into a part of a file name, "nvidia-h200". */
static void name_of(const char *words, char name[128]) {
  int used = 0;
  for (; *words && used < 127; words++) {
    if (isalnum((unsigned char)*words))
      name[used++] = (char)tolower((unsigned char)*words);
    else if (used > 0 && name[used - 1] != '-')
      name[used++] = '-';
  }
  while (used > 0 && name[used - 1] == '-') used--;
  name[used] = '\0';
}

dm_status dm_cache_path(const char *kind, const char *name, char path[DM_PATH]) {
  /* Relative paths must be ignored (XDG Base Directory Specification). */
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const bool stated = cache && cache[0] == '/';
  char part[128];
  name_of(name, part);
  if (!stated && !(home && home[0] == '/'))
    return dm_hint(dm_fail(DM_E_USAGE, "there is no folder for the cache: HOME is not set"),
                   "set XDG_CACHE_HOME to a directory, or use --output FILE");
  const int length = snprintf(path, DM_PATH, "%s%s/damier/%s-%s.json", stated ? cache : home,
                              stated ? "" : "/.cache", kind, part);
  return length < DM_PATH ? DM_OK : dm_fail(DM_E_USAGE, "the name of the cache is too long");
}

/* ---- reading ---- */

static dm_status read_all(int fd, char *text, size_t room, size_t *length) {
  *length = 0;
  while (*length < room) {
    const ssize_t got = read(fd, text + *length, room - *length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return dm_fail(DM_E_IO, "%s", strerror(errno));
    if (got == 0) return DM_OK;
    *length += (size_t)got;
  }
  return dm_fail(DM_E_INPUT, "it is too large");
}

static dm_status read_open(int fd, char **text, size_t *length) {
  struct stat info;
  void *memory;
  if (fstat(fd, &info) < 0) return dm_fail(DM_E_IO, "%s", strerror(errno));
  if (!S_ISREG(info.st_mode)) return dm_fail(DM_E_INPUT, "it is not a file");
  DM_TRY(dm_buffer_alloc(DM_CACHE_BYTES, &memory));
  dm_status status = read_all(fd, memory, DM_CACHE_BYTES, length);
  if (status)
    free(memory);
  else
    *text = memory;
  return status;
}

/* *text is NULL, without an error, if there is no file; else the caller frees it. */
static dm_status read_text(const char *path, char **text, size_t *length) {
  *text = NULL;
  *length = 0;
  /* Non-blocking: the path may be a FIFO. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return DM_OK;
  if (fd < 0) return dm_fail(DM_E_IO, "%s", strerror(errno));
  dm_status status = read_open(fd, text, length);
  close(fd);
  return status;
}

const char *dm_cache_text(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static dm_status parse(const dm_cache_kind *kind, const json_t *root, const void *facts,
                       void *value) {
  void *made;
  if (strcmp(dm_cache_text(root, "schema"), kind->schema) != 0)
    return dm_fail(DM_E_INPUT, "it is not of the form %s", kind->schema);
  DM_TRY(dm_buffer_zeroed(1, kind->size, &made));
  dm_status status = kind->parse(root, facts, made);
  if (!status) memcpy(value, made, kind->size);
  free(made);
  return status;
}

dm_status dm_cache_parse(const dm_cache_kind *kind, const char *text, size_t length,
                         const void *facts, void *value) {
  json_error_t error;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (!root) return dm_fail(DM_E_INPUT, "it is not JSON: %s", error.text);
  dm_status status = parse(kind, root, facts, value);
  json_decref(root);
  return status;
}

dm_status dm_cache_read(const dm_cache_kind *kind, const char *path, const void *facts, bool *found,
                        void *value) {
  char *text;
  size_t length;
  dm_status status = read_text(path, &text, &length);
  if (text) status = dm_cache_parse(kind, text, length, facts, value);
  *found = text && !status;
  free(text);
  return dm_context(status, "%s", path);
}

void dm_cache_replaces(const dm_log *log, dm_status status) {
  if (status) dm_log_line(log, DM_LOG_WARNING, "%s; it is replaced", status->message);
  dm_status_free(status);
}

/* ---- writing ---- */

/* Only the user may access new directories, as the specification requires. */
static dm_status make_directories(const char *path) {
  char part[DM_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(part, 0700) < 0 && errno != EEXIST)
      return dm_fail(DM_E_IO, "%s cannot be created: %s", part, strerror(errno));
    *slash = '/';
  }
  return DM_OK;
}

static bool write_all(int fd, const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    const ssize_t done = write(fd, text, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text += done;
    left -= (size_t)done;
  }
  return true;
}

static dm_status replace(const char *path, const char *text) {
  char part[DM_PATH + 8];
  snprintf(part, sizeof part, "%s.XXXXXX", path);
  const int fd = mkostemp(part, O_CLOEXEC);
  if (fd < 0) return dm_fail(DM_E_IO, "%s cannot be created: %s", part, strerror(errno));
  bool done = write_all(fd, text) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
  done = close(fd) == 0 && done && rename(part, path) == 0;
  if (done) return DM_OK;
  dm_status status = dm_fail(DM_E_IO, "%s cannot be written: %s", path, strerror(errno));
  unlink(part);
  return status;
}

dm_status dm_cache_write(const char *path, bool make_directory, const char *text) {
  if (make_directory) DM_TRY(make_directories(path));
  return replace(path, text);
}
