/* Kernels that copy stages ahead of the multiplied ones: 1000 times the same bits, on odd shapes,
 * with k shorter and longer than the ring of stages. Detects copies that are too early or too late,
 * which tools that do not understand the kernels' synchronisation miss (docs/kernels.md). */
#include "cuda_test.h"

enum { REPEATS = 1000 };

static const struct {
  const char *kernel;
  dm_dtype dtype;
  bool tf32;
} kernels[] = {
    {"double_buffer_async", DM_F32, false},
    {"double_buffer_async", DM_F64, false},
    {"warp_tile", DM_F32, false},
    {"warp_tile", DM_F64, false},
    {"wmma", DM_F16, false},
    {"wmma", DM_BF16, false},
    {"wmma", DM_F32, true},
    {"mma", DM_F16, false},
    {"mma", DM_BF16, false},
    {"mma", DM_F32, true},
    {"mma", DM_I8, false},
    {"mma", DM_F64, false},
    {"wgmma_simple", DM_F16, false},
    {"wgmma_simple", DM_BF16, false},
};
/* m, n, k, and elements after each row. */
static const int64_t shapes[][4] = {{131, 67, 23, 1}, {517, 643, 331, 5}, {301, 133, 1040, 0}};

static void try_shape(dm_backend *gpu, dm_dtype dtype, const char *kernel, const int64_t s[4]) {
  dm_generator random = {
      .kind = dtype == DM_I8 ? DM_INTEGER : DM_UNIFORM, .seed = 5, .parameter = 100.0};
  pair a = make_pair(gpu, dtype, s[0], s[2], s[3], random);
  random.seed++;
  pair b = make_pair(gpu, dtype, s[2], s[1], s[3], random);
  pair c = make_pair(gpu, dm_compute_sum(dtype), s[0], s[1], s[3], random);
  multiply(gpu, c.device, a.device, b.device, false);
  void *first = fetched(gpu, c);
  for (int i = 1; i < REPEATS; i++) {
    multiply(gpu, c.device, a.device, b.device, false);
    void *next = fetched(gpu, c);
    if (memcmp(first, next, (size_t)bytes_of(c.host_all)) != 0)
      fail_msg("%s of %s, %lldx%lldx%lld: other bits at repeat %d", kernel, dm_dtype_name(dtype),
               (long long)s[0], (long long)s[1], (long long)s[2], i);
    free(next);
  }
  free(first);
  free_pair(gpu, a), free_pair(gpu, b), free_pair(gpu, c);
}

TEST(test_repeats) {
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    dm_backend *gpu = NULL;
    const dm_backend_config config = {.local_ranks = 1,
                                      .kernel = kernels[i].kernel,
                                      .compute = kernels[i].tf32 ? dm_compute_by(DM_TF32) : NULL};
    dm_status status = dm_backend_open(&dm_backend_cuda, &config, &gpu);
    const bool elsewhere = status && status->code == DM_E_USAGE; /* for other GPUs */
    if (elsewhere) dm_status_free(status);
    if (elsewhere) continue;
    ok(status);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      try_shape(gpu, kernels[i].dtype, kernels[i].kernel, shapes[s]);
    dm_backend_close(gpu);
  }
}

CUDA_TESTS(test_cuda_repeats)
