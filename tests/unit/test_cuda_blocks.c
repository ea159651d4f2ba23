/* Reproducible products: C has the same bits for any division into blocks at multiples of the tile.
 */
#include "cuda_test.h"

enum { TILE = 64, M = 200, N = 170, K = 333 };

/* A copy of ROWS x COLS of P from (row, col) in its own memory, with other strides. */
static pair block_of(dm_backend *gpu, pair p, int64_t row, int64_t col, int64_t rows, int64_t cols,
                     int64_t pad) {
  pair block = make_pair(gpu, p.host.dtype, rows, cols, pad, (dm_generator){.kind = DM_CONSTANT});
  move(gpu, block.device, dm_view_sub(p.device, row, col, rows, cols));
  return block;
}

static void check_blocks(const char *kernel, dm_dtype dtype, bool tf32, bool accumulate) {
  const dm_dtype sum = dm_compute_sum(dtype);
  dm_generator generator = {.kind = DM_NORMAL, .seed = 11};
  dm_backend *gpu = open_gpu(kernel, tf32, TILE);
  pair a = make_pair(gpu, dtype, M, K, 0, generator);
  pair b = make_pair(gpu, dtype, K, N, 0, generator);
  pair whole = make_pair(gpu, sum, M, N, 0, generator);
  pair parts = make_pair(gpu, sum, M, N, 3, generator);
  move(gpu, parts.device, whole.device);
  multiply(gpu, whole.device, a.device, b.device, accumulate);

  const int64_t row[] = {0, TILE, 3 * TILE, M}, col[] = {0, 2 * TILE, N};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) {
      const int64_t rows = row[i + 1] - row[i], cols = col[j + 1] - col[j];
      pair a_block = block_of(gpu, a, row[i], 0, rows, K, 1 + i);
      pair b_block = block_of(gpu, b, 0, col[j], K, cols, 5 + j);
      multiply(gpu, dm_view_sub(parts.device, row[i], col[j], rows, cols), a_block.device,
               b_block.device, accumulate);
      free_pair(gpu, a_block), free_pair(gpu, b_block);
    }

  char *one = fetched(gpu, whole), *other = fetched(gpu, parts);
  const int64_t size = dm_dtype_size(sum);
  for (int64_t i = 0; i < M; i++)
    assert_memory_equal(one + i * N * size, other + i * (N + 3) * size, (size_t)(N * size));
  free(one), free(other);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, whole), free_pair(gpu, parts);
  dm_backend_close(gpu);
}

/* Every kernel for this GPU, and auto, in every type that it multiplies. */
TEST(test_blocks) {
  for (const char *const *kernel = dm_cuda_kernels(); *kernel; kernel++) {
    dm_backend *gpu;
    const dm_backend_config config = {.local_ranks = 1, .kernel = *kernel};
    dm_status status = dm_backend_open(&dm_backend_cuda, &config, &gpu);
    if (status) { /* for another GPU */
      dm_status_free(status);
      continue;
    }
    dm_backend_close(gpu);
    for (int rest = 0; rest < 4 * DM_DTYPE_COUNT; rest++) {
      const dm_dtype dtype = (dm_dtype)(rest / 4);
      const dm_operand operand = rest & 1 ? DM_TF32 : (dm_operand)dtype;
      if (dm_cuda_takes(*kernel, dtype, dm_compute_by(operand), NULL))
        check_blocks(*kernel, dtype, rest & 1, rest & 2);
    }
  }
}

/* An empty sum: C becomes 0, or keeps its elements. */
TEST(test_no_depth) {
  dm_backend *gpu = *state;
  const dm_generator ones = {.kind = DM_CONSTANT, .parameter = 1.0};
  pair c = make_pair(gpu, DM_F64, 5, 7, 2, ones);
  pair a = make_pair(gpu, DM_F64, 5, 0, 1, ones), b = make_pair(gpu, DM_F64, 0, 7, 0, ones);
  for (int accumulate = 1; accumulate >= 0; accumulate--) {
    multiply(gpu, c.device, a.device, b.device, accumulate);
    double *result = fetched(gpu, c);
    for (int i = 0; i < 5 * 9; i++)
      assert_true(result[i] == (i % 9 < 7 ? (double)accumulate : 1.0));
    free(result);
  }
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

/* The direct call computes the same product. */
TEST(test_direct) {
  dm_backend *gpu = open_gpu("cublas", false, 0);
  dm_generator random = {.kind = DM_UNIFORM, .seed = 1};
  pair a = make_pair(gpu, DM_F32, 512, 256, 0, random);
  pair b = make_pair(gpu, DM_F32, 256, 384, 0, random);
  pair c = make_pair(gpu, DM_F32, 512, 384, 0, random);
  multiply(gpu, c.device, a.device, b.device, false);
  void *one = fetched(gpu, c);
  double seconds = 0.0;
  ok(gpu->ops->library_gemm(gpu, c.device, a.device, b.device, &seconds));
  assert_true(seconds > 0.0 && seconds < 10.0);
  void *other = fetched(gpu, c);
  assert_memory_equal(one, other, (size_t)bytes_of(c.host_all));
  free(one), free(other);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
  dm_backend_close(gpu);
}

CUDA_TESTS(test_cuda_blocks)
