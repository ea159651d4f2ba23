/* Pages are populated before they are touched, or an error names the failure. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checks.h"
#include "core/buffer.h"

enum { BYTES = 40 << 20 };

static int64_t resident(void *base) {
  static unsigned char pages[BYTES / 4096]; /* the smallest */
  int64_t count = 0;
  assert_int_equal(mincore(base, BYTES, pages), 0);
  for (int64_t i = 0; i < BYTES / sysconf(_SC_PAGESIZE); i++) count += pages[i] & 1;
  return count;
}

TEST(pages_are_there) {
  (void)state;
  const int file = memfd_create("damier-test", MFD_CLOEXEC);
  assert_true(file >= 0);
  assert_int_equal(ftruncate(file, BYTES), 0);
  char *base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  assert_true(base != MAP_FAILED);
  assert_int_equal(resident(base), 0);
  const int failed = dm_populate(base, BYTES, true);
  if (failed == EINVAL) skip(); /* Linux before 5.14 */
  assert_int_equal(failed, 0);
  assert_int_equal(resident(base), BYTES / sysconf(_SC_PAGESIZE));
  assert_int_equal(dm_populate(base, BYTES, false), 0);
  assert_int_equal(ftruncate(file, BYTES / 2), 0);
  assert_int_equal(dm_populate(base, BYTES, true), EFAULT); /* instead of a signal */
  assert_int_equal(munmap(base, BYTES), 0);
  assert_int_equal(close(file), 0);
}

RUN_ALL(test_core_populate)
