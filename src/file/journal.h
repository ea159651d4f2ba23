/* journal: records which tiles of C are on the disk, in a file C.h5.journal beside C.h5.part.
 *
 * A header of named texts, then one record of 64 bytes per tile, each with its own checksum. Only
 * rank 0 uses it. A record is appended after all ranks have synced the data of its tile, and is on
 * the disk when dm_journal_append returns. docs/checkpoint_protocol.md states the guarantees. */
#ifndef DM_FILE_JOURNAL_H
#define DM_FILE_JOURNAL_H

#include <stdbool.h>

#include "file/dataset.h"

/* A tile of C that is on the disk. Of two records of the same tile, the later one counts. */
typedef struct dm_tile_record {
  int64_t sequence; /* 0, 1, 2, ...: set by dm_journal_append */
  int64_t row, col, rows, cols;
  uint64_t checksum; /* of dm_checksum_view (core/element_sum.h) */
  int64_t run;       /* run that computed it: 0 for the first, plus one for each resumption */
  uint64_t own;      /* checksum of this record: set by dm_journal_append */
} dm_tile_record;

enum { DM_JOURNAL_HEADER = 1 << 16 }; /* bytes before the first record */

_Static_assert(sizeof(dm_tile_record) == 64, "records have a fixed size");

typedef enum dm_journal_state {
  DM_JOURNAL_NEW,     /* none, or it never got a first record */
  DM_JOURNAL_PRESENT, /* it can be read */
  DM_JOURNAL_DAMAGED, /* has records, but its header is damaged */
} dm_journal_state;

typedef struct dm_journal dm_journal;

/* Opens the journal of output AT, or creates an empty one, and holds its lock until it is closed.
 * DM_E_IO: another run holds it. *LOCKED is false if the file system has no locks. */
dm_status dm_journal_open(const dm_location *at, dm_journal **journal, bool *locked);
void dm_journal_close(dm_journal *journal); /* NULL is allowed */

dm_journal_state dm_journal_state_of(const dm_journal *journal);

/* Whether the file existed before: an earlier run opened it. */
bool dm_journal_existed(const dm_journal *journal);

/* For a journal that is present: its texts, and the COUNT records before the first torn or damaged
 * one; owned by the journal. */
const dm_attributes *dm_journal_fields(const dm_journal *journal);
const dm_tile_record *dm_journal_records(const dm_journal *journal, int64_t *count);

/* *LIST, to be freed: the last record of each tile, in the order of their places. *COVERS: the
 * tiles are all of a C of ROWS x COLS. */
dm_status dm_journal_tiles(const dm_journal *journal, int64_t rows, int64_t cols,
                           dm_tile_record **list, int64_t *count, bool *covers);

/* Empties the journal: its contents are no longer valid. */
dm_status dm_journal_clear(dm_journal *journal);

/* Empties the journal and writes a new header; it is on the disk afterwards. */
dm_status dm_journal_begin(dm_journal *journal, const dm_attributes *fields);

/* Appends COUNT records and waits until they are on the disk. After an error the journal on the
 * disk is unchanged, or longer by good records or one torn record; nothing more may be appended. */
dm_status dm_journal_append(dm_journal *journal, dm_tile_record *records, int64_t count);

/* Removes the file: C has its name, or there is nothing to resume. */
dm_status dm_journal_remove(dm_journal *journal);

/* Before any work, without creating anything: whether AT's journal, if it has one, names all tiles
 * of a C of ROWS x COLS. */
dm_status dm_journal_inspect_complete(const dm_location *at, int64_t rows, int64_t cols,
                                      bool *complete);

/* Before any work, without creating anything: *present if AT has a journal. DM_E_IO: another run
 * holds its lock, or it is no regular file. */
dm_status dm_journal_inspect(const dm_location *at, bool *present);

/* ---- checksums of records and of samples of a file; for elements of C see core/element_sum.h
 * ---- */

/* XXH3-64. */
uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed);

/* Checksum of the current file of DATASET: pieces of 4 KiB at up to 64 places, including the first
 * and last bytes; for datasets made of others also the sources. Distinguishes files of the same
 * size and time. DM_E_IO. */
dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum);

#endif
