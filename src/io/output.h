/* output: the file of C.  It grows as FILE.part and gets its name only when it is whole.
 *
 * Rank 0 creates and commits; all ranks write their own rectangles independently in between. */
#ifndef DM_IO_OUTPUT_H
#define DM_IO_OUTPUT_H

#include "core/keepalive.h"
#include "core/view.h"
#include "io/dataset.h"
#include "io/journal.h"
#include "io/write_way.h"

enum { DM_BESIDE = DM_PATH + 8 }; /* of the names of files beside the output */
enum { DM_ID_LENGTH = 32, DM_ID = DM_ID_LENGTH + 1 };

/* Plain data, sent from rank 0 to all; only there the descriptor is one. */
typedef struct dm_output_file {
  dm_location at;       /* final name and dataset */
  char part[DM_BESIDE]; /* the name until then */
  int64_t rows, cols;
  dm_dtype dtype;
  int64_t offset;   /* of the data in the part file */
  dm_write_way way; /* pwrite, unless dm_output_choose_way found another */
  char id[DM_ID];   /* random: stands in the part file, in its journal and in the whole file */
  uint64_t inode;   /* of the part file */
  int made;         /* descriptor that made it, or -1: keeps its inode and a shared lock */
} dm_output_file;

/* Refuses what can be refused before any work: an existing file without FORCE, one that holds more
 * than the dataset even with it (DM_E_USAGE), a missing or unwritable directory (DM_E_IO), a file
 * that is one of the COUNT inputs (DM_E_USAGE; REPLACED, the dataset behind --c, may be it with
 * FORCE). Forks: call before MPI is started.  Completes LOCATION's dataset with DEFAULT_NAME.
 * The same where a file that is there gets C as one more dataset: it may be an input, and FORM
 * notes which it is (recast.h). */
dm_status dm_output_check(dm_location *location, const char *default_name, bool force,
                          const dm_dataset *inputs, int count, const dm_dataset *replaced);
struct dm_output_form;
dm_status dm_output_check_appended(dm_location *location, const char *default_name, bool force,
                                   const dm_dataset *inputs, int count, const dm_dataset *replaced,
                                   struct dm_output_form *form);

/* Where a journal lies beside a file that has AT's name already: the id of that file, if it is
 * whole and damier's; otherwise ID is empty.  Forks. */
dm_status dm_output_whole(const dm_location *at, char id[DM_ID]);

/* Creates the part file with a contiguous dataset whose space is reserved.  DM_E_FIT: no space;
 * DM_E_IO: another run writes it, or it is a leftover and FORCE is not given.  The caller ends it
 * with dm_output_release. */
dm_status dm_output_create(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                           bool force, dm_output_file *file);

/* The same, while a thread still reserves its space: nothing may be written before
 * dm_reservation_end has returned, which ends and frees *RESERVATION.  NULL is one that is done.
 * FILE is released after that. */
typedef struct dm_reservation dm_reservation;
dm_status dm_output_create_early(const dm_location *location, dm_dtype dtype, int64_t rows,
                                 int64_t cols, bool force, dm_output_file *file,
                                 dm_reservation **reservation);
dm_status dm_reservation_end(dm_reservation *reservation);

/* The part file ID that an earlier run left, whose data begins at OFFSET: its structure is written
 * anew, so that whatever a broken-off commit did to it is undone, and its space reserved again. Its
 * data stays as it is, to be checked.  *there is false where there is no such file; DM_E_IO where
 * it is another one. */
dm_status dm_output_reopen(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                           int64_t offset, const char id[DM_ID], dm_output_file *file, bool *there);

/* Removes the part file that an earlier run, whose journal this one has locked, left. */
dm_status dm_output_forget(const dm_location *at);

/* Sets FILE's way by WISH, for WRITERS threads of a node; DM_E_USAGE: the wish cannot be granted.
 * All ranks write in the same way. */
dm_status dm_output_choose_way(dm_output_file *file, dm_write_way wish, int writers);

typedef struct dm_output dm_output;

/* DM_E_IO where what has the name is not the file that rank 0 made. */
dm_status dm_output_open(const dm_output_file *file, dm_output **output);

/* Writes VIEW (host memory, col_stride 1, of the file's type) with its first element at (row, col).
 */
dm_status dm_output_write(dm_output *output, int64_t row, int64_t col, dm_view view);

/* Waits until everything written so far is on the disk; KEEPALIVE (or NULL) beats meanwhile. */
dm_status dm_output_sync(dm_output *output, const dm_keepalive *keepalive);
dm_status dm_output_close(dm_output *output); /* NULL is allowed */

/* The same by a thread, for which KEEPALIVE has to be made, while the caller goes on; one at a time
 * for each output.  Where no thread can be had, dm_output_syncing does it. */
dm_status dm_output_sync_start(dm_output *output, const dm_keepalive *keepalive);

/* *done: none is under way; an error is that of the sync.  WAIT: until it is done. */
dm_status dm_output_syncing(dm_output *output, bool wait, bool *done);

/* Rank 0, after all ranks agreed that their data is on the disk, and closed the output: provenance,
 * (NULL: none, nor a state, as in files that are not HDF5), the checksums of COUNT tiles as dataset
 * /.damier/tiles, fsync, rename.  Where its name or that of
 * the part file was taken meanwhile (DM_E_IO), what is there stays.  *named: C has its name, also
 * after an error, which is then of the directory alone.  KEEPALIVE, or NULL, beats meanwhile. */
dm_status dm_output_commit(const dm_output_file *file, const dm_attributes *provenance,
                           const dm_tile_record *tiles, int64_t count, bool force,
                           const dm_keepalive *keepalive, bool *named);

/* Waits until the name of AT is on the disk. */
dm_status dm_output_sync_name(const dm_location *at);

/* Rank 0: removes the part file, unless its name is another file's by now. */
void dm_output_discard(const dm_output_file *file);

/* Rank 0: ends its hold on the file, whatever its name is. */
void dm_output_release(dm_output_file *file);

/* The part file, whose data is contiguous until it is packed, as a dataset that a reader opens. */
dm_status dm_output_part(const dm_output_file *file, dm_dataset *dataset);

#endif
