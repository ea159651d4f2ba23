/* GPU memory, and pinned host memory, which the copy engines can access. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "backend/cuda_state.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "core/units.h"

struct dm_cuda_block {
  void *memory;
  dm_space space;
  size_t bytes;
  dm_cuda_block *next;
};

dm_status dm_cuda_enter(const dm_cuda *gpu) {
  DM_CUDA(gpu, cudaSetDevice(gpu->index));
  return DM_OK;
}

/* Reports the bytes needed and free; other failures are GPU errors. */
static dm_status refused(const dm_cuda *gpu, cudaError_t error, dm_space space, int64_t bytes) {
  const char *call = space == DM_DEVICE ? "cudaMalloc" : "cudaHostAlloc";
  if (error != cudaErrorMemoryAllocation)
    return dm_cuda_error(gpu, error, call, __FILE__, __LINE__, __func__);
  (void)cudaGetLastError();
  char needed[32], rest[32];
  dm_format_bytes(bytes, needed);
  if (space == DM_HOST)
    return dm_hint(dm_fail(DM_E_FIT, "%s of pinned host memory are needed, %s of memory are free",
                           needed, dm_format_bytes(dm_memory_available(), rest)),
                   "--memory host=... limits what is asked for; so may `ulimit -l`");
  size_t available = 0, total = 0;
  (void)cudaMemGetInfo(&available, &total);
  return dm_hint(dm_fail(DM_E_FIT, "GPU %d (%s, %s): %s are needed at once, %s are free",
                         gpu->index, gpu->name, gpu->id, needed,
                         dm_format_bytes((int64_t)available, rest)),
                 "--memory device=... limits what is asked for; other programs, or other ranks on "
                 "this GPU, may hold the rest");
}

static dm_status take(const dm_cuda *gpu, dm_space space, int64_t bytes, void **memory) {
  DM_TRY(dm_cuda_enter(gpu));
  const size_t size = (size_t)dm_max(bytes, 1);
  cudaError_t error = space == DM_DEVICE ? cudaMalloc(memory, size)
                      : dm_cuda_pins_by_threads(size)
                          ? dm_cuda_pin(size, memory)
                          : cudaHostAlloc(memory, size, cudaHostAllocPortable);
  return error == cudaSuccess ? DM_OK : refused(gpu, error, space, bytes);
}

static void give(const dm_cuda_block *block) {
  if (block->space == DM_DEVICE)
    (void)cudaFree(block->memory);
  else if (dm_cuda_pins_by_threads(block->bytes))
    dm_cuda_unpin(block->memory, block->bytes);
  else
    (void)cudaFreeHost(block->memory);
}

dm_status dm_cuda_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_block *block = malloc(sizeof *block);
  if (!block) return dm_fail(DM_E_FIT, "no host memory for the list of allocations");
  dm_status status = take(gpu, space, bytes, memory);
  if (status) {
    free(block);
    return status;
  }
  *block = (dm_cuda_block){
      .memory = *memory, .space = space, .bytes = (size_t)dm_max(bytes, 1), .next = gpu->blocks};
  gpu->blocks = block;
  return DM_OK;
}

void dm_cuda_release(dm_backend *backend, dm_space space, void *memory) {
  dm_cuda *gpu = dm_cuda_of(backend);
  for (dm_cuda_block **at = &gpu->blocks; *at; at = &(*at)->next) {
    dm_cuda_block *block = *at;
    if (block->memory != memory || block->space != space) continue;
    *at = block->next;
    (void)cudaSetDevice(gpu->index);
    give(block);
    free(block);
    return;
  }
}

void dm_cuda_release_all(dm_cuda *gpu) {
  while (gpu->blocks) {
    dm_cuda_block *block = gpu->blocks;
    gpu->blocks = block->next;
    give(block);
    free(block);
  }
}

dm_status dm_cuda_grow(dm_cuda *gpu, dm_cuda_area *area, int64_t bytes) {
  if (bytes <= area->bytes) return DM_OK;
  /* cudaFree waits for the whole GPU, so the old memory is no longer in use. */
  dm_cuda_release(&gpu->base, DM_DEVICE, area->memory);
  *area = (dm_cuda_area){0};
  DM_TRY(dm_cuda_alloc(&gpu->base, DM_DEVICE, bytes, &area->memory));
  area->bytes = bytes;
  return DM_OK;
}

enum { THREADS = 4, LEAST = 64 << 20, HUGE = 2 << 20, PAGE = 4096, PIECE = 16 << 20 };

typedef struct pages {
  char *memory;
  size_t bytes;
  atomic_size_t next;
} pages;

bool dm_cuda_pins_by_threads(size_t bytes) {
  return bytes >= LEAST;
}

static size_t whole(size_t bytes) {
  return (bytes + HUGE - 1) / HUGE * HUGE;
}

static void touch(void *context) {
  pages *p = context;
  for (;;) {
    const size_t begin = atomic_fetch_add(&p->next, PIECE);
    if (begin >= p->bytes) return;
    const size_t end = dm_min(begin + PIECE, p->bytes);
    for (size_t i = begin; i < end; i += PAGE) ((volatile char *)p->memory)[i] = 0;
  }
}

cudaError_t dm_cuda_pin(size_t bytes, void **memory) {
  const size_t size = whole(bytes);
  void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return cudaErrorMemoryAllocation;
  (void)madvise(made, size, MADV_HUGEPAGE); /* without huge pages it is only slower */
  pages all = {.memory = made, .bytes = size};
  (void)dm_fork_join(THREADS, touch, &all);
  cudaError_t error = cudaHostRegister(made, size, cudaHostRegisterPortable);
  if (error == cudaSuccess)
    *memory = made;
  else
    (void)munmap(made, size);
  return error;
}

void dm_cuda_unpin(void *memory, size_t bytes) {
  (void)cudaHostUnregister(memory);
  (void)munmap(memory, whole(bytes));
}

/* The caller's memory and streams. */

dm_status dm_cuda_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind) {
  const dm_cuda *gpu = dm_cuda_of(backend);
  struct cudaPointerAttributes found;
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaPointerGetAttributes(&found, memory));
  const bool managed = found.type == cudaMemoryTypeManaged;
  const bool device = found.type == cudaMemoryTypeDevice;
  *kind = (dm_memory_kind){.host = !device,
                           .gpu = device || managed,
                           .index = device ? found.device : -1,
                           .foreign = device && found.device != gpu->index};
  return DM_OK;
}

dm_status dm_cuda_await(dm_backend *backend, void *stream) {
  const dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaStreamSynchronize(stream));
  return DM_OK;
}

#endif
