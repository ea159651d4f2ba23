#include "check/verdict.h"

const char *dm_verdict_word(const dm_verdict *verdict) {
  if (!verdict->pass) return "FAIL";
  return verdict->rows_checked > 0 ? "PASS" : "UNCHECKED";
}

void dm_verdict_record(const dm_verdict *verdict, const dm_log *log, dm_record *record) {
  const long long rows = verdict->rows_left_out, cols = verdict->cols_left_out;
  if (rows + cols > 0)
    dm_log_line(log, DM_LOG_WARNING,
                "%lld rows and %lld columns hold NaN or Inf and were not verified", rows, cols);
  if (verdict->exact)
    dm_record_text(record, "verification.method", "verified", "exactly, modulo 2^64: %s",
                   dm_verdict_word(verdict));
  else
    dm_record_text(record, "verification.method", "verified", "residual %.2g of the bound: %s",
                   verdict->residual, dm_verdict_word(verdict));
  dm_record_text(record, "verification.verdict", NULL, "%s", dm_verdict_word(verdict));
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, verdict->residual);
  dm_record_real(record, "verification.relative", NULL, DM_SHOWN_PLAIN, verdict->relative);
  dm_record_real(record, "verification.norm", "norm of C", DM_SHOWN_PLAIN, verdict->norm);
  dm_record_integer(record, "verification.rows_left_out", NULL, DM_SHOWN_PLAIN, rows);
  dm_record_integer(record, "verification.cols_left_out", NULL, DM_SHOWN_PLAIN, cols);
}

dm_status dm_verdict_status(const dm_verdict *verdict, const char *what) {
  if (verdict->pass) return DM_OK;
  dm_status status =
      dm_fail(DM_E_VERIFY, "%s failed its verification: row %lld is off by %.3g times the bound",
              what, (long long)verdict->worst_row, verdict->residual);
  status->agreed = true;
  return status;
}
