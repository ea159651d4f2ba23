/* cpu_residues: products made of exact products of residues (core/residues.h), on the CPU: residues
 * are bytes, multiplied as f32; their sums are short enough to be exact. */
#ifndef DM_BACKEND_CPU_RESIDUES_H
#define DM_BACKEND_CPU_RESIDUES_H

#include "core/compute.h"
#include "core/crew.h"

/* Largest product: rows and columns of C, for any k. */
enum { DM_CPU_RESIDUES_ROWS = 512, DM_CPU_RESIDUES_COLS = 1024 };

typedef struct dm_cpu_residues dm_cpu_residues;

/* For ROW, which has moduli. CREW, of THREADS threads, shares the work and remains the caller's. */
dm_status dm_cpu_residues_new(const dm_compute *row, dm_crew *crew, int threads,
                              dm_cpu_residues **residues);
void dm_cpu_residues_free(dm_cpu_residues *residues); /* NULL is allowed */

/* The BLAS must use one thread during these calls. */
dm_compute_calls dm_cpu_residues_calls(dm_cpu_residues *residues);

#endif
