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
#include "core/units.h"

#define MEMORY_NAME "damier-shared" /* its name in /proc */

enum { RESERVED_AT_ONCE = 256 << 20 }; /* a signal cancels an interrupted reservation */

/* Where other ranks find the memory: an open file of the rank that created it. */
typedef struct offer {
  int64_t process, file;
  uint64_t token; /* stored at the start; detects a process with the same number in another PID
                     namespace */
} offer;

static dm_status trouble(const char *what) {
  return dm_fail(DM_E_DEVICE, "shared memory: %s: %s", what, strerror(errno));
}

static dm_status no_room(int64_t bytes) {
  char size[32];
  return dm_hint(dm_fail(DM_E_FIT, "no shared memory of %s: %s", dm_format_bytes(bytes, size),
                         strerror(errno)),
                 "use --transport host, which needs none");
}

/* The kernel overcommits memory and kills processes when it runs out. */
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

/* Opens only memory of this job: opening a pipe or a device can have side effects. */
static dm_status attach(const offer *theirs, int *file) {
  char path[64], target[64] = "";
  uint64_t token = 0;
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)theirs->process,
           (long long)theirs->file);
  if (readlink(path, target, sizeof target - 1) < 0 || !strstr(target, "memfd:" MEMORY_NAME))
    return dm_hint(dm_fail(DM_E_DEVICE, "the ranks cannot open each other's files (%s)", path),
                   "containers on one node need a common PID namespace");
  *file = open(path, O_RDWR | O_CLOEXEC);
  if (*file < 0) return trouble(path);
  if (pread(*file, &token, sizeof token, 0) != sizeof token) return trouble("pread");
  if (token == theirs->token) return DM_OK;
  return dm_fail(DM_E_DEVICE, "shared memory: %s was not created by another rank", path);
}

static dm_status map(int file, int64_t bytes, dm_shared_memory *memory) {
  void *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) return no_room(bytes);
  (void)madvise(base, (size_t)bytes, MADV_HUGEPAGE); /* a failure only costs speed */
  *memory = (dm_shared_memory){.base = base, .bytes = bytes};
  return DM_OK;
}

/* Linux before 5.14 serialises reservations of one file. */
static int reserve_in_turn(int file, int64_t begin, int64_t end) {
  int failed = 0;
  for (int64_t at = begin; at < end && !failed; at += RESERVED_AT_ONCE) {
    do failed = posix_fallocate(file, at, dm_min(RESERVED_AT_ONCE, end - at));
    while (failed == EINTR);
  }
  return failed;
}

/* Reserves this rank's part of the pages with all its threads: a lack of memory becomes an error
 * here instead of a signal later. */
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

/* Each step starts only if the previous one succeeded on all ranks. */
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
  if (leads) memcpy(memory->base, &nothing, sizeof nothing); /* clears the token */
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
