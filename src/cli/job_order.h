/* job_order: how many jobs of a list may run at the same time, if the user does not say. */
#ifndef DM_CLI_JOB_ORDER_H
#define DM_CLI_JOB_ORDER_H

#include "cli/job_list.h"

/* More than 1 for small jobs that only wait for each other's disk: whose files are there, and
 * are no output of the list. In doubt 1. */
int dm_job_list_at_once(const dm_job_list *list);

#endif
