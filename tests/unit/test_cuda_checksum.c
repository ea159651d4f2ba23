/* Checksums on the GPU equal those on the host. */
#include "backend/verify_sums.h"
#include "cuda_test.h"

static const int64_t shapes[][3] = {/* rows, cols, padding */
                                    {1, 1, 0},     {1, 5000, 0},  {5000, 1, 0},
                                    {37, 1029, 0}, {33, 64, 0},   {33, 64, 16},
                                    {300, 513, 3}, {8, 16384, 0}, {2000, 130, 1}};

/* The host's sum, and 0 once it is subtracted; any changed bit is detected. */
static void check_checksum(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols,
                           int64_t pad) {
  const dm_place place = {(1ll << 31) + 5, 77, (1ll << 33) + 1};
  pair p = make_pair(gpu, dtype, rows, cols, pad, (dm_generator){.kind = DM_NORMAL, .seed = 2});
  uint64_t sums[2] = {0, 7}, *device;
  const dm_view here = dm_view_row_major(sums, DM_I32, 1, 4);
  ok(dm_backend_alloc(gpu, DM_DEVICE, sizeof sums, (void **)&device));
  const dm_view there = dm_view_strided(device, DM_I32, DM_DEVICE, 1, 4, 4);
  move(gpu, there, here);
  ok(dm_backend_checksum(gpu, p.device, place, false, device));
  ok(dm_backend_checksum(gpu, p.device, place, true, device + 1));
  ok(dm_backend_settle(gpu));
  move(gpu, here, there);
  const uint64_t want = dm_checksum_view(p.host, place.row, place.col, place.cols);
  assert_true(sums[0] == want && sums[1] == 7 - want);
  unsigned char *last = (unsigned char *)dm_view_at(p.host, rows - 1, cols - 1);
  last[dm_dtype_size(dtype) - 1] ^= 0x80;
  move(gpu, p.device_all, p.host_all);
  ok(dm_backend_checksum(gpu, p.device, place, true, device));
  ok(dm_backend_settle(gpu));
  move(gpu, here, there);
  assert_true(sums[0] != 0);
  dm_backend_release(gpu, DM_DEVICE, device);
  free_pair(gpu, p);
}

TEST(test_checksums) {
  dm_backend *gpu = open_gpu("auto", false, 0);
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
      check_checksum(gpu, (dm_dtype)dtype, shapes[s][0], shapes[s][1], shapes[s][2]);
  dm_backend_close(gpu);
}

CUDA_TESTS(test_cuda_checksum)
