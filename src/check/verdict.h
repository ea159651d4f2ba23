/* verdict: records and reports the outcome of a verification. */
#ifndef DM_CHECK_VERDICT_H
#define DM_CHECK_VERDICT_H

#include "check/freivalds.h"
#include "core/log.h"
#include "core/status.h"
#include "dataset/meaning.h"
#include "run/record.h"

/* "PASS", "FAIL", "PARTIAL" (some rows or columns were left out) or "UNCHECKED" (all were). */
const char *dm_verdict_word(const dm_verdict *verdict);

/* What was verified. */
typedef struct dm_verified {
  const dm_problem *problem;
  const double *alpha, *beta;  /* NULL: 1 and 0 */
  bool by_attributes;          /* parts of the equation are from C's attributes, not the user's */
  const dm_standard *standard; /* how A and B were centered and scaled; NULL: not at all */
} dm_verified;

enum { DM_VERIFIED_TEXT = 512, DM_SEED_TEXT = 24 };

/* " op_a=t alpha=2 compute=tf32": what differs from C = A B, for the last line of a report. */
const char *dm_verified_words(const dm_verified *checked, char text[DM_VERIFIED_TEXT]);

/* "0x0123456789abcdef"; "" if no random vector was used. Writes and returns TEXT. */
const char *dm_verdict_seed(const dm_verdict *verdict, char text[DM_SEED_TEXT]);

/* Warns of rows and columns that hold NaN or Inf, whether that was expected or not; ALPHA may be
 * NULL. */
void dm_verdict_say(const dm_verdict *verdict, const double *alpha, const dm_log *log);

/* Fills RECORD and, unless LOG is NULL, warns. */
void dm_verdict_record(const dm_verdict *verdict, const dm_verified *checked, const dm_log *log,
                       dm_record *record);

/* DM_OK, DM_E_VERIFY or, unless ALLOWED, DM_E_UNCHECKED; errors are marked agreed. */
dm_status dm_verdict_status(const dm_verdict *verdict, const char *what, bool allowed);

/* Whether STATUS is the outcome of a verification, so that there is something to report. */
bool dm_verdict_is(const dm_error *status);

#endif
