/* session: runs a verb from its preparation through MPI to an exit code, and prints errors. */
#ifndef DM_CLI_SESSION_H
#define DM_CLI_SESSION_H

#include "backend/gpu_list.h"
#include "cli/call.h"
#include "dataset/dataset.h"
#include "run/record.h"
#include "run/run.h"

enum { DM_CLI_DATASETS = 4 };

/* The work of a verb on all ranks. SHARED is plain data; rank 0 sends its copy to all before RUN is
 * called. */
typedef struct dm_work {
  dm_status (*run)(dm_run *run, const dm_call *call, void *shared, dm_record *record);
  void *shared;
  int64_t bytes;
  dm_dataset *const *datasets; /* in SHARED; the caller frees them (dm_dataset_free) */
  int dataset_count;           /* at most DM_CLI_DATASETS */
  int threads; /* > 1: so many ranks, at most DM_GPUS, are threads of this process, without MPI */
  const dm_gpu_list *spare; /* tried if none of the chosen GPUs starts; NULL: none */
  bool warms_up;            /* will use a GPU, if there is one: start it together with MPI */
  bool warms_up_alone;      /* the same without a launcher, before the work begins */
  bool reports;             /* publishes its own records; RUN's RECORD is NULL */
} dm_work;

/* Starts MPI, or threads, agrees on PREPARED (which it frees), shares the data, runs the work,
 * prints and writes the record, and ends MPI. Returns the exit code. */
int dm_cli_run_job(dm_call *call, dm_status prepared, const dm_work *work);

/* Prints and frees the error, if any, and returns the exit code. */
int dm_cli_end(const dm_call *call, dm_status status);

/* The same at the end of a verb without MPI; also closes the reports. */
int dm_cli_finish(const dm_call *call, dm_status status);

#endif
