/* verdict: how the outcome of a verification is recorded and told. */
#ifndef DM_CHECK_VERDICT_H
#define DM_CHECK_VERDICT_H

#include "check/freivalds.h"
#include "core/log.h"
#include "run/record.h"

/* "PASS", "FAIL", or "UNCHECKED" where every row had to be left out. */
const char *dm_verdict_word(const dm_verdict *verdict);

/* Fills RECORD and warns of what was left out. */
void dm_verdict_record(const dm_verdict *verdict, const dm_log *log, dm_record *record);

/* DM_OK, or DM_E_VERIFY marked agreed. */
dm_status dm_verdict_status(const dm_verdict *verdict, const char *what);

#endif
