/* verify: checks that a file's C is alpha op(A) op(B) + beta C0, streaming the files. */
#ifndef DM_JOB_VERIFY_H
#define DM_JOB_VERIFY_H

#include "check/freivalds.h"
#include "job/multiply.h"

typedef struct dm_verify {
  dm_dataset a, b, c;
  bool has_c0;
  dm_dataset c0; /* the old C that beta was applied to */
  dm_equation equation;
  bool tensor; /* C may come from tensor cores, which cut off their sums: the bound is wider */
  bool no_provenance; /* C does not say how it was made */
  double norm;        /* of C when it was written; negative where it is not known */
  int io_threads;
  bool allow_unchecked;  /* not all of C need be verified */
  int draw;              /* of the random vector (dm_freivalds_draw) */
  uint8_t *wrong;        /* of every row of C, set to 1 where it is wrong, else 0; or NULL */
  bool full;             /* multiply again in higher precision and compare every element */
  dm_tile_record *tiles; /* of C, on rank 0; NULL: there are none */
  int64_t tile_count;
  struct dm_tile_sums *sums; /* what C's parts are added to while they pass, or NULL */
} dm_verify;

/* Fills what the command line left open (ops, alpha, beta, types) from C's provenance, which also
 * tells the old C's location, whether a GPU multiplied (assumed where it says nothing) and the norm
 * of C.  GIVEN_... tell what the user stated.  *old_c is empty where there was none. */
typedef struct dm_verify_stated {
  bool op_a, op_b, alpha, beta, type, compute, c0;
} dm_verify_stated;

dm_status dm_verify_complete(dm_verify *verify, const dm_verify_stated *given,
                             const dm_attributes *provenance, dm_location *old_c);

/* Collective: the residual of the matrices in the files, and nothing else. */
dm_status dm_verify_residual(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                             dm_verdict *verdict);

/* Collective.  DM_E_VERIFY, agreed, where C is wrong; DM_E_UNCHECKED where that cannot be told of
 * all of it. */
dm_status dm_verify_run(dm_run *run, const dm_verify *verify, dm_record *record);

/* Collective: C alone, against the checksums of its tiles.  DM_E_VERIFY, agreed, where it was
 * changed. */
dm_status dm_verify_quickly(dm_run *run, const dm_verify *verify, dm_record *record);

#endif
