/* problem: the product C = alpha op(A) op(B) + beta C, as the planner sees it.
 *
 * op(A) is m x k, op(B) is k x n, C is m x n; reading the files applies the ops, so all other code
 * sees only op(A) and op(B).
 *
 * A batch is a run of such products, its entries, of one shape: their op(A)s are one below the
 * other in an m x k matrix, their op(B)s in one of batch * k x n, their Cs in C. */
#ifndef DM_PLAN_PROBLEM_H
#define DM_PLAN_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compute.h"

typedef enum dm_op { DM_OP_N, DM_OP_T, DM_OP_C } dm_op;

/* Where op(A), op(B) or the old C is before a product, or C after it. */
typedef enum dm_home {
  DM_HOME_SHARES, /* in the ranks' own shares; C stays in their blocks, or returns to host memory if
                   the GPUs' shares are there */
  DM_HOME_HOST,   /* in the ranks' host memory: what resides on a GPU is copied there while products
                   run; C returns to host memory */
  DM_HOME_DEVICE, /* in memory of this rank's GPU, which has the whole matrix: copied within it */
  DM_HOME_FILE,
  DM_HOME_SEEN /* in host memory that all ranks see whole: it is read and written like a file */
} dm_home;

enum { DM_HOMES = 4 };

/* Whether op(B) is the transpose of op(A), so that C is symmetric; or its conjugate transpose, and
 * C is Hermitian. */
typedef enum dm_symmetry { DM_NO_SYMMETRY, DM_SYMMETRIC, DM_HERMITIAN } dm_symmetry;

/* What is stored of a symmetric C: the other half's elements are 0. */
typedef enum dm_half { DM_BOTH_HALVES, DM_LOWER_HALF, DM_UPPER_HALF } dm_half;

typedef struct dm_problem {
  int64_t m, n, k;
  int64_t batch;           /* entries, which divide m; 0: one */
  dm_symmetry symmetry;    /* only one half of C is computed (plan/partition.h) */
  bool symmetry_found;     /* it is not stated, but follows from A and B */
  dm_half half;            /* with the diagonal */
  bool no_k;               /* k is 0 and stands here as 1, for a column of zeros: C is beta C0 */
  dm_dtype file_a, file_b; /* types in the files */
  dm_dtype work;           /* type of moved and multiplied elements */
  dm_dtype accumulator;    /* type of sums of products */
  dm_dtype c;              /* type of the result */
  dm_compute compute;      /* compute mode: the row for the parts of WORK */
  bool fastest;            /* the planner may replace COMPUTE by a faster row */
  bool reads_c;            /* beta is not 0 */
  bool scales;             /* alpha is not 1 */
  double correlates;       /* C holds correlations times this number; 0: it does not */
  int finish_bytes;        /* C in memory: bytes for finishing an element where it was summed */
  dm_home home[DM_HOMES];  /* of DM_A, DM_B, DM_C, DM_OLD */
  bool verify;
  dm_op op_a, op_b;         /* ops of the matrices in the files */
  int64_t chunk_a, chunk_b; /* bytes of a chunk in the file; 0: contiguous, row-major */
  int64_t chunk_c;          /* the same for the old C */
  int64_t more_bytes;       /* bytes on the disk that C needs besides its contiguous form */
} dm_problem;

/* Whether C is made of integers by products in f64, which are exact where no sum exceeds
 * dm_problem_integral_limit. */
static inline bool dm_problem_is_integral(const dm_problem *problem) {
  return dm_dtype_is_integer(problem->c) && !dm_dtype_is_integer(problem->work);
}

/* Whether elements of C are compared exactly: they are integers. */
static inline bool dm_problem_is_exact(const dm_problem *problem) {
  return dm_dtype_is_integer(problem->work) || dm_dtype_is_integer(problem->c);
}

/* The largest magnitude that sums of integers in C may have: f64 holds all integers up to it. */
static inline double dm_problem_integral_limit(dm_dtype c) {
  return c == DM_I64 ? 0x1p53 - 1.0 : dm_dtype_largest(c);
}

/* The same home for all. */
static inline void dm_problem_set_home(dm_problem *problem, dm_home home) {
  for (int x = 0; x < DM_HOMES; x++) problem->home[x] = home;
}

static inline int64_t dm_problem_entries(const dm_problem *problem) {
  return problem->batch > 1 ? problem->batch : 1;
}

/* Rows of op(A) and C in an entry. */
static inline int64_t dm_problem_entry_rows(const dm_problem *problem) {
  return problem->m / dm_problem_entries(problem);
}

/* Whether the host's cores multiply each of these ENTRIES, M x K by K x N, sooner than it gets to a
 * GPU and back. */
static inline bool dm_entries_are_small(int64_t entries, int64_t m, int64_t n, int64_t k) {
  const double flops_on_host = 5e6;
  return entries > 1 && 2.0 * (double)m * (double)n * (double)k <= flops_on_host;
}

/* Rows of all op(B)s. */
static inline int64_t dm_problem_b_rows(const dm_problem *problem) {
  return problem->k * dm_problem_entries(problem);
}

enum { DM_RAMP = 2 };

/* The user's wishes; 0 or false leaves the choice to the planner. */
typedef struct dm_wishes {
  int pm, pn, pk;
  int64_t panel, ramp[DM_RAMP]; /* dm_plan's kb and ramp */
  bool reproducible;
  bool no_overlap;
  bool from_device;         /* shares must reside on the GPUs ... */
  bool from_host;           /* ... or in host memory */
  bool by_links;            /* gather in GPU memory if possible */
  int64_t tiles_m, tiles_n; /* tiles of C, both or none; order as in plan->down */
  bool down;
  bool may_cut;        /* C may be tiled even without files: the caller receives each tile */
  double tile_seconds; /* longest predicted time of a tile; 0: no limit */
  bool no_advice;      /* an error need not say what would fit, which is slow to find */
} dm_wishes;

#endif
