#include "file/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/batch.h"
#include "file/naming.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

enum {
  BLOCK = 4096,             /* alignment of direct writes in the file, */
  SECTOR = 512,             /* and in memory */
  LEAST_DIRECT = 512 << 10, /* bytes: in shorter pieces edges and latency cost too much */
  LEAST_MAPPED = 64 << 10,  /* and in these the calls */
  BOUNCE = 256 << 10,       /* buffer of a thread for unaligned memory */
  LONGEST = 1 << 30         /* bytes per call; Linux moves at most 2 GiB - 4 KiB */
};

struct dm_file_writer {
  char file[DM_PATH + 8]; /* for messages */
  int fd, direct;         /* direct: opened with O_DIRECT, or -1 */
  char *map;              /* all of the file, or NULL */
  int64_t length;
  /* Becomes pwrite when another way fails. */
  _Atomic dm_write_way way;
};

int dm_file_writer_flags(dm_write_way way) {
  return way == DM_WRITE_MAPPED ? O_RDWR : O_WRONLY; /* pages cannot be mapped only for writing */
}

static bool is_same(const struct stat *info, int fd) {
  struct stat other;
  return fstat(fd, &other) == 0 && other.st_dev == info->st_dev && other.st_ino == info->st_ino;
}

static bool open_direct(dm_file_writer *writer, const struct stat *info) {
  if (info->st_blksize > BLOCK) return false; /* the same page would be written in both ways */
  writer->direct = open(writer->file, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (writer->direct < 0 || !is_same(info, writer->direct)) return false;
  /* Large cached pages could cover an edge and its neighbouring blocks. */
  (void)posix_fadvise(writer->fd, 0, 0, POSIX_FADV_DONTNEED);
  return true;
}

/* Maps the file if pages can also be populated in advance: otherwise errors arrive as signals. */
static bool map_file(dm_file_writer *writer, const struct stat *info) {
  writer->length = info->st_size;
  if (writer->length == 0) return false;
  void *map = mmap(NULL, (size_t)writer->length, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
  if (map == MAP_FAILED) return false;
  writer->map = map;
  return madvise(map, (size_t)dm_min(writer->length, BLOCK), MADV_POPULATE_WRITE) == 0;
}

dm_status dm_file_writer_open(int fd, const char *file, dm_write_way way, dm_file_writer **writer) {
  dm_file_writer *new;
  struct stat info;
  DM_TRY(dm_buffer_table(1, &new));
  new->fd = fd;
  new->direct = -1;
  if (strlen(file) >= sizeof new->file || fstat(fd, &info) < 0) {
    free(new);
    return dm_fail(DM_E_IO, "%s: fstat: %s", file, strerror(errno));
  }
  memcpy(new->file, file, strlen(file) + 1);
  const bool goes = (way == DM_WRITE_DIRECT && open_direct(new, &info)) ||
                    (way == DM_WRITE_MAPPED && map_file(new, &info));
  atomic_init(&new->way, goes ? way : DM_WRITE_PWRITE);
  *writer = new;
  return DM_OK;
}

dm_write_way dm_file_writer_way(const dm_file_writer *writer) {
  return atomic_load(&writer->way);
}

int64_t dm_file_writer_least(const dm_file_writer *writer) {
  switch (dm_file_writer_way(writer)) {
  case DM_WRITE_DIRECT:
    return LEAST_DIRECT;
  case DM_WRITE_MAPPED:
    return LEAST_MAPPED;
  default:
    return INT64_MAX;
  }
}

void dm_file_writer_close(dm_file_writer *writer) {
  if (!writer) return;
  if (writer->direct >= 0) close(writer->direct);
  if (writer->map) munmap(writer->map, (size_t)writer->length);
  free(writer);
}

static dm_status write_plain(const dm_file_writer *writer, const char *memory, int64_t bytes,
                             int64_t offset) {
  return dm_batch_move(writer->fd, true, writer->file, (char *)memory, bytes, offset);
}

/* ---- direct I/O ---- */

/* Writes whole blocks. If *moved is less than BYTES, the rest needs another way. */
static dm_status write_blocks(dm_file_writer *writer, const char *memory, int64_t bytes,
                              int64_t offset, int64_t *moved) {
  while (*moved < bytes) {
    const ssize_t n = pwrite(writer->direct, memory + *moved,
                             (size_t)dm_min(bytes - *moved, LONGEST), offset + *moved);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EINVAL || errno == EOPNOTSUPP || errno == EFAULT)) {
      atomic_store(&writer->way,
                   DM_WRITE_PWRITE); /* not supported for these blocks or this memory */
      return DM_OK;
    }
    if (n <= 0)
      return dm_batch_refused(writer->file, true, offset + *moved, n < 0 ? errno : ENOSPC);
    *moved += n;
    if (n % BLOCK != 0) return DM_OK;
  }
  return DM_OK;
}

/* Copies through aligned memory. */
static dm_status write_askew(dm_file_writer *writer, const char *memory, int64_t bytes,
                             int64_t offset, int64_t *moved) {
  void *bounce;
  DM_TRY(dm_buffer_alloc(BOUNCE, &bounce));
  dm_status status = DM_OK;
  for (int64_t part = 0, done = 0; *moved < bytes && done == part && !status; *moved += done) {
    part = dm_min(BOUNCE, bytes - *moved);
    done = 0;
    memcpy(bounce, memory + *moved, (size_t)part);
    status = write_blocks(writer, bounce, part, offset + *moved, &done);
  }
  free(bounce);
  return status;
}

/* Writes the blocks that no other writer shares; edges go through the page cache. */
static dm_status write_direct(dm_file_writer *writer, const char *memory, int64_t bytes,
                              int64_t offset) {
  const int64_t begin = dm_round_up(offset, BLOCK), end = (offset + bytes) / BLOCK * BLOCK;
  const char *inner = memory + (begin - offset);
  int64_t moved = 0;
  DM_TRY((uintptr_t)inner % SECTOR ? write_askew(writer, inner, end - begin, begin, &moved)
                                   : write_blocks(writer, inner, end - begin, begin, &moved));
  DM_TRY(write_plain(writer, memory, begin - offset, offset));
  const int64_t left = begin + moved;
  return write_plain(writer, memory + (left - offset), offset + bytes - left, left);
}

/* ---- into mapped pages ---- */

/* Populates all pages at once and drops them afterwards, since they count as this process's
 * memory. */
static dm_status write_mapped(dm_file_writer *writer, const char *memory, int64_t bytes,
                              int64_t offset) {
  const int64_t page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  char *pages = writer->map + begin;
  const size_t length = (size_t)(offset + bytes - begin);
  if (offset + bytes > writer->length) return write_plain(writer, memory, bytes, offset);
  int failed;
  do failed = madvise(pages, length, MADV_POPULATE_WRITE) < 0 ? errno : 0;
  while (failed == EINTR);
  if (failed) return dm_batch_refused(writer->file, true, offset, failed == EFAULT ? EIO : failed);
  memcpy(writer->map + offset, memory, (size_t)bytes);
  (void)madvise(pages, length, MADV_DONTNEED);
  return DM_OK;
}

dm_status dm_file_writer_bytes(dm_file_writer *writer, const void *memory, int64_t bytes,
                               int64_t offset) {
  if (bytes < dm_file_writer_least(writer)) return write_plain(writer, memory, bytes, offset);
  return writer->map ? write_mapped(writer, memory, bytes, offset)
                     : write_direct(writer, memory, bytes, offset);
}
