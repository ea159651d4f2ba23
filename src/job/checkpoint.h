/* checkpoint: which tiles of C are safe on the disk, so that a run that ends early can be resumed.
 *
 * Every rank syncs what it wrote once per interval, without stopping to wait, and tells rank 0,
 * which records a tile in the journal (io/journal.h) when all ranks have it on the disk.  A later
 * run of the same command takes the recorded tiles up, after their checksums were compared with the
 * file. docs/checkpoint.md says what is promised. */
#ifndef DM_JOB_CHECKPOINT_H
#define DM_JOB_CHECKPOINT_H

#include "engine/setup.h"
#include "engine/tile_states.h"
#include "io/journal.h"
#include "io/output.h"
#include "job/multiply.h"

typedef struct dm_checkpoint dm_checkpoint;

/* Collective, before planning: takes the journal's lock and reads what an earlier run left.
 * DM_E_IO: another run is at it, or what is there belongs to another problem (the message names the
 * first field that differs); with --force that is started over. */
dm_status dm_checkpoint_open(dm_run *run, const dm_multiply *multiply, const dm_problem *problem,
                             dm_checkpoint **checkpoint);

/* C is already the result of this command: an earlier run gave it its name, and ended before it
 * could say so.  Only dm_checkpoint_close is left to do. */
bool dm_checkpoint_is_done(const dm_checkpoint *checkpoint);

/* How many tiles an earlier run recorded; 0: this one starts at the beginning. */
int64_t dm_checkpoint_recorded(const dm_checkpoint *checkpoint);

/* Imposes the recorded cut into tiles on WISHES and, for the same number of ranks, grid and panel:
 * then the bits of C are those of an undisturbed run. */
void dm_checkpoint_impose(const dm_checkpoint *checkpoint, dm_wishes *wishes);

/* Collective, after planning: makes the part file, or takes the old one up.  STATES, in which all
 * tiles are new, tells which are there, whole, and recorded; it is kept up from now on. */
dm_status dm_checkpoint_begin(dm_checkpoint *checkpoint, const dm_setup *setup,
                              dm_output_file *file, dm_tile_states *states);

/* Collective, before anything is written: the part file has its space.  DM_E_FIT: it has not. */
dm_status dm_checkpoint_reserved(dm_checkpoint *checkpoint);

/* From now on what was written to OUTPUT is synced for the tiles; NULL: no more. */
void dm_checkpoint_watch(dm_checkpoint *checkpoint, dm_output *output);

/* Whether checksums of tiles are wanted: they are recorded, or compared with what was written. */
bool dm_checkpoint_sums(const dm_checkpoint *checkpoint);

/* CHECKSUM (dm_checksum_view) of this rank's part of TILE, or of a part of that. */
void dm_checkpoint_add(dm_checkpoint *checkpoint, int64_t tile, uint64_t checksum);

/* This rank has written all that it has of TILE; tiles come in the order of plan->todo. */
dm_status dm_checkpoint_stored(dm_checkpoint *checkpoint, int64_t tile);

/* To be called now and then: moves messages, syncs and records on. */
dm_status dm_checkpoint_poll(dm_checkpoint *checkpoint);

/* Collective: all that was stored is on the disk.  RECORD: and in the journal; otherwise only where
 * the run is longer than an interval.  Nothing may be stored after it. */
dm_status dm_checkpoint_flush(dm_checkpoint *checkpoint, bool record);

/* Collective, after all was flushed: C is read again, each rank a part of every tile, and its
 * checksums compared, as WISH says.  DM_E_IO, agreed, names a tile that is not what was written.
 * *done: it was compared. */
dm_status dm_checkpoint_read_back(dm_checkpoint *checkpoint, dm_read_back wish, bool *done);

/* Collective, after all was flushed: what is WRONG, COUNT rectangles that all ranks name alike, is
 * recorded no more, and all else is, for the next run.  Where C is one tile it is cut into several,
 * if what is in the file is what was written.  *good of *tiles are kept; 0 also without
 * checkpoints. (checkpoint_repair.c) */
typedef struct dm_wrong_part {
  dm_range rows, cols;
} dm_wrong_part;
dm_status dm_checkpoint_give_back(dm_checkpoint *checkpoint, const dm_wrong_part *wrong,
                                  int64_t count, int64_t *good, int64_t *tiles);

/* Rank 0: the tiles, in the order of computation, where all are on the disk. */
const dm_tile_record *dm_checkpoint_tiles(const dm_checkpoint *checkpoint, int64_t *count);

/* Rank 0, before C gets its name: where C replaces a matrix that it was computed from, the journal
 * says so, for the same command must not do that once more. */
dm_status dm_checkpoint_intend(dm_checkpoint *checkpoint);

/* Rank 0: C has its name. */
void dm_checkpoint_named(dm_checkpoint *checkpoint);

/* Ends it with the outcome of the run; returns STATUS, whose hint then says what was kept.  Part
 * file and journal stay where tiles were recorded, unless the run ended well (DM_OK) or KEEP_PART.
 */
dm_status dm_checkpoint_close(dm_checkpoint *checkpoint, dm_status status, bool keep_part);

#endif
