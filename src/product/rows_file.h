/* rows_file: writes a matrix in rows, in parallel, as a file that gets its name when it is
 * complete.
 */
#ifndef DM_PRODUCT_ROWS_FILE_H
#define DM_PRODUCT_ROWS_FILE_H

#include "io/batch.h"
#include "io/journal.h"
#include "io/output.h"
#include "io/output_form.h"
#include "run/run.h"

typedef struct dm_rows_file {
  dm_location out; /* checked by dm_output_check */
  int64_t rows, cols;
  dm_dtype dtype;
  dm_output_form form; /* completed */
  int io_threads;      /* threads that pack chunks; 0: none, -1: as many as help */
  dm_write_way write_by;
  int64_t strip_bytes; /* two strips of so many bytes, or of a row, are held; 0, or more: 32 MiB */
  bool force;
  bool sums; /* C's checksum is stated beside it, as products state those of their tiles */
  /* Sets ROWS, packed, from row ROW on: BRING in the thread of the call, FILL, which follows, a few
   * rows at a time in threads that write them. NULL: nothing is to be done. */
  dm_status (*bring)(void *context, dm_view rows, int64_t row);
  dm_status (*fill)(void *context, dm_view rows, int64_t row);
  dm_status (*describe)(void *context, const dm_run *run, dm_attributes *list); /* C's provenance */
  void (*clear)(void *context); /* or NULL: rank 0 removes what the rows were made from, before the
                                   file gets its name */
  void *context;
} dm_rows_file;

/* Collective. */
dm_status dm_rows_file_write(dm_run *run, const dm_rows_file *rows);

/* The same for callers that write to OUTPUT themselves, in between; their BRING and FILL are NULL.
 * After an error of either the caller ends, with STATUS, which all ranks have agreed on: then the
 * file is removed. */
typedef struct dm_rows_making {
  dm_output_file file;
  bool created;
  bool stays; /* also after an error, for a later run */
  dm_output *output;
  uint64_t checksum; /* of this rank's rows */
} dm_rows_making;
dm_status dm_rows_file_begin(dm_run *run, const dm_rows_file *rows, dm_rows_making *making);

/* The same, but takes up the file of an EARLIER run, of its id and offset, if it is there: *taken;
 * all ranks know. */
dm_status dm_rows_file_take_up(dm_run *run, const dm_rows_file *rows, const dm_output_file *earlier,
                               dm_rows_making *making, bool *taken);
dm_status dm_rows_file_end(dm_run *run, const dm_rows_file *rows, dm_rows_making *making,
                           dm_status status);

#endif
