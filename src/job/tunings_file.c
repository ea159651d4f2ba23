#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "job/tunings.h"

/* "NVIDIA H200" as a part of a file's name: "nvidia-h200". */
static void name_of(const char *gpu, char name[64]) {
  int used = 0;
  for (; *gpu && used < 63; gpu++) {
    if (isalnum((unsigned char)*gpu))
      name[used++] = (char)tolower((unsigned char)*gpu);
    else if (used > 0 && name[used - 1] != '-')
      name[used++] = '-';
  }
  while (used > 0 && name[used - 1] == '-') used--;
  name[used] = '\0';
}

dm_status dm_tunings_path(const char *gpu, char path[DM_PATH]) {
  /* A relative path there is to be ignored (XDG Base Directory Specification). */
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const bool stated = cache && cache[0] == '/';
  char name[64];
  name_of(gpu, name);
  if (!stated && !(home && home[0] == '/'))
    return dm_hint(dm_fail(DM_E_USAGE, "there is no place for a cache: HOME is not set"),
                   "XDG_CACHE_HOME names the directory, or --output the file");
  const int length = snprintf(path, DM_PATH, "%s%s/damier/tilings-%s.json", stated ? cache : home,
                              stated ? "" : "/.cache", name);
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

static dm_status read_open(int fd, const dm_jit_facts *facts, dm_tunings *tunings) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail(DM_E_IO, "%s", strerror(errno));
  if (!S_ISREG(info.st_mode)) return dm_fail(DM_E_INPUT, "it is not a file");
  void *text;
  size_t length;
  DM_TRY(dm_buffer_alloc(DM_TUNINGS_BYTES, &text));
  dm_status status = read_all(fd, text, DM_TUNINGS_BYTES, &length);
  if (!status) status = dm_tunings_parse(text, length, facts, tunings);
  free(text);
  return status;
}

dm_status dm_tunings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tunings *tunings) {
  memset(tunings, 0, sizeof *tunings);
  /* Non-blocking: what stands there may be a pipe. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  *found = fd >= 0;
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return DM_OK;
  if (fd < 0) return dm_fail(DM_E_IO, "%s: %s", path, strerror(errno));
  dm_status status = read_open(fd, facts, tunings);
  close(fd);
  *found = status == DM_OK;
  return dm_context(status, "%s", path);
}

/* ---- writing ---- */

static void directory_of(const char *path, char directory[DM_PATH]) {
  snprintf(directory, DM_PATH, "%s", path);
  char *slash = strrchr(directory, '/');
  if (!slash)
    snprintf(directory, DM_PATH, ".");
  else
    slash[slash == directory] = '\0';
}

/* A directory that is made belongs to the user alone, as the specification asks. */
static dm_status make_directories(const char *path) {
  char part[DM_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(part, 0700) < 0 && errno != EEXIST)
      return dm_fail(DM_E_IO, "%s cannot be made: %s", part, strerror(errno));
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

/* The new name survives a crash; file systems that cannot do that do not matter. */
static void sync_directory(const char *path) {
  char directory[DM_PATH];
  directory_of(path, directory);
  const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

static dm_status replace(const char *path, const char *text) {
  char part[DM_PATH + 8];
  snprintf(part, sizeof part, "%s.XXXXXX", path);
  const int fd = mkostemp(part, O_CLOEXEC);
  if (fd < 0) return dm_fail(DM_E_IO, "%s cannot be made: %s", part, strerror(errno));
  bool done = write_all(fd, text) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
  int error = errno;
  if (close(fd) < 0 && done) {
    error = errno;
    done = false;
  }
  if (done && rename(part, path) < 0) {
    error = errno;
    done = false;
  }
  if (!done) {
    unlink(part);
    return dm_fail(DM_E_IO, "%s cannot be written: %s", path, strerror(error));
  }
  sync_directory(path);
  return DM_OK;
}

dm_status dm_tunings_write(const char *path, bool make_directory, const dm_tunings *tunings,
                           const dm_jit_facts *facts) {
  char *text;
  if (make_directory) DM_TRY(make_directories(path));
  DM_TRY(dm_tunings_format(tunings, facts, &text));
  dm_status status = replace(path, text);
  free(text);
  return status;
}
