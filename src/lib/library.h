/* library: what the parts of the library share.  Every call is checked and answered in context.c;
 * the others speak dm_status. */
#ifndef DM_LIB_LIBRARY_H
#define DM_LIB_LIBRARY_H

#include "cli/verb.h"
#include "run/run.h"
#include <damier.h>

struct damier_context {
  dm_run run;
  dm_call call; /* settings: the options that were set */
  char *record; /* JSON, or NULL */
  int (*progress)(void *argument, int64_t done, int64_t total);
  void *argument;
  volatile sig_atomic_t asked; /* to stop */
};

/* The three matrices of a product. */
typedef struct dm_matrices {
  const damier_matrix *a, *b, *c;
} dm_matrices;

/* Collective; PLAN_ONLY: nothing is multiplied.  On rank 0 RECORD is filled. */
dm_status dm_multiply_in_files(damier_context *context, const dm_matrices *matrices,
                               dm_record *record);
dm_status dm_multiply_in_memory(damier_context *context, const dm_matrices *matrices,
                                bool plan_only, dm_record *record);
dm_status dm_verify_in_files(damier_context *context, const dm_matrices *matrices,
                             dm_record *record);

/* Collective.  LOCATION NULL: the library.  *told: RECORD is worth keeping even where this fails.
 */
dm_status dm_tell_of(damier_context *context, const char *location, dm_record *record, bool *told);
dm_status dm_plan_in_files(damier_context *context, const dm_matrices *matrices, dm_record *record);

#endif
