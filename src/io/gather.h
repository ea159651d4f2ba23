/* gather: parts of a transfer that lie close to each other in one source, as listed columns do.
 * They are read together, once, and each picks its elements. Private to src/io. */
#ifndef DM_IO_GATHER_H
#define DM_IO_GATHER_H

#include "io/read_impl.h"

/* Parts of one source, in the order of its file once they are sorted. */
typedef struct dm_read_gather {
  dm_pick *picks;
  dm_view *views;              /* theirs */
  int64_t count, room, used;   /* picks, and views */
  int64_t at;                  /* pick that the next window starts at */
  struct dm_read_gather *next; /* of the same transfer */
} dm_read_gather;

/* Room for parts with VIEWS views; the caller frees it. */
dm_status dm_gather_new(int64_t views, dm_read_gather **gather);
void dm_gather_free(dm_read_gather *gather); /* NULL is allowed */

/* Where the views of the next part belong. */
dm_view *dm_gather_views(const dm_read_gather *gather);

/* Adds REQUEST to READER, with the views that are there. */
dm_status dm_gather_add(dm_read_gather *gather, const dm_reader *reader,
                        const dm_read_request *request);

/* After all parts: sorts them. */
void dm_gather_sort(dm_read_gather *gather);

/* What is read next of READER's dataset, as *window, whose picks belong to GATHER; false: all was
 * read. A part that is read alone is the window itself. */
bool dm_gather_next(dm_read_gather *gather, const dm_reader *reader, dm_read_request *window);

#endif
