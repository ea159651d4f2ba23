/* call_checks: what a call states, before anything is done: calls that cannot be right are refused
 * on all ranks. */
#ifndef DM_API_CALL_CHECKS_H
#define DM_API_CALL_CHECKS_H

#include "api/library.h"

/* The matrices and the location of a call; NULL: it has none. */
typedef struct dm_call_checked {
  const char *call; /* "multiply", ... */
  const damier_matrix *matrices[3];
  const char *location;
} dm_call_checked;

/* The first collective step of all calls, since ranks may have called different functions.
 * DM_E_USAGE on all ranks if one states what cannot be right, if operands overlap C, or if the
 * ranks state different calls, options or files. */
dm_status dm_checks(const damier_context *context, const dm_call_checked *checked);

/* Whether OLD has the same elements as C in the same places. */
bool dm_checks_is_same(const damier_matrix *old, const damier_matrix *c);

#endif
