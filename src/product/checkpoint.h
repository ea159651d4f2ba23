/* checkpoint: records which tiles of C are safe on the disk, so that an interrupted run can resume.
 *
 * Every rank starts a sync of what it wrote once per interval, without waiting for it, and reports
 * to rank 0, which records a tile in the journal (io/journal.h) when all ranks have it on the
 * disk. A later run of the same command keeps the recorded tiles after comparing their checksums
 * with the file. docs/checkpoint_protocol.md states the guarantees. */
#ifndef DM_PRODUCT_CHECKPOINT_H
#define DM_PRODUCT_CHECKPOINT_H

#include "engine/setup.h"
#include "io/journal.h"
#include "io/output.h"
#include "plan/tiles.h"
#include "product/description.h"

typedef struct dm_checkpoint dm_checkpoint;

/* Collective, before planning: takes the journal's lock and reads what an earlier run left.
 * DM_E_IO: another run is in progress, or the files belong to another problem (the message names
 * the first field that differs); with --force that run is started over. */
dm_status dm_checkpoint_open(dm_run *run, const dm_multiply *multiply, const dm_problem *problem,
                             dm_checkpoint **checkpoint);

/* C is already the result of this command, tile by tile: an earlier run named it, but ended before
 * it could report. Only dm_checkpoint_close remains. */
bool dm_checkpoint_is_done(const dm_checkpoint *checkpoint);

/* Number of tiles that an earlier run recorded; 0: this run starts from scratch. */
int64_t dm_checkpoint_recorded(const dm_checkpoint *checkpoint);

/* Sets the recorded tiling in WISHES and, for the same number of ranks, grid and panel: the bits of
 * C are then those of an uninterrupted run. */
void dm_checkpoint_impose(const dm_checkpoint *checkpoint, dm_wishes *wishes);

/* Collective, after planning: creates the part file, or reuses the old one. In STATES, where all
 * tiles are new, marks the tiles that are present, complete, and recorded; keeps it up to date from
 * now on. */
dm_status dm_checkpoint_begin(dm_checkpoint *checkpoint, const dm_setup *setup,
                              dm_output_file *file, dm_tile_states *states);

/* Collective, before anything is written, and when EVERYTHING is: waits for the part file's space,
 * unless ranks of one process are still to write. DM_E_FIT: there is not enough. */
dm_status dm_checkpoint_reserved(dm_checkpoint *checkpoint, bool everything);

/* Whether the first ROWS rows of C may be written. */
dm_status dm_checkpoint_has_space(const dm_checkpoint *checkpoint, int64_t rows, bool *has);

/* From now on syncs what was written to OUTPUT for the tiles; NULL: no more. */
void dm_checkpoint_watch(dm_checkpoint *checkpoint, dm_output *output);

/* Whether checksums of tiles are needed: they are recorded, or compared with what was written. */
bool dm_checkpoint_sums(const dm_checkpoint *checkpoint);

/* Adds CHECKSUM (dm_checksum_view) of this rank's part of TILE, or of a part of it. */
void dm_checkpoint_add(dm_checkpoint *checkpoint, int64_t tile, uint64_t checksum);

/* This rank has written its part of TILE; tiles come in the order of plan->todo. */
dm_status dm_checkpoint_stored(dm_checkpoint *checkpoint, int64_t tile);

/* Call repeatedly: progresses messages, syncs and records. */
dm_status dm_checkpoint_poll(dm_checkpoint *checkpoint);

/* Rank 0, when PART of the products (0 to 1) is done, SECONDS after the first one began: whether C
 * is a single tile, the run has taken an interval (at least a second) and ten times the predicted
 * time, and what is left takes longer than that. *slower: as in dm_machine. */
bool dm_checkpoint_is_slow(const dm_checkpoint *checkpoint, double part, double seconds,
                           double *slower);

/* Collective: everything stored is on the disk. RECORD: and in the journal; otherwise only if the
 * run has taken longer than an interval. Nothing may be stored afterwards. */
dm_status dm_checkpoint_flush(dm_checkpoint *checkpoint, bool record);

/* Collective, after the flush: reads C again, each rank a part of every tile, and compares
 * checksums, as WISH says. DM_E_IO, agreed, names a tile that differs from what was written. *done:
 * the comparison was made. */
dm_status dm_checkpoint_read_back(dm_checkpoint *checkpoint, dm_read_back wish, bool *done);

/* Collective, after the flush: drops WRONG, COUNT rectangles that are the same on all ranks,
 * from the records and records all else for the next run. A C of one tile is cut into several if
 * the file has what was written. *good of *tiles are kept; 0 without checkpoints. */
dm_status dm_checkpoint_give_back(dm_checkpoint *checkpoint, const dm_extent *wrong, int64_t count,
                                  int64_t *good, int64_t *tiles);

/* Rank 0, before C gets its name: tells COMPLETION the tiles, if all are on the disk, and whether
 * the journal goes first. A journal with records stays until C has its name: after a crash in
 * between, the same command finds its result by them. If C replaces a matrix that it was computed
 * from, all tiles are recorded for this. */
dm_status dm_checkpoint_intend(dm_checkpoint *checkpoint, dm_output_completion *completion);

/* Rank 0: C has its name. */
void dm_checkpoint_named(dm_checkpoint *checkpoint);

/* Ends the checkpoint with the outcome of the run; returns STATUS, with a hint that says what was
 * kept. Part file and journal stay if tiles were recorded, unless the run succeeded (DM_OK), or
 * KEEP_PART. */
dm_status dm_checkpoint_close(dm_checkpoint *checkpoint, dm_status status, bool keep_part);

#endif
