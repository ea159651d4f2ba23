#include "transport/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/populate.h"
#include "core/units.h"

#define MEMORY_NAME "damier-shared" /* what /proc calls it */

enum { RESERVED_AT_ONCE = 256 << 20 }; /* a signal undoes a reservation that it breaks into */

/* Where the others find it: an open file of the rank that made it. */
typedef struct offer {
  int64_t process, file;
  uint64_t token; /* stands at its begin: another process may bear the same number elsewhere */
} offer;

static dm_status trouble(const char *what) {
  return dm_fail(DM_E_DEVICE, "shared memory: %s: %s", what, strerror(errno));
}

static dm_status no_room(int64_t bytes) {
  char size[32];
  return dm_hint(dm_fail(DM_E_FIT, "no shared memory of %s: %s", dm_format_bytes(bytes, size),
                         strerror(errno)),
                 "--transport host does not need it");
}

/* The kernel promises more than there is, and when it cannot keep that, it kills somebody. */
static dm_status check_room(int64_t bytes) {
  const int64_t available = dm_memory_available();
  errno = ENOMEM;
  return available > 0 && bytes > available ? no_room(bytes) : DM_OK;
}

static dm_status create(int64_t bytes, offer *mine, int *file) {
  DM_TRY(check_room(bytes));
  *file = memfd_create(MEMORY_NAME, MFD_CLOEXEC);
  if (*file < 0) return trouble("memfd_create");
  if (ftruncate(*file, bytes) != 0) return no_room(bytes);
  if (getrandom(&mine->token, sizeof mine->token, 0) != sizeof mine->token)
    return trouble("getrandom");
  mine->process = getpid();
  mine->file = *file;
  if (pwrite(*file, &mine->token, sizeof mine->token, 0) != sizeof mine->token)
    return no_room(bytes);
  return DM_OK;
}

/* What is not ours is not opened: to open a pipe or a device may have effects. */
static dm_status attach(const offer *theirs, int *file) {
  char path[64], target[64] = "";
  uint64_t token = 0;
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)theirs->process,
           (long long)theirs->file);
  if (readlink(path, target, sizeof target - 1) < 0 || !strstr(target, "memfd:" MEMORY_NAME))
    return dm_hint(dm_fail(DM_E_DEVICE, "the ranks do not see each other's open files (%s)", path),
                   "containers on one node need a common PID namespace");
  *file = open(path, O_RDWR | O_CLOEXEC);
  if (*file < 0) return trouble(path);
  if (pread(*file, &token, sizeof token, 0) != sizeof token) return trouble("pread");
  if (token == theirs->token) return DM_OK;
  return dm_fail(DM_E_DEVICE, "shared memory: %s was not made by another rank", path);
}

static dm_status map(int file, int64_t bytes, dm_shared_memory *memory) {
  void *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) return no_room(bytes);
  (void)madvise(base, (size_t)bytes, MADV_HUGEPAGE); /* without them it is only slower */
  *memory = (dm_shared_memory){.base = base, .bytes = bytes};
  return DM_OK;
}

/* Linux before 5.14 reserves pages of a file one call after the other. */
static int reserve_in_turn(int file, int64_t begin, int64_t end) {
  int failed = 0;
  for (int64_t at = begin; at < end && !failed; at += RESERVED_AT_ONCE) {
    do failed = posix_fallocate(file, at, dm_min(RESERVED_AT_ONCE, end - at));
    while (failed == EINTR);
  }
  return failed;
}

/* This rank's part of the pages, by all its threads: what is missing shows here, not as a signal
 * later. */
static dm_status reserve(const dm_comm *group, int file, const dm_shared_memory *memory) {
  const int64_t page = sysconf(_SC_PAGESIZE), ranks = dm_comm_size(group), bytes = memory->bytes;
  const int64_t part = dm_round_up(dm_ceil_div(bytes, ranks), page);
  const int64_t begin = dm_min(bytes, dm_comm_rank(group) * part),
                end = dm_min(bytes, begin + part);
  int failed = dm_populate((char *)memory->base + begin, end - begin, true);
  if (failed == EINVAL) failed = reserve_in_turn(file, begin, end);
  errno = failed;
  return failed ? no_room(bytes) : DM_OK;
}

/* One step after the other, each only where the one before it went well everywhere. */
static dm_status open_together(const dm_comm *group, int64_t bytes, dm_shared_memory *memory,
                               int *file) {
  const bool leads = dm_comm_rank(group) == 0;
  offer made = {0};
  DM_TRY(dm_comm_agree(group, leads ? create(bytes, &made, file) : DM_OK));
  DM_TRY(dm_comm_broadcast(group, &made, sizeof made, 0));
  DM_TRY(dm_comm_agree(group, leads ? DM_OK : attach(&made, file)));
  DM_TRY(dm_comm_agree(group, map(*file, bytes, memory)));
  DM_TRY(dm_comm_agree(group, reserve(group, *file, memory)));
  const uint64_t nothing = 0;
  if (leads) memcpy(memory->base, &nothing, sizeof nothing); /* where the token stood */
  return dm_comm_barrier(group);
}

dm_status dm_shared_memory_open(const dm_comm *group, int64_t bytes, dm_shared_memory *memory) {
  int file = -1;
  *memory = (dm_shared_memory){0};
  bytes = dm_max(bytes, (int64_t)sizeof(uint64_t));
  dm_status status = open_together(group, bytes, memory, &file);
  if (file >= 0) (void)close(file);
  if (status) dm_shared_memory_close(memory);
  return status;
}

void dm_shared_memory_close(dm_shared_memory *memory) {
  if (memory->base) (void)munmap(memory->base, (size_t)memory->bytes);
  *memory = (dm_shared_memory){0};
}
