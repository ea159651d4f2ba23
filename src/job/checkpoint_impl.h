/* checkpoint_impl: what the files of the checkpoint share. */
#ifndef DM_JOB_CHECKPOINT_IMPL_H
#define DM_JOB_CHECKPOINT_IMPL_H

#include "job/checkpoint.h"
#include "plan/tiles.h"

/* What the journal says of the run that began it; plain data, for all ranks. */
typedef struct dm_found {
  int64_t records, offset, ranks;
  bool done; /* C has its name */
  int64_t tiles_m, tiles_n, down, pm, pn, pk, panel;
  char id[DM_ID]; /* of its part file */
} dm_found;

/* What a rank tells rank 0 of a tile that it has on the disk; the last one names no tile. */
typedef struct dm_tile_note {
  int64_t tile;
  uint64_t checksum; /* of its part */
} dm_tile_note;

/* Rank 0's end of it, for one of the others. */
typedef struct dm_teller {
  dm_messages *messages;
  dm_tile_note note; /* where the next one arrives */
  bool asked, ended;
} dm_teller;

struct dm_checkpoint {
  dm_run *run;
  const dm_multiply *multiply;
  bool begun;
  bool in_place; /* C replaces what it is computed from */
  bool named;    /* C has its name */
  bool sums;     /* checksums are taken */
  bool on;       /* false: nothing is recorded, the result is synced at the end */
  dm_comm *comm;
  double interval, started, next;
  dm_found found;

  const dm_plan *plan;
  dm_tile_states *states;
  int64_t tiles, taken; /* taken: that an earlier run recorded */
  int used;             /* ranks that write */
  dm_tile_note *mine;   /* of every tile, this rank's part; and the note that ends them */
  /* Tiles of this run that got so far on this rank, counted as in plan->todo. */
  int64_t stored, syncing, synced, told;
  int64_t turn; /* intervals that had passed at the last sync */
  dm_output *output;
  bool flushed; /* all is on the disk and rank 0 was told of it */
  dm_messages *sent;

  /* rank 0 */
  dm_journal *journal;
  dm_attributes fields; /* of this run */
  dm_output_file file;
  bool created;
  dm_reservation *reservation; /* of the part file's space, or NULL */
  dm_tile_record *records;     /* of every tile */
  int32_t *missing;            /* ranks that have not told of the tile */
  int64_t complete, written; /* tiles of this run that all have told of, that are in the journal */
  dm_teller *tellers;        /* ranks that write; the first is rank 0 itself and not used */
};

/* Rank 0: looks at the journal and at what has C's name, and fills FOUND.  DM_E_IO where a run is
 * in the way.  (checkpoint_found.c) */
dm_status dm_found_look(dm_checkpoint *checkpoint, const dm_problem *problem);

/* Rank 0: whether what was found is of the run with the fields WANTED; with --force it is left to
 * be started over. */
dm_status dm_found_compare(dm_checkpoint *checkpoint, const dm_attributes *wanted);

/* (checkpoint_notes.c) */
dm_status dm_notes_open(dm_checkpoint *checkpoint);
void dm_notes_close(dm_checkpoint *checkpoint);

/* Tells rank 0 of this rank's first END tiles. */
dm_status dm_notes_tell(dm_checkpoint *checkpoint, int64_t end);

/* Nothing more will be told: rank 0 takes all that the others have told, or tell until they come
 * here too. */
dm_status dm_notes_end(dm_checkpoint *checkpoint);

/* Rank 0: takes what has arrived. */
dm_status dm_notes_take(dm_checkpoint *checkpoint);

/* Rank 0: records in the journal what is complete. */
dm_status dm_notes_record(dm_checkpoint *checkpoint);

/* The tile of a record, looked for from FROM on; -1: there is none.  (checkpoint_trust.c) */
int64_t dm_recorded_tile(const dm_checkpoint *checkpoint, const dm_tile_record *record,
                         int64_t from);

/* Rank 0: the tiles that the journal names, each by its last record; and, when it is known which of
 * them are good, the others as they will stand there, but for their checksums. */
dm_status dm_trust_list(dm_checkpoint *checkpoint);
void dm_trust_list_others(dm_checkpoint *checkpoint);

/* Of a tile of PLAN, without its checksum. */
dm_tile_record dm_trust_record(const dm_plan *plan, int64_t tile);

/* This rank's part of the tiles in LIST of the part FILE whose checksums are WANTED (NULL: all). */
dm_status dm_trust_sums(dm_checkpoint *checkpoint, const dm_output_file *file,
                        const dm_tile_record *list, int64_t count, const bool *wanted,
                        uint64_t *sums);

/* Collective: compares the recorded tiles with the part file, and gives those back that are not as
 * they were recorded.  (checkpoint_trust.c) */
dm_status dm_trust_recorded(dm_checkpoint *checkpoint, const dm_output_file *file);

#endif
