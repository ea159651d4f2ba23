/* ranks: 1 2. Paths of matrices in GPU memory in the library, synchronisation with streams, and
 * refused calls. */
#include "library_on_gpu.h"
#ifdef NO_KERNELS
#include "emulated/emulated_memory.h"
#endif

typedef struct shape {
  int64_t m, n, k;
} shape;

/* ---- the path of the data ---- */

static int64_t number_of(const char *record, const char *field) {
  const char *at = strstr(record, field);
  return at ? strtoll(at + strlen(field), NULL, 10) : -1;
}

/* C = op(A) B on the GPU of the only rank. BESIDE, if not 0: bytes of device memory besides A, B
 * and a third of C. */
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

/* Products are multiplied where they are: the record counts no bytes from the host. */
static void directly(gpu_test *t, damier_context *context) {
  const shape of = {50, 60, 70};
  int64_t bytes = multiply_on_one(t, context, 'n', of, 0);
  CHECK(&t->base, bytes == -1, "%lld bytes came from the host", (long long)bytes);
  bytes = multiply_on_one(t, context, 't', of, 0);
  CHECK(&t->base, bytes == -1, "%lld bytes came from the host", (long long)bytes);
#ifdef NO_KERNELS
  const shape large = {500, 460, 30};
  (void)multiply_on_one(t, context, 'n', large, 67300000);
  const int64_t tiles = number_of(damier_record(context), "\"tiles\":");
  CHECK(&t->base, tiles > 1, "C is not cut");
#endif
}

/* ---- refused calls ---- */

static void refuse(gpu_test *t, damier_context *context, damier_matrix a, int code,
                   const char *words) {
  damier_error error;
  double data[9] = {0}, made[9];
  const damier_matrix fine = damier_on_one(DAMIER_F64, 3, 3, 0, data, 0);
  const damier_matrix c = damier_on_one(DAMIER_F64, 3, 3, 0, made, 0);
  const int got = damier_multiply(context, &a, &fine, &c, &error);
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
  refuse(t, context, wide, DAMIER_E_USAGE, "A: its strides in GPU memory are 10 and 3 elements");
  wide.row_stride = 2, wide.col_stride = 1;
  refuse(t, context, wide, DAMIER_E_USAGE, "A: strides of 2 and 1 elements");
  wide.memory = (damier_memory)2;
  refuse(t, context, wide, DAMIER_E_USAGE, "A: 2 is not a kind of memory");
  damier_set(context, "backend", "cpu", NULL);
  refuse(t, context, on_gpu, DAMIER_E_DEVICE, "A: it is in GPU memory, but backend cpu");
  damier_set(context, "backend", NULL, NULL);
#ifdef NO_KERNELS
  emulated_move(on_gpu.data, 1);
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

/* The elements are complete once the stream has been synchronised. */
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
  (void)t, (void)context, (void)r; /* of real ones: tests/python/on_gpu.py */
}
#endif

TEST_PROGRAM(test_library_ways_gpu) {
  gpu_test test;
  random_state r = {20251128};
  damier_context *context;
  damier_error error;
  if (!gpu_test_start(&test, false)) return SKIPPED;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test.base, code == DAMIER_OK, "%s", error.message);
  if (!code && test.base.run.ranks == 1) directly(&test, context);
  if (!code) refusals(&test, context);
  if (!code) in_a_stream(&test, context, &r);
  damier_close(context);
  return gpu_test_end(&test);
}
