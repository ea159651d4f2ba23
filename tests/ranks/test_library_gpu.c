/* ranks: 1 2 3 4. The library reads matrices from GPU memory, host memory or a file, in any
 * division, and stores C there: random cases, exact. */
#include <unistd.h>

#include "gpu_ranks.h"
#include "library_on_gpu.h"

enum { CASES = 12, MOST = 70 };

/* Only C's elements changed in its memory. */
static bool has_clean_gaps(rank_test *test, const spread *c) {
  const int64_t size = dm_dtype_size((dm_dtype)c->m.type);
  int64_t row, col, dirty = 0;
  for (int64_t i = 0; i < c->m.rows; i++)
    for (int64_t j = 0; j < c->m.cols; j++)
      if (owner(c, i, j, &row, &col) == test->run.rank)
        memset(element(c, row, col), 0x7f, (size_t)size);
  for (int64_t i = 0; i < spread_bytes(c); i++) dirty += ((const char *)c->m.data)[i] != 0x7f;
  return dirty == 0;
}

/* ---- one case ---- */

typedef struct shape {
  int64_t m, n, k;
} shape;

static equation random_equation(random_state *r, damier_context *context, damier_type type) {
  const equation e = {"ntc"[draw(r, 0, 2)], "ntc"[draw(r, 0, 2)], (int)draw(r, -2, 2),
                      (int)draw(r, 0, 2), type == DAMIER_C64 || type == DAMIER_C128};
  state(context, "op-a", "%c", e.op_a);
  state(context, "op-b", "%c", e.op_b);
  state(context, "alpha", "%d", e.alpha);
  state(context, "beta", "%d", e.beta);
  return e;
}

static void try_case(gpu_test *t, damier_context *context, random_state *r, shape of, int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_F32, DAMIER_C64, DAMIER_F16, DAMIER_I8};
  const damier_type type = types[draw(r, 0, 4)];
  const damier_type type_c = type == DAMIER_I8 ? DAMIER_I32 : type;
  const equation e = random_equation(r, context, type);
  const bool na = e.op_a == 'n', nb = e.op_b == 'n', own = draw(r, 0, 1);
  damier_error error;
  placed a = place(t, r, type, na ? of.m : of.k, na ? of.k : of.m, 0);
  placed b = place(t, r, type, nb ? of.k : of.n, nb ? of.n : of.k, 1);
  placed old = place(t, r, type_c, of.m, of.n, 2);
  placed c = place(t, r, type_c, of.m, of.n, own ? 2 : -1);
  damier_old_c(context, own || e.beta == 0 ? NULL : &old.m, &error);
  const int other = (dm_backend_current_gpu() + 1) % t->device.visible;
  dm_backend_select_gpu(other);
  const int code = damier_multiply(context, &a.m, &b.m, &c.m, &error);
  CHECK(&t->base, dm_backend_current_gpu() == other, "case %d: another GPU is selected", number);
  CHECK(&t->base, code == DAMIER_OK, "case %d: %s", number, error.message);
  take_from_gpu(&t->base, t->gpu, &c.s, &c.there);
  const int64_t wrong = code ? 0 : count_wrong(&t->base, &c.s, &e, of.k);
  CHECK(&t->base, wrong == 0, "case %d (%c%c beta %d, %lld x %lld x %lld): %lld wrong", number,
        e.op_a, e.op_b, e.beta, (long long)of.m, (long long)of.n, (long long)of.k,
        (long long)wrong);
  CHECK(&t->base, has_clean_gaps(&t->base, &c.s), "case %d: memory around C has changed", number);
  drop(t, &a);
  drop(t, &b);
  drop(t, &old);
  drop(t, &c);
}

/* ---- files ---- */

/* C = A B from GPU memory to a file; C += C 1 from the file, on the GPU. */
static void with_a_file(gpu_test *t, damier_context *context, random_state *r) {
  const int64_t n = 40;
  const equation e = {'n', 'n', 1, 1, false};
  char path[] = "/tmp/damier_on_gpu_XXXXXX", name[64];
  damier_error error;
  if (t->base.run.rank == 0 && !mkdtemp(path)) must(&t->base, dm_fail(DM_E_IO, "no folder"));
  must(&t->base, dm_comm_broadcast(t->base.run.world, path, sizeof path, 0));
  snprintf(name, sizeof name, "%s/C.h5", path);
  set_plain(context);
  placed a = place(t, r, DAMIER_F64, n, n, 0), b = place(t, r, DAMIER_F64, n, n, 1);
  placed c = place(t, r, DAMIER_F64, n, n, 2);
  double *one = memory_of(&t->base, n * n * 8);
  for (int64_t i = 0; i < n * n; i++) one[i] = i % (n + 1) == 0;
  const damier_matrix file = damier_file(name), unit = damier_on_one(DAMIER_F64, n, n, 0, one, 0);
  int code = damier_multiply(context, &a.m, &b.m, &file, &error);
  CHECK(&t->base, code == DAMIER_OK, "%s", error.message);
  damier_set(context, "beta", "1", &error);
  if (!code) code = damier_multiply(context, &file, &unit, &c.m, &error);
  CHECK(&t->base, code == DAMIER_OK, "%s", error.message);
  damier_set(context, "beta", NULL, &error);
  take_from_gpu(&t->base, t->gpu, &c.s, &c.there);
  const int64_t wrong = count_wrong(&t->base, &c.s, &e, n);
  CHECK(&t->base, wrong == 0, "by a file: %lld wrong", (long long)wrong);
  if (t->base.run.rank == 0) unlink(name), rmdir(path);
  drop(t, &a);
  drop(t, &b);
  drop(t, &c);
  free(one);
}

/* Of A in GPU memory, which the GPU converts. */
static void out_of_range(gpu_test *t, damier_context *context, random_state *r) {
  placed a = place(t, r, DAMIER_F64, 40, 30, 0), b = place(t, r, DAMIER_F64, 30, 20, 1),
         c = place(t, r, DAMIER_F32, 40, 20, -1);
  int64_t row, col;
  multiply_narrower(&t->base, context, &a.m, &b.m, &c.m, true);
  take_from_gpu(&t->base, t->gpu, &a.s, &a.there);
  const int rank = owner(&a.s, 20, 10, &row, &col);
  if (rank < 0 || rank == t->base.run.rank) put(element(&a.s, row, col), DAMIER_F64, 1e39, 0);
  a.m = put_on_gpu(&t->base, t->gpu, &a.s, &a.there);
  multiply_narrower(&t->base, context, &a.m, &b.m, &c.m, false);
  drop(t, &a);
  drop(t, &b);
  drop(t, &c);
}

TEST_PROGRAM(test_library_gpu) {
  gpu_test test;
  random_state r = {20251127};
  damier_context *context;
  damier_error error;
  if (!gpu_test_start(&test, false)) return SKIPPED;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test.base, code == DAMIER_OK, "%s", error.message);
#ifdef NO_KERNELS
  damier_set(context, "transport", "host", &error);
#endif
  for (int i = 0; i < CASES && !code; i++) {
    const shape of = {.m = draw(&r, 1, MOST), .n = draw(&r, 1, MOST), .k = draw(&r, 1, 3 * MOST)};
    try_case(&test, context, &r, of, i);
  }
  if (!code) with_a_file(&test, context, &r);
  for (int i = 0; i < 4 && !code; i++) out_of_range(&test, context, &r);
  damier_close(context);
  return gpu_test_end(&test);
}
