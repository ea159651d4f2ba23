#include "core/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/units.h"

/* Some file systems have no files without a name from the beginning. */
static dm_status spill_open(const char *folder, int *file) {
  char path[4200];
  *file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (*file >= 0) return DM_OK;
  if (snprintf(path, sizeof path, "%s/.damier-spill-XXXXXX", folder) >= (int)sizeof path)
    return dm_fail(DM_E_USAGE, "the name of a folder is too long");
  *file = mkostemp(path, O_CLOEXEC);
  if (*file < 0) return dm_fail(DM_E_IO, "%s: no file for elements: %s", folder, strerror(errno));
  (void)unlink(path);
  return DM_OK;
}

static dm_status spill_no_space(const char *folder, int64_t bytes) {
  char text[32];
  return dm_fail(DM_E_FIT, "the disk of %s has no space for %s of elements", folder,
                 dm_format_bytes(bytes, text));
}

/* Writes to pages without space would end the process. */
static dm_status spill_reserve(const char *folder, int file, int64_t old, int64_t bytes) {
  struct statvfs disk;
  if (fstatvfs(file, &disk) == 0 &&
      (double)disk.f_bavail * (double)disk.f_frsize < (double)(bytes - old))
    return spill_no_space(folder, bytes);
  const int failed = posix_fallocate(file, old, bytes - old);
  if (failed == ENOSPC || failed == EFBIG) return spill_no_space(folder, bytes);
  return failed ? dm_fail(DM_E_IO, "%s: no space is reserved: %s", folder, strerror(failed))
                : DM_OK;
}

dm_status dm_spill_grow(const char *folder, int64_t bytes, dm_spill *s) {
  int file = s->file - 1;
  if (bytes <= s->bytes) return DM_OK;
  bytes = dm_round_up(bytes, sysconf(_SC_PAGESIZE));
  if (file < 0) DM_TRY(spill_open(folder, &file));
  s->file = file + 1;
  DM_TRY(spill_reserve(folder, file, s->bytes, bytes));
  void *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED)
    return dm_fail(DM_E_IO, "%s: a file of elements is not mapped: %s", folder, strerror(errno));
  if (s->base) munmap(s->base, (size_t)s->bytes);
  s->base = base;
  s->bytes = bytes;
  return DM_OK;
}

void dm_spill_free(dm_spill *s) {
  if (s->base) munmap(s->base, (size_t)s->bytes);
  if (s->file > 0) close(s->file - 1);
  *s = (dm_spill){.base = NULL};
}
