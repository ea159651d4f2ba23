/* cuda: the backend for NVIDIA GPUs. The table exists in every build; without CUDA it holds only
 * the name and the reason. */
#ifndef DM_BACKEND_CUDA_H
#define DM_BACKEND_CUDA_H

#include "backend/backend_table.h"
#include "backend/gpu_list.h"

extern const dm_backend_ops dm_backend_cuda;

/* Number of GPUs visible to this process; 0 without CUDA, driver or GPU. */
int dm_cuda_device_count(void);

/* Initializes the driver and a context for the GPU of LOCAL_RANK, so that the next use starts fast.
 * Errors are left to that use; false: there was one. */
bool dm_cuda_start(int local_rank);

/* Destroys that context, and frees all memory of it. */
void dm_cuda_stop(int local_rank);

/* See dm_backend_ends_slowly. */
bool dm_cuda_ends_slowly(void);

/* Call first, if this process needs only its first GPU: the driver need not start the others. */
void dm_cuda_use_one_gpu(void);

/* The GPUs of this computer, in CUDA's order if they are alike; starts nothing. Entries are not
 * set. */
void dm_cuda_list(dm_gpu_list *list);

/* The GPU that the calling thread has selected; -1: none. */
int dm_cuda_current(void);
void dm_cuda_select(int index);

/* Whether the machine has a driver, without starting it. */
bool dm_cuda_has_driver(void);

#endif
