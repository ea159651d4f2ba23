/* info_kernels: what kernels need of a multiprocessor. */
#ifndef DM_BENCH_INFO_KERNELS_H
#define DM_BENCH_INFO_KERNELS_H

#include "backend/backend.h"
#include "run/record.h"

/* Records registers, threads, shared memory and occupancy of each kernel on the GPU of BACKEND, for
 * products that are not run. */
void dm_info_kernels(dm_backend *backend, dm_record *record);

#endif
