/* Helper kernels on more than 2^31 elements: indices must not wrap. Skipped if the GPU has too
 * little memory. */
#include "cuda_test.h"

static const int64_t shapes[][2] = {{46349, 46411}, {1, 2147500001}, {2147500001, 1}};
enum { SHAPES = 3, SAMPLES = 200 };
static const int64_t most_bytes = 10000000000;

static dm_backend *open_large(void) {
  dm_backend *gpu = open_gpu("auto", false, 0);
  dm_device device;
  ok(dm_backend_device(gpu, &device));
  if (device.memory_free >= most_bytes) return gpu;
  dm_backend_close(gpu);
  skip();
  return NULL;
}

static dm_view large(dm_backend *gpu, dm_dtype dtype, const int64_t shape[2], bool turned) {
  void *memory;
  ok(dm_backend_alloc(gpu, DM_DEVICE, shape[0] * shape[1] * dm_dtype_size(dtype), &memory));
  return dm_view_strided(memory, dtype, DM_DEVICE, shape[turned], shape[!turned], shape[!turned]);
}

/* Element N in row-major order equals that of row 0 and column N. */
static void fill(dm_backend *gpu, dm_view view, const dm_generator *generator) {
  const int64_t count = view.rows * view.cols;
  ok(dm_backend_fill(gpu, dm_view_strided(view.base, view.dtype, DM_DEVICE, 1, count, count),
                     generator, 0, 0));
}

static int64_t drawn(int64_t sample, int which, int64_t size) {
  if (sample == 0) return size - 1; /* also the last element */
  return (int64_t)(dm_random_bits(7, sample, which, 0) >> 1) % size;
}

static void transpose(dm_backend *gpu, const char *name,
                      cudaError_t (*kernel)(const dm_transposition *)) {
  const dm_generator numbers = {.kind = DM_INTEGER, .seed = 3, .parameter = 127.0};
  for (int s = 0; s < SHAPES; s++) {
    dm_view from = large(gpu, DM_I8, shapes[s], false), to = large(gpu, DM_I8, shapes[s], true);
    fill(gpu, from, &numbers);
    cuda_ok(kernel(&(dm_transposition){.to = to, .from = from}));
    for (int64_t sample = 0; sample < SAMPLES; sample++) {
      const int64_t i = drawn(sample, 0, from.rows), j = drawn(sample, 1, from.cols);
      int8_t got;
      cuda_ok(cudaMemcpy(&got, dm_view_at(to, j, i), 1, cudaMemcpyDeviceToHost));
      if (got != (int8_t)dm_element(&numbers, 0, i * from.cols + j, 0))
        fail_msg("%s, shape %d: element (%lld, %lld) is wrong", name, s, (long long)i,
                 (long long)j);
    }
    dm_backend_release(gpu, DM_DEVICE, from.base);
    dm_backend_release(gpu, DM_DEVICE, to.base);
  }
}

#define TRANSPOSE(kernel, ...) transpose(gpu, #kernel, dm_kernels_##kernel);
TEST(test_transpose) {
  dm_backend *gpu = open_large();
  DM_TRANSPOSE_LIST(TRANSPOSE)
  dm_backend_close(gpu);
}

/* The sum of X(i,j)^2, times 4^DOUBLED. */
static void check_dot(const char *name, cudaError_t (*kernel)(const dm_dot_product *),
                      dm_dot_product *p, int doubled) {
  const double wanted = (double)(p->x.rows * p->x.cols) * ldexp(1.0, 2 * doubled);
  double got;
  cuda_ok(kernel(p));
  cuda_ok(cudaMemcpy(&got, p->result, sizeof got, cudaMemcpyDeviceToHost));
  if (got != wanted) fail_msg("%s: %.17g, not %.17g", name, got, wanted);
}

#define ADD(kernel, ...)                                                                           \
  cuda_ok(dm_kernels_##kernel(&(dm_addition){.z = x, .x = x, .y = x, .alpha = 1.5, .beta = 0.5})); \
  check_dot(#kernel, dm_kernels_dot_shuffle, &product, ++doubled);
#define DOT(kernel, ...) check_dot(#kernel, dm_kernels_##kernel, &product, doubled);
TEST(test_sums) {
  dm_backend *gpu = open_large();
  const dm_generator ones = {.kind = DM_CONSTANT, .parameter = 1.0};
  for (int s = 0; s < SHAPES; s++) {
    int doubled = 0;
    dm_view x = large(gpu, DM_F32, shapes[s], false);
    fill(gpu, x, &ones);
    dm_dot_product product = {.x = x, .y = x, .processors = 100};
    ok(dm_backend_alloc(gpu, DM_DEVICE, dm_kernels_dot_scratch(&product), &product.scratch));
    ok(dm_backend_alloc(gpu, DM_DEVICE, 8, (void **)&product.result));
    DM_DOT_LIST(DOT)
    DM_ADD_LIST(ADD)
    dm_backend_release(gpu, DM_DEVICE, product.scratch);
    dm_backend_release(gpu, DM_DEVICE, product.result);
    dm_backend_release(gpu, DM_DEVICE, x.base);
  }
  dm_backend_close(gpu);
}

CUDA_TESTS(test_cuda_large)
