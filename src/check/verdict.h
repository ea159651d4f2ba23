/* verdict: how the outcome of a verification is recorded and told. */
#ifndef DM_CHECK_VERDICT_H
#define DM_CHECK_VERDICT_H

#include "check/freivalds.h"
#include "core/log.h"
#include "run/record.h"

/* "PASS", "FAIL", "PARTIAL" where rows or columns had to be left out, or "UNCHECKED": all of them.
 */
const char *dm_verdict_word(const dm_verdict *verdict);

/* Fills RECORD and warns of what was left out. */
void dm_verdict_record(const dm_verdict *verdict, const dm_log *log, dm_record *record);

/* DM_OK, or DM_E_VERIFY or, unless ALLOWED, DM_E_UNCHECKED, marked agreed. */
dm_status dm_verdict_status(const dm_verdict *verdict, const char *what, bool allowed);

/* Whether STATUS is one of these: then there is something to report. */
bool dm_verdict_is(const dm_error *status);

#endif
