/* child: runs a function in a forked process with limits, which contains crashes. */
#ifndef DM_DATASET_CHILD_H
#define DM_DATASET_CHILD_H

#include <stdint.h>

#include "dataset/dataset.h"

/* WORK(argument, result) fills RESULT according to ARGUMENT. */
typedef dm_status (*dm_child_work)(const void *argument, void *result);

/* Runs WORK in a child and copies the BYTES of its RESULT here. Returns WORK's error, or
 * DM_E_INPUT: the child crashed or did not end. RESULT comes from a process that read an untrusted
 * file: the caller validates it. Messages name AT. */
dm_status dm_child_run(const dm_location *at, dm_child_work work, const void *argument,
                       void *result, int64_t bytes);

/* What a child sends after its result. */
typedef struct dm_child_tail {
  /* In the child, after WORK: the memory to send, or NULL, and its *BYTES. */
  const void *(*of)(const void *result, int64_t *bytes);
  int64_t limit; /* more is an error */
  void *memory;  /* as received: the caller frees it; NULL: nothing */
  int64_t bytes;
} dm_child_tail;

/* The same for storage that may take up to SECONDS (0: the default) to answer. A child that
 * computes, rather than waits, is killed after 10 s in any case. TAIL may be NULL. */
dm_status dm_child_run_within(const dm_location *at, double seconds, dm_child_work work,
                              const void *argument, void *result, int64_t bytes,
                              dm_child_tail *tail);

#endif
