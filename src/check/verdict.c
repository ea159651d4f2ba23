#include "check/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fraction of C that was compared, from 0 to 1. */
static double verdict_part_of(const dm_verdict *v) {
  const double rows = (double)v->rows_checked, cols = (double)v->cols_checked;
  const double left_rows = (double)v->rows_left_out, left_cols = (double)v->cols_left_out;
  if (rows <= 0.0 || cols <= 0.0) return 0.0;
  return rows / (rows + left_rows) * (cols / (cols + left_cols));
}

const char *dm_verdict_word(const dm_verdict *verdict) {
  if (!verdict->pass) return "FAIL";
  if (verdict_part_of(verdict) <= 0.0) return "UNCHECKED";
  const bool left_out = verdict->rows_left_out + verdict->cols_left_out > 0;
  return left_out || verdict->strained ? "PARTIAL" : "PASS";
}

/* The word and, for PARTIAL, the percentage. */
static const char *verdict_describe(const dm_verdict *verdict, char text[48]) {
  const char *word = dm_verdict_word(verdict);
  snprintf(text, 48, strcmp(word, "PARTIAL") == 0 ? "%s, %.3g %% of C" : "%s", word,
           floor(verdict_part_of(verdict) * 1000.0) / 10.0);
  return text;
}

/* So many ROWS and COLS, in words. */
static const char *lines_text(char text[64], int64_t rows, int64_t cols) {
  const char *and = rows > 0 && cols > 0 ? " and " : "";
  char of_rows[28] = "", of_cols[28] = "";
  if (rows > 0) snprintf(of_rows, 28, "%lld row%s", (long long)rows, rows == 1 ? "" : "s");
  if (cols > 0) snprintf(of_cols, 28, "%lld column%s", (long long)cols, cols == 1 ? "" : "s");
  snprintf(text, 64, "%s%s%s", of_rows, and, of_cols);
  return text;
}

void dm_verdict_say(const dm_verdict *v, const double *alpha, const dm_log *log) {
  const int64_t rows = v->rows_left_out, cols = v->cols_left_out;
  char which[64];
  const bool small = alpha && hypot(alpha[0], alpha[1]) < 1.0;
  if (rows + cols > 0)
    dm_log_line(log, DM_LOG_WARNING, "not verified: %s with NaN or Inf%s",
                lines_text(which, rows, cols),
                small ? "; where A B overflows before alpha is applied, scale A or B instead" : "");
  bool cut_off;
  const double mean = dm_verdict_signed(v, &cut_off);
  if (cut_off && v->pass)
    dm_log_line(log, DM_LOG_WARNING,
                "elements of C are too %s by %.1e on average: sums are cut off; f16 and bf16 with "
                "--accumulate f32 are not",
                mean < 0.0 ? "small" : "large", fabs(mean));
  if (v->rows_by_pattern + v->cols_by_pattern > 0)
    dm_log_line(log, DM_LOG_WARNING, "as expected, NaN or Inf in %s of C",
                lines_text(which, v->rows_by_pattern, v->cols_by_pattern));
}

/* The exact value, in as few digits as possible. */
static const char *verdict_number(double value, char text[32]) {
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, 32, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

/* Z as the factor of a term: "", "2 " or "(1,-2) " after its sign, which follows LEAD[0] or
 * LEAD[1]. */
static void put_factor(const double z[2], const char *const lead[2], char text[96]) {
  char re[32], im[32];
  if (z[1] != 0.0)
    snprintf(text, 96, "%s(%s,%s) ", lead[0], verdict_number(z[0], re), verdict_number(z[1], im));
  else if (fabs(z[0]) == 1.0)
    snprintf(text, 96, "%s", lead[signbit(z[0]) != 0]);
  else
    snprintf(text, 96, "%s%s ", lead[signbit(z[0]) != 0], verdict_number(fabs(z[0]), re));
}

/* ", columns of A centered and scaled" */
static void put_standards(const dm_standard *standard, char text[128]) {
  text[0] = '\0';
  for (int x = 0; standard && x < 2; x++) {
    const bool centers = standard[x].center != DM_NO_LINES,
               scales = standard[x].scale != DM_NO_LINES;
    const size_t used = strlen(text);
    if (centers || scales)
      snprintf(text + used, 128 - used, ", %s of %c %s%s%s",
               dm_lines_name(dm_standard_lines(&standard[x])), "AB"[x], centers ? "centered" : "",
               centers && scales ? " and " : "", scales ? "scaled" : "");
  }
}

/* "C = 2 A^T B - C0, columns of A centered in f64": the equation and the precision. */
static const char *checked_text(const dm_verified *checked, char text[DM_VERIFIED_TEXT]) {
  static const double one[2] = {1.0, 0.0};
  static const char *const ops[] = {"", "^T", "^H"}, *const first[] = {"", "-"},
                           *const next[] = {" + ", " - "};
  const dm_problem *p = checked->problem;
  char alpha[96], beta[96] = "", c[16] = "", standards[128];
  put_factor(checked->alpha ? checked->alpha : one, first, alpha);
  const bool adds = p->reads_c && checked->beta;
  if (adds) put_factor(checked->beta, next, beta);
  if (p->c != p->accumulator) snprintf(c, sizeof c, ", C in %s", dm_dtype_name(p->c));
  put_standards(checked->standard, standards);
  snprintf(text, DM_VERIFIED_TEXT, "C = %sA%s B%s%s%s%s%s in %s%s", alpha, ops[p->op_a],
           ops[p->op_b], beta, adds ? "C0" : "", standards,
           checked->by_attributes ? " (as C's attributes state)" : "",
           dm_compute_products(&p->compute, p->work), c);
  return text;
}

static void verdict_add_scalar(const char *name, const double *z, double usual, char *text) {
  char re[32], im[32];
  const size_t used = strlen(text);
  if (!z || (z[0] == usual && z[1] == 0.0)) return;
  snprintf(text + used, DM_VERIFIED_TEXT - used, z[1] == 0.0 ? " %s=%s" : " %s=%s,%s", name,
           verdict_number(z[0], re), verdict_number(z[1], im));
}

static void verdict_add_lines(const char *name, int matrix, dm_lines lines, char *text) {
  const size_t used = strlen(text);
  if (lines != DM_NO_LINES)
    snprintf(text + used, DM_VERIFIED_TEXT - used, " %s_%c=%s", name, "ab"[matrix],
             dm_lines_name(lines));
}

const char *dm_verified_words(const dm_verified *checked, char text[DM_VERIFIED_TEXT]) {
  static const char *const a[] = {"", " op_a=t", " op_a=c"}, *const b[] = {"", " op_b=t",
                                                                           " op_b=c"};
  const dm_problem *p = checked->problem;
  snprintf(text, DM_VERIFIED_TEXT, "%s%s", a[p->op_a], b[p->op_b]);
  verdict_add_scalar("alpha", checked->alpha, 1.0, text);
  verdict_add_scalar("beta", checked->beta, 0.0, text);
  for (int x = 0; checked->standard && x < 2; x++) {
    verdict_add_lines("center", x, checked->standard[x].center, text);
    verdict_add_lines("scale", x, checked->standard[x].scale, text);
  }
  const size_t used = strlen(text);
  if (!dm_compute_is_plain(&p->compute))
    snprintf(text + used, DM_VERIFIED_TEXT - used, " compute=%s", p->compute.name);
  return text;
}

const char *dm_verdict_seed(const dm_verdict *verdict, char text[DM_SEED_TEXT]) {
  text[0] = '\0';
  if (verdict->drawn) snprintf(text, DM_SEED_TEXT, "0x%016llx", (unsigned long long)verdict->seed);
  return text;
}

/* Equation, precision, residual, seed and verdict in one line: a PASS says what it is worth. */
static void record_line(const dm_verdict *verdict, const dm_verified *checked, dm_record *record) {
  char words[48], equation[DM_VERIFIED_TEXT], seed[DM_SEED_TEXT], residual[48] = "exactly";
  verdict_describe(verdict, words);
  checked_text(checked, equation);
  dm_verdict_seed(verdict, seed);
  if (!verdict->exact)
    snprintf(residual, sizeof residual, "residual %.2g of the bound", verdict->residual);
  else if (verdict->drawn)
    snprintf(residual, sizeof residual, "exactly modulo 2^64");
  dm_record_text(record, "verification.method", "verified", "%s, %s%s%s: %s", equation, residual,
                 seed[0] ? ", seed " : "", seed, words);
  if (!verdict->exact && verdict->drawn)
    dm_record_line(record, "",
                   "residual: largest error of C x, a random x; bound: what rounding may cause; "
                   "--verify-seed repeats x");
  dm_record_text(record, "verification.equation", NULL, "%s", equation);
  if (seed[0]) dm_record_text(record, "verification.seed", NULL, "%s", seed);
}

void dm_verdict_record(const dm_verdict *verdict, const dm_verified *checked, const dm_log *log,
                       dm_record *record) {
  if (log) dm_verdict_say(verdict, checked->alpha, log);
  record_line(verdict, checked, record);
  const struct {
    const char *path;
    int64_t value;
  } counts[] = {{"verification.rows_left_out", verdict->rows_left_out},
                {"verification.cols_left_out", verdict->cols_left_out},
                {"verification.repaired_tiles", verdict->repaired},
                {"verification.rows_by_pattern", verdict->rows_by_pattern},
                {"verification.cols_by_pattern", verdict->cols_by_pattern}};
  if (verdict->repaired > 0)
    dm_record_text(record, "verification.repairs", "repaired", "%lld %s of C computed again",
                   (long long)verdict->repaired, verdict->repaired == 1 ? "tile" : "tiles");
  dm_record_text(record, "verification.verdict", NULL, "%s", dm_verdict_word(verdict));
  dm_record_real(record, "verification.part", NULL, DM_SHOWN_PLAIN, verdict_part_of(verdict));
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, verdict->residual);
  dm_record_real(record, "verification.relative", NULL, DM_SHOWN_PLAIN, verdict->relative);
  const dm_row_bias *bias = &verdict->bias;
  if (bias->rows > 0.0 && bias->allowed < verdict->unbiased * bias->rows) { /* else terms cancel */
    bool cut_off;
    dm_record_real(record, "verification.signed", NULL, DM_SHOWN_PLAIN,
                   dm_verdict_signed(verdict, &cut_off));
  }
  dm_record_real(record, "verification.norm", "norm of C", DM_SHOWN_PLAIN, verdict->norm);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    dm_record_integer(record, counts[i].path, NULL, DM_SHOWN_PLAIN, counts[i].value);
}

static dm_status unchecked(const dm_verdict *verdict, const char *what) {
  const double part = verdict_part_of(verdict);
  if (part <= 0.0)
    return dm_hint(
        dm_fail(DM_E_UNCHECKED, "nothing of %s could be verified", what),
        "it was written, but it is not known to be right; --allow-unchecked exits with 0");
  return dm_hint(dm_fail(DM_E_UNCHECKED, "only %.3g %% of %s could be verified",
                         floor(part * 1000.0) / 10.0, what),
                 "it was written, and the verified part is right; --allow-unchecked exits with 0");
}

dm_status dm_verdict_status(const dm_verdict *verdict, const char *what, bool allowed) {
  dm_status status = DM_OK;
  if (!verdict->pass && verdict->exact)
    status = dm_fail(DM_E_VERIFY, "%s failed its verification: %s %lld is not that of the product",
                     what, verdict->of_columns ? "column" : "row", (long long)verdict->worst_row);
  else if (!verdict->pass)
    status = dm_fail(
        DM_E_VERIFY, "%s failed its verification: %s %lld is off by %.3g times the bound", what,
        verdict->of_columns ? "column" : "row", (long long)verdict->worst_row, verdict->residual);
  else if (!allowed && strcmp(dm_verdict_word(verdict), "PASS") != 0)
    status = unchecked(verdict, what);
  if (status) status->agreed = true;
  return status;
}

bool dm_verdict_is(const dm_error *status) {
  return status && status->agreed &&
         (status->code == DM_E_VERIFY || status->code == DM_E_UNCHECKED ||
          status->code == DM_E_CORRUPT);
}
