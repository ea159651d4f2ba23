/* The equation that options state. */
#include "core/compute.h"
#include "options/request.h"

dm_status dm_request_check_beta(const dm_settings *s, bool named) {
  if (!(named || dm_given(s, "c")) || dm_request_reads_c(s) || dm_given(s, "beta")) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "an old C is named, but no beta, which multiplies it"),
                 "--beta 1 adds the old C; without --c the product is stored alone");
}

/* Products of lines of A with lines of B. */
static void request_set_lines(dm_settings *s, bool of_rows) {
  s->op_a = of_rows ? DM_OP_N : DM_OP_C;
  s->op_b = of_rows ? DM_OP_C : DM_OP_N;
  for (int x = 0; x < 2; x++) {
    const dm_lines lines = of_rows ? DM_ROW_LINES : DM_COLUMN_LINES;
    s->center[x] = (dm_lines_choice){.lines = (int)(s->center_x ? lines : DM_NO_LINES)};
    s->scale[x] = (dm_lines_choice){.lines = (int)(s->scale_x ? lines : DM_NO_LINES)};
  }
}

void dm_request_gram(dm_settings *s, bool of_rows) {
  s->gram = true;
  s->row_axes[1] = s->row_axes[0];
  s->fold[1] = s->fold[0];
  s->complex_axes[1] = s->complex_axes[0];
  request_set_lines(s, of_rows);
  if (!s->grm) return;
  if (!dm_given(s, "missing")) s->missing = (int)DM_MISSING_PAIRWISE;
  if (!dm_given(s, "divide") && s->missing != (int)DM_MISSING_PAIRWISE)
    s->divide = (int)DM_DIVIDE_BY_N;
}

void dm_request_covariance(dm_settings *s, bool of_rows, bool correlation, bool two) {
  s->center_x = s->covariance = true;
  s->scale_x |= correlation;
  s->correlation = correlation;
  /* Correlations are the same whatever deviations are divided by. */
  if (correlation || !dm_given(s, "divide")) s->divide = (int)DM_DIVIDE_BY_N_LESS_1;
  if (two)
    request_set_lines(s, of_rows);
  else
    dm_request_gram(s, of_rows);
}

/* The lines of A, or B, that C's rows, or columns, are of. */
static dm_lines lines_of_c(const dm_settings *s, int x) {
  const bool turned = (x == 0 ? s->op_a : s->op_b) != (int)DM_OP_N;
  return turned == (x == 0) ? DM_COLUMN_LINES : DM_ROW_LINES;
}

static dm_standard standard_of(const dm_settings *s, int x) {
  if (s->metric.kind == DM_COSINE)
    return (dm_standard){
        .scale = lines_of_c(s, x), .by_length = true, .fills = s->missing == (int)DM_MISSING_MEAN};
  if (s->grm)
    return (dm_standard){.center = DM_ROW_LINES,
                         .scale = DM_ROW_LINES,
                         .fills = true,
                         .relates = true,
                         .of_all = s->nonfounders};
  return (dm_standard){.center = (dm_lines)s->center[x].lines,
                       .scale = (dm_lines)s->scale[x].lines,
                       .fills = s->missing == (int)DM_MISSING_MEAN,
                       .center_by = s->center[x].by.file[0] != '\0',
                       .scale_by = s->scale[x].by.file[0] != '\0',
                       .weighted = s->weights.file[0] != '\0',
                       .complete = s->missing == (int)DM_MISSING_COMPLETE};
}

bool dm_request_has_covariances(const dm_settings *s, bool scaled) {
  for (int x = 0; x < 2; x++) {
    const dm_standard of = standard_of(s, x);
    const dm_lines lines = lines_of_c(s, x);
    if (of.center != lines || of.center_by || of.scale_by) return false;
    if (of.scale != (scaled ? lines : DM_NO_LINES)) return false;
  }
  return true;
}

/* What correlations, or cosines, are multiplied with in C; 0: it has none, or something is added to
 * them. */
static double correlates(const dm_settings *s) {
  if (s->metric.kind == DM_COSINE) return s->alpha[0];
  const bool divides =
      s->divide == (int)DM_DIVIDE_BY_N_LESS_1 && dm_request_has_covariances(s, true);
  return divides && !dm_request_reads_c(s) && s->alpha[1] == 0.0 ? s->alpha[0] : 0.0;
}

enum { SUMS_AUTO, SUMS_F32 }; /* of "accumulate" */

/* Gram matrices, covariances and correlations have sums of numbers of one sign. */
static dm_accumulate request_accumulate(const dm_settings *s) {
  const bool squares = s->gram || s->covariance || s->correlation || s->grm;
  if (s->accumulate == SUMS_AUTO) return squares ? DM_ACCUMULATE_F32 : DM_ACCUMULATE_FAST;
  return s->accumulate == SUMS_F32 ? DM_ACCUMULATE_F32 : DM_ACCUMULATE_FAST;
}

dm_equation dm_request_equation(const dm_settings *s) {
  const dm_line_distance distance =
      s->metric.kind == DM_COSINE ? (dm_line_distance){.kind = DM_NO_DISTANCE} : s->metric;
  dm_dtype stated = dm_given(s, "type") ? (dm_dtype)s->type : DM_DTYPE_NONE;
  dm_dtype type_c = dm_given(s, "type-c") ? (dm_dtype)s->type_c : DM_DTYPE_NONE;
  if (distance.kind == DM_NO_DISTANCE && (stated == DM_I32 || stated == DM_I64)) {
    if (type_c == DM_DTYPE_NONE) type_c = stated; /* by products in f64 that are exact */
    stated = DM_F64;
  }
  return (dm_equation){
      .op_a = (dm_op)s->op_a,
      .op_b = (dm_op)s->op_b,
      .alpha = {s->alpha[0], s->alpha[1]},
      .beta = {s->beta[0], s->beta[1]},
      .type = distance.kind == DM_NO_DISTANCE ? stated : DM_F64,
      .type_c = type_c,
      .divide = (dm_divide)s->divide,
      .correlates = correlates(s),
      .distance = distance,
      .standard = {standard_of(s, 0), standard_of(s, 1)},
      .weights_are = (dm_weights_are)s->weights_are,
      .symmetric = s->gram,
      .half = (dm_half)s->half,
      .rounds = s->rounding,
      .compute = (int)s->compute,
      .accumulate = request_accumulate(s),
      .accumulate_stated = s->accumulate != SUMS_AUTO,
  };
}

dm_equation dm_request_equation_of(const dm_settings *s, const dm_dataset *a, const dm_dataset *b) {
  dm_equation equation = dm_request_equation(s);
  const dm_dtype both = s->strict_types ? DM_DTYPE_NONE : dm_equation_promotes(a, b, &equation);
  if (both != DM_DTYPE_NONE) equation.type = both;
  return equation;
}

bool dm_request_reads_c(const dm_settings *s) {
  return !dm_is_zero(s->beta);
}
