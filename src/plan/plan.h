/* plan: problem + machine -> plan. Pure functions: no MPI, CUDA or HDF5, no clock, no environment.
 *
 * Rank (i, j, l) of the process grid pm x pn x pk computes block C(i, j) over layer l of k. k is
 * cut into panels of kb; a layer is a run of panels. The pn ranks of a grid row share the rows of
 * A(i, l); each of the pm ranks of a grid column owns consecutive rows of each panel of B(l, j).
 * With C cut into tiles, this repeats for each tile in turn. */
#ifndef DM_PLAN_PLAN_H
#define DM_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "plan/machine.h"
#include "plan/problem.h"

enum { DM_PANEL_STEP = 64, DM_BORDER = 256, DM_REPRODUCIBLE_PANEL = 512, DM_RECIPE = 256 };

typedef struct dm_range {
  int64_t begin, end;
} dm_range;

/* A part of a matrix. */
typedef struct dm_extent {
  dm_range rows, cols;
} dm_extent;

typedef enum dm_matrix { DM_A, DM_B } dm_matrix;
enum { DM_C = 2, DM_OLD = 3 }; /* the result and the old C, beside them */

/* MATRIX is one of the four. */
static inline const char *dm_matrix_name(int matrix) {
  static const char *const names[] = {"A", "B", "C", "the old C"};
  return names[matrix];
}

/* Where a share is stored. IN_FILE: a tile's pieces pass through memory, panel by panel. */
typedef enum dm_residence { DM_IN_HOST, DM_IN_DEVICE, DM_IN_FILE } dm_residence;

enum { DM_FORECAST_PHASES = 8 };

/* Seconds of the slowest rank; the total does not add phases that overlap. */
typedef struct dm_forecast {
  union {
    struct {
      double read, upload, fetch, gemm, reduce, write;
      double exposed; /* time of fetch and upload not hidden by the multiplication */
      double total;   /* from the first read to the last write */
    };
    double phase[DM_FORECAST_PHASES];
  };
  double start; /* before the first read, since main; 0: not known */
} dm_forecast;

struct dm_todo;

/* Plain data (at most 4 KiB): rank 0 chooses it and sends it to all. */
typedef struct dm_plan {
  dm_problem problem;
  int ranks; /* of the job; ranks from pm*pn*pk on are idle */
  int pm, pn, pk;
  int qm, qn, qk;        /* box that the ranks of one node form in the grid; 1 1 1: plain order */
  int64_t kb;            /* panel width; panels but the last are this wide, ... */
  int64_t ramp[DM_RAMP]; /* ... and the ramp-up panels of each layer; 0: as wide as the others */
  int64_t panels;        /* in all layers together */
  int slots;             /* in each ring */
  int64_t tiles_m, tiles_n; /* tiles of C, down and across; computed in sequence */
  int blocks; /* blocks of C in memory: with 2 a tile is stored while the next is multiplied */
  bool down;  /* the order of tiles follows columns, not rows */
  int64_t held_a, held_b; /* IN_FILE: first panels of a layer, kept until the tile's rows (columns)
                           change */
  int reads;              /* IN_FILE: places for the other panels, used in turn; >= slots */
  int64_t border;         /* 0: blocks are cut evenly.  Else tiles, blocks and products are cut at
                           its multiples, so that C has the same bits on any grid */
  int strips; /* the last panels (stretch) of a layer are multiplied strip by strip of a block's
               rows, each layer summing this many strips; C is summed and written meanwhile; 0:
               all rows together */
  int64_t stretch;
  bool reproducible, overlap;
  bool read_first; /* A and B are read before the first product: reading would need the product's
                      cores */
  bool gpu, device_links;
  bool in_place; /* with device links: gathered matrices have a slot for each panel, and the rank's
                  own pieces are loaded into them, so that only peers' pieces move */
  bool shared_a, shared_b; /* the ranks that gather it are on one node and keep all its panels once,
                            in shared memory: nothing moves */
  int copies_a, copies_b;  /* from the machine */
  dm_residence a, b;       /* where the shares are stored */
  int64_t host_bytes, device_bytes; /* of the rank that needs most */
  int64_t process_bytes;            /* from the machine */
  int64_t disk_bytes;               /* of C */
  double received_words;            /* elements, of the rank that receives most */
  double received_bytes_total;      /* of all ranks together */
  double between_nodes_bytes;       /* part of it between nodes */
  double bound_words;               /* tight lower bound of received_words (see volume.h) */
  double file_words;       /* elements read and written, by all ranks together; 0: no files */
  double file_bound_words; /* all matrices in files: lower bound of it (see volume.h); else 0 */
  dm_forecast forecast;
  const struct dm_todo *todo; /* tiles that this run computes (tiles.h); NULL: all.  Never sent:
                               ranks set it once they agree on the tiles already complete */
  char kernel[32];            /* name of the kernel in the recipe; empty: not chosen yet */
} dm_plan;

typedef struct dm_coords {
  int i, j, l;
  bool idle;
} dm_coords;

/* ---- queries ---- */

/* Whether MATRIX (DM_A, DM_B, DM_C) is in a file, or read and written like one; whether any, or an
 * operand, is. */
static inline bool dm_plan_in_file(const dm_problem *problem, int matrix) {
  return problem->home[matrix] == DM_HOME_FILE || problem->home[matrix] == DM_HOME_SEEN;
}

static inline bool dm_plan_reads_files(const dm_problem *problem) {
  return dm_plan_in_file(problem, DM_A) || dm_plan_in_file(problem, DM_B);
}

static inline bool dm_plan_all_in_files(const dm_problem *problem) {
  return problem->home[DM_A] == DM_HOME_FILE && problem->home[DM_B] == DM_HOME_FILE &&
         problem->home[DM_C] == DM_HOME_FILE;
}

static inline bool dm_plan_has_files(const dm_problem *problem) {
  return dm_plan_reads_files(problem) || dm_plan_in_file(problem, DM_C);
}

/* Whether shares that reside on GPUs are copied there from host memory. */
static inline bool dm_plan_brings(const dm_plan *plan, dm_matrix matrix) {
  return plan->problem.home[matrix] == DM_HOME_HOST &&
         (matrix == DM_A ? plan->a : plan->b) == DM_IN_DEVICE;
}

/* Whether C returns from the GPUs to host memory, where A and B are. */
static inline bool dm_plan_returns(const dm_plan *plan) {
  const bool hosted = plan->a == DM_IN_HOST && plan->b == DM_IN_HOST;
  const dm_home home = plan->problem.home[DM_C];
  return plan->gpu && (home == DM_HOME_HOST || (home == DM_HOME_SHARES && hosted));
}

/* Whether products must still be summed before they are stored. */
static inline bool dm_plan_sums(const dm_plan *plan) {
  return plan->pk > 1 || plan->problem.compute.finish != DM_NO_FINISH;
}

/* Whether A or B stays in its file. */
static inline bool dm_plan_streams(const dm_plan *plan) {
  return plan->a == DM_IN_FILE || plan->b == DM_IN_FILE;
}

/* Inputs of the choice; borrowed. */
typedef struct dm_question {
  const dm_problem *problem;
  const dm_machine *machine;
  const dm_wishes *wishes;
  int ranks;
  bool in_tiles; /* C may be cut into tiles if it does not fit: slow to choose */
} dm_question;

#endif
