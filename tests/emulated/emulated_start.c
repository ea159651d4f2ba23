/* The driver of an emulated GPU: there is one, and nothing to start or to shut down. */
#include "backend/cuda.h"

void dm_cuda_see_one(void) {
}

bool dm_cuda_has_driver(void) {
  return true;
}

void dm_cuda_start(int local_rank) {
  (void)local_rank;
}

void dm_cuda_stop(int local_rank) {
  (void)local_rank;
}

int dm_cuda_device_count(void) {
  return 1;
}
