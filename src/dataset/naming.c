#include "dataset/naming.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

dm_status dm_file_named(dm_status status, const dm_location *at) {
  char name[DM_NAME];
  if (!status) return DM_OK;
  return dm_context(status, "%s", dm_location_name(at, name));
}

/* Bytes of the UTF-8 character at TEXT; 0 if it is invalid or a control character. */
static int character_bytes(const unsigned char *text) {
  if (text[0] < 0x20 || text[0] == 0x7f) return 0;
  if (text[0] < 0x80) return 1;
  int length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
  if (text[0] > 0xf4) return 0;
  for (int i = 1; i < length; i++)
    if ((text[i] & 0xc0) != 0x80) return 0;
  return text[0] == 0xc2 && text[1] < 0xa0 ? 0 : length;
}

bool dm_text_clean(char *text) {
  bool clean = true;
  for (unsigned char *at = (unsigned char *)text; *at;) {
    int length = character_bytes(at);
    if (length == 0) *at = '?', clean = false, length = 1;
    at += length;
  }
  return clean;
}

dm_status dm_file_sibling(const dm_location *at, const char *ending, char path[DM_SIBLING_PATH]) {
  const int length = snprintf(path, DM_SIBLING_PATH, "%s%s", at->file, ending);
  const char *slash = strrchr(path, '/');
  if (length >= DM_PATH || strlen(slash ? slash + 1 : path) > NAME_MAX)
    return dm_fail_at(DM_E_USAGE, at, "its name is too long");
  return DM_OK;
}

dm_status dm_file_failed(const dm_location *at, const char *path, const char *what) {
  return dm_fail_at(DM_E_IO, at, "'%s' cannot be %s: %s", path, what, strerror(errno));
}

dm_status dm_file_hint_home(dm_status status) {
  return dm_hint(status, "shells replace ~ only where a word begins, without quotes: $HOME/... "
                         "always works");
}

bool dm_path_names(const char *path, int fd) {
  struct stat named, held;
  return lstat(path, &named) == 0 && fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

void dm_path_directory(const char *file, char directory[DM_PATH]) {
  snprintf(directory, DM_PATH, "%s", file);
  char *slash = strrchr(directory, '/');
  if (!slash)
    snprintf(directory, DM_PATH, ".");
  else if (slash == directory)
    slash[1] = '\0';
  else
    *slash = '\0';
}
