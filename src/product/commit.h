/* commit: gives the finished file of an output its form and its name. */
#ifndef DM_PRODUCT_COMMIT_H
#define DM_PRODUCT_COMMIT_H

#include "io/output.h"
#include "io/output_form.h"
#include "run/run.h"

/* Rank 0, after FILE was created: DM_E_FIT if the disk has no room for turning it into FORM
 * (completed). */
dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form);

/* Rank 0, after all ranks agreed that their data is on the disk: turns FILE into FORM, with THREADS
 * (-1: as many as help), compares what it reads of FILE for that with the checksums of the tiles of
 * COMPLETION (DM_E_IO: a tile differs from what was written), completes the result and names it.
 * After an error FILE still exists, unless it is *named. */
dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_output_completion *completion, bool *named);

/* Rank 0, which created FILE: removes it because of STATUS, and releases it. If the other ranks do
 * not know of the error yet, they may be about to open FILE: in a program that calls run->at_end it
 * then stays until this rank has said why. */
void dm_commit_give_up(dm_run *run, dm_output_file *file, const dm_error *status);

#endif
