#include "file/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"
#include "file/batch.h"
#include "file/mount.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

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
  dm_io_file_system(file, kind);
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
static dm_status map_file(dm_file_writer *writer) {
  struct stat info;
  if (fstat(writer->fd, &info) < 0)
    return dm_fail(DM_E_IO, "%s: fstat: %s", writer->file, strerror(errno));
  writer->length = info.st_size;
  void *map = mmap(NULL, (size_t)writer->length, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
  if (map == MAP_FAILED) return DM_OK; /* also if the file is empty */
  writer->pages = map;
  if (madvise(map, (size_t)dm_min(writer->length, TRIED), MADV_POPULATE_WRITE) == 0) return DM_OK;
  dm_file_writer_close(writer);
  return DM_OK;
}

dm_status dm_file_writer_open(int fd, const char *file, dm_write_way way, dm_file_writer *writer) {
  *writer = (dm_file_writer){.fd = fd, .file = file};
  return way == DM_WRITE_MAPPED ? map_file(writer) : DM_OK;
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
  const size_t length = (size_t)(offset + bytes - begin);
  if (!dm_file_writer_maps(writer, bytes) || offset + bytes > writer->length)
    return dm_batch_move(writer->fd, true, writer->file, (char *)memory, bytes, offset);
  int failed;
  do failed = madvise(writer->pages + begin, length, MADV_POPULATE_WRITE) < 0 ? errno : 0;
  while (failed == EINTR);
  if (failed) return dm_batch_refused(writer->file, true, offset, failed == EFAULT ? EIO : failed);
  memcpy(writer->pages + offset, memory, (size_t)bytes);
  (void)madvise(writer->pages + begin, length, MADV_DONTNEED);
  return DM_OK;
}
