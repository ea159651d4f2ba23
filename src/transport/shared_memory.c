#include "transport/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/units.h"
#include "transport/transport.h"
#include "transport/transport_list.h"

#define MEMORY_NAME "damier-shared" /* its name in /proc */

enum { RESERVED_AT_ONCE = 256 << 20 }; /* a signal cancels an interrupted reservation */

/* Where other ranks find the memory: an open file of the rank that created it. */
typedef struct shared_memory_offer {
  int64_t process, file;
  uint64_t token; /* stored at the start; detects a process with the same number in another PID
                     namespace */
} shared_memory_offer;

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

static dm_status shared_memory_create(int64_t bytes, shared_memory_offer *mine, int *file) {
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
static dm_status attach(const shared_memory_offer *theirs, int *file) {
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
static dm_status shared_memory_reserve(const dm_comm *group, int file,
                                       const dm_shared_memory *memory) {
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
  shared_memory_offer made = {0};
  DM_TRY(dm_comm_agree(group, leads ? shared_memory_create(bytes, &made, file) : DM_OK));
  DM_TRY(dm_comm_broadcast(group, &made, sizeof made, 0));
  DM_TRY(dm_comm_agree(group, leads ? DM_OK : attach(&made, file)));
  DM_TRY(dm_comm_agree(group, map(*file, bytes, memory)));
  DM_TRY(dm_comm_agree(group, shared_memory_reserve(group, *file, memory)));
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

/* ---- the ranks of a node keep the panels that they share in shared memory ----
 *
 * Every rank writes its pieces to their places, and products read whole panels from there:
 * nothing is copied, and the bits are those of any other transport.
 *
 * A gather only waits until all ranks have filled their pieces: each has a counter at the start
 * of the memory. Groups that span nodes use the messages of host. */

typedef struct shared_share {
  const dm_comm *group; /* NULL: its panels use messages */
  dm_shared_memory memory;
} shared_share;

/* Tickets below DM_GATHERS are messages; others encode the share and the filling that they await:
 * DM_GATHERS + DM_SHARES * filling + share. */
typedef struct shared_transport {
  dm_transport base;
  dm_transport *messages;
  shared_share shares[DM_SHARES];
} shared_transport;

static dm_status check_limits(const dm_transport_config *config) {
  struct rlimit limit;
  if (config->device >= 0)
    return dm_fail(DM_E_DEVICE, "serves only ranks that multiply on CPUs; use ipc between GPUs");
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return dm_hint(dm_fail(DM_E_DEVICE, "the limit on file sizes applies to shared memory, too"),
                   "ulimit -f unlimited removes it");
  return DM_OK;
}

/* Plans assume that ranks 0 .. r-1 are on the first node, the next r on the second, ... */
static dm_status check_nodes(const dm_comm *group) {
  dm_comm *node;
  DM_TRY(dm_comm_split_node(group, &node));
  const int64_t ranks = dm_comm_size(node), rank = dm_comm_rank(node);
  dm_comm_free(node);
  const int64_t strays = ranks < dm_comm_size(group) && dm_comm_rank(group) % ranks != rank;
  int64_t most[3] = {ranks, -ranks, strays};
  DM_TRY(dm_comm_max_i64(group, most, 3));
  if (most[0] == -most[1] && !most[2]) return DM_OK;
  dm_status status = dm_hint(
      dm_fail(DM_E_DEVICE, "the ranks do not fill the nodes one after the other, equally many on "
                           "each"),
      "mpirun --map-by ppr:N:node, or srun --ntasks-per-node=N --distribution=block, places them "
      "so");
  status->agreed = true; /* all ranks compared the same numbers */
  return status;
}

static dm_status shared_memory_shared_open(const dm_transport_config *config,
                                           dm_transport **transport) {
  DM_TRY(dm_comm_agree(config->group, check_limits(config)));
  DM_TRY(check_nodes(config->group));
  shared_transport *shared = calloc(1, sizeof *shared);
  dm_status status = shared ? DM_OK : dm_fail(DM_E_FIT, "no memory for a transport");
  if (shared) {
    shared->base.ops = &dm_transport_shared;
    status = dm_transport_open(&dm_transport_host, config, &shared->messages);
  }
  status = dm_comm_agree(config->group, status);
  if (!status) {
    *transport = &shared->base;
    return DM_OK;
  }
  if (shared) dm_transport_close(shared->messages);
  free(shared);
  return status;
}

/* Waits for no peer: memory that a peer still reads remains while the peer maps it. */
static void shared_close(dm_transport *transport) {
  shared_transport *shared = (shared_transport *)transport;
  dm_transport_close(shared->messages);
  for (int i = 0; i < DM_SHARES; i++) dm_shared_memory_close(&shared->shares[i].memory);
  free(shared);
}

static dm_status shared_share_open(dm_transport *transport, int share, const dm_comm *group,
                                   int64_t bytes, void **memory) {
  shared_transport *shared = (shared_transport *)transport;
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t head = dm_round_up(dm_shared_lines_bytes(group), page);
  int64_t all;
  if (share < 0 || share >= DM_SHARES || shared->shares[share].group)
    return dm_fail(DM_E_BUG, "share %d cannot have shared slots (again)", share);
  if (bytes < 0 || dm_add_overflows(head, bytes, &all))
    return dm_fail(DM_E_FIT, "the size of the shared slots overflows 64 bits");
  shared_share *mine = &shared->shares[share];
  DM_TRY(dm_shared_memory_open(group, all, &mine->memory));
  mine->group = group;
  *memory = mine->memory.base + head;
  return DM_OK;
}

static _Atomic uint64_t *filled_by(const shared_share *share, int rank) {
  return &dm_shared_lines(&share->memory)[rank].counter[0];
}

static void shared_refilled(dm_transport *transport, int share, uint64_t times) {
  const shared_share *mine = &((shared_transport *)transport)->shares[share];
  if (!mine->group) return;
  _Atomic uint64_t *filled = filled_by(mine, dm_comm_rank(mine->group));
  if (times > atomic_load_explicit(filled, memory_order_relaxed))
    atomic_store_explicit(filled, times, memory_order_release);
}

static bool all_filled(const shared_share *share, uint64_t times) {
  for (int r = 0; r < dm_comm_size(share->group); r++)
    if (atomic_load_explicit(filled_by(share, r), memory_order_acquire) < times) return false;
  return true;
}

static dm_status shared_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  shared_transport *shared = (shared_transport *)transport;
  if (gather->share < 0 || gather->share >= DM_SHARES ||
      shared->shares[gather->share].group != gather->group)
    return dm_transport_post(shared->messages, gather, ticket);
  if (gather->filling > (uint64_t)(INT_MAX - DM_GATHERS - gather->share) / DM_SHARES)
    return dm_fail(DM_E_BUG, "shared slots are filled too often");
  const int filling = gather->filling > 0 ? (int)gather->filling : 1;
  *ticket = DM_GATHERS + DM_SHARES * filling + gather->share;
  return DM_OK;
}

static dm_status shared_test(dm_transport *transport, int ticket, bool *done) {
  shared_transport *shared = (shared_transport *)transport;
  if (ticket < DM_GATHERS) return dm_transport_test(shared->messages, ticket, done);
  const int awaited = ticket - DM_GATHERS;
  *done = all_filled(&shared->shares[awaited % DM_SHARES], (uint64_t)(awaited / DM_SHARES));
  return DM_OK;
}

static int64_t shared_received(const dm_transport *transport) {
  return dm_transport_received(((const shared_transport *)transport)->messages);
}

const dm_transport_ops dm_transport_shared = {
    .name = "shared",
    .about = "memory shared by the CPU ranks of a node; host between nodes",
    .open = shared_memory_shared_open,
    .close = shared_close,
    .shared_slots = shared_share_open,
    .refilled = shared_refilled,
    .post = shared_post,
    .test = shared_test,
    .received = shared_received,
};
