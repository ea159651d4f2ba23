/* mma: the f64 part of the rung, with separate tile shapes.  (19_mma_f64.cu) */
#ifndef DM_KERNELS_MMA_CUH
#define DM_KERNELS_MMA_CUH

#include "kernels/kernels.h"

cudaError_t dm_mma_f64(const dm_product *product);

#endif
