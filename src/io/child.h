/* child: runs a function in a forked process with limits, so that a crash in it harms nobody. */
#ifndef DM_IO_CHILD_H
#define DM_IO_CHILD_H

#include <stdint.h>

#include "io/dataset.h"

/* WORK(argument, result) reads what ARGUMENT says and fills RESULT. */
typedef dm_status (*dm_child_work)(const void *argument, void *result);

/* Runs WORK in a child and copies the BYTES of its RESULT here.  The error is WORK's own, or
 * DM_E_INPUT where the child crashed or found no end.  RESULT comes from a process that read an
 * untrusted file: the caller validates it.  AT is named in messages. */
dm_status dm_child_run(const dm_location *at, dm_child_work work, const void *argument,
                       void *result, int64_t bytes);

/* The same for a storage that may take up to SECONDS (0: what is usual) to answer.  A child that
 * computes, and does not wait, is ended after 10 s in any case. */
dm_status dm_child_run_within(const dm_location *at, double seconds, dm_child_work work,
                              const void *argument, void *result, int64_t bytes);

#endif
