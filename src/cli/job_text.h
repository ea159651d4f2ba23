/* job_text: what jobs print that run at the same time, so that it can be told job by job. */
#ifndef DM_CLI_JOB_TEXT_H
#define DM_CLI_JOB_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* What one job printed to standard output and to standard error. */
typedef struct dm_job_text {
  char *of[2];
  int64_t bytes[2];
} dm_job_text;

/* Prints and frees TEXT. */
void dm_job_text_tell(dm_job_text *text);

/* What the jobs of one process print, one after another, in memory: it outlives the process. */
typedef struct dm_job_sheet {
  int file[2];
  int64_t taken[2]; /* bytes */
} dm_job_sheet;

/* False: not possible; everything is printed at once then. */
bool dm_job_sheet_open(dm_job_sheet *sheet);
void dm_job_sheet_close(dm_job_sheet *sheet);

/* In the process of the jobs: from now on they print to SHEET; then the bytes so far. */
void dm_job_sheet_use(const dm_job_sheet *sheet);
void dm_job_sheet_ends(const dm_job_sheet *sheet, int64_t ends[2]);

/* Takes what was printed up to ENDS. */
void dm_job_sheet_take(dm_job_sheet *sheet, const int64_t ends[2], dm_job_text *text);

#endif
