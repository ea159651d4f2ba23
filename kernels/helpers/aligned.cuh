/* aligned: operands whose rows begin at multiples of 16 bytes, for kernels that move nothing
 * smaller.  (aligned.cu) */
#ifndef DM_KERNELS_ALIGNED_CUH
#define DM_KERNELS_ALIGNED_CUH

#include "kernels/kernels.h"

/* A and B of PRODUCT, where their rows are not aligned, are copied to its scratch memory, which has
 * dm_kernels_aligned_scratch bytes, and replaced by the copies. */
cudaError_t dm_align_operands(dm_product *product);

#endif
