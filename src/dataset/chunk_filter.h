/* chunk_filter: applies and undoes HDF5's filters, and Zarr's codecs, on one chunk.
 *
 * HDF5 1.10 trusts the size that a chunk declares: it reads beyond the end of a chunk that inflates
 * to less.  Here every length is checked. */
#ifndef DM_DATASET_CHUNK_FILTER_H
#define DM_DATASET_CHUNK_FILTER_H

#include <stdint.h>

#include "core/status.h"
#include "dataset/axes.h"
#include "dataset/codec.h"

enum { DM_CHUNK_FILTERS = 8 };

typedef enum dm_chunk_step {
  DM_STEP_DEFLATE,
  DM_STEP_SHUFFLE,
  DM_STEP_FLETCHER32,
  DM_STEP_LZF,   /* can only be undone, */
  DM_STEP_CODEC, /* like these, but for zstd */
  DM_STEP_GZIP,  /* Zarr's, */
  DM_STEP_CRC32C,
  DM_STEP_TRANSPOSE, /* which changes the order of the axes */
} dm_chunk_step;

/* Axis I of what is stored is axis OF[I] of the chunk, whose extents are SHAPE. */
typedef struct dm_axis_order {
  int count;
  int of[DM_AXES];
  int64_t shape[DM_AXES];
  int64_t size; /* of an element */
} dm_axis_order;

/* The filters in order of application. */
typedef struct dm_chunk_filter {
  int count;
  dm_chunk_step step[DM_CHUNK_FILTERS];
  int64_t shuffled_size[DM_CHUNK_FILTERS]; /* bytes of the shuffled elements */
  dm_codec codec[DM_CHUNK_FILTERS];
  dm_axis_order order[DM_CHUNK_FILTERS];
} dm_chunk_filter;

/* CRC-32C of BYTES bytes of DATA. */
uint32_t dm_crc32c(const void *data, int64_t bytes);

/* OUT = DATA, stored in ORDER, as the chunk. */
void dm_chunk_turn_back(const dm_axis_order *order, const void *data, void *out);

/* LZF: unpacks *length bytes of DATA to OUT, which has ROOM bytes, and sets *length to the bytes
 * written. */
dm_status dm_chunk_lzf(const void *data, int64_t *length, void *out, int64_t room);

/* Largest intermediate size of a chunk of BYTES in the filters. Stored, it may have more: Blosc2
 * may fill up its blocks. */
int64_t dm_chunk_filter_room(const dm_chunk_filter *filter, int64_t bytes);

/* Turns the STORED bytes in *data into the chunk of BYTES, skipping the filters whose bits are set
 * in SKIPPED. *data and *spare have dm_chunk_filter_room(FILTER, BYTES) each, *data at least
 * STORED, and may be exchanged; the chunk is in *data. DM_E_INPUT: it is damaged; the message says
 * why. */
dm_status dm_chunk_filter_undo(const dm_chunk_filter *filter, uint32_t skipped, int64_t stored,
                               int64_t bytes, void **data, void **spare);

/* Packs the BYTES in RAW into *stored bytes in PACKED, which has dm_chunk_filter_room(FILTER,
 * BYTES), at LEVEL of deflate or zstd; SPARE is scratch of the same size. If that does not reduce
 * the size, it is not applied, and its bit is set in *skipped. FILTER has only shuffle and one of
 * these. */
dm_status dm_chunk_filter_apply(const dm_chunk_filter *filter, int level, const void *raw,
                                int64_t bytes, void *spare, void *packed, int64_t *stored,
                                uint32_t *skipped);

#endif
