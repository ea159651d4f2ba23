/* damage: finds the wrong blocks of a finished C by reading A, B and C from their files. */
#ifndef DM_PRODUCT_DAMAGE_H
#define DM_PRODUCT_DAMAGE_H

#include "product/verify.h"

/* A rank's block of one tile, and its wrong rows. If columns cannot be told apart, every block of
 * the wrong rows is listed. */
typedef struct dm_damaged {
  int64_t tile;
  int rank;            /* the rank that stores the first wrong row */
  dm_range rows, cols; /* rows and columns of the block in C */
  int64_t first, last; /* wrong rows of C */
  int64_t count;       /* number of wrong rows */
} dm_damaged;

typedef struct dm_damage {
  int64_t count;
  dm_damaged *list; /* ordered by tiles */
} dm_damage;

/* Collective: VERDICT is that of the files, with VERIFY's random vector and, if that finds nothing,
 * with the next one; if it fails, DAMAGE lists the wrong blocks of PLAN. Same result on all ranks.
 * Free it with dm_damage_free. */
dm_status dm_damage_find(dm_run *run, const dm_verify *verify, const dm_plan *plan,
                         dm_damage *damage, dm_verdict *verdict);
void dm_damage_free(dm_damage *damage);

/* Appends ONE. */
dm_status dm_damage_add(dm_damage *damage, const dm_damaged *one);

/* The first of DAMAGE's blocks that has an element in common with ONE, or NULL. */
const dm_damaged *dm_damage_at(const dm_damage *damage, const dm_damaged *one);

#endif
