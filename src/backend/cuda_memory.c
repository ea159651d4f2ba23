/* GPU memory, and pinned host memory, which the copy engines can access. */
#include "backend/cuda_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/units.h"
#include "kernels/kernels.h"

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

/* ---- pinned host memory, unless there is little of it ----
 *
 * In cudaHostAlloc a single thread touches page after page, 2.5 GB/s on a machine with an H200;
 * several threads that touch huge pages, which the driver then registers, are four times as fast.
 */

enum {
  CUDA_THREADS = 4,
  CUDA_LEAST = 4 << 20,
  HUGE = 2 << 20,
  CUDA_PAGE = 4096,
  CUDA_PIECE = 4 << 20
};

typedef struct cuda_pages {
  char *memory;
  size_t bytes;
  atomic_size_t next;
} cuda_pages;

static bool pins_by_threads(size_t bytes) {
  return bytes >= CUDA_LEAST;
}

static size_t cuda_rounded_up(size_t bytes) {
  return (bytes + HUGE - 1) / HUGE * HUGE;
}

static void touch(void *context) {
  cuda_pages *p = context;
  for (;;) {
    const size_t begin = atomic_fetch_add(&p->next, CUDA_PIECE);
    if (begin >= p->bytes) return;
    const size_t end = dm_min(begin + CUDA_PIECE, p->bytes);
    for (size_t i = begin; i < end; i += CUDA_PAGE) ((volatile char *)p->memory)[i] = 0;
  }
}

/* Zeroed memory; cudaErrorMemoryAllocation: out of memory. */
static cudaError_t cuda_pin(size_t bytes, void **memory) {
  const size_t size = cuda_rounded_up(bytes);
  void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return cudaErrorMemoryAllocation;
  (void)madvise(made, size, MADV_HUGEPAGE); /* without huge pages it is only slower */
  cuda_pages all = {.memory = made, .bytes = size};
  (void)dm_fork_join(CUDA_THREADS, touch, &all);
  cudaError_t error = cudaHostRegister(made, size, cudaHostRegisterPortable);
  if (error == cudaSuccess)
    *memory = made;
  else
    (void)munmap(made, size);
  return error;
}

static void unpin(void *memory, size_t bytes) {
  (void)cudaHostUnregister(memory);
  (void)munmap(memory, cuda_rounded_up(bytes));
}

/* ---- allocations ---- */

/* Reports the bytes needed and free; other failures are GPU errors. */
static dm_status cuda_refused(const dm_cuda *gpu, cudaError_t error, dm_space space,
                              int64_t bytes) {
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

static dm_status cuda_memory_take(const dm_cuda *gpu, dm_space space, int64_t bytes,
                                  void **memory) {
  DM_TRY(dm_cuda_enter(gpu));
  const size_t size = (size_t)dm_max(bytes, 1);
  cudaError_t error = space == DM_DEVICE      ? cudaMalloc(memory, size)
                      : pins_by_threads(size) ? cuda_pin(size, memory)
                                              : cudaHostAlloc(memory, size, cudaHostAllocPortable);
  return error == cudaSuccess ? DM_OK : cuda_refused(gpu, error, space, bytes);
}

static void cuda_give(const dm_cuda_block *block) {
  if (block->space == DM_DEVICE)
    (void)cudaFree(block->memory);
  else if (pins_by_threads(block->bytes))
    unpin(block->memory, block->bytes);
  else
    (void)cudaFreeHost(block->memory);
}

/* ---- memory that was released, for later allocations ----
 *
 * Allocating and freeing a gigabyte takes about a millisecond. */

static void drop_cached(dm_cuda *gpu, size_t most) {
  dm_cuda_block **at = &gpu->cached;
  size_t bytes = 0;
  while (*at) {
    dm_cuda_block *block = *at;
    bytes += block->bytes;
    if (bytes <= most) {
      at = &block->next;
      continue;
    }
    *at = block->next;
    bytes -= block->bytes;
    cuda_give(block);
    free(block);
  }
}

/* The last one that was released comes first. */
static bool keep_block(dm_cuda *gpu, dm_cuda_block *block) {
  if (block->space != DM_DEVICE || block->bytes > gpu->keeps) return false;
  (void)cudaDeviceSynchronize(); /* as cudaFree does: nothing uses it any more */
  block->next = gpu->cached;
  gpu->cached = block;
  drop_cached(gpu, gpu->keeps);
  return true;
}

/* A kept block of BYTES or little more; NULL: there is none. */
static dm_cuda_block *take_cached(dm_cuda *gpu, dm_space space, int64_t bytes) {
  const size_t size = (size_t)dm_max(bytes, 1);
  if (space != DM_DEVICE) return NULL;
  for (dm_cuda_block **at = &gpu->cached; *at; at = &(*at)->next) {
    dm_cuda_block *block = *at;
    if (block->bytes < size || block->bytes > size + size / 4) continue;
    *at = block->next;
    return block;
  }
  return NULL;
}

int64_t dm_cuda_cached_bytes(const dm_cuda *gpu) {
  int64_t bytes = 0;
  for (const dm_cuda_block *block = gpu->cached; block; block = block->next)
    bytes += (int64_t)block->bytes;
  return bytes;
}

static dm_status take_anew(dm_cuda *gpu, dm_space space, int64_t bytes, void **memory) {
  dm_status status = cuda_memory_take(gpu, space, bytes, memory);
  if (!status || !gpu->cached) return status;
  dm_status_free(status);
  drop_cached(gpu, 0);
  return cuda_memory_take(gpu, space, bytes, memory);
}

dm_status dm_cuda_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_block *block = take_cached(gpu, space, bytes);
  if (block) {
    block->next = gpu->blocks;
    gpu->blocks = block;
    *memory = block->memory;
    return DM_OK;
  }
  block = malloc(sizeof *block);
  if (!block) return dm_fail(DM_E_FIT, "no host memory for the list of allocations");
  dm_status status = take_anew(gpu, space, bytes, memory);
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
  if (gpu->leaves && space == DM_HOST) return;
  for (dm_cuda_block **at = &gpu->blocks; *at; at = &(*at)->next) {
    dm_cuda_block *block = *at;
    if (block->memory != memory || block->space != space) continue;
    *at = block->next;
    (void)cudaSetDevice(gpu->index);
    if (keep_block(gpu, block)) return;
    cuda_give(block);
    free(block);
    return;
  }
}

void dm_cuda_release_all(dm_cuda *gpu) {
  drop_cached(gpu, 0);
  while (gpu->blocks) {
    dm_cuda_block *block = gpu->blocks;
    gpu->blocks = block->next;
    cuda_give(block);
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

/* ---- memory and streams of the caller ---- */

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
                           .foreign = device && found.device != gpu->index,
                           .pinned = found.type == cudaMemoryTypeHost};
  return DM_OK;
}

dm_status dm_cuda_await(dm_backend *backend, void *stream) {
  const dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaStreamSynchronize(stream));
  return DM_OK;
}

/* ---- copies ---- */

/* Copies between views of host and device memory, in every direction, by the copy engines. */

/* A matrix as the runtime handles it: rows of bytes. */
typedef struct band {
  char *base;
  int64_t width, rows, pitch;
} band;

static band cuda_band_of(dm_view view) {
  const int64_t size = dm_dtype_size(view.dtype);
  band b = {.base = view.base,
            .width = view.cols * size,
            .rows = view.rows,
            .pitch = view.row_stride * size};
  if (dm_view_is_packed(view)) { /* one long row */
    b.width *= b.rows;
    b.rows = 1;
  }
  if (b.rows <= 1) b.pitch = b.width;
  return b;
}

/* Cuts B, whose rows hold whole rows of WIDTH bytes, into these. */
static band band_cut(band b, int64_t width) {
  if (b.rows > 1 || b.width == width) return b;
  b.rows = b.width / width;
  b.width = b.pitch = width;
  return b;
}

dm_status dm_cuda_copy_on(dm_cuda *gpu, cudaStream_t stream, dm_view dst, dm_view src) {
  static const enum cudaMemcpyKind kinds[2][2] = {
      [DM_HOST] = {[DM_HOST] = cudaMemcpyHostToHost, [DM_DEVICE] = cudaMemcpyHostToDevice},
      [DM_DEVICE] = {[DM_HOST] = cudaMemcpyDeviceToHost, [DM_DEVICE] = cudaMemcpyDeviceToDevice}};
  if (dm_view_is_empty(src)) return DM_OK;
  const enum cudaMemcpyKind kind = kinds[src.space][dst.space];

  band to = cuda_band_of(dst), from = cuda_band_of(src);
  if (to.rows != from.rows) { /* one side is packed, the other is not */
    const int64_t width = to.rows > from.rows ? to.width : from.width;
    to = band_cut(to, width);
    from = band_cut(from, width);
  }
  if (to.rows > 1 && to.pitch <= gpu->pitch_limit && from.pitch <= gpu->pitch_limit) {
    DM_CUDA(gpu, cudaMemcpy2DAsync(to.base, (size_t)to.pitch, from.base, (size_t)from.pitch,
                                   (size_t)to.width, (size_t)to.rows, kind, stream));
    return DM_OK;
  }
  for (int64_t i = 0; i < to.rows; i++) /* a single row, or few with a large pitch */
    DM_CUDA(gpu, cudaMemcpyAsync(to.base + i * to.pitch, from.base + i * from.pitch,
                                 (size_t)to.width, kind, stream));
  return DM_OK;
}

/* Copies within one space to another type. */
static dm_status cuda_convert(dm_cuda *gpu, cudaStream_t stream, dm_view dst, dm_view src) {
  if (src.space == DM_HOST)
    dm_copy(dst, src, false);
  else
    DM_CUDA(gpu, dm_kernels_convert(dm_view_parts(dst), dm_view_parts(src), stream));
  return DM_OK;
}

dm_status dm_cuda_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  const bool outward = src.space == DM_DEVICE && dst.space == DM_HOST;
  const dm_cuda_lane_name lane = outward ? DM_OUTWARD : DM_INWARD;
  if (dst.dtype != src.dtype)
    DM_TRY(cuda_convert(gpu, gpu->lanes[lane].stream, dst, src));
  else
    DM_TRY(dm_cuda_copy_on(gpu, gpu->lanes[lane].stream, dst, src));
  return dm_cuda_post(gpu, lane, done);
}

/* Lists that one copy reads are replaced in the same stream. */
dm_status dm_cuda_copy_runs(dm_backend *backend, dm_view dst, dm_view src, const dm_copy_runs *of,
                            dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  cudaStream_t stream = gpu->lanes[DM_INWARD].stream;
  const int64_t size = (int64_t)sizeof *of->rows;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_cuda_grow(gpu, &gpu->runs, size * (of->row_count + of->col_count)));
  dm_copy_run *lists = gpu->runs.memory;
  DM_CUDA(gpu, cudaMemcpyAsync(lists, of->rows, (size_t)(size * of->row_count),
                               cudaMemcpyHostToDevice, stream));
  DM_CUDA(gpu, cudaMemcpyAsync(lists + of->row_count, of->cols, (size_t)(size * of->col_count),
                               cudaMemcpyHostToDevice, stream));
  const dm_runs_copy work = {.to = dst,
                             .from = src,
                             .of = *of,
                             .rows = lists,
                             .cols = lists + of->row_count,
                             .size = dm_dtype_size(src.dtype),
                             .stream = stream};
  DM_CUDA(gpu, dm_kernels_copy_runs(&work));
  return dm_cuda_post(gpu, DM_INWARD, done);
}

dm_status dm_cuda_zero_on(dm_cuda *gpu, cudaStream_t stream, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  const band b = cuda_band_of(view);
  if (b.rows > 1 && b.pitch <= gpu->pitch_limit) {
    DM_CUDA(gpu,
            cudaMemset2DAsync(b.base, (size_t)b.pitch, 0, (size_t)b.width, (size_t)b.rows, stream));
    return DM_OK;
  }
  for (int64_t i = 0; i < b.rows; i++)
    DM_CUDA(gpu, cudaMemsetAsync(b.base + i * b.pitch, 0, (size_t)b.width, stream));
  return DM_OK;
}
