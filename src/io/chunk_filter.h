/* chunk_filter: applies and undoes HDF5's filters on one chunk.
 *
 * HDF5 itself (1.10) trusts what a chunk says of its size: one that inflates to less than it should
 * is read beyond its end.  Here every length is checked. */
#ifndef DM_IO_CHUNK_FILTER_H
#define DM_IO_CHUNK_FILTER_H

#include <stdint.h>

#include "core/status.h"

enum { DM_CHUNK_FILTERS = 8 };

typedef enum dm_chunk_step {
  DM_STEP_DEFLATE,
  DM_STEP_SHUFFLE,
  DM_STEP_FLETCHER32,
  DM_STEP_LZF, /* is undone only */
} dm_chunk_step;

/* The filters in the order in which they were applied. */
typedef struct dm_chunk_filter {
  int count;
  dm_chunk_step step[DM_CHUNK_FILTERS];
  int64_t shuffled_size[DM_CHUNK_FILTERS]; /* bytes of the elements that were shuffled */
} dm_chunk_filter;

/* LZF: turns *length bytes of DATA into as many as OUT, which has ROOM, gets, and sets *length to
 * their number.  (lzf.c) */
dm_status dm_chunk_lzf(const void *data, int64_t *length, void *out, int64_t room);

/* Bytes that a chunk of BYTES may have on the way through the filters. */
int64_t dm_chunk_filter_room(int64_t bytes);

/* Turns the STORED bytes in *data into the chunk of BYTES, without the filters whose bits are set
 * in SKIPPED.  *data and *spare have dm_chunk_filter_room(BYTES) each and may change places; the
 * chunk is in *data. */
dm_status dm_chunk_filter_undo(const dm_chunk_filter *filter, uint32_t skipped, int64_t stored,
                               int64_t bytes, void **data, void **spare);

/* Turns the BYTES in RAW into *stored bytes in PACKED, which has dm_chunk_filter_room(BYTES), at
 * deflate LEVEL; SPARE has as much and may be used.  What deflate does not make smaller is left as
 * it was, and its bit set in *skipped.  FILTER has no fletcher32 and no LZF. */
dm_status dm_chunk_filter_apply(const dm_chunk_filter *filter, int level, const void *raw,
                                int64_t bytes, void *spare, void *packed, int64_t *stored,
                                uint32_t *skipped);

#endif
