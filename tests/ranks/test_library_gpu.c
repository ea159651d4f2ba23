/* ranks: 1 2 3 4.  The library takes each matrix from GPU memory, host memory or a file, however it
 * is divided, and brings C there: random cases, exact, and calls that are refused. */
#include <unistd.h>

#include "gpu_ranks.h"
#include "library_on_gpu.h"
#ifdef NO_KERNELS
#include "emulated/emulated_memory.h"
#endif

enum { CASES = 12, MOST = 70 };

typedef struct placed {
  spread s;
  gpu_copy there;
  damier_matrix m;
} placed;

/* WHICH: as fill has it; -1: nothing.  In GPU memory of all ranks, of some, or of none. */
static placed place(gpu_test *t, random_state *r, damier_type type, int64_t rows, int64_t cols,
                    int which) {
  placed p = {.s = random_spread(&t->base, r, type, rows, cols)};
  const int64_t who = draw(r, 0, 3);
  if (which >= 0) fill(&t->base, &p.s, which);
  p.m = p.s.m;
  if (who < 2 || (int)who - 2 == t->base.run.rank % 2)
    p.m = put_on_gpu(&t->base, t->gpu, &p.s, &p.there);
  return p;
}

static void drop(gpu_test *t, placed *p) {
  take_from_gpu(&t->base, t->gpu, &p->s, &p->there);
  free(p->s.m.data);
}

/* Of C's memory nothing but C has changed. */
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
  const int code = damier_multiply(context, &a.m, &b.m, &c.m, &error);
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

/* ---- the way of the data ---- */

static int64_t number_of(const char *record, const char *field) {
  const char *at = strstr(record, field);
  return at ? strtoll(at + strlen(field), NULL, 10) : -1;
}

static void set_plain(damier_context *context) {
  static const char *const options[] = {"op-a", "op-b", "alpha", "beta"};
  for (int i = 0; i < 4; i++) damier_set(context, options[i], NULL, NULL);
  damier_old_c(context, NULL, NULL);
}

/* C = op(A) B, both on the GPU of the only rank; BESIDE: device memory that C does not fit in. */
static int64_t multiply_on_one(gpu_test *t, damier_context *context, char op, shape of,
                               int64_t beside) {
  const equation e = {op, 'n', 1, 0, false};
  const int64_t rows[] = {op == 'n' ? of.m : of.k, of.k, of.m};
  const int64_t cols[] = {op == 'n' ? of.k : of.m, of.n, of.n};
  placed p[3];
  damier_error error;
  char memory[64];
  set_plain(context);
  state(context, "op-a", "%c", op);
  snprintf(memory, sizeof memory, "device=%lld",
           (long long)(beside + 8 * (3 * (of.m + of.n) * of.k + of.m * of.n / 3)));
  if (beside) damier_set(context, "memory", memory, &error);
  for (int i = 0; i < 3; i++) {
    p[i] = (placed){.s = {.m = damier_on_one(DAMIER_F64, rows[i], cols[i], 0, NULL, 0)}};
    p[i].s.m.data = memory_of(&t->base, spread_bytes(&p[i].s));
    fill(&t->base, &p[i].s, i);
    p[i].m = put_on_gpu(&t->base, t->gpu, &p[i].s, &p[i].there);
  }
  const int code = damier_multiply(context, &p[0].m, &p[1].m, &p[2].m, &error);
  CHECK(&t->base, code == DAMIER_OK, "%s", error.message);
  take_from_gpu(&t->base, t->gpu, &p[2].s, &p[2].there);
  const int64_t wrong = count_wrong(&t->base, &p[2].s, &e, of.k);
  CHECK(&t->base, wrong == 0, "on one GPU: %lld wrong", (long long)wrong);
  for (int i = 0; i < 3; i++) drop(t, &p[i]);
  damier_set(context, "memory", NULL, &error);
  return number_of(damier_record(context), "\"to_devices_bytes\":");
}

/* Rows of op(A) and op(B) are copied inside the GPU, columns pass through the host. */
static void directly(gpu_test *t, damier_context *context) {
  const shape of = {50, 60, 70};
  int64_t bytes = multiply_on_one(t, context, 'n', of, 0);
  CHECK(&t->base, bytes == 0, "%lld bytes came from the host", (long long)bytes);
  bytes = multiply_on_one(t, context, 't', of, 0);
  CHECK(&t->base, bytes == 8 * of.m * of.k, "%lld bytes came from the host", (long long)bytes);
#ifdef NO_KERNELS
  const shape large = {500, 460, 30};
  (void)multiply_on_one(t, context, 'n', large, 67300000);
  const int64_t tiles = number_of(damier_record(context), "\"tiles\":");
  CHECK(&t->base, tiles > 1, "C is not cut");
#endif
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

/* ---- what is refused ---- */

static void refuse(gpu_test *t, damier_context *context, damier_matrix a, int code,
                   const char *words) {
  damier_error error;
  double data[9] = {0};
  const damier_matrix fine = damier_on_one(DAMIER_F64, 3, 3, 0, data, 0);
  const int got = damier_multiply(context, &a, &fine, &fine, &error);
  CHECK(&t->base, got == code && error.agreed && strstr(error.message, words), "'%s' %d: '%s'",
        words, got, error.message);
}

static void refusals(gpu_test *t, damier_context *context) {
  double data[9] = {0};
  const damier_matrix on_host = damier_on_one(DAMIER_F64, 3, 3, 0, data, 0);
  damier_matrix on_gpu = damier_on_one(DAMIER_F64, 3, 3, 0, gpu_memory(t, 400), 0), wide;
  set_plain(context);
  refuse(t, context, on_gpu, DAMIER_E_USAGE, "A: it is stated as host memory");
  refuse(t, context, damier_in_gpu(on_host, NULL), DAMIER_E_USAGE, "A: it is stated as GPU memory");
  on_gpu = wide = damier_in_gpu(on_gpu, NULL);
  wide.row_stride = 10, wide.col_stride = 3;
  refuse(t, context, wide, DAMIER_E_USAGE, "A: strides of 10 and 3 elements in GPU memory");
  wide.row_stride = 2, wide.col_stride = 1;
  refuse(t, context, wide, DAMIER_E_USAGE, "A: strides of 2 and 1 elements");
  wide.memory = (damier_memory)2;
  refuse(t, context, wide, DAMIER_E_USAGE, "A: 2 is no kind of memory");
  damier_set(context, "backend", "cpu", NULL);
  refuse(t, context, on_gpu, DAMIER_E_DEVICE, "A: it is in GPU memory, but backend cpu");
  damier_set(context, "backend", NULL, NULL);
#ifdef NO_KERNELS
  emulated_move_away(on_gpu.data);
  refuse(t, context, on_gpu, DAMIER_E_DEVICE, "A: it is in memory of GPU 1, but this rank uses");
#endif
  dm_backend_release(t->gpu, DM_DEVICE, on_gpu.data);
}

/* ---- streams ---- */

#ifdef NO_KERNELS
typedef struct late {
  gpu_test *t;
  placed *p;
} late;

static void bring_late(void *context) {
  const late *l = context;
  copy_bytes(&l->t->base, l->t->gpu, bytes_at(l->p->m.data, DM_DEVICE, l->p->there.bytes),
             bytes_at(l->p->s.m.data, DM_HOST, l->p->there.bytes));
}

/* The elements are there when the stream has been waited for. */
static void in_a_stream(gpu_test *t, damier_context *context, random_state *r) {
  const equation e = {'n', 'n', 1, 0, false};
  placed p[3];
  damier_error error;
  set_plain(context);
  for (int i = 0; i < 3; i++) {
    p[i] = (placed){.s = random_spread(&t->base, r, DAMIER_F64, 20, 20)};
    p[i].m = put_on_gpu(&t->base, t->gpu, &p[i].s, &p[i].there);
    if (i < 2) fill(&t->base, &p[i].s, i);
  }
  late later[] = {{t, &p[0]}, {t, &p[1]}};
  emulated_stream streams[] = {{bring_late, &later[0]}, {bring_late, &later[1]}};
  for (int i = 0; i < 2; i++) p[i].m = damier_in_gpu(p[i].m, &streams[i]);
  const int code = damier_multiply(context, &p[0].m, &p[1].m, &p[2].m, &error);
  CHECK(&t->base, code == DAMIER_OK, "%s", error.message);
  take_from_gpu(&t->base, t->gpu, &p[2].s, &p[2].there);
  const int64_t wrong = count_wrong(&t->base, &p[2].s, &e, 20);
  CHECK(&t->base, wrong == 0, "streams: %lld wrong", (long long)wrong);
  for (int i = 0; i < 3; i++) drop(t, &p[i]);
}
#else
static void in_a_stream(gpu_test *t, damier_context *context, random_state *r) {
  (void)t, (void)context, (void)r; /* of real ones: tests/python/test_gpu.py */
}
#endif

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
  if (!code && test.base.run.ranks == 1) directly(&test, context);
  if (!code) with_a_file(&test, context, &r);
  if (!code) refusals(&test, context);
  if (!code) in_a_stream(&test, context, &r);
  damier_close(context);
  return gpu_test_end(&test);
}
