/* The cuda backend of a program built without CUDA: its name and the reason. */
#include "backend/cuda.h"
#include "backend/kernel_list.h"

#include "backend/harness.h"

const dm_backend_ops dm_backend_cuda = {
    .name = "cuda",
    .about = "NVIDIA GPUs: cuBLAS and own kernels",
    .not_built = "this program was built without CUDA (configure with -DDAMIER_CUDA=ON)",
    .device_memory = true,
    .kernels = dm_cuda_kernels,
    .takes = dm_cuda_takes,
};

int dm_cuda_device_count(void) {
  return 0;
}

void dm_cuda_see_one(void) {
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

/* ---- timing kernels ---- */

#include "backend/cuda.h"
#include "backend/kernel_list.h"

static dm_status absent(void) {
  return dm_fail(DM_E_DEVICE, "kernels run on GPUs: %s", dm_backend_cuda.not_built);
}

dm_status dm_harness_open(dm_backend *backend, dm_harness **harness) {
  (void)backend;
  *harness = NULL;
  return absent();
}

void dm_harness_close(dm_harness *harness) {
  (void)harness;
}

dm_status dm_harness_limits_of(dm_backend *backend, dm_harness_limits *limits) {
  (void)backend, (void)limits;
  return absent();
}

void dm_harness_sense(dm_harness *harness, dm_harness_sensors *sensors) {
  (void)harness;
  *sensors = (dm_harness_sensors){0};
}

dm_status dm_harness_run(dm_harness *harness, const dm_harness_work *work) {
  (void)harness, (void)work;
  return absent();
}

dm_status dm_harness_expect(dm_harness *harness, const dm_harness_work *work, const int64_t *rows,
                            int64_t count) {
  (void)harness, (void)work, (void)rows, (void)count;
  return absent();
}

int64_t dm_harness_judged(const dm_harness *harness) {
  (void)harness;
  return 0;
}

dm_status dm_harness_judge(dm_harness *harness, dm_view out, double *errors) {
  (void)harness, (void)out, (void)errors;
  return absent();
}

dm_status dm_harness_prepare(dm_harness *harness, dm_harness_series *series) {
  (void)harness, (void)series;
  return absent();
}

void dm_harness_forget(dm_harness *harness, dm_harness_series *series) {
  (void)harness, (void)series;
}

dm_status dm_harness_start(dm_harness *harness, dm_harness_series *series) {
  (void)harness, (void)series;
  return absent();
}

dm_status dm_harness_finish(dm_harness *harness, double *seconds) {
  (void)harness, (void)seconds;
  return absent();
}
