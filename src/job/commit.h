/* commit: the finished file of an output gets its form and its name. */
#ifndef DM_JOB_COMMIT_H
#define DM_JOB_COMMIT_H

#include "io/output.h"
#include "io/output_form.h"
#include "run/run.h"

/* Rank 0, after FILE was created: DM_E_FIT where it could not be turned into FORM (completed) for
 * want of room on the disk. */
dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form);

/* Rank 0, after all ranks agreed that their data is on the disk: packs FILE into chunks where FORM
 * says so, by THREADS (-1: as many as help), compares what it reads of FILE with the checksums of
 * COUNT tiles (DM_E_IO where a tile is not what was written), adds the provenance and those
 * checksums, and gives it its name.  After an error FILE is still there, unless it is *named. */
dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_attributes *provenance, const dm_tile_record *tiles,
                         int64_t count, bool force, bool *named);

#endif
