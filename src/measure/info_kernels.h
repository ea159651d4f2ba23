/* info_kernels: what bounds kernels on a GPU, for `damier info`. */
#ifndef DM_MEASURE_INFO_KERNELS_H
#define DM_MEASURE_INFO_KERNELS_H

#include "backend/backend.h"
#include "run/record.h"

/* Multiprocessors, threads, registers, shared memory, caches and clocks of BACKEND's GPU, under
 * the path "backends.cuda.device_INDEX_...". */
dm_status dm_info_limits(dm_backend *backend, int index, dm_record *record);

/* Registers, threads, shared memory and occupancy of each kernel, recorded for products of 1024 x
 * 1024 matrices but not run, under "backends.cuda.kernels".  What cannot be found out is said
 * there. */
void dm_info_kernels(dm_backend *backend, dm_record *record);

#endif
