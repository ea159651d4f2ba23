/* probe: sums and generated elements for matrices in host memory, which backends inherit. The
 * functions are those of backend.h and verify_sums.h; BACKEND is not used. */
#ifndef DM_BACKEND_PROBE_H
#define DM_BACKEND_PROBE_H

#include "backend/backend_table.h"
#include "backend/verify_sums.h"
#include "core/residues.h"

dm_status dm_host_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares);

/* The same for floating-point numbers, and norms[i] += sum_j |M(i,j) sizes[j]|^2, in one pass over
 * M. The columns are in groups, of FIRST and then EACH columns; group g adds to y + g step and
 * squares + g step, and all to NORMS. SQUARES, SIZES (all 1) and NORMS may be NULL; FIRST is 0 if
 * there is one group. */
typedef struct dm_probe_groups {
  const double *x, *sizes;
  double *y, *squares, *norms;
  int64_t first, each, step;
} dm_probe_groups;
void dm_host_probe_groups(dm_view matrix, const dm_probe_groups *groups);
/* The same with COUNT vectors in one pass over a real M; columns with factor 0 are read, too.
 * Vector g starts at x + g x_step, and adds to y + g y_step and norms + g y_step. */
enum { DM_PROBE_VECTORS = 4 };
typedef struct dm_probe_vectors {
  int count; /* at most DM_PROBE_VECTORS */
  const double *x, *sizes;
  int64_t x_step;
  double *y, *norms;
  int64_t y_step;
} dm_probe_vectors;
void dm_host_probe_vectors(dm_view matrix, const dm_probe_vectors *vectors);

dm_status dm_host_scan(dm_backend *backend, dm_view matrix, double *col_squares);
dm_status dm_host_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                       int64_t row, int64_t col);

/* The same, with the same bits, on all cores of the process (host_lines.c). */
dm_status dm_host_probe_parallel(dm_view matrix, const void *x, void *y, double *squares);
void dm_host_probe_groups_parallel(dm_view matrix, const dm_probe_groups *groups);
void dm_host_probe_vectors_parallel(dm_view matrix, const dm_probe_vectors *vectors);
dm_status dm_host_scan_parallel(dm_view matrix, double *col_squares);
void dm_host_mirror_parallel(dm_view square, int64_t first, bool conjugate); /* dm_backend_mirror */
void dm_host_transpose_parallel(dm_view to, dm_view from, bool conjugate);
dm_status dm_host_fill_parallel(dm_view view, const dm_generator *generator, int64_t row,
                                int64_t col);

/* dm_backend_extremes and dm_backend_line_sums for host memory (host_lines.c). */
void dm_host_extremes(dm_view matrix, bool by_row, double *extremes);
void dm_host_line_sums(dm_view matrix, bool by_row, const double *extremes, int64_t *sums);
dm_status dm_host_extremes_parallel(dm_backend *backend, dm_view matrix, bool by_row,
                                    double *extremes);
dm_status dm_host_line_sums_parallel(dm_backend *backend, dm_view matrix, bool by_row,
                                     const double *extremes, int64_t *sums);

/* (probe.c) */
/* y[i] += the sum of MATRIX[i][j] x[j] modulo 2^64: MATRIX is in host memory, of i64, or of f64
 * that are integers; DM_E_INPUT if one may have been rounded to f64. */
dm_status dm_host_probe_integers(dm_view matrix, const uint64_t *x, uint64_t *y);

dm_status dm_host_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                      double beta);
/* Rows, or the columns of both, are contiguous. */
dm_status dm_host_dot(dm_backend *backend, dm_view x, dm_view y, double *sum);

/* dm_backend_join and dm_backend_finish for residues of C in host memory, where the CPU adds
 * layers, and GPUs that cannot access each other's memory; synchronous, on all cores of this rank.
 * (cpu_residues.c) */
void dm_host_join_residues(const dm_moduli *moduli, dm_view c, dm_view more, int64_t plane);
dm_status dm_host_finish_residues(const dm_moduli *moduli, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents);

#endif
