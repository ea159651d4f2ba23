#include "dataset/members.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/codec.h"
#include "dataset/file_system.h"
#include "dataset/naming.h"

/* The superblock, or what extends it, names the driver: within the first bytes. */
enum {
  MEMBERS_HEAD = 4096,
  MEMBERS_WIDTH = 9,
  MEMBERS_MOST = 4096, /* files of a family */
  MEMBERS_NAME = 8     /* bytes of a driver's name, and of numbers */
};

/* What the first file says of its driver: the bytes after the driver's name. */
typedef struct members_head {
  int64_t bytes;
  const unsigned char *at;
  unsigned char all[MEMBERS_HEAD];
} members_head;

static int members_open_file(const char *path) {
  return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* Reads what PATH says of DRIVER, "NCSAfami" or "NCSAmult"; false: nothing. Superblocks of version
 * 0 and 1 have a block of their own for it; later ones a message, in which the length follows the
 * name (HDF5 File Format Specification 3.0, II.A, II.B and IV.A.2.u). */
static bool members_say(const char *path, const char *driver, members_head *head) {
  static const char signature[] = "\x89HDF\r\n\x1a\n";
  const int fd = members_open_file(path);
  const int64_t got = fd < 0 ? -1 : dm_file_read_at(fd, head->all, MEMBERS_HEAD, 0);
  if (fd >= 0) close(fd);
  if (got < MEMBERS_NAME + 1 || memcmp(head->all, signature, MEMBERS_NAME) != 0) return false;
  const unsigned char *name = memmem(head->all, (size_t)got, driver, MEMBERS_NAME);
  if (!name) return false;
  head->at = name + MEMBERS_NAME + (head->all[MEMBERS_NAME] >= 2 ? 2 : 0);
  head->bytes = got - (head->at - head->all);
  return true;
}

/* PATH with the LENGTH bytes from AT replaced by TEXT; false: it is too long. */
static bool members_replace(const char *path, const char *at, size_t length, const char *text,
                            char out[DM_PATH]) {
  return snprintf(out, DM_PATH, "%.*s%s%s", (int)(at - path), path, text, at + length) < DM_PATH;
}

/* ---- family: one number in the name ---- */

/* File NUMBER of the family of PATTERN, whose "%d" or "%03d" is at AT, LENGTH bytes. */
static bool members_nth(const char *pattern, const char *at, size_t length, int width, int number,
                        char out[DM_PATH]) {
  char text[96];
  snprintf(text, sizeof text, "%0*d", width, number);
  return members_replace(pattern, at, length, text, out);
}

/* Whether PATTERN has a first file: then *m is the family. */
static bool members_has_first(const char *pattern, const char *at, size_t length, int width,
                              dm_members *m) {
  members_head head;
  if (!members_nth(pattern, at, length, width, 0, m->first) ||
      !members_say(m->first, "NCSAfami", &head) || head.bytes < MEMBERS_NAME)
    return false;
  const uint64_t each = dm_little_endian(head.at, 8);
  m->kind = DM_MEMBERS_FAMILY;
  m->each = each > INT64_MAX ? 0 : (int64_t)each;
  return m->each > 0;
}

/* The family with the file PATH, whose first file is there. */
static bool members_family_of(const char *path, dm_members *m) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  for (const char *end = path + strlen(path); end > name; end--) {
    if (!isdigit((unsigned char)end[-1])) continue;
    const char *at = end;
    while (at > name && isdigit((unsigned char)at[-1])) at--;
    const size_t length = (size_t)(end - at);
    char text[MEMBERS_WIDTH + 4];
    for (int padded = 0; padded < 2 && length <= MEMBERS_WIDTH; padded++) {
      const int width = padded ? (int)length : 1;
      snprintf(text, sizeof text, width > 1 ? "%%0%dd" : "%%d", width);
      if (members_has_first(path, at, length, width, m))
        return members_replace(path, at, length, text, m->pattern);
    }
    end = at + 1; /* continues before the number */
  }
  return false;
}

/* The "%d" or "%03d" of PATTERN: its place, length and width; NULL: it has none. */
static const char *members_percent(const char *pattern, size_t *length, int *width) {
  const char *at = strchr(pattern, '%');
  const size_t digits = at ? strspn(at + 1, "0123456789") : 0;
  if (!at || digits > 2 || (digits == 2 && at[1] != '0') || at[1 + digits] != 'd') return NULL;
  *length = digits + 2;
  *width = digits > 0 && at[digits] > '0' ? at[digits] - '0' : 1;
  return at;
}

static bool members_is_pattern(const char *path, dm_members *m) {
  size_t length;
  int width;
  const char *at = members_percent(path, &length, &width);
  if (!at || !members_has_first(path, at, length, width, m)) return false;
  return snprintf(m->pattern, DM_PATH, "%s", path) < DM_PATH;
}

/* ---- multi and split: a file of metadata, and others ---- */

/* The name that TEMPLATE, "%s-r.h5", has in the place of OWN, which is PATH's; false: PATH is not
 * named so. */
static bool members_named(const char *path, const char *own, const char *template,
                          char out[DM_PATH]) {
  const size_t length = strlen(path);
  if (strncmp(own, "%s", 2) != 0 || strncmp(template, "%s", 2) != 0) return false;
  const size_t ending = strlen(own + 2);
  if (length < ending || strcmp(path + length - ending, own + 2) != 0 || strchr(template, '/'))
    return false;
  return members_replace(path, path + length - ending, ending, template + 2, out);
}

/* Parses what the file of metadata says: for each kind of bytes the kind whose file has them, then
 * start and end of each of these, and names, each padded to 8 bytes. */
static bool members_parse(const members_head *head, dm_members *m) {
  enum { MEMBERS_MAP = 8, MEMBERS_PLACE = 16, MEMBERS_DRAW = 2 };
  char files = 0, of[DM_MEMBERS_KINDS], template[DM_MEMBERS_KINDS][64];
  int64_t at = MEMBERS_MAP, data = -1;
  m->count = 0;
  for (int i = 0; i < DM_MEMBERS_KINDS && head->bytes >= MEMBERS_MAP; i++) {
    const unsigned char kind = head->at[i];
    if (kind < 1 || kind > DM_MEMBERS_KINDS) return false;
    if (!(files >> kind & 1)) of[m->count++] = (char)kind;
    files = (char)(files | 1 << kind);
  }
  if (m->count < 1 || head->bytes < at + m->count * MEMBERS_PLACE) return false;
  for (int i = 0; i < m->count; i++, at += MEMBERS_PLACE)
    m->starts[i] = dm_little_endian(head->at + at, 8);
  for (int i = 0; i < m->count; i++) {
    const int64_t room = head->bytes - at;
    const size_t length = room > 0 ? strnlen((const char *)head->at + at, (size_t)room) : 0;
    if (length == 0 || (int64_t)length == room || length >= sizeof template[i]) return false;
    memcpy(template[i], head -> at + at, length + 1);
    at += dm_round_up((int64_t)length + 1, MEMBERS_NAME);
    if (!members_named(m->first, template[0], template[i], m -> names[i])) return false;
    if (of[i] == (char)head->at[MEMBERS_DRAW]) data = i;
  }
  if (data < 0 || m->starts[0] != 0) return false;
  m->start = m->starts[data];
  memcpy(m->pattern, m->names[data], DM_PATH);
  m->kind = DM_MEMBERS_SPLIT;
  return true;
}

static bool members_split_by(const char *metadata, dm_members *m) {
  members_head head;
  if (!members_say(metadata, "NCSAmult", &head)) return false;
  return snprintf(m->first, DM_PATH, "%s", metadata) < DM_PATH && members_parse(&head, m);
}

static bool members_split_of(const char *path, dm_members *m) {
  static const struct {
    const char *part, *metadata;
  } names[] = {{"raw", "meta"}, {"-r", "-m"}, {"-s", "-m"}, {"-b", "-m"},
               {"-g", "-m"},    {"-l", "-m"}, {"-o", "-m"}, {".r", ".m"}};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char metadata[DM_PATH];
  if (members_split_by(path, m)) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (const char *at = name; (at = strstr(at, names[i].part)); at++)
      if (members_replace(path, at, strlen(names[i].part), names[i].metadata, metadata) &&
          members_split_by(metadata, m))
        return true;
  return snprintf(metadata, sizeof metadata, "%s-m.h5", path) < DM_PATH &&
         members_split_by(metadata, m);
}

bool dm_members_find(const char *path, dm_members *m) {
  memset(m, 0, sizeof *m);
  if (members_is_pattern(path, m) || members_family_of(path, m) || members_split_of(path, m))
    return true;
  m->kind = DM_MEMBERS_NONE;
  return false;
}

bool dm_members_is_name(const dm_members *m, const char *path) {
  return strcmp(path, m->first) == 0 || access(path, F_OK) != 0;
}

/* ---- the open files ---- */

typedef struct member_file {
  int fd;
  uint64_t start;
  int64_t bytes;
} member_file;

struct dm_member_files {
  dm_members_kind kind;
  int64_t each;
  int count, data;
  int64_t latest;   /* change of any, in nanoseconds */
  int64_t total;    /* bytes of all */
  struct stat info; /* of the one with the elements */
  member_file of[MEMBERS_MOST];
};

void dm_members_close(dm_member_files *files) {
  if (!files) return;
  for (int i = 0; i < files->count; i++) close(files->of[i].fd);
  free(files);
}

/* Adds the file PATH, which begins at address START. */
static dm_status members_add(const dm_location *at, const char *path, uint64_t start, bool is_data,
                             dm_member_files *files) {
  struct stat info;
  const int fd = members_open_file(path);
  if (fd < 0)
    return dm_fail_at(errno == ENOENT ? DM_E_INPUT : DM_E_IO, at, "its file '%.200s': %s", path,
                      strerror(errno));
  files->of[files->count++] = (member_file){fd, start, 0};
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, at, "'%.200s': %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return dm_fail_at(DM_E_INPUT, at, "'%.200s' is no file", path);
  const int64_t changed = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  files->of[files->count - 1].bytes = (int64_t)info.st_size;
  files->total += (int64_t)info.st_size;
  files->latest = dm_max(files->latest, changed);
  if (is_data) files->info = info;
  if (is_data) files->data = files->count - 1;
  return DM_OK;
}

static dm_status members_open_family(const dm_location *at, const dm_members *m,
                                     dm_member_files *files) {
  size_t length = 0;
  int width = 1;
  char path[DM_PATH];
  const char *place = members_percent(m->pattern, &length, &width);
  for (int i = 0; place; i++) {
    if (!members_nth(m->pattern, place, length, width, i, path)) break;
    if (i > 0 && access(path, F_OK) != 0) break;
    if (i == MEMBERS_MOST)
      return dm_hint(dm_fail_at(DM_E_INPUT, at, "consists of more than %d files", MEMBERS_MOST),
                     "'h5repart -family_to_single %.200s OUT.h5' joins them", m->pattern);
    if (i > 0 && files->of[i - 1].bytes != m->each)
      return dm_fail_at(DM_E_INPUT, at,
                        "file %d of '%.200s' has %lld bytes, not %lld: was it cut off?", i - 1,
                        m->pattern, (long long)files->of[i - 1].bytes, (long long)m->each);
    DM_TRY(members_add(at, path, (uint64_t)i * (uint64_t)m->each, i == 0, files));
  }
  return files->of[files->count - 1].bytes <= m->each
             ? DM_OK
             : dm_fail_at(DM_E_INPUT, at, "the last file of '%.200s' is too long", m->pattern);
}

dm_status dm_members_open(const dm_location *at, const dm_members *m, dm_member_files **out) {
  dm_member_files *files;
  DM_TRY(dm_buffer_table(1, &files));
  *files = (dm_member_files){.kind = m->kind, .each = m->each};
  dm_status status = DM_OK;
  if (m->kind == DM_MEMBERS_FAMILY) status = members_open_family(at, m, files);
  for (int i = 0; i < m->count && !status; i++)
    status =
        members_add(at, m->names[i], m->starts[i], strcmp(m->names[i], m->pattern) == 0, files);
  if (status)
    dm_members_close(files);
  else
    *out = files;
  return status;
}

/* The file with address AT, the last that begins before it; NULL: none. */
static const member_file *members_file_at(const dm_member_files *files, uint64_t at) {
  const member_file *found = NULL;
  if (files->kind == DM_MEMBERS_FAMILY) {
    const uint64_t number = at / (uint64_t)files->each;
    return number < (uint64_t)files->count ? &files->of[number] : NULL;
  }
  for (int i = 0; i < files->count; i++)
    if (files->of[i].start <= at && (!found || found->start < files->of[i].start))
      found = &files->of[i];
  return found;
}

bool dm_members_place(const dm_member_files *files, uint64_t at, int *fd, int64_t *offset,
                      int64_t *bytes) {
  const member_file *file = members_file_at(files, at);
  if (!file || at - file->start >= (uint64_t)file->bytes) return false;
  *fd = file->fd;
  *offset = (int64_t)(at - file->start);
  *bytes = file->bytes - *offset;
  return true;
}

bool dm_members_read(const dm_member_files *files, void *to, int64_t bytes, uint64_t at) {
  for (int64_t done = 0, room; done < bytes; done += room) {
    int fd;
    int64_t offset;
    if (!dm_members_place(files, at + (uint64_t)done, &fd, &offset, &room)) {
      memset((char *)to + done, 0, (size_t)(bytes - done)); /* as behind the end of a file */
      return true;
    }
    room = dm_min(room, bytes - done);
    if (dm_file_read_at(fd, (char *)to + done, room, offset) != room) return false;
  }
  return true;
}

uint64_t dm_members_end(const dm_member_files *files) {
  uint64_t end = 0;
  for (int i = 0; i < files->count; i++) {
    const uint64_t one = files->of[i].start + (uint64_t)files->of[i].bytes;
    if (one > end) end = one;
  }
  return end;
}

int dm_members_data(const dm_member_files *files) {
  return files->of[files->data].fd;
}

dm_status dm_members_identify(const dm_member_files *files, dm_dataset *dataset) {
  dm_dataset_set_identity(&files->info, dataset);
  if (files->kind == DM_MEMBERS_FAMILY) dataset->file_bytes = files->total;
  dataset->modified_ns = files->latest;
  return DM_OK;
}

dm_status dm_members_look(const dm_location *at, dm_dataset *dataset) {
  dm_members members;
  dm_member_files *files = NULL;
  if (!dm_members_find(at->file, &members))
    return dm_fail_at(DM_E_IO, at, "cannot be found any more");
  DM_TRY(dm_members_open(at, &members, &files));
  dm_status status = dm_members_identify(files, dataset);
  dm_members_close(files);
  return status;
}
