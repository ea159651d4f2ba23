/* cpu_residues: products that are made of exact products of residues (core/residues.h), on
 * the CPU: residues are bytes, multiplied as f32, whose sums of so few are exact. */
#ifndef DM_BACKEND_CPU_RESIDUES_H
#define DM_BACKEND_CPU_RESIDUES_H

#include "core/compute_calls.h"
#include "core/crew.h"

/* What one product takes at most: rows and columns of C, and any k. */
enum { DM_CPU_RESIDUES_ROWS = 512, DM_CPU_RESIDUES_COLS = 1024 };

typedef struct dm_cpu_residues dm_cpu_residues;

/* By ROW, which has moduli.  CREW shares the work and stays the caller's; of so many THREADS. */
dm_status dm_cpu_residues_new(const dm_compute *row, dm_crew *crew, int threads,
                              dm_cpu_residues **residues);
void dm_cpu_residues_free(dm_cpu_residues *residues); /* NULL is allowed */

/* The library has to use one thread while they run. */
dm_compute_calls dm_cpu_residues_calls(dm_cpu_residues *residues);

#endif
