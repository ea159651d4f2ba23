/* leftovers: finds, and removes, what killed runs left beside an output. */
#ifndef DM_IO_LEFTOVERS_H
#define DM_IO_LEFTOVERS_H

#include "dataset/dataset.h"
#include "dataset/naming.h"

typedef enum dm_leftover_fate {
  DM_LEFTOVER_GOES,      /* it is removed, if anything is */
  DM_LEFTOVER_RESUMABLE, /* it stays: the same command would go on from it */
  DM_LEFTOVER_IN_USE,    /* it stays: a run has locked it, or that cannot be told */
  DM_LEFTOVER_FOREIGN,   /* it stays: it was not made by damier */
} dm_leftover_fate;

typedef struct dm_leftover {
  const char *path;
  int64_t bytes;
  dm_leftover_fate fate;
  bool again; /* another name of the file before it */
} dm_leftover;

/* Told of each leftover, after it was removed. */
typedef dm_status dm_leftover_taker(void *context, const dm_leftover *leftover);

/* What of the COUNT outputs' endings (dm_output_endings) the name FILE has: the length of the
 * output's name; 0: none. */
size_t dm_leftover_of(const char *file);

/* Tells TAKE of each file beside output AT that an unfinished run leaves. REMOVE: removes those
 * that are surely damier's, that no run uses, and, unless TOLD, that no run would go on from. */
dm_status dm_leftovers_clean(const dm_location *at, bool remove, bool told, dm_leftover_taker *take,
                             void *context);

#endif
