#include "file/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#ifdef DAMIER_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include "core/buffer.h"
#include "core/checked.h"
#include "file/batch.h"
#include "file/composite.h"
#include "file/file_system.h"
#include "file/naming.h"
#include "file/zarr.h"

/* ---- the header: named texts ----
 *
 * Eight bytes of format, the number of fields, then name and text of each, zero-terminated, padded
 * with zeros to a fixed size, so that records can be found whatever happened to the header; the
 * last eight bytes are the XXH3-64 of all others. */

enum { MARK = 8 }; /* bytes by which a journal is recognised */

typedef struct header_start {
  char format[MARK] __attribute__((nonstring));
  int64_t count; /* number of fields */
} header_start;

static const header_start none = {.format = "damierJ1"}; /* without a final zero */

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

/* Whether its BYTES are all zero: nothing of it reached the disk. */
static bool is_nothing(const char *text, int64_t bytes) {
  return bytes == 0 || (!text[0] && memcmp(text, text + 1, (size_t)bytes - 1) == 0);
}

/* Records are only written after the header is on the disk. */
static bool is_unfinished(const char *text, int64_t bytes) {
  return is_nothing(text, bytes) || (bytes <= DM_JOURNAL_HEADER && is_ours(text, bytes));
}

/* Parses the header in the BYTES of a journal; DM_JOURNAL_PRESENT if it is complete. */
static dm_journal_state read_header(const char *text, int64_t bytes, dm_attributes *fields,
                                    uint64_t *key) {
  const int64_t end = DM_JOURNAL_HEADER - (int64_t)sizeof *key;
  if (bytes >= DM_JOURNAL_HEADER && memcmp(text, none.format, sizeof none.format) == 0) {
    memcpy(key, text + end, sizeof *key);
    if (*key == dm_checksum_bytes(text, end, 0) && take_fields(text, fields))
      return DM_JOURNAL_PRESENT;
  }
  return is_unfinished(text, bytes) ? DM_JOURNAL_NEW : DM_JOURNAL_DAMAGED;
}

/* ---- records ---- */

enum { RECORD = sizeof(dm_tile_record), RESERVED = 1 << 12 /* bytes for records */ };

struct dm_journal {
  dm_location at;
  char path[DM_SIBLING_PATH];
  int fd;
  dm_journal_state state;
  dm_attributes fields;
  uint64_t key; /* the header's checksum: detects records of another journal */
  dm_tile_record *records;
  int64_t count, bytes; /* good records; bytes of the file when opened */
  bool existed, removed;
  bool failed; /* the state of the disk is unknown: append nothing more */
};

static dm_status failed(const dm_journal *journal, const char *what) {
  return dm_file_failed(&journal->at, journal->path, what);
}

static dm_status in_use(const dm_location *at) {
  return dm_hint(dm_fail_at(DM_E_IO, at, "another run is writing it"),
                 "wait for it, or name another output");
}

static bool is_good(const dm_journal *journal, const dm_tile_record *record, int64_t place) {
  return record->sequence == place &&
         record->own == dm_checksum_bytes(record, RECORD - sizeof record->own, journal->key);
}

/* Reads the whole file, including the header; the caller frees *text. */
static dm_status read_file(dm_journal *journal, char **text) {
  struct stat info;
  if (fstat(journal->fd, &info) < 0) return failed(journal, "read");
  journal->bytes = (int64_t)info.st_size;
  DM_TRY(dm_buffer_zeroed(journal->bytes + 1, 1, (void **)text));
  return dm_batch_move(journal->fd, false, journal->path, *text, journal->bytes, 0);
}

static dm_status take_records(dm_journal *journal, const char *text) {
  const int64_t most = (journal->bytes - DM_JOURNAL_HEADER) / RECORD;
  DM_TRY(dm_buffer_zeroed(most, RECORD, (void **)&journal->records));
  for (; journal->count < most; journal->count++) {
    dm_tile_record *next = &journal->records[journal->count];
    memcpy(next, text + DM_JOURNAL_HEADER + journal->count * RECORD, RECORD);
    if (!is_good(journal, next, journal->count)) break;
  }
  return DM_OK;
}

/* Files of other programs are left alone, whatever the options. */
static dm_status foreign(const dm_location *at, const char *path) {
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "'%s' exists and was not made by damier", path),
                 "nothing was touched; move it away, or name another output");
}

/* An incomplete header with nothing after it was never finished: no work is lost. Records are
 * written only after the header is safe, so a bad header followed by records is damage. */
static dm_status understand(dm_journal *journal, const char *text) {
  if (!is_ours(text, journal->bytes) && !is_nothing(text, journal->bytes))
    return foreign(&journal->at, journal->path);
  journal->state = read_header(text, journal->bytes, &journal->fields, &journal->key);
  return journal->state == DM_JOURNAL_PRESENT ? take_records(journal, text) : DM_OK;
}

static dm_status load(dm_journal *journal) {
  DM_FREED char *text = NULL;
  DM_TRY(read_file(journal, &text));
  return understand(journal, text);
}

static dm_status open_locked(dm_journal *journal, bool *locked) {
  const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  if (journal->fd >= 0) close(journal->fd); /* removed before */
  journal->fd = open(journal->path, flags);
  journal->existed = journal->fd >= 0;
  if (journal->fd < 0 && errno == ENOENT) journal->fd = open(journal->path, flags | O_CREAT, 0666);
  if (journal->fd < 0) return failed(journal, "opened");
  int refused;
  do refused = flock(journal->fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
  while (refused == EINTR);
  /* Another run may have renamed or removed the file between opening and locking. */
  if (refused == EWOULDBLOCK || !dm_path_names(journal->path, journal->fd))
    return in_use(&journal->at);
  *locked = refused == 0;
  return DM_OK;
}

/* Detects a full disk before the work, and lets an interrupted run record its state. */
static dm_status reserve(dm_journal *journal) {
  const int failed =
      dm_batch_reserve(journal->fd, FALLOC_FL_KEEP_SIZE, 0, DM_JOURNAL_HEADER + RESERVED);
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
  dm_status status = dm_file_sibling(at, ".journal", new->path);
  if (!status) status = open_locked(new, locked);
  if (!status) status = load(new);
  if (!status && new->state == DM_JOURNAL_NEW) {
    status = reserve(new);
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
  free(journal->records);
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

const dm_tile_record *dm_journal_records(const dm_journal *journal, int64_t *count) {
  *count = journal->count;
  return journal->records;
}

static int by_place(const void *first, const void *second) {
  const dm_tile_record *a = first, *b = second;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  if (a->col != b->col) return a->col < b->col ? -1 : 1;
  return a->sequence < b->sequence ? -1 : 1;
}

dm_status dm_journal_tiles(const dm_journal *journal, int64_t rows, int64_t cols,
                           dm_tile_record **list, int64_t *count, bool *covers) {
  int64_t elements = 0;
  *count = 0;
  DM_TRY(dm_buffer_table(journal->count, list));
  if (journal->count > 0) memcpy(*list, journal->records, (size_t)journal->count * sizeof **list);
  qsort(*list, (size_t)journal->count, sizeof **list, by_place);
  for (int64_t i = 0; i < journal->count; i++) {
    dm_tile_record *one = &(*list)[i], *next = one + 1;
    if (i + 1 < journal->count && one->row == next->row && one->col == next->col) continue;
    elements += one->rows * one->cols;
    (*list)[(*count)++] = *one;
  }
  *covers = elements == rows * cols && elements > 0;
  return DM_OK;
}

dm_status dm_journal_inspect_complete(const dm_location *at, int64_t rows, int64_t cols,
                                      bool *complete) {
  dm_journal *journal;
  DM_FREED dm_tile_record *tiles = NULL;
  int64_t count;
  *complete = false;
  DM_TRY(dm_buffer_table(1, &journal));
  journal->at = *at;
  dm_status status = dm_file_sibling(at, ".journal", journal->path);
  journal->fd = open(journal->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (!status && journal->fd >= 0) status = load(journal);
  if (!status && journal->state == DM_JOURNAL_PRESENT)
    status = dm_journal_tiles(journal, rows, cols, &tiles, &count, complete);
  dm_journal_close(journal);
  return status;
}

/* Truncates the file to BYTES, so that no old data can follow new records. */
static dm_status cut(dm_journal *journal, int64_t bytes) {
  if (ftruncate(journal->fd, (off_t)bytes) < 0) return failed(journal, "cut");
  journal->bytes = bytes;
  return DM_OK;
}

dm_status dm_journal_clear(dm_journal *journal) {
  DM_TRY(cut(journal, 0));
  if (fsync(journal->fd) < 0) return failed(journal, "synced");
  journal->state = DM_JOURNAL_NEW;
  journal->count = 0;
  return DM_OK;
}

static dm_status write_header(dm_journal *journal, char *text, int64_t bytes) {
  DM_TRY(dm_batch_move(journal->fd, true, journal->path, text, bytes, 0));
  return fsync(journal->fd) < 0 ? failed(journal, "synced") : DM_OK;
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
  DM_TRY(write_header(journal, text, MARK));
  DM_TRY(write_header(journal, text, DM_JOURNAL_HEADER));
  DM_TRY(dm_folder_sync_name(&journal->at));
  if (fields != &journal->fields) journal->fields = *fields;
  journal->bytes = DM_JOURNAL_HEADER;
  journal->state = DM_JOURNAL_PRESENT;
  return DM_OK;
}

static dm_status append(dm_journal *journal, dm_tile_record *records, int64_t count) {
  const int64_t end = DM_JOURNAL_HEADER + journal->count * RECORD;
  if (journal->bytes != end) DM_TRY(cut(journal, end));
  for (int64_t i = 0; i < count; i++) {
    records[i].sequence = journal->count + i;
    records[i].own = dm_checksum_bytes(&records[i], RECORD - sizeof records[i].own, journal->key);
  }
  DM_TRY(dm_batch_move(journal->fd, true, journal->path, records, count * RECORD, end));
  if (fdatasync(journal->fd) < 0) return failed(journal, "synced");
  journal->count += count;
  journal->bytes = end + count * RECORD;
  return DM_OK;
}

dm_status dm_journal_append(dm_journal *journal, dm_tile_record *records, int64_t count) {
  if (journal->failed || journal->state != DM_JOURNAL_PRESENT)
    return dm_fail_at(DM_E_BUG, &journal->at, "nothing can be appended to its journal");
  if (count == 0) return DM_OK;
  journal->failed = true;
  DM_TRY(append(journal, records, count));
  journal->failed = false;
  return DM_OK;
}

dm_status dm_journal_remove(dm_journal *journal) {
  if (!journal->removed && unlink(journal->path) < 0 && errno != ENOENT)
    return failed(journal, "removed");
  journal->removed = true;
  journal->state = DM_JOURNAL_NEW;
  journal->count = journal->bytes = 0;
  return DM_OK;
}

/* Whether FD can be a journal, or one whose contents never reached the disk. */
static dm_status check_ours(const dm_location *at, const char *path, int fd) {
  char start[MARK];
  bool nothing;
  const int64_t bytes = dm_file_read_at(fd, start, sizeof start, 0);
  if (bytes < 0) return dm_file_failed(at, path, "read");
  if (bytes > 0 && is_ours(start, bytes)) return DM_OK;
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
  dm_status status = held ? in_use(at) : check_ours(at, path, fd);
  close(fd);
  *present = !status;
  return status;
}

/* ---- checksums ---- */

/* Of many sources, every n-th is sampled: about as many bytes as of one file. */
enum { PIECE = 4096, PLACES = 64, SOURCE_PLACES = 2, SAMPLED = 64 };

uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, (size_t)bytes, seed);
}

/* Checksum of the BYTES at OFFSET of FILE, open as FD; continues from SEED. */
static dm_status checksum_range(int fd, const char *file, int64_t offset, int64_t bytes,
                                uint64_t seed, uint64_t *sum) {
  char piece[PIECE];
  *sum = seed;
  for (int64_t at = 0; at < bytes; at += PIECE) {
    int64_t length = dm_min(PIECE, bytes - at);
    DM_TRY(dm_batch_move(fd, false, file, piece, length, offset + at));
    *sum = dm_checksum_bytes(piece, length, *sum);
  }
  return DM_OK;
}

static dm_status sample(int fd, const dm_dataset *dataset, int64_t places, uint64_t *sum) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &dataset->at, "fstat: %s", strerror(errno));
  const int64_t last = dm_max(0, (int64_t)info.st_size - PIECE);
  *sum = (uint64_t)info.st_size;
  for (int64_t i = 0; i < places; i++) {
    int64_t offset = last / (places - 1) * i + last % (places - 1) * i / (places - 1);
    int64_t length = dm_min(PIECE, (int64_t)info.st_size - offset);
    DM_TRY(checksum_range(fd, dataset->at.file, offset, length, *sum, sum));
  }
  return DM_OK;
}

/* Of Zarr: a few bytes of as many files. */
static dm_status sample_zarr(const dm_dataset *d, int64_t places, uint64_t *sum) {
  dm_zarr zarr;
  DM_TRY(dm_zarr_read_array(&d->at, d->elsewhere, &zarr, NULL));
  for (int64_t i = 0; i < places; i++) {
    uint64_t one = (uint64_t)i; /* there is no such file */
    int fd;
    DM_TRY(dm_zarr_open_part(&d->at, &zarr, d->elsewhere, i, places, &fd));
    dm_status status = fd < 0 ? DM_OK : sample(fd, d, SOURCE_PLACES, &one);
    if (fd >= 0) close(fd);
    DM_TRY(status);
    *sum = dm_checksum_bytes(&one, sizeof one, *sum);
  }
  return DM_OK;
}

static dm_status sample_file(const dm_dataset *dataset, int64_t places, uint64_t *sum) {
  if (dataset->zarr) return sample_zarr(dataset, places, sum);
  int fd = open(dataset->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return dm_fail_at(DM_E_IO, &dataset->at, "cannot be opened: %s", strerror(errno));
  dm_status status = sample(fd, dataset, places, sum);
  close(fd);
  return status;
}

/* Goes on from *SUM with what SOURCE is, but not where, and with some of its bytes if SAMPLED. */
static dm_status add_source(const dm_dataset *source, bool sampled, uint64_t *sum) {
  const char *name = source->at.dataset;
  const char *meaning = source->meaning.text;
  const int64_t facts[] = {source->rows, source->cols, (int64_t)source->dtype, source->file_bytes,
                           source->modified_ns};
  uint64_t data = 0;
  if (sampled) DM_TRY(sample_file(source, SOURCE_PLACES, &data));
  *sum = dm_checksum_bytes(name, (int64_t)strlen(name), *sum);
  *sum = dm_checksum_bytes(facts, sizeof facts, *sum);
  *sum = dm_checksum_bytes(meaning, (int64_t)strlen(meaning), *sum);
  *sum = dm_checksum_bytes(&data, sizeof data, *sum);
  return DM_OK;
}

dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum) {
  const dm_composite *composite = dataset->composite;
  *sum = 0;
  if (!dataset->stack) DM_TRY(sample_file(dataset, PLACES, sum));
  if (!composite) return DM_OK;
  *sum = dm_checksum_bytes(dm_composite_patches(composite),
                           composite->patches * (int64_t)sizeof(dm_patch), *sum);
  const int64_t step = dm_max(1, composite->sources / SAMPLED);
  for (int64_t i = 0; i < composite->sources; i++) {
    dm_dataset source;
    dm_composite_source(composite, i, &source);
    DM_TRY(add_source(&source, i % step == 0, sum));
  }
  return DM_OK;
}
