/* ranks: 1 2 3. The library computes covariances and correlations of matrices in GPU memory of all
 * ranks, or of some, in random divisions, with missing values. */
#include "gpu_ranks.h"
#include "library_covariance.h"
#include "library_on_gpu.h"

enum { CASES = 24, LINES = 30 };

/* X, filled, in GPU memory of all ranks, some, or none. */
static placed place_x(gpu_test *t, random_state *r, int64_t rows, int64_t cols, bool gaps) {
  placed x = place(t, r, DAMIER_F64, rows, cols, -1);
  take_from_gpu(&t->base, t->gpu, &x.s, &x.there);
  fill_x(&t->base, &x.s, gaps);
  if (x.m.memory == DAMIER_GPU_MEMORY) x.m = put_on_gpu(&t->base, t->gpu, &x.s, &x.there);
  return x;
}

/* The message names the first missing value, in the order of rows. */
static bool names_first(const placed *x, const char *message) {
  char place[80];
  for (int64_t i = 0; i < x->m.rows; i++)
    for (int64_t j = 0; j < x->m.cols; j++) {
      if (!isnan(of_line(&x->s, false, j, i, true))) continue;
      snprintf(place, sizeof place, "; the first is in row %lld, column %lld", (long long)i,
               (long long)j);
      return strstr(message, place) != NULL;
    }
  return false;
}

static void try_case(gpu_test *t, damier_context *context, random_state *r, int number) {
  const bool of_rows = draw(r, 0, 1), cor = draw(r, 0, 1), gaps = draw(r, 0, 1);
  const bool pairs = gaps && draw(r, 0, 3) == 0;
  const int64_t lines = draw(r, 1, LINES), length = draw(r, 20, 90);
  placed x = place_x(t, r, of_rows ? lines : length, of_rows ? length : lines, gaps);
  placed c = place(t, r, DAMIER_F64, lines, lines, -1);
  damier_error error;
  int (*const take)(damier_context *, const damier_matrix *, int, const damier_matrix *,
                    damier_error *) = cor ? damier_cor : damier_cov;
  damier_set(context, "missing", NULL, &error);
  int code = gaps ? take(context, &x.m, of_rows, &c.m, &error) : DAMIER_OK;
  if (gaps)
    CHECK(&t->base, code == DAMIER_E_INPUT && names_first(&x, error.message), "case %d: %d, %s",
          number, code, error.message);
  damier_set(context, "missing", pairs ? "pairwise" : "mean", &error);
  code = take(context, &x.m, of_rows, &c.m, &error);
  CHECK(&t->base, code == DAMIER_OK, "case %d: %s", number, error.message);
  take_from_gpu(&t->base, t->gpu, &c.s, &c.there);
  const int64_t wrong = code ? 0 : count_off(&t->base, &x.s, &c.s, of_rows, cor, gaps, pairs);
  CHECK(&t->base, wrong == 0, "case %d (divisions %d %d, rows %d, gaps %d, pairs %d): %lld wrong",
        number, x.m.division, c.m.division, of_rows, gaps, pairs, (long long)wrong);
  drop(t, &x);
  drop(t, &c);
}

TEST_PROGRAM(test_library_covariance_gpu) {
  gpu_test t;
  if (!gpu_test_start(&t, false)) return SKIPPED;
  random_state r = {20261126};
  damier_context *context;
  damier_error error;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&t.base, code == DAMIER_OK, "%s", error.message);
#ifdef NO_KERNELS
  damier_set(context, "transport", "host", &error); /* self-tests of emulated links are slow */
#endif
  for (int i = 0; i < CASES && !code; i++) try_case(&t, context, &r, i);
  damier_close(context);
  return gpu_test_end(&t);
}
