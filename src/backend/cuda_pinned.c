#ifdef DM_HAVE_CUDA

#include "backend/cuda_pinned.h"

#include <pthread.h>
#include <sys/mman.h>

#include "core/checked.h"

enum { THREADS = 4, LEAST = 64 << 20, HUGE = 2 << 20, PAGE = 4096 };

typedef struct part {
  char *memory;
  size_t bytes;
} part;

bool dm_cuda_pins_by_threads(size_t bytes) {
  return bytes >= LEAST;
}

static size_t whole(size_t bytes) {
  return (bytes + HUGE - 1) / HUGE * HUGE;
}

static void *touch(void *context) {
  const part *p = context;
  for (size_t i = 0; i < p->bytes; i += PAGE) ((volatile char *)p->memory)[i] = 0;
  return NULL;
}

/* The calling thread does what no other could be started for. */
static void touch_all(char *memory, size_t bytes) {
  pthread_t threads[THREADS];
  part parts[THREADS];
  bool started[THREADS];
  const size_t each = whole(bytes / THREADS);
  for (int i = 0; i < THREADS; i++) {
    const size_t begin = dm_min(i * each, bytes), end = dm_min(begin + each, bytes);
    parts[i] = (part){memory + begin, end - begin};
    started[i] = pthread_create(&threads[i], NULL, touch, &parts[i]) == 0;
    if (!started[i]) touch(&parts[i]);
  }
  for (int i = 0; i < THREADS; i++)
    if (started[i]) (void)pthread_join(threads[i], NULL);
}

cudaError_t dm_cuda_pin(size_t bytes, void **memory) {
  const size_t size = whole(bytes);
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  (void)madvise(pages, size, MADV_HUGEPAGE); /* without them it is only slower */
  touch_all(pages, size);
  cudaError_t error = cudaHostRegister(pages, size, cudaHostRegisterPortable);
  if (error == cudaSuccess)
    *memory = pages;
  else
    (void)munmap(pages, size);
  return error;
}

void dm_cuda_unpin(void *memory, size_t bytes) {
  (void)cudaHostUnregister(memory);
  (void)munmap(memory, whole(bytes));
}

#endif
