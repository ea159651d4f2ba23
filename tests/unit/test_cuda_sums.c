/* Operations of the backend on device memory other than products: sums and dot products equal the
 * host's, also for complex numbers. */
#include "backend/backend.h"
#include "backend/probe.h"
#include "cuda_test.h"

static const dm_dtype dtypes[] = {DM_F64, DM_F32, DM_C64, DM_C128, DM_I32};

TEST(test_add) {
  static const double factors[][2] = {{1, 1}, {-3, 2}, {7, 0}, {0, 5}};
  dm_backend *gpu = *state;
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    for (int f = 0; f < 4; f++) {
      const dm_generator numbers = {.kind = DM_INTEGER, .seed = 5, .parameter = 1e9};
      pair x = make_pair(gpu, dtypes[d], 37, 201, f, numbers);
      pair z = make_pair(gpu, dtypes[d], 37, 201, 3 - f, numbers);
      ok(dm_host_add(gpu, z.host, x.host, z.host, factors[f][0], factors[f][1]));
      ok(dm_backend_add(gpu, z.device, x.device, z.device, factors[f][0], factors[f][1]));
      check_twin(gpu, z, "sum");
      free_pair(gpu, x), free_pair(gpu, z);
    }
}

TEST(test_dot) {
  dm_backend *gpu = *state;
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    for (int64_t pad = 0; pad < 2; pad++) {
      const dm_generator numbers = {.kind = DM_INTEGER, .seed = 5, .parameter = 1000.0};
      pair x = make_pair(gpu, dtypes[d], 300, 999, pad, numbers);
      pair y = make_pair(gpu, dtypes[d], 300, 999, 0, (dm_generator){numbers.kind, 6, 1000.0});
      for (int same = 0; same < 2; same++) { /* integers: exact in any order */
        double wanted, got;
        ok(dm_host_dot(gpu, x.host, same ? x.host : y.host, &wanted));
        ok(dm_backend_dot(gpu, x.device, same ? x.device : y.device, &got));
        assert_true(wanted == got);
        assert_true(same ? got > 0.0 : got != 0.0);
      }
      free_pair(gpu, x), free_pair(gpu, y);
    }
}

TEST(test_convert) {
  static const dm_dtype reals[] = {DM_F64, DM_F32, DM_F16, DM_BF16},
                        complexes[] = {DM_C64, DM_C128};
  dm_backend *gpu = *state;
  for (int from = 0; from < 6; from++)
    for (int to = 0; to < 6; to++) {
      if ((from < 4) != (to < 4) || from == to) continue;
      const dm_dtype src = from < 4 ? reals[from] : complexes[from - 4];
      const dm_dtype dst = to < 4 ? reals[to] : complexes[to - 4];
      for (int64_t cols = 200; cols < 204; cols++) { /* whole runs and remainders */
        const dm_generator numbers = {.kind = DM_NORMAL, .seed = 7};
        pair x = make_pair(gpu, src, 37, cols, cols % 2, numbers);
        pair z = make_pair(gpu, dst, 37, cols, 8 - cols % 4, (dm_generator){.kind = DM_NORMAL});
        dm_copy(z.host, x.host, false);
        move(gpu, z.device, x.device);
        check_twin(gpu, z, "conversion");
        free_pair(gpu, x), free_pair(gpu, z);
      }
    }
}

/* Unsupported additions are refused, not computed wrongly. */
TEST(test_refused) {
  dm_backend *gpu = *state;
  const dm_generator numbers = {.kind = DM_INTEGER, .parameter = 9.0};
  pair x = make_pair(gpu, DM_F32, 4, 5, 0, numbers), h = make_pair(gpu, DM_F16, 4, 5, 0, numbers);
  double sum;
  dm_event done;
  dm_status refusals[] = {
      dm_backend_copy(gpu, h.device, x.host, &done),
      dm_backend_add(gpu, x.device, x.host, x.device, 1.0, 1.0),
      dm_backend_add(gpu, h.device, h.device, h.device, 1.0, 1.0),
      dm_backend_add(gpu, x.device, dm_view_sub(x.device, 0, 0, 4, 4), x.device, 1.0, 1.0),
      dm_backend_dot(gpu, h.device, h.device, &sum),
      dm_backend_dot(gpu, x.device, x.host, &sum),
  };
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
    fails(refusals[i], DM_E_BUG, "");
  free_pair(gpu, x), free_pair(gpu, h);
}

CUDA_TESTS(test_cuda_sums)
