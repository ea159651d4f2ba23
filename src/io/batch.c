#include "io/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/file_system.h"

enum { CALL_LIMIT = 1 << 30 }; /* bytes; Linux moves at most 2 GiB - 4 KiB per call */

void dm_batch_start(dm_batch *batch, int fd, bool writing, const char *file,
                    const dm_keepalive *keepalive) {
  batch->fd = fd;
  batch->writing = writing;
  batch->file = file;
  batch->keepalive = keepalive;
  batch->offset = batch->bytes = batch->calls = 0;
  batch->count = 0;
}

/* The error for errno NUMBER when FILE was read or written at OFFSET. */
static dm_status refused_at(const char *file, bool writing, int64_t offset, int number) {
  dm_status status = dm_fail(DM_E_IO, "%s: %s at byte %lld failed: %s", file,
                             writing ? "writing" : "reading", (long long)offset, strerror(number));
  if (number == ENOSPC || number == EDQUOT)
    dm_hint(status, "make room on its file system, then run again");
  if (number == EFBIG) dm_hint(status, "the limit on file sizes (ulimit -f) is too low");
  return status;
}

static dm_status batch_refused(const dm_batch *batch, int number) {
  return refused_at(batch->file, batch->writing, batch->offset, number);
}

/* Removes MOVED bytes from the front; *first is the first piece left. */
static void batch_advance(dm_batch *batch, int *first, int64_t moved) {
  batch->offset += moved;
  batch->bytes -= moved;
  while (moved > 0) {
    struct iovec *piece = &batch->list[*first];
    int64_t part = dm_min(moved, (int64_t)piece->iov_len);
    piece->iov_base = (char *)piece->iov_base + part;
    piece->iov_len -= (size_t)part;
    moved -= part;
    if (piece->iov_len == 0) ++*first;
  }
}

dm_status dm_batch_flush(dm_batch *batch) {
  int first = 0;
  while (batch->bytes > 0) {
    struct iovec *list = &batch->list[first];
    int count = batch->count - first;
    ssize_t moved = batch->writing ? pwritev(batch->fd, list, count, batch->offset)
                                   : preadv(batch->fd, list, count, batch->offset);
    batch->calls++;
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return batch_refused(batch, errno);
    if (moved == 0 && batch->writing) return batch_refused(batch, ENOSPC);
    if (moved == 0)
      return dm_fail(DM_E_IO, "%s: the file ends at byte %lld: it was truncated during the run",
                     batch->file, (long long)batch->offset);
    batch_advance(batch, &first, moved);
    DM_TRY(dm_keepalive_beat(batch->keepalive));
  }
  batch->count = 0;
  return DM_OK;
}

static dm_status batch_add_piece(dm_batch *batch, char *memory, int64_t bytes, int64_t offset) {
  bool follows = batch->count > 0 && offset == batch->offset + batch->bytes;
  if (!follows || batch->bytes + bytes > CALL_LIMIT) {
    DM_TRY(dm_batch_flush(batch));
    batch->offset = offset;
    follows = false;
  }
  struct iovec *last = follows ? &batch->list[batch->count - 1] : NULL;
  if (last && (char *)last->iov_base + last->iov_len == memory) {
    last->iov_len += (size_t)bytes;
  } else {
    if (batch->count == DM_BATCH_PIECES) {
      DM_TRY(dm_batch_flush(batch));
      batch->offset = offset;
    }
    batch->list[batch->count++] = (struct iovec){.iov_base = memory, .iov_len = (size_t)bytes};
  }
  batch->bytes += bytes;
  return DM_OK;
}

dm_status dm_batch_add(dm_batch *batch, void *memory, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    int64_t part = dm_min(bytes - done, CALL_LIMIT);
    DM_TRY(batch_add_piece(batch, (char *)memory + done, part, offset + done));
    done += part;
  }
  return DM_OK;
}

dm_status dm_batch_move(int fd, bool writing, const char *file, void *memory, int64_t bytes,
                        int64_t offset) {
  dm_batch batch;
  dm_batch_start(&batch, fd, writing, file, NULL);
  DM_TRY(dm_batch_add(&batch, memory, bytes, offset));
  return dm_batch_flush(&batch);
}

enum { BATCH_PIECE = 1 << 20 };

/* Pages without data are not read. */
static dm_status batch_is_zero(const char *file, int fd, char *piece, bool *zero) {
  struct stat info;
  if (fstat(fd, &info) < 0) return refused_at(file, false, 0, errno);
  for (int64_t place = 0, part = 0; place < info.st_size && *zero; place += part) {
    const off_t data = lseek(fd, place, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return DM_OK;
    if (data > place) place = data;
    part = dm_min((int64_t)info.st_size - place, BATCH_PIECE);
    DM_TRY(dm_batch_move(fd, false, file, piece, part, place));
    *zero = piece[0] == 0 && memcmp(piece, piece + 1, (size_t)part - 1) == 0;
  }
  return DM_OK;
}

dm_status dm_batch_is_zero(const char *file, int fd, bool *zero) {
  DM_FREED char *piece = NULL;
  *zero = true;
  DM_TRY(dm_buffer_alloc(BATCH_PIECE, (void **)&piece));
  return batch_is_zero(file, fd, piece, zero);
}

/* ---- ways to write C ---- */

int dm_batch_reserve(int fd, int mode, int64_t at, int64_t bytes) {
  int failed;
  do failed = fallocate(fd, mode, (off_t)at, (off_t)bytes) < 0 ? errno : 0;
  while (failed == EINTR);
  return failed == EOPNOTSUPP || failed == ENOSYS || failed == EINVAL ? 0 : failed;
}

enum {
  MAPPED_FROM = 4, /* threads: on a tmpfs two are equally fast in both ways, 16 five times as
                      fast in mapped pages (docs/hdf5.md) */
  LEAST_MAPPED = 64 << 10, /* bytes: in shorter pieces the calls cost too much */
  TRIED = 4096             /* bytes */
};

const char *dm_write_way_name(dm_write_way way) {
  static const char *const names[] = {"pwrite", "mapped", "auto"};
  return names[way];
}

static dm_write_way suitable(const char *file, int writers) {
  char kind[DM_FILE_SYSTEM];
  dm_file_file_system(file, kind);
  return strcmp(kind, "tmpfs") == 0 && writers >= MAPPED_FROM ? DM_WRITE_MAPPED : DM_WRITE_PWRITE;
}

dm_status dm_write_way_choose(const char *file, dm_write_way wish, int writers, dm_write_way *way) {
  dm_file_writer writer;
  *way = wish == DM_WRITE_AUTO ? suitable(file, writers) : wish;
  if (*way == DM_WRITE_PWRITE) return DM_OK;
  const int fd = open(file, dm_file_writer_flags(*way) | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return dm_fail(DM_E_IO, "%s: open: %s", file, strerror(errno));
  dm_status status = dm_file_writer_open(fd, file, *way, &writer);
  const bool works = !status && writer.pages;
  if (!status) dm_file_writer_close(&writer);
  close(fd);
  if (!status && !works && wish != DM_WRITE_AUTO)
    status = dm_hint(dm_fail(DM_E_USAGE, "%s: its file system does not support writing it %s", file,
                             dm_write_way_name(wish)),
                     "omit --write-by");
  if (!works) *way = DM_WRITE_PWRITE;
  return status;
}

int dm_file_writer_flags(dm_write_way way) {
  return way == DM_WRITE_MAPPED ? O_RDWR : O_WRONLY; /* pages cannot be mapped only for writing */
}

/* Maps the file if pages can also be populated in advance: otherwise errors arrive as signals. */
static dm_status batch_map_file(dm_file_writer *writer) {
  struct stat info;
  if (fstat(writer->fd, &info) < 0)
    return dm_fail(DM_E_IO, "%s: fstat: %s", writer->file, strerror(errno));
  writer->length = info.st_size;
  void *map = mmap(NULL, (size_t)writer->length, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
  if (map == MAP_FAILED) return DM_OK; /* also if the file is empty */
  writer->pages = map;
  if (dm_populate(map, dm_min(writer->length, TRIED), true) == 0) return DM_OK;
  dm_file_writer_close(writer);
  return DM_OK;
}

dm_status dm_file_writer_open(int fd, const char *file, dm_write_way way, dm_file_writer *writer) {
  *writer = (dm_file_writer){.fd = fd, .file = file};
  return way == DM_WRITE_MAPPED ? batch_map_file(writer) : DM_OK;
}

void dm_file_writer_close(dm_file_writer *writer) {
  if (writer->pages) munmap(writer->pages, (size_t)writer->length);
  writer->pages = NULL;
}

bool dm_file_writer_maps(const dm_file_writer *writer, int64_t bytes) {
  return writer->pages && bytes >= LEAST_MAPPED;
}

/* Populates all pages at once and drops them afterwards, since they count as this process's
 * memory. */
dm_status dm_file_writer_bytes(const dm_file_writer *writer, const void *memory, int64_t bytes,
                               int64_t offset) {
  const int64_t page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  const int64_t length = offset + bytes - begin;
  if (!dm_file_writer_maps(writer, bytes) || offset + bytes > writer->length)
    return dm_batch_move(writer->fd, true, writer->file, (char *)memory, bytes, offset);
  const int failed = dm_populate(writer->pages + begin, length, true);
  if (failed) return refused_at(writer->file, true, offset, failed == EFAULT ? EIO : failed);
  memcpy(writer->pages + offset, memory, (size_t)bytes);
  (void)madvise(writer->pages + begin, (size_t)length, MADV_DONTNEED);
  return DM_OK;
}
