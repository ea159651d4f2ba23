#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu.h"
#include "backend/probe.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/residues.h"

enum {
  CPU_ROWS = DM_CPU_RESIDUES_ROWS,
  CPU_COLS = DM_CPU_RESIDUES_COLS,
  CPU_RESIDUES_DEPTH =
      512, /* depth of a slice of k: sums of so many byte products are exact in f32 */
  CPU_BLOCK_ROWS = 128,
  CPU_BLOCK_COLS = 256,
  SCRATCH = CPU_BLOCK_ROWS * CPU_RESIDUES_DEPTH + CPU_RESIDUES_DEPTH * CPU_BLOCK_COLS +
            CPU_BLOCK_ROWS * CPU_BLOCK_COLS, /* per thread */
  CPU_RUN = 256,                             /* sums per step of a thread */
};

_Static_assert(CPU_RESIDUES_DEPTH * 128 * 128 <= 1 << 24, "whole numbers that f32 holds");

struct dm_cpu_residues {
  dm_moduli moduli;
  dm_dtype sum;
  dm_crew *crew;
  int threads;
  int8_t *a, *b;  /* residues of CPU_ROWS x CPU_RESIDUES_DEPTH and of CPU_RESIDUES_DEPTH x CPU_COLS
                     elements, modulus by modulus */
  float *scratch; /* for all threads */
  dm_power *powers; /* for CPU_COLS columns */
};

dm_status dm_cpu_residues_new(const dm_compute *row, dm_crew *crew, int threads,
                              dm_cpu_residues **residues) {
  const int moduli = row->moduli;
  dm_cpu_residues *r = calloc(1, sizeof *r);
  *residues = r;
  if (!r) return dm_fail(DM_E_FIT, "no memory for residues");
  dm_moduli_make(moduli, &r->moduli);
  r->sum = row->sum;
  r->crew = crew;
  r->threads = threads;
  DM_TRY(dm_buffer_alloc((int64_t)moduli * CPU_ROWS * CPU_RESIDUES_DEPTH, (void **)&r->a));
  DM_TRY(dm_buffer_alloc((int64_t)moduli * CPU_RESIDUES_DEPTH * CPU_COLS, (void **)&r->b));
  DM_TRY(dm_buffer_alloc(CPU_COLS * (int64_t)sizeof *r->powers, (void **)&r->powers));
  return dm_buffer_alloc(threads * (int64_t)(SCRATCH * sizeof *r->scratch), (void **)&r->scratch);
}

void dm_cpu_residues_free(dm_cpu_residues *residues) {
  free(residues->a);
  free(residues->b);
  free(residues->scratch);
  free(residues->powers);
  free(residues);
}

/* A slice of a product, at most CPU_RESIDUES_DEPTH deep in k. */
typedef struct slice {
  dm_cpu_residues *of;
  const dm_view *c;
  dm_view a, b;  /* A is real: the columns are the parts of complex numbers */
  int64_t parts; /* parts per number */
  int64_t cols;  /* columns of C */
  bool accumulate;
  const int32_t *rows; /* exponents of A's rows */
  int64_t across, blocks;
  _Atomic int64_t next;
} slice;

/* ---- to residues ---- */

/* Converts COUNT numbers, each with its own power (BY 1) or all with one (BY 0), to residues PLANE
 * apart. */
static void cpu_convert(const dm_moduli *m, double numbers[CPU_COLS], int64_t count,
                        const dm_power *powers, int64_t by, int8_t *to, int64_t plane) {
  double *high = numbers, low[CPU_COLS];
  for (int64_t j = 0; j < count; j++) {
    const dm_long_integer whole = dm_long_integer_of(numbers[j], powers[j * by]);
    high[j] = whole.high;
    low[j] = whole.low;
  }
  for (int x = 0; x < m->count; x++)
    for (int64_t j = 0; j < count; j++)
      to[x * plane + j] = dm_long_integer_residue(m, x, (dm_long_integer){high[j], low[j]});
}

/* x + iy of B becomes a column of two rows each, x y and -y x: multiplied by rows of A, whose parts
 * are adjacent, they give the parts of C. */
static void cpu_turn(double *numbers, int64_t count) {
  for (int64_t j = 0; j < count; j += 2) {
    const double x = numbers[j];
    numbers[j] = -numbers[j + 1];
    numbers[j + 1] = x;
  }
}

static void convert_row(void *context, int64_t row) {
  slice *s = context;
  dm_cpu_residues *r = s->of;
  double numbers[CPU_COLS];
  if (row < s->a.rows) {
    const dm_power power = dm_power_of(s->rows[row]);
    dm_load_wide(numbers, dm_view_at(s->a, row, 0), s->a.dtype, s->a.col_stride, s->a.cols);
    cpu_convert(&r->moduli, numbers, s->a.cols, &power, 0, r->a + row * CPU_RESIDUES_DEPTH,
                CPU_ROWS * CPU_RESIDUES_DEPTH);
    return;
  }
  row -= s->a.rows;
  dm_load_wide(numbers, dm_view_at(s->b, row / s->parts, 0), s->b.dtype, s->b.col_stride,
               s->b.cols);
  if (row % s->parts == 1) cpu_turn(numbers, s->cols);
  cpu_convert(&r->moduli, numbers, s->cols, r->powers, 1, r->b + row * CPU_COLS,
              CPU_RESIDUES_DEPTH * CPU_COLS);
}

/* ---- products ---- */

static void cpu_residues_widen(float *to, const int8_t *from, int64_t stride, int64_t rows,
                               int64_t cols) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) to[i * cols + j] = (float)from[i * stride + j];
}

static void cpu_reduce(const dm_moduli *m, int x, dm_view c, const float *sums, bool accumulate) {
  for (int64_t i = 0; i < c.rows; i++, sums += c.cols) {
    int8_t *row = dm_view_at(c, i, 0);
    for (int64_t j = 0; j < c.cols; j++)
      row[j] = dm_residue(m, x, (double)sums[j] + (accumulate ? row[j] : 0));
  }
}

/* Multiplies a block of C for one modulus. */
static void cpu_residues_multiply_block(const slice *s, int64_t block, float *scratch) {
  const dm_cpu_residues *r = s->of;
  const int x = (int)(block / s->blocks);
  const int64_t row = block % s->blocks / s->across * CPU_BLOCK_ROWS;
  const int64_t col = block % s->blocks % s->across * CPU_BLOCK_COLS;
  const int64_t rows = dm_min(CPU_BLOCK_ROWS, s->a.rows - row);
  const int64_t cols = dm_min(CPU_BLOCK_COLS, s->cols - col), depth = s->a.cols;
  float *a = scratch, *b = a + CPU_BLOCK_ROWS * CPU_RESIDUES_DEPTH,
        *c = b + CPU_RESIDUES_DEPTH * CPU_BLOCK_COLS;
  cpu_residues_widen(a, r->a + ((int64_t)x * CPU_ROWS + row) * CPU_RESIDUES_DEPTH,
                     CPU_RESIDUES_DEPTH, rows, depth);
  cpu_residues_widen(b, r->b + (int64_t)x * CPU_RESIDUES_DEPTH * CPU_COLS + col, CPU_COLS, depth,
                     cols);
  dm_cpu_sgemm(c, cols, a, depth, b, cols, rows, cols, depth, false);
  cpu_reduce(&r->moduli, x, dm_view_sub(s->c[x], row, col, rows, cols), c, s->accumulate);
}

/* Each thread of the crew has its own scratch. */
static void multiply_blocks(void *context, int64_t thread) {
  slice *s = context;
  const int64_t all = s->blocks * s->of->moduli.count;
  for (;;) {
    const int64_t block = atomic_fetch_add(&s->next, 1);
    if (block >= all) return;
    cpu_residues_multiply_block(s, block, s->of->scratch + thread * SCRATCH);
  }
}

static void multiply_slice(slice *s) {
  dm_cpu_residues *r = s->of;
  s->across = dm_ceil_div(s->cols, CPU_BLOCK_COLS);
  s->blocks = s->across * dm_ceil_div(s->a.rows, CPU_BLOCK_ROWS);
  dm_crew_run(r->crew, convert_row, s, s->a.rows + s->a.cols);
  dm_crew_run(r->crew, multiply_blocks, s, r->threads);
}

static void cpu_residues_zero(dm_view c) {
  for (int64_t i = 0; i < c.rows; i++) memset(dm_view_at(c, i, 0), 0, (size_t)c.cols);
}

static void cpu_product(void *context, const dm_view *c, dm_view a, dm_view b, bool accumulate,
                        dm_exponents exponents) {
  dm_cpu_residues *r = context;
  const int64_t parts = dm_dtype_is_complex(a.dtype) ? 2 : 1, cols = parts * b.cols;
  a = dm_view_parts(a);
  for (int x = 0; x < r->moduli.count && a.cols == 0 && !accumulate; x++) cpu_residues_zero(c[x]);
  for (int64_t j = 0; j < cols; j++) r->powers[j] = dm_power_of(exponents.cols[j]);
  for (int64_t k = 0; k < a.cols; k += CPU_RESIDUES_DEPTH) {
    const int64_t depth = dm_min(CPU_RESIDUES_DEPTH, a.cols - k);
    slice s = {.of = r,
               .c = c,
               .a = dm_view_sub(a, 0, k, a.rows, depth),
               .b = dm_view_sub(b, k / parts, 0, depth / parts, b.cols),
               .parts = parts,
               .cols = cols,
               .accumulate = accumulate || k > 0,
               .rows = exponents.rows};
    multiply_slice(&s);
  }
}

/* ---- sums ---- */

typedef struct cpu_finishing {
  const dm_cpu_residues *of;
  char *sums;
  const int8_t *residues;
  int64_t plane, count;
  dm_exponents exponents;
} cpu_finishing;

static void finish_run(void *context, int64_t run) {
  const cpu_finishing *f = context;
  const int64_t first = run * CPU_RUN, count = dm_min(f->count - first, CPU_RUN);
  double sums[CPU_RUN];
  for (int64_t j = 0; j < count; j++)
    sums[j] = dm_residues_value(&f->of->moduli, f->residues + first + j, f->plane,
                                -(f->exponents.rows[0] + f->exponents.cols[first + j]));
  dm_store_wide(f->sums + first * dm_dtype_size(f->of->sum), f->of->sum, 1, sums, count);
}

static void cpu_residues_finish(void *context, void *sums, const void *const *accumulators,
                                int64_t count, dm_exponents exponents) {
  const dm_cpu_residues *r = context;
  cpu_finishing f = {.of = r,
                     .sums = sums,
                     .residues = accumulators[0],
                     .plane = (const int8_t *)accumulators[1] - (const int8_t *)accumulators[0],
                     .count = count,
                     .exponents = exponents};
  dm_crew_run(r->crew, finish_run, &f, dm_ceil_div(count, CPU_RUN));
}

static void cpu_residues_join(void *context, const dm_view *c, const dm_view *more) {
  const dm_cpu_residues *r = context;
  dm_host_join_residues(&r->moduli, c[0], more[0],
                        (const int8_t *)c[1].base - (const int8_t *)c[0].base);
}

dm_compute_calls dm_cpu_residues_calls(dm_cpu_residues *residues) {
  return (dm_compute_calls){residues, cpu_product, cpu_residues_finish, cpu_residues_join};
}

/* ---- residues of C in host memory ---- */

enum { CPU_ROOM = 32 << 20 }; /* bytes for the threads' rows of sums; at least one row */

/* Rows for threads to process one by one. */
typedef struct cpu_rows {
  const dm_moduli *moduli;
  dm_view sums, c, more;
  int64_t plane;
  dm_exponents exponents;
  double *made; /* a row for each thread */
  _Atomic int64_t next;
  _Atomic int threads; /* threads started */
} cpu_rows;

/* ---- sums of layers ---- */

static void join_row(const cpu_rows *r, int64_t i) {
  int8_t *to = dm_view_at(r->c, i, 0);
  const int8_t *from = dm_view_at(r->more, i, 0);
  for (int x = 0; x < r->moduli->count; x++, to += r->plane, from += r->plane)
    for (int64_t j = 0; j < r->c.cols; j++)
      to[j] = dm_residue(r->moduli, x, (double)to[j] + from[j]);
}

static void cpu_join_rows(void *context) {
  cpu_rows *r = context;
  for (int64_t i; (i = atomic_fetch_add(&r->next, 1)) < r->c.rows;) join_row(r, i);
}

void dm_host_join_residues(const dm_moduli *moduli, dm_view c, dm_view more, int64_t plane) {
  cpu_rows r = {.moduli = moduli, .c = c, .more = more, .plane = plane};
  (void)dm_fork_join((int)dm_min(c.rows, dm_cores()), cpu_join_rows, &r);
}

/* ---- numbers ---- */

/* The sums overwrite their row's accumulators: all of these are read first. */
static void cpu_finish_row(const cpu_rows *r, int64_t i, double *made) {
  const int8_t *residues = dm_view_at(r->c, i, 0);
  for (int64_t j = 0; j < r->c.cols; j++)
    made[j] = dm_residues_value(r->moduli, residues + j, r->plane,
                                -(r->exponents.rows[i] + r->exponents.cols[j]));
  dm_store_wide(dm_view_at(r->sums, i, 0), r->sums.dtype, 1, made, r->c.cols);
}

static void cpu_residues_finish_rows(void *context) {
  cpu_rows *r = context;
  double *made = r->made + atomic_fetch_add(&r->threads, 1) * r->c.cols;
  for (int64_t i; (i = atomic_fetch_add(&r->next, 1)) < r->c.rows;) cpu_finish_row(r, i, made);
}

dm_status dm_host_finish_residues(const dm_moduli *moduli, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents) {
  cpu_rows r = {.moduli = moduli,
                .sums = dm_view_parts(sums),
                .c = c,
                .plane = plane,
                .exponents = exponents};
  const int64_t row = c.cols * (int64_t)sizeof *r.made;
  const int threads = (int)dm_min(dm_min(c.rows, dm_cores()), dm_max(1, CPU_ROOM / row));
  void *made;
  DM_TRY(dm_buffer_alloc(threads * row, &made));
  r.made = made;
  (void)dm_fork_join(threads, cpu_residues_finish_rows, &r);
  free(made);
  return DM_OK;
}
