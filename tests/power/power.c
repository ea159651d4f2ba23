/* Measures which errors the verification finds: faults in products whose rounding errors are known
 * (known_product.h), in C and in operands that changed between their sums and the product.
 *
 *   power [--products N] [--faults N] [--clean N] [--most M] [--only TYPE] [--data KIND]
 *         [--shape MxNxK] [--seed S]
 *
 * Of each type, kind of data and shape, N products with N faults each; then N correct products.
 * Fails if a correct product is refused, or if a fault of more than M times the rounding error of a
 * row is not found. A row of the table: faults; those found; those below 20 rounding errors (100
 * with elements of 16 bits) that were not; those above that were not; the largest of these; and for
 * each shape the bound, divided by the largest error that rounding made in a row's sum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/element.h"
#include "known_product.h"

typedef enum fault_kind {
  BIT,       /* one bit of an element of C */
  BITS,      /* 2 to 8 of its bits */
  FRAGMENT,  /* the same bit of all elements of 16 x 8 */
  NOISE,     /* random bits of all of these, one in each */
  LOST,      /* these lack 16 terms of k */
  STALE,     /* these are those of another place */
  PERIODIC,  /* one bit of each 32nd, 64th, ... element */
  OPERAND_A, /* one bit of an element of A, before the product and after its sums */
  OPERAND_B,
  FAULT_KINDS
} fault_kind;

static const char *const fault_names[FAULT_KINDS] = {
    "bit", "bits", "fragment", "noise", "lost terms", "stale", "periodic", "in A", "in B"};

enum { FRAGMENT_ROWS = 16, FRAGMENT_COLS = 8, TERMS = 16, SHAPES = 6 };

static const int64_t shapes[SHAPES][3] = {{150, 130, 300}, {64, 48, 1},    {40, 200, 17},
                                          {96, 80, 1200},  {33, 70, 5000}, {7, 5, 2500}};

typedef struct measured {
  int64_t faults, found, small, missed; /* SMALL, MISSED: not found */
  double largest;                       /* of those not found, as a multiple */
} measured;

typedef struct power {
  dm_run run;
  dm_backend *backend;
  int64_t products, faults, clean, alarms;
  double most;
  const char *only, *data;
  int64_t shape[3]; /* M 0: all shapes */
  uint64_t seed, state;
  measured of[FAULT_KINDS], all[FAULT_KINDS];
} power;

static uint64_t draw(power *w, int64_t below) {
  w->state = dm_mix(w->state);
  return w->state % (uint64_t)dm_max(1, below);
}

static void must(dm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", status->message);
  exit(1);
}

/* ---- faults ---- */

/* Bytes of a real number of TYPE: a bit flips in one part of a complex one. */
static void flip(power *w, dm_dtype type, void *element, int64_t bit) {
  const int64_t size = dm_dtype_size(type), part = dm_dtype_is_complex(type) ? size / 2 : size;
  unsigned char *at = (unsigned char *)element + (int64_t)draw(w, size / part) * part;
  at[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

static int64_t draw_bit(power *w, dm_dtype type) {
  return (int64_t)draw(w, 8 * dm_dtype_size(type) / (dm_dtype_is_complex(type) ? 2 : 1));
}

static dm_view draw_fragment(power *w, dm_view c) {
  const int64_t rows = dm_min(FRAGMENT_ROWS, c.rows), cols = dm_min(FRAGMENT_COLS, c.cols);
  const int64_t row = (int64_t)draw(w, c.rows / rows) * rows;
  const int64_t col = (int64_t)draw(w, c.cols / cols) * cols;
  return dm_view_sub(c, row, col, rows, cols);
}

/* The elements of FRAGMENT without a run of terms: these are multiplied again, and subtracted. */
static void lose_terms(power *w, known_product *p, dm_view c, void *spoiled) {
  const int64_t n = p->problem.n, k = p->problem.k, parts = p->parts;
  const int64_t first = (int64_t)draw(w, dm_ceil_div(k, TERMS)) * TERMS;
  const dm_view of = draw_fragment(w, c);
  const int64_t at = (int64_t)((char *)of.base - (char *)c.base) / dm_dtype_size(c.dtype);
  const dm_dtype real = dm_dtype_real(c.dtype);
  for (int64_t i = at / n; i < at / n + of.rows; i++)
    for (int64_t j = at % n; j < at % n + of.cols; j++) {
      double lost = 0.0; /* of complex elements the products of real parts */
      for (int64_t l = first; l < dm_min(k, first + TERMS); l++)
        lost += p->wide_a[(i * k + l) * parts] * p->wide_b[(l * n + j) * parts];
      double value = 0.0;
      void *element = (char *)spoiled + (i * n + j) * dm_dtype_size(c.dtype);
      if (real == DM_I32) {
        int32_t whole;
        memcpy(&whole, element, sizeof whole);
        whole -= (int32_t)lost;
        memcpy(element, &whole, sizeof whole);
        continue;
      }
      dm_copy(dm_view_row_major(&value, DM_F64, 1, 1), dm_view_row_major(element, real, 1, 1),
              false);
      value -= lost;
      dm_copy(dm_view_row_major(element, real, 1, 1), dm_view_row_major(&value, DM_F64, 1, 1),
              false);
    }
}

static void spoil_fragment(power *w, fault_kind kind, dm_view c) {
  const dm_view of = draw_fragment(w, c), from = draw_fragment(w, c);
  const int64_t same = draw_bit(w, c.dtype), size = dm_dtype_size(c.dtype);
  for (int64_t i = 0; i < of.rows; i++)
    for (int64_t j = 0; j < of.cols; j++) {
      void *element = dm_view_at(of, i, j);
      if (kind == STALE)
        memmove(element, dm_view_at(from, i, j), (size_t)size);
      else
        flip(w, c.dtype, element, kind == NOISE ? draw_bit(w, c.dtype) : same);
    }
}

static void spoil_operand(power *w, known_product *p, int matrix, void *spoiled) {
  const dm_view view = known_view(p, matrix, matrix == DM_A ? p->a : p->b);
  const int64_t at = (int64_t)draw(w, view.rows * view.cols), size = dm_dtype_size(view.dtype);
  char before[16], *element = (char *)view.base + at * size;
  memcpy(before, element, (size_t)size);
  flip(w, view.dtype, element, draw_bit(w, view.dtype));
  must(known_product_multiply(p, spoiled));
  memcpy(element, before, (size_t)size);
}

/* SPOILED is a copy of C. */
static void spoil(power *w, known_product *p, fault_kind kind, void *spoiled) {
  const dm_view c = known_view(p, DM_C, spoiled);
  const int64_t count = c.rows * c.cols, size = dm_dtype_size(c.dtype);
  char *element = (char *)spoiled + (int64_t)draw(w, count) * size;
  const int64_t bit = draw_bit(w, c.dtype), period = 32 << draw(w, 5);
  if (kind == BIT) flip(w, c.dtype, element, bit);
  for (int64_t i = 0, bits = 2 + (int64_t)draw(w, 7); kind == BITS && i < bits; i++)
    flip(w, c.dtype, element, draw_bit(w, c.dtype));
  if (kind == FRAGMENT || kind == NOISE || kind == STALE) spoil_fragment(w, kind, c);
  if (kind == LOST) lose_terms(w, p, c, spoiled);
  for (int64_t i = (int64_t)draw(w, dm_min(period, count)); kind == PERIODIC && i < count;
       i += period)
    flip(w, c.dtype, (char *)spoiled + i * size, bit);
  if (kind == OPERAND_A || kind == OPERAND_B)
    spoil_operand(w, p, kind == OPERAND_A ? DM_A : DM_B, spoiled);
}

/* ---- what is found of them ---- */

static double required(dm_dtype work) {
  return work == DM_BF16 || work == DM_F16 ? 100.0 : work == DM_I8 ? 0.0 : 20.0;
}

static void measure(power *w, known_product *p, fault_kind kind, void *spoiled, double *wide) {
  const dm_view c = known_view(p, DM_C, p->c);
  measured *m = &w->of[kind];
  dm_verdict verdict;
  memcpy(spoiled, p->c, (size_t)(c.rows * c.cols * dm_dtype_size(c.dtype)));
  spoil(w, p, kind, spoiled);
  const double multiple = known_product_multiple(p, spoiled, wide);
  if (multiple == 0.0) return;
  must(known_product_judge(p, spoiled, &verdict));
  m->faults++;
  m->found += !verdict.pass;
  if (verdict.pass && multiple > m->largest) m->largest = multiple;
  if (verdict.pass) (multiple < required(p->problem.work) ? &m->small : &m->missed)[0]++;
}

static void add(measured *all, const measured *one) {
  all->faults += one->faults;
  all->found += one->found;
  all->small += one->small;
  all->missed += one->missed;
  all->largest = fmax(all->largest, one->largest);
}

static int by_size(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* Products of one shape; BOUND, unless NULL: the median bound, in largest errors of sums of rows.
 */
static void campaign(power *w, const known_wish *of, double *bound) {
  DM_FREED double *bounds = NULL, *wide = NULL;
  DM_FREED void *spoiled = NULL;
  must(dm_buffer_table(w->products, &bounds));
  must(dm_buffer_table(2 * of->m * of->n, &wide));
  must(dm_buffer_alloc(16 * of->m * of->n, &spoiled));
  for (int64_t i = 0; i < w->products; i++) {
    known_wish wish = *of;
    known_product *p;
    wish.seed = ++w->seed;
    wish.groups = i % 2;
    must(known_product_new(&w->run, w->backend, &wish, &p));
    w->alarms += !p->clean.pass;
    bounds[i] = 1.0 / p->clean.residual;
    for (int64_t f = 0; f < w->faults; f++)
      measure(w, p, (fault_kind)(f % FAULT_KINDS), spoiled, wide);
    known_product_free(p);
  }
  qsort(bounds, (size_t)w->products, sizeof *bounds, by_size);
  *bound = bounds[w->products / 2];
}

static void print_measured(const measured *m) {
  printf(" %d | %d | %d | %d | %.3g |", (int)m->faults, (int)m->found, (int)m->small,
         (int)m->missed, m->largest);
}

/* All shapes, or the one that was stated. */
static void measure_data(power *w, dm_dtype work, dm_dtype c, data_kind data) {
  measured all = {0};
  double bounds[SHAPES] = {0.0};
  memset(w->of, 0, sizeof w->of);
  for (int s = 0; s < (w->shape[0] > 0 ? 1 : SHAPES); s++) {
    const int64_t *shape = w->shape[0] > 0 ? w->shape : shapes[s];
    const known_wish wish = {.work = work,
                             .c = c,
                             .m = shape[0],
                             .n = shape[1],
                             .k = shape[2],
                             .data = data,
                             .exact = true};
    campaign(w, &wish, &bounds[s]);
  }
  for (int k = 0; k < FAULT_KINDS; k++) {
    add(&all, &w->of[k]);
    add(&w->all[k], &w->of[k]);
  }
  printf("| %s, C %s | %s |", dm_dtype_name(work), dm_dtype_name(c), data_names[data]);
  print_measured(&all);
  for (int s = 0; s < (w->shape[0] > 0 ? 1 : SHAPES); s++) printf(" %.3g", bounds[s]);
  printf(" |\n");
  fflush(stdout);
}

/* ---- correct products ---- */

static void judge_clean(power *w, dm_dtype work, dm_dtype c) {
  const int64_t most = draw(w, 50) == 0 ? 4000 : 60;
  const known_wish wish = {.work = work,
                           .c = c,
                           .m = 1 + (int64_t)draw(w, 40),
                           .n = 1 + (int64_t)draw(w, 80),
                           .k = 1 + (int64_t)draw(w, most),
                           .data = (data_kind)draw(w, DATA_KINDS),
                           .seed = ++w->seed,
                           .groups = draw(w, 2)};
  known_product *p;
  must(known_product_new(&w->run, w->backend, &wish, &p));
  if (!p->clean.pass) {
    w->alarms++;
    printf("alarm: %s, %s, %d x %d, k = %d: %g of the bound\n", dm_dtype_name(work),
           data_names[wish.data], (int)wish.m, (int)wish.n, (int)wish.k, p->clean.residual);
  }
  known_product_free(p);
}

static void parse(power *w, int count, char **words) {
  for (int i = 1; i + 1 < count; i += 2) {
    const char *name = words[i], *value = words[i + 1];
    if (strcmp(name, "--products") == 0)
      w->products = atol(value);
    else if (strcmp(name, "--faults") == 0)
      w->faults = atol(value);
    else if (strcmp(name, "--clean") == 0)
      w->clean = atol(value);
    else if (strcmp(name, "--most") == 0)
      w->most = atof(value);
    else if (strcmp(name, "--only") == 0)
      w->only = value;
    else if (strcmp(name, "--data") == 0)
      w->data = value;
    else if (strcmp(name, "--shape") == 0)
      sscanf(value, "%ldx%ldx%ld", &w->shape[0], &w->shape[1], &w->shape[2]);
    else if (strcmp(name, "--seed") == 0)
      w->seed = (uint64_t)atol(value);
    else
      exit(2);
  }
}

static const dm_dtype types[][2] = {{DM_F64, DM_F64}, {DM_F32, DM_F32},  {DM_C128, DM_C128},
                                    {DM_C64, DM_C64}, {DM_BF16, DM_F32}, {DM_BF16, DM_BF16},
                                    {DM_F16, DM_F16}, {DM_F32, DM_F64},  {DM_I8, DM_I32}};
enum { TYPES = sizeof types / sizeof types[0] };

int main(int count, char **words) {
  power w = {.products = 4, .faults = 450, .clean = 0, .most = INFINITY};
  double largest = 0.0;
  dm_comm *world;
  parse(&w, count, words);
  w.state = w.seed;
  must(dm_comm_take_alone(&world));
  must(dm_run_start_in(&w.run, world, "power"));
  must(dm_backend_open(&dm_backend_cpu, &(dm_backend_config){.local_ranks = 1, .threads = 1},
                       &w.backend));
  for (int t = 0; t < TYPES && w.products > 0; t++)
    for (int d = 0; d < DATA_KINDS; d++) {
      if (w.only && strcmp(w.only, dm_dtype_name(types[t][0])) != 0) continue;
      if (w.data && strcmp(w.data, data_names[d]) != 0) continue;
      if (types[t][0] == DM_I8 && d != WHOLE) continue;
      measure_data(&w, types[t][0], types[t][1], (data_kind)d);
    }
  for (int k = 0; k < FAULT_KINDS && w.products > 0; k++) {
    printf("| %s |", fault_names[k]);
    print_measured(&w.all[k]);
    printf("\n");
    largest = fmax(largest, w.all[k].largest);
  }
  for (int64_t i = 0; i < w.clean; i++)
    judge_clean(&w, types[i % (TYPES - 1)][0], types[i % (TYPES - 1)][1]);
  printf("%lld correct products refused; largest fault that was not found: %.3g\n",
         (long long)w.alarms, largest);
  dm_backend_close(w.backend);
  dm_run_leave(&w.run);
  return w.alarms > 0 || largest > w.most;
}
