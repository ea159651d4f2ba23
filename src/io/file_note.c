/* The note is an extended attribute of the file. It has the size of the file and the time of its
 * last change, so that it is not taken for that of other contents. */
#include "io/file_note.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define NOTE "user.damier"

enum { NOTE_TEXT = 512 };

static const char *const noted[] = {"request", "verified", "converged"};
enum { NOTED = sizeof noted / sizeof *noted };

static int stamp_of(const struct stat *info, char text[NOTE_TEXT]) {
  return snprintf(text, NOTE_TEXT, "%lld bytes of %lld.%09ld\n", (long long)info->st_size,
                  (long long)info->st_mtim.tv_sec, info->st_mtim.tv_nsec);
}

void dm_file_note(int fd, const dm_attributes *attributes) {
  char text[NOTE_TEXT];
  struct stat info;
  (void)fremovexattr(fd, NOTE); /* that of a file which this one replaces */
  if (!dm_attributes_find(attributes, "request") || fstat(fd, &info) < 0) return;
  int used = stamp_of(&info, text);
  for (int i = 0; i < NOTED; i++) {
    const char *found = dm_attributes_find(attributes, noted[i]);
    if (!found) continue;
    const int length =
        snprintf(text + used, (size_t)(NOTE_TEXT - used), "%s %s\n", noted[i], found);
    if (length >= NOTE_TEXT - used) return;
    used += length;
  }
  (void)!fsetxattr(fd, NOTE, text, (size_t)used, 0);
}

void dm_file_noted(const char *path, dm_attributes *attributes) {
  char text[NOTE_TEXT], stamp[NOTE_TEXT];
  struct stat info;
  attributes->count = 0;
  const ssize_t length = getxattr(path, NOTE, text, sizeof text - 1);
  if (length < 0 || stat(path, &info) < 0) return;
  text[length] = '\0';
  const size_t head = (size_t)stamp_of(&info, stamp);
  if (strncmp(text, stamp, head) != 0) return;
  char *rest = NULL;
  for (char *line = strtok_r(text + head, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *word = strchr(line, ' ');
    if (!word) continue;
    *word = '\0';
    dm_status_free(dm_attributes_add(attributes, line, "%s", word + 1));
  }
}
