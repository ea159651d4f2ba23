/* Kernel jit compared with warp_tile, bit for bit: every tiling gives the same chain of sums, on
 * shapes that break kernels, in any layout. Tilings that do not fit the GPU are refused. */
#include "backend/backend.h"
#include "backend/kernel_list.h"
#include "core/clock.h"
#include "cuda_test.h"

static const int64_t shapes[][3] = {{1, 1, 1},      {1, 7, 31},      {31, 1, 2},    {127, 129, 1},
                                    {129, 127, 17}, {257, 131, 37},  {3, 523, 100}, {128, 256, 64},
                                    {17, 13, 4099}, {1033, 2053, 33}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], LAYOUTS = 3 };

/* Elements after the rows of A, B and C: packed, unaligned, rows of vectors. */
static void pads_of(const int64_t shape[3], int layout, int64_t pads[3]) {
  const int64_t n = shape[1], k = shape[2];
  const int64_t all[LAYOUTS][3] = {{0, 0, 0}, {3, 1, 5}, {-k & 3, -n & 3, -n & 3}};
  memcpy(pads, all[layout], sizeof all[layout]);
}

static void *product_of(dm_backend *gpu, pair c, pair a, pair b, bool accumulate) {
  move(gpu, c.device_all, c.host_all);
  multiply(gpu, c.device, a.device, b.device, accumulate);
  return fetched(gpu, c);
}

/* Both backends access the same memory: one process and one GPU. */
static void check_shape(dm_backend *jit, dm_backend *other, dm_dtype type, const int64_t shape[3],
                        int layout, bool accumulate) {
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 11},
                     more = {.kind = DM_UNIFORM, .seed = 12};
  int64_t pads[3];
  pads_of(shape, layout, pads);
  pair a = make_pair(jit, type, shape[0], shape[2], pads[0], random);
  pair b = make_pair(jit, type, shape[2], shape[1], pads[1], more);
  pair c = make_pair(jit, type, shape[0], shape[1], pads[2], random);
  void *got = product_of(jit, c, a, b, accumulate),
       *wanted = product_of(other, c, a, b, accumulate);
  if (memcmp(got, wanted, (size_t)bytes_of(c.host_all)) != 0)
    fail_msg("%s %lld x %lld x %lld, layout %d, accumulate %d: other bits than warp_tile",
             dm_dtype_name(type), (long long)shape[0], (long long)shape[1], (long long)shape[2],
             layout, accumulate);
  free(got), free(wanted);
  free_pair(jit, a), free_pair(jit, b), free_pair(jit, c);
}

static void check_all(dm_backend *jit, dm_backend *other, dm_dtype type) {
  for (int s = 0; s < SHAPES; s++)
    for (int layout = 0; layout < LAYOUTS; layout++)
      for (int accumulate = 0; accumulate < 2; accumulate++)
        check_shape(jit, other, type, shapes[s], layout, accumulate);
}

TEST(the_chosen_one) {
  dm_backend *jit = open_gpu("jit", false, 0), *other = open_gpu("warp_tile", false, 0);
  check_all(jit, other, DM_F32);
  check_all(jit, other, DM_F64);
  dm_backend_close(jit);
  dm_backend_close(other);
}

TEST(every_candidate) {
  dm_backend *jit = open_gpu("jit", false, 0), *other = open_gpu("warp_tile", false, 0);
  const dm_dtype types[] = {DM_F32, DM_F64};
  for (int x = 0; x < 2; x++) {
    int count;
    const dm_tiling *list = dm_tiling_candidates(types[x], &count);
    for (int i = 0; i < count; i++) {
      dm_status status = dm_backend_cuda.jit->use(jit, types[x], &list[i]);
      const bool fits = !status || status->code != DM_E_DEVICE;
      if (!fits) dm_status_free(status);
      if (!fits) continue;
      ok(status);
      check_all(jit, other, types[x]);
    }
  }
  dm_backend_close(jit);
  dm_backend_close(other);
}

/* The same size again needs no trial; another size, no compiler. */
TEST(compiled_once) {
  dm_backend *jit = open_gpu("jit", false, 0);
  const dm_jit_ops *ops = dm_backend_cuda.jit;
  double at[4] = {dm_now()};
  ok(ops->prepare(jit, DM_F32, 100000, 100000));
  at[1] = dm_now();
  ok(ops->prepare(jit, DM_F32, 100000, 100000));
  at[2] = dm_now();
  ok(ops->prepare(jit, DM_F32, 100, 100));
  at[3] = dm_now();
  assert_true(at[2] - at[1] < 1e-3 && at[3] - at[2] < 0.5 * (at[1] - at[0]));
  dm_backend_close(jit);
}

TEST(refusals) {
  dm_backend *jit = open_gpu("jit", false, 0);
  const dm_jit_ops *ops = dm_backend_cuda.jit;
  int count;
  dm_tiling bad = dm_tiling_candidates(DM_F32, &count)[0];
  bad.stages = 8;
  bad.bk = 64;
  fails(ops->use(jit, DM_F32, &bad), DM_E_DEVICE, "shared memory");
  ok(ops->prepare(jit, DM_F32, 100000, 100000));
  ok(ops->prepare(jit, DM_F64, 0, 5)); /* the block of a rank without rows */
  fails(ops->prepare(jit, DM_F16, 10, 10), DM_E_BUG, "f16");
  dm_backend_close(jit);
}

TEST_PROGRAM(test_cuda_jit) {
  if (dm_cuda_device_count() == 0 || !jit_is_there()) return SKIPPED;
  return run_all(NULL);
}
