/* reduced_impl: shared by the parts of reduced: reduced.c computes tiles, reduced_result.c writes
 * and reports what becomes of them, reduced_plan.c forecasts. */
#ifndef DM_PRODUCT_REDUCED_IMPL_H
#define DM_PRODUCT_REDUCED_IMPL_H

#include "product/distances.h"
#include "product/reduced.h"
#include "product/reduced_state.h"
#include "product/stored_tiles.h"

/* A product whose C is reduced. */
typedef struct reduced {
  dm_run *run;
  const dm_multiply *stated;
  dm_multiply *multiply; /* the same, centered if that is stated */
  dm_reduced_kept *kept; /* the result; NULL: a file */
  dm_problem problem;
  dm_reducer *reducer[DM_REDUCTIONS];
  char folder[DM_PATH]; /* of the result, where elements may go; "": they stay in memory */
  void *copies[2];      /* of A and B that were in other memory */
  void *rows;           /* of a tile of C: this rank's */
  dm_dtype tile;        /* the type of its elements */
  int64_t step;         /* rows and columns of most tiles */
  int64_t tiles;        /* merged so far, */
  int64_t taken;        /* the first ones by an earlier run */
  dm_reduced_state state;
  int64_t process, share; /* bytes of memory of this process, and those that the rank has besides */
  int64_t tile_bytes;     /* this rank's, of a tile */
  dm_progress progress;
  double done, all;       /* elements of C, in the tiles that are computed */
  bool symmetric;         /* only one half is computed */
  bool diagonal;          /* only tiles on it are */
  bool unchecked;         /* part of a tile could not be verified */
  dm_distances distances; /* between lines, which C has; or none of a kind */
  bool whole;             /* all of C is stored */
  dm_stored_tiles stored;
  double started;
} reduced;

static inline bool dm_reduced_by_columns(const reduced *r) {
  return r->multiply->kept.count > 0 && r->multiply->kept.list[0].by_columns;
}

/* "top 3 of each row; max of each row" */
enum { DM_REDUCED_TEXT = DM_REDUCTIONS * (DM_REDUCTION_TEXT + 2) };
const char *dm_reduced_text(const reduced *r, char text[DM_REDUCED_TEXT]);

/* Provenance of a C that is stored whole; CONTEXT is the reduced. */
dm_status dm_reduced_describe_whole(void *context, const dm_run *run, dm_attributes *list);

/* Rank 0: writes what is kept, or gives it to the caller. */
dm_status dm_reduced_deliver(reduced *r);

/* Rank 0. AGAIN: pairs of all ranks that were taken again. */
void dm_reduced_report(const reduced *r, int64_t again, dm_record *record);

#endif
