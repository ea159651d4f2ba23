/* child: runs a function in a forked process with limits, which contains crashes. */
#ifndef DM_DATASET_CHILD_H
#define DM_DATASET_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "dataset/dataset.h"

/* WORK(argument, result) fills RESULT according to ARGUMENT. */
typedef dm_status (*dm_child_work)(const void *argument, void *result);

/* What a child sends after its result. */
typedef struct dm_child_tail {
  /* In the child, after the work: the memory to send, or NULL, and its *BYTES. */
  const void *(*of)(const void *result, int64_t *bytes);
  void (*release)(void *result); /* in a child that stays: frees what the result has */
  int64_t limit;                 /* more is an error */
  void *memory;                  /* as received: the caller frees it; NULL: nothing */
  int64_t bytes;
} dm_child_tail;

typedef struct dm_child_task {
  const dm_location *at; /* messages name it */
  double seconds;        /* that storage may take to answer; 0: the default */
  dm_child_work work;
  const void *argument;
  int64_t argument_bytes; /* for a child that stays: they may not point anywhere */
  void *result;
  int64_t bytes;
  dm_child_tail *tail; /* or NULL */
} dm_child_task;

/* Does TASK in a child and copies the result here. Returns the work's error, or DM_E_INPUT: the
 * child crashed or did not end. The result comes from a process that read an untrusted file: the
 * caller validates it. A child that computes, rather than waits, is killed after 10 s. */
dm_status dm_child_do(const dm_child_task *task);

/* The same for a WORK that needs no more. */
dm_status dm_child_run(const dm_location *at, dm_child_work work, const void *argument,
                       void *result, int64_t bytes);

/* A child that stays, as a fork takes longer than a small task; all zero: it was not started. */
typedef struct dm_kept_child {
  pid_t pid; /* 0: none */
  int line;  /* to it and from it */
} dm_kept_child;

/* The same by CHILD, which is started if there is none. Where it does not succeed, its process is
 * ended, and a new one does the task: what a file did to a process harms no later one. */
dm_status dm_child_do_by(dm_kept_child *child, const dm_child_task *task);
void dm_child_dismiss(dm_kept_child *child);

#endif
