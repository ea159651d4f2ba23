/* file_sink: a rank's rows of C: fetched from the device, finished, checked, written. */
#ifndef DM_JOB_FILE_SINK_H
#define DM_JOB_FILE_SINK_H

#include "check/freivalds.h"
#include "engine/sink.h"
#include "io/file_queue.h"
#include "io/read.h"
#include "job/checkpoint.h"

typedef struct dm_file_sink {
  dm_output *output;
  dm_file_queue *behind; /* writes to it */
  dm_reader *old;        /* the old C; NULL where beta is 0 */
  dm_freivalds *check;   /* NULL: not verified */
  dm_checkpoint *checkpoint;
  int64_t written; /* bytes so far */
  double alpha[2], beta[2];
  struct dm_storing *storing; /* NULL before the first rows */
  uint64_t *device_sum; /* less the checksum of what has left the device; NULL: nothing is summed */
  uint64_t landed;      /* the checksum of what has arrived of that */
  bool differs;         /* after settle: they are not the same */
} dm_file_sink;

/* Of a dm_file_sink.  Settling syncs and closes the output; closing frees what storing took, also
 * when something is under way: once BEHIND is closed. */
extern const dm_sink_ops dm_sink_file;

#endif
