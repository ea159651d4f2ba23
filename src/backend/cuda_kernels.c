/* The registry behind --kernel: names, and what each of them multiplies.  Compiled without CUDA
 * too, so that names and refusals are the same in every build. */
#include "backend/cuda.h"

#include <string.h>

static const char *const names[] = {"auto", "cublas", "tiled", NULL};

const char *const *dm_cuda_kernels(void) {
  return names;
}

static bool refuse(const char **why, const char *reason) {
  if (why) *why = reason;
  return false;
}

bool dm_cuda_takes(const char *kernel, dm_dtype work, bool tf32, const char **why) {
  const bool tiled = strcmp(kernel, "tiled") == 0;
  if (!tiled && strcmp(kernel, "cublas") != 0 && strcmp(kernel, "auto") != 0)
    return refuse(why, "the cuda backend has no kernel of this name");
  if (work >= DM_DTYPE_COUNT) return refuse(why, "this is not an element type");
  if (work == DM_I32) return refuse(why, "i32 is a type of sums: matrices of i8 are multiplied");
  if (tf32 && work != DM_F32 && work != DM_C64)
    return refuse(why, "TF32 shortens the significands of f32 and c64 only");
  if (tf32 && tiled)
    return refuse(why, "tiled multiplies in full precision: TF32 is a format of the tensor cores");
  return true;
}
