/* cuda_test: shared by the tests of the cuda backend. Without a GPU they exit with 77, "skipped".
 */
#ifndef DM_TESTS_CUDA_TEST_H
#define DM_TESTS_CUDA_TEST_H

#include "backend/backend.h"
#include "backend/cuda.h"
#include "backend/kernel_list.h"
#include "checks.h"
#include "core/copy.h"
#include "core/element.h"
#include "kernels/kernels.h"

static inline void cuda_ok(cudaError_t error) {
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error != cudaSuccess) fail_msg("%s", cudaGetErrorString(error));
}

/* Runs the tests of the file, if there is a GPU, with one opened with CONFIG, which GPUs other than
 * Hopper may refuse. */
static inline int run_on_gpu(const dm_backend_config *config) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  dm_backend *gpu;
  dm_status status = dm_backend_open(&dm_backend_cuda, config, &gpu);
  const int refused = !status ? 0 : status->code == DM_E_USAGE ? SKIPPED : 1;
  dm_status_free(status);
  if (refused) return refused;
  const int failed = run_all(gpu);
  dm_backend_close(gpu);
  return failed;
}

#define CUDA_TESTS(name)                                                                           \
  TEST_PROGRAM(name) {                                                                             \
    return run_on_gpu(&(dm_backend_config){.local_ranks = 1, .kernel = "auto"});                   \
  }

static inline dm_backend *open_gpu(const char *kernel, bool tf32, int64_t tile) {
  dm_backend_config config = {.local_ranks = 1,
                              .kernel = kernel,
                              .compute = tf32 ? dm_compute_by(DM_TF32) : NULL,
                              .tile = tile};
  dm_backend *gpu;
  ok(dm_backend_open(&dm_backend_cuda, &config, &gpu));
  return gpu;
}

/* A matrix on the host with PAD elements after each row, and its copy on the GPU. */
typedef struct pair {
  dm_view host, device; /* without the padding */
  dm_view host_all, device_all;
} pair;

static inline int64_t bytes_of(dm_view all) {
  return all.rows * all.cols * dm_dtype_size(all.dtype);
}

static inline void move(dm_backend *gpu, dm_view dst, dm_view src) {
  dm_event done;
  ok(dm_backend_copy(gpu, dst, src, &done));
  ok(dm_backend_wait(gpu, done));
}

static inline void multiply(dm_backend *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  dm_event done;
  ok(dm_backend_gemm(gpu, c, a, b, accumulate, &done));
  ok(dm_backend_wait(gpu, done));
}

/* Generated on the host, including padding, and copied. */
static inline pair make_pair(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols,
                             int64_t pad, dm_generator generator) {
  pair p;
  const int64_t stride = cols + pad;
  void *host = malloc((size_t)(rows * stride * dm_dtype_size(dtype) + 1)), *device;
  assert_non_null(host);
  p.host_all = dm_view_row_major(host, dtype, rows, stride);
  ok(dm_backend_alloc(gpu, DM_DEVICE, bytes_of(p.host_all), &device));
  p.device_all = dm_view_strided(device, dtype, DM_DEVICE, rows, stride, stride);
  p.host = dm_view_sub(p.host_all, 0, 0, rows, cols);
  p.device = dm_view_sub(p.device_all, 0, 0, rows, cols);
  dm_fill(p.host_all, &generator, 0, 0);
  move(gpu, p.device_all, p.host_all);
  return p;
}

/* The same with contiguous columns: its memory is that of the transpose. */
static inline pair make_pair_by_columns(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols,
                                        int64_t pad, dm_generator generator) {
  pair p = make_pair(gpu, dtype, cols, rows, pad, generator);
  p.host = dm_view_transpose(p.host);
  p.device = dm_view_transpose(p.device);
  return p;
}

static inline void free_pair(dm_backend *gpu, pair p) {
  free(p.host_all.base);
  dm_backend_release(gpu, DM_DEVICE, p.device_all.base);
}

/* The copy on the GPU, including padding, in memory that the caller frees. */
static inline void *fetched(dm_backend *gpu, pair p) {
  dm_view all = p.host_all;
  all.base = malloc((size_t)bytes_of(all) + 1);
  assert_non_null(all.base);
  move(gpu, all, p.device_all);
  return all.base;
}

/* Checks that both copies have the same bits, including padding; WHAT names the operation. */
static inline void check_twin(dm_backend *gpu, pair p, const char *what) {
  void *got = fetched(gpu, p);
  if (memcmp(got, p.host_all.base, (size_t)bytes_of(p.host_all)) != 0)
    fail_msg("%s of %s: other bits than on the host", what, dm_dtype_name(p.host.dtype));
  free(got);
}

/* An element of real type. */
static inline double number(dm_view view, int64_t row, int64_t col) {
  double wide;
  dm_load_wide(&wide, dm_view_at(view, row, col), view.dtype, 1, 1);
  return wide;
}

/* VIEW as packed f64 (two each for complex), in memory that the caller frees. */
static inline double *widened(dm_view view) {
  const int64_t parts = dm_dtype_is_complex(view.dtype) ? 2 : 1;
  double *wide = malloc((size_t)(view.rows * view.cols * parts) * sizeof(double) + 1);
  assert_non_null(wide);
  for (int64_t i = 0; i < view.rows; i++)
    dm_load_wide(wide + i * view.cols * parts, dm_view_at(view, i, 0), view.dtype, 1, view.cols);
  return wide;
}

#endif
