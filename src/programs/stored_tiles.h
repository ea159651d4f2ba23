/* stored_tiles: writes tiles of C that are computed one after another to C's file, or to host
 * memory that all ranks see. */
#ifndef DM_PROGRAMS_STORED_TILES_H
#define DM_PROGRAMS_STORED_TILES_H

#include "io/file_queue.h"
#include "product/description.h"
#include "product/rows_file.h"
#include "run/run.h"

typedef struct dm_stored_tiles {
  dm_run *run;
  bool to_memory;
  dm_rows_file file; /* of C, unless it is in memory */
  dm_rows_making making;
  dm_output *output;
  dm_file_queue *behind;
  dm_dtype dtype;
  void *packed; /* elements as they are written */
  bool taken;   /* the file is that of an earlier run */
} dm_stored_tiles;

/* The C that is stored. */
typedef struct dm_stored_matrix {
  int64_t rows, cols;
  dm_dtype dtype;
  int64_t room;                  /* elements of a tile that this rank has, at most */
  const dm_output_file *earlier; /* or NULL: of an earlier run, which is taken up if it is there */
  dm_status (*describe)(void *, const dm_run *, dm_attributes *); /* its provenance */
  void *context;                                                  /* of DESCRIBE */
} dm_stored_matrix;

/* Collective: begins the file of M, of C, or takes M's C in memory. */
dm_status dm_stored_tiles_open(dm_run *run, const dm_multiply *m, const dm_stored_matrix *c,
                               dm_stored_tiles *s);

/* Writes PART, rows of a tile in f64, with its first element at (ROW, COL) of C; TURNED, its
 * transpose there. On return PART is free again. */
dm_status dm_stored_tiles_add(dm_stored_tiles *s, dm_view part, bool turned, int64_t row,
                              int64_t col);

/* Collective: what was written so far is on the disk. */
dm_status dm_stored_tiles_sync(dm_stored_tiles *s);

/* Collective: completes C; after an error, STATUS, gives it up, unless it STAYS for a later run. */
dm_status dm_stored_tiles_close(dm_stored_tiles *s, bool stays, dm_status status);

#endif
