/* cuda: the backend of NVIDIA GPUs.  The table exists in every build; without CUDA it says why it
 * is only a name. */
#ifndef DM_BACKEND_CUDA_H
#define DM_BACKEND_CUDA_H

#include "backend/backend.h"
#include "kernels/registry.h"

extern const dm_backend_ops dm_backend_cuda;

/* GPUs that this process sees; 0 without CUDA, without a driver, or without a GPU. */
int dm_cuda_device_count(void);

/* What the first use of the GPU of LOCAL_RANK takes, so that the second is quick: the driver, a
 * context and cuBLAS.  Failures are left to that second use. */
void dm_cuda_start(int local_rank);

/* Before any other call: this process needs no GPU but its first, and the driver need not start the
 * others. */
void dm_cuda_see_one(void);

/* Whether the machine has a driver, without starting it. */
bool dm_cuda_has_driver(void);

/* The same two functions of the table in every build: what --kernel may name. */
const char *const *dm_cuda_kernels(void);
bool dm_cuda_takes(const char *kernel, dm_dtype work, const dm_compute *compute, const char **why);

/* Whether KERNEL multiplies WORK as OPERAND; of our own kernels none does complex ones in TF32. */
static inline bool dm_cuda_multiplies(const dm_kernel *kernel, dm_dtype work, dm_operand operand) {
  return dm_kernel_takes(kernel, operand) &&
         (!dm_dtype_is_complex(work) || dm_kernel_takes(kernel, (dm_operand)work));
}

/* Copies of whole panels in memory of the kernel's own, where rows are aligned to 16 bytes, as the
 * job's are. */
void dm_cuda_copies(const char *kernel, dm_dtype work, const dm_compute *compute, int *of_a,
                    int *of_b);

/* All DM_KERNEL_COUNT kernels, by dm_kernel_id. */
const dm_kernel *dm_cuda_registry(void);

/* The product of that name, or NULL: "auto", or no kernel at all. */
const dm_kernel *dm_cuda_find_kernel(const char *name);

#endif
