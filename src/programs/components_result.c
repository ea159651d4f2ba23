/* What is stored and said of components. */
#include <float.h>
#include <math.h>

#include "backend/dense.h"
#include "core/clock.h"
#include "product/provenance.h"
#include "programs/components_impl.h"

enum {
  COMPONENTS_SHOWN = 10,
  BRIEFLY = 2
}; /* components in the table, besides the last one; and in a short one */

void dm_components_result_free(dm_components_result *result) {
  for (int i = 0; i < result->count; i++) free((void *)(uintptr_t)result->arrays[i].data);
  result->count = 0;
}

/* Adds an array, which RESULT then owns; COLS 0: of one dimension. */
static dm_status result_add(dm_components_result *result, const char *name, int64_t rows,
                            int64_t cols, double **data) {
  int64_t bytes;
  DM_TRY(dm_bytes_of(rows, dm_max(1, cols), (int)sizeof(double), &bytes));
  DM_TRY(dm_buffer_alloc(bytes, (void **)data));
  result->arrays[result->count++] = (dm_array){name, DM_F64, rows, cols, *data};
  return DM_OK;
}

static const double *result_find(const dm_components_result *result, const char *name) {
  for (int i = 0; i < result->count; i++)
    if (strcmp(result->arrays[i].name, name) == 0) return result->arrays[i].data;
  return NULL;
}

static double result_sigma(const dm_components_state *c, int64_t i) {
  return sqrt(fmax(0.0, c->basis.values[i]));
}

/* ---- proofs ---- */

/* The largest element of |U^T U - 1|: of op(X) v / s, by what op(X)^T op(X) made of the v. */
static dm_status result_check_long(dm_components_state *c) {
  const dm_basis *b = &c->basis;
  const int64_t k = c->job->count;
  DM_FREED double *t = NULL;
  DM_TRY(dm_buffer_table(k * k, &t));
  dm_dense_multiply((dm_dense_product){.alpha = 1.0, .turn_b = true}, k, k, c->small, b->v, b->gv,
                    t);
  double loss = 0.0;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < k; j++)
      loss = fmax(loss, fabs(t[i * k + j] / (result_sigma(c, i) * result_sigma(c, j)) - (i == j)));
  c->orthogonality[1] = loss;
  return DM_OK;
}

/* Below the rounding of products a singular value is not one of X. */
static dm_status result_check_rank(const dm_components_state *c) {
  const int64_t k = c->job->count;
  const double roundoff = c->work == DM_F32 ? 0x1p-24 : 0x1p-53;
  const double norm =
      c->squares >= 0.0 ? sqrt(c->squares) : result_sigma(c, 0) * sqrt((double)c->small);
  int64_t rank = 0;
  while (rank < k && result_sigma(c, rank) > 4.0 * roundoff * norm) rank++;
  if (rank == k) return DM_OK;
  if (rank == 0)
    return dm_fail(DM_E_INPUT, "X has no components: all of its elements are %s, or %s",
                   c->divisor > 0.0 ? "those of the means" : "0",
                   "too small for their squares in f64");
  return dm_hint(dm_fail(DM_E_INPUT,
                         "X has %lld components; the others of %lld are rounding errors "
                         "of %s",
                         (long long)rank, (long long)k, dm_dtype_name(c->work)),
                 "--rank %lld asks for all of them%s", (long long)rank,
                 c->work == DM_F32 ? "; --type f64 resolves smaller ones" : "");
}

/* ---- arrays ---- */

/* The entry of a component with the largest magnitude is positive, as scikit-learn has it. */
static void result_set_signs(int64_t count, int64_t size, double *components) {
  for (int64_t i = 0; i < count; i++) {
    double *v = components + i * size, best = 0.0;
    for (int64_t j = 0; j < size; j++)
      if (fabs(v[j]) > fabs(best)) best = v[j];
    for (int64_t j = 0; j < size && best < 0.0; j++) v[j] = -v[j];
  }
}

/* Rank 0: RESIDUAL[i] = | |op(X) v| - s | / s1 of the vectors that were found. */
static void result_long_residuals(const dm_components_state *c, double *residual) {
  const dm_basis *b = &c->basis;
  for (int64_t i = 0; i < c->job->count; i++) {
    double sum = 0.0;
    for (int64_t j = 0; j < c->small; j++) sum += b->v[i * c->small + j] * b->gv[i * c->small + j];
    residual[i] = fabs(sqrt(fmax(0.0, sum)) - result_sigma(c, i)) / result_sigma(c, 0);
  }
}

/* Rank 0: the components of LIFTED, V^T of X = U S V^T times S. Rounding has left parts of the
 * first of them in the others. */
static dm_status result_normalise(dm_components_state *c, double *lifted, double *residual) {
  const int64_t k = c->job->count;
  DM_FREED double *m = NULL;
  DM_TRY(dm_buffer_table(k * k, &m));
  dm_dense_multiply((dm_dense_product){.alpha = 1.0, .turn_b = true}, k, k, c->tall, lifted, lifted,
                    m);
  if (!dm_dense_in_order(k, m, c->tall, lifted))
    return dm_fail(DM_E_INPUT, "the last of %lld components are rounding errors of %s",
                   (long long)k, dm_dtype_name(c->work));
  for (int64_t i = 0; i < k; i++)
    residual[i] = dm_basis_misfit(k, m, i, result_sigma(c, i)) / result_sigma(c, 0);
  return dm_dense_orthogonality(k, c->tall, lifted, &c->orthogonality[1]);
}

/* Rank 0. */
static dm_status result_add_values(const dm_components_state *c, dm_components_result *result) {
  const int64_t k = c->job->count;
  double *sigma, *variance, *ratio;
  DM_TRY(result_add(result, "singular_values", k, 0, &sigma));
  for (int64_t i = 0; i < k; i++) sigma[i] = result_sigma(c, i) * c->unscale;
  if (c->divisor > 0.0) {
    DM_TRY(result_add(result, "explained_variance", k, 0, &variance));
    for (int64_t i = 0; i < k; i++) variance[i] = fmax(0.0, c->basis.values[i]) / c->divisor;
  }
  if (c->squares <= 0.0) return DM_OK;
  DM_TRY(result_add(result, c->divisor > 0.0 ? "explained_variance_ratio" : "squares_ratio", k, 0,
                    &ratio));
  for (int64_t i = 0; i < k; i++) ratio[i] = fmax(0.0, c->basis.values[i]) / c->squares;
  return DM_OK;
}

/* Rank 0: what was subtracted from each variable, and what it was divided by. */
static dm_status result_add_centering(const dm_components_state *c, dm_components_result *result) {
  const dm_centering *by = c->multiply->a.centering;
  const bool scales = c->job->multiply.equation.standard[0].scale != DM_NO_LINES;
  double *mean, *scale;
  if (!by) return DM_OK;
  if (by->shift) {
    DM_TRY(result_add(result, "mean", c->variables, 0, &mean));
    for (int64_t i = 0; i < c->variables; i++)
      mean[i] = by->shift[i] / (by->power ? by->power[i] : 1.0);
  }
  if (!scales || !by->factor) return DM_OK;
  DM_TRY(result_add(result, "scale", c->variables, 0, &scale));
  for (int64_t i = 0; i < c->variables; i++)
    scale[i] = 1.0 / by->factor[i] / (by->power ? by->power[i] : 1.0);
  return DM_OK;
}

/* Rank 0: the vectors of the short side and their residuals; those of the other side have room. */
static dm_status result_begin(dm_components_state *c, dm_components_result *result,
                              double **components, double **residual) {
  const int64_t k = c->job->count;
  const dm_basis *b = &c->basis;
  double *found;
  DM_TRY(result_check_rank(c));
  DM_TRY(result_add(result, "components", k, c->variables, components));
  DM_TRY(result_add_values(c, result));
  DM_TRY(result_add_centering(c, result));
  DM_TRY(result_add(result, c->over_variables ? "residuals_v" : "residuals_u", k, 0, &found));
  DM_TRY(result_add(result, c->over_variables ? "residuals_u" : "residuals_v", k, 0, residual));
  memcpy(found, b->residuals, (size_t)k * sizeof *found);
  DM_TRY(dm_dense_orthogonality(k, c->small, b->v, &c->orthogonality[0]));
  if (!c->over_variables) return DM_OK;
  memcpy(*components, b->v, (size_t)(k * c->small) * sizeof **components);
  result_long_residuals(c, *residual);
  return result_check_long(c);
}

dm_status dm_components_finish(dm_components_state *c, dm_components_result *result) {
  const bool first = c->run->rank == 0;
  double *components = NULL, *residual = NULL;
  DM_TRY(dm_comm_agree(c->run->world,
                       first ? result_begin(c, result, &components, &residual) : DM_OK));
  result->converged = c->converged;
  if (!c->over_variables) {
    DM_TRY(dm_components_lift(c, c->job->count, c->basis.v, components));
    DM_TRY(dm_comm_agree(c->run->world, first ? result_normalise(c, components, residual) : DM_OK));
  }
  if (first) result_set_signs(c->job->count, c->variables, components);
  return DM_OK;
}

/* ---- the file ---- */

static dm_status result_describe(const dm_components_state *c, dm_attributes *list) {
  const dm_multiply *m = &c->job->multiply;
  DM_TRY(dm_provenance_inputs(list, c->run, m, false));
  if (m->equation.divide != DM_NO_DIVISION) DM_TRY(dm_provenance_divide(list, m->equation.divide));
  DM_TRY(dm_provenance_notes(list, c->run));
  DM_TRY(dm_attributes_add(list, "decomposition", "%s",
                           m->equation.standard[0].center != DM_NO_LINES ? "pca" : "svd"));
  DM_TRY(dm_attributes_add(list, "components_of", "%s",
                           m->equation.op_a != DM_OP_N ? "columns" : "rows"));
  DM_TRY(dm_attributes_add(list, "rank", "%lld", (long long)c->job->count));
  DM_TRY(dm_attributes_add(list, "method", "%s", dm_components_method_name(c->method)));
  DM_TRY(dm_attributes_add(list, "type", "%s", dm_dtype_name(c->work)));
  DM_TRY(dm_attributes_add(list, "passes", "%lld", (long long)c->passes));
  DM_TRY(dm_attributes_add(list, "tolerance", "%.17g", c->job->tolerance));
  DM_TRY(dm_attributes_add(list, "converged", "%s", c->converged ? "yes" : "no"));
  DM_TRY(dm_attributes_add(list, "largest_residual", "%.3e", c->largest));
  DM_TRY(dm_attributes_add(list, "loss_of_orthogonality", "%.3e",
                           fmax(c->orthogonality[0], c->orthogonality[1])));
  return dm_attributes_add(list, "verified", "%s", m->verify ? "PASS" : "UNVERIFIED");
}

typedef struct result_file {
  const dm_components_state *c;
  const dm_components_result *result;
} result_file;

static dm_status result_write(void *context, const dm_keepalive *keepalive) {
  const result_file *f = context;
  const dm_multiply *m = &f->c->job->multiply;
  DM_FREED dm_attributes *list = NULL;
  DM_TRY(dm_buffer_table(1, &list));
  DM_TRY(result_describe(f->c, list));
  const dm_file_group group = {
      .arrays = f->result->arrays, .count = f->result->count, .attributes = list};
  return dm_arrays_write(&m->out, m->force, &group, 1, keepalive);
}

dm_status dm_components_write(dm_components_state *c, const dm_components_result *result) {
  result_file file = {c, result};
  double *components = NULL;
  if (c->run->rank == 0 && result)
    components = (double *)(uintptr_t)result_find(result, "components");
  if (c->job->scores.file[0]) DM_TRY(dm_components_score(c, components, NULL));
  if (!result) return DM_OK;
  dm_run_phase(c->run, "writing", DM_SYNC_PATIENCE);
  return dm_comm_agree(
      c->run->world, c->run->rank == 0 ? dm_watch_work(c->run->watch, result_write, &file) : DM_OK);
}

/* ---- the report ---- */

static void result_report_values(const dm_components_state *c, const dm_components_result *result,
                                 dm_record *record) {
  const double *sigma = result_find(result, "singular_values"),
               *variance = result_find(result, "explained_variance");
  const double *ratio =
      result_find(result, variance ? "explained_variance_ratio" : "squares_ratio");
  const int64_t k = c->job->count;
  double sum = 0.0;
  char line[160], label[40];
  dm_record_series(record, "components.singular_values", sigma, k);
  for (int64_t i = 0; i < k; i++) {
    sum += ratio ? ratio[i] : 0.0;
    if (i >= COMPONENTS_SHOWN && i < k - 1) continue;
    snprintf(label, sizeof label, "  component %lld", (long long)i + 1);
    int used = snprintf(line, sizeof line, "singular value %.6g", sigma[i]);
    if (variance)
      used += snprintf(line + used, sizeof line - (size_t)used, ", variance %.6g", variance[i]);
    if (ratio)
      snprintf(line + used, sizeof line - (size_t)used, ", %.2f %%, together %.2f %%",
               100.0 * ratio[i], 100.0 * sum);
    dm_record_line(record, label, line);
    if (i >= BRIEFLY && i < k - 1) dm_record_detail(record);
  }
  if (ratio) dm_record_real(record, "components.explained_ratio", NULL, DM_SHOWN_PLAIN, sum);
}

void dm_components_report(const dm_components_state *c, const dm_components_result *result,
                          dm_record *record) {
  char name[DM_NAME];
  const char *word = !c->job->multiply.verify ? "UNVERIFIED"
                     : c->converged           ? "PASS"
                                              : "NOT_CONVERGED";
  const double largest = c->largest, seconds = dm_now() - c->started;
  const double loss = fmax(c->orthogonality[0], c->orthogonality[1]);
  dm_location_name(&c->job->multiply.a.at, name);
  dm_record_text(record, "files.a", "X", "%s", name);
  if (c->job->multiply.out.file[0])
    dm_record_text(record, "files.c", "result", "%s",
                   dm_location_name(&c->job->multiply.out, name));
  if (c->job->scores.file[0])
    dm_record_text(record, "files.scores", "scores", "%s", dm_location_name(&c->job->scores, name));
  dm_record_integer(record, "components.observations", "observations", DM_SHOWN_PLAIN,
                    c->observations);
  dm_record_integer(record, "components.variables", "variables", DM_SHOWN_PLAIN, c->variables);
  dm_record_integer(record, "components.count", "components", DM_SHOWN_PLAIN, c->job->count);
  dm_record_text(record, "components.method", "method", "%s, products in %s",
                 dm_components_method_name(c->method), dm_dtype_name(c->work));
  dm_record_integer(record, "components.passes", "passes over X", DM_SHOWN_PLAIN, c->passes);
  result_report_values(c, result, record);
  dm_record_real(record, "components.largest_residual", "largest residual, of s1", DM_SHOWN_PLAIN,
                 largest);
  dm_record_real(record, "components.loss_of_orthogonality", "loss of orthogonality",
                 DM_SHOWN_PLAIN, loss);
  dm_record_flag(record, "components.converged", "converged", c->converged);
  dm_record_text(record, "verification.verdict", "products verified", "%s",
                 c->job->multiply.verify ? "PASS" : "UNVERIFIED");
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  if (c->gram_s > 0.0)
    dm_record_real(record, "times.gram_s", "  products of all pairs", DM_SHOWN_SECONDS, c->gram_s);
  dm_record_real(record, "times.passes_s", "  passes", DM_SHOWN_SECONDS, c->passes_s);
  dm_record_summary(record,
                    "observations=%lld variables=%lld rank=%lld method=%s passes=%lld "
                    "residual=%.2e ranks=%d time_s=%.3f %s",
                    (long long)c->observations, (long long)c->variables, (long long)c->job->count,
                    dm_components_method_name(c->method), (long long)c->passes, largest,
                    c->run->ranks, seconds, word);
}
