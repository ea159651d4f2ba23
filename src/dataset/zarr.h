/* zarr: arrays of Zarr, versions 2 and 3, in folders of the file system: what their metadata say.
 *
 * A location names them as it names datasets of HDF5: FILE is a folder, the store, DATASET the path
 * of an array in it; "" is the folder itself. Nothing below the folder is reached through symbolic
 * links, unless the user allows that. Stores are not trusted. */
#ifndef DM_DATASET_ZARR_H
#define DM_DATASET_ZARR_H

#include <jansson.h>
#include <sys/stat.h>

#include "dataset/chunk_filter.h"
#include "dataset/dataset.h"

enum { DM_ZARR_KEY = 2 + 21 * DM_AXES };

/* What the metadata of an array say. */
typedef struct dm_zarr {
  int version, rank;
  int64_t extent[DM_AXES];
  int64_t file[DM_AXES];  /* extents of what one file holds, */
  int64_t chunk[DM_AXES]; /* and of a chunk; they differ in shards */
  bool sharded, index_first, index_summed, index_swapped;
  bool prefixed; /* names of files begin with "c" */
  char separator;
  dm_dtype dtype; /* DM_DTYPE_NONE: none that can be multiplied, */
  bool text;      /* ... but texts */
  bool swapped;
  _Alignas(
      8) unsigned char fill[16]; /* of chunks that are not there; in the byte order of the file */
  dm_chunk_filter filter;
  unsigned filters; /* DM_FILTER_... */
} dm_zarr;

/* Whether the folder of AT is a group or an array. */
bool dm_zarr_is(const dm_location *at);

/* An array or a group; freed with dm_zarr_node_free, also after an error. */
typedef struct dm_zarr_node {
  bool is, is_array; /* whether there is one */
  int version;
  json_t *document, *attributes; /* attributes: NULL, or an object */
  struct stat info;              /* of the file that states them */
} dm_zarr_node;

/* Reads what PATH of AT's folder is, such as "/group/array" or "". FOLLOW: symbolic links, too.
 * DM_E_INPUT: its metadata are invalid. */
dm_status dm_zarr_read_node(const dm_location *at, const char *path, bool follow,
                            dm_zarr_node *node);
void dm_zarr_node_free(dm_zarr_node *node);

/* Fills ZARR from NODE, an array. DM_E_INPUT: it is invalid, or something in it is not supported;
 * shape and type are filled in as far as they are known. */
dm_status dm_zarr_parse(const dm_location *at, const dm_zarr_node *node, dm_zarr *zarr);

/* Both; INFO may be NULL. DM_E_INPUT: it is no array. */
dm_status dm_zarr_read_array(const dm_location *at, bool follow, dm_zarr *zarr, struct stat *info);

/* Writes number VALUE of JSON, as the fill value of TYPE, to ELEMENT in this machine's byte order;
 * false: it is none. (zarr_values.c) */
bool dm_zarr_value(const json_t *value, dm_dtype type, unsigned char element[16]);

/* Lays ZARR's array in DATASET, whose location is set, as far as reading needs; the first OF_ROWS
 * axes are its rows. False: 64 bits cannot count its elements. */
bool dm_zarr_dataset(const dm_zarr *zarr, int of_rows, dm_dataset *dataset);

/* Opens PATH below AT's folder; *fd is -1 if there is none. */
dm_status dm_zarr_open(const dm_location *at, const char *path, bool follow, bool folder, int *fd);

#endif
