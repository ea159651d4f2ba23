#ifdef DM_HAVE_CUDA

#include "backend/cuda_pinned.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "core/checked.h"
#include "core/crew.h"

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

#endif
