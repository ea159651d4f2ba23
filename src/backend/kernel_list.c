/* The names for --kernel, and the types of each kernel: the registry, cuBLAS, and auto. */
#include "backend/kernel_list.h"

#include <stddef.h>
#include <string.h>

#define NAME(name, ...) #name,
static const char *const kernel_list_names[] = {"auto",
                                                DM_KERNEL_OTHERS(NAME) DM_KERNEL_LIST(NAME) NULL};

#define OURS(kernel, kinds, oldest, newest, sum, scratch, text, price)                             \
  [DM_KERNEL_##kernel] = {.id = DM_KERNEL_##kernel,                                                \
                          .name = #kernel,                                                         \
                          .types = (kinds),                                                        \
                          .first = (oldest),                                                       \
                          .last = (newest),                                                        \
                          .sums = (sum),                                                           \
                          .about = (text),                                                         \
                          .limits = (price)},
#define OTHERS(kernel, by, kinds, sum, text, price)                                                \
  [DM_KERNEL_##kernel] = {.id = DM_KERNEL_##kernel,                                                \
                          .name = #kernel,                                                         \
                          .maker = (by),                                                           \
                          .types = (kinds),                                                        \
                          .last = DM_LATER,                                                        \
                          .sums = (sum),                                                           \
                          .about = (text),                                                         \
                          .limits = (price)},
#define HELPER(kernel, what, kinds, text)                                                          \
  [DM_KERNEL_##kernel] = {.id = DM_KERNEL_##kernel,                                                \
                          .name = #kernel,                                                         \
                          .op = (what),                                                            \
                          .types = (kinds),                                                        \
                          .last = DM_LATER,                                                        \
                          .about = (text)},
#define TRANSPOSE(kernel, kinds, text) HELPER(kernel, DM_TRANSPOSE, kinds, text)
#define ADD(kernel, kinds, text) HELPER(kernel, DM_ADD, kinds, text)
#define DOT(kernel, kinds, text) HELPER(kernel, DM_DOT, kinds, text)
static const dm_kernel registry[DM_KERNEL_COUNT] = {DM_KERNEL_LIST(OURS) DM_KERNEL_OTHERS(
    OTHERS) DM_TRANSPOSE_LIST(TRANSPOSE) DM_ADD_LIST(ADD) DM_DOT_LIST(DOT)};

const char *const *dm_cuda_kernels(void) {
  return kernel_list_names;
}

const dm_kernel *dm_cuda_registry(void) {
  return registry;
}

const dm_kernel *dm_cuda_find_kernel(const char *name) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++)
    if (registry[i].op == DM_GEMM && strcmp(registry[i].name, name) == 0) return &registry[i];
  return NULL;
}

static bool kernel_list_refuse(const char **why, const char *reason) {
  if (why) *why = reason;
  return false;
}

bool dm_cuda_takes(const char *name, dm_dtype work, const dm_compute *compute, const char **why) {
  const dm_kernel *kernel = dm_cuda_find_kernel(name);
  if (!kernel && strcmp(name, "auto") != 0)
    return kernel_list_refuse(why, "the cuda backend has no kernel of this name");
  if (work >= DM_DTYPE_COUNT) return kernel_list_refuse(why, "this is not an element type");
  if (work == DM_I32)
    return kernel_list_refuse(why, "i32 is a type of sums: matrices of i8 are multiplied");
  if (dm_dtype_real(work) != compute->work)
    return kernel_list_refuse(why, "TF32 shortens the significands of f32 and c64 only");
  if (compute->moduli > 0 && !kernel) return true;
  if (compute->moduli > 0)
    return kernel_list_refuse(why, "products of residues have a kernel of their own");
  if (compute->splits && !kernel) return true;
  if (compute->splits)
    return kernel_list_refuse(why, "products of split operands have a kernel of their own");
  if (compute->finish != DM_NO_FINISH)
    return kernel_list_refuse(why, "only the CPU does such products");
  const bool shortened = compute->operand == DM_TF32;
  if (!kernel || dm_cuda_multiplies(kernel, work, shortened ? DM_TF32 : (dm_operand)work))
    return true;
  if (shortened && dm_kernel_takes(kernel, (dm_operand)work))
    return kernel_list_refuse(why, "it multiplies in full precision");
  if (work == DM_F32 && dm_kernel_takes(kernel, DM_TF32))
    return kernel_list_refuse(why, "it multiplies f32 in TF32 only: --compute tf32");
  return kernel_list_refuse(why, "it was not written for this type");
}

void dm_cuda_copies(const char *name, dm_dtype work, const dm_compute *compute, int *of_a,
                    int *of_b) {
  const bool free_choice = strcmp(name, "auto") == 0;
  const bool library = free_choice || strcmp(name, "cublas") == 0;
  const bool hopper = free_choice || strcmp(name, "wgmma") == 0;
  const bool turned = work == DM_I8 || compute->operand == DM_TF32;
  *of_a = *of_b = strcmp(name, "pitched") == 0;
  /* transposed (cuda_cublas.c, kernels/helpers/repack.cu) */
  if ((work == DM_I8 && library) || (turned && hopper)) *of_b = 1;
}
