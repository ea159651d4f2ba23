/* library: what the parts of the library share.  Every call is checked and answered in context.c;
 * the others speak dm_status. */
#ifndef DM_LIB_LIBRARY_H
#define DM_LIB_LIBRARY_H

#include "cli/request.h"
#include "run/run.h"
#include <damier.h>

struct damier_context {
  dm_run run;
  dm_call call; /* settings: the options that were set */
  char *record; /* JSON, or NULL */
  bool has_old;
  damier_matrix old; /* that beta multiplies, where it was stated */
  char *old_file;    /* its name, copied */
  int (*progress)(void *argument, int64_t done, int64_t total);
  void *argument;
  int64_t tile, tiles;         /* of C: those before, and all */
  volatile sig_atomic_t asked; /* to stop */
};

/* A product as the caller states it. */
typedef struct dm_posed {
  damier_context *context;
  const damier_matrix *a, *b, *c;
  bool plan_only;
  bool in_files; /* everything is */
  /* What dm_posed_look finds: */
  dm_call call;       /* the options of the context with these files */
  bool old_is_c;      /* beta multiplies what C in memory has */
  damier_matrix old;  /* that beta multiplies, where it is not 0 */
  dm_cli_files files; /* of matrices in memory: their shape and type */
  /* Where C failed its verification and is computed again: */
  int64_t repeated;      /* its tiles; 0: it is the first time */
  int64_t process_bytes; /* as for the first time, so that the plan is the same */
} dm_posed;

/* Collective: fills POSED with what rank 0 sees of the files. (look.c) */
dm_status dm_posed_look(dm_posed *posed);

/* Collective.  On rank 0 RECORD is filled.  The first two are for everything in files: what `damier
 * multiply` does. */
dm_status dm_posed_multiply_files(dm_posed *posed, dm_record *record);
dm_status dm_posed_plan_files(dm_posed *posed, dm_record *record);
dm_status dm_posed_multiply(dm_posed *posed, dm_record *record);

/* Collective: MATRICES are A, B and C, each in a file. */
dm_status dm_verify_in_files(damier_context *context, const damier_matrix *const matrices[3],
                             dm_record *record);

/* Collective.  LOCATION NULL: the library.  *told: RECORD is worth keeping even where this fails.
 */
dm_status dm_tell_of(damier_context *context, const char *location, dm_record *record, bool *told);

#endif
