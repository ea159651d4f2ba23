#include "inspect/known_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/chunk_facts.h"
#include "dataset/file_system.h"
#include "io/read.h"

enum { KNOWN_FILES_KNOWN = 8, KNOWN_FILES_WINDOW = 4096 };

/* Where a file lists its chunks: entries with their sizes and addresses. */
typedef struct chunk_list {
  int64_t at, each; /* the first entry, and the bytes of each; AT 0: not recognised */
} chunk_list;

typedef struct known_files_known {
  dm_location asked;
  dm_vector vectors; /* how one dimension was to be read */
  dm_dataset answer; /* file_bytes 0: none */
  chunk_list list;
  dm_h5_log log;
} known_files_known;

struct dm_known_files {
  int next; /* the place that the next file takes */
  known_files_known of[KNOWN_FILES_KNOWN];
  dm_h5_log expected; /* what a file like a known one contains */
};

dm_status dm_known_new(dm_known_files **files) {
  return dm_buffer_table(1, files);
}

void dm_known_free(dm_known_files *files) {
  free(files);
}

dm_h5_log *dm_known_start(dm_known_files *files) {
  known_files_known *k = &files->of[files->next];
  k->answer.file_bytes = 0;
  k->log.lost = false;
  k->log.count = k->log.bytes = k->log.elements_bytes = 0;
  return &k->log;
}

/* ---- what may differ: the length of a file, and the sizes and addresses of its chunks
 *
 * Superblocks of version 0 have the length at byte 40; the chunks of a dataset are listed in a node
 * of a B-tree of version 1: a header, then for each chunk its size, filter mask, offsets and
 * address (HDF5 File Format Specification 3.0, II.A and III.A.1). That is what the bytes mean if
 * HDF5 said the same of the known file. ---- */

enum {
  VERSION_AT = 8,
  SIZES_AT = 13, /* of addresses, and of lengths */
  BASE_AT = 24,
  END_AT = 40,
  ADDRESS = 8,
  KNOWN_FILES_HEADER = 24, /* of a node */
  MOST_ENTRY = 8 + ADDRESS * (DM_AXES + 2)
};

/* BYTES bytes at AT of the file, if they were read at once; else NULL. */
static unsigned char *logged(dm_h5_log *log, int64_t at, int64_t bytes) {
  unsigned char *content = log->content;
  for (int64_t i = 0; i < log->count; content += log->piece[i++].bytes)
    if (log->piece[i].offset <= at && at + bytes <= log->piece[i].offset + log->piece[i].bytes)
      return content + (at - log->piece[i].offset);
  return NULL;
}

static bool has_plain_superblock(known_files_known *k) {
  const unsigned char *version = logged(&k->log, VERSION_AT, 1),
                      *base = logged(&k->log, BASE_AT, 8);
  const unsigned char *sizes = logged(&k->log, SIZES_AT, 2), *end = logged(&k->log, END_AT, 8);
  return version && *version == 0 && sizes && sizes[0] == ADDRESS && sizes[1] == ADDRESS && base &&
         dm_little_endian(base, 8) == 0 && end &&
         dm_little_endian(end, 8) == (uint64_t)k->answer.file_bytes;
}

static void known_files_take_entry(const unsigned char *entry, int64_t each, dm_few_chunks *few,
                                   int i) {
  few->bytes[i] = (int32_t)dm_little_endian(entry, 4);
  few->skipped[i] = (uint32_t)dm_little_endian(entry + 4, 4);
  few->offset[i] = (int64_t)dm_little_endian(entry + each - ADDRESS, ADDRESS);
}

/* Whether the node in BYTES bytes of CONTENT lists the chunks of FEW, in EACH bytes per chunk. */
static bool known_files_lists(const unsigned char *content, int64_t bytes, const dm_few_chunks *few,
                              int64_t each) {
  static const unsigned char leaf[] = {'T', 'R', 'E', 'E', 1, 0};
  dm_few_chunks listed;
  if (bytes < KNOWN_FILES_HEADER + few->chunks * each || memcmp(content, leaf, sizeof leaf) != 0 ||
      dm_little_endian(content + sizeof leaf, 2) != (uint64_t)few->chunks)
    return false;
  for (int i = 0; i < few->chunks; i++) {
    known_files_take_entry(content + KNOWN_FILES_HEADER + i * each, each, &listed, i);
    if (listed.bytes[i] != few->bytes[i] || listed.skipped[i] != few->skipped[i] ||
        listed.offset[i] != few->offset[i])
      return false;
  }
  return true;
}

static void recognise(known_files_known *k) {
  const dm_axes axes = dm_dataset_axes(&k->answer);
  const int64_t each = 8 + ADDRESS * (axes.count + 2);
  const unsigned char *content = k->log.content;
  k->list = (chunk_list){0};
  /* HDF5 knows the sizes of chunks that are not packed. */
  if (k->answer.few.chunks == 0 || k->answer.few.steps == 0 || !has_plain_superblock(k)) return;
  for (int64_t i = 0; i < k->log.count; content += k->log.piece[i++].bytes)
    if (known_files_lists(content, k->log.piece[i].bytes, &k->answer.few, each))
      k->list = (chunk_list){k->log.piece[i].offset + KNOWN_FILES_HEADER, each};
}

/* The answer must depend on the one file alone. */
static bool is_about_one_file(const dm_trust *trust, const dm_dataset *found) {
  return !trust->external && !trust->swmr && !found->composite &&
         !dm_meaning_points(&found->meaning);
}

void dm_known_add(dm_known_files *files, const dm_trust *trust, const dm_location *asked,
                  const dm_dataset *found) {
  known_files_known *k = &files->of[files->next];
  if (k->log.lost || k->log.count == 0 || !is_about_one_file(trust, found)) return;
  k->asked = *asked;
  k->vectors = trust->vectors;
  k->answer = *found;
  recognise(k);
  files->next = (files->next + 1) % KNOWN_FILES_KNOWN;
}

static bool known_files_is_asked(const known_files_known *k, const dm_trust *trust,
                                 const dm_location *at) {
  return k->vectors == trust->vectors && k->asked.row_axes == at->row_axes &&
         k->asked.complex_axis == at->complex_axis && strcmp(k->asked.dataset, at->dataset) == 0 &&
         strcmp(k->asked.part, at->part) == 0;
}

/* ---- comparing ---- */

/* A part of an open file; what is beyond its end is zero, as for HDF5. */
typedef struct known_files_window {
  int fd;
  int64_t start; /* negative: nothing was read */
  unsigned char content[KNOWN_FILES_WINDOW];
} known_files_window;

static bool move_to(known_files_window *w, int64_t offset) {
  if (w->start >= 0 && offset >= w->start && offset - w->start < KNOWN_FILES_WINDOW) return true;
  memset(w->content, 0, KNOWN_FILES_WINDOW);
  w->start = offset - offset % KNOWN_FILES_WINDOW;
  return dm_file_read_at(w->fd, w->content, KNOWN_FILES_WINDOW, w->start) >= 0;
}

static bool has_same_bytes(int fd, const dm_h5_log *log) {
  known_files_window w = {.fd = fd, .start = -1};
  const unsigned char *content = log->content;
  for (int64_t i = 0; i < log->count; i++) {
    const int64_t end = log->piece[i].offset + log->piece[i].bytes;
    for (int64_t at = log->piece[i].offset, length; at < end; at += length) {
      if (!move_to(&w, at)) return false;
      length = dm_min(end, w.start + KNOWN_FILES_WINDOW) - at;
      if (memcmp(w.content + (at - w.start), content, (size_t)length) != 0) return false;
      content += length;
    }
  }
  return true;
}

/* Puts COUNT bytes at AT of the file into all pieces of LOG that have them. */
static void known_files_put(dm_h5_log *log, int64_t at, const unsigned char *bytes, int64_t count) {
  unsigned char *content = log->content;
  for (int64_t i = 0; i < log->count; content += log->piece[i++].bytes) {
    const int64_t first = log->piece[i].offset;
    const int64_t begin = dm_max(at, first), end = dm_min(at + count, first + log->piece[i].bytes);
    if (begin < end) memcpy(content + (begin - first), bytes + (begin - at), (size_t)(end - begin));
  }
}

/* Sets EXPECTED to what a file like K with this file's length, BYTES, and chunks contains, and FEW
 * to these chunks. */
static bool known_files_expect(const known_files_known *k, int fd, int64_t bytes,
                               dm_h5_log *expected, dm_few_chunks *few) {
  unsigned char end[8], entries[DM_FEW_CHUNKS * MOST_ENTRY];
  const int64_t each = k->list.each;
  *few = k->answer.few;
  if (k->list.at == 0) return false;
  if (dm_file_read_at(fd, end, sizeof end, END_AT) != sizeof end ||
      dm_little_endian(end, 8) != (uint64_t)bytes ||
      dm_file_read_at(fd, entries, few->chunks * each, k->list.at) != few->chunks * each)
    return false;
  *expected = k->log;
  known_files_put(expected, END_AT, end, sizeof end);
  for (int i = 0; i < few->chunks; i++) {
    const int64_t at = k->list.at + i * each, address = each - ADDRESS;
    known_files_take_entry(entries + i * each, each, few, i);
    known_files_put(expected, at, entries + i * each, 4);
    known_files_put(expected, at + address, entries + i * each + address, ADDRESS);
  }
  return true;
}

/* Whether the open file, of BYTES bytes, is like K: *few: its chunks. */
static bool known_files_is_like(const known_files_known *k, int fd, int64_t bytes,
                                dm_h5_log *expected, dm_few_chunks *few) {
  if (known_files_expect(k, fd, bytes, expected, few)) return has_same_bytes(fd, expected);
  return k->answer.file_bytes == bytes && has_same_bytes(fd, &k->log);
}

/* As HDF5 locks a file that it reads, unless the user says that it shall not. */
static bool is_lockable(int fd) {
  const char *wish = getenv("HDF5_USE_FILE_LOCKING");
  if (wish && (strcmp(wish, "FALSE") == 0 || strcmp(wish, "0") == 0)) return true;
  return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

/* The answer for the file of INFO, which is like K but has the chunks FEW; false: it cannot be. */
static bool known_files_answer(const known_files_known *k, const dm_few_chunks *few,
                               const struct stat *info, dm_dataset *find) {
  const dm_location at = find->at;
  *find = k->answer;
  memcpy(find->at.file, at.file, sizeof at.file);
  dm_dataset_set_identity(info, find);
  for (int i = 0; i < few->chunks; i++)
    find->stored_bytes += (int64_t)few->bytes[i] - find->few.bytes[i];
  find->few = *few;
  if (dm_few_chunks_are_sane(find)) return true;
  *find = (dm_dataset){.at = at};
  return false;
}

bool dm_known_find(dm_known_files *files, const dm_trust *trust, dm_dataset *find) {
  struct stat info;
  const known_files_known *found = NULL;
  dm_few_chunks few;
  if (stat(find->at.file, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  bool possible = false;
  for (int i = 0; i < KNOWN_FILES_KNOWN && !possible; i++) {
    const known_files_known *k = &files->of[i];
    possible = k->answer.file_bytes == info.st_size || (k->answer.file_bytes > 0 && k->list.at > 0);
  }
  const int fd = possible ? open(find->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;
  if (fd < 0) return false;
  /* Its identity is that before it was compared: later changes are noticed. */
  const bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_lockable(fd);
  for (int i = 0; i < KNOWN_FILES_KNOWN && good && !found; i++) {
    const known_files_known *k = &files->of[i];
    if (k->answer.file_bytes > 0 && known_files_is_asked(k, trust, &find->at) &&
        known_files_is_like(k, fd, info.st_size, &files->expected, &few))
      found = k;
  }
  close(fd);
  return found && known_files_answer(found, &few, &info, find);
}
