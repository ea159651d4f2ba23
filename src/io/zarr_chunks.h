/* zarr_chunks: where the chunks of an array of Zarr are, and their bytes. */
#ifndef DM_IO_ZARR_CHUNKS_H
#define DM_IO_ZARR_CHUNKS_H

#include "dataset/zarr.h"

/* The files of an array. */
typedef struct dm_zarr_survey {
  int64_t chunks, present; /* chunks that lie in the array, and those that are there */
  int64_t bytes, newest;   /* of all files; when the latest of them changed, in ns */
} dm_zarr_survey;

/* Looks at all files of the array AT, which ZARR describes. COUNT: the chunks, too; else only bytes
 * and times are filled in. DM_E_INPUT: they are too many, or one is damaged. */
dm_status dm_zarr_look(const dm_location *at, const dm_zarr *zarr, bool follow, bool count,
                       dm_zarr_survey *survey);

/* Opens the file at I / (PLACES - 1) of all files of the array AT; *fd is -1 if it is not there. */
dm_status dm_zarr_open_part(const dm_location *at, const dm_zarr *zarr, bool follow, int64_t i,
                            int64_t places, int *fd);

/* Sets DATASET's identity, of the array that ZARR describes and INFO's file states. */
void dm_zarr_identify(const struct stat *info, const dm_zarr_survey *survey, dm_dataset *dataset);

typedef struct dm_zarr_chunks dm_zarr_chunks;

/* DM_E_IO: DATASET changed since it was inspected. */
dm_status dm_zarr_chunks_open(const dm_dataset *dataset, dm_zarr_chunks **chunks);
void dm_zarr_chunks_close(dm_zarr_chunks *chunks); /* NULL is allowed */
const dm_zarr *dm_zarr_of(const dm_zarr_chunks *chunks);

/* Where the chunk is whose first element has the indices FIRST: *offset and *bytes in its file;
 * *bytes 0: it is not there. One thread at a time. */
dm_status dm_zarr_find(dm_zarr_chunks *chunks, const int64_t *first, int64_t *offset,
                       int64_t *bytes);

/* Reads it to DATA; any thread. */
dm_status dm_zarr_load(const dm_zarr_chunks *chunks, const int64_t *first, int64_t offset,
                       int64_t bytes, void *data);

#endif
