/* The kernel jit: compiles once for each shape, also for a single row whose stride has no meaning,
 * and refuses without NVRTC. test_cuda_ladder.c and test_cuda_gemm.c check its products. */
#include "cuda_test.h"

/* 2 x COLS by k = 3, of numbers that are small and whole. */
static void try_shape(dm_backend *gpu, int64_t rows, int64_t cols, int64_t stride) {
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 3, .parameter = 9.0};
  pair a = make_pair(gpu, DM_F32, rows, 3, 0, whole), b = make_pair(gpu, DM_F32, 3, cols, 0, whole);
  pair c = make_pair(gpu, DM_F32, rows, cols, 0, whole);
  dm_view row = a.device;
  if (stride > 0) row.row_stride = stride;
  multiply(gpu, c.device, row, b.device, false);
  float *got = fetched(gpu, c);
  for (int64_t at = 0; at < rows * cols; at++) {
    double sum = 0.0;
    for (int64_t l = 0; l < 3; l++)
      sum += number(a.host, at / cols, l) * number(b.host, l, at % cols);
    assert_true((double)got[at] == sum);
  }
  free(got);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

TEST(test_shapes) {
  dm_backend *gpu = *state;
  try_shape(gpu, 2, 33, 0);
  try_shape(gpu, 2, 33, 0);
  try_shape(gpu, 40, 2, 0);
  try_shape(gpu, 1, 33, INT64_MAX / 2);
}

TEST(test_without_nvrtc) {
  const dm_gemm product = {.dtype = DM_F32, .size = 4};
  (void)state;
  assert_int_equal(dm_kernels_jit(&product), cudaErrorNotSupported);
}

TEST_PROGRAM(test_cuda_jit) {
  return run_on_gpu(&(dm_backend_config){.local_ranks = 1, .kernel = "jit"});
}
