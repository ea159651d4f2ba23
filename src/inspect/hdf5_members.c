#include "inspect/hdf5_members.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dataset/file_system.h"
#include "dataset/naming.h"

/* The superblock, or what extends it, names the driver: within the first bytes. */
enum { MEMBERS_HEAD = 4096, MEMBERS_WIDTH = 9 };

/* Whether PATH begins like the first file that DRIVER wrote: "NCSAfami" or "NCSAmult". */
static bool members_begin(const char *path, const char *driver) {
  char head[MEMBERS_HEAD];
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  const int64_t got = fd < 0 ? -1 : dm_file_read_at(fd, head, sizeof head, 0);
  if (fd >= 0) close(fd);
  return got > 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0 &&
         memmem(head, (size_t)got, driver, 8) != NULL;
}

/* PATH with the LENGTH bytes from AT replaced by TEXT; false: it is too long. */
static bool members_replace(const char *path, const char *at, size_t length, const char *text,
                            char out[DM_PATH]) {
  return snprintf(out, DM_PATH, "%.*s%s%s", (int)(at - path), path, text, at + length) < DM_PATH;
}

/* ---- family: one number in the name ---- */

/* Whether PATTERN, whose "%d" or "%03d" is at AT, LENGTH bytes, has a first file. */
static bool members_has_first(const char *pattern, const char *at, size_t length, int width) {
  char number[MEMBERS_WIDTH + 1], first[DM_PATH];
  snprintf(number, sizeof number, "%0*d", width, 0);
  return members_replace(pattern, at, length, number, first) && members_begin(first, "NCSAfami");
}

/* The pattern that a family with the file PATH has, whose first file is there. */
static bool members_pattern_of(const char *path, char pattern[DM_PATH]) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  for (const char *end = path + strlen(path); end > name; end--) {
    if (!isdigit((unsigned char)end[-1])) continue;
    const char *at = end;
    while (at > name && isdigit((unsigned char)at[-1])) at--;
    const size_t length = (size_t)(end - at);
    char text[MEMBERS_WIDTH + 4];
    for (int padded = 0; padded < 2 && length <= MEMBERS_WIDTH; padded++) {
      const int width = padded ? (int)length : 1;
      if (width > 1)
        snprintf(text, sizeof text, "%%0%dd", width);
      else
        snprintf(text, sizeof text, "%%d");
      if (members_has_first(path, at, length, width))
        return members_replace(path, at, length, text, pattern);
    }
    end = at + 1; /* continues before the number */
  }
  return false;
}

/* PATH itself, if it is such a pattern. */
static bool members_is_pattern(const char *path, char pattern[DM_PATH]) {
  const char *at = strchr(path, '%');
  if (!at) return false;
  const size_t digits = strspn(at + 1, "0123456789");
  int width = 1;
  if (digits > 2 || at[1 + digits] != 'd') return false;
  if (digits > 0) width = at[digits] - '0';
  if (!members_has_first(path, at, digits + 2, width)) return false;
  snprintf(pattern, DM_PATH, "%s", path);
  return true;
}

/* ---- multi and split: a file of metadata, and others ---- */

/* The file of metadata that PATH belongs to. */
static bool members_metadata_of(const char *path, char metadata[DM_PATH]) {
  static const struct {
    const char *part, *metadata;
  } names[] = {{"raw", "meta"}, {"-r", "-m"}, {"-s", "-m"}, {"-b", "-m"},
               {"-g", "-m"},    {"-l", "-m"}, {"-o", "-m"}, {".r", ".m"}};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  snprintf(metadata, DM_PATH, "%s", path);
  if (members_begin(path, "NCSAmult")) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (const char *at = name; (at = strstr(at, names[i].part)); at++)
      if (members_replace(path, at, strlen(names[i].part), names[i].metadata, metadata) &&
          members_begin(metadata, "NCSAmult"))
        return true;
  return false;
}

dm_status dm_members_name(const dm_location *at) {
  char of[DM_PATH];
  if (members_is_pattern(at->file, of) || members_pattern_of(at->file, of))
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "is one of the files '%.200s' of HDF5's family driver", of),
        "'h5repart -family_to_single %.200s OUT.h5' joins them; h5py reads them with "
        "File('%.200s', driver='family')",
        of, of);
  if (!members_metadata_of(at->file, of)) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_INPUT, at,
                            "is one of the files of HDF5's split (or multi) driver, with the "
                            "metadata in '%.200s'",
                            of),
                 "in Python: s = h5py.File(NAME, 'r', driver='split', meta_ext=b'...', "
                 "raw_ext=b'...'), NAME and an ending being a file; s.copy('dataset', "
                 "h5py.File('OUT.h5', 'w')) joins them");
}
