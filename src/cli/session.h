/* session: the way of a verb from its preparation through MPI to an exit code, and how errors look.
 */
#ifndef DM_CLI_SESSION_H
#define DM_CLI_SESSION_H

#include "cli/reports.h"
#include "run/record.h"
#include "run/run.h"

/* What a verb does on all ranks.  SHARED is plain data; rank 0's goes to all before RUN is called.
 */
typedef struct dm_work {
  dm_status (*run)(dm_run *run, const dm_call *call, void *shared, dm_record *record);
  void *shared;
  int64_t bytes;
  bool warms_up; /* a GPU, if there is one, will be used: it is started while MPI is */
  bool reports;  /* it makes and publishes its records by itself: RUN's RECORD is NULL */
} dm_work;

/* Starts MPI, agrees on PREPARED (taken), shares, works, prints and writes the record, ends MPI.
 * Returns the exit code. */
int dm_cli_run_job(dm_call *call, dm_status prepared, const dm_work *work);

/* Prints the error, if there is one, frees it, and returns the exit code. */
int dm_cli_tell(const dm_call *call, dm_status status);

/* The same at the end of a verb without MPI, when the reports are closed. */
int dm_cli_finish(const dm_call *call, dm_status status);

/* The block that a user sees; RUN is NULL outside MPI. */
void dm_cli_print_error(const dm_error *error, const dm_run *run, FILE *out);

#endif
