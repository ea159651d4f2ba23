#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/crew.h"
#include "core/element.h"
#include "io/read.h"
#include "plan/partition.h"
#include "product/provenance.h"
#include "product/verify.h"
#include "programs/distances.h"
#include "programs/verify_result_impl.h"
#include "reduce/line_check.h"
#include "run/facts.h"

enum {
  VERIFY_LINES = 64,    /* that are checked, at least */
  VERIFY_STRIP = 512,   /* elements of a line whose sums stay in a cache */
  BLOCK_BYTES = 1 << 25 /* of the elements that are known of all lines at a time */
};
static const double little = 0x1p30; /* multiplications */

/* What is stored of a line, and its check; of rank 0. */
typedef struct kept_line {
  dm_line_check check;
  double *values;
  int64_t *indices;
} kept_line;

typedef struct verify_reduced_check {
  dm_run *run;
  const dm_verify *v;
  dm_problem p;
  int own, other;        /* DM_A and DM_B: which has the lines, and which what they meet */
  int64_t lines, length; /* of C */
  int64_t count, *line;  /* those that are checked, ascending */
  uint64_t seed;
  double *numbers;      /* K of each of them, */
  double *norms;        /* and the norm */
  dm_range block;       /* the elements that are known, */
  int64_t room;         /* at most so many */
  double *sums;         /* of each line, ROOM apart */
  long double *squares; /* of the numbers that each element is made with */
  double *other_norms, *values, *bounds;
  kept_line *kept;
  dm_distances distances; /* only their squares */
  double residual;
  int64_t unchecked, wrong; /* elements; lines */
} verify_reduced_check;

/* ---- lines of A and B ---- */

/* The first of the lines that are checked from LINE on. */
static int64_t again_first(const verify_reduced_check *r, int64_t line) {
  int64_t low = 0, high = r->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (r->line[middle] < line)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static dm_status again_take_own(void *context, dm_view part, int64_t row, int64_t col) {
  const verify_reduced_check *r = context;
  const bool rows = r->own == DM_A;
  const int64_t first = rows ? row : col, end = first + (rows ? part.rows : part.cols);
  for (int64_t s = again_first(r, first); s < r->count && r->line[s] < end; s++) {
    double *to = r->numbers + s * r->p.k + (rows ? col : row);
    const int64_t at = r->line[s] - first, numbers = rows ? part.cols : part.rows;
    for (int64_t l = 0; l < numbers; l++)
      to[l] = *(const double *)(rows ? dm_view_at(part, at, l) : dm_view_at(part, l, at));
  }
  return DM_OK;
}

static dm_status again_read_own(verify_reduced_check *r) {
  const int64_t k = r->p.k;
  DM_TRY(dm_comm_agree(r->run->world,
                       dm_verify_stream(r->run, r->v, r->own, DM_F64, again_take_own, r)));
  DM_TRY(dm_comm_sum_f64(r->run->world, r->numbers, r->count * k));
  for (int64_t s = 0; s < r->count; s++) {
    long double squares = 0.0L;
    for (int64_t l = 0; l < k; l++)
      squares += (long double)r->numbers[s * k + l] * r->numbers[s * k + l];
    r->norms[s] = (double)sqrtl(squares);
  }
  return DM_OK;
}

/* Whether sums are those of squares of differences. */
static bool again_is_distance(const verify_reduced_check *r) {
  return r->v->equation.distance.kind != DM_NO_DISTANCE;
}

/* A part of the other matrix, whose products with the lines are divided among threads. */
typedef struct verify_products {
  verify_reduced_check *r;
  dm_view part;
  int64_t element, term; /* of its first number */
  int64_t step;          /* lines of each thread */
} verify_products;

/* Rows of op(A), by lines: sums of few parts. */
static void again_add_dots(const verify_products *x, int64_t s) {
  const double *numbers = x->r->numbers + s * x->r->p.k + x->term;
  double *sums = x->r->sums + s * x->r->room + x->element;
  for (int64_t i = 0; i < x->part.rows; i++) {
    const double *a = dm_view_at(x->part, i, 0);
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t l = 0;
    if (again_is_distance(x->r)) {
      sums[i] += dm_distance_between(numbers, a, x->part.cols);
      continue;
    }
    for (; l + 4 <= x->part.cols; l += 4)
      for (int j = 0; j < 4; j++) sum[j] += numbers[l + j] * a[l + j];
    for (; l < x->part.cols; l++) sum[0] += numbers[l] * a[l];
    sums[i] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

/* Columns FIRST to END of op(B). */
static void again_add_strip(const verify_products *x, int64_t s, int64_t first, int64_t end) {
  const double *numbers = x->r->numbers + s * x->r->p.k + x->term;
  double *sums = x->r->sums + s * x->r->room + x->element;
  for (int64_t l = 0; l < x->part.rows; l++) {
    const double *b = dm_view_at(x->part, l, 0), number = numbers[l];
    if (again_is_distance(x->r))
      for (int64_t j = first; j < end; j++) sums[j] += (number - b[j]) * (number - b[j]);
    else
      for (int64_t j = first; j < end; j++) sums[j] += number * b[j];
  }
}

static dm_status again_add_products(void *context, int64_t slot) {
  const verify_products *x = context;
  const int64_t first = slot * x->step, end = dm_min(x->r->count, first + x->step);
  if (x->r->other == DM_A) {
    for (int64_t s = first; s < end; s++) again_add_dots(x, s);
    return DM_OK;
  }
  for (int64_t j = 0; j < x->part.cols; j += VERIFY_STRIP)
    for (int64_t s = first; s < end; s++)
      again_add_strip(x, s, j, dm_min(j + VERIFY_STRIP, x->part.cols));
  return DM_OK;
}

static void again_add_squares(const verify_products *x) {
  const bool rows = x->r->other == DM_A;
  long double *squares = x->r->squares + x->element;
  for (int64_t i = 0; i < x->part.rows; i++) {
    const double *number = dm_view_at(x->part, i, 0);
    for (int64_t j = 0; j < x->part.cols; j++)
      squares[rows ? i : j] += (long double)number[j] * number[j];
  }
}

static dm_status again_take_other(void *context, dm_view part, int64_t row, int64_t col) {
  verify_reduced_check *r = context;
  const bool rows = r->other == DM_A;
  const int slots = (int)dm_max(1, dm_min(r->run->cores.threads, r->count));
  const verify_products x = {.r = r,
                             .part = part,
                             .element = (rows ? row : col) - r->block.begin,
                             .term = rows ? col : row,
                             .step = dm_ceil_div(r->count, slots)};
  again_add_squares(&x);
  return dm_fork_each(slots, slots, again_add_products, (void *)(uintptr_t)&x);
}

/* The elements of BLOCK of all lines, but for alpha. */
static dm_status again_multiply(verify_reduced_check *r) {
  const int64_t size = dm_range_size(r->block);
  const dm_range k = {0, r->p.k};
  const dm_extent part = r->other == DM_A ? (dm_extent){r->block, k} : (dm_extent){k, r->block};
  memset(r->sums, 0, (size_t)(r->count * r->room) * sizeof *r->sums);
  for (int64_t i = 0; i < size; i++) r->squares[i] = 0.0L;
  DM_TRY(dm_comm_agree(r->run->world, dm_verify_stream_part(r->run, r->v, r->other, &part, DM_F64,
                                                            again_take_other, r)));
  /* Norms of parts add up to no less than the norm. */
  for (int64_t i = 0; i < size; i++) r->other_norms[i] = (double)sqrtl(r->squares[i]);
  DM_TRY(dm_comm_sum_f64(r->run->world, r->other_norms, size));
  return dm_comm_sum_f64(r->run->world, r->sums, r->count * r->room);
}

/* ---- elements and their bounds ---- */

/* What rounding does to products of vectors with norm 1, C's and those here. */
static double again_roundoff(const dm_problem *p) {
  const double terms = (double)p->k + 4.0;
  const double factor = fmax(terms, dm_compute_factor(&p->compute, p->work, p->k));
  const double of_c = p->compute.roundoff * factor * (p->compute.truncates ? 2.0 : 1.0);
  const bool exact = p->compute.roundoff == 0.0 && p->compute.shortening == 0.0;
  return exact ? 0.0 : of_c + 2.0 * p->compute.shortening + terms * 0x1p-53;
}

/* Whether sums of such sizes may have overflowed in C. */
static bool again_may_overflow(const dm_problem *p, double size, double scaled) {
  return !(size < dm_dtype_largest(p->accumulator) / 2.0 && scaled < dm_dtype_largest(p->c) / 2.0 &&
           scaled < dm_dtype_largest(p->accumulator) / 2.0);
}

/* VALUES and BOUNDS of line S of distances. A sum that is not finite is that of C, too. */
static void again_bound_distances(const verify_reduced_check *r, int64_t s) {
  const dm_line_distance *distance = &r->v->equation.distance;
  const double own = r->distances.squares[r->own == DM_B][r->line[s]];
  const double *others = r->distances.squares[r->own != DM_B] + r->block.begin;
  for (int64_t i = 0; i < dm_range_size(r->block); i++) {
    const double sum = r->sums[s * r->room + i], value = dm_distance_of(distance, sum);
    const double relative = dm_distance_roundoff(r->p.k, sum, own + others[i]);
    r->values[i] = value;
    if (sum == 0.0 || !isfinite(sum))
      r->bounds[i] = 0.0;
    else if (value > dm_dtype_largest(r->p.c) / 2.0)
      r->bounds[i] = INFINITY;
    else
      r->bounds[i] = dm_distance_error(distance, sum, relative) +
                     dm_dtype_roundoff(r->p.c) * value + dm_dtype_smallest(r->p.c);
  }
}

/* The squares of shifted lines, which bounds of distances follow from. */
static dm_status again_open_distances(verify_reduced_check *r) {
  DM_FREED dm_multiply *m = NULL;
  if (!again_is_distance(r)) return DM_OK;
  DM_TRY(dm_comm_agree(r->run->world, dm_buffer_table(1, &m)));
  m->a = r->v->a;
  m->b = r->v->b;
  m->equation = r->v->equation;
  m->engine.io_threads = r->v->io_threads;
  return dm_distances_open(r->run, m, 0, &r->distances);
}

/* VALUES and BOUNDS of line S. */
static void again_bound(const verify_reduced_check *r, int64_t s) {
  const dm_problem *p = &r->p;
  const double alpha = r->v->equation.alpha[0], u = again_roundoff(p);
  const double tiny = dm_dtype_smallest(p->c) + (fabs(alpha) * ((double)p->k + 2.0) + 2.0) *
                                                    dm_dtype_smallest(p->accumulator);
  for (int64_t i = 0; i < dm_range_size(r->block); i++) {
    const double size = r->norms[s] * r->other_norms[i], scaled = fabs(alpha) * size;
    const double value = alpha * r->sums[s * r->room + i];
    r->values[i] = value;
    if (!isfinite(value) && !isfinite(size))
      r->bounds[i] = 0.0; /* A or B has NaN or Inf, and so has C */
    else if (again_may_overflow(p, size, scaled))
      r->bounds[i] = INFINITY;
    else
      r->bounds[i] =
          u * scaled + tiny +
          (dm_dtype_is_integer(p->c) ? 0.0 : (dm_dtype_roundoff(p->c) + 0x1p-52) * fabs(value));
  }
}

/* ---- the result, which rank 0 reads ---- */

static const dm_dataset *again_array(const verify_reduced_check *r, int which) {
  return r->v->reduction.kind == DM_REDUCE_NONE ? &r->v->c : &r->v->arrays[which];
}

/* Rows FIRST to FIRST + COUNT of array WHICH, as f64. */
static dm_status again_read(const verify_reduced_check *r, int which, int64_t first, int64_t count,
                            double **numbers) {
  const dm_dataset *set = again_array(r, which);
  dm_reader *reader;
  DM_TRY(
      dm_buffer_alloc(dm_max(1, count * set->cols) * (int64_t)sizeof **numbers, (void **)numbers));
  if (count == 0) return DM_OK;
  DM_TRY(dm_reader_open(set, DM_DTYPE_NONE, &reader));
  const dm_view view = dm_view_row_major(*numbers, DM_F64, count, set->cols);
  dm_status status = dm_reader_read(reader, first, 0, &view, 1, false);
  dm_reader_close(reader);
  return status;
}

/* The same as whole numbers; what is none becomes -2, which is no index and no number of
 * elements. */
static dm_status again_read_whole(const verify_reduced_check *r, int which, int64_t first,
                                  int64_t count, int64_t **numbers) {
  const int64_t all = count * again_array(r, which)->cols;
  DM_FREED double *read = NULL;
  DM_TRY(again_read(r, which, first, count, &read));
  DM_TRY(dm_buffer_table(dm_max(1, all), numbers));
  for (int64_t i = 0; i < all; i++)
    (*numbers)[i] = fabs(read[i]) < 0x1p53 && read[i] == floor(read[i]) ? (int64_t)read[i] : -2;
  return DM_OK;
}

/* STARTS: where the entries of each line begin, or NULL: entries are rows. */
static dm_status again_open_line(const verify_reduced_check *r, const int64_t *starts, int64_t line,
                                 kept_line *kept) {
  const dm_reduction *what = &r->v->reduction;
  const int64_t first = starts ? starts[line] : line;
  const int64_t count = starts ? starts[line + 1] - first : 1;
  const bool lists = what->kind == DM_REDUCE_TOP || what->kind == DM_REDUCE_BEYOND;
  const bool counts = dm_reduction_counts(what->kind);
  if (!counts) DM_TRY(again_read(r, 0, first, count, &kept->values));
  if (lists || counts) DM_TRY(again_read_whole(r, counts ? 0 : 1, first, count, &kept->indices));
  kept->check = (dm_line_check){.what = what,
                                .line = line,
                                .length = r->length,
                                .count = count * again_array(r, 0)->cols,
                                .values = kept->values,
                                .indices = kept->indices,
                                .integral = dm_dtype_is_integer(r->p.c)};
  return dm_line_check_open(&kept->check);
}

/* DM_E_INPUT: STARTS are not those of lists one after another. */
static dm_status again_starts(const verify_reduced_check *r, const int64_t *starts) {
  const int64_t entries = again_array(r, 0)->rows;
  bool sane = starts[0] == 0 && starts[r->lines] == entries;
  for (int64_t i = 0; i < r->lines; i++) sane &= starts[i] <= starts[i + 1];
  return sane ? DM_OK
              : dm_fail_at(DM_E_INPUT, &again_array(r, 2)->at,
                           "its numbers are not where the lists of %lld lines begin",
                           (long long)r->lines);
}

static dm_status again_open_lines(verify_reduced_check *r) {
  DM_FREED int64_t *starts = NULL;
  if (r->run->rank != 0) return DM_OK;
  DM_TRY(dm_buffer_table(r->count, &r->kept));
  if (r->v->reduction.kind == DM_REDUCE_BEYOND) {
    DM_TRY(again_read_whole(r, 2, 0, r->lines + 1, &starts));
    DM_TRY(again_starts(r, starts));
  }
  for (int64_t s = 0; s < r->count; s++)
    DM_TRY(again_open_line(r, starts, r->line[s], &r->kept[s]));
  return DM_OK;
}

static void again_compare(verify_reduced_check *r) {
  for (int64_t s = 0; s < r->count && r->kept; s++) {
    if (again_is_distance(r))
      again_bound_distances(r, s);
    else
      again_bound(r, s);
    dm_line_check_add(&r->kept[s].check, r->block.begin, dm_range_size(r->block), r->values,
                      r->bounds);
  }
}

static void again_end(verify_reduced_check *r) {
  for (int64_t s = 0; s < r->count && r->kept; s++) {
    dm_line_check *check = &r->kept[s].check;
    dm_line_check_end(check);
    r->residual = fmax(r->residual, check->residual);
    r->unchecked += check->unchecked;
    r->wrong += check->wrong[0] != '\0';
  }
}

/* ---- all ---- */

static dm_status again_shape(const verify_reduced_check *r, int which, int64_t rows, int64_t cols,
                             dm_dtype type) {
  const dm_dataset *set = again_array(r, which);
  if (set->rows == rows && set->cols == cols && set->dtype == type) return DM_OK;
  return dm_fail_at(DM_E_INPUT, &set->at,
                    "is %lld x %lld of %s; what is kept of this product has %lld x %lld of %s",
                    (long long)set->rows, (long long)set->cols, dm_dtype_name(set->dtype),
                    (long long)rows, (long long)cols, dm_dtype_name(type));
}

static dm_status again_shapes(const verify_reduced_check *r) {
  const dm_reduction *what = &r->v->reduction;
  const int64_t top = dm_min(what->top, r->length), entries = again_array(r, 0)->rows;
  if (what->kind == DM_REDUCE_TOP) {
    DM_TRY(again_shape(r, 0, r->lines, top, r->p.c));
    return again_shape(r, 1, r->lines, top, DM_I64);
  }
  if (what->kind == DM_REDUCE_NONE) return again_shape(r, 0, r->lines, r->length, r->p.c);
  if (what->kind != DM_REDUCE_BEYOND)
    return again_shape(r, 0, r->lines, 1, dm_reduction_counts(what->kind) ? DM_I64 : DM_F64);
  DM_TRY(again_shape(r, 0, entries, 1, r->p.c));
  DM_TRY(again_shape(r, 1, entries, 1, DM_I64));
  return again_shape(r, 2, r->lines + 1, 1, DM_I64);
}

static dm_status again_pose(verify_reduced_check *r) {
  const dm_reduction *what = &r->v->reduction;
  DM_TRY(dm_problem_of(&r->v->a, &r->v->b, NULL, &r->v->equation, &r->p));
  if (dm_problem_entries(&r->p) > 1 || r->p.reads_c || dm_dtype_is_complex(r->p.work) ||
      dm_problem_is_integral(&r->p))
    return dm_fail(DM_E_INPUT, "such a product is not reduced: a batch, complex, with beta, or of "
                               "integers in f64");
  if (what->kind == DM_REDUCE_DIAGONAL) r->p.m = r->p.n = dm_min(r->p.m, r->p.n);
  r->own = what->by_columns ? DM_B : DM_A;
  r->other = what->by_columns ? DM_A : DM_B;
  r->lines = what->by_columns ? r->p.n : r->p.m;
  r->length = what->by_columns ? r->p.m : r->p.n;
  return again_shapes(r);
}

/* All lines, or one in each of COUNT even parts of them. */
static dm_status again_draw(verify_reduced_check *r) {
  const double work = (double)r->length * (double)r->p.k; /* of a line */
  const int64_t cheap = (int64_t)(little / fmax(1.0, work));
  r->count = r->v->full ? r->lines : dm_min(r->lines, dm_max(VERIFY_LINES, cheap));
  r->seed = r->v->seed.value;
  dm_status status = r->v->seed.stated || r->count == r->lines || r->run->rank != 0
                         ? DM_OK
                         : dm_freivalds_draw_seed(&r->seed);
  DM_TRY(dm_comm_agree(r->run->world, status));
  DM_TRY(dm_comm_broadcast(r->run->world, &r->seed, sizeof r->seed, 0));
  DM_TRY(dm_comm_agree(r->run->world, dm_buffer_table(r->count, &r->line)));
  for (int64_t s = 0; s < r->count; s++) {
    const dm_range part = dm_split(r->lines, r->count, s, 1);
    r->line[s] =
        part.begin + (int64_t)(dm_random_bits(r->seed, s, 0, 0) % (uint64_t)dm_range_size(part));
  }
  return DM_OK;
}

/* All lines are checked together. */
static dm_status again_check_fit(const verify_reduced_check *r) {
  const int64_t each = (int64_t)sizeof(double);
  const double needs =
      (double)r->count * (double)(r->p.k + dm_min(r->length, VERIFY_STRIP)) * (double)each;
  const int64_t has = dm_memory_available() / dm_max(1, r->run->local_ranks);
  if (has == 0 || needs < (double)has / 2.0) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_FIT, "%lld lines of C do not fit in memory together", (long long)r->count),
      "without --full some of them are verified");
}

static dm_status again_allocate(verify_reduced_check *r) {
  const int64_t each = BLOCK_BYTES / (int64_t)sizeof(double) / r->count;
  r->room = dm_max(1, dm_min(r->length, dm_max(each, VERIFY_STRIP)));
  DM_TRY(dm_buffer_table(r->count * r->p.k, &r->numbers));
  DM_TRY(dm_buffer_table(r->count, &r->norms));
  DM_TRY(dm_buffer_table(r->count * r->room, &r->sums));
  DM_TRY(dm_buffer_table(r->room, &r->squares));
  DM_TRY(dm_buffer_table(r->room, &r->other_norms));
  DM_TRY(dm_buffer_table(r->room, &r->values));
  return dm_buffer_table(r->room, &r->bounds);
}

static void again_close(verify_reduced_check *r) {
  for (int64_t s = 0; s < r->count && r->kept; s++) {
    dm_line_check_close(&r->kept[s].check);
    free(r->kept[s].values);
    free(r->kept[s].indices);
  }
  void *const all[] = {r->line, r->numbers,     r->norms,  r->sums,  r->squares,
                       r->kept, r->other_norms, r->values, r->bounds};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  dm_distances_close(&r->distances);
}

static dm_status again_all(verify_reduced_check *r) {
  DM_TRY(again_draw(r));
  DM_TRY(dm_comm_agree(r->run->world, again_check_fit(r)));
  DM_TRY(dm_comm_agree(r->run->world, again_allocate(r)));
  DM_TRY(again_open_distances(r));
  DM_TRY(dm_comm_agree(r->run->world, again_open_lines(r)));
  DM_TRY(again_read_own(r));
  for (int64_t first = 0; first < r->length; first += r->room) {
    r->block = (dm_range){first, dm_min(r->length, first + r->room)};
    DM_TRY(again_multiply(r));
    again_compare(r);
  }
  again_end(r);
  return DM_OK;
}

static const char *again_word(const verify_reduced_check *r) {
  return r->wrong > 0 ? "FAIL" : r->unchecked > 0 ? "PARTIAL" : "PASS";
}

static void again_report(const verify_reduced_check *r, double seconds, dm_record *record) {
  const dm_problem *p = &r->p;
  const dm_reduction *what = &r->v->reduction;
  const bool all = r->count == r->lines;
  char text[DM_REDUCTION_TEXT], seed[32] = "";
  if (!all) snprintf(seed, sizeof seed, "0x%016llx", (unsigned long long)r->seed);
  if (what->kind != DM_REDUCE_NONE)
    dm_record_text(record, "reduction.what", "kept", "%s", dm_reduction_text(what, text));
  dm_facts_file_system("a", r->v->a.at.file, record);
  dm_facts_file_system("b", r->v->b.at.file, record);
  dm_facts_file_system("c", again_array(r, 0)->at.file, record);
  dm_provenance_record((const dm_dataset *const[3]){&r->v->a, &r->v->b, NULL}, record);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, r->run->ranks);
  dm_facts_record(NULL, false, record);
  dm_record_text(record, "verification.method", "verified",
                 "%lld of %lld %s of C computed again: values, order and completeness, residual "
                 "%.2g of the bound%s%s: %s",
                 (long long)r->count, (long long)r->lines, what->by_columns ? "columns" : "rows",
                 r->residual, seed[0] ? ", seed " : "", seed, again_word(r));
  if (seed[0]) dm_record_text(record, "verification.seed", NULL, "%s", seed);
  dm_record_integer(record, "verification.unchecked", r->unchecked > 0 ? "not verified" : NULL,
                    DM_SHOWN_PLAIN, r->unchecked);
  dm_record_text(record, "verification.verdict", NULL, "%s", again_word(r));
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, r->residual);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "m=%lld n=%lld k=%lld dtype=%s lines=%lld residual=%.2g%s%s %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->c),
                    (long long)r->count, r->residual, seed[0] ? " seed=" : "", seed, again_word(r));
}

/* The outcome, of rank 0. */
static dm_status again_outcome(const verify_reduced_check *r) {
  const char *file = again_array(r, 0)->at.file;
  for (int64_t s = 0; s < r->count && r->kept; s++)
    if (r->kept[s].check.wrong[0])
      return dm_fail(DM_E_VERIFY, "%s failed its verification: %s %lld of C: %s", file,
                     r->v->reduction.by_columns ? "column" : "row", (long long)r->line[s],
                     r->kept[s].check.wrong);
  if (r->unchecked == 0 || r->v->allow_unchecked) return DM_OK;
  return dm_hint(dm_fail(DM_E_UNCHECKED,
                         "%lld elements of C could not be verified: they may have "
                         "overflowed",
                         (long long)r->unchecked),
                 "what could be verified is right; --allow-unchecked exits with 0");
}

dm_status dm_verify_reduced(dm_run *run, const dm_verify *v, dm_record *record) {
  const double start = dm_now();
  const dm_dataset *const sets[3] = {&v->a, &v->b, NULL};
  verify_reduced_check r = {.run = run, .v = v};
  dm_status status = dm_comm_agree(run->world, again_pose(&r));
  if (!status) status = dm_verify_missing(run, v->io_threads, sets, again_all(&r));
  if (!status && run->rank == 0) again_report(&r, dm_now() - start, record);
  if (!status) status = dm_comm_agree(run->world, again_outcome(&r));
  again_close(&r);
  return status;
}
