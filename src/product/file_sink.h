/* file_sink: copies a rank's rows of C from the device, finishes, checks and writes them, to a file
 * or to the caller's memory. */
#ifndef DM_PRODUCT_FILE_SINK_H
#define DM_PRODUCT_FILE_SINK_H

#include "check/freivalds.h"
#include "engine/endpoint.h"
#include "io/file_queue.h"
#include "io/read.h"
#include "product/checkpoint.h"

typedef struct dm_file_sink {
  dm_output *output;
  dm_file_queue *behind;     /* queue for writes */
  dm_reader *old;            /* the old C in a file; or NULL */
  char *old_tiles;           /* the old C in memory (memory_result.h); or NULL */
  dm_freivalds *check;       /* NULL: not verified; else it sums C, */
  bool of_sums;              /* or the sums that C is made of */
  dm_checkpoint *checkpoint; /* NULL: C is in memory */
  bool holds;                /* a single tile is stored when it is released */
  int64_t written;           /* bytes written so far */
  double alpha[2], beta[2];
  double correlates; /* C holds correlations times this number (core/pairs.h); 0: it does not */
  struct dm_storing *storing; /* NULL before the first rows */
  uint64_t *device_sum; /* less the checksum of what has left the device; NULL: nothing is summed */
  uint64_t landed;      /* the checksum of what has arrived of that */
  bool differs;         /* after settle: they are not the same */
} dm_file_sink;

/* Takes the checksum of the tile that SINK holds, if any, on the device. Before the tile is
 * verified: then no change between this and its arrival escapes both. With an alpha, which is
 * applied later, the checksum is taken after that. */
dm_status dm_file_sink_hold(dm_file_sink *sink, dm_rank_state *local);

/* Stores the tile that SINK holds, from where LOCAL summed it, and settles. */
dm_status dm_file_sink_release(dm_file_sink *sink, dm_rank_state *local);

/* CONTEXT is a dm_file_sink. Settling syncs and closes the output; closing, after BEHIND is closed,
 * frees what storing allocated, even if operations are in progress. */
extern const dm_sink_ops dm_sink_file;

#endif
