/* Reserves the space of an output on the disk. On tmpfs reserving clears the pages, which takes as
 * long as writing: a thread does it while A and B are read. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/output_impl.h"

enum { LEAST = 16 << 20 }; /* least bytes that justify a thread */

struct dm_reservation {
  dm_output_file file;
  int64_t bytes;
  bool threaded;
  pthread_t thread;
  dm_status status;
};

/* Detects a full disk now rather than after hours. */
dm_status dm_output_reserve(const dm_output_file *out, int64_t bytes) {
  int failed;
  do failed = fallocate(out->made, 0, 0, (off_t)bytes) < 0 ? errno : 0;
  while (failed == EINTR);
  switch (failed) {
  case 0:
    return DM_OK;
  case EOPNOTSUPP:
  case ENOSYS:
  case EINVAL:
    return DM_OK; /* not supported; statvfs was checked */
  case ENOSPC:
  case EDQUOT: {
    char directory[DM_PATH];
    dm_io_directory(out->at.file, directory);
    dm_status status = dm_output_room(&out->at, directory, bytes);
    return status ? status
                  : dm_fail_at(DM_E_FIT, &out->at, "no space for %lld bytes: %s", (long long)bytes,
                               strerror(failed));
  }
  case EFBIG:
    return dm_hint(dm_fail_at(DM_E_FIT, &out->at, "a file of %lld bytes is not possible here",
                              (long long)bytes),
                   "see ulimit -f and the limits of the file system");
  default:
    return dm_fail_at(DM_E_IO, &out->at, "space cannot be reserved: %s", strerror(failed));
  }
}

static void *reserve(void *argument) {
  dm_reservation *r = argument;
  r->status = dm_output_reserve(&r->file, r->bytes);
  return NULL;
}

dm_status dm_reservation_start(const dm_output_file *out, int64_t bytes,
                               dm_reservation **reservation) {
  *reservation = NULL;
  if (bytes < LEAST) return dm_output_reserve(out, bytes);
  dm_reservation *r = calloc(1, sizeof *r);
  if (!r) return dm_fail(DM_E_FIT, "no memory for a reservation");
  *r = (dm_reservation){.file = *out, .bytes = bytes};
  r->threaded = pthread_create(&r->thread, NULL, reserve, r) == 0;
  *reservation = r;
  if (!r->threaded) r->status = dm_output_reserve(out, bytes);
  return DM_OK;
}

dm_status dm_reservation_end(dm_reservation *r) {
  if (!r) return DM_OK;
  if (r->threaded) (void)pthread_join(r->thread, NULL);
  dm_status status = r->status;
  free(r);
  return status;
}
