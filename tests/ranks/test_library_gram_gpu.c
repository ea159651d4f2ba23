/* ranks: 1. The library adds an old C in GPU memory to a Gram matrix, if it is symmetric or
 * Hermitian. */
#include "core/buffer.h"
#include "core/copy.h"
#include "gpu_ranks.h"
#include "library_on_gpu.h"

enum { MOST = 70 * 70 * 2, ROWS = 90 };

typedef struct gram_case {
  damier_type type;
  dm_dtype dtype;
  int64_t n;
} gram_case;

static double number(int64_t i, int64_t j, int which) {
  return (double)((i * 7 + j * 5 + which) % 11) - 5.0;
}

/* X, or an old C whose lower half is the image of the upper one. */
static void fill_numbers(const gram_case *g, double *to, int64_t rows, int64_t cols, bool old) {
  const int parts = dm_dtype_is_complex(g->dtype) ? 2 : 1;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      for (int x = 0; x < parts; x++) {
        const bool below = old && i > j;
        const double value = number(below ? j : i, below ? i : j, x);
        to[(i * cols + j) * parts + x] = old && x ? (i == j ? 0.0 : below ? -value : value) : value;
      }
}

/* C = 2 X^H X - 3 OLD, in double. */
static void expect(const gram_case *g, const double *x, const double *old, double *c) {
  const int parts = dm_dtype_is_complex(g->dtype) ? 2 : 1;
  for (int64_t i = 0; i < g->n; i++)
    for (int64_t j = 0; j < g->n; j++) {
      double sum[2] = {0.0, 0.0};
      for (int64_t k = 0; k < ROWS; k++) {
        const double *a = x + (k * g->n + i) * parts, *b = x + (k * g->n + j) * parts;
        sum[0] += a[0] * b[0] + (parts == 2 ? a[1] * b[1] : 0.0);
        if (parts == 2) sum[1] += a[0] * b[1] - a[1] * b[0];
      }
      for (int p = 0; p < parts; p++)
        c[(i * g->n + j) * parts + p] = 2.0 * sum[p] - 3.0 * old[(i * g->n + j) * parts + p];
    }
}

/* NUMBERS as a matrix of G's type in GPU memory. */
static damier_matrix on_gpu(gpu_test *t, const gram_case *g, const double *numbers, int64_t rows,
                            void **memory) {
  const int64_t bytes = rows * g->n * dm_dtype_size(g->dtype);
  DM_FREED char *there = malloc((size_t)bytes);
  dm_store_wide(there, g->dtype, 1, numbers, rows * g->n);
  *memory = gpu_memory(t, bytes);
  move(t, DM_DEVICE, *memory, DM_HOST, there, bytes);
  return damier_in_gpu(damier_on_one(g->type, rows, g->n, 0, *memory, g->n), NULL);
}

static bool equals(gpu_test *t, const gram_case *g, void *memory, const double *want) {
  const int64_t count = g->n * g->n, bytes = count * dm_dtype_size(g->dtype);
  static double got[MOST];
  DM_FREED char *here = malloc((size_t)bytes);
  move(t, DM_HOST, here, DM_DEVICE, memory, bytes);
  dm_load_wide(got, here, g->dtype, 1, count);
  int64_t same = 0, numbers = count * (dm_dtype_is_complex(g->dtype) ? 2 : 1);
  while (same < numbers && got[same] == want[same]) same++;
  return same == numbers;
}

static void try_case(gpu_test *t, damier_context *context, const gram_case *g) {
  static double x[ROWS * 70 * 2], old[MOST], want[MOST];
  const char *name = dm_dtype_name(g->dtype);
  void *x_there, *c_there;
  damier_error error;
  fill_numbers(g, x, ROWS, g->n, false);
  fill_numbers(g, old, g->n, g->n, true);
  expect(g, x, old, want);
  const damier_matrix of_x = on_gpu(t, g, x, ROWS, &x_there);
  damier_matrix c = on_gpu(t, g, old, g->n, &c_there);
  for (int verify = 0; verify < 2; verify++) {
    damier_set(context, "verify", verify ? "yes" : "no", &error);
    if (verify) c = on_gpu(t, g, old, g->n, &c_there);
    const int code = damier_gram(context, &of_x, 0, &c, &error);
    CHECK(&t->base, code == DAMIER_OK, "%s: %s", name, error.message);
    CHECK(&t->base, equals(t, g, c_there, want), "%s, verified %d: C is wrong", name, verify);
    dm_backend_release(t->gpu, DM_DEVICE, c_there);
  }
  old[g->n > 1 ? g->n * (dm_dtype_is_complex(g->dtype) ? 2 : 1) : 0] += 1.0; /* (1, 0) */
  if (g->n > 1) {
    c = on_gpu(t, g, old, g->n, &c_there);
    const int code = damier_gram(context, &of_x, 0, &c, &error);
    CHECK(&t->base, code == DAMIER_E_INPUT && strstr(error.message, "elements (0, 1) and (1, 0)"),
          "%s: %d, %s", name, code, error.message);
    CHECK(&t->base, equals(t, g, c_there, old), "%s: the old C was changed", name);
    dm_backend_release(t->gpu, DM_DEVICE, c_there);
  }
  dm_backend_release(t->gpu, DM_DEVICE, x_there);
}

TEST_PROGRAM(test_library_gram_gpu) {
  static const gram_case cases[] = {{DAMIER_F64, DM_F64, 70},
                                    {DAMIER_F32, DM_F32, 33},
                                    {DAMIER_C128, DM_C128, 41},
                                    {DAMIER_C64, DM_C64, 2},
                                    {DAMIER_F64, DM_F64, 1}};
  gpu_test t;
  if (!gpu_test_start(&t, false)) return SKIPPED;
  damier_context *context;
  damier_error error;
  const int code = damier_open(MPI_COMM_SELF, &context, &error);
  CHECK(&t.base, code == DAMIER_OK, "%s", error.message);
  damier_set(context, "alpha", "2", &error);
  damier_set(context, "beta", "-3", &error);
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !code; i++)
    try_case(&t, context, &cases[i]);
  damier_close(context);
  return gpu_test_end(&t);
}
