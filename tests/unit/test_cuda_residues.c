/* The kernels of products by residues, compared bit for bit with core/residues.h, on shapes and
 * strides that break kernels; only the result is written. */
#include "core/checked.h"
#include "core/dtype.h"
#include "core/elementary.h"
#include "core/residues.h"
#include "cuda_test.h"
#include "device_memory.h"
#include "kernels/residue_kernels.h"

enum { PROCESSORS = 100 }; /* independent of the GPU */

static int symmetric_residue(int64_t value, int p) {
  const int rest = (int)((value % p + p) % p);
  return 2 * rest < p ? rest : rest - p;
}

/* ---- splitting ---- */

/* Numbers below 2, with row r scaled to fewer than 78 bits; some rows are zeros. */
static int exponent_for(int64_t row) {
  static const int bits[] = {76, 62, 61, 63, 52, 30, 5, 70, -3};
  return bits[row % 9];
}

static double number_at(int64_t row, int64_t col, int64_t cols) {
  const double number = (double)(int64_t)bits_at(row * cols + col) * 0x1p-62;
  return row % 11 == 7 ? 0.0 : ldexp(number, -(int)(bits_at(row + col) % 5));
}

typedef struct split_case {
  int64_t rows, depth, row_stride, col_stride, skip; /* SKIP numbers before the first */
  bool columns;
} split_case;

/* NUMBERS: those of FROM, on the host. */
static void check_split(const dm_residue_split *s, dm_view numbers) {
  const dm_residue_panel to = s->to;
  const int parts = dm_dtype_is_complex(numbers.dtype) ? 2 : 1;
  const int planes = parts == 1 ? 1 : DM_RESIDUE_PLANES, count = to.count / planes;
  int8_t *got = downloaded(to.base, to.count * to.plane_rows * to.stride);
  dm_moduli moduli;
  dm_moduli_make(count, &moduli);
  for (int64_t r = 0; r < to.rows; r++)
    for (int64_t h = 0; h < to.depth; h++) {
      const double *number = dm_view_at(numbers, r, h);
      const int64_t place = s->columns ? dm_residue_place(r) : r;
      for (int x = 0; x < count; x++) {
        int wanted[DM_RESIDUE_PLANES];
        for (int part = 0; part < parts; part++)
          wanted[part] = dm_long_integer_residue(
              &moduli, x, dm_long_integer_of(number[part], dm_power_of(exponent_for(r))));
        if (parts == 2) wanted[2] = symmetric_residue(wanted[0] + wanted[1], dm_moduli_numbers[x]);
        for (int plane = 0; plane < planes; plane++) {
          const int found = got[((x * planes + plane) * to.plane_rows + place) * to.stride + h];
          if (found != wanted[plane])
            fail_msg("%lld x %lld of %d: residue %d, plane %d of (%lld, %lld) is %d",
                     (long long)to.rows, (long long)to.depth, count, x, plane, (long long)r,
                     (long long)h, found);
        }
      }
    }
  free(got);
}

/* Splits FROM, which lies in SIZE doubles of MEMORY; frees all on the host. */
static void split_as(double *memory, int64_t size, dm_view from, bool columns, int count) {
  const int64_t each = columns && from.dtype == DM_C128 ? 2 : 1;
  const int planes = count * (from.dtype == DM_C128 ? DM_RESIDUE_PLANES : 1);
  int32_t *exponents = zeros(each * from.rows * (int64_t)sizeof *exponents);
  for (int64_t r = 0; r < each * from.rows; r++) exponents[r] = exponent_for(r / each);
  double *device = uploaded(memory, size * (int64_t)sizeof *memory);
  int32_t *of_rows = uploaded(exponents, each * from.rows * (int64_t)sizeof *exponents);
  void *panel = on_gpu(dm_residue_panel_bytes(planes, from.rows, from.cols), UNTOUCHED);
  dm_view there = from;
  there.base = device + ((double *)from.base - memory);
  there.space = DM_DEVICE;
  const dm_residue_split split = {.to = dm_residue_panel_at(panel, planes, from.rows, from.cols),
                                  .from = there,
                                  .exponents = of_rows,
                                  .columns = columns};
  cuda_ok(dm_kernels_residue_split(&split));
  check_split(&split, from);
  cuda_ok(cudaFree(device)), cuda_ok(cudaFree(of_rows)), cuda_ok(cudaFree(panel));
  free(memory), free(exponents);
}

static void split_real(const split_case *c, int count) {
  const int64_t size = c->skip + (c->rows - 1) * c->row_stride + (c->depth - 1) * c->col_stride + 1;
  double *memory = zeros(size * (int64_t)sizeof *memory);
  const dm_view from = {memory + c->skip, DM_F64,        DM_HOST,      c->rows,
                        c->depth,         c->row_stride, c->col_stride};
  for (int64_t r = 0; r < c->rows; r++)
    for (int64_t h = 0; h < c->depth; h++)
      *(double *)dm_view_at(from, r, h) = number_at(r, h, c->depth);
  split_as(memory, size, from, c->columns, count);
}

TEST(test_residue_split) {
  static const split_case cases[] = {
      {1, 1, 1, 1, 0, false},      {9, 128, 128, 1, 0, false}, {70, 131, 140, 1, 0, false},
      {70, 131, 133, 1, 1, false}, {70, 131, 1, 70, 0, true},  {130, 257, 1, 133, 3, true},
      {33, 5, 5, 1, 0, true},      {65, 60, 3, 200, 0, true},  {40, 300, 700, 2, 0, false},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (int count = c < 3 ? DM_MODULI_LEAST : 14; count <= DM_MODULI_MOST; count++)
      split_real(&cases[c], count);
}

static void split_complex(const split_case *c, int count) {
  const int64_t size =
      2 * (c->skip + (c->rows - 1) * c->row_stride + (c->depth - 1) * c->col_stride + 1);
  double *memory = zeros(size * (int64_t)sizeof *memory);
  const dm_view from = {memory + 2 * c->skip, DM_C128,      DM_HOST, c->rows, c->depth,
                        c->row_stride,        c->col_stride};
  for (int64_t r = 0; r < c->rows; r++)
    for (int64_t h = 0; h < c->depth; h++)
      for (int part = 0; part < 2; part++)
        ((double *)dm_view_at(from, r, h))[part] = number_at(r, 2 * h + part, 2 * c->depth);
  split_as(memory, size, from, c->columns, count);
}

TEST(test_residue_split_of_complex) {
  static const split_case cases[] = {
      {1, 1, 1, 1, 0, true},       {64, 64, 1, 64, 0, true},   {70, 131, 1, 70, 0, true},
      {65, 129, 1, 75, 1, true},   {33, 5, 1, 33, 0, true},    {21, 130, 140, 1, 0, true},
      {17, 60, 3, 200, 0, true},   {9, 128, 128, 1, 0, false}, {70, 131, 133, 1, 1, false},
      {40, 300, 700, 2, 0, false}, {33, 131, 1, 40, 0, false},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (int count = c < 2 ? DM_MODULI_LEAST : 15; count <= DM_MODULI_MOST; count++)
      split_complex(&cases[c], count);
}

/* Panels have a plane, or three of complex numbers, for each modulus. */
TEST(test_residue_split_counts_planes) {
  const dm_residue_split few = {.to = dm_residue_panel_at(NULL, DM_RESIDUE_PLANES + 1, 1, 1),
                                .from = {NULL, DM_C128, DM_DEVICE, 1, 1, 1, 1}};
  const dm_residue_split many = {.to = dm_residue_panel_at(NULL, DM_MODULI_MOST + 1, 1, 1),
                                 .from = {NULL, DM_F64, DM_DEVICE, 1, 1, 1, 1}};
  assert_int_equal(dm_kernels_residue_split(&few), cudaErrorInvalidValue);
  assert_int_equal(dm_kernels_residue_split(&many), cudaErrorInvalidValue);
}

/* ---- products ---- */

typedef struct product_case {
  int64_t m, n, depth, plane, row_stride;
} product_case;

/* A panel of random bytes; ROWS of it are used. */
static dm_residue_panel random_panel(int count, int64_t rows, int64_t depth, int64_t seed,
                                     int8_t **host) {
  const int64_t bytes = dm_residue_panel_bytes(count, rows, depth);
  int8_t *numbers = zeros(bytes);
  for (int64_t i = 0; i < bytes; i++) numbers[i] = (int8_t)(bits_at(i + (seed << 40)) >> 20);
  *host = numbers;
  return dm_residue_panel_at(uploaded(numbers, bytes), count, rows, depth);
}

/* The sum over h of row I of plane X of A times column J of that of B. */
static int32_t sum_of(const dm_residue_panel *a, const int8_t *of_a, const dm_residue_panel *b,
                      const int8_t *of_b, int x, int64_t i, int64_t j) {
  const int8_t *row = of_a + (x * a->plane_rows + i) * a->stride;
  const int8_t *col = of_b + (x * b->plane_rows + dm_residue_place(j)) * b->stride;
  int32_t sum = 0;
  for (int64_t h = 0; h < a->depth; h++) sum += row[h] * col[h];
  return sum;
}

static void expect_product(int8_t *c, const product_case *p, int parts, const dm_residue_panel *a,
                           const int8_t *of_a, const dm_residue_panel *b, const int8_t *of_b,
                           bool accumulate) {
  const int planes = parts == 1 ? 1 : DM_RESIDUE_PLANES;
  for (int x = 0; x < a->count; x += planes)
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < p->n; j++) {
        int8_t *to = c + i * p->row_stride + x / planes * p->plane + parts * j;
        int32_t sum[DM_RESIDUE_PLANES];
        for (int plane = 0; plane < planes; plane++)
          sum[plane] = sum_of(a, of_a, b, of_b, x + plane, i, j);
        const int32_t part[] = {parts == 1 ? sum[0] : sum[0] - sum[1],
                                parts == 1 ? 0 : sum[2] - sum[0] - sum[1]};
        for (int q = 0; q < parts; q++)
          to[q] = (int8_t)symmetric_residue(part[q] + (accumulate ? to[q] : 0),
                                            dm_moduli_numbers[x / planes]);
      }
}

static void check_bytes(const int8_t *got, const int8_t *wanted, const product_case *p) {
  for (int64_t at = 0; at < p->m * p->row_stride; at++)
    if (got[at] != wanted[at])
      fail_msg("%lld x %lld x %lld: byte %lld of row %lld is %d instead of %d", (long long)p->m,
               (long long)p->n, (long long)p->depth, (long long)(at % p->row_stride),
               (long long)(at / p->row_stride), got[at], wanted[at]);
}

/* Adds the product of panels A and B to residues at C, or replaces them. */
static cudaError_t multiply_panels(int8_t *c, int parts, int64_t row_stride, int64_t plane,
                                   dm_residue_panel a, dm_residue_panel b, bool accumulate) {
  return dm_kernels_residue_product(&(dm_residue_product){.c = c,
                                                          .parts = parts,
                                                          .row_stride = row_stride,
                                                          .plane = plane,
                                                          .a = a,
                                                          .b = b,
                                                          .accumulate = accumulate,
                                                          .processors = PROCESSORS});
}

static void multiply_as(const product_case *p, int parts, int count, int offset) {
  const int planes = count * (parts == 1 ? 1 : DM_RESIDUE_PLANES);
  int8_t *of_a, *of_b, *wanted = zeros(p->m * p->row_stride);
  const dm_residue_panel a = random_panel(planes, p->m, p->depth, 1, &of_a);
  const dm_residue_panel b = random_panel(planes, p->n, p->depth, 2, &of_b);
  memset(wanted, UNTOUCHED, (size_t)(p->m * p->row_stride));
  int8_t *c = on_gpu(p->m * p->row_stride + offset, UNTOUCHED);
  for (int time = 0; time < 3; time++) {
    cuda_ok(multiply_panels(c + offset, parts, p->row_stride, p->plane, a, b, time > 0));
    expect_product(wanted, p, parts, &a, of_a, &b, of_b, time > 0);
    int8_t *got = downloaded(c + offset, p->m * p->row_stride);
    check_bytes(got, wanted, p);
    free(got);
  }
  cuda_ok(cudaFree(a.base)), cuda_ok(cudaFree(b.base)), cuda_ok(cudaFree(c));
  free(of_a), free(of_b), free(wanted);
}

TEST(test_residue_product) {
  static const product_case cases[] = {
      {1, 1, 1, 1, 20},          {256, 192, 1024, 192, 3840}, {257, 193, 130, 208, 4160},
      {3, 200, 900, 200, 4008},  {129, 64, 127, 64, 1296},    {64, 65, 129, 65, 1301},
      {300, 70, 1000, 70, 1400}, {130, 400, 33, 400, 8000},   {17, 15, 768, 15, 300},
      {600, 20, 769, 32, 640},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (int offset = 0; offset < 2; offset++) multiply_as(&cases[c], 1, DM_MODULI_MOST, offset);
}

TEST(test_residue_product_of_few_moduli) {
  const product_case p = {140, 210, 300, 224, 20 * 224};
  for (int count = 1; count < DM_MODULI_MOST; count++) multiply_as(&p, 1, count, 0);
}

/* Three products of residues; steps along k are fewer than the runs of a tile, or more. */
TEST(test_residue_product_of_complex) {
  static const product_case cases[] = {
      {1, 1, 1, 2, 40},           {256, 192, 1600, 384, 7680}, {257, 193, 130, 400, 8000},
      {3, 200, 900, 400, 8008},   {129, 64, 127, 128, 2561},   {64, 65, 1537, 130, 2601},
      {300, 70, 1000, 144, 2880}, {17, 15, 768, 30, 600},      {600, 20, 769, 48, 960},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (int offset = 0; offset < 2; offset++) multiply_as(&cases[c], 2, DM_MODULI_MOST, offset);
  for (int count = 1; count < DM_MODULI_MOST; count++)
    multiply_as(&(product_case){140, 210, 300, 432, 20 * 432}, 2, count, 0);
}

/* The largest sums of int8 over the deepest panel, of both signs. */
TEST(test_residue_product_does_not_overflow) {
  enum { M = 65, N = 193, COUNT = 3, PLANE = 208 };
  static const int8_t factors[][2] = {{-128, -128}, {-128, 127}, {127, 127}};
  const int64_t depth = DM_RESIDUES_DEPTH, bytes = M * COUNT * PLANE;
  void *of_a = on_gpu(dm_residue_panel_bytes(COUNT, M, depth), 0);
  void *of_b = on_gpu(dm_residue_panel_bytes(COUNT, N, depth), 0);
  int8_t *c = on_gpu(bytes, 0);
  dm_residue_panel a = dm_residue_panel_at(of_a, COUNT, M, depth);
  dm_residue_panel b = dm_residue_panel_at(of_b, COUNT, N, depth);
  for (int f = 0; f < 3; f++) {
    const int64_t sum = (int64_t)factors[f][0] * factors[f][1] * depth;
    cuda_ok(cudaMemset(of_a, factors[f][0], (size_t)dm_residue_panel_bytes(COUNT, M, depth)));
    cuda_ok(cudaMemset(of_b, factors[f][1], (size_t)dm_residue_panel_bytes(COUNT, N, depth)));
    cuda_ok(multiply_panels(c, 1, COUNT * PLANE, PLANE, a, b, false));
    cuda_ok(multiply_panels(c, 1, COUNT * PLANE, PLANE, a, b, true));
    int8_t *got = downloaded(c, bytes);
    for (int x = 0; x < COUNT; x++)
      for (int64_t at = 0; at < M * N; at++)
        assert_int_equal(got[at / N * COUNT * PLANE + x * PLANE + at % N],
                         symmetric_residue(2 * sum, dm_moduli_numbers[x]));
    free(got);
  }
  a.depth = b.depth = depth + 1;
  a.stride = b.stride = depth + 128;
  assert_int_equal(multiply_panels(c, 1, COUNT * PLANE, PLANE, a, b, true), cudaErrorInvalidValue);
  cuda_ok(cudaFree(of_a)), cuda_ok(cudaFree(of_b)), cuda_ok(cudaFree(c));
}

/* Re C of products of opposite sign, and Im C, the sum of three of one sign. */
TEST(test_residue_product_of_complex_does_not_overflow) {
  enum { M = 3, N = 5, COUNT = 2, PLANES = COUNT * DM_RESIDUE_PLANES, PLANE = 16 };
  static const int8_t factors[][PLANES] = {/* planes of A, of B */
                                           {-128, -128, -128, -128, 127, 127},
                                           {-128, 127, -128, 127, -128, 127},
                                           {-128, -128, -128, -128, -128, 127}};
  const int64_t depth = DM_RESIDUES_DEPTH / DM_RESIDUE_PLANES;
  const int64_t of_a = dm_residue_panel_bytes(1, M, depth);
  const int64_t of_b = dm_residue_panel_bytes(1, N, depth);
  char *on_a = on_gpu(PLANES * of_a, 0), *on_b = on_gpu(PLANES * of_b, 0);
  int8_t *c = on_gpu(M * COUNT * PLANE, 0);
  dm_residue_panel a = dm_residue_panel_at(on_a, PLANES, M, depth);
  dm_residue_panel b = dm_residue_panel_at(on_b, PLANES, N, depth);
  for (int f = 0; f < 3; f++) {
    const int8_t *x = factors[f], *y = x + DM_RESIDUE_PLANES;
    const int p = x[0] * y[0], q = x[1] * y[1], r = x[2] * y[2];
    for (int plane = 0; plane < PLANES; plane++) {
      const int part = plane % DM_RESIDUE_PLANES;
      cuda_ok(cudaMemset(on_a + plane * of_a, x[part], (size_t)of_a));
      cuda_ok(cudaMemset(on_b + plane * of_b, y[part], (size_t)of_b));
    }
    cuda_ok(multiply_panels(c, 2, COUNT * PLANE, PLANE, a, b, false));
    int8_t *got = downloaded(c, M * COUNT * PLANE);
    for (int at = 0; at < M * COUNT * 2 * N; at++) {
      const int row = at / (2 * N), col = at % (2 * N); /* a row of each modulus */
      const int64_t wanted = depth * (col % 2 == 0 ? p - q : r - p - q);
      assert_int_equal(got[row * PLANE + col],
                       symmetric_residue(wanted, dm_moduli_numbers[row % COUNT]));
    }
    free(got);
  }
  a.depth = b.depth = depth + 1;
  assert_int_equal(multiply_panels(c, 2, COUNT * PLANE, PLANE, a, b, true), cudaErrorInvalidValue);
  cuda_ok(cudaFree(on_a)), cuda_ok(cudaFree(on_b)), cuda_ok(cudaFree(c));
}

/* ---- the finish ---- */

/* Residues of random numbers, of small ones, and of the extremes. */
static int8_t residue_at(int64_t element, int x) {
  const int p = dm_moduli_numbers[x];
  switch (element % 4) {
  case 0:
    return (int8_t)symmetric_residue((int64_t)(bits_at(element * 32 + x) >> 8), p);
  case 1:
    return (int8_t)symmetric_residue((int64_t)bits_at(element) >> element % 64, p);
  case 2:
    return (int8_t)(bits_at(element * 32 + x) % 2 ? (p - 1) / 2 : -(p / 2));
  default:
    return (int8_t)(x == 0 ? -128 : 0); /* about P / 2, as P / 256 is odd */
  }
}

static void combine_as(int count, int64_t rows, int64_t cols, int64_t plane, int64_t row_stride,
                       int64_t to_stride) {
  int8_t *c = zeros(rows * row_stride);
  int32_t *of_rows = zeros(rows * 4), *of_cols = zeros(cols * 4);
  for (int64_t at = 0; at < rows * cols; at++)
    for (int x = 0; x < count; x++)
      c[at / cols * row_stride + x * plane + at % cols] = residue_at(at, x);
  for (int64_t i = 0; i < rows; i++) of_rows[i] = (int32_t)(i % 5 == 4 ? 1100 : i * 7 - 20);
  for (int64_t j = 0; j < cols; j++) of_cols[j] = (int32_t)(j % 9 == 8 ? -1000 : 60 - j);
  int8_t *on_c = uploaded(c, rows * row_stride);
  int32_t *on_rows = uploaded(of_rows, rows * 4), *on_cols = uploaded(of_cols, cols * 4);
  double *to = on_gpu(rows * to_stride * 8, UNTOUCHED);
  dm_moduli moduli;
  dm_moduli_make(count, &moduli);
  const dm_residue_combination all = {
      .to = dm_view_strided(to, DM_F64, DM_DEVICE, rows, cols, to_stride),
      .c = on_c,
      .row_stride = row_stride,
      .plane = plane,
      .of_rows = on_rows,
      .of_cols = on_cols,
      .moduli = &moduli};
  cuda_ok(dm_kernels_residue_combine(&all));
  double *got = downloaded(to, rows * to_stride * 8), untouched;
  memset(&untouched, UNTOUCHED, sizeof untouched);
  for (int64_t at = 0; at < rows * to_stride; at++) {
    const int64_t i = at / to_stride, j = at % to_stride;
    double wanted = untouched;
    if (j < cols)
      wanted =
          dm_residues_value(&moduli, c + i * row_stride + j, plane, -(of_rows[i] + of_cols[j]));
    if (memcmp(&got[at], &wanted, sizeof wanted) != 0)
      fail_msg("%d moduli: (%lld, %lld) is %a instead of %a", count, (long long)i, (long long)j,
               got[at], wanted);
  }
  free(c), free(of_rows), free(of_cols), free(got);
  cuda_ok(cudaFree(on_c)), cuda_ok(cudaFree(on_rows)), cuda_ok(cudaFree(on_cols));
  cuda_ok(cudaFree(to));
}

TEST(test_residue_combine) {
  for (int count = DM_MODULI_LEAST; count <= DM_MODULI_MOST; count++) {
    combine_as(count, 19, 132, 132, 132 * count, 132);
    combine_as(count, 9, 131, 131, 131 * count + 1, 133);
    combine_as(count, 1, 1, 1, count, 1);
    combine_as(count, 33, 259, 264, 264 * count, 260);
  }
}

/* ---- layers ---- */

/* The same on the host; data beyond all planes must not change. */
static void join_as(int count, int64_t rows, int64_t cols, int64_t plane, int64_t row_stride,
                    int64_t more_stride) {
  int8_t *c = zeros(rows * row_stride), *more = zeros(rows * more_stride);
  dm_moduli moduli;
  dm_moduli_make(count, &moduli);
  memset(c, UNTOUCHED, (size_t)(rows * row_stride));
  for (int64_t at = 0; at < rows * cols; at++)
    for (int x = 0; x < count; x++) {
      c[at / cols * row_stride + x * plane + at % cols] = residue_at(at, x);
      more[at / cols * more_stride + x * plane + at % cols] = residue_at(3 * at + 1, x);
    }
  int8_t *on_c = uploaded(c, rows * row_stride), *on_more = uploaded(more, rows * more_stride);
  const dm_residue_sum sum = {
      .c = dm_view_strided(on_c, DM_I8, DM_DEVICE, rows, cols, row_stride),
      .more = dm_view_strided(on_more, DM_I8, DM_DEVICE, rows, cols, more_stride),
      .plane = plane,
      .moduli = &moduli};
  cuda_ok(dm_kernels_residue_join(&sum));
  int8_t *got = downloaded(on_c, rows * row_stride);
  for (int64_t i = 0; i < rows; i++) {
    for (int x = 0; x < count; x++)
      for (int64_t j = 0; j < cols; j++) {
        const int64_t at = x * plane + j;
        const int wanted =
            dm_residue(&moduli, x, (double)c[i * row_stride + at] + more[i * more_stride + at]);
        if (got[i * row_stride + at] != wanted)
          fail_msg("%d moduli: residue %d of (%lld, %lld) is %d instead of %d", count, x,
                   (long long)i, (long long)j, got[i * row_stride + at], wanted);
      }
    for (int64_t at = count * plane; at < row_stride; at++)
      assert_int_equal(got[i * row_stride + at], UNTOUCHED);
  }
  free(c), free(more), free(got);
  cuda_ok(cudaFree(on_c)), cuda_ok(cudaFree(on_more));
}

TEST(test_residue_join) {
  for (int count = DM_MODULI_LEAST; count <= DM_MODULI_MOST; count++) {
    join_as(count, 19, 132, 144, 144 * count, 144 * count + 64);
    join_as(count, 1, 1, 16, 16 * count, 16 * count);
    join_as(count, 5, 4096, 4096, 4096 * count + 16, 4096 * count);
  }
}

CUDA_TESTS(test_cuda_residues)
