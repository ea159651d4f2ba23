/* ranks: 1. Sums of 16-bit numbers of one sign by the library, in GPU memory: those of short pieces
 * are right, and the verification measures how far the units' own ones are off. */
#include "core/buffer.h"
#include "core/copy.h"
#include "core/element.h"
#include "gpu_ranks.h"
#include "library_on_gpu.h"

enum { LINES = 64, DEPTH = 65536 };

/* LINES columns of DEPTH numbers from 0.5 to 1.5, one after the other, of DTYPE. */
static void *numbers(gpu_test *t, dm_dtype dtype, int which, double *exact) {
  const int64_t bytes = (int64_t)LINES * DEPTH * 2;
  DM_FREED char *here = malloc((size_t)bytes);
  dm_fill(dm_view_row_major(here, dtype, LINES, DEPTH),
          &(dm_generator){DM_UNIFORM, (uint64_t)which, 0}, 0, 0);
  dm_load_wide(exact, here, dtype, 1, (int64_t)LINES * DEPTH);
  for (int64_t i = 0; i < (int64_t)LINES * DEPTH; i++) exact[i] = 0.75 + 0.5 * fabs(exact[i]);
  dm_store_wide(here, dtype, 1, exact, (int64_t)LINES * DEPTH);
  dm_load_wide(exact, here, dtype, 1, (int64_t)LINES * DEPTH);
  void *there = gpu_memory(t, bytes);
  move(t, DM_DEVICE, there, DM_HOST, here, bytes);
  return there;
}

/* Of C, on average. */
static double error_of(const float *c, const double *a, const double *b) {
  double sum = 0.0;
  for (int64_t i = 0; i < LINES; i++)
    for (int64_t j = 0; j < LINES; j++) {
      double want = 0.0;
      for (int64_t k = 0; k < DEPTH; k++) want += a[i * DEPTH + k] * b[j * DEPTH + k];
      sum += (double)c[i * LINES + j] / want - 1.0;
    }
  return sum / (LINES * LINES);
}

static void try_type(gpu_test *t, damier_context *context, damier_type type, dm_dtype dtype) {
  static float c[LINES * LINES];
  DM_FREED double *a = malloc(sizeof(double) * LINES * DEPTH);
  DM_FREED double *b = malloc(sizeof(double) * LINES * DEPTH);
  void *a_there = numbers(t, dtype, 1, a), *b_there = numbers(t, dtype, 2, b);
  void *c_there = gpu_memory(t, sizeof c);
  damier_error error;
  const damier_matrix of_a =
      damier_in_gpu(damier_on_one(type, LINES, DEPTH, 0, a_there, DEPTH), NULL);
  const damier_matrix of_b =
      damier_in_gpu(damier_on_one(type, LINES, DEPTH, 0, b_there, DEPTH), NULL);
  const damier_matrix of_c =
      damier_in_gpu(damier_on_one(DAMIER_F32, LINES, LINES, 0, c_there, LINES), NULL);
  damier_set(context, "op-b", "t", &error);
  for (int fast = 0; fast < 2; fast++) {
    damier_set(context, "accumulate", fast ? "fast" : "f32", &error);
    const int code = damier_multiply(context, &of_a, &of_b, &of_c, &error);
    CHECK(&t->base, code == DAMIER_OK, "%s: %s", dm_dtype_name(dtype), error.message);
    move(t, DM_HOST, c, DM_DEVICE, c_there, sizeof c);
    const double off = error_of(c, a, b);
    const char *record = damier_record(context), *at = strstr(record, "\"signed\"");
    const double told = at ? strtod(at + strcspn(at, ":") + 1, NULL) : 1.0;
    CHECK(&t->base, fabs(off) <= (fast ? 1e-8 * DEPTH : 1e-5), "%s, fast %d: off by %g",
          dm_dtype_name(dtype), fast, off);
    /* weights of columns are random, and these have errors of their own */
    CHECK(&t->base, fabs(told - off) <= 0.1 * fabs(off) + 6e-6, "%s, fast %d: off by %g, told %g",
          dm_dtype_name(dtype), fast, off, told);
    if (fabs(off) < 0x1p-15 || fabs(off) > 0x1p-13)
      CHECK(&t->base, (strstr(record, "cut off") != NULL) == (fabs(off) > 0x1p-13),
            "%s, fast %d: off by %g, %s", dm_dtype_name(dtype), fast, off, record);
  }
  damier_set(context, "accumulate", NULL, &error);
  dm_backend_release(t->gpu, DM_DEVICE, a_there);
  dm_backend_release(t->gpu, DM_DEVICE, b_there);
  dm_backend_release(t->gpu, DM_DEVICE, c_there);
}

TEST_PROGRAM(test_library_accumulate_gpu) {
  gpu_test t;
  if (!gpu_test_start(&t, false)) return SKIPPED;
  damier_context *context;
  damier_error error;
  const int code = damier_open(MPI_COMM_SELF, &context, &error);
  CHECK(&t.base, code == DAMIER_OK, "%s", error.message);
  if (!code) {
    try_type(&t, context, DAMIER_BF16, DM_BF16);
    try_type(&t, context, DAMIER_F16, DM_F16);
  }
  damier_close(context);
  return gpu_test_end(&t);
}
