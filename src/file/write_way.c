#include "file/write_way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "file/file_system.h"
#include "file/file_writer.h"

/* Number of threads from which mapped pages are faster than pwrite: on a tmpfs two are equally
 * fast, 16 five times as fast (docs/hdf5.md). */
enum { MAPPED_FROM = 4 };

static const char *const names[] = {"pwrite", "direct", "mapped", "auto"};

const char *dm_write_way_name(dm_write_way way) {
  return names[way];
}

/* Direct I/O only on request: it leaves C outside the page cache for the next reader. */
static dm_write_way suitable(const char *file, int writers) {
  char kind[DM_FILE_SYSTEM];
  dm_io_file_system(file, kind);
  return strcmp(kind, "tmpfs") == 0 && writers >= MAPPED_FROM ? DM_WRITE_MAPPED : DM_WRITE_PWRITE;
}

dm_status dm_write_way_choose(const char *file, dm_write_way wish, int writers, dm_write_way *way) {
  dm_file_writer *writer;
  *way = wish == DM_WRITE_AUTO ? suitable(file, writers) : wish;
  const int fd = open(file, dm_file_writer_flags(*way) | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return dm_fail(DM_E_IO, "%s: open: %s", file, strerror(errno));
  dm_status status = dm_file_writer_open(fd, file, *way, &writer);
  if (!status) {
    const bool works = dm_file_writer_way(writer) == *way;
    dm_file_writer_close(writer);
    if (!works && wish != DM_WRITE_AUTO)
      status = dm_hint(dm_fail(DM_E_USAGE, "%s: its file system does not support writing it %s",
                               file, dm_write_way_name(wish)),
                       "omit --write-by");
    if (!works) *way = DM_WRITE_PWRITE;
  }
  close(fd);
  return status;
}
