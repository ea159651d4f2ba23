/* verdict: records and reports the outcome of a verification. */
#ifndef DM_CHECK_VERDICT_H
#define DM_CHECK_VERDICT_H

#include "check/freivalds.h"
#include "core/log.h"
#include "run/record.h"

/* "PASS", "FAIL", "PARTIAL" (some rows or columns were left out) or "UNCHECKED" (all were). */
const char *dm_verdict_word(const dm_verdict *verdict);

/* Fills RECORD and warns about rows and columns left out. */
void dm_verdict_record(const dm_verdict *verdict, const dm_log *log, dm_record *record);

/* DM_OK, DM_E_VERIFY or, unless ALLOWED, DM_E_UNCHECKED; errors are marked agreed. */
dm_status dm_verdict_status(const dm_verdict *verdict, const char *what, bool allowed);

/* Whether STATUS is the outcome of a verification, so that there is something to report. */
bool dm_verdict_is(const dm_error *status);

#endif
