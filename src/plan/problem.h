/* problem: the product C = alpha op(A) op(B) + beta C, as planning needs to know it.
 *
 * op(A) is m x k, op(B) is k x n, C is m x n; the ops are applied where the files are read, so all
 * other code sees only op(A) and op(B). */
#ifndef DM_PLAN_PROBLEM_H
#define DM_PLAN_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compute.h"

typedef enum dm_op { DM_OP_N, DM_OP_T, DM_OP_C } dm_op;

/* Where op(A) and op(B) are before a product, and C is after it. */
typedef enum dm_home {
  DM_HOME_SHARES, /* in the ranks' own shares; C stays in their blocks, or, where the shares of GPUs
                     lie in host memory, returns there */
  DM_HOME_HOST,   /* in host memory of the ranks: what resides on a GPU is brought there while
                     products run; C returns to host memory */
  DM_HOME_FILES
} dm_home;

typedef struct dm_problem {
  int64_t m, n, k;
  dm_dtype file_a, file_b; /* as the elements lie in the files */
  dm_dtype work;           /* as they are moved and multiplied */
  dm_dtype accumulator;    /* in which sums of products are held */
  dm_dtype c;              /* of the result */
  dm_compute compute;      /* how it is multiplied and summed: the row for the parts of WORK */
  bool fastest;            /* another row may take the place of COMPUTE where it is faster */
  bool reads_c;            /* beta is not 0 */
  bool scales;             /* alpha is not 1 */
  int finish_bytes; /* where the home is not files: what finishing an element of C takes there */
  dm_home home;
  bool verify;
  dm_op op_a, op_b;         /* of what lies in the files */
  int64_t chunk_a, chunk_b; /* bytes of a chunk there; 0: contiguous, row by row */
  int64_t chunk_c;          /* the same of the old C */
  int64_t beside_bytes;     /* on the disk, that C takes beside its contiguous form */
} dm_problem;

enum { DM_RAMP = 2 };

/* What the user asks of the plan; 0 or false leaves the choice to the planner. */
typedef struct dm_wishes {
  int pm, pn, pk;
  int64_t panel, ramp[DM_RAMP]; /* as dm_plan's kb and ramp */
  bool reproducible;
  bool no_overlap;
  bool from_device;         /* shares must reside on the GPUs ... */
  bool from_host;           /* ... or in host memory */
  bool by_links;            /* what is gathered is gathered in GPU memory, where that can be */
  int64_t tiles_m, tiles_n; /* both or none: tiles of C, in the order of plan->down */
  bool down;
  bool may_cut; /* without files, too, C may be cut into tiles: its owner takes each of them */
  double tile_seconds; /* predicted, that a tile may take; 0: any */
  bool no_advice;      /* a refusal need not say what would fit, which takes long to find */
} dm_wishes;

#endif
