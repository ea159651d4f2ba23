/* The device, its memory, copies and events. */
#include "cuda_test.h"

TEST(test_device) {
  const int count = dm_cuda_device_count();
  dm_backend_config config = {.local_rank = count, .local_ranks = 2 * count + 1, .kernel = "auto"};
  dm_backend *gpu;
  dm_device device;
  ok(dm_backend_open(&dm_backend_cuda, &config, &gpu));
  ok(dm_backend_device(gpu, &device));
  assert_int_equal(device.index, 0); /* ranks 0, COUNT and 2 COUNT share GPU 0 */
  assert_int_equal(device.sharing, 3);
  assert_int_equal(device.visible, count);
  assert_int_equal(strlen(device.id), 40);
  assert_memory_equal(device.id, "GPU-", 4);
  assert_true(device.id[12] == '-' && device.id[27] == '-');
  assert_true(device.memory_free > 0 && device.memory_free <= device.memory_total);
  printf("%s %s, %s\n", device.name, device.id, device.library);

  void *memory;
  fails(dm_backend_alloc(gpu, DM_DEVICE, device.memory_total * 2, &memory), DM_E_FIT, "");
  ok(dm_backend_alloc(gpu, DM_DEVICE, 1 << 20, &memory)); /* the GPU survived; close frees it */
  dm_backend_close(gpu);

  config.kernel = "tilde";
  fails(dm_backend_open(&dm_backend_cuda, &config, &gpu), DM_E_USAGE, "tiled");
}

/* host -> device -> device -> host, each view packed or with its own strides. */
static void check_copies(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols,
                         const int64_t pad[4]) {
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 8, .parameter = 1.0};
  const dm_generator zero = {.kind = DM_CONSTANT};
  pair first = make_pair(gpu, dtype, rows, cols, pad[0], random);
  pair second = make_pair(gpu, dtype, rows, cols, pad[1], zero);
  pair third = make_pair(gpu, dtype, rows, cols, pad[2], zero);
  pair last = make_pair(gpu, dtype, rows, cols, pad[3], zero);
  move(gpu, second.device, first.host);
  move(gpu, third.device, second.device);
  move(gpu, last.host, third.device);
  const size_t run = (size_t)(cols * dm_dtype_size(dtype));
  for (int64_t i = 0; i < rows; i++)
    assert_memory_equal(dm_view_at(last.host, i, 0), dm_view_at(first.host, i, 0), run);
  const size_t gap = (size_t)(pad[3] * dm_dtype_size(dtype));
  char *nothing = calloc(gap + 1, 1);
  for (int64_t i = 0; i < rows && gap > 0; i++)
    assert_memory_equal((char *)dm_view_at(last.host, i, 0) + run, nothing, gap);
  free(nothing);
  free_pair(gpu, first), free_pair(gpu, second), free_pair(gpu, third), free_pair(gpu, last);
}

TEST(test_copies) {
  const int64_t pads[][4] = {{0, 0, 0, 0}, {3, 0, 5, 0}, {0, 7, 0, 1}, {2, 2, 2, 2}};
  dm_backend *gpu = *state;
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++)
    for (int p = 0; p < 4; p++) {
      check_copies(gpu, (dm_dtype)dtype, 1, 1, pads[p]);
      check_copies(gpu, (dm_dtype)dtype, 17, 123, pads[p]);
      check_copies(gpu, (dm_dtype)dtype, 1, 1001, pads[p]);
      check_copies(gpu, (dm_dtype)dtype, 1001, 1, pads[p]);
    }
}

/* Row strides larger than 2-D copies allow (2 GiB). */
TEST(test_far_rows) {
  enum { COLS = 1000, ROWS = 3 };
  const int64_t stride = (1ll << 31) + 4096;
  dm_backend *gpu = open_gpu("auto", false, 0);
  pair p = make_pair(gpu, DM_I8, ROWS, COLS, 0, (dm_generator){DM_INTEGER, 4, 100.0});
  void *memory;
  ok(dm_backend_alloc(gpu, DM_DEVICE, stride * (ROWS - 1) + COLS, &memory));
  dm_view far = dm_view_strided(memory, DM_I8, DM_DEVICE, ROWS, COLS, stride);
  move(gpu, far, p.host);
  dm_generator zero = {.kind = DM_CONSTANT};
  ok(dm_backend_fill(gpu, p.device, &zero, 0, 0));
  move(gpu, p.device, far);
  check_twin(gpu, p, "far rows");
  free_pair(gpu, p);
  dm_backend_close(gpu);
}

TEST(test_events) {
  enum { POSTS = 5000 }; /* several rounds of the ring buffer */
  static dm_event events[POSTS];
  dm_backend *gpu = *state;
  pair p = make_pair(gpu, DM_F64, 64, 64, 0, (dm_generator){.kind = DM_UNIFORM});
  for (int i = 0; i < POSTS; i++) {
    ok(dm_backend_copy(gpu, i % 2 ? p.device : p.host, i % 2 ? p.host : p.device, &events[i]));
    assert_true(events[i] != 0);
  }
  ok(dm_backend_wait(gpu, events[POSTS - 1]));
  ok(dm_backend_wait(gpu, events[POSTS - 2]));
  bool done = false;
  for (int i = 0; i < POSTS; i++) {
    ok(dm_backend_test(gpu, events[i], &done));
    assert_true(done);
    ok(dm_backend_wait(gpu, events[i]));
  }
  fails(dm_backend_test(gpu, events[POSTS - 1] + 4, &done), DM_E_BUG, "");
  free_pair(gpu, p);
}

CUDA_TESTS(test_cuda_device)
