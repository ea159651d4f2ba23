#include "check/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The fraction of C that was compared, from 0 to 1. */
static double part_of(const dm_verdict *v) {
  const double rows = (double)v->rows_checked, cols = (double)v->cols_checked;
  const double left_rows = (double)v->rows_left_out, left_cols = (double)v->cols_left_out;
  if (rows <= 0.0 || cols <= 0.0) return 0.0;
  return rows / (rows + left_rows) * (cols / (cols + left_cols));
}

const char *dm_verdict_word(const dm_verdict *verdict) {
  if (!verdict->pass) return "FAIL";
  if (part_of(verdict) <= 0.0) return "UNCHECKED";
  const bool left_out = verdict->rows_left_out + verdict->cols_left_out > 0;
  return left_out || verdict->strained ? "PARTIAL" : "PASS";
}

/* The word and, for PARTIAL, the percentage. */
static const char *describe(const dm_verdict *verdict, char text[48]) {
  const char *word = dm_verdict_word(verdict);
  snprintf(text, 48, strcmp(word, "PARTIAL") == 0 ? "%s, %.3g %% of C" : "%s", word,
           floor(part_of(verdict) * 1000.0) / 10.0);
  return text;
}

static void say_left_out(const dm_verdict *v, const dm_log *log) {
  const long long rows = v->rows_left_out, cols = v->cols_left_out;
  if (rows + cols > 0)
    dm_log_line(log, DM_LOG_WARNING,
                "%lld rows and %lld columns hold NaN or Inf and were not verified", rows, cols);
  if (v->rows_by_pattern + v->cols_by_pattern > 0)
    dm_log_line(log, DM_LOG_NOTE, "%lld rows and %lld columns of C are NaN or Inf, as expected",
                (long long)v->rows_by_pattern, (long long)v->cols_by_pattern);
}

void dm_verdict_record(const dm_verdict *verdict, const dm_log *log, dm_record *record) {
  char words[48];
  describe(verdict, words);
  say_left_out(verdict, log);
  if (verdict->exact)
    dm_record_text(record, "verification.method", "verified", "exactly, modulo 2^64: %s", words);
  else
    dm_record_text(record, "verification.method", "verified", "residual %.2g of the bound: %s",
                   verdict->residual, words);
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
  dm_record_real(record, "verification.part", NULL, DM_SHOWN_PLAIN, part_of(verdict));
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, verdict->residual);
  dm_record_real(record, "verification.relative", NULL, DM_SHOWN_PLAIN, verdict->relative);
  dm_record_real(record, "verification.norm", "norm of C", DM_SHOWN_PLAIN, verdict->norm);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    dm_record_integer(record, counts[i].path, NULL, DM_SHOWN_PLAIN, counts[i].value);
}

static dm_status unchecked(const dm_verdict *verdict, const char *what) {
  const double part = part_of(verdict);
  if (part <= 0.0)
    return dm_hint(dm_fail(DM_E_UNCHECKED, "nothing of %s could be verified", what),
                   "it was written, but it is not known to be right; --allow-unchecked exits with 0");
  return dm_hint(dm_fail(DM_E_UNCHECKED, "only %.3g %% of %s could be verified",
                         floor(part * 1000.0) / 10.0, what),
                 "it was written, and the verified part is right; --allow-unchecked exits with 0");
}

dm_status dm_verdict_status(const dm_verdict *verdict, const char *what, bool allowed) {
  dm_status status = DM_OK;
  if (!verdict->pass)
    status =
        dm_fail(DM_E_VERIFY, "%s failed its verification: row %lld is off by %.3g times the bound",
                what, (long long)verdict->worst_row, verdict->residual);
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
