/* The registry's helper kernels on shapes that break kernels, with aligned and unaligned rows.
 * Transpositions are exact, sums have the bits of the same arithmetic on the host, dot products are
 * within the bound of their additions; only the result is written. */
#include "cuda_test.h"

static const int64_t shapes[][2] = {{1, 1},   {1, 700},   {700, 1},   {15, 17},  {16, 48},
                                    {31, 33}, {64, 64},   {63, 129},  {128, 65}, {257, 255},
                                    {5, 999}, {1000, 13}, {130, 1029}};

/* Elements before and after each row, of the first and of the other matrices. */
static const int64_t layouts[][4] = {{0, 0, 0, 0},     {0, 1, 0, 3}, {1, 2, 3, 1},
                                     {16, 16, 16, 16}, {0, 0, 1, 4}, {5, 0, 0, 0}};

enum {
  SHAPES = sizeof shapes / sizeof shapes[0],
  LAYOUTS = sizeof layouts / sizeof layouts[0],
  PROCESSORS = 100 /* not the GPU's number: parts must not depend on it */
};

static dm_generator numbers(dm_dtype dtype, uint64_t seed) {
  const bool whole = dm_dtype_is_integer(dtype);
  return (dm_generator){.kind = whole ? DM_INTEGER : DM_UNIFORM,
                        .seed = seed,
                        .parameter = dtype == DM_I8 ? 127 : 2e9};
}

/* A matrix with FRONT elements before and BEHIND after each row; without THERE all are NaN. */
static pair make(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols, int64_t front,
                 int64_t behind, uint64_t seed, bool there) {
  dm_generator generator = numbers(dtype, seed);
  if (!there) generator = (dm_generator){.kind = DM_CONSTANT, .parameter = (double)NAN};
  pair p = make_pair(gpu, dtype, rows, front + cols + behind, 0, generator);
  p.host = dm_view_sub(p.host_all, 0, front, rows, cols);
  p.device = dm_view_sub(p.device_all, 0, front, rows, cols);
  return p;
}

/* The copy of P on the GPU equals P.host, also around the matrix. */
static void check_all(dm_backend *gpu, pair p, const char *kernel, const int64_t *shape,
                      const int64_t *layout) {
  char *got = fetched(gpu, p);
  const int64_t size = dm_dtype_size(p.host.dtype), width = p.host_all.cols;
  const bool same = memcmp(got, p.host_all.base, (size_t)bytes_of(p.host_all)) == 0;
  for (int64_t at = 0; at < p.host_all.rows * width && !same; at++)
    if (memcmp(got + at * size, (char *)p.host_all.base + at * size, (size_t)size) != 0)
      fail_msg("%s, %s, %lld x %lld, layout %lld %lld %lld %lld: element (%lld, %lld) is wrong",
               kernel, dm_dtype_name(p.host.dtype), (long long)shape[0], (long long)shape[1],
               (long long)layout[0], (long long)layout[1], (long long)layout[2],
               (long long)layout[3], (long long)(at / width), (long long)(at % width));
  free(got);
}

typedef struct helper {
  const char *name;
  cudaError_t (*transpose)(const dm_transposition *);
  cudaError_t (*add)(const dm_addition *);
  cudaError_t (*dot)(const dm_dot_product *);
} helper;

static void transpose(dm_backend *gpu, const helper *h, dm_dtype dtype, const int64_t *shape,
                      const int64_t *l) {
  pair from = make(gpu, dtype, shape[0], shape[1], l[0], l[1], 1, true);
  pair to = make(gpu, dtype, shape[1], shape[0], l[2], l[3], 2, true);
  cuda_ok(h->transpose(&(dm_transposition){.to = to.device, .from = from.device}));
  dm_copy(to.host, dm_view_transpose(from.host), false);
  check_all(gpu, to, h->name, shape, l);
  free_pair(gpu, from), free_pair(gpu, to);
}

/* Z = alpha X + beta Y on the host: like dm_apply_alpha_beta, and modulo 2^32. */
static void add_element(dm_view z, double x, double y, double alpha, double beta, int64_t i,
                        int64_t j) {
  void *at = dm_view_at(z, i, j);
  if (z.dtype == DM_I32) {
    *(uint32_t *)at = (uint32_t)(int64_t)alpha * (uint32_t)(int64_t)x +
                      (uint32_t)(int64_t)beta * (uint32_t)(int64_t)y;
    return;
  }
  const double sum = beta == 0.0 ? alpha * x : alpha == 0.0 ? beta * y : alpha * x + beta * y;
  dm_store_wide(at, z.dtype, 1, &sum, 1);
}

/* PLACE: Z is separate (0), X (1), or Y (2). */
static void add(dm_backend *gpu, const helper *h, dm_dtype dtype, const int64_t *shape,
                const int64_t *l, double alpha, double beta, int place) {
  pair x = make(gpu, dtype, shape[0], shape[1], l[0], l[1], 1, alpha != 0.0 || place == 1);
  pair y = make(gpu, dtype, shape[0], shape[1], l[2], l[3], 2, beta != 0.0 || place == 2);
  pair own = make(gpu, dtype, shape[0], shape[1], l[2], l[1], 3, true);
  pair z = place == 0 ? own : place == 1 ? x : y;
  cuda_ok(h->add(
      &(dm_addition){.z = z.device, .x = x.device, .y = y.device, .alpha = alpha, .beta = beta}));
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[1]; j++)
      add_element(z.host, alpha != 0.0 ? number(x.host, i, j) : 0.0,
                  beta != 0.0 ? number(y.host, i, j) : 0.0, alpha, beta, i, j);
  check_all(gpu, z, h->name, shape, l);
  free_pair(gpu, x), free_pair(gpu, y), free_pair(gpu, own);
}

static double dot_once(dm_backend *gpu, const helper *h, dm_view x, dm_view y) {
  dm_dot_product p = {.x = x, .y = y, .processors = PROCESSORS};
  double value;
  const int64_t scratch = dm_kernels_dot_scratch(&p);
  ok(dm_backend_alloc(gpu, DM_DEVICE, scratch, &p.scratch));
  ok(dm_backend_alloc(gpu, DM_DEVICE, 8, (void **)&p.result));
  cuda_ok(cudaMemset(p.scratch, 0xff, (size_t)scratch));
  cuda_ok(cudaMemset(p.result, 0xff, 8));
  cuda_ok(h->dot(&p));
  cuda_ok(cudaMemcpy(&value, p.result, 8, cudaMemcpyDeviceToHost));
  dm_backend_release(gpu, DM_DEVICE, p.scratch);
  dm_backend_release(gpu, DM_DEVICE, p.result);
  return value;
}

static void dot(dm_backend *gpu, const helper *h, dm_dtype dtype, const int64_t *shape,
                const int64_t *l, bool same) {
  pair x = make(gpu, dtype, shape[0], shape[1], l[0], l[1], 1, true);
  pair y = make(gpu, dtype, shape[0], shape[1], l[2], l[3], 2, true);
  const pair other = same ? x : y;
  const double value = dot_once(gpu, h, x.device, other.device);
  long double wanted = 0.0L, magnitude = 0.0L;
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[1]; j++) {
      const long double product = (long double)number(x.host, i, j) * number(other.host, i, j);
      wanted += product, magnitude += fabsl(product);
    }
  const long double bound = (long double)(shape[0] * shape[1] + 1) * 0x1p-53L * magnitude;
  if (!(fabsl(wanted - value) <= bound))
    fail_msg("%s, %s, %lld x %lld: %.17g, not %.17Lg", h->name, dm_dtype_name(dtype),
             (long long)shape[0], (long long)shape[1], value, wanted);
  if (strcmp(h->name, "dot_atomic") != 0)
    for (int i = 0; i < 3; i++) assert_true(value == dot_once(gpu, h, x.device, other.device));
  free_pair(gpu, x), free_pair(gpu, y);
}

/* Two pairs of factors for each TURN. */
static void run_add(dm_backend *gpu, const helper *h, dm_dtype dtype, const int64_t *shape,
                    const int64_t *l, int turn) {
  static const double factors[][2] = {{1, 1}, {-3, 7}, {1, 0}, {5, 0}, {0, -2}, {0, 0}};
  const double scale = dtype == DM_I32 ? 1.0 : 0.3; /* not representable in f32 */
  for (int i = 0; i < 2; i++) {
    const double *f = factors[(turn + 3 * i) % 6];
    add(gpu, h, dtype, shape, l, f[0] * scale, f[1] * scale, (turn + i) % 3);
  }
}

static void test_helper(void **state) {
  const helper *h = *state;
  dm_backend *gpu = open_gpu("auto", false, 0);
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (strcmp(kernel->name, h->name) != 0) continue;
    for (int type = 0; type < DM_DTYPE_COUNT; type++)
      for (int s = 0; s < SHAPES && kernel->types >> type & 1; s++)
        for (int l = 0; l < LAYOUTS; l++) {
          if (h->transpose) transpose(gpu, h, (dm_dtype)type, shapes[s], layouts[l]);
          if (h->add) run_add(gpu, h, (dm_dtype)type, shapes[s], layouts[l], s + l);
          if (h->dot) dot(gpu, h, (dm_dtype)type, shapes[s], layouts[l], (s + l) % 2);
        }
  }
  dm_backend_close(gpu);
}

/* Squares are mirrored as on the host, from any row on; nothing else is written. */
static void test_mirror(void **state) {
  static const int64_t sides[] = {1, 31, 32, 65, 257, 1000};
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_C64, DM_C128, DM_I8, DM_I32, DM_BF16};
  dm_backend *gpu = open_gpu("auto", false, 0);
  (void)state;
  for (int t = 0; t < 7; t++)
    for (int s = 0; s < 6; s++)
      for (int l = 0; l < LAYOUTS; l++) {
        const int64_t n = sides[s], shape[2] = {n, n}, first = l % 3 * n / 3;
        pair p = make(gpu, types[t], n, n, layouts[l][0], layouts[l][1], 1, true);
        cuda_ok(dm_kernels_mirror(p.device, first, l % 2, NULL));
        dm_mirror(p.host, first, 0, n, l % 2);
        check_all(gpu, p, "mirror", shape, layouts[l]);
        free_pair(gpu, p);
      }
  dm_backend_close(gpu);
}

#define TRANSPOSE(kernel, ...) {.name = #kernel, .transpose = dm_kernels_##kernel},
#define ADD(kernel, ...) {.name = #kernel, .add = dm_kernels_##kernel},
#define DOT(kernel, ...) {.name = #kernel, .dot = dm_kernels_##kernel},
static helper helpers[] = {DM_TRANSPOSE_LIST(TRANSPOSE) DM_ADD_LIST(ADD) DM_DOT_LIST(DOT)};
enum { HELPERS = sizeof helpers / sizeof helpers[0] };

TEST_PROGRAM(test_cuda_helpers) {
  if (dm_cuda_device_count() == 0) return SKIPPED;
  struct CMUnitTest tests[HELPERS + 1] = {[HELPERS] = {.name = "mirror", .test_func = test_mirror}};
  for (int i = 0; i < HELPERS; i++)
    tests[i] = (struct CMUnitTest){
        .name = helpers[i].name, .test_func = test_helper, .initial_state = &helpers[i]};
  return _cmocka_run_group_tests("helpers", tests, HELPERS + 1, NULL, NULL);
}
