/* nvtx: what a rank does, as ranges that Nsight Systems shows beside the GPU's work.  Nothing where
 * no tool looks, and in builds without CUDA. */
#ifndef DM_BACKEND_NVTX_H
#define DM_BACKEND_NVTX_H

#include <stdint.h>

/* Ranges may overlap and end in any order.  NUMBER is shown with the name; -1: none. */
uint64_t dm_nvtx_begin(const char *name, int64_t number);
void dm_nvtx_end(uint64_t range);

#endif
