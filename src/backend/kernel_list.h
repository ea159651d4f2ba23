/* kernel_list: the kernels for GPUs, in every build. */
#ifndef DM_BACKEND_KERNEL_LIST_H
#define DM_BACKEND_KERNEL_LIST_H

#include "backend/backend_table.h"
#include "core/dtype.h"
#include "kernels/registry.h"

/* The functions of the backend's table: names for --kernel. */
const char *const *dm_cuda_kernels(void);
bool dm_cuda_takes(const char *kernel, dm_dtype work, const dm_compute *compute, const char **why);

/* Whether KERNEL multiplies WORK as OPERAND; none of our own kernels multiplies complex numbers in
 * TF32. */
static inline bool dm_cuda_multiplies(const dm_kernel *kernel, dm_dtype work, dm_operand operand) {
  return dm_kernel_takes(kernel, operand) &&
         (!dm_dtype_is_complex(work) || dm_kernel_takes(kernel, (dm_operand)work));
}

/* Number of whole panels of A and B that KERNEL copies to its own memory, if rows are aligned to 16
 * bytes, as those of jobs are. */
void dm_cuda_copies(const char *kernel, dm_dtype work, const dm_compute *compute, int *of_a,
                    int *of_b);

/* All DM_KERNEL_COUNT kernels, by dm_kernel_id. */
const dm_kernel *dm_cuda_registry(void);

/* The product of that name; NULL: "auto", or an unknown name. */
const dm_kernel *dm_cuda_find_kernel(const char *name);

#endif
