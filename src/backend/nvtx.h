/* nvtx: a rank's activities as ranges that Nsight Systems shows beside the GPU's work. No effect
 * without a tool, and in builds without CUDA. */
#ifndef DM_BACKEND_NVTX_H
#define DM_BACKEND_NVTX_H

#include <stdint.h>

#ifdef DM_HAVE_CUDA
/* Ranges may overlap and end in any order.  NUMBER is shown with the name; -1: none. */
uint64_t dm_nvtx_begin(const char *name, int64_t number);
void dm_nvtx_end(uint64_t range);
#else
static inline uint64_t dm_nvtx_begin(const char *name, int64_t number) {
  (void)name;
  (void)number;
  return 0;
}
static inline void dm_nvtx_end(uint64_t range) {
  (void)range;
}
#endif

#endif
