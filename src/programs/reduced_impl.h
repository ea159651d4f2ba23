/* reduced_impl: shared by the parts of reduced: reduced.c computes tiles, reduced_gpu.c those that
 * stay on a GPU, reduced_result.c writes and reports what becomes of them, reduced_plan.c
 * forecasts.
 */
#ifndef DM_PROGRAMS_REDUCED_IMPL_H
#define DM_PROGRAMS_REDUCED_IMPL_H

#include "programs/distances.h"
#include "programs/reduced.h"
#include "programs/reduced_state.h"
#include "programs/stored_tiles.h"

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
  int64_t tile_bytes;     /* this rank's, of a tile, in host memory or in that of GPU */
  dm_progress progress;
  double done, all;       /* elements of C, in the tiles that are computed */
  bool symmetric;         /* only one half is computed */
  bool diagonal;          /* only tiles on it are */
  bool unchecked;         /* part of a tile could not be verified */
  dm_distances distances; /* between lines, which C has; or none of a kind */
  bool stores_all;        /* of C */
  dm_stored_tiles stored;
  struct dm_reduced_gpu *gpu; /* tiles stay there (reduced_gpu.h); NULL: on the host */
  double started;
} reduced;

static inline bool dm_reduced_by_columns(const reduced *r) {
  return r->multiply->kept.count > 0 && r->multiply->kept.list[0].by_columns;
}

/* The product that a tile is, with its matrices in memory. */
typedef struct dm_reduced_tile {
  dm_multiply multiply;
  dm_memory_matrix in[2], c;
} dm_reduced_tile;

/* A and B are the factors of the tile of ROWS and COLS. */
void dm_reduced_pose_tile(const reduced *r, const dm_dataset *a, const dm_dataset *b, dm_range rows,
                          dm_range cols, dm_reduced_tile *job);

/* The lines of A, or B, that C's rows, or columns, are of. */
dm_lines dm_reduced_lines_of(const reduced *r, int x);

/* Collective, in this order. All that needs no reading; OWN: room for what R multiplies. */
dm_status dm_reduced_begin(reduced *r, dm_multiply *own);
dm_status dm_reduced_open_reducers(reduced *r);
dm_status dm_reduced_choose_step(reduced *r);
void dm_reduced_end(reduced *r, dm_status status);

int64_t dm_reduced_tile_count(const reduced *r);
int64_t dm_reduced_kept_bytes(const reduced *r); /* of what is kept so far */
void dm_reduced_say_tiles(reduced *r);

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
