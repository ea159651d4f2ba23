#include "emulated/emulated_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/checked.h"

enum { BLOCKS = 1024, SPOILED = 0xff };

/* A file, mapped at an accessible address, with its size reserved at an inaccessible one. */
typedef struct block {
  char *address, *way_in; /* address NULL: unused */
  int64_t bytes;          /* requested size */
  size_t mapped;
  int file;
  int device;
} block;

static block blocks[BLOCKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* ranks may be threads */

static dm_status map(block *new) {
  new->way_in = mmap(NULL, new->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, new->file, 0);
  new->address =
      mmap(NULL, new->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (new->way_in == MAP_FAILED || new->address == MAP_FAILED)
    return dm_fail(DM_E_FIT, "no memory for an emulated device: %s", strerror(errno));
  memset(new->way_in, SPOILED, new->mapped);
  return DM_OK;
}

int64_t emulated_room(bool left) {
  const char *stated = getenv("EMULATED_MEMORY");
  int64_t room = stated ? atoll(stated) : (int64_t)4 << 30;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BLOCKS && left && stated; i++)
    if (blocks[i].address) room -= blocks[i].bytes;
  pthread_mutex_unlock(&lock);
  return room;
}

dm_status emulated_alloc(int64_t bytes, void **memory) {
  if (getenv("EMULATED_MEMORY") && bytes > emulated_room(true))
    return dm_fail(DM_E_FIT, "no room for %lld bytes on an emulated device", (long long)bytes);
  block new = {.bytes = dm_max(bytes, 1), .file = memfd_create("emulated", MFD_CLOEXEC)};
  new.mapped = (size_t)dm_round_up(new.bytes, sysconf(_SC_PAGESIZE));
  if (new.file < 0 || ftruncate(new.file, (off_t) new.mapped) != 0)
    return dm_fail(DM_E_FIT, "no file for emulated memory: %s", strerror(errno));
  DM_TRY(map(&new));
  int at = 0;
  pthread_mutex_lock(&lock);
  while (at < BLOCKS && blocks[at].address) at++;
  if (at < BLOCKS) blocks[at] = new;
  pthread_mutex_unlock(&lock);
  if (at == BLOCKS) return dm_fail(DM_E_FIT, "an emulated device holds %d allocations", BLOCKS);
  *memory = new.address;
  return DM_OK;
}

/* With the lock held; NULL: not memory of a device. */
static block *find(const char *at) {
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].address && at >= blocks[i].address && at < blocks[i].address + blocks[i].mapped)
      return &blocks[i];
  return NULL;
}

/* A copy of the block that has MEMORY; all zero: none. */
static block holder_of(const void *memory) {
  pthread_mutex_lock(&lock);
  const block *in = find(memory), copy = in ? *in : (block){0};
  pthread_mutex_unlock(&lock);
  return copy;
}

void emulated_release(void *memory) {
  pthread_mutex_lock(&lock);
  block *in = find(memory);
  const block old = in ? *in : (block){0};
  if (in) in->address = NULL;
  pthread_mutex_unlock(&lock);
  if (!in) return;
  (void)munmap(old.address, old.mapped);
  (void)munmap(old.way_in, old.mapped);
  (void)close(old.file);
}

void *emulated_reach(const void *memory, int64_t bytes) {
  const block in = holder_of(memory);
  const int64_t offset = in.address ? (const char *)memory - in.address : 0;
  if (in.address && bytes <= in.bytes - offset) return in.way_in + offset;
  fprintf(stderr, "emulated device: %lld bytes at %p are %s\n", (long long)bytes, memory,
          in.address ? "beyond their allocation" : "not memory of the device");
  abort();
}

bool emulated_has(const void *memory, int *index) {
  const block in = holder_of(memory);
  *index = in.address ? in.device : -1;
  return in.address;
}

void emulated_move(void *memory, int device) {
  pthread_mutex_lock(&lock);
  find(memory)->device = device;
  pthread_mutex_unlock(&lock);
}

dm_view emulated_view(dm_view view) {
  if (view.space == DM_HOST || dm_view_is_empty(view)) {
    view.space = DM_HOST;
    return view;
  }
  const int64_t elements = (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride;
  view.base = emulated_reach(view.base, (elements + 1) * dm_dtype_size(view.dtype));
  view.space = DM_HOST;
  return view;
}

int emulated_file(const void *memory) {
  const block in = holder_of(memory);
  return in.address && in.address == memory ? in.file : -1;
}

void emulated_spoil(dm_view view) {
  for (int64_t i = 0; i < view.rows && view.cols > 0; i++)
    memset(dm_view_at(view, i, 0), SPOILED, (size_t)(view.cols * dm_dtype_size(view.dtype)));
}
