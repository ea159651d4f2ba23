#include "product/pairwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/copy.h"
#include "file/inspect.h"
#include "file/read.h"
#include "product/centered.h"
#include "product/multiply.h"
#include "product/provenance.h"
#include "product/rows_file.h"

enum { COUNTS, PRODUCTS, SUMS, SQUARES, FACTORS };

/* A product: what is read in place of the values of its factors. */
static const struct {
  const char *ending;
  dm_role left, right;
} factors[FACTORS] = {[COUNTS] = {".damier-pair-n", DM_ROLE_PRESENT, DM_ROLE_PRESENT},
                      [PRODUCTS] = {".damier-pair-p", DM_ROLE_VALUES, DM_ROLE_VALUES},
                      [SUMS] = {".damier-pair-s", DM_ROLE_VALUES, DM_ROLE_PRESENT},
                      [SQUARES] = {".damier-pair-q", DM_ROLE_SQUARES, DM_ROLE_PRESENT}};

typedef struct pairwise {
  dm_run *run;
  const dm_multiply *multiply;
  dm_centering *centering;
  bool correlation;
  int count; /* of products */
  int64_t n; /* lines */
  double started;
  dm_dataset made[FACTORS];
  dm_reader *readers[FACTORS];
  /* Rows of the products, and at last the columns of the sums and squares with these numbers. */
  double *rows[FACTORS + 2];
  int64_t room; /* elements of each */
} pairwise;

/* ---- the products ---- */

static dm_status name_product(const pairwise *p, int which, dm_location *at) {
  char path[DM_SIBLING_PATH];
  DM_TRY(dm_io_sibling(&p->multiply->out, factors[which].ending, path));
  *at = (dm_location){.dataset = "/c"};
  if (strlen(path) >= sizeof at->file) return dm_fail(DM_E_USAGE, "the name of C is too long");
  memcpy(at->file, path, strlen(path) + 1);
  return DM_OK;
}

static dm_status multiply_roles(pairwise *p, int which, dm_record *record) {
  dm_centering left = *p->centering, right = left;
  dm_multiply job = *p->multiply;
  dm_equation *e = &job.equation;
  const bool same = factors[which].left == factors[which].right;
  left.role = factors[which].left;
  right.role = factors[which].right;
  job.a.centering = &left;
  job.b.centering = same ? &left : &right;
  *e = (dm_equation){
      .op_a = e->op_a, .op_b = e->op_b, .alpha = {1.0, 0.0}, .type = DM_F64, .symmetric = same};
  job.form = (dm_output_form){0};
  job.whole = (dm_dataset){0};
  job.only_done = job.has_c = false;
  job.force = true;
  DM_TRY(name_product(p, which, &job.out));
  DM_TRY(dm_multiply_run(p->run, &job, record));
  dm_dataset *made = &p->made[which];
  dm_status status = p->run->rank == 0 ? dm_io_inspect_own(&job.out, made) : DM_OK;
  DM_TRY(dm_comm_agree(p->run->world, status));
  return dm_comm_broadcast(p->run->world, made, sizeof *made, 0);
}

/* ---- C ---- */

static double covariance(double count, double product, double sums, double divisor_less) {
  const double divisor = count - divisor_less;
  return count > 0.0 && divisor > 0.0 ? (product - sums / count) / divisor : (double)NAN;
}

static double correlation(double count, double product, const double sum[2],
                          const double squares[2]) {
  double variances = 1.0;
  if (count == 0.0) return (double)NAN;
  for (int i = 0; i < 2; i++) {
    const double variance = squares[i] - sum[i] * sum[i] / count;
    if (!(variance > 0x1p-44 * squares[i])) return (double)NAN;
    variances *= sqrt(variance);
  }
  return fmax(-1.0, fmin(1.0, (product - sum[0] * sum[1] / count) / variances));
}

static double element(const pairwise *p, int64_t place, bool diagonal) {
  double *const *r = p->rows;
  const double count = r[COUNTS][place], product = r[PRODUCTS][place];
  const double sum[2] = {r[SUMS][place], r[FACTORS][place]};
  const dm_equation *e = &p->multiply->equation;
  if (!p->correlation)
    return e->alpha[0] * covariance(count, product, sum[0] * sum[1],
                                    e->divide == DM_DIVIDE_BY_N_LESS_1 ? 1.0 : 0.0);
  const double squares[2] = {r[SQUARES][place], r[FACTORS + 1][place]};
  const double value = correlation(count, product, sum, squares);
  return e->alpha[0] * (diagonal && !isnan(value) ? 1.0 : value);
}

/* Reads the rows from ROW on, and the columns with these numbers as rows. */
static dm_status read_rows(pairwise *p, int64_t row, int64_t count) {
  for (int i = 0; i < FACTORS + 2; i++) {
    const int of = i < FACTORS ? i : i - FACTORS + SUMS;
    if (!p->readers[of]) continue;
    if (p->room < count * p->n) {
      free(p->rows[i]);
      p->rows[i] = NULL;
      DM_TRY(dm_buffer_alloc(count * p->n * (int64_t)sizeof(double), (void **)&p->rows[i]));
    }
    dm_view view = dm_view_row_major(p->rows[i], DM_F64, count, p->n);
    if (i >= FACTORS) view = dm_view_transpose(view);
    const bool turned = i >= FACTORS;
    DM_TRY(dm_reader_read(p->readers[of], turned ? 0 : row, turned ? row : 0, &view, 1, false));
  }
  p->room = dm_max(p->room, count * p->n);
  return DM_OK;
}

static dm_status bring(void *context, dm_view rows, int64_t row) {
  pairwise *p = context;
  DM_TRY(read_rows(p, row, rows.rows));
  double *c = p->rows[COUNTS]; /* read for the last time */
  for (int64_t i = 0; i < rows.rows; i++)
    for (int64_t j = 0; j < p->n; j++) c[i * p->n + j] = element(p, i * p->n + j, row + i == j);
  dm_copy(rows, dm_view_row_major(c, DM_F64, rows.rows, p->n), false);
  const dm_half half = p->multiply->equation.half;
  if (half != DM_BOTH_HALVES) dm_clear_triangle(rows, row, 0, half == DM_UPPER_HALF);
  return DM_OK;
}

static dm_status describe(void *context, const dm_run *run, dm_attributes *list) {
  const pairwise *p = context;
  const dm_multiply *m = p->multiply;
  char name[DM_NAME];
  list->count = 0;
  DM_TRY(dm_attributes_add(list, "software", "damier"));
  DM_TRY(dm_provenance_command(run, list));
  DM_TRY(dm_attributes_add(list, "a", "%s", dm_location_name(&m->a.at, name)));
  DM_TRY(dm_attributes_add(list, "op_a", "%s", dm_op_name(m->equation.op_a)));
  DM_TRY(dm_attributes_add(list, "product", "%s",
                           p->correlation ? "pairwise correlations" : "pairwise covariances"));
  return dm_attributes_add(list, "missing", "%s", dm_missing_name(DM_MISSING_PAIRWISE));
}

static dm_status write_result(pairwise *p) {
  const dm_multiply *m = p->multiply;
  dm_rows_file file = {.out = m->out,
                       .rows = p->n,
                       .cols = p->n,
                       .dtype = m->equation.type_c,
                       .form = m->form,
                       .io_threads = m->engine.io_threads,
                       .write_by = m->engine.write_by,
                       .force = m->force,
                       .bring = bring,
                       .describe = describe,
                       .context = p};
  dm_status status = dm_output_form_complete(&file.form, file.dtype, p->n, p->n);
  for (int i = 0; i < p->count && !status; i++)
    status = dm_reader_open(&p->made[i], DM_DTYPE_NONE, &p->readers[i]);
  status = dm_comm_agree(p->run->world, status);
  if (!status) status = dm_rows_file_write(p->run, &file);
  for (int i = 0; i < p->count; i++) dm_reader_close(p->readers[i]);
  for (int i = 0; i < FACTORS + 2; i++) free(p->rows[i]);
  return status;
}

/* ---- all ---- */

static void remove_products(const pairwise *p) {
  dm_location at;
  for (int i = 0; i < p->count && p->run->rank == 0; i++) {
    dm_status status = name_product(p, i, &at);
    if (!status && p->made[i].at.file[0]) (void)unlink(at.file);
    dm_status_free(status);
  }
}

static void report(const pairwise *p, dm_record *record) {
  const dm_multiply *m = p->multiply;
  char name[DM_NAME];
  const double seconds = dm_now() - p->started;
  dm_record_text(record, "files.c", "C", "%s, from %d products of pairs",
                 dm_location_name(&m->out, name), p->count);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "damier: %s n=%lld k=%lld missing=%lld pairwise ranks=%d time_s=%.3f",
                    p->correlation ? "cor" : "cov", (long long)p->n,
                    (long long)(p->n == m->a.cols ? m->a.rows : m->a.cols),
                    (long long)p->centering->filled, p->run->ranks, seconds);
}

static dm_status compute(pairwise *p, dm_record *record) {
  for (int i = 0; i < p->count; i++) DM_TRY(multiply_roles(p, i, NULL));
  DM_TRY(write_result(p));
  if (record && p->run->rank == 0) report(p, record);
  return DM_OK;
}

dm_status dm_pairwise_run(dm_run *run, const dm_multiply *m, dm_record *record) {
  pairwise p = {.run = run, .multiply = m, .started = dm_now()};
  dm_multiply own = *m;
  dm_centered made;
  const dm_lines lines = dm_standard_lines(&m->equation.standard[0]);
  const dm_standard filled = {.center = lines, .fills = true};
  if (m->equation.half != DM_BOTH_HALVES)
    return dm_comm_agree(run->world,
                         dm_hint(dm_fail(DM_E_USAGE, "--missing pairwise makes both halves of C"),
                                 "leave out --triangle"));
  p.correlation = m->equation.standard[0].scale != DM_NO_LINES;
  p.count = p.correlation ? FACTORS : SQUARES;
  p.n = lines == DM_ROW_LINES ? m->a.rows : m->a.cols;
  if (own.equation.type_c == DM_DTYPE_NONE)
    own.equation.type_c = dm_dataset_type(&m->a) == DM_F32 ? DM_F32 : DM_F64;
  p.multiply = &own;
  dm_equation centers = own.equation;
  centers.standard[0] = centers.standard[1] = filled;
  dm_status status =
      dm_center_inputs(run, m->engine.io_threads, &m->vectors, &centers, &own.a, &own.b, &made);
  p.centering = made.made[0];
  if (!status) status = compute(&p, record);
  remove_products(&p);
  dm_centered_free(&made);
  return status;
}
