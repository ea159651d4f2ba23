/* The cuda backend of a program built without CUDA: its name and the reason. */
#include "backend/cuda.h"
#include "backend/kernel_list.h"

const dm_backend_ops dm_backend_cuda = {
    .name = "cuda",
    .about = "NVIDIA GPUs: cuBLAS and own kernels",
    .not_built = "this program was built without CUDA (configure with -DDAMIER_CUDA=ON)",
    .device_memory = true,
    .kernel_names = dm_cuda_kernels,
    .kernel_multiplies = dm_cuda_takes,
};

int dm_cuda_device_count(void) {
  return 0;
}

void dm_cuda_use_one_gpu(void) {
}

int dm_cuda_current(void) {
  return -1;
}

void dm_cuda_select(int index) {
  (void)index;
}

bool dm_cuda_has_driver(void) {
  return false;
}

bool dm_cuda_start(int local_rank) {
  (void)local_rank;
  return false;
}

void dm_cuda_list(dm_gpu_list *list) {
  list->count = 0;
}

void dm_cuda_stop(int local_rank) {
  (void)local_rank;
}

bool dm_cuda_ends_slowly(void) {
  return false;
}
