#include "io/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "dataset/file_system.h"
#include "dataset/naming.h"
#include "io/batch.h"

/* ---- the header: named texts ----
 *
 * Eight bytes of format, the number of fields, then name and text of each, zero-terminated, padded
 * with zeros to a fixed size, so that records can be found whatever happened to the header; the
 * last eight bytes are the XXH3-64 of all others. */

enum { JOURNAL_MARK = 8 }; /* bytes by which a journal is recognised */

typedef struct header_start {
  char format[JOURNAL_MARK] __attribute__((nonstring));
  int64_t count; /* number of fields */
} header_start;

static const header_start none = {.format = "damierJ2"}; /* without a final zero */

_Static_assert(sizeof(header_start) + sizeof(((dm_attributes *)0)->list) + sizeof(uint64_t) <=
                   DM_JOURNAL_HEADER,
               "a full table of fields fits");

/* Fills TEXT; *KEY is its checksum. */
static void make_header(const dm_attributes *fields, char text[DM_JOURNAL_HEADER], uint64_t *key) {
  header_start first = none;
  first.count = fields->count;
  memset(text, 0, DM_JOURNAL_HEADER);
  memcpy(text, &first, sizeof first);
  char *at = text + sizeof first;
  for (int i = 0; i < fields->count; i++) {
    at = stpcpy(at, fields->list[i].name) + 1;
    at = stpcpy(at, fields->list[i].text) + 1;
  }
  *key = dm_checksum_bytes(text, DM_JOURNAL_HEADER - (int64_t)sizeof *key, 0);
  memcpy(text + DM_JOURNAL_HEADER - sizeof *key, key, sizeof *key);
}

static bool take_text(const char **at, const char *end, char *text, size_t room) {
  const size_t length = strnlen(*at, (size_t)(end - *at));
  if (*at + length >= end || length >= room) return false;
  memcpy(text, *at, length + 1);
  *at += length + 1;
  return true;
}

/* The checksum was right, so this fails only for another version of the format. */
static bool take_fields(const char *text, dm_attributes *fields) {
  const char *at = text + sizeof(header_start), *end = text + DM_JOURNAL_HEADER - sizeof(uint64_t);
  header_start first;
  memcpy(&first, text, sizeof first);
  if (first.count < 0 || first.count > DM_ATTRIBUTES) return false;
  memset(fields, 0, sizeof *fields);
  for (; fields->count < first.count; fields->count++) {
    dm_attribute *field = &fields->list[fields->count];
    if (!take_text(&at, end, field->name, sizeof field->name) ||
        !take_text(&at, end, field->text, sizeof field->text))
      return false;
  }
  return true;
}

/* Whether a file of BYTES that starts with TEXT can be a journal, or the start of one. */
static bool is_ours(const char *text, int64_t bytes) {
  return memcmp(text, none.format, (size_t)dm_min(bytes, (int64_t)sizeof none.format)) == 0;
}

/* Whether another version of damier wrote it: all but the last byte of the format are the same. */
static bool is_strange(const char *text, int64_t bytes) {
  return bytes >= JOURNAL_MARK && memcmp(text, none.format, JOURNAL_MARK - 1) == 0 &&
         !is_ours(text, bytes);
}

static bool is_all_zero(const char *text, int64_t bytes) {
  return bytes == 0 || (!text[0] && memcmp(text, text + 1, (size_t)bytes - 1) == 0);
}

/* Parses TEXT, the first bytes of a journal of BYTES; DM_JOURNAL_PRESENT if the header is complete.
 * Records are only written after it is on the disk: a bad one before records is damage. */
static dm_journal_state journal_read_header(const char *text, int64_t bytes, dm_attributes *fields,
                                            uint64_t *key) {
  const int64_t end = DM_JOURNAL_HEADER - (int64_t)sizeof *key;
  if (bytes >= DM_JOURNAL_HEADER && memcmp(text, none.format, sizeof none.format) == 0) {
    memcpy(key, text + end, sizeof *key);
    if (*key == dm_checksum_bytes(text, end, 0) && take_fields(text, fields))
      return DM_JOURNAL_PRESENT;
  }
  if (is_strange(text, bytes)) return DM_JOURNAL_STRANGE;
  return bytes <= DM_JOURNAL_HEADER ? DM_JOURNAL_NEW : DM_JOURNAL_DAMAGED;
}

/* ---- records ----
 *
 * After the header follow blocks. Those of a run begin at its base: the first block of each part,
 * the second one of each, and so on. So no two ranks write to one page, whatever their number, and
 * a reader need not know it: it takes every good record, wherever it is. */

enum {
  RECORD = sizeof(dm_tile_record),
  JOURNAL_BLOCK = 1 << 12,
  PIECE_READ = 1 << 20, /* bytes of records that are read at once */
};

struct dm_journal {
  dm_location at;
  char path[DM_SIBLING_PATH];
  int fd;
  dm_journal_state state;
  dm_attributes fields;
  uint64_t key; /* the header's checksum: detects records of another journal */
  dm_tile_record *tiles;
  int64_t count, last_run, bytes; /* bytes: of the file when opened */
  bool existed, removed;
};

static dm_status journal_failed(const dm_journal *journal, const char *what) {
  return dm_file_failed(&journal->at, journal->path, what);
}

static dm_status journal_in_use(const dm_location *at) {
  return dm_hint(dm_fail_at(DM_E_IO, at, "another run is writing it"),
                 "wait for it, or name another output");
}

/* The checksum of RECORD at OFFSET. */
static uint64_t record_sum(const dm_tile_record *record, uint64_t key, int64_t offset) {
  return dm_checksum_bytes(record, RECORD - (int64_t)sizeof record->own, key + (uint64_t)offset);
}

static bool record_is_good(const dm_tile_record *r, uint64_t key, int64_t offset) {
  return r->parts > 0 && r->part >= 0 && r->part < r->parts && r->own == record_sum(r, key, offset);
}

/* Those of a tile follow each other, by run, and then whole ones first. */
static int record_order(const void *first, const void *second) {
  const dm_tile_record *a = first, *b = second;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  if (a->col != b->col) return a->col < b->col ? -1 : 1;
  if (a->run != b->run) return a->run < b->run ? -1 : 1;
  if (a->parts != b->parts) return a->parts < b->parts ? -1 : 1;
  return (a->part > b->part) - (a->part < b->part);
}

static bool record_is_of(const dm_tile_record *r, const dm_tile_record *tile, bool same_run) {
  return r->row == tile->row && r->col == tile->col && (!same_run || r->run == tile->run);
}

/* The whole tile of the records of one run from FIRST to END, in order; false: a part lacks. */
static bool record_sum_up(const dm_tile_record *first, const dm_tile_record *end,
                          dm_tile_record *tile) {
  int32_t parts = 0;
  dm_tile_record sum = *first;
  sum.checksum = 0;
  for (const dm_tile_record *r = first; r < end && r->parts == first->parts; r++) {
    if (r->part != parts || r->rows != first->rows || r->cols != first->cols) continue;
    sum.checksum += r->checksum;
    parts++;
  }
  if (parts != first->parts) return false;
  sum.part = 0;
  sum.parts = 1;
  *tile = sum;
  return true;
}

/* Makes tiles of COUNT records, in their memory. */
static void sum_up_records(dm_journal *journal, int64_t count) {
  dm_tile_record *list = journal->tiles, *end = list + count, tile;
  if (count > 0) qsort(list, (size_t)count, sizeof *list, record_order);
  for (dm_tile_record *r = list, *next; r < end;) {
    bool complete = false;
    const dm_tile_record place = *r;
    for (; r < end && record_is_of(r, &place, false); r = next) {
      for (next = r + 1; next < end && record_is_of(next, r, true);) next++;
      complete |= record_sum_up(r, next, &tile);
    }
    if (complete) list[journal->count++] = tile;
  }
}

/* Adds the good ones of the BYTES at OFFSET to *COUNT. */
static void take_records(dm_journal *journal, const char *text, int64_t bytes, int64_t offset,
                         int64_t *count) {
  for (int64_t at = 0; at + RECORD <= bytes; at += RECORD) {
    dm_tile_record *next = &journal->tiles[*count];
    memcpy(next, text + at, RECORD);
    if (!record_is_good(next, journal->key, offset + at)) continue;
    journal->last_run = dm_max(journal->last_run, next->run);
    (*count)++;
  }
}

static dm_status read_records(dm_journal *journal) {
  DM_FREED char *piece = NULL;
  int64_t count = 0;
  free(journal->tiles);
  journal->tiles = NULL;
  journal->count = 0;
  journal->last_run = -1;
  DM_TRY(dm_buffer_zeroed((journal->bytes - DM_JOURNAL_HEADER) / RECORD + 1, RECORD,
                          (void **)&journal->tiles));
  DM_TRY(dm_buffer_alloc(PIECE_READ, (void **)&piece));
  for (int64_t at = DM_JOURNAL_HEADER; at < journal->bytes; at += PIECE_READ) {
    const int64_t part = dm_min(PIECE_READ, journal->bytes - at);
    DM_TRY(dm_batch_move(journal->fd, false, journal->path, piece, part, at));
    take_records(journal, piece, part, at, &count);
  }
  sum_up_records(journal, count);
  return DM_OK;
}

/* Files of other programs are left alone, whatever the options. */
static dm_status foreign(const dm_location *at, const char *path) {
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "'%s' exists and was not made by damier", path),
                 "nothing was touched; move it away, or name another output");
}

static dm_status take_length(dm_journal *journal) {
  struct stat info;
  if (fstat(journal->fd, &info) < 0) return journal_failed(journal, "read");
  journal->bytes = (int64_t)info.st_size;
  return DM_OK;
}

static dm_status journal_load(dm_journal *journal) {
  DM_FREED char *text = NULL;
  bool nothing = false;
  DM_TRY(take_length(journal));
  const int64_t bytes = dm_min(journal->bytes, DM_JOURNAL_HEADER);
  DM_TRY(dm_buffer_zeroed(bytes + 1, 1, (void **)&text));
  DM_TRY(dm_batch_move(journal->fd, false, journal->path, text, bytes, 0));
  if (is_all_zero(text, bytes)) DM_TRY(dm_batch_is_zero(journal->path, journal->fd, &nothing));
  if (!nothing && !is_ours(text, bytes) && !is_strange(text, bytes))
    return foreign(&journal->at, journal->path);
  journal->state = nothing
                       ? DM_JOURNAL_NEW
                       : journal_read_header(text, journal->bytes, &journal->fields, &journal->key);
  return journal->state == DM_JOURNAL_PRESENT ? read_records(journal) : DM_OK;
}

static dm_status open_locked(dm_journal *journal, bool *locked) {
  const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  if (journal->fd >= 0) close(journal->fd); /* removed before */
  journal->fd = open(journal->path, flags);
  journal->existed = journal->fd >= 0;
  if (journal->fd < 0 && errno == ENOENT) journal->fd = open(journal->path, flags | O_CREAT, 0666);
  if (journal->fd < 0) return journal_failed(journal, "opened");
  int refused;
  do refused = flock(journal->fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
  while (refused == EINTR);
  /* Another run may have renamed or removed the file between opening and locking. */
  if (refused == EWOULDBLOCK || !dm_path_names(journal->path, journal->fd))
    return journal_in_use(&journal->at);
  *locked = refused == 0;
  return DM_OK;
}

/* Detects a full disk before the work, and lets an interrupted run record its state. */
static dm_status journal_reserve(dm_journal *journal) {
  const int failed =
      dm_batch_reserve(journal->fd, FALLOC_FL_KEEP_SIZE, 0, DM_JOURNAL_HEADER + JOURNAL_BLOCK);
  if (!failed) return DM_OK;
  const bool full = failed == ENOSPC || failed == EDQUOT || failed == EFBIG;
  return dm_fail_at(full ? DM_E_FIT : DM_E_IO, &journal->at, "no space for its journal: %s",
                    strerror(failed));
}

dm_status dm_journal_open(const dm_location *at, dm_journal **journal, bool *locked) {
  dm_journal *new;
  DM_TRY(dm_buffer_table(1, &new));
  new->at = *at;
  new->fd = -1;
  new->last_run = -1;
  dm_status status = dm_file_sibling(at, ".journal", new->path);
  if (!status) status = open_locked(new, locked);
  if (!status) status = journal_load(new);
  if (!status && new->state == DM_JOURNAL_NEW) {
    status = journal_reserve(new);
    if (status && !new->existed) (void)unlink(new->path); /* still empty */
  }
  if (status)
    dm_journal_close(new);
  else
    *journal = new;
  return status;
}

void dm_journal_close(dm_journal *journal) {
  if (!journal) return;
  if (journal->fd >= 0) close(journal->fd);
  free(journal->tiles);
  free(journal);
}

dm_journal_state dm_journal_state_of(const dm_journal *journal) {
  return journal->state;
}

bool dm_journal_existed(const dm_journal *journal) {
  return journal->existed;
}

const dm_attributes *dm_journal_fields(const dm_journal *journal) {
  return &journal->fields;
}

const dm_tile_record *dm_journal_tiles(const dm_journal *journal, int64_t *count) {
  *count = journal->count;
  return journal->tiles;
}

int64_t dm_journal_last_run(const dm_journal *journal) {
  return journal->last_run;
}

bool dm_journal_covers(const dm_journal *journal, int64_t rows, int64_t cols) {
  int64_t elements = 0;
  for (int64_t i = 0; i < journal->count; i++)
    elements += journal->tiles[i].rows * journal->tiles[i].cols;
  return elements == rows * cols && elements > 0;
}

dm_status dm_journal_inspect_complete(const dm_location *at, int64_t rows, int64_t cols,
                                      bool *complete) {
  dm_journal *journal;
  *complete = false;
  DM_TRY(dm_buffer_table(1, &journal));
  journal->at = *at;
  dm_status status = dm_file_sibling(at, ".journal", journal->path);
  journal->fd = open(journal->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (!status && journal->fd >= 0) status = journal_load(journal);
  if (!status) *complete = dm_journal_covers(journal, rows, cols);
  dm_journal_close(journal);
  return status;
}

dm_status dm_journal_clear(dm_journal *journal) {
  /* No old data may follow new records. */
  if (ftruncate(journal->fd, 0) < 0) return journal_failed(journal, "cut");
  if (fsync(journal->fd) < 0) return journal_failed(journal, "synced");
  journal->state = DM_JOURNAL_NEW;
  journal->count = journal->bytes = 0;
  return DM_OK;
}

static dm_status write_header(dm_journal *journal, char *text, int64_t bytes) {
  DM_TRY(dm_batch_move(journal->fd, true, journal->path, text, bytes, 0));
  return fsync(journal->fd) < 0 ? journal_failed(journal, "synced") : DM_OK;
}

dm_status dm_journal_begin(dm_journal *journal, const dm_attributes *fields) {
  DM_FREED char *text = NULL;
  bool locked;
  if (journal->removed) DM_TRY(open_locked(journal, &locked));
  journal->removed = false;
  if (journal->bytes > 0)
    DM_TRY(dm_journal_clear(journal)); /* otherwise its space stays reserved */
  DM_TRY(dm_buffer_alloc(DM_JOURNAL_HEADER, (void **)&text));
  make_header(fields, text, &journal->key);
  /* First what it is recognised by: the disk may receive the rest in any order. */
  DM_TRY(write_header(journal, text, JOURNAL_MARK));
  DM_TRY(write_header(journal, text, DM_JOURNAL_HEADER));
  DM_TRY(dm_folder_sync_name(&journal->at));
  if (fields != &journal->fields) journal->fields = *fields;
  journal->bytes = DM_JOURNAL_HEADER;
  journal->state = DM_JOURNAL_PRESENT;
  return DM_OK;
}

dm_status dm_journal_count(dm_journal *journal, int64_t run, int64_t *count) {
  *count = 0;
  if (journal->state != DM_JOURNAL_PRESENT || journal->removed) return DM_OK;
  DM_TRY(take_length(journal));
  DM_TRY(read_records(journal));
  for (int64_t i = 0; i < journal->count; i++) *count += journal->tiles[i].run == run;
  return DM_OK;
}

dm_status dm_journal_remove(dm_journal *journal) {
  if (!journal->removed && unlink(journal->path) < 0 && errno != ENOENT)
    return journal_failed(journal, "removed");
  journal->removed = true;
  journal->state = DM_JOURNAL_NEW;
  journal->count = journal->bytes = 0;
  return DM_OK;
}

/* Whether FD can be a journal, or one whose contents never reached the disk. */
static dm_status check_ours(const dm_location *at, const char *path, int fd) {
  char start[JOURNAL_MARK];
  bool nothing;
  const int64_t bytes = dm_file_read_at(fd, start, sizeof start, 0);
  if (bytes < 0) return dm_file_failed(at, path, "read");
  if (bytes > 0 && (is_ours(start, bytes) || is_strange(start, bytes))) return DM_OK;
  DM_TRY(dm_batch_is_zero(path, fd, &nothing));
  return nothing ? DM_OK : foreign(at, path);
}

dm_status dm_journal_inspect(const dm_location *at, bool *present) {
  char path[DM_SIBLING_PATH];
  struct stat info;
  *present = false;
  DM_TRY(dm_file_sibling(at, ".journal", path));
  if (lstat(path, &info) < 0)
    return errno == ENOENT || errno == ENOTDIR
               ? DM_OK
               : dm_fail_at(DM_E_IO, at, "'%s': %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return dm_fail_at(DM_E_IO, at, "'%s' is not a file", path);
  int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return dm_file_failed(at, path, "opened");
  const bool held = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
  dm_status status = held ? journal_in_use(at) : check_ours(at, path, fd);
  close(fd);
  *present = !status;
  return status;
}

/* ---- parts ---- */

struct dm_journal_part {
  dm_location at;
  char path[DM_SIBLING_PATH];
  dm_journal_place place;
  int fd, part, parts;
  int64_t count;
  bool failed; /* the state of the disk is unknown: append nothing more */
};

dm_status dm_journal_place_of(const dm_journal *journal, const dm_attributes *fields,
                              dm_journal_place *place) {
  struct stat info;
  if (fstat(journal->fd, &info) < 0) return journal_failed(journal, "examined");
  const int64_t end = dm_max((int64_t)info.st_size, DM_JOURNAL_HEADER);
  *place = (dm_journal_place){.key = journal->key,
                              .inode = (uint64_t)info.st_ino,
                              .base = dm_ceil_div(end, JOURNAL_BLOCK) * JOURNAL_BLOCK,
                              .begun = journal->state == DM_JOURNAL_PRESENT};
  if (place->begun) return DM_OK;
  DM_FREED char *text = NULL;
  DM_TRY(dm_buffer_alloc(DM_JOURNAL_HEADER, (void **)&text));
  make_header(fields, text, &place->key);
  return DM_OK;
}

static dm_status part_open_file(dm_journal_part *p) {
  struct stat info;
  DM_TRY(dm_file_sibling(&p->at, ".journal", p->path));
  p->fd = open(p->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (p->fd < 0 || fstat(p->fd, &info) < 0) return dm_file_failed(&p->at, p->path, "opened");
  if (S_ISREG(info.st_mode) && (uint64_t)info.st_ino == p->place.inode) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, &p->at, "'%s' is not the file that rank 0 holds", p->path),
                 "is another run using it, or do the nodes see different file systems?");
}

dm_status dm_journal_part_open(const dm_location *at, const dm_journal_place *place, int part,
                               int parts, dm_journal_part **opened) {
  DM_TRY(dm_buffer_table(1, opened));
  dm_journal_part *p = *opened;
  *p = (dm_journal_part){.at = *at, .place = *place, .fd = -1, .part = part, .parts = parts};
  dm_status status = part_open_file(p);
  if (!status) return DM_OK;
  dm_journal_part_close(p);
  *opened = NULL;
  return status;
}

void dm_journal_part_close(dm_journal_part *part) {
  if (part && part->fd >= 0) close(part->fd);
  free(part);
}

dm_status dm_journal_part_ready(dm_journal_part *p, bool *ready) {
  dm_tile_record first;
  *ready = p->place.begun || p->part == 0;
  if (*ready) return DM_OK;
  const int64_t bytes = dm_file_read_at(p->fd, &first, RECORD, p->place.base);
  if (bytes < 0) return dm_file_failed(&p->at, p->path, "read");
  *ready = p->place.begun = bytes == RECORD && record_is_good(&first, p->place.key, p->place.base);
  return DM_OK;
}

/* Writes the first of COUNT records, as many as are left of a block; *written of them. */
static dm_status part_write(dm_journal_part *p, dm_tile_record *records, int64_t count,
                            int64_t *written) {
  const int64_t each = JOURNAL_BLOCK / RECORD, block = p->count / each, place = p->count % each;
  const int64_t offset =
      p->place.base + (block * p->parts + p->part) * JOURNAL_BLOCK + place * RECORD;
  *written = dm_min(count, each - place);
  for (int64_t i = 0; i < *written; i++) {
    records[i].part = p->part;
    records[i].parts = p->parts;
    records[i].own = record_sum(&records[i], p->place.key, offset + i * RECORD);
  }
  return dm_batch_move(p->fd, true, p->path, records, *written * RECORD, offset);
}

dm_status dm_journal_part_append(dm_journal_part *p, dm_tile_record *records, int64_t count) {
  if (p->failed) return dm_fail_at(DM_E_BUG, &p->at, "nothing can be appended to its journal");
  if (count == 0) return DM_OK;
  p->failed = true;
  for (int64_t written; count > 0; count -= written, records += written) {
    DM_TRY(part_write(p, records, count, &written));
    p->count += written;
  }
  if (fdatasync(p->fd) < 0) return dm_file_failed(&p->at, p->path, "synced");
  p->failed = false;
  return DM_OK;
}

dm_status dm_journal_append(dm_journal *journal, dm_tile_record *tiles, int64_t count) {
  dm_journal_place place;
  dm_journal_part *whole;
  if (journal->state != DM_JOURNAL_PRESENT)
    return dm_fail_at(DM_E_BUG, &journal->at, "nothing can be appended to its journal");
  DM_TRY(dm_journal_place_of(journal, &journal->fields, &place));
  DM_TRY(dm_journal_part_open(&journal->at, &place, 0, 1, &whole));
  dm_status status = dm_journal_part_append(whole, tiles, count);
  dm_journal_part_close(whole);
  return status;
}
