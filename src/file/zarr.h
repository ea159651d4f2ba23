/* zarr: arrays of Zarr, versions 2 and 3, in folders of the file system: what their metadata say,
 * and where their chunks are.
 *
 * A location names them as it names datasets of HDF5: FILE is a folder, the store, DATASET the path
 * of an array in it; "" is the folder itself. Nothing below the folder is reached through symbolic
 * links, unless the user allows that. Stores are not trusted. */
#ifndef DM_FILE_ZARR_H
#define DM_FILE_ZARR_H

#include <jansson.h>
#include <sys/stat.h>

#include "file/chunk_filter.h"
#include "file/dataset.h"

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

/* ---- places of chunks (zarr_chunks.c) ---- */

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
