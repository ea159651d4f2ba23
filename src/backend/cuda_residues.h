/* cuda_residues: products made of products of residues, on the GPU (cuda_residues.c), and the line
 * statistics for their exponents (cuda_lines.c); see backend.h and verify_sums.h. */
#ifndef DM_BACKEND_CUDA_RESIDUES_H
#define DM_BACKEND_CUDA_RESIDUES_H

#include "backend/cuda_state.h"

bool dm_cuda_is_hopper(const dm_cuda *gpu);

/* Prepares GPU for the moduli of COMPUTE, which may be NULL or have none; DM_E_USAGE: it needs
 * another GPU. */
dm_status dm_cuda_open_residues(dm_cuda *gpu, const dm_compute *compute);
dm_status dm_cuda_multiply_residues(dm_backend *backend, dm_view c, int64_t plane, dm_view a,
                                    dm_view b, bool accumulate, dm_exponents exponents,
                                    dm_event *done);
dm_status dm_cuda_finish_residues(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents, dm_event *done);
dm_status dm_cuda_join_residues(dm_backend *backend, dm_view c, dm_view more, int64_t plane);
dm_status dm_cuda_extremes(dm_backend *backend, dm_view matrix, bool by_row, double *extremes);
dm_status dm_cuda_line_sums(dm_backend *backend, dm_view matrix, bool by_row,
                            const double *extremes, int64_t *sums);

#endif
