/* checkpoint_impl: shared by checkpoint.c, which records tiles, and checkpoint_resume.c, which
 * takes up what an earlier run recorded. */
#ifndef DM_PRODUCT_CHECKPOINT_IMPL_H
#define DM_PRODUCT_CHECKPOINT_IMPL_H

#include "engine/setup.h"
#include "plan/tiles.h"
#include "product/checkpoint.h"
#include "product/description.h"
#include "product/run_fields.h"

/* The journal's description of the run that started it; plain data, for all ranks. */
typedef struct dm_found {
  int64_t records, offset, ranks;
  bool in_place; /* C replaces a matrix that it is computed from */
  int64_t named; /* tiles of a result that may have C's name already; 0: none has */
  bool done;     /* it has */
  int64_t tiles_m, tiles_n, down, pm, pn, pk, panel;
  int64_t run;            /* number of this run: how often the first one was resumed */
  char id[DM_ID];         /* id of its part file */
  dm_journal_place place; /* of this run's records */
} dm_found;

struct dm_checkpoint {
  dm_run *run;
  const dm_multiply *multiply;
  bool begun;
  bool named; /* C has its name */
  bool sums;  /* checksums are computed */
  bool on;    /* false: nothing is recorded, the result is synced at the end */
  double interval, started, next;
  dm_found found;

  const dm_plan *plan;
  dm_tile_states *states;
  int64_t tiles, taken;    /* taken: tiles that an earlier run recorded */
  int used;                /* ranks that write */
  uint64_t *mine;          /* checksums of this rank's part of every tile */
  dm_tile_record *records; /* one per tile; their checksums are known after the flush */
  dm_journal_part *part;   /* records tiles while others are computed; or NULL */
  dm_tile_record *behind;  /* what the thread that syncs records then, and how many */
  int64_t behinds;
  /* Tiles of this run that have reached this state on this rank, counted as in plan->todo; after
   * the flush, on all. */
  int64_t stored, syncing, recorded;
  int64_t turn; /* number of intervals passed at the last sync */
  dm_output *output;
  bool flushed; /* everything is on the disk, and all ranks know */

  /* rank 0 */
  dm_journal *journal;
  dm_attributes fields; /* fields of this run */
  dm_output_file file;
  bool created;
  dm_reservation *reservation; /* of the part file's space, or NULL; ranks of its process know it */
};

/* ---- checkpoint_resume.c ---- */

/* Rank 0: inspects the journal and the file with C's name, and fills FOUND. DM_E_IO: another run
 * prevents this one. */
dm_status dm_found_inspect(dm_checkpoint *checkpoint, const dm_problem *problem);

/* Collective, if a result may have C's name: compares the file as it is with the recorded tiles. */
dm_status dm_found_verify(dm_checkpoint *checkpoint);

/* Rank 0, after that: removes the leftovers of a run that is done, or says why the run that was
 * found cannot go on. */
dm_status dm_found_settle(dm_checkpoint *checkpoint);

/* Rank 0: whether the run found has the fields WANTED; with --force a different one is started
 * over. */
dm_status dm_found_compare(dm_checkpoint *checkpoint, const dm_attributes *wanted);

/* The tile of RECORD, searching from FROM; -1: none. */
int64_t dm_recorded_tile(const dm_checkpoint *checkpoint, const dm_tile_record *record,
                         int64_t from);

/* Rank 0: lists the tiles that the journal names, each by its last record, and, once the good ones
 * are known, the others as they will be recorded, without checksums. */
dm_status dm_recorded_list(dm_checkpoint *checkpoint);
void dm_recorded_list_others(dm_checkpoint *checkpoint);

/* Collective: compares the recorded tiles with the part file and drops those that differ. */
dm_status dm_recorded_compare(dm_checkpoint *checkpoint);

#endif
