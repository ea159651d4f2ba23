#include "product/centered.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/checksum.h"
#include "file/read.h"
#include "plan/partition.h"
#include "product/file_stream.h"
#include "product/moments.h"

enum { GROUPS = 16 }; /* of rows: their moments are joined in order, whatever rank has them */

/* ---- moments of a matrix in a file ---- */

typedef struct taking {
  dm_crew *crew;
  dm_moments *moments;
  int group;
} taking;

static dm_status take_strip(void *context, dm_view strip, int64_t row, int64_t col) {
  const taking *t = context;
  dm_moments_add(t->moments, t->crew, t->group, strip, row, col);
  return DM_OK;
}

/* A type that holds all values of TYPE; the smaller, the faster. */
static dm_dtype type_for(dm_dtype type) {
  if (dm_dtype_is_complex(type)) return type;
  return dm_dtype_holds(DM_F32, type) ? DM_F32 : DM_F64;
}

/* Adds this rank's groups of rows. Missing values are read as NaN, which dm_moments leaves out,
 * unless they are 0. */
static dm_status take_groups(dm_run *run, int io_threads, const dm_dataset *set, dm_moments *m) {
  taking t = {.moments = m};
  dm_dataset read = *set;
  if (read.meaning.missing != DM_MISSING_ZERO) read.meaning.missing = DM_MISSING_NAN;
  const dm_reading how = {.as = DM_DTYPE_NONE, .work = type_for(dm_dataset_type(set))};
  const dm_range mine = dm_split(GROUPS, run->ranks, run->rank, 1);
  DM_TRY(dm_crew_new(run->cores.threads, &t.crew));
  dm_status status = DM_OK;
  for (int64_t g = mine.begin; g < mine.end && !status; g++) {
    t.group = m->by_rows ? 0 : (int)g;
    status = dm_file_stream(run, io_threads, &read, dm_split(set->rows, GROUPS, g, 1),
                            (dm_range){0, set->cols}, &how, take_strip, &t, NULL);
  }
  dm_crew_free(t.crew);
  return status;
}

/* ---- numbers of the user ---- */

/* The weights of the terms of a sum. */
typedef struct weights {
  double *list, *roots; /* NULL: there are none */
  int64_t count;
  double less_one, sum; /* what n - 1 and n become */
  uint64_t given;
} weights;

static dm_status unsuitable(const dm_dataset *set, int64_t i, double value, const char *what) {
  char name[DM_NAME];
  return dm_fail(DM_E_INPUT, "%s: number %lld (counted from 0) is %g: %s",
                 dm_location_name(&set->at, name), (long long)i, value, what);
}

/* All numbers of SET, a vector; the caller frees *LIST. */
static dm_status read_vector(const dm_dataset *set, double **list) {
  dm_reader *reader;
  const int64_t bytes = set->rows * set->cols * (int64_t)sizeof(double);
  *list = NULL;
  DM_TRY(dm_buffer_alloc(bytes, (void **)list));
  const dm_view view = dm_view_row_major(*list, DM_F64, set->rows, set->cols);
  DM_TRY(dm_reader_open(set, DM_F64, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &view, 1, false);
  dm_reader_close(reader);
  for (int64_t i = 0; i < set->rows * set->cols && !status; i++)
    if (!isfinite((*list)[i])) status = unsuitable(set, i, (*list)[i], "it must be finite");
  return status;
}

static dm_status check_weights(const dm_dataset *set, dm_weights_are are, weights *w) {
  double squares = 0.0;
  for (int64_t i = 0; i < w->count; i++) {
    const double weight = w->list[i];
    if (weight < 0.0) return unsuitable(set, i, weight, "weights are not negative");
    if (are == DM_FREQUENCIES && weight != floor(weight))
      return unsuitable(set, i, weight, "frequencies are whole numbers");
    w->sum += weight;
    squares += weight * weight;
    w->roots[i] = sqrt(weight);
  }
  char name[DM_NAME];
  if (w->sum == 0.0)
    return dm_fail(DM_E_INPUT, "%s: all weights are 0", dm_location_name(&set->at, name));
  w->less_one = w->sum - (are == DM_FREQUENCIES ? 1.0 : squares / w->sum);
  w->given = dm_checksum_bytes(w->list, w->count * (int64_t)sizeof(double), (uint64_t)are + 1);
  return DM_OK;
}

static dm_status read_weights(const dm_dataset *set, dm_weights_are are, weights *w) {
  w->count = set->rows * set->cols;
  DM_TRY(dm_buffer_alloc(w->count * (int64_t)sizeof(double), (void **)&w->roots));
  DM_TRY(read_vector(set, &w->list));
  return check_weights(set, are, w);
}

/* Divides alpha by the sum of the weights, or what it is instead. */
static dm_status divide(const weights *w, dm_equation *equation) {
  const bool less = equation->divide == DM_DIVIDE_BY_N_LESS_1;
  const double by = less ? w->less_one : w->sum;
  if (equation->divide != DM_NO_DIVISION && !(by > 0.0))
    return dm_fail(DM_E_INPUT, "sums with these weights cannot be divided by n-1, which is %g", by);
  dm_equation_divide_by(by, equation);
  return DM_OK;
}

/* ---- what follows ---- */

static int64_t count_missing(const dm_moments *m) {
  int64_t count = 0;
  for (int64_t i = 0; i < m->lines; i++) count += dm_moments_missing(m, i);
  return count;
}

/* The arrays of a centering. */
typedef struct arrays {
  double *shift, *fill, *factor, *weight;
} arrays;

_Static_assert(sizeof(dm_centering) % sizeof(double) == 0, "arrays follow it");

static dm_status allocate(int64_t lines, int64_t parts, int64_t terms, dm_centering **centering,
                          arrays *of) {
  char *memory;
  DM_TRY(dm_buffer_zeroed((2 * parts + 1) * lines + terms +
                              (int64_t)(sizeof **centering / sizeof(double)),
                          sizeof(double), (void **)&memory));
  *centering = (dm_centering *)memory;
  of->shift = (double *)(*centering + 1);
  of->fill = of->shift + parts * lines;
  of->factor = of->fill + parts * lines;
  of->weight = of->factor + lines;
  return DM_OK;
}

/* Sets the arrays from moments, of which DIVISOR makes variances. */
static void take_moments(const dm_moments *m, double divisor, bool fills, const arrays *of,
                         dm_centering *c) {
  for (int64_t i = 0; i < m->lines; i++) {
    const double squares = dm_moments_squares(m, i);
    const bool gaps = !fills && dm_moments_missing(m, i) > 0;
    const bool none = dm_moments_missing(m, i) == m->length;
    dm_moments_mean(m, i, of->fill + i * m->parts);
    for (int64_t p = 0; p < m->parts; p++) /* a NaN that stays makes the mean NaN */
      of->shift[i * m->parts + p] = gaps ? (double)NAN : of->fill[i * m->parts + p];
    c->empty += fills && none;
    c->constant += !none && squares == 0.0;
    of->factor[i] = squares == 0.0 || gaps ? (double)NAN : 1.0 / sqrt(squares / divisor);
  }
  c->filled = fills ? count_missing(m) : 0;
}

/* Replaces means and deviations by the user's numbers. */
static dm_status take_vectors(const dm_standard *s, const dm_dataset *center,
                              const dm_dataset *scale, int64_t parts, const arrays *of,
                              dm_centering *c) {
  double *list = NULL;
  dm_status status = s->center_by ? read_vector(center, &list) : DM_OK;
  for (int64_t i = 0; list && !status && i < c->count; i++) of->shift[i * parts] = list[i];
  for (int64_t i = 0; list && !status && parts == 2 && i < c->count; i++)
    of->shift[2 * i + 1] = 0.0;
  if (list && !status) c->given += dm_checksum_bytes(list, c->count * 8, 3);
  free(list);
  list = NULL;
  if (!status && s->scale_by) status = read_vector(scale, &list);
  for (int64_t i = 0; list && !status && i < c->count; i++) {
    if (list[i] == 0.0) status = unsuitable(scale, i, 0.0, "lines are not divided by 0");
    of->factor[i] = 1.0 / list[i];
  }
  if (list && !status) c->given += dm_checksum_bytes(list, c->count * 8, 4);
  free(list);
  return status;
}

/* SET may be missing values only if it is stated what becomes of them. */
static dm_status check_missing(const dm_dataset *set, const dm_moments *m) {
  const int64_t missing = count_missing(m);
  return missing == 0 || set->meaning.missing != DM_MISSING_REFUSED
             ? DM_OK
             : dm_missing_refused(set, &(dm_missing_found){.count = missing,
                                                           .source = INT64_MAX,
                                                           .first = m->first_missing});
}

/* A factor of the product and what is done to it. */
typedef struct factor {
  const dm_standard *standard;
  const dm_dataset *set, *center, *scale;
  dm_lines inner; /* along which the sums of the product run */
  const weights *weights;
} factor;

/* Joins the moments of SET, if means or deviations are taken. */
static dm_status find_moments(dm_run *run, int io_threads, const factor *f, bool by_rows,
                              dm_moments *m) {
  const dm_dataset *set = f->set;
  const dm_lines lines = by_rows ? DM_ROW_LINES : DM_COLUMN_LINES;
  dm_status status =
      dm_moments_open(set->rows, set->cols, by_rows, dm_dtype_is_complex(dm_dataset_type(set)),
                      GROUPS, f->weights->list && f->inner != lines ? f->weights->list : NULL, m);
  status = dm_comm_agree(run->world, status);
  if (!status) status = dm_comm_agree(run->world, take_groups(run, io_threads, set, m));
  if (!status) status = dm_moments_join(m, run->world);
  return status ? status : dm_comm_agree(run->world, check_missing(set, m));
}

static dm_status make(dm_run *run, int io_threads, const factor *f, dm_centering **centering) {
  const dm_standard *s = f->standard;
  const weights *w = f->weights;
  const bool by_rows = dm_standard_lines(s) == DM_ROW_LINES;
  const int64_t lines = by_rows ? f->set->rows : f->set->cols;
  const int64_t parts = dm_dtype_is_complex(dm_dataset_type(f->set)) ? 2 : 1;
  const bool centers = s->center != DM_NO_LINES, scales = s->scale != DM_NO_LINES;
  const bool takes = (centers && !s->center_by) || (scales && !s->scale_by) || s->fills;
  arrays of = {NULL};
  dm_moments m = {.numbers = NULL};
  DM_TRY(dm_comm_agree(run->world, allocate(lines, parts, w->count, centering, &of)));
  dm_centering *c = *centering;
  *c = (dm_centering){.lines = by_rows ? DM_ROW_LINES : DM_COLUMN_LINES,
                      .count = lines,
                      .shift = centers ? of.shift : NULL,
                      .factor = scales ? of.factor : NULL,
                      .fill = s->fills ? of.fill : NULL,
                      .weight_lines = f->inner,
                      .weight = w->list ? of.weight : NULL,
                      .given = w->given};
  for (int64_t i = 0; i < w->count; i++) of.weight[i] = w->roots[i];
  dm_status status = takes ? find_moments(run, io_threads, f, by_rows, &m) : DM_OK;
  if (!status && takes)
    take_moments(&m, m.weights ? w->less_one : (double)(m.length - 1), s->fills, &of, c);
  if (!scales || s->scale_by) c->constant = 0;
  dm_moments_close(&m);
  if (status) return status;
  return dm_comm_agree(run->world, take_vectors(s, f->center, f->scale, parts, &of, c));
}

static void warn(const dm_run *run, const dm_dataset *set) {
  const dm_centering *c = set->centering;
  char name[DM_NAME];
  dm_location_name(&set->at, name);
  if (c->constant > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s are constant: they cannot be scaled and become NaN", name,
                (long long)c->constant, (long long)c->count, dm_lines_name(c->lines));
  if (c->empty > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s have no values: they have no mean and become NaN", name,
                (long long)c->empty, (long long)c->count, dm_lines_name(c->lines));
}

static dm_status center(dm_run *run, int io_threads, const dm_vectors *v, const weights *w,
                        const dm_equation *e, dm_dataset *const sets[2], dm_centering *made[2]) {
  const dm_standard *s = e->standard;
  const dm_lines inner[2] = {e->op_a == DM_OP_N ? DM_COLUMN_LINES : DM_ROW_LINES,
                             e->op_b == DM_OP_N ? DM_ROW_LINES : DM_COLUMN_LINES};
  for (int x = 0; x < 2; x++) {
    if (!dm_standard_changes(&s[x])) continue;
    if (x == 1 && made[0] && dm_dataset_is_same(sets[0], sets[1]) &&
        dm_standard_is_same(&s[0], &s[1]) && inner[0] == inner[1]) {
      sets[1]->centering = made[0];
      continue;
    }
    const factor f = {&s[x], sets[x], &v->center[x], &v->scale[x], inner[x], w};
    DM_TRY(make(run, io_threads, &f, &made[x]));
    sets[x]->centering = made[x];
    warn(run, sets[x]);
  }
  return DM_OK;
}

dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_vectors *vectors,
                           dm_equation *equation, dm_dataset *a, dm_dataset *b,
                           dm_centering *made[2]) {
  weights w = {.list = NULL};
  dm_status status = DM_OK;
  made[0] = made[1] = NULL;
  if (equation->standard[0].weighted) {
    status = read_weights(&vectors->weights, equation->weights_are, &w);
    status = dm_comm_agree(run->world, status ? status : divide(&w, equation));
  }
  if (!status)
    status = center(run, io_threads, vectors, &w, equation, (dm_dataset *const[2]){a, b}, made);
  free(w.list);
  free(w.roots);
  return status;
}

void dm_centering_record(const dm_dataset *const sets[2], dm_record *record) {
  static const char *const paths[] = {"files.a_centering", "files.b_centering"};
  static const char *const labels[] = {"  centering of A", "  centering of B"};
  for (int x = 0; x < 2; x++) {
    const dm_centering *c = sets[x]->centering;
    char constant[48] = "", filled[64] = "";
    if (!c) continue;
    if (c->constant > 0)
      snprintf(constant, sizeof constant, "; %lld are constant", (long long)c->constant);
    if (c->fill)
      snprintf(filled, sizeof filled, "%s%lld missing values replaced by the mean",
               c->shift || c->factor ? ", " : ": ", (long long)c->filled);
    dm_record_text(record, paths[x], labels[x], "%s%s%s%s%s%s%s%s", dm_lines_name(c->lines),
                   c->shift || c->factor ? " " : "", c->shift ? "centered" : "",
                   c->shift && c->factor ? ", " : "", c->factor ? "scaled" : "", filled, constant,
                   c->weight ? "; terms are weighted" : "");
  }
}
