/* job_list: the jobs of a file, a command's words in each line. */
#ifndef DM_CLI_JOB_LIST_H
#define DM_CLI_JOB_LIST_H

#include <stdint.h>

#include "core/status.h"

typedef struct dm_job_line {
  int64_t line; /* of the file, from 1 on */
  int words;
  char **word; /* "damier" and the words of the command; NULL at the end */
  char *wrong; /* NULL, or why these are no words */
} dm_job_line;

typedef struct dm_job_list {
  int64_t count;
  dm_job_line *jobs;
} dm_job_list;

/* Reads the jobs of FILE: words as in a shell, with quotes, but nothing is expanded. Of N each, OF
 * "I/N", only the I-th, counted from 0, or 1 with N as the last; "": all. Free with
 * dm_job_list_free, also after an error. DM_E_IO; DM_E_USAGE: OF is no part. */
dm_status dm_job_list_read(const char *file, const char *of, dm_job_list *list);
void dm_job_list_free(dm_job_list *list);

#endif
