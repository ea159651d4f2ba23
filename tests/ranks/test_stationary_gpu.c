/* ranks: 2 3 4 5 6 7 8. Products of matrices in the GPU memory of several ranks, exact: every
 * division of a matrix that travels to C; all divisions and mixtures of memory, from which matrices
 * move; damage; errors of one rank. */
#include "api/library.h"
#include "library_on_gpu.h"
#include "transport/transport_list.h"

enum { CASES = 40 };

typedef struct shape {
  int64_t m, n, k;
} shape;

/* ---- divisions ---- */

typedef enum cut { BY_ROWS, BY_COLUMNS, BLOCKS, ON_ONE, ON_ALL, CUTS, CYCLIC = CUTS } cut;

static int64_t block_of(int64_t size, int parts) {
  return (size + parts - 1) / parts;
}

static void divide(gpu_test *t, random_state *r, cut how, spread *s) {
  damier_matrix *m = &s->m;
  const int ranks = t->base.run.ranks;
  const int64_t down = draw(r, 1, ranks), padded = m->cols + draw(r, 0, 3);
  m->division = how == BY_ROWS ? DAMIER_BY_ROWS : DAMIER_BLOCK_CYCLIC;
  m->row_stride = padded;
  m->col_stride = 1;
  m->grid_rows = how == BLOCKS ? (int)down : 1;
  m->grid_cols = ranks / m->grid_rows;
  m->row_block = block_of(m->rows, m->grid_rows);
  m->col_block = block_of(m->cols, m->grid_cols);
  if (how == ON_ALL) m->division = DAMIER_REPLICATED;
  if (how == CYCLIC) {
    m->grid_rows = 2;
    m->grid_cols = ranks / 2;
    m->row_block = m->col_block = 5;
  }
  if (how == ON_ONE) {
    m->division = DAMIER_ON_ONE;
    m->rank = (int)draw(r, 0, ranks - 1);
  }
  for (int i = 0; i < ranks; i++) {
    const int64_t end = (i + 1) * block_of(m->rows, ranks);
    s->first_row[i + 1] = end < m->rows ? end : m->rows;
  }
  m->own_rows = s->first_row[t->base.run.rank + 1] - s->first_row[t->base.run.rank];
}

/* WHICH: as in fill; OP: of the matrix, whose op is HOW divided; COLUMNS: columns are contiguous.
 */
static placed place_cut(gpu_test *t, random_state *r, damier_type type, int64_t rows, int64_t cols,
                        char op, cut how, int which) {
  const bool turned = op != 'n';
  placed p = {
      .s = {.m = {.type = type, .rows = turned ? cols : rows, .cols = turned ? rows : cols}}};
  if (turned && how < BLOCKS) how = how == BY_ROWS ? BY_COLUMNS : BY_ROWS;
  p.s.first_row[0] = 0;
  divide(t, r, how, &p.s);
  p.s.m.data = memory_of(&t->base, spread_bytes(&p.s));
  memset(p.s.m.data, 0x7f, (size_t)spread_bytes(&p.s));
  fill(&t->base, &p.s, which);
  p.m = put_on_gpu(&t->base, t->gpu, &p.s, &p.there);
  return p;
}

/* ---- products ---- */

typedef struct posed {
  equation e;
  shape of;
  placed a, b, c;
} posed;

/* C and op(A) by rows, and op(B) in any way; or C and op(B) by columns, and op(A) in any way. */
static posed pose(gpu_test *t, damier_context *context, random_state *r, damier_type type) {
  const bool rows = draw(r, 0, 1);
  const cut kept = rows ? BY_ROWS : BY_COLUMNS, moved = (cut)draw(r, 0, CUTS - 1);
  const int64_t wide = draw(r, 1, 700), narrow = draw(r, 1, 30);
  const damier_type type_c = type == DAMIER_I8 ? DAMIER_I32 : type;
  posed p = {.of = {rows ? narrow : wide, rows ? wide : narrow, draw(r, 1, 40)},
             .e = {'n', 'n', (int)draw(r, 1, 2) * (draw(r, 0, 1) ? 1 : -1), (int)draw(r, 0, 2),
                   type == DAMIER_C64}};
  /* A matrix that travels has contiguous rows of op(X), unless ranks have whole columns. */
  *(rows ? &p.e.op_a : &p.e.op_b) = "nt"[draw(r, 0, 1)];
  if (moved == kept || moved == ON_ONE) *(rows ? &p.e.op_b : &p.e.op_a) = 'n';
  set_plain(context);
  state(context, "op-a", "%c", p.e.op_a);
  state(context, "op-b", "%c", p.e.op_b);
  state(context, "alpha", "%d", p.e.alpha);
  state(context, "beta", "%d", p.e.beta);
  p.a = place_cut(t, r, type, p.of.m, p.of.k, p.e.op_a, rows ? kept : moved, 0);
  p.b = place_cut(t, r, type, p.of.k, p.of.n, p.e.op_b, rows ? moved : kept, 1);
  p.c = place_cut(t, r, type_c, p.of.m, p.of.n, 'n', kept, 2);
  return p;
}

/* Both A and B travel: all in 2-D blocks on one grid, or A^T B of rows, or A B^T of columns. */
static posed pose_both(gpu_test *t, damier_context *context, random_state *r, damier_type type) {
  const int64_t which = draw(r, 0, 2);
  const cut how = which == 0 ? BLOCKS : which == 1 ? BY_ROWS : BY_COLUMNS;
  posed p = {.of = {draw(r, 1, 400), draw(r, 1, 400), draw(r, 1, 40)},
             .e = {which == 1 ? 't' : 'n', which == 2 ? 't' : 'n', 1, (int)draw(r, 0, 2),
                   type == DAMIER_C64}};
  set_plain(context);
  state(context, "op-a", "%c", p.e.op_a);
  state(context, "op-b", "%c", p.e.op_b);
  state(context, "beta", "%d", p.e.beta);
  const random_state grid = *r; /* the same for all three */
  *r = grid;
  p.a = place_cut(t, r, type, p.of.m, p.of.k, p.e.op_a, which == 1 ? BY_COLUMNS : how, 0);
  *r = grid;
  p.b = place_cut(t, r, type, p.of.k, p.of.n, p.e.op_b, which == 2 ? BY_ROWS : how, 1);
  *r = grid;
  p.c = place_cut(t, r, type, p.of.m, p.of.n, 'n', how, 2);
  return p;
}

/* All divisions and orders, on GPUs of all ranks or of some. */
static posed pose_any(gpu_test *t, damier_context *context, random_state *r, damier_type type) {
  posed p = {
      .of = {draw(r, 1, 200), draw(r, 1, 200), draw(r, 1, 60)},
      .e = {"ntc"[draw(r, 0, 2)], "ntc"[draw(r, 0, 2)], 1, (int)draw(r, 0, 2), type == DAMIER_C64}};
  const bool na = p.e.op_a == 'n', nb = p.e.op_b == 'n';
  set_plain(context);
  state(context, "op-a", "%c", p.e.op_a);
  state(context, "op-b", "%c", p.e.op_b);
  state(context, "beta", "%d", p.e.beta);
  p.a = place(t, r, type, na ? p.of.m : p.of.k, na ? p.of.k : p.of.m, 0);
  p.b = place(t, r, type, nb ? p.of.k : p.of.n, nb ? p.of.n : p.of.k, 1);
  p.c = place(t, r, type == DAMIER_I8 ? DAMIER_I32 : type, p.of.m, p.of.n, 2);
  return p;
}

static void drop_all(gpu_test *t, posed *p) {
  drop(t, &p->a);
  drop(t, &p->b);
  drop(t, &p->c);
}

static bool was_in_place(const damier_context *context) {
  return strstr(damier_record(context), "in place") != NULL;
}

static void check_result(gpu_test *t, posed *p, int number) {
  take_from_gpu(&t->base, t->gpu, &p->c.s, &p->c.there);
  const int64_t wrong = count_wrong(&t->base, &p->c.s, &p->e, p->of.k);
  CHECK(&t->base, wrong == 0, "case %d (%c%c beta %d, %lld x %lld x %lld): %lld wrong", number,
        p->e.op_a, p->e.op_b, p->e.beta, (long long)p->of.m, (long long)p->of.n, (long long)p->of.k,
        (long long)wrong);
}

static void try_case(gpu_test *t, damier_context *context, random_state *r, int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_F32, DAMIER_C64, DAMIER_I8};
  const int kind = number % 4;
  const damier_type type = types[draw(r, 0, kind < 2 ? 2 : 3)];
  posed p = kind == 0   ? pose_both(t, context, r, type)
            : kind == 1 ? pose(t, context, r, type)
                        : pose_any(t, context, r, type);
  damier_error error;
  damier_set(context, "verify", draw(r, 0, 3) ? "yes" : "no", &error);
  const int code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
  CHECK(&t->base, code == DAMIER_OK, "case %d (%d %d %d alpha %d beta %d): %s", number, (int)p.of.m,
        (int)p.of.n, (int)p.of.k, p.e.alpha, p.e.beta, error.message);
  /* BLAS libraries conjugate only where they also transpose, and take few layouts of integers. */
  const bool conjugates = p.e.is_complex && (p.e.op_a == 'c' || p.e.op_b == 'c');
  CHECK(&t->base, code || conjugates || type == DAMIER_I8 || was_in_place(context),
        "case %d (%c%c, %d %d %d) was not in place", number, p.e.op_a, p.e.op_b,
        (int)p.a.m.division, (int)p.b.m.division, (int)p.c.m.division);
  if (!code) check_result(t, &p, number);
  drop_all(t, &p);
}

/* ---- symmetric products ---- */

static int64_t count_unlike_gram(gpu_test *t, const placed *c, shape of, bool of_rows) {
  int64_t wrong = 0, row, col;
  for (int64_t i = 0; i < of.n; i++)
    for (int64_t j = 0; j < of.n; j++) {
      if (owner(&c->s, i, j, &row, &col) != t->base.run.rank) continue;
      double want = 0;
      for (int64_t x = 0; x < of.k; x++)
        want +=
            of_rows ? value(0, i, x, 0) * value(0, j, x, 0) : value(0, x, i, 0) * value(0, x, j, 0);
      wrong += get(element(&c->s, row, col), c->s.m.type, 0) != want;
    }
  return wrong;
}

/* Of any X, to rows of C: each rank multiplies half of its rows, and takes images of the others. */
static void try_gram(gpu_test *t, damier_context *context, random_state *r, int number) {
  const damier_type type = draw(r, 0, 1) ? DAMIER_F64 : DAMIER_F32;
  const shape of = {.n = draw(r, 1, 700), .k = draw(r, 1, 20)};
  const bool of_rows = draw(r, 0, 1);
  const cut how = (cut)(number % CUTS);
  placed x = place_cut(t, r, type, of_rows ? of.n : of.k, of_rows ? of.k : of.n, 'n', how, 0);
  placed c = place_cut(t, r, type, of.n, of.n, 'n', BY_ROWS, 2);
  damier_error error;
  set_plain(context);
  damier_set(context, "verify", draw(r, 0, 3) ? "yes" : "no", &error);
  for (int again = 0; again < 2; again++) {
    const int code = damier_gram(context, &x.m, of_rows, &c.m, &error);
    CHECK(&t->base, code == DAMIER_OK, "gram %d: %s", number, error.message);
    CHECK(&t->base, code || was_in_place(context), "gram %d was not in place", number);
  }
  take_from_gpu(&t->base, t->gpu, &c.s, &c.there);
  const int64_t wrong = count_unlike_gram(t, &c, of, of_rows);
  CHECK(&t->base, wrong == 0, "gram %d (%s, division %d, %lld x %lld): %lld wrong", number,
        of_rows ? "rows" : "columns", (int)how, (long long)of.n, (long long)of.k, (long long)wrong);
  drop(t, &x);
  drop(t, &c);
}

/* ---- replicated matrices ---- */

static int64_t received(const damier_context *context) {
  return dm_transport_received(context->in_place.workspace.transport);
}

/* A replicated op(B) does not travel to rows of C; a C is not replicated. */
static void replicate(gpu_test *t, damier_context *context, random_state *r) {
  const shape of = {40, 700, 30};
  posed p = {.of = of, .e = {'n', 'n', 1, 0, false}};
  damier_error error;
  set_plain(context);
  damier_set(context, "verify", "yes", &error);
  p.a = place_cut(t, r, DAMIER_F64, of.m, of.k, 'n', BY_ROWS, 0);
  p.b = place_cut(t, r, DAMIER_F64, of.k, of.n, 'n', ON_ALL, 1);
  p.c = place_cut(t, r, DAMIER_F64, of.m, of.n, 'n', BY_ROWS, 2);
  int code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
  const int64_t before = code ? 0 : received(context);
  if (!code) code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
  CHECK(&t->base, code == DAMIER_OK, "replicated: %s", error.message);
  CHECK(&t->base, code || received(context) == before, "a replicated matrix travelled");
  p.c.m.division = DAMIER_REPLICATED;
  const int refused = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
  CHECK(&t->base, refused == DAMIER_E_USAGE, "a replicated C: %d, %s", refused, error.message);
  if (!code) check_result(t, &p, -2);
  drop_all(t, &p);
}

/* Sums of parts of op(B) that begin at odd columns, with lines that begin at even places or odd. */
static void begin_oddly(gpu_test *t, damier_context *context, random_state *r) {
  const shape of = {40, 602, 30};
  damier_error error;
  set_plain(context);
  damier_set(context, "verify", "yes", &error);
  for (int i = 0; i < 4; i++) {
    posed p = {.of = of, .e = {'n', 'n', 1, 0, false}};
    p.a = place_cut(t, r, DAMIER_F64, of.m, of.k, 'n', BY_ROWS, 0);
    p.b = place_cut(t, r, DAMIER_F64, of.k, of.n, 'n', BY_COLUMNS, 1);
    p.c = place_cut(t, r, DAMIER_F64, of.m, of.n, 'n', BY_ROWS, 2);
    const int code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
    CHECK(&t->base, code == DAMIER_OK, "odd columns: %s", error.message);
    if (!code) check_result(t, &p, -5);
    drop_all(t, &p);
  }
}

/* What is all on one rank is multiplied by all: op(A) and C move, op(B) travels. */
static void divide_from_one(gpu_test *t, damier_context *context, random_state *r) {
  const shape of = {90, 700, 30};
  posed p = {.of = of, .e = {'n', 'n', 1, 0, false}};
  damier_error error;
  set_plain(context);
  p.a = place_cut(t, r, DAMIER_F64, of.m, of.k, 'n', ON_ONE, 0);
  p.b = place_cut(t, r, DAMIER_F64, of.k, of.n, 'n', ON_ONE, 1);
  p.c = place_cut(t, r, DAMIER_F64, of.m, of.n, 'n', ON_ONE, 2);
  const int code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
  CHECK(&t->base, code == DAMIER_OK, "from one: %s", error.message);
  CHECK(&t->base, strstr(damier_record(context), "op(A), C moved, op(B) in"), "from one: %s",
        damier_record(context));
  if (!code) check_result(t, &p, -4);
  drop_all(t, &p);
}

/* What all ranks have in host memory is moved to their GPUs, by processes. */
static void move_from_hosts(gpu_test *t, damier_context *context, random_state *r) {
  for (int beta = 0; beta < 2; beta++) {
    posed p = {.of = {90, 170, 60}, .e = {'n', 't', 1, beta, false}};
    if (beta) p.of = (shape){700, 6000, 4}; /* in several stages */
    damier_error error;
    set_plain(context);
    state(context, "op-b", "%c", 't');
    state(context, "beta", "%d", beta);
    p.a.s = random_spread(&t->base, r, DAMIER_F64, p.of.m, p.of.k);
    p.b.s = random_spread(&t->base, r, DAMIER_F64, p.of.n, p.of.k);
    p.c.s = random_spread(&t->base, r, DAMIER_F64, p.of.m, p.of.n);
    fill(&t->base, &p.a.s, 0), fill(&t->base, &p.b.s, 1), fill(&t->base, &p.c.s, 2);
    const int code = damier_multiply(context, &p.a.s.m, &p.b.s.m, &p.c.s.m, &error);
    CHECK(&t->base, code == DAMIER_OK, "from hosts: %s", error.message);
    CHECK(&t->base, code || strstr(damier_record(context), "op(A), op(B), C moved"),
          "from hosts: %s", damier_record(context));
    if (!code) check_result(t, &p, -6);
    drop_all(t, &p);
  }
}

/* ---- damage and errors ---- */

/* Of the backend or transport of one rank; the others' stay as they are. */
typedef enum trouble { FLIPS_ONCE, FLIPS, NO_PRODUCT, NO_COPY, NO_GATHER, TROUBLES } trouble;

static int calls, bad_call;
static bool only_once;
static const dm_backend_ops *right;

static dm_status no_work(void) {
  return dm_fail(DM_E_DEVICE, "on purpose");
}

/* Doubles C in a product of the verification's kind of faults. */
static dm_status flip(dm_backend *backend, const dm_whole_product *product, void *stream,
                      dm_event *done) {
  dm_whole_product wrong = *product;
  if (calls++ == bad_call || (!only_once && calls > bad_call)) wrong.alpha[0] *= 2;
  return right->multiply(backend, &wrong, stream, done);
}

static dm_status fail_product(dm_backend *backend, const dm_whole_product *product, void *stream,
                              dm_event *done) {
  return calls++ == bad_call ? no_work() : right->multiply(backend, product, stream, done);
}

static dm_status fail_copy(dm_backend *backend, dm_view to, dm_view from, dm_event *done) {
  return calls++ == bad_call ? no_work() : right->copy(backend, to, from, done);
}

static dm_status fail_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  return calls++ == bad_call ? no_work() : dm_transport_ipc.post(transport, gather, ticket);
}

/* C = A B by rows or columns, of five strips, or block-cyclic. */
static posed pose_plain(gpu_test *t, damier_context *context, random_state *r, shape of, cut how,
                        int beta) {
  posed p = {.of = of, .e = {'n', 'n', 1, beta, false}};
  set_plain(context);
  state(context, "beta", "%d", beta);
  p.a = place_cut(t, r, DAMIER_F64, of.m, of.k, 'n', how, 0);
  p.b = place_cut(t, r, DAMIER_F64, of.k, of.n, 'n', how, 1);
  p.c = place_cut(t, r, DAMIER_F64, of.m, of.n, 'n', how, 2);
  return p;
}

static int multiply_plain(gpu_test *t, damier_context *context, random_state *r, cut how, int beta,
                          damier_error *error) {
  /* All ranks have rows, or columns; verified with a sample of B. */
  const shape wide = {56, 600, 600}, tall = {600, 56, 600};
  posed p = pose_plain(t, context, r, how == BY_COLUMNS ? tall : wide, how, beta);
  const int code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, error);
  if (!code) check_result(t, &p, -1);
  CHECK(&t->base, code || was_in_place(context), "not in place");
  drop_all(t, &p);
  return code;
}

/* A C that moved is intact, and so what beta needs is. */
static void meet_trouble(gpu_test *t, damier_context *context, random_state *r, cut how,
                         trouble what, int beta) {
  dm_in_place *kept = &context->in_place;
  dm_transport *transport = kept->workspace.transport;
  const bool mine = t->base.run.rank == t->base.run.ranks - 1;
  const bool again = beta == 0 || how == CYCLIC;
  const int wanted = what > FLIPS         ? DAMIER_E_DEVICE
                     : !again             ? DAMIER_E_VERIFY
                     : what == FLIPS_ONCE ? DAMIER_OK
                                          : DAMIER_E_CORRUPT;
  right = kept->gpu->ops;
  dm_backend_ops wrong = *right;
  dm_transport_ops no_post = *transport->ops;
  if (what <= FLIPS) wrong.multiply = flip;
  if (what == NO_PRODUCT) wrong.multiply = fail_product;
  if (what == NO_COPY) wrong.copy = fail_copy;
  if (what == NO_GATHER) no_post.post = fail_post;
  calls = 0;
  bad_call = (int)draw(r, 0, 2);
  only_once = what == FLIPS_ONCE;
  if (mine) kept->gpu->ops = &wrong;
  if (mine) transport->ops = &no_post;
  damier_error error;
  const int code = multiply_plain(t, context, r, how, beta, &error);
  CHECK(&t->base, code == wanted && error.agreed, "trouble %d beta %d: %d, not %d: %s", (int)what,
        beta, code, wanted, error.message);
  const bool is_wrong = code == DAMIER_E_VERIFY || code == DAMIER_E_CORRUPT;
  CHECK(&t->base, !is_wrong || strstr(error.message, how == BY_COLUMNS ? ": column " : ": row "),
        "trouble %d: %s", (int)what, error.message);
  kept->gpu->ops = right;
  if (what != NO_GATHER) transport->ops = &dm_transport_ipc;
  const int after = multiply_plain(t, context, r, how, 0, &error);
  CHECK(&t->base, after == DAMIER_OK, "after trouble %d: %s", (int)what, error.message);
}

static dm_status describe_full(dm_backend *backend, dm_device *device) {
  DM_TRY(right->device(backend, device));
  device->memory_free = 64 << 20;
  return DM_OK;
}

/* With one GPU full, the pipeline multiplies. */
static void fill_memory(gpu_test *t, damier_context *context, random_state *r) {
  dm_in_place *kept = &context->in_place;
  dm_backend_ops full = *(right = kept->gpu->ops);
  damier_error error;
  posed p = pose_plain(t, context, r, (shape){1500, 1500, 3}, CYCLIC, 1);
  full.device = describe_full;
  if (t->base.run.rank == 0) kept->gpu->ops = &full;
  const int code = damier_multiply(context, &p.a.m, &p.b.m, &p.c.m, &error);
  kept->gpu->ops = right;
  CHECK(&t->base, code == DAMIER_OK, "a full GPU: %s", error.message);
  CHECK(&t->base, code || !was_in_place(context), "a full GPU: in place");
  if (!code) check_result(t, &p, -3);
  drop_all(t, &p);
}

static void troubles(gpu_test *t, damier_context *context, random_state *r, cut how) {
  damier_error error;
  damier_set(context, "verify", "yes", &error);
  const int code = multiply_plain(t, context, r, how, 0, &error);
  CHECK(&t->base, code == DAMIER_OK, "%s", error.message);
  for (int what = 0; what < TROUBLES && !code; what++)
    for (int beta = 0; beta < 2; beta++) meet_trouble(t, context, r, how, (trouble)what, beta);
}

TEST_PROGRAM(test_stationary_gpu) {
  gpu_test test;
  random_state r = {20261125};
  damier_context *context;
  damier_error error;
  if (!gpu_test_start(&test, false)) return SKIPPED;
  const int code = damier_open(MPI_COMM_WORLD, &context, &error);
  CHECK(&test.base, code == DAMIER_OK, "%s", error.message);
  for (int i = 0; i < CASES && !code; i++) try_case(&test, context, &r, i);
  for (int i = 0; i < CASES && !code; i++) try_gram(&test, context, &r, i);
  if (!code) replicate(&test, context, &r);
  if (!code) divide_from_one(&test, context, &r);
  if (!code) begin_oddly(&test, context, &r);
  if (!code) move_from_hosts(&test, context, &r);
  if (!code) troubles(&test, context, &r, BY_ROWS);
  if (!code) troubles(&test, context, &r, BY_COLUMNS);
  if (!code) troubles(&test, context, &r, CYCLIC);
  if (!code) fill_memory(&test, context, &r);
  damier_close(context);
  return gpu_test_end(&test);
}
