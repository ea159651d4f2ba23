/* The verification of small matrices, an entry for each block: products pass, and one wrong element
 * of one entry is found in its row. */
#include "cuda_test.h"
#include "kernels/verify_kernels.h"

enum { SHAPES = 40, MOST_ENTRIES = 2000, SEED = 3 };

typedef struct small_case {
  dm_dtype type, type_c;
  double unit;  /* the roundoff of sums */
  double least; /* subnormal number of C's type */
} small_case;

static const small_case cases[] = {
    {DM_F64, DM_F64, 0x1p-53, 0x1p-1074},
    {DM_F32, DM_F32, 0x1p-24, 0x1p-149},
    {DM_F16, DM_F32, 0x1p-24, 0x1p-149},
    {DM_BF16, DM_F32, 0x1p-24, 0x1p-149},
    {DM_BF16, DM_BF16, 0x1p-24, 0x1p-133},
    {DM_F16, DM_F16, 0x1p-24, 0x1p-24},
    {DM_C64, DM_C64, 0x1p-24, 0x1p-149},
    {DM_C128, DM_C128, 0x1p-53, 0x1p-1074},
    {DM_I8, DM_I32, 0.0, 0.0},
};

typedef struct small_product {
  pair a, b, c;
  int64_t entries, m, n, k;
} small_product;

static int64_t draw(uint64_t *state, int64_t least, int64_t most) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return least + (int64_t)((*state >> 33) % (uint64_t)(most - least + 1));
}

static small_product make(dm_backend *gpu, const small_case *of, uint64_t *state) {
  const bool integer = dm_dtype_is_integer(of->type);
  const dm_generator generator = {
      .kind = integer ? DM_INTEGER : DM_NORMAL, .seed = *state, .parameter = 100.0};
  const int64_t most = draw(state, 0, 1) ? DM_ENTRY_MOST : 20;
  small_product p = {.m = draw(state, 1, draw(state, 0, 1) ? DM_ENTRY_ROWS : 20),
                     .n = draw(state, 1, most),
                     .k = draw(state, 1, most)};
  p.entries = draw(state, 1, draw(state, 0, 1) ? 3 : MOST_ENTRIES / (most > 20 ? 20 : 1));
  pair (*const b_of)(dm_backend *, dm_dtype, int64_t, int64_t, int64_t, dm_generator) =
      p.entries == 1 && draw(state, 0, 1) ? make_pair_by_columns : make_pair;
  p.a = make_pair(gpu, of->type, p.entries * p.m, p.k, draw(state, 0, 3), generator);
  p.b = b_of(gpu, of->type, p.entries * p.k, p.n, draw(state, 0, 3), generator);
  p.c = make_pair(gpu, of->type_c, p.entries * p.m, p.n, draw(state, 0, 3), generator);
  return p;
}

/* The elements of VIEW by rows, of PARTS f64 each, in memory that the caller frees. */
static double *numbers_of(dm_view view, int64_t parts) {
  double *all = malloc((size_t)(view.rows * view.cols * parts) * sizeof *all);
  assert_non_null(all);
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++)
      dm_load_wide(all + (i * view.cols + j) * parts, dm_view_at(view, i, j), view.dtype, 1, 1);
  return all;
}

/* C = 2 A B, on the host, where sums of f64 are rounded once. */
static void multiply_all(dm_backend *gpu, const small_product *p) {
  const bool complex = dm_dtype_is_complex(p->a.host.dtype);
  const int64_t w = complex ? 2 : 1;
  double *a = numbers_of(p->a.host, w), *b = numbers_of(p->b.host, w), c[2];
  for (int64_t i = 0; i < p->entries * p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      c[0] = c[1] = 0.0;
      for (int64_t l = 0; l < p->k; l++) {
        const double *x = a + (i * p->k + l) * w, *y = b + ((i / p->m * p->k + l) * p->n + j) * w;
        c[0] += 2.0 * (x[0] * y[0] - (complex ? x[1] * y[1] : 0.0));
        if (complex) c[1] += 2.0 * (x[0] * y[1] + x[1] * y[0]);
      }
      dm_store_wide(dm_view_at(p->c.host, i, j), p->c.host.dtype, 1, c, 1);
    }
  free(a);
  free(b);
  move(gpu, p->c.device_all, p->c.host_all);
}

static dm_verified_found judged(dm_backend *gpu, const small_case *of, const small_product *p) {
  dm_verified_found *found;
  void *room, *turn;
  ok(dm_backend_alloc(gpu, DM_HOST, sizeof *found, (void **)&found));
  ok(dm_backend_alloc(gpu, DM_DEVICE,
                      DM_JUDGED_PARTS * (sizeof(dm_rows_found) + sizeof(dm_columns_found)), &room));
  ok(dm_backend_alloc(gpu, DM_DEVICE, sizeof(unsigned), &turn));
  cuda_ok(cudaMemset(turn, 0, sizeof(unsigned)));
  const dm_judge_work work = {
      .rows = p->entries * p->m,
      .cols = p->n,
      .depth = p->entries * p->k,
      .entry_depth = p->k,
      .exact = dm_dtype_is_integer(of->type),
      .seed = SEED,
      .factors = {.alpha = {2.0},
                  .accumulate = of->unit,
                  .result = dm_dtype_roundoff(of->type_c),
                  .depth = sqrt((double)p->k),
                  .own = 0x1p-52,
                  .unit = of->least,
                  .largest = dm_dtype_largest(of->type_c)},
      .found = room,
      .columns = (dm_columns_found *)(void *)((dm_rows_found *)room + DM_JUDGED_PARTS),
      .turn = turn,
      .judged = found};
  for (int again = 0; again < 2; again++) /* TURN is as it was */
    cuda_ok(dm_kernels_judge_entries(&work, p->a.device, p->b.device, p->c.device, p->entries, 7));
  const dm_verified_found result = *found;
  dm_backend_release(gpu, DM_HOST, found);
  dm_backend_release(gpu, DM_DEVICE, room);
  dm_backend_release(gpu, DM_DEVICE, turn);
  return result;
}

static void say(const small_case *of, const small_product *p, const char *what, double residual) {
  fail_msg("%s to %s, %lld of %lld x %lld x %lld: %s, residual %g", dm_dtype_name(of->type),
           dm_dtype_name(of->type_c), (long long)p->entries, (long long)p->m, (long long)p->n,
           (long long)p->k, what, residual);
}

/* An element of C, of the size that its sum has, is off by so much of it. */
static void damage(dm_backend *gpu, const small_product *p, int64_t row, int64_t col) {
  dm_dtype type = p->c.host.dtype;
  double wide[2] = {0.0, 0.0};
  dm_load_wide(wide, dm_view_at(p->c.host, row, col), type, 1, 1);
  wide[0] += dm_dtype_is_integer(type) ? 1.0 : 1e5 * dm_dtype_roundoff(type) * sqrt((double)p->k);
  dm_store_wide(dm_view_at(p->c.host, row, col), type, 1, wide, 1);
  move(gpu, p->c.device_all, p->c.host_all);
}

static void check_case(dm_backend *gpu, const small_case *of, uint64_t *state) {
  const small_product p = make(gpu, of, state);
  multiply_all(gpu, &p);
  const dm_verified_found good = judged(gpu, of, &p);
  if (!(good.rows.residual <= 1.0) || good.columns.strained || good.columns.left_out)
    say(of, &p, "a right product fails", good.rows.residual);
  assert_int_equal(good.rows.checked, p.entries * p.m);
  const int64_t row = draw(state, 0, p.entries * p.m - 1), col = draw(state, 0, p.n - 1);
  damage(gpu, &p, row, col);
  const dm_verified_found bad = judged(gpu, of, &p);
  if (!(bad.rows.residual > 1.0)) say(of, &p, "a wrong element passes", bad.rows.residual);
  assert_int_equal(bad.rows.worst, row);
  free_pair(gpu, p.a), free_pair(gpu, p.b), free_pair(gpu, p.c);
}

TEST(test_entries) {
  uint64_t draws = 5;
  for (size_t t = 0; t < sizeof cases / sizeof *cases; t++)
    for (int i = 0; i < SHAPES; i++) check_case(*state, &cases[t], &draws);
}

/* NaN in a column leaves it out, which is told. */
TEST(test_left_out) {
  const dm_generator nan = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  uint64_t draws = 9;
  small_product p = make(*state, &cases[0], &draws);
  dm_fill(dm_view_sub(p.b.host, p.b.host.rows - 1, 0, 1, 1), &nan, 0, 0);
  move(*state, p.b.device_all, p.b.host_all);
  multiply_all(*state, &p);
  const dm_verified_found found = judged(*state, &cases[0], &p);
  assert_int_equal(found.columns.left_out, 1);
  assert_true(found.columns.strained);
  assert_true(found.rows.residual <= 1.0);
  free_pair(*state, p.a), free_pair(*state, p.b), free_pair(*state, p.c);
}

CUDA_TESTS(test_cuda_entries)
