/* journal: records which tiles of C are on the disk, in a file C.h5.journal beside C.h5.part.
 *
 * A header of named texts, then records of 64 bytes, each with its own checksum. Rank 0 holds the
 * journal. Every rank appends to its own part of it, in blocks of 4 KiB, what it has synced of a
 * tile; a tile of which all parts are recorded is on the disk. docs/checkpoint_protocol.md states
 * the guarantees. */
#ifndef DM_IO_JOURNAL_H
#define DM_IO_JOURNAL_H

#include <stdbool.h>

#include "dataset/dataset.h"

/* A tile of C, or what one rank wrote of it, that is on the disk. */
typedef struct dm_tile_record {
  int64_t row, col, rows, cols; /* of the tile */
  uint64_t checksum;            /* of dm_checksum_view (core/element_sum.h), of that part */
  int64_t run;         /* run that computed it: 0 for the first, plus one for each resumption */
  int32_t part, parts; /* which of so many parts; set when it is appended; a whole tile: 0 of 1 */
  uint64_t own;        /* checksum of this record; set when it is appended */
} dm_tile_record;

enum { DM_JOURNAL_HEADER = 1 << 16 }; /* bytes before the first record */

_Static_assert(sizeof(dm_tile_record) == 64, "records have a fixed size");

typedef enum dm_journal_state {
  DM_JOURNAL_NEW,     /* none, or it never got a first record */
  DM_JOURNAL_PRESENT, /* it can be read */
  DM_JOURNAL_DAMAGED, /* has records, but its header is damaged */
  DM_JOURNAL_STRANGE, /* of another version of the format */
} dm_journal_state;

typedef struct dm_journal dm_journal;

/* Opens the journal of output AT, or creates an empty one, and holds its lock until it is closed.
 * DM_E_IO: another run holds it. *LOCKED is false if the file system has no locks. */
dm_status dm_journal_open(const dm_location *at, dm_journal **journal, bool *locked);
void dm_journal_close(dm_journal *journal); /* NULL is allowed */

dm_journal_state dm_journal_state_of(const dm_journal *journal);

/* Whether the file existed before: an earlier run opened it. */
bool dm_journal_existed(const dm_journal *journal);

/* For a journal that is present: its texts; and the COUNT tiles of which all parts are recorded, in
 * the order of their places, each by the last run that recorded it. Both are the journal's. */
const dm_attributes *dm_journal_fields(const dm_journal *journal);
const dm_tile_record *dm_journal_tiles(const dm_journal *journal, int64_t *count);

/* The last run that recorded anything; -1: none did. */
int64_t dm_journal_last_run(const dm_journal *journal);

/* Whether the tiles are all of a C of ROWS x COLS. */
bool dm_journal_covers(const dm_journal *journal, int64_t rows, int64_t cols);

/* Empties the journal: its contents are no longer valid. */
dm_status dm_journal_clear(dm_journal *journal);

/* Empties the journal and writes a new header; it is on the disk afterwards. */
dm_status dm_journal_begin(dm_journal *journal, const dm_attributes *fields);

/* Appends COUNT whole tiles and waits until they are on the disk. */
dm_status dm_journal_append(dm_journal *journal, dm_tile_record *tiles, int64_t count);

/* Reads the records again, also those of other ranks: *count tiles are recorded by RUN. */
dm_status dm_journal_count(dm_journal *journal, int64_t run, int64_t *count);

/* ---- a rank's part ---- */

/* Where parts begin; plain data, from rank 0 to all. */
typedef struct dm_journal_place {
  uint64_t key, inode;
  int64_t base;
  bool begun; /* its header is on the disk already */
} dm_journal_place;

/* Of a journal that has begun, or will with FIELDS; nothing else may be appended to it before the
 * parts are closed. */
dm_status dm_journal_place_of(const dm_journal *journal, const dm_attributes *fields,
                              dm_journal_place *place);

/* Opens part PART of PARTS of the journal of AT. DM_E_IO: it is not the one that rank 0 holds. */
typedef struct dm_journal_part dm_journal_part;
dm_status dm_journal_part_open(const dm_location *at, const dm_journal_place *place, int part,
                               int parts, dm_journal_part **opened);

/* *ready: the header is on the disk, as the first record of part 0 says, and nothing but that may
 * be appended before. Part 0 begins the journal itself. */
dm_status dm_journal_part_ready(dm_journal_part *part, bool *ready);

/* Appends COUNT records and waits until they are on the disk. After an error the journal on the
 * disk is unchanged, or longer by good records or one torn record; nothing more may be appended. */
dm_status dm_journal_part_append(dm_journal_part *part, dm_tile_record *records, int64_t count);
void dm_journal_part_close(dm_journal_part *part); /* NULL is allowed */

/* Removes the file: C has its name, or there is nothing to resume. */
dm_status dm_journal_remove(dm_journal *journal);

/* Before any work, without creating anything: whether AT's journal, if it has one, names all tiles
 * of a C of ROWS x COLS. */
dm_status dm_journal_inspect_complete(const dm_location *at, int64_t rows, int64_t cols,
                                      bool *complete);

/* Before any work, without creating anything: *present if AT has a journal. DM_E_IO: another run
 * holds its lock, or it is no regular file. */
dm_status dm_journal_inspect(const dm_location *at, bool *present);

/* Checksum of the current file of DATASET: pieces of 4 KiB at up to 64 places, including the first
 * and last bytes; for datasets made of others also the sources. Distinguishes files of the same
 * size and time. DM_E_IO. */
dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum);

#endif
