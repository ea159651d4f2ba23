/* Vectors that accumulate on the GPU, and are added to the caller's when all are fetched: there is
 * no wait for each one. */
#ifdef DM_HAVE_CUDA

#include <stdlib.h>

#include "backend/cuda_verify.h"
#include "core/buffer.h"
#include "core/checked.h"

enum { MOST = 256 }; /* most pending vectors */

/* Numbers at OFFSET of the area, to be added to TO. */
typedef struct pending {
  void *to;
  int64_t count, offset;
  bool is_whole;
} pending;

struct dm_cuda_pending {
  dm_cuda_area area;
  int64_t used; /* bytes */
  int count;
  pending of[MOST];
};

static void add_f64(double *to, const double *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

/* Sums of integers wrap. */
static void add_u64(uint64_t *to, const uint64_t *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

static dm_status fetch(dm_cuda *gpu, const dm_cuda_pending *all, char *host) {
  DM_CUDA(gpu, cudaMemcpyAsync(host, all->area.memory, (size_t)all->used, cudaMemcpyDeviceToHost,
                               gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  for (const pending *one = all->of; one < all->of + all->count; one++) {
    const void *sums = host + one->offset;
    if (one->is_whole)
      add_u64(one->to, sums, one->count);
    else
      add_f64(one->to, sums, one->count);
  }
  return DM_OK;
}

/* After an error nothing is fetched again: the caller's vectors may be gone. */
dm_status dm_cuda_settle(dm_backend *backend) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_pending *all = gpu->pending;
  void *host = NULL;
  DM_TRY(dm_cuda_enter(gpu));
  if (!all || all->count == 0) {
    DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
    return DM_OK;
  }
  dm_status status = dm_buffer_alloc(all->used, &host);
  if (!status) status = fetch(gpu, all, host);
  all->count = 0;
  all->used = 0;
  free(host);
  return status;
}

static int64_t bytes_of(int64_t count) {
  return dm_round_up(8 * count, 256);
}

static dm_status make_room(dm_cuda *gpu, int64_t bytes) {
  dm_cuda_pending *all = gpu->pending;
  if (all->count + 2 > MOST || all->used + bytes > all->area.bytes)
    DM_TRY(dm_cuda_settle(&gpu->base));
  return dm_cuda_grow(gpu, &all->area, dm_max(DM_CUDA_SUMS_LEAST, bytes));
}

static void *find(const dm_cuda_pending *all, const void *to, int64_t count) {
  for (const pending *one = all->of + all->count; one-- > all->of;)
    if (one->to == to && one->count == count) return (char *)all->area.memory + one->offset;
  return NULL;
}

static dm_status begin(dm_cuda *gpu, void *to, int64_t count, bool is_whole, void **device) {
  dm_cuda_pending *all = gpu->pending;
  *device = to ? find(all, to, count) : NULL;
  if (!to || *device) return DM_OK;
  *device = (char *)all->area.memory + all->used;
  DM_CUDA(gpu, cudaMemsetAsync(*device, 0, (size_t)(8 * count), gpu->side));
  all->of[all->count++] = (pending){to, count, all->used, is_whole};
  all->used += bytes_of(count);
  return DM_OK;
}

dm_status dm_cuda_pending_open(dm_cuda *gpu) {
  if (!gpu->pending) DM_TRY(dm_buffer_table(1, &gpu->pending));
  return make_room(gpu, 0);
}

dm_status dm_cuda_pending_add(dm_cuda *gpu, void *const to[2], const int64_t count[2],
                              bool is_whole, void *device[2]) {
  if (!gpu->pending) DM_TRY(dm_buffer_table(1, &gpu->pending));
  DM_TRY(make_room(gpu, bytes_of(count[0]) + bytes_of(count[1])));
  DM_TRY(begin(gpu, to[0], count[0], is_whole, &device[0]));
  return begin(gpu, to[1], count[1], false, &device[1]);
}

#endif
