/* listing: lists the contents of a file, and why damier can or cannot multiply them.
 *
 * Must run before MPI and CUDA are started, because it forks. */
#ifndef DM_INSPECT_LISTING_H
#define DM_INSPECT_LISTING_H

#include "inspect/inspect.h"

enum { DM_LISTED = 100 };

/* Description of a dataset; unknown texts are empty. */
typedef struct dm_listed {
  char name[DM_PATH]; /* "/group/a" */
  char shape[160];    /* "6000 x 4000" */
  char type[96];      /* "f64" */
  char layout[160];
  char refused[1280]; /* why it cannot be multiplied, with a hint */
  int kind;           /* without a name the least kind is sought: matrices before vectors */
} dm_listed;

typedef struct dm_listing {
  int64_t count, all; /* number in the list, and in the file */
  dm_listed list[DM_LISTED];
} dm_listing;

/* Fills LISTING from LOCATION's file. Errors are those of dm_file_inspect for the file; a file
 * without datasets, or without any that can be multiplied, is no error. */
dm_status dm_file_list(const dm_location *location, const dm_trust *trust, dm_listing *listing);

#endif
