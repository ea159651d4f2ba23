/* output: the file of C. It is written as FILE.part, becomes FILE.damier-new when all of it is
 * there, and gets its name when it is complete.
 *
 * Rank 0 creates and commits it; in between all ranks write their own rectangles independently. */
#ifndef DM_IO_OUTPUT_H
#define DM_IO_OUTPUT_H

#include "core/status.h"
#include "core/view.h"
#include "dataset/dataset.h"
#include "dataset/naming.h"
#include "io/batch.h"
#include "io/journal.h"
#include "io/output_form.h"
#include "io/tile_sums.h"

enum { DM_ID_LENGTH = 32, DM_ID = DM_ID_LENGTH + 1 };

/* Plain data, sent from rank 0 to all; the descriptor is only valid on rank 0. */
typedef struct dm_output_file {
  dm_location at;             /* final name and dataset */
  char part[DM_SIBLING_PATH]; /* temporary name */
  int64_t rows, cols;
  dm_leads leads; /* of its shape */
  dm_dtype dtype;
  int64_t offset;   /* offset of the data in the part file */
  dm_write_way way; /* pwrite, unless dm_output_choose_way found another */
  char id[DM_ID];   /* random; stored in the part file, its journal and the finished file */
  uint64_t inode;   /* of the part file */
  bool store;       /* it is a folder of Zarr */
  int made;         /* the creator's descriptor, or -1: keeps the inode and a shared lock */
} dm_output_file;

/* Rejects before any work: an existing file without FORCE, or, even with it, one that contains more
 * than the dataset (DM_E_USAGE); a missing or unwritable directory (DM_E_IO); a file that is one of
 * the COUNT inputs (DM_E_USAGE; with FORCE, it may be REPLACED, the dataset of --c). Forks: call
 * before MPI is started. Completes LOCATION's dataset with DEFAULT_NAME. If C is added to an
 * existing file, that may be an input, and APPENDED, otherwise NULL, stores its identity. */
dm_status dm_output_check(dm_location *location, const char *default_name, bool force,
                          const dm_dataset *const *inputs, int count, const dm_dataset *replaced,
                          dm_output_form *appended);

/* The same for a file of arrays (arrays_file.h), which may be an archive of NumPy, without a name
 * in it. */
dm_status dm_output_check_arrays(dm_location *location, const char *default_name, bool force,
                                 const dm_dataset *const *inputs, int count);

/* What follows the name of C's file in those of its temporary files; ends with NULL. */
extern const char *const dm_output_endings[];

/* DM_E_FIT: less than BYTES are free where the file of AT is to be. */
dm_status dm_output_space(const dm_location *at, int64_t bytes);

/* Creates the part file with a contiguous dataset that has the leading dimensions LEADS (NULL:
 * none), in place of one that an earlier run left unfinished. DM_E_FIT: no space; DM_E_IO: another
 * run writes it; DM_E_USAGE: a file of the user has its name. A thread still reserves space:
 * no row may be written before dm_reservation_has of it; NULL: already done. */
typedef struct dm_reservation dm_reservation;
dm_status dm_output_create_early(const dm_location *location, dm_dtype dtype, int64_t rows,
                                 int64_t cols, const dm_leads *leads, dm_output_file *file,
                                 dm_reservation **reservation);

/* *has: the space of the first ROWS rows is reserved; DM_E_FIT: there is not enough. All threads.
 */
dm_status dm_reservation_has(const dm_reservation *reservation, int64_t rows, bool *has);

/* Waits until ALL is reserved, or gives up the rest; frees RESERVATION, NULL or not. Before FILE is
 * released. */
dm_status dm_reservation_end(dm_reservation *reservation, bool all);

/* Reopens the part file of an earlier run, whose data starts at OFFSET; FILE has its location,
 * shape, leading dimensions, type and ID. Rewrites its structure, which undoes any interrupted
 * commit, and reserves its space again. Its data stays, to be checked. *there is false if there is
 * no such file; DM_E_IO: it is another file. */
dm_status dm_output_reopen(dm_output_file *file, int64_t offset, bool *there);

/* Whether an earlier run left something unfinished, under either temporary name; removes it. */
bool dm_output_is_left(const dm_location *at);
dm_status dm_output_forget(const dm_location *at);

/* Sets FILE's way from WISH, for WRITERS threads of a node; DM_E_USAGE: the wish is not supported.
 * All ranks write in the same way. */
dm_status dm_output_choose_way(dm_output_file *file, dm_write_way wish, int writers);

typedef struct dm_output dm_output;

/* DM_E_IO: the file of that name is not the one that rank 0 created. */
dm_status dm_output_open(const dm_output_file *file, dm_output **output);

/* The same for a C in host memory: its elements are those of VIEW, of any strides. */
dm_status dm_output_open_memory(dm_view view, dm_output **output);

/* Writes VIEW (host memory, col_stride 1, of the file's type) with its first element at (row, col).
 */
dm_status dm_output_write(dm_output *output, int64_t row, int64_t col, dm_view view);

/* Work that a thread does on rows of a view before it writes them; CONTEXT is the caller's. Rows
 * are counted within the view; threads call it concurrently, once for each row. */
typedef struct dm_prepare {
  dm_status (*rows)(void *context, int64_t first, int64_t count); /* NULL: nothing */
  void *context;
} dm_prepare;

/* Waits until everything written so far is on the disk; KEEPALIVE (or NULL) beats meanwhile. */
dm_status dm_output_sync(dm_output *output, const dm_keepalive *keepalive);
dm_status dm_output_close(dm_output *output); /* NULL is allowed */

/* The same in a thread, for which KEEPALIVE must be suitable, while the caller continues; then
 * calls THEN, or NULL, there. One at a time per output. If no thread can be started,
 * dm_output_syncing does it. */
typedef dm_status dm_output_then(void *context);
dm_status dm_output_sync_start(dm_output *output, const dm_keepalive *keepalive,
                               dm_output_then *then, void *context);

/* *done: no sync is under way; returns the error of the sync or of what followed it. WAIT: waits
 * until it is done. */
dm_status dm_output_syncing(dm_output *output, bool wait, bool *done);

/* What a commit adds to a file. PROVENANCE is NULL for files that are not HDF5. */
typedef struct dm_output_completion {
  const dm_attributes *provenance;
  const dm_attributes *noted;  /* of a file that has no provenance, or NULL (file_note.h) */
  const dm_tile_record *tiles; /* for attributes of C (output_tiles.h) */
  int64_t count;
  bool force; /* may replace a file with C's name, whose owner and rights C gets */
  /* No journal tells the next run that C has its name: then all else goes first. */
  bool unrecorded;
  dm_journal *journal;          /* without records, or NULL */
  const dm_output_file *source; /* the part file that C was packed from, or NULL */
  void (*clear)(void *context); /* or NULL: removes what else goes before C gets its name */
  void *context;
} dm_output_completion;

/* Rank 0, after all ranks agreed that their data is on the disk, and closed the output: completes
 * FILE, syncs and renames it. If another file has taken its name or that of the part file
 * (DM_E_IO), that file stays. *named: C has its name, also after an error, which then only concerns
 * the directory; otherwise FILE is still unfinished. KEEPALIVE, or NULL, beats meanwhile. */
dm_status dm_output_commit(const dm_output_file *file, const dm_output_completion *completion,
                           const dm_keepalive *keepalive, bool *named);

/* Rank 0: removes the part file, unless its name is another file's now. */
void dm_output_discard(const dm_output_file *file);

/* Rank 0: releases its hold on the file, whatever its name; or discards it, too. */
void dm_output_release(dm_output_file *file);
void dm_output_give_up(dm_output_file *file);

/* The part file, whose data is contiguous until it is packed, as a dataset for a reader. */
dm_status dm_output_part(const dm_output_file *file, dm_dataset *dataset);

/* ---- other forms (output_recast.c): the finished contiguous file of C as a .npy file, or C as a
 * dataset in a copy of an existing file, which stays unchanged until the commit renames the new one
 * ---- */

/* Before any work, for FORM with an existing file: checks that AT's file is HDF5 and has no object
 * of that name, or, with FORCE, a dataset that has no other name and that nothing is known to refer
 * to; stores its identity in FORM. DM_E_USAGE or DM_E_INPUT otherwise. Forks. */
dm_status dm_recast_check(const dm_location *at, bool force, dm_output_form *form);

/* DM_E_FIT: there is no room for the new file besides FILE, whose space is already reserved. */
dm_status dm_recast_room(const dm_output_file *file, const dm_output_form *form);

/* Creates *made, a file with its last temporary name that is on the disk: a .npy file of C, or a
 * copy of the existing file with C added, ready for dm_output_commit. FILE stays unchanged; what is
 * read of it is added to SUMS and compared, as in dm_pack. KEEPALIVE beats repeatedly. *HELD, to be
 * closed after the commit, keeps programs that respect locks from writing to the existing file; it
 * may be -1. */
dm_status dm_recast(const dm_output_file *file, const dm_output_form *form, dm_tile_sums *sums,
                    const dm_keepalive *keepalive, dm_output_file *made, int *held);

/* DM_E_IO: the existing file was changed. */
dm_status dm_recast_unchanged(const dm_output_file *file, const dm_output_form *form);

#endif
