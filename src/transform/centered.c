#include "transform/centered.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "core/crew.h"
#include "engine/dataset_input.h"
#include "io/read.h"
#include "plan/partition.h"
#include "transform/marks.h"
#include "transform/moments.h"
#include "transform/relationship.h"
#include "transform/terms.h"

enum {
  CENTERED_GROUPS = 16
}; /* of rows: their moments are joined in order, whatever rank has them */

/* ---- moments of a matrix in a file ---- */

/* A type that holds all values of TYPE; the smaller, the faster. */
static dm_dtype type_for(dm_dtype type) {
  if (dm_dtype_is_complex(type)) return type;
  return dm_dtype_holds(DM_F32, type) ? DM_F32 : DM_F64;
}

/* Adds what it takes to the group of its elements, which are rows or columns of the file. */
typedef struct grouping {
  dm_moments_group to;
  const dm_dataset *set;
  bool columns; /* ranks divide columns */
  int64_t first_col;
} grouping;

/* Elements of group G. */
static dm_range group_at(const grouping *t, int64_t g) {
  const bool by_rows = t->to.moments->by_rows;
  if (!by_rows) return dm_split(t->set->rows, CENTERED_GROUPS, g, 1);
  return dm_file_part(t->set, (dm_range){0, t->set->cols}, CENTERED_GROUPS, g);
}

static dm_status take_grouped(void *context, dm_view part, int64_t row, int64_t col) {
  grouping *t = context;
  const bool by_rows = t->to.moments->by_rows;
  col += t->first_col;
  t->to.group = 0;
  if (by_rows && !t->columns) return dm_moments_take(&t->to, part, row, col);
  const int64_t first = by_rows ? col : row, count = by_rows ? part.cols : part.rows;
  for (int g = 0; g < CENTERED_GROUPS; g++) {
    const dm_range common = dm_range_common(group_at(t, g), (dm_range){first, first + count});
    const int64_t at = common.begin - first, size = dm_range_size(common);
    if (size <= 0) continue;
    t->to.group = g;
    const dm_view some = by_rows ? dm_view_sub(part, 0, at, part.rows, size)
                                 : dm_view_sub(part, at, 0, size, part.cols);
    DM_TRY(dm_moments_take(&t->to, some, row + (by_rows ? 0 : at), col + (by_rows ? at : 0)));
  }
  return DM_OK;
}

/* What this rank's groups of ALL rows or columns are together. */
static dm_range centered_groups_of(const dm_run *run, const dm_dataset *set, int64_t all) {
  const dm_range mine = dm_split(CENTERED_GROUPS, run->ranks, run->rank, 1);
  if (dm_range_size(mine) == 0) return (dm_range){0, 0};
  return (dm_range){dm_file_part(set, (dm_range){0, all}, CENTERED_GROUPS, mine.begin).begin,
                    dm_file_part(set, (dm_range){0, all}, CENTERED_GROUPS, mine.end - 1).end};
}

/* Adds this rank's groups of rows, or of columns. Missing values are read as NaN, which dm_moments
 * leaves out, unless they are 0. */
static dm_status take_groups(dm_run *run, int io_threads, const dm_dataset *set, dm_moments *m,
                             int64_t *unpacked) {
  const bool columns = dm_file_divides_columns(set);
  dm_dataset read = *set;
  if (read.meaning.missing != DM_MISSING_ZERO) read.meaning.missing = DM_MISSING_NAN;
  const dm_reading how = {.as = DM_DTYPE_NONE,
                          .work = type_for(dm_dataset_type(set)),
                          .threads = io_threads,
                          .groups = columns ? 0 : CENTERED_GROUPS,
                          .unpacked = unpacked};
  const dm_range rows =
      columns ? (dm_range){0, set->rows} : centered_groups_of(run, set, set->rows);
  const dm_range cols =
      columns ? centered_groups_of(run, set, set->cols) : (dm_range){0, set->cols};
  grouping t = {.to = {.moments = m}, .set = set, .columns = columns, .first_col = cols.begin};
  DM_TRY(dm_crew_new(run->cores.threads, &t.to.crew));
  dm_status status = dm_file_stream(run, &read, rows, cols, &how, take_grouped, &t);
  dm_crew_free(t.to.crew);
  return status;
}

/* ---- what follows ---- */

static int64_t centered_count_missing(const dm_moments *m) {
  int64_t count = 0;
  for (int64_t i = 0; i < m->lines; i++) count += dm_moments_missing(m, i);
  return count;
}

/* The arrays of a centering. */
typedef struct arrays {
  double *shift, *fill, *factor, *power, *weight;
} arrays;

_Static_assert(sizeof(dm_centering) % sizeof(double) == 0, "arrays follow it");

static dm_status centered_allocate(int64_t lines, int64_t parts, int64_t terms,
                                   dm_centering **centering, arrays *of) {
  char *memory;
  DM_TRY(dm_buffer_zeroed((2 * parts + 2) * lines + terms +
                              (int64_t)(sizeof **centering / sizeof(double)),
                          sizeof(double), (void **)&memory));
  *centering = (dm_centering *)memory;
  of->shift = (double *)(*centering + 1);
  of->fill = of->shift + parts * lines;
  of->factor = of->fill + parts * lines;
  of->power = of->factor + lines;
  of->weight = of->power + lines;
  return DM_OK;
}

/* The power of two at most FACTOR. */
static double power_below(double factor) {
  int exponent = 0;
  if (!isfinite(factor)) return 1.0;
  (void)frexp(factor, &exponent);
  return scalbn(1.0, exponent - 1);
}

/* What line I is divided by, if it can be: the root of the sum of its squares, or its deviation;
 * 0: it cannot. */
static double divisor_of(const dm_moments *m, const dm_standard *s, double divisor, int64_t i) {
  double mean[2] = {0.0, 0.0};
  const double squares = dm_moments_squares(m, i);
  if (!s->by_length) return squares == 0.0 ? 0.0 : sqrt(squares / divisor);
  dm_moments_mean(m, i, mean);
  return hypot(sqrt(squares), sqrt((double)m->length) * hypot(mean[0], mean[1]));
}

/* Sets the arrays from moments, of which DIVISOR makes variances. */
static void take_moments(const dm_moments *m, const dm_standard *s, double divisor,
                         const arrays *of, dm_centering *c) {
  const bool fills = s->fills, scales = s->scale != DM_NO_LINES && !s->scale_by;
  for (int64_t i = 0; i < m->lines; i++) {
    const double squares = dm_moments_squares(m, i);
    const bool gaps = !fills && dm_moments_missing(m, i) > 0;
    const bool none = dm_moments_missing(m, i) == m->length;
    dm_moments_mean(m, i, of->fill + i * m->parts);
    for (int64_t p = 0; p < m->parts; p++) /* a NaN that stays makes the mean NaN */
      of->shift[i * m->parts + p] = gaps ? (double)NAN : of->fill[i * m->parts + p];
    c->empty += fills && none;
    const double by = divisor_of(m, s, divisor, i);
    c->constant += !none && by == 0.0 && !s->by_power;
    of->factor[i] = !scales             ? 1.0 / (m->powers ? m->powers[i] : 1.0)
                    : by == 0.0 || gaps ? (double)NAN
                                        : 1.0 / by;
    if (s->by_power) of->factor[i] = squares == 0.0 ? 0.0 : power_below(of->factor[i]);
    c->squares += squares * of->factor[i] * of->factor[i];
  }
  if (m->powers) {
    c->power = m->powers;
    c->factor = of->factor;
  }
  c->filled = fills ? centered_count_missing(m) : 0;
}

/* Of pairs, lines without a value become 0: sums have nothing of them, and no NaN that would hide
 * others from verification. */
static void clear_empty(const dm_moments *m, const arrays *of) {
  for (int64_t i = 0; i < m->lines; i++)
    if (dm_moments_missing(m, i) == m->length)
      for (int64_t p = i * m->parts; p < (i + 1) * m->parts; p++) of->fill[p] = of->shift[p] = 0.0;
}

/* Replaces means and deviations by the user's numbers; collective. */
static dm_status centered_take_vectors(const dm_run *run, const dm_standard *s,
                                       const dm_dataset *center, const dm_dataset *scale,
                                       int64_t parts, const arrays *of, dm_centering *c) {
  const double *power = c->power; /* of the values, which the user's numbers follow */
  double *list = NULL;
  dm_status status = s->center_by ? dm_read_vector(run, center, &list) : DM_OK;
  for (int64_t i = 0; list && !status && i < c->count; i++)
    of->shift[i * parts] = list[i] * (power ? power[i] : 1.0);
  for (int64_t i = 0; list && !status && parts == 2 && i < c->count; i++)
    of->shift[2 * i + 1] = 0.0;
  if (list && !status) c->user_sum += dm_checksum_bytes(list, c->count * 8, 3);
  free(list);
  list = NULL;
  if (!status && s->scale_by) status = dm_read_vector(run, scale, &list);
  for (int64_t i = 0; list && !status && i < c->count; i++) {
    if (list[i] == 0.0) status = dm_unsuitable_number(scale, i, 0.0, "lines are not divided by 0");
    of->factor[i] = 1.0 / list[i] / (power ? power[i] : 1.0);
  }
  if (list && !status) c->user_sum += dm_checksum_bytes(list, c->count * 8, 4);
  free(list);
  return status;
}

/* SET may be missing values only if it is stated what becomes of them. */
static dm_status centered_check_missing(const dm_dataset *set, const dm_moments *m) {
  const int64_t missing = centered_count_missing(m);
  return missing == 0 || set->meaning.missing != DM_MISSING_REFUSED
             ? DM_OK
             : dm_missing_refused(set, &(dm_missing_found){.count = missing,
                                                           .source = INT64_MAX,
                                                           .first = m->first_missing});
}

/* Whether f64 holds the squares of line I: below LENGTH times the smallest normal number they lose
 * digits. */
static bool holds_squares(const dm_moments *m, int64_t i) {
  double mean[2] = {0.0, 0.0};
  dm_moments_mean(m, i, mean);
  const double squares = dm_moments_squares(m, i);
  if (dm_moments_missing(m, i) == m->length) return true;
  return isfinite(mean[0]) && isfinite(mean[1]) && isfinite(squares) &&
         (squares == 0.0 || squares >= (double)m->length * DBL_MIN);
}

/* A mean that is not finite says that elements are not, either. */
static dm_status check_squares(const dm_dataset *set, const dm_moments *m) {
  for (int64_t i = 0; i < m->lines; i++) {
    double mean[2] = {0.0, 0.0};
    dm_moments_mean(m, i, mean);
    if (holds_squares(m, i) || !isfinite(mean[0]) || !isfinite(mean[1])) continue;
    return dm_fail_at(DM_E_INPUT, &set->at,
                      "the squares of %s %lld are too %s for a deviation in f64",
                      m->by_rows ? "row" : "column", (long long)i,
                      dm_moments_squares(m, i) < 1.0 ? "small" : "large");
  }
  return DM_OK;
}

/* A factor of the product and what is done to it. */
typedef struct centered_factor {
  const dm_standard *standard;
  const dm_dataset *set, *center, *scale;
  dm_lines inner; /* along which the sums of the product run */
  const dm_terms *weights;
  const dm_relation *relation; /* NULL: its numbers are no genotypes */
  dm_centered_copy *copy;      /* of it in memory; NULL: SET is in a file */
  int64_t *unpacked;           /* chunks so far */
} centered_factor;

/* Adds the elements, and joins what the ranks have. */
static dm_status add_moments(dm_run *run, int io_threads, const centered_factor *f, dm_moments *m) {
  dm_status status = f->copy ? dm_centered_copy_take(run, f->copy, m)
                             : take_groups(run, io_threads, f->set, m, f->unpacked);
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_moments_join(m, run->world);
}

/* The powers of two by which lines are multiplied whose squares f64 does not hold; false: it holds
 * all. If the differences of a line are small, so are its elements: they differ by at least the
 * rounding of the largest. */
static bool find_powers(const dm_moments *m, double *powers) {
  static const double by = 0x1p600;
  bool any = false;
  for (int64_t i = 0; i < m->lines; i++) {
    const double squares = dm_moments_squares(m, i);
    powers[i] = holds_squares(m, i) ? 1.0 : squares < 1.0 ? by : 1.0 / by;
    any |= powers[i] != 1.0;
  }
  return any;
}

/* Joins the moments of SET, if means or deviations are taken. */
static dm_status find_moments(dm_run *run, int io_threads, const centered_factor *f, bool by_rows,
                              double *powers, dm_moments *m) {
  const dm_dataset *set = f->set;
  const dm_lines lines = by_rows ? DM_ROW_LINES : DM_COLUMN_LINES;
  const dm_dtype type = dm_dataset_type(set);
  dm_status status =
      dm_moments_open(set->rows, set->cols, by_rows, dm_dtype_is_complex(type),
                      f->copy ? run->ranks : CENTERED_GROUPS,
                      f->weights->list && f->inner != lines ? f->weights->list : NULL, m);
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(add_moments(run, io_threads, f, m));
  const bool wide = type == DM_F64 || type == DM_C128;
  if (wide && find_powers(m, powers)) {
    dm_moments_begin_again(powers, m);
    DM_TRY(add_moments(run, io_threads, f, m));
  }
  return dm_comm_agree(run->world, centered_check_missing(set, m));
}

/* What moments are taken for. */
static bool takes_moments(const centered_factor *f) {
  const dm_standard *s = f->standard;
  const bool looks = f->copy && f->set->meaning.missing == DM_MISSING_REFUSED;
  return (s->center != DM_NO_LINES && !s->center_by) || (s->scale != DM_NO_LINES && !s->scale_by) ||
         s->fills || looks;
}

/* Sets the arrays from the alleles of founders; p is half of a mean. */
static void take_alleles(const dm_relation *r, const arrays *of, dm_centering *c) {
  for (int64_t i = 0; i < r->variants; i++) {
    const dm_allele_count *count = &r->alleles[i];
    if (r->of_variants[i] < 0.0 || count->called == 0) continue;
    const double mean = (double)count->copies / (double)count->called;
    const double variance = mean * (1.0 - mean / 2.0);
    of->shift[i] = of->fill[i] = mean;
    of->factor[i] = variance > 0.0 ? 1.0 / sqrt(variance) : 0.0;
    c->constant += !(variance > 0.0);
  }
  c->filled = r->missing;
  c->founders = r->founders;
  c->left_out = r->left_out;
}

static dm_status centered_set_lines(dm_run *run, int io_threads, const centered_factor *f,
                                    const arrays *of, dm_centering *c) {
  const dm_standard *s = f->standard;
  const bool scales = s->scale != DM_NO_LINES && !s->scale_by;
  if (f->relation) {
    take_alleles(f->relation, of, c);
    return DM_OK;
  }
  dm_moments m = {.numbers = NULL};
  dm_status status = DM_OK;
  if (takes_moments(f))
    status = find_moments(run, io_threads, f, c->lines == DM_ROW_LINES, of->power, &m);
  if (!status && scales && !s->by_length)
    status = dm_comm_agree(run->world, check_squares(f->set, &m));
  if (!status && takes_moments(f)) {
    const double n_less_one = m.weights ? f->weights->less_one : (double)(m.length - 1);
    take_moments(&m, s, n_less_one, of, c);
    if (f->set->meaning.missing == DM_MISSING_PAIRWISE) clear_empty(&m, of);
  }
  if (!scales) c->constant = 0;
  dm_moments_close(&m);
  return status;
}

static dm_status centered_make(dm_run *run, int io_threads, const centered_factor *f,
                               dm_centering **centering) {
  const dm_standard *s = f->standard;
  const dm_terms *w = f->weights;
  const bool by_rows = dm_standard_lines(s) == DM_ROW_LINES;
  const int64_t lines = by_rows ? f->set->rows : f->set->cols;
  const int64_t parts = dm_dtype_is_complex(dm_dataset_type(f->set)) ? 2 : 1;
  arrays of = {NULL};
  DM_TRY(dm_comm_agree(run->world, centered_allocate(lines, parts, w->count, centering, &of)));
  dm_centering *c = *centering;
  *c = (dm_centering){.lines = by_rows ? DM_ROW_LINES : DM_COLUMN_LINES,
                      .count = lines,
                      .parts = parts,
                      .complete = w->list ? w->complete : -1,
                      .shift = s->center != DM_NO_LINES ? of.shift : NULL,
                      .factor = s->scale != DM_NO_LINES ? of.factor : NULL,
                      .fill = s->fills ? of.fill : NULL,
                      .weight_lines = f->inner,
                      .weight = w->list ? of.weight : NULL,
                      .user_sum = w->user_sum,
                      .by_length = s->by_length};
  for (int64_t i = 0; i < w->count; i++) of.weight[i] = w->roots[i];
  DM_TRY(centered_set_lines(run, io_threads, f, &of, c));
  return dm_comm_agree(run->world,
                       centered_take_vectors(run, s, f->center, f->scale, parts, &of, c));
}

static void centered_warn(const dm_run *run, const dm_dataset *set) {
  const dm_centering *c = set->centering;
  char name[DM_NAME];
  dm_location_name(&set->at, name);
  if (c->founders > 0) return; /* these add nothing */
  if (c->constant > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s are %s: they cannot be scaled and become NaN", name,
                (long long)c->constant, (long long)c->count, dm_lines_name(c->lines),
                c->by_length ? "0" : "constant");
  if (c->empty > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s have no values: they have no mean and become NaN", name,
                (long long)c->empty, (long long)c->count, dm_lines_name(c->lines));
}

static dm_lines centered_inner_of(const dm_equation *e, int x) {
  const bool turned = (x == 0 ? e->op_a : e->op_b) != DM_OP_N;
  return turned == (x == 0) ? DM_ROW_LINES : DM_COLUMN_LINES;
}

dm_dtype dm_centered_type(const dm_equation *e, const dm_dataset *set, int x) {
  const dm_dtype type = e->type == DM_DTYPE_NONE ? set->dtype : e->type;
  return dm_dtype_is_integer(type) && dm_standard_changes(&e->standard[x]) ? DM_F64 : type;
}

/* Whether B is A, and changed alike. */
static bool centered_is_alike(const dm_factors *f) {
  const dm_equation *e = f->equation;
  const bool in_memory[2] = {f->memory[0] || f->sets[0]->memory.base,
                             f->memory[1] || f->sets[1]->memory.base};
  const bool same = in_memory[0] && in_memory[1] ? e->symmetric
                                                 : !in_memory[0] && !in_memory[1] &&
                                                       dm_dataset_is_same(f->sets[0], f->sets[1]);
  return same && dm_standard_is_same(&e->standard[0], &e->standard[1]) &&
         centered_inner_of(e, 0) == centered_inner_of(e, 1);
}

static const char *const centered_names[] = {"A", "B"};

/* Whether factor X is changed. */
static bool is_changed(const dm_factors *f, int x) {
  const bool found = f->memory[x] && f->sets[x]->meaning.found;
  return dm_standard_changes(&f->equation->standard[x]) || found;
}

/* Opens the copy of factor X in memory. */
static dm_status open_copy(dm_run *run, const dm_factors *f, int x, dm_centered *made) {
  const dm_centered_source from = {f->memory[x], centered_names[x], f->sets[x],
                                   dm_centered_type(f->equation, f->sets[x], x)};
  DM_TRY(dm_centered_copy_open(run, f->engine, f->rooms ? &f->rooms[x] : NULL, &from,
                               &made->copies[x]));
  f->sets[x]->dtype = from.type;
  f->sets[x]->meaning.active = false; /* the copy has the values */
  return DM_OK;
}

/* Marks the terms that factor X has no value for. */
static dm_status mark_missing(dm_run *run, int io_threads, const dm_factors *f, int x,
                              const dm_centered *made, int64_t *marks) {
  dm_marking marking = {.by_rows = centered_inner_of(f->equation, x) == DM_ROW_LINES,
                        .marks = marks};
  const dm_dataset *set = f->sets[x];
  DM_TRY(dm_crew_new(run->cores.threads, &marking.crew));
  dm_status status = f->memory[x] ? dm_centered_copy_mark(run, &made->copies[x], &marking)
                                  : dm_mark_missing_file(run, set, type_for(dm_dataset_type(set)),
                                                         io_threads, &marking);
  dm_crew_free(marking.crew);
  return dm_comm_agree(run->world, status);
}

/* Collective: terms that are not complete get DM_LEFT_OUT. */
static dm_status centered_leave_out(dm_run *run, int io_threads, const dm_factors *f,
                                    const dm_centered *made, dm_terms *w) {
  DM_FREED int64_t *marks = NULL;
  const int count = centered_is_alike(f) ? 1 : 2;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(w->count, &marks)));
  for (int x = 0; x < count; x++) DM_TRY(mark_missing(run, io_threads, f, x, made, marks));
  DM_TRY(dm_comm_max_i64(run->world, marks, w->count));
  w->complete = w->count;
  for (int64_t i = 0; i < w->count; i++) {
    if (!marks[i]) continue;
    w->list[i] = DM_LEFT_OUT;
    w->complete--;
  }
  return DM_OK;
}

/* Makes the centering of factor X, and the elements of its copy. */
static dm_status center_one(dm_run *run, int io_threads, const dm_factors *f, int x,
                            const dm_terms *w, dm_centered *made) {
  dm_centered_copy *copy = f->memory[x] ? &made->copies[x] : NULL;
  const centered_factor one = {.standard = &f->equation->standard[x],
                               .set = f->sets[x],
                               .center = &f->vectors->center[x],
                               .scale = &f->vectors->scale[x],
                               .inner = centered_inner_of(f->equation, x),
                               .weights = w,
                               .relation = f->relation,
                               .copy = copy,
                               .unpacked = &made->unpacked};
  DM_TRY(centered_make(run, io_threads, &one, &made->made[x]));
  return copy ? dm_centered_copy_change(run, copy, made->made[x]) : DM_OK;
}

static dm_status centered_center(dm_run *run, int io_threads, const dm_factors *f,
                                 const dm_terms *w, dm_centered *made) {
  for (int x = 0; x < 2; x++) {
    if (!is_changed(f, x)) continue;
    if (x == 1 && made->made[0] && centered_is_alike(f)) {
      f->sets[1]->centering = made->made[0];
      f->sets[1]->dtype = f->sets[0]->dtype;
      f->sets[1]->meaning.active = f->sets[0]->meaning.active;
      made->copies[1].stated = made->copies[0].stated;
      continue;
    }
    DM_TRY(center_one(run, io_threads, f, x, w, made));
    f->sets[x]->centering = made->made[x];
    centered_warn(run, f->sets[x]);
  }
  return DM_OK;
}

/* Finds the weights of the terms, 1 if only some are left out, and divides by their sum. */
static dm_status weigh_terms(dm_run *run, int io_threads, const dm_factors *f,
                             dm_equation *equation, const dm_centered *made, dm_terms *w) {
  const dm_dataset *a = f->sets[0];
  const dm_standard *s = &equation->standard[0];
  if (!s->weighted && !s->complete && !s->relates) return DM_OK;
  const int64_t terms = equation->op_a == DM_OP_N ? a->cols : a->rows;
  DM_TRY(dm_terms_open(run, equation, &f->vectors->weights, terms, w));
  if (s->complete) DM_TRY(centered_leave_out(run, io_threads, f, made, w));
  for (int64_t i = 0; f->relation && i < w->count; i++) w->list[i] = f->relation->of_variants[i];
  return dm_comm_agree(run->world, dm_terms_complete(w, equation));
}

static dm_status center_factors(dm_run *run, int io_threads, const dm_factors *f,
                                dm_equation *equation, dm_centered *made) {
  dm_terms w = {.list = NULL};
  dm_status status = DM_OK;
  for (int x = 0; x < 2 && !status; x++)
    if (f->memory[x] && is_changed(f, x) && !(x == 1 && is_changed(f, 0) && centered_is_alike(f)))
      status = open_copy(run, f, x, made);
  if (!status) status = weigh_terms(run, io_threads, f, equation, made, &w);
  if (!status) status = centered_center(run, io_threads, f, &w, made);
  dm_terms_close(&w);
  return status;
}

dm_status dm_center_factors(dm_run *run, int io_threads, const dm_factors *f, dm_equation *equation,
                            dm_centered *made) {
  const dm_standard *s = &equation->standard[0];
  dm_relation relation = {.variants = 0};
  dm_factors own = *f;
  *made = (dm_centered){.made = {NULL, NULL}};
  if (s->relates) own.relation = &relation;
  dm_status status = s->relates ? dm_relation_open(run, f->sets[0], s->of_all, &relation) : DM_OK;
  if (!status) status = center_factors(run, io_threads, &own, equation, made);
  dm_relation_close(&relation);
  return status;
}

dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_vectors *vectors,
                           dm_equation *equation, dm_dataset *a, dm_dataset *b,
                           dm_centered *centered) {
  const dm_factors f = {vectors, equation, {a, b}, {NULL, NULL}, NULL, NULL, NULL};
  return dm_center_factors(run, io_threads, &f, equation, centered);
}

void dm_centered_free(dm_centered *centered) {
  for (int x = 0; x < 2; x++) {
    free(centered->made[x]);
    dm_centered_copy_free(&centered->copies[x]);
  }
}

static void relation_text(const dm_centering *c, char text[DM_CENTERING_TEXT]) {
  snprintf(text, DM_CENTERING_TEXT,
           "(x - 2p) / sqrt(2p(1 - p)), p from %lld samples; %lld missing, %lld variants have one "
           "allele, %lld on X, Y or MT are left out",
           (long long)c->founders, (long long)c->filled, (long long)c->constant,
           (long long)c->left_out);
}

void dm_centering_text(const dm_centering *c, char text[DM_CENTERING_TEXT]) {
  char constant[48] = "", filled[64] = "";
  text[0] = '\0';
  if (!c) return;
  if (c->founders > 0) {
    relation_text(c, text);
    return;
  }
  if (c->constant > 0)
    snprintf(constant, sizeof constant, "; %lld are constant", (long long)c->constant);
  if (c->fill)
    snprintf(filled, sizeof filled, "%s%lld missing values replaced by the mean",
             c->shift || c->factor ? ", " : ": ", (long long)c->filled);
  snprintf(text, DM_CENTERING_TEXT, "%s%s%s%s%s%s%s%s", dm_lines_name(c->lines),
           c->shift || c->factor ? " " : "", c->shift ? "centered" : "",
           c->shift && c->factor ? ", " : "", c->factor ? "scaled" : "", filled, constant,
           c->weight && c->complete < 0 ? "; terms are weighted" : "");
  const size_t used = strlen(text);
  if (c->complete >= 0)
    snprintf(text + used, DM_CENTERING_TEXT - used, "; %lld observations are complete",
             (long long)c->complete);
}

void dm_centering_record_text(const char *const texts[2], dm_record *record) {
  static const char *const paths[] = {"files.a_centering", "files.b_centering"};
  static const char *const labels[] = {"  centering of A", "  centering of B"};
  for (int x = 0; x < 2; x++)
    if (texts[x][0]) dm_record_text(record, paths[x], labels[x], "%s", texts[x]);
}

void dm_centering_record(const dm_dataset *const sets[2], dm_record *record) {
  char texts[2][DM_CENTERING_TEXT];
  for (int x = 0; x < 2; x++) dm_centering_text(sets[x]->centering, texts[x]);
  dm_centering_record_text((const char *const[2]){texts[0], texts[1]}, record);
}
