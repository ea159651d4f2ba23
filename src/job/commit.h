/* commit: gives the finished file of an output its form and its name. */
#ifndef DM_JOB_COMMIT_H
#define DM_JOB_COMMIT_H

#include "io/output.h"
#include "io/output_form.h"
#include "run/run.h"

/* Rank 0, after FILE was created: DM_E_FIT if the disk has no room for turning it into FORM
 * (completed). */
dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form);

/* Rank 0, after all ranks agreed that their data is on the disk: packs FILE into chunks if FORM
 * says so, with THREADS (-1: as many as help), compares what it reads of FILE with the checksums of
 * COUNT tiles (DM_E_IO: a tile differs from what was written), adds the provenance and those
 * checksums, and renames FILE. After an error FILE still exists, unless it is *named. */
dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_attributes *provenance, const dm_tile_record *tiles,
                         int64_t count, bool force, bool *named);

#endif
