/* zarr_impl: what the files of zarr share. */
#ifndef DM_DATASET_ZARR_IMPL_H
#define DM_DATASET_ZARR_IMPL_H

#include "core/copy.h"
#include "dataset/zarr.h"

/* Fill ZARR, which has its shape, from the metadata DOCUMENT, but for the fill value. (zarr_3.c,
 * zarr_2.c) */
dm_status dm_zarr_third(const dm_location *at, const json_t *document, dm_zarr *zarr);
dm_status dm_zarr_second(const dm_location *at, const json_t *document, dm_zarr *zarr);

/* DM_E_INPUT: "WHAT 'NAME', which is not supported". */
dm_status dm_zarr_unsupported(const dm_location *at, const char *what, const char *name);

/* The name of NAMED, a text or an object with a name; "": it has none. */
const char *dm_zarr_name(const json_t *named);

/* Reads the shape LIST, of numbers not below LEAST; WHAT names it. */
dm_status dm_zarr_take_extents(const dm_location *at, const json_t *list, const char *what,
                               int64_t least, int *rank, int64_t extent[DM_AXES]);

/* Reads the shape of ZARR's chunks. */
dm_status dm_zarr_take_chunks(const dm_location *at, const json_t *list, const dm_zarr *zarr,
                              int64_t chunk[DM_AXES]);

/* Appends a step of the filters; ID is that of a codec (codec.h). */
dm_status dm_zarr_add_step(const dm_location *at, dm_zarr *zarr, dm_chunk_step step, int id,
                           unsigned flag);

/* Appends that chunks are stored with axis OF[I] as axis I. */
dm_status dm_zarr_add_order(const dm_location *at, dm_zarr *zarr, const int *of);

#endif
