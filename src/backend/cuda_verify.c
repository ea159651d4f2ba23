/* probe, scan, checksum and fill on the GPU; host memory uses the host's functions.
 *
 * They run on a stream with priority, so that a panel can be probed while products are queued.
 * There is no wait for each: sums stay on the GPU until all are fetched. */

#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda_state.h"
#include "backend/probe.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "kernels/kernels.h"
#include "kernels/verify_kernels.h"

/* Bytes of a wide number: f64, two f64, int64_t. */
static int64_t wide_size(dm_dtype dtype) {
  return dm_dtype_is_complex(dtype) ? 16 : 8;
}

static dm_status cuda_verify_probe(dm_cuda *gpu, dm_view m, const void *x, void *y,
                                   double *squares) {
  const int64_t wide = wide_size(m.dtype), parts = dm_kernels_probe_parts(m, gpu->processors);
  const int64_t x_room = dm_round_up(m.cols * wide, 256), counts[2] = {m.rows * wide / 8, m.rows};
  void *const to[2] = {y, squares};
  void *sums[2];
  DM_TRY(dm_cuda_grow(
      gpu, &gpu->vectors,
      dm_max(DM_CUDA_SUMS_LEAST, x_room + parts * m.rows * (wide + (squares ? 8 : 0)))));
  DM_TRY(dm_cuda_pending_add(gpu, to, counts, dm_dtype_is_integer(m.dtype), sums));
  const dm_probe_work work = {.matrix = m,
                              .x = gpu->vectors.memory,
                              .parts = parts,
                              .scratch = (char *)gpu->vectors.memory + x_room,
                              .sums = sums[0],
                              .squares = sums[1],
                              .stream = gpu->side};
  DM_CUDA(gpu, cudaMemcpyAsync(gpu->vectors.memory, x, (size_t)(m.cols * wide),
                               cudaMemcpyHostToDevice, gpu->side));
  DM_CUDA(gpu, dm_kernels_probe(&work));
  return DM_OK;
}

dm_status dm_cuda_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (matrix.space == DM_HOST) return dm_host_probe_parallel(matrix, x, y, squares);
  DM_TRY(dm_cuda_enter(gpu));
  return cuda_verify_probe(gpu, matrix, x, y, squares);
}

dm_status dm_cuda_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  dm_cuda *gpu = dm_cuda_of(backend);
  void *const to[2] = {col_squares, NULL};
  void *sums[2];
  if (matrix.space == DM_HOST) return dm_host_scan_parallel(matrix, col_squares);
  DM_TRY(dm_cuda_enter(gpu));
  const int64_t parts = dm_kernels_scan_parts(matrix, gpu->processors);
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, dm_max(DM_CUDA_SUMS_LEAST, parts * matrix.cols * 8)));
  DM_TRY(dm_cuda_pending_add(gpu, to, (int64_t[]){matrix.cols, 0}, false, sums));
  DM_CUDA(gpu, dm_kernels_scan(matrix, parts, 0, gpu->vectors.memory, sums[0], gpu->side));
  return DM_OK;
}

dm_status dm_cuda_checksum(dm_backend *backend, dm_view matrix, dm_element_place place,
                           bool subtract, uint64_t *sum) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  if (matrix.dtype == DM_C128) {
    matrix = dm_view_parts(matrix);
    place.col *= 2;
    place.cols *= 2;
  }
  DM_CUDA(gpu, dm_kernels_checksum(matrix, place, subtract, sum, gpu->processors, gpu->side));
  return DM_OK;
}

dm_status dm_cuda_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                       int64_t row, int64_t col) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (view.space == DM_HOST) return dm_host_fill_parallel(view, generator, row, col);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_fill(view, generator, row, col, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

/* Vectors that accumulate on the GPU, and are added to the caller's when all are fetched: there is
 * no wait for each one. */

enum { CUDA_MOST = 256 }; /* most pending vectors */

/* Numbers at OFFSET of the area, to be added to TO. */
typedef struct cuda_pending {
  void *to;
  int64_t count, offset;
  bool is_whole;
} cuda_pending;

struct dm_cuda_pending {
  dm_cuda_area area;
  int64_t used; /* bytes */
  int count;
  cuda_pending of[CUDA_MOST];
};

static void add_f64(double *to, const double *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

/* Sums of integers wrap. */
static void add_u64(uint64_t *to, const uint64_t *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

static dm_status cuda_verify_fetch(dm_cuda *gpu, const dm_cuda_pending *all, char *host) {
  DM_CUDA(gpu, cudaMemcpyAsync(host, all->area.memory, (size_t)all->used, cudaMemcpyDeviceToHost,
                               gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  for (const cuda_pending *one = all->of; one < all->of + all->count; one++) {
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
  DM_FREED void *host = NULL;
  DM_TRY(dm_cuda_enter(gpu));
  if (!all || all->count == 0) {
    DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
    return DM_OK;
  }
  dm_status status = dm_buffer_alloc(all->used, &host);
  if (!status) status = cuda_verify_fetch(gpu, all, host);
  all->count = 0;
  all->used = 0;
  return status;
}

static int64_t cuda_bytes_of(int64_t count) {
  return dm_round_up(8 * count, 256);
}

static dm_status cuda_verify_make_room(dm_cuda *gpu, int64_t bytes) {
  dm_cuda_pending *all = gpu->pending;
  if (all->count + 2 > CUDA_MOST || all->used + bytes > all->area.bytes)
    DM_TRY(dm_cuda_settle(&gpu->base));
  return dm_cuda_grow(gpu, &all->area, dm_max(DM_CUDA_SUMS_LEAST, bytes));
}

static void *cuda_verify_find(const dm_cuda_pending *all, const void *to, int64_t count) {
  for (const cuda_pending *one = all->of + all->count; one-- > all->of;)
    if (one->to == to && one->count == count) return (char *)all->area.memory + one->offset;
  return NULL;
}

static dm_status cuda_begin(dm_cuda *gpu, void *to, int64_t count, bool is_whole, void **device) {
  dm_cuda_pending *all = gpu->pending;
  *device = to ? cuda_verify_find(all, to, count) : NULL;
  if (!to || *device) return DM_OK;
  *device = (char *)all->area.memory + all->used;
  DM_CUDA(gpu, cudaMemsetAsync(*device, 0, (size_t)(8 * count), gpu->side));
  all->of[all->count++] = (cuda_pending){to, count, all->used, is_whole};
  all->used += cuda_bytes_of(count);
  return DM_OK;
}

dm_status dm_cuda_pending_open(dm_cuda *gpu) {
  if (!gpu->pending) DM_TRY(dm_buffer_table(1, &gpu->pending));
  return cuda_verify_make_room(gpu, 0);
}

dm_status dm_cuda_pending_add(dm_cuda *gpu, void *const to[2], const int64_t count[2],
                              bool is_whole, void *device[2]) {
  if (!gpu->pending) DM_TRY(dm_buffer_table(1, &gpu->pending));
  DM_TRY(cuda_verify_make_room(gpu, cuda_bytes_of(count[0]) + cuda_bytes_of(count[1])));
  DM_TRY(cuda_begin(gpu, to[0], count[0], is_whole, &device[0]));
  return cuda_begin(gpu, to[1], count[1], false, &device[1]);
}

/* Sums and dot products on the GPU; host memory uses the host's functions. Synchronous, and ahead
 * of waiting products, as in cuda_verify.c. */

/* Rows are narrower than a block of add_2d. */
static bool few_columns(dm_view z) {
  return z.cols * dm_dtype_size(z.dtype) < 512;
}

dm_status dm_cuda_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                      double beta) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (z.space == DM_HOST) return dm_host_add(backend, z, x, y, alpha, beta);
  DM_TRY(dm_cuda_enter(gpu));
  const dm_addition addition = {.z = dm_view_parts(z),
                                .x = dm_view_parts(x),
                                .y = dm_view_parts(y),
                                .alpha = alpha,
                                .beta = beta,
                                .stream = gpu->side};
  DM_CUDA(gpu, few_columns(addition.z) ? dm_kernels_add_grid_stride(&addition)
                                       : dm_kernels_add_2d(&addition));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

dm_status dm_cuda_dot(dm_backend *backend, dm_view x, dm_view y, double *sum) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (x.space == DM_HOST) return dm_host_dot(backend, x, y, sum);
  DM_TRY(dm_cuda_enter(gpu));
  dm_dot_product product = {.x = dm_view_parts(x),
                            .y = dm_view_parts(y),
                            .processors = gpu->processors,
                            .stream = gpu->side};
  const int64_t room = dm_kernels_dot_scratch(&product);
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, room + (int64_t)sizeof(double)));
  product.scratch = gpu->vectors.memory;
  product.result = (double *)(void *)((char *)gpu->vectors.memory + room);
  DM_CUDA(gpu, dm_kernels_dot_shuffle(&product));
  DM_CUDA(gpu,
          cudaMemcpyAsync(sum, product.result, sizeof *sum, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}

/* ---- loading the kernels ahead ----
 *
 * CUDA loads a kernel at its first launch, which takes up to some milliseconds. Those of the
 * verification are loaded while the first panels are read, and their memory is allocated before. */

struct dm_cuda_loading {
  pthread_t thread;
  int device;
  dm_dtype types[2]; /* type of A and B, and of C */
};

/* An error here recurs at the launch, which reports it. */
static void *cuda_load(void *argument) {
  const dm_cuda_loading *l = argument;
  if (cudaSetDevice(l->device) == cudaSuccess) {
    (void)dm_kernels_checksum_load(l->types[0]);
    (void)dm_kernels_scan_load(l->types[0]);
    for (int i = 0; i < 2; i++) (void)dm_kernels_probe_load(l->types[i]);
    (void)dm_kernels_checksum_load(l->types[1]);
  }
  (void)cudaGetLastError();
  return NULL;
}

dm_status dm_cuda_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_pending_open(gpu));
  DM_TRY(dm_cuda_grow(gpu, &gpu->vectors, DM_CUDA_SUMS_LEAST));
  if (gpu->loading) return DM_OK;
  dm_cuda_loading *new;
  DM_TRY(dm_buffer_table(1, &new));
  *new = (dm_cuda_loading){.device = gpu->index, .types = {operands, c}};
  if (pthread_create(&new->thread, NULL, cuda_load, new) == 0)
    gpu->loading = new;
  else
    free(new);
  return DM_OK;
}

void dm_cuda_expect_end(dm_cuda *gpu) {
  if (!gpu->loading) return;
  (void)pthread_join(gpu->loading->thread, NULL);
  free(gpu->loading);
  gpu->loading = NULL;
}
