#include "io/put.h"

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
#include "io/batch.h"
#include "io/naming.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

enum {
  BLOCK = 4096,             /* what goes past the page cache begins and ends with one, */
  SECTOR = 512,             /* its memory with one of these */
  LEAST_DIRECT = 512 << 10, /* bytes: shorter pieces leave too much to edges, and to waiting */
  LEAST_MAPPED = 64 << 10,  /* and these to calls */
  BOUNCE = 256 << 10,       /* memory of a thread for what lies askew in its own */
  LONGEST = 1 << 30         /* of one call; Linux moves at most 2 GiB - 4 KiB */
};

struct dm_put {
  char file[DM_PATH + 8]; /* for messages */
  int fd, direct;         /* direct: past the page cache, or -1 */
  char *map;              /* all of the file, or NULL */
  int64_t length;
  /* pwrite from the moment on at which another has turned out not to go. */
  _Atomic dm_write_way way;
};

int dm_put_flags(dm_write_way way) {
  return way == DM_WRITE_MAPPED ? O_RDWR : O_WRONLY; /* pages cannot be mapped for writing alone */
}

static bool is_same(const struct stat *info, int fd) {
  struct stat other;
  return fstat(fd, &other) == 0 && other.st_dev == info->st_dev && other.st_ino == info->st_ino;
}

static bool open_direct(dm_put *put, const struct stat *info) {
  if (info->st_blksize > BLOCK) return false; /* pages would be written in both ways at once */
  put->direct = open(put->file, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (put->direct < 0 || !is_same(info, put->direct)) return false;
  /* Of what was read of it before, large pages could cover an edge and its neighbours. */
  (void)posix_fadvise(put->fd, 0, 0, POSIX_FADV_DONTNEED);
  return true;
}

/* Whether pages can be asked for beforehand, too: without that what goes wrong is a signal. */
static bool map_file(dm_put *put, const struct stat *info) {
  put->length = info->st_size;
  if (put->length == 0) return false;
  void *map = mmap(NULL, (size_t)put->length, PROT_READ | PROT_WRITE, MAP_SHARED, put->fd, 0);
  if (map == MAP_FAILED) return false;
  put->map = map;
  return madvise(map, (size_t)dm_min(put->length, BLOCK), MADV_POPULATE_WRITE) == 0;
}

dm_status dm_put_open(int fd, const char *file, dm_write_way way, dm_put **put) {
  void *memory;
  struct stat info;
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_put), &memory));
  dm_put *new = memory;
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
  *put = new;
  return DM_OK;
}

dm_write_way dm_put_way(const dm_put *put) {
  return atomic_load(&put->way);
}

int64_t dm_put_least(const dm_put *put) {
  switch (dm_put_way(put)) {
  case DM_WRITE_DIRECT:
    return LEAST_DIRECT;
  case DM_WRITE_MAPPED:
    return LEAST_MAPPED;
  default:
    return INT64_MAX;
  }
}

void dm_put_close(dm_put *put) {
  if (!put) return;
  if (put->direct >= 0) close(put->direct);
  if (put->map) munmap(put->map, (size_t)put->length);
  free(put);
}

static dm_status put_plain(const dm_put *put, const char *memory, int64_t bytes, int64_t offset) {
  dm_batch batch;
  dm_batch_start(&batch, put->fd, true, put->file, NULL);
  DM_TRY(dm_batch_add(&batch, (char *)memory, bytes, offset));
  return dm_batch_flush(&batch);
}

/* ---- past the page cache ---- */

/* Whole blocks.  *moved may be less than BYTES: what is left is for another way. */
static dm_status put_blocks(dm_put *put, const char *memory, int64_t bytes, int64_t offset,
                            int64_t *moved) {
  while (*moved < bytes) {
    const ssize_t n = pwrite(put->direct, memory + *moved, (size_t)dm_min(bytes - *moved, LONGEST),
                             offset + *moved);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EINVAL || errno == EOPNOTSUPP || errno == EFAULT)) {
      atomic_store(&put->way, DM_WRITE_PWRITE); /* of these blocks, or of this memory, it cannot */
      return DM_OK;
    }
    if (n <= 0) return dm_batch_refused(put->file, true, offset + *moved, n < 0 ? errno : ENOSPC);
    *moved += n;
    if (n % BLOCK != 0) return DM_OK;
  }
  return DM_OK;
}

/* By way of memory that begins as blocks do. */
static dm_status put_askew(dm_put *put, const char *memory, int64_t bytes, int64_t offset,
                           int64_t *moved) {
  void *bounce;
  DM_TRY(dm_buffer_alloc(BOUNCE, &bounce));
  dm_status status = DM_OK;
  for (int64_t part = 0, done = 0; *moved < bytes && done == part && !status; *moved += done) {
    part = dm_min(BOUNCE, bytes - *moved);
    done = 0;
    memcpy(bounce, memory + *moved, (size_t)part);
    status = put_blocks(put, bounce, part, offset + *moved, &done);
  }
  free(bounce);
  return status;
}

/* The blocks that no other writer has a part in; the edges go by way of the page cache. */
static dm_status put_direct(dm_put *put, const char *memory, int64_t bytes, int64_t offset) {
  const int64_t begin = dm_round_up(offset, BLOCK), end = (offset + bytes) / BLOCK * BLOCK;
  const char *inner = memory + (begin - offset);
  int64_t moved = 0;
  DM_TRY((uintptr_t)inner % SECTOR ? put_askew(put, inner, end - begin, begin, &moved)
                                   : put_blocks(put, inner, end - begin, begin, &moved));
  DM_TRY(put_plain(put, memory, begin - offset, offset));
  const int64_t left = begin + moved;
  return put_plain(put, memory + (left - offset), offset + bytes - left, left);
}

/* ---- into mapped pages ---- */

/* The pages are asked for in one go, and left again: they count as this process's memory. */
static dm_status put_mapped(dm_put *put, const char *memory, int64_t bytes, int64_t offset) {
  const int64_t page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  char *pages = put->map + begin;
  const size_t length = (size_t)(offset + bytes - begin);
  if (offset + bytes > put->length) return put_plain(put, memory, bytes, offset);
  int failed;
  do failed = madvise(pages, length, MADV_POPULATE_WRITE) < 0 ? errno : 0;
  while (failed == EINTR);
  if (failed) return dm_batch_refused(put->file, true, offset, failed == EFAULT ? EIO : failed);
  memcpy(put->map + offset, memory, (size_t)bytes);
  (void)madvise(pages, length, MADV_DONTNEED);
  return DM_OK;
}

dm_status dm_put_bytes(dm_put *put, const void *memory, int64_t bytes, int64_t offset) {
  if (bytes < dm_put_least(put)) return put_plain(put, memory, bytes, offset);
  return put->map ? put_mapped(put, memory, bytes, offset) : put_direct(put, memory, bytes, offset);
}
