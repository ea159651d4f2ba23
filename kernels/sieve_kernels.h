/* sieve_kernels: elements of a tile of C that a reduction may keep, and limits that leave few of
 * them (core/sieve.h).  Functions follow the conventions of kernels.h. */
#ifndef DM_KERNELS_SIEVE_KERNELS_H
#define DM_KERNELS_SIEVE_KERNELS_H

#include "core/sieve.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Passes MATRIX, real floating-point with contiguous rows, once through SIEVE, whose limits are in
 * device memory.  *count grows by the elements that pass, of which the first ROOM are in LIST, in
 * any order, and *nans by those that are NaN.  Fast if rows begin at multiples of 16 bytes.
 * (helpers/sift.cu) */
typedef struct dm_sift_work {
  dm_view matrix;
  dm_sieve sieve;
  dm_candidate *list;
  int64_t room;
  unsigned long long *count, *nans;
  cudaStream_t stream;
} dm_sift_work;
cudaError_t dm_kernels_sift(const dm_sift_work *work);

/* Raises LIMITS, in device memory, of the rows of MATRIX, or BY_ROW false its columns, as
 * dm_backend_raise says; BEST is at most DM_RAISE_GROUPS.  (helpers/raise.cu) */
enum { DM_RAISE_GROUPS = 512 };
typedef struct dm_raise_work {
  dm_view matrix;
  dm_score score;
  dm_left_out left_out;
  bool by_row;
  int64_t best;
  float *limits;
  cudaStream_t stream;
} dm_raise_work;
cudaError_t dm_kernels_raise(const dm_raise_work *work);

#ifdef __cplusplus
}
#endif

#endif
