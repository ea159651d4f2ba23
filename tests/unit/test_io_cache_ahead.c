/* Files that the system brings into its page cache ahead of their reader. */
#include <fcntl.h>
#include <time.h>

#include "checks.h"
#include "dataset/file_system.h"
#include "io/cache_ahead.h"

enum { BYTES = 9 << 20, PATIENCE = 20 };

static const char path[] = "cache_ahead.bin";

/* A file that is on the disk alone; false: its file system is in memory, or keeps its pages. */
static bool write_uncached(void) {
  static const char zeros[1 << 20];
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  for (int at = 0; at < BYTES; at += (int)sizeof zeros)
    assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
  assert_int_equal(fsync(fd), 0);
  (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  return dm_file_cached(path) < 0.1;
}

TEST(files_are_brought_into_memory) {
  const char *const names[] = {NULL, "no-such-file", path, "/proc/self/stat"};
  const struct timespec moment = {.tv_nsec = 1000000};
  if (!write_uncached()) {
    assert_int_equal(remove(path), 0);
    skip();
  }
  dm_cache_ahead *ahead = dm_cache_ahead_start(names, 4);
  assert_non_null(ahead);
  const time_t until = time(NULL) + PATIENCE;
  while (dm_file_cached(path) < 1 && time(NULL) < until) nanosleep(&moment, NULL);
  assert_true(dm_file_cached(path) == 1);
  dm_cache_ahead_stop(ahead);
  assert_null(dm_cache_ahead_start(names + 2, 1)); /* it is there now */
  assert_int_equal(remove(path), 0);
  dm_cache_ahead_stop(NULL);
}

RUN_ALL(test_io_cache_ahead)
