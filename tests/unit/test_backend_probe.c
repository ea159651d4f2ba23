/* The sums that verification uses: M x, |M x|^2, squares of columns; NaN multiplied by zero is not
 * seen. */
#include "backend/probe.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/checked.h"
#include "cpu_cases.h"

enum { ROWS = 7, COLS = 1101 };

/* The same sums, and squares of the rows, over all columns. */
static void check_norms(dm_view m, const double *x) {
  double y[2 * ROWS] = {0}, same[2 * ROWS] = {0}, squares[ROWS] = {0}, too[ROWS] = {0};
  double norms[ROWS] = {0}, sized[ROWS] = {0}, sizes[COLS];
  for (int64_t j = 0; j < COLS; j++) sizes[j] = (double)(j % 3);
  ok(dm_host_probe(NULL, m, x, y, squares));
  dm_host_probe_groups(m, &(dm_probe_groups){.x = x, .y = same, .squares = too, .norms = norms});
  assert_memory_equal(y, same, sizeof y);
  assert_memory_equal(squares, too, sizeof squares);
  dm_host_probe_groups(m, &(dm_probe_groups){.x = x, .y = same, .sizes = sizes, .norms = sized});
  for (int64_t i = 0; i < ROWS; i++) {
    double want = 0.0, weighed = 0.0, v[2];
    for (int64_t j = 0; j < COLS; j++) {
      load(m, i, j, v);
      want += v[0] * v[0] + v[1] * v[1];
      weighed += sizes[j] * sizes[j] * (v[0] * v[0] + v[1] * v[1]);
    }
    assert_true(i == 3 ? isnan(norms[i]) : norms[i] == want);
    assert_true(i == 3 ? isnan(sized[i]) : sized[i] == weighed);
  }
}

/* Integers, so that the order of sums does not matter; x is complex for complex matrices. */
TEST(floats) {
  for (dm_dtype dtype = DM_F64; dtype <= DM_C128; dtype++) {
    const int parts = dm_dtype_is_complex(dtype) ? 2 : 1;
    static double memory[ROWS * (COLS + 3) * 2], x[2 * COLS], y[2 * ROWS], squares[ROWS],
        cols[COLS];
    dm_view m = dm_view_strided(memory, dtype, DM_HOST, ROWS, COLS, COLS + 3);
    dm_fill(m, &(dm_generator){.kind = DM_INTEGER, .seed = 5, .parameter = 9}, 0, 0);
    double nan[2] = {NAN, NAN};
    dm_store_wide(dm_view_at(m, 3, 600), dtype, 1, nan, 1);
    for (int64_t j = 0; j < COLS * parts; j++) x[j] = j / parts == 600 ? 0.0 : (double)(j % 11 - 5);
    for (int64_t i = 0; i < ROWS * parts; i++) y[i] = 3.0;
    for (int64_t i = 0; i < ROWS; i++) squares[i] = 4.0;
    memset(cols, 0, sizeof cols);
    ok(dm_host_probe(NULL, m, x, y, squares));
    check_norms(m, x);
    ok(dm_host_scan(NULL, m, cols));
    assert_true(isnan(cols[600]));
    for (int64_t i = 0; i < ROWS; i++) {
      double want[2] = {3.0, 3.0}, square = 4.0, v[2];
      for (int64_t j = 0; j < COLS; j++) {
        double xj[2] = {x[j * parts], parts == 2 ? x[2 * j + 1] : 0.0};
        if (j == 600) continue;
        load(m, i, j, v);
        double re = v[0] * xj[0] - v[1] * xj[1], im = v[0] * xj[1] + v[1] * xj[0];
        want[0] += re, want[1] += im, square += re * re + im * im;
        cols[j] -= v[0] * v[0] + v[1] * v[1];
      }
      assert_true(y[i * parts] == want[0] && squares[i] == square);
      if (parts == 2) assert_true(y[2 * i + 1] == want[1]);
    }
    for (int64_t j = 0; j < COLS; j++) assert_true(j == 600 || cols[j] == 0.0);
  }
}

/* Groups of columns in one pass: the sums of each are those of its columns alone. */
TEST(groups) {
  enum { HIGH = 3, FIRST = 600, EACH = 700, WIDE = FIRST + EACH + 500, APART = HIGH + 1 };
  for (dm_dtype dtype = DM_F64; dtype <= DM_C128; dtype++) {
    static double memory[HIGH * WIDE * 2], x[2 * WIDE];
    double y[3 * APART * 2] = {0}, squares[3 * APART] = {0}, norms[HIGH] = {0}, want[HIGH] = {0};
    const int parts = dm_dtype_is_complex(dtype) ? 2 : 1;
    const dm_view m = dm_view_row_major(memory, dtype, HIGH, WIDE);
    dm_fill(m, &(dm_generator){.kind = DM_INTEGER, .seed = 6, .parameter = 9}, 0, 0);
    for (int64_t j = 0; j < WIDE * parts; j++) x[j] = (double)(j % 11 - 5);
    dm_host_probe_groups_parallel(
        m, &(dm_probe_groups){x, NULL, y, squares, norms, FIRST, EACH, APART});
    for (int g = 0; g < 3; g++) {
      const int64_t from = g ? FIRST + (g - 1) * EACH : 0, end = dm_min(WIDE, FIRST + g * EACH);
      double sums[2 * HIGH] = {0}, own[HIGH] = {0};
      dm_host_probe_groups(
          dm_view_sub(m, 0, from, HIGH, end - from),
          &(dm_probe_groups){.x = x + from * parts, .y = sums, .squares = own, .norms = want});
      assert_memory_equal(sums, y + g * APART * parts, (size_t)(HIGH * parts) * sizeof *y);
      assert_memory_equal(own, squares + g * APART, sizeof own);
    }
    assert_memory_equal(want, norms, sizeof norms);
  }
}

TEST(whole_numbers) {
  int8_t small[2 * 5] = {1, -2, 127, -128, 0, 5, 6, 7, 8, 9};
  int32_t large[2 * 5] = {INT32_MAX, INT32_MIN, 1, 0, -1, 5, 6, 7, 8, 9};
  const uint64_t x[5] = {UINT64_MAX, 1ull << 63, 3, 0x123456789abcdefull, 7};
  uint64_t y[2] = {1, 2}, want[2] = {1, 2};
  for (int i = 0; i < 10; i++)
    want[i / 5] += (uint64_t)(int64_t)small[i] * x[i % 5] + (uint64_t)(int64_t)large[i] * x[i % 5];
  ok(dm_host_probe(NULL, dm_view_row_major(small, DM_I8, 2, 5), x, y, NULL));
  ok(dm_host_probe(NULL, dm_view_row_major(large, DM_I32, 2, 5), x, y, NULL));
  assert_memory_equal(y, want, sizeof y);
}

/* Rows contiguous, columns contiguous, or neither: the same sums. */
TEST(whole_layouts) {
  enum { TALL = 1100, BROAD = 37 };
  static const int64_t strides[][2] = {{BROAD + 3, 1}, {1, TALL + 5}, {2 * (BROAD + 3), 2}};
  static const dm_dtype types[] = {DM_I8, DM_I32};
  const dm_generator random = {.kind = DM_INTEGER, .seed = 5, .parameter = 100};
  uint64_t x[BROAD], want[TALL];
  for (int64_t j = 0; j < BROAD; j++) x[j] = dm_random_bits(7, 0, j, 0);
  for (int t = 0; t < 2; t++) {
    for (int64_t i = 0; i < TALL; i++) {
      want[i] = 1;
      for (int64_t j = 0; j < BROAD; j++) {
        int32_t value;
        dm_fill(dm_view_row_major(&value, DM_I32, 1, 1), &random, i, j);
        want[i] += (uint64_t)(int64_t)value * x[j];
      }
    }
    for (int l = 0; l < 3; l++) {
      dm_view m = {NULL, types[t], DM_HOST, TALL, BROAD, strides[l][0], strides[l][1]};
      m.base = calloc((size_t)(TALL * m.row_stride + BROAD * m.col_stride), sizeof(int32_t));
      uint64_t y[TALL];
      for (int64_t i = 0; i < TALL; i++) y[i] = 1;
      assert_non_null(m.base);
      for (int64_t i = 0; i < TALL; i++)
        for (int64_t j = 0; j < BROAD; j++) dm_fill(dm_view_sub(m, i, j, 1, 1), &random, i, j);
      ok(dm_host_probe(NULL, m, x, y, NULL));
      assert_memory_equal(y, want, sizeof y);
      free(m.base);
    }
  }
}

/* Sums show every Inf and NaN. */
TEST(infinities) {
  double row[4] = {1.0, INFINITY, -INFINITY, 2.0}, x[4] = {1.0, 1.0, 1.0, 1.0}, y = 0.0,
         square = 0.0;
  ok(dm_host_probe(NULL, dm_view_row_major(row, DM_F64, 1, 4), x, &y, &square));
  assert_true(isnan(y) && isinf(square));
}

/* A matrix of several strips: the same bits on any number of threads. */
TEST(threads) {
  static const dm_dtype types[] = {DM_F32, DM_C128, DM_I8, DM_F64};
  enum { TALL = 3001, BROAD = 2003, STRIDE = BROAD + 5 };
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 3, .parameter = 9};
  double *x = calloc(2 * BROAD, sizeof *x), *sums[2], *squares[2], *cols[2];
  assert_non_null(x);
  for (int64_t j = 0; j < 2 * BROAD; j++) x[j] = (double)(j % 7 - 3);
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
    const size_t size = (size_t)dm_dtype_size(types[t]);
    char *memory[2];
    for (int way = 0; way < 2; way++) {
      memory[way] = calloc((size_t)TALL * STRIDE, size);
      sums[way] = calloc(2 * TALL, sizeof(double));
      squares[way] = calloc(TALL, sizeof(double));
      cols[way] = calloc(BROAD, sizeof(double));
      assert_true(memory[way] && sums[way] && squares[way] && cols[way]);
      const dm_view v = dm_view_strided(memory[way], types[t], DM_HOST, TALL, BROAD, STRIDE);
      ok(way ? dm_host_fill_parallel(v, &whole, 5, 11) : dm_host_fill(NULL, v, &whole, 5, 11));
      ok(way ? dm_host_probe_parallel(v, x, sums[way], squares[way])
             : dm_host_probe(NULL, v, x, sums[way], squares[way]));
      if (types[t] != DM_I8)
        ok(way ? dm_host_scan_parallel(v, cols[way]) : dm_host_scan(NULL, v, cols[way]));
    }
    assert_memory_equal(memory[0], memory[1], (size_t)TALL * STRIDE * size);
    assert_memory_equal(sums[0], sums[1], 2 * TALL * sizeof(double));
    assert_memory_equal(squares[0], squares[1], TALL * sizeof(double));
    assert_memory_equal(cols[0], cols[1], BROAD * sizeof(double));
    for (int way = 0; way < 2; way++)
      free(memory[way]), free(sums[way]), free(squares[way]), free(cols[way]);
  }
  free(x);
}

/* Sums with several vectors in one pass equal those with one pass each. */
TEST(several_vectors) {
  enum { HEIGHT = 7, WIDTH = 1029, STEP = WIDTH + 2 };
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_BF16};
  double x[DM_PROBE_VECTORS * STEP], sizes[DM_PROBE_VECTORS * STEP];
  for (int i = 0; i < DM_PROBE_VECTORS * STEP; i++) x[i] = i % 13 - 6.0, sizes[i] = i % 5 + 1.0;
  for (int t = 0; t < 3; t++)
    for (int count = 1; count <= DM_PROBE_VECTORS; count++) {
      double memory[HEIGHT * WIDTH], y[DM_PROBE_VECTORS * HEIGHT] = {0},
                                                          norms[DM_PROBE_VECTORS * HEIGHT] = {0};
      const dm_view m = dm_view_row_major(memory, types[t], HEIGHT, WIDTH);
      ok(dm_host_fill(NULL, m, &(dm_generator){DM_INTEGER, 5, 9}, 0, 0));
      dm_host_probe_vectors_parallel(m,
                                     &(dm_probe_vectors){count, x, sizes, STEP, y, norms, HEIGHT});
      for (int g = 0; g < count; g++) {
        double sums[HEIGHT] = {0}, squares[HEIGHT] = {0};
        dm_host_probe_groups(
            m, &(dm_probe_groups){
                   .x = x + g * STEP, .y = sums, .sizes = sizes + g * STEP, .norms = squares});
        assert_memory_equal(sums, y + g * HEIGHT, sizeof sums);
        assert_memory_equal(squares, norms + g * HEIGHT, sizeof squares);
      }
    }
}

/* Memory of BYTES bytes, behind which nothing can be read. */
static char *at_the_end(size_t bytes, char **pages, size_t *length) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *length = (bytes + page - 1) / page * page + page;
  *pages = mmap(NULL, *length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(*pages != MAP_FAILED);
  assert_int_equal(mprotect(*pages + *length - page, page, PROT_NONE), 0);
  return *pages + *length - page - bytes;
}

/* Packed lines of few elements, by rows and as columns: the sums are those of each element, a line
 * does not see the next one's NaN, and nothing is read behind the matrix. */
TEST(narrow_lines) {
  enum { LINES = 517, BAD = 300 };
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_BF16};
  for (int64_t few = 1; few <= 66; few++)
    for (int t = 0; t < 3; t++) {
      const size_t size = (size_t)dm_dtype_size(types[t]);
      char *pages;
      size_t length;
      void *memory = at_the_end(LINES * (size_t)few * size, &pages, &length);
      const dm_view m = dm_view_row_major(memory, types[t], LINES, few);
      static double x[LINES], sizes[LINES], want[3][LINES], got[3][LINES];
      double y[66] = {0}, norms[66] = {0}, nan[2] = {NAN, NAN};
      ok(dm_host_fill(NULL, m, &(dm_generator){DM_INTEGER, 5, 9}, 0, 0));
      for (int i = 0; i < LINES; i++) x[i] = i % 13 - 6.0, sizes[i] = i % 5 + 1.0;
      memset(want, 0, sizeof want), memset(got, 0, sizeof got);
      dm_host_probe_vectors(dm_view_transpose(m),
                            &(dm_probe_vectors){1, x, sizes, LINES, y, norms, few});
      dm_store_wide(dm_view_at(m, BAD, 0), types[t], 1, nan, 1);
      dm_host_probe_groups(
          m, &(dm_probe_groups){
                 .x = x, .sizes = sizes, .y = got[0], .squares = got[1], .norms = got[2]});
      for (int64_t i = 0; i < LINES; i++)
        for (int64_t j = 0; j < few; j++) {
          double v[2];
          load(m, i, j, v);
          want[0][i] += v[0] * x[j], want[1][i] += v[0] * x[j] * v[0] * x[j];
          want[2][i] += v[0] * sizes[j] * v[0] * sizes[j];
          if (i == BAD && j == 0) continue;
          y[j] -= v[0] * x[i], norms[j] -= v[0] * sizes[i] * v[0] * sizes[i];
        }
      for (int w = 0; w < 3; w++)
        for (int64_t i = 0; i < LINES; i++)
          assert_true(i == BAD ? isnan(got[w][i]) : got[w][i] == want[w][i]);
      for (int64_t j = 1; j < few; j++) assert_true(y[j] == 0.0 && norms[j] == 0.0);
      assert_int_equal(munmap(pages, length), 0);
    }
}

/* Contiguous columns, so many that threads have sums of their own, or so long that threads share
 * their elements. */
TEST(long_columns) {
  enum { MOST = 40000 };
  static const int64_t shapes[][2] = {{70, MOST}, {129, 33}, {9001, 300}, {2, MOST}, {65, 3}};
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_BF16};
  static double x[2 * MOST], sizes[2 * MOST], y[2 * MOST], norms[2 * MOST];
  for (int i = 0; i < 2 * MOST; i++) x[i] = i % 13 - 6.0, sizes[i] = i % 5 + 1.0;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int t = 0; t < 3; t++) {
      const int64_t rows = shapes[s][0], cols = shapes[s][1], stride = rows + 3;
      double *memory = calloc((size_t)(stride * cols), sizeof *memory);
      assert_non_null(memory);
      const dm_view lines = dm_view_strided(memory, types[t], DM_HOST, cols, rows, stride);
      const dm_view m = dm_view_transpose(lines);
      ok(dm_host_fill(NULL, lines, &(dm_generator){DM_INTEGER, 5, 9}, 0, 0));
      memset(y, 0, sizeof y), memset(norms, 0, sizeof norms);
      dm_host_probe_vectors_parallel(m, &(dm_probe_vectors){2, x, sizes, MOST, y, norms, MOST});
      for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
          double v[2];
          load(m, i, j, v);
          for (int64_t g = 0; g < 2; g++) {
            const double scaled = v[0] * sizes[g * MOST + j];
            y[g * MOST + i] -= v[0] * x[g * MOST + j], norms[g * MOST + i] -= scaled * scaled;
          }
        }
      for (int64_t i = 0; i < 2 * MOST; i++) assert_true(y[i] == 0.0 && norms[i] == 0.0);
      free(memory);
    }
}

RUN_ALL(test_backend_probe)
