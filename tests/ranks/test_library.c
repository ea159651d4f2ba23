/* ranks: 1 2 3 4. The library multiplies matrices in memory with random divisions over the ranks,
 * shapes, types and equations, exactly; and refuses invalid calls. */
#include <math.h>

#include "library_matrices.h"

#ifndef LIBRARY_CASES /* fewer if each takes long */
#define LIBRARY_CASES 20
#endif
enum { CASES = LIBRARY_CASES, MOST = 90 };

/* ---- one case ---- */

static void try_case(rank_test *test, damier_context *context, random_state *r, int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_F32,  DAMIER_C64, DAMIER_I8,
                                      DAMIER_F16, DAMIER_BF16, DAMIER_C128};
  const damier_type type = types[draw(r, 0, 6)];
  const equation e = {"ntc"[draw(r, 0, 2)], "ntc"[draw(r, 0, 2)], (int)draw(r, -2, 2),
                      (int)draw(r, 0, 2), type == DAMIER_C64 || type == DAMIER_C128};
  const int64_t m = draw(r, 1, MOST), n = draw(r, 1, MOST), k = draw(r, 1, 3 * MOST);
  spread a = random_spread(test, r, type, e.op_a == 'n' ? m : k, e.op_a == 'n' ? k : m);
  spread b = random_spread(test, r, type, e.op_b == 'n' ? k : n, e.op_b == 'n' ? n : k);
  spread c = random_spread(test, r, type == DAMIER_I8 ? DAMIER_I32 : type, m, n);
  fill(test, &a, 0);
  fill(test, &b, 1);
  if (e.beta) fill(test, &c, 2);
  state(context, "op-a", "%c", e.op_a);
  state(context, "op-b", "%c", e.op_b);
  state(context, "alpha", "%d", e.alpha);
  state(context, "beta", "%d", e.beta);
  state(context, "panel", "%d", 64 * (int)draw(r, 1, 2));
  damier_error error;
  const int code = damier_multiply(context, &a.m, &b.m, &c.m, &error);
  CHECK(test, code == DAMIER_OK, "case %d: %s", number, error.message);
  const int64_t wrong = code ? 0 : count_wrong(test, &c, &e, k);
  CHECK(test, wrong == 0, "case %d (%c%c, %lld x %lld x %lld, divisions %d %d %d): %lld wrong",
        number, e.op_a, e.op_b, (long long)m, (long long)n, (long long)k, a.m.division,
        b.m.division, c.m.division, (long long)wrong);
  free(a.m.data);
  free(b.m.data);
  free(c.m.data);
}

/* ---- refused calls ---- */

static void refuse(rank_test *test, damier_context *context, damier_matrix a, damier_matrix b,
                   damier_matrix c, int code, const char *words) {
  damier_error error;
  const int got = damier_multiply(context, &a, &b, &c, &error);
  CHECK(test, got == code && error.agreed && strstr(error.message, words), "'%s' %d: '%s'", words,
        got, error.message);
}

static void refusals(rank_test *test, damier_context *context) {
  double data[16] = {0}, made[16];
  damier_error error;
  const int64_t own = test->run.rank == 0 ? 4 : 0;
  const damier_matrix fine = damier_by_rows(DAMIER_F64, 4, 4, own, data, 0);
  const damier_matrix c = damier_by_rows(DAMIER_F64, 4, 4, own, made, 0);
  damier_matrix few = fine, nowhere = fine, nothing = c, flat = fine;
  static const char *const options[] = {"op-a", "op-b", "alpha", "beta", "panel"};
  for (int i = 0; i < 5; i++) damier_set(context, options[i], NULL, &error);
  few.own_rows = 0;
  refuse(test, context, few, fine, c, DAMIER_E_USAGE, "A: it has 4 rows, but the ranks have 0");
  nowhere.division = DAMIER_ON_ONE;
  nowhere.rank = 99;
  refuse(test, context, fine, nowhere, c, DAMIER_E_USAGE, "B: there is no rank 99");
  nothing.data = NULL;
  refuse(test, context, fine, fine, nothing, DAMIER_E_USAGE, "C: this rank has elements");
  flat.rows = 3;
  refuse(test, context, fine, flat, c, DAMIER_E_INPUT, "inner dimensions differ");
  damier_set(context, "backend", "cpu", &error);
  refuse(test, context, fine, damier_in_gpu(fine, NULL), c, DAMIER_E_DEVICE,
         "B: it is in GPU memory, but backend cpu uses only host memory");
  damier_set(context, "backend", NULL, &error);
  refuse(test, context, damier_file("/nowhere/A.h5"), fine, c, DAMIER_E_IO, "cannot be opened");
  CHECK(test, damier_set(context, "grid", "0x1", &error) == DAMIER_E_USAGE, "a grid of 0x1");
  CHECK(test, damier_set(context, "json", "x", &error) == DAMIER_E_USAGE, "an option of programs");
}

/* ---- progress, cancelling, records ---- */

static int cancel(void *count, int64_t done, int64_t total) {
  (void)total;
  ++*(int *)count;
  return done >= 0;
}

static void extras(rank_test *test, damier_context *context) {
  double a[4] = {1, 2, 3, 4}, c[4] = {7, 7, 7, 7};
  damier_error error;
  const damier_matrix m = damier_on_one(DAMIER_F64, 2, 2, 0, a, 0);
  const damier_matrix result = damier_on_one(DAMIER_F64, 2, 2, 0, c, 0);
  CHECK(test, damier_plan(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, c[0] == 7, "a plan changes C");
  CHECK(test, strstr(damier_record(context), "\"recipe\"") != NULL, "the record is '%s'",
        damier_record(context));
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, test->run.rank > 0 || c[3] == 22, "%g is not 22", c[3]);
  a[0] = NAN;
  c[3] = 0;
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "NaN: %s",
        error.message);
  CHECK(test, strstr(damier_record(context), "\"rows_by_pattern\":1") != NULL, "the record is '%s'",
        damier_record(context));
  CHECK(test, test->run.rank > 0 || (isnan(c[0]) && c[3] == 22), "%g is not 22", c[3]);
  a[0] = 1e200; /* the product overflows */
  c[3] = 0;
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_E_UNCHECKED,
        "Inf passes");
  CHECK(test, test->run.rank > 0 || (isinf(c[0]) && c[3] == 22), "%g is not 22", c[3]);
  damier_set(context, "allow-unchecked", NULL, &error);
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, damier_verify(context, &m, &m, &result, &error) == DAMIER_E_USAGE,
        "matrices in memory are verified");
#ifndef NO_KERNELS /* the emulated GPU has none to list */
  CHECK(test, damier_info(context, NULL, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, strstr(damier_record(context), "\"libraries\"") != NULL, "the record is '%s'",
        damier_record(context));
#endif
  CHECK(test,
        damier_info(context, "/nowhere/A.h5", &error) == DAMIER_E_INPUT ||
            error.code == DAMIER_E_IO,
        "%d for a file that is missing", error.code);
  CHECK(test, damier_record(context)[0] == '\0', "a failed look leaves a record");
  int calls = 0;
  damier_on_progress(context, cancel, &calls);
  const int code = damier_multiply(context, &m, &m, &result, &error);
  CHECK(test, code == DAMIER_OK || (code == DAMIER_E_STOPPED && calls > 0), "%d", code);
  damier_on_progress(context, NULL, NULL);
}

/* The fastest method of an (emulated) GPU: data unsuitable for residues are multiplied
 * nevertheless. */
static void fastest(rank_test *test, damier_context *context) {
  enum { SIZE = 300 };
  const int64_t bytes = (int64_t)(SIZE * SIZE * sizeof(double));
  double *a = memory_of(test, bytes), *c = memory_of(test, bytes);
  damier_error error;
  const damier_matrix m = damier_on_one(DAMIER_F64, SIZE, SIZE, 0, a, 0);
  const damier_matrix result = damier_on_one(DAMIER_F64, SIZE, SIZE, 0, c, 0);
  for (int i = 0; i < SIZE * SIZE; i++) a[i] = 1 + i % 7;
  CHECK(test, damier_set(context, "compute", "fastest", &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, damier_set(context, "machine", "gflops=10", &error) == DAMIER_OK, "%s",
        error.message);
  for (int unfit = 0; unfit < 2; unfit++) {
    if (unfit) a[SIZE + 1] = NAN;
    CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "%s",
          error.message);
    double sum = 0.0;
    for (int l = 0; l < SIZE; l++) sum += a[l] * a[l * SIZE];
    CHECK(test, test->run.rank > 0 || c[0] == sum, "%g instead of %g", c[0], sum);
    CHECK(test, test->run.rank > 0 || isnan(c[SIZE]) == (unfit == 1), "%g", c[SIZE]);
#ifdef NO_KERNELS
    const char *record = damier_record(context);
    const bool by_residues = strstr(record, "f64:int8:16") && !strstr(record, "\"instead\"");
    CHECK(test, test->run.rank > 0 || by_residues == !unfit, "%s", record);
#endif
  }
  CHECK(test, damier_set(context, "compute", "f64:int8", &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, damier_multiply(context, &m, &m, &result, &error) == DAMIER_OK, "%s", error.message);
  CHECK(test, test->run.rank > 0 || strstr(damier_record(context), "\"instead\""),
        "residues multiply NaN");
  damier_set(context, "compute", NULL, &error);
  damier_set(context, "machine", NULL, &error);
  free(a);
  free(c);
}

TEST_PROGRAM(test_library) {
  rank_test test = rank_test_start();
  random_state r = {20251123};
  damier_context *context;
  damier_error error;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test, code == DAMIER_OK, "%s", error.message);
  for (int i = 0; i < CASES && !code; i++) try_case(&test, context, &r, i);
  if (!code) refusals(&test, context);
  if (!code) extras(&test, context);
  if (!code) fastest(&test, context);
  damier_close(context);
  return rank_test_end(&test);
}
