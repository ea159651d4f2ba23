/* multiply_impl: what the parts of a multiplication from files to a file share. */
#ifndef DM_JOB_MULTIPLY_IMPL_H
#define DM_JOB_MULTIPLY_IMPL_H

#include "engine/prefetch.h"
#include "engine/setup.h"
#include "engine/streamed_check.h"
#include "job/store.h"
#include "run/progress.h"

/* One multiplication from files to a file; what is open, so that it can be closed in one place. */
typedef struct dm_job {
  dm_run *run;
  const dm_multiply *multiply;
  dm_setup setup;
  dm_rank_state local;
  bool rank_opened;
  dm_source source[2];
  dm_file_queue *ahead;
  dm_prefetch prefetch;
  dm_sink sink;
  dm_output_form form; /* completed */
  dm_streamed_check streamed;
  dm_output_file file;
  int64_t taken_up; /* tiles of an earlier run, */
  bool from_files;  /* for whose sake C is verified as it is in the file */
  bool keep_part;
  dm_progress progress;
  dm_keepalive moves;    /* of readers while panels are multiplied: there nobody stops alone */
  double started, began; /* began: planned, and C's file is there */
} dm_job;

/* Reads, multiplies and writes the tiles that are not there yet.  (multiply_tiles.c) */
dm_status dm_multiply_tiles(dm_job *job);

/* Bytes of A, B and the old C that this rank has read. */
int64_t dm_multiply_bytes_read(const dm_job *job);

#endif
