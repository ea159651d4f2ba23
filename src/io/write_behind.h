/* write_behind: rectangles of C on their way into the file, written by threads while the caller
 * does something else.  All functions are called by one thread. */
#ifndef DM_IO_WRITE_BEHIND_H
#define DM_IO_WRITE_BEHIND_H

#include "core/keepalive.h"
#include "io/output.h"

typedef struct dm_write_behind dm_write_behind;
typedef struct dm_writing dm_writing; /* one rectangle on its way */

/* THREADS write; with 0 every dm_writing_test writes one piece itself.  OUTPUT stays the caller's
 * and open until close. */
dm_status dm_write_behind_open(dm_output *output, int threads, dm_write_behind **behind);

/* Drops what was not begun and waits for the rest: wait for every writing first, unless something
 * failed.  NULL is allowed. */
void dm_write_behind_close(dm_write_behind *behind);

/* What a thread does with some rows of a view before it writes them; CONTEXT is the caller's.  Rows
 * are counted from the view's first; threads call it at the same time, each row comes once. */
typedef struct dm_prepare {
  dm_status (*rows)(void *context, int64_t first, int64_t count); /* NULL: nothing */
  void *context;
} dm_prepare;

/* Starts what dm_output_write does; VIEW's memory, and what PREPARE reads, belong to the writing
 * until it is done. */
dm_status dm_write_behind_post(dm_write_behind *behind, int64_t row, int64_t col, dm_view view,
                               dm_prepare prepare, dm_writing **writing);

/* *done: every byte is with the system, though not yet on the disk (dm_output_sync), and WRITING is
 * freed.  An error is the first of any writing, and all later tests and waits have it too. */
dm_status dm_writing_test(dm_writing *writing, bool *done);

/* The same, waiting; PULSE (or NULL) beats whenever something was written. */
dm_status dm_writing_wait(dm_writing *writing, const dm_keepalive *keepalive);

/* Bytes written so far: whether it moves. */
int64_t dm_write_behind_moved(dm_write_behind *behind);

#endif
