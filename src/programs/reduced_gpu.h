/* reduced_gpu: tiles of C that stay in GPU memory. A and B are brought there once, and centered
 * there; each tile is multiplied and verified where they are (product/in_place.h), and passes a
 * sieve there: only the few elements that may be kept come to the host, whose threads take them
 * while the next tile is multiplied. */
#ifndef DM_PROGRAMS_REDUCED_GPU_H
#define DM_PROGRAMS_REDUCED_GPU_H

#include "programs/reduced_impl.h"

/* Where seconds went: to A and B, to products and their verification, to the sieve, and to waiting
 * for the host to merge. */
typedef struct dm_reduced_gpu_times {
  double load, multiply, sift, merge;
} dm_reduced_gpu_times;
dm_reduced_gpu_times dm_reduced_gpu_times_of(const reduced *r);

/* Of a job of one rank: R->gpu, or NULL: it has no GPU, or these matrices, or what is kept, do not
 * suit it. Free it before the reducers, also after an error. */
dm_status dm_reduced_gpu_open(reduced *r);
void dm_reduced_gpu_free(reduced *r);

/* Chooses the tiles' size, unless R->step has it, and takes memory for one. */
dm_status dm_reduced_gpu_choose_step(reduced *r);

/* A, or B, in GPU memory: its parts are the factors of tiles. */
const dm_dataset *dm_reduced_gpu_factor(const reduced *r, int x);

/* Multiplies and verifies the tile of A and B. */
dm_status dm_reduced_gpu_multiply(reduced *r, const dm_dataset *a, const dm_dataset *b,
                                  bool symmetric);

/* Adds what is kept of that tile; of a symmetric C, MIRRORED, also of its columns. The host may not
 * have merged all of it on return. */
dm_status dm_reduced_gpu_keep(reduced *r, dm_range rows, dm_range cols, bool mirrored);

/* Waits until all is merged that was added. */
dm_status dm_reduced_gpu_settle(reduced *r);

#endif
