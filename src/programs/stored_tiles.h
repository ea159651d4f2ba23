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

/* Collective: begins the file of M, of ROWS x COLS elements of TYPE, or takes its WHOLE_C. ROOM:
 * elements of a tile that this rank has, at most. EARLIER, or NULL: the file of an earlier run that
 * S takes up, if it is there. DESCRIBE, with CONTEXT: C's provenance. */
dm_status dm_stored_tiles_open(dm_run *run, const dm_multiply *m, dm_dtype type, int64_t rows,
                               int64_t cols, int64_t room, const dm_output_file *earlier,
                               dm_status (*describe)(void *, const dm_run *, dm_attributes *),
                               void *context, dm_stored_tiles *s);

/* Writes PART, rows of a tile in f64, with its first element at (ROW, COL) of C; TURNED, its
 * transpose there. On return PART is free again. */
dm_status dm_stored_tiles_add(dm_stored_tiles *s, dm_view part, bool turned, int64_t row,
                              int64_t col);

/* Collective: what was written so far is on the disk. */
dm_status dm_stored_tiles_sync(dm_stored_tiles *s);

/* Collective: completes C; after an error, STATUS, gives it up, unless it STAYS for a later run. */
dm_status dm_stored_tiles_close(dm_stored_tiles *s, bool stays, dm_status status);

#endif
