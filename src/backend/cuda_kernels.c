/* What --kernel may name, and what each kernel multiplies: the registry, cuBLAS, and auto. */
#include "backend/cuda.h"

#include <string.h>

#define NAME(name, ...) #name,
static const char *const names[] = {"auto", "cublas", DM_KERNEL_LIST(NAME) NULL};

#define KERNEL(name, types, capability, scratch, about, limits)                                    \
  {#name, types, capability, about, limits},
static const dm_kernel registry[DM_KERNEL_COUNT] = {DM_KERNEL_LIST(KERNEL)};

const char *const *dm_cuda_kernels(void) {
  return names;
}

const dm_kernel *dm_cuda_registry(void) {
  return registry;
}

const dm_kernel *dm_cuda_find_kernel(const char *name) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++)
    if (strcmp(registry[i].name, name) == 0) return &registry[i];
  return NULL;
}

static bool refuse(const char **why, const char *reason) {
  if (why) *why = reason;
  return false;
}

bool dm_cuda_takes(const char *name, dm_dtype work, bool tf32, const char **why) {
  const dm_kernel *kernel = dm_cuda_find_kernel(name);
  if (!kernel && strcmp(name, "cublas") != 0 && strcmp(name, "auto") != 0)
    return refuse(why, "the cuda backend has no kernel of this name");
  if (work >= DM_DTYPE_COUNT) return refuse(why, "this is not an element type");
  if (work == DM_I32) return refuse(why, "i32 is a type of sums: matrices of i8 are multiplied");
  if (tf32 && work != DM_F32 && work != DM_C64)
    return refuse(why, "TF32 shortens the significands of f32 and c64 only");
  if (!kernel) return true;
  if (!(kernel->types >> work & 1)) return refuse(why, "it was not written for this type");
  if (tf32)
    return refuse(why, "it multiplies in full precision: TF32 is a format of the tensor cores");
  return true;
}
