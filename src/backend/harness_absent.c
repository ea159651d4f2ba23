/* The harness of a program built without CUDA. */
#include "backend/cuda.h"
#include "backend/harness.h"

static dm_status harness_absent(void) {
  return dm_fail(DM_E_DEVICE, "kernels run on GPUs: %s", dm_backend_cuda.not_built);
}

dm_status dm_harness_open(dm_backend *backend, dm_harness **harness) {
  (void)backend;
  *harness = NULL;
  return harness_absent();
}

void dm_harness_close(dm_harness *harness) {
  (void)harness;
}

dm_status dm_harness_limits_of(dm_backend *backend, dm_harness_limits *limits) {
  (void)backend, (void)limits;
  return harness_absent();
}

void dm_harness_sense(dm_harness *harness, dm_harness_sensors *sensors) {
  (void)harness;
  *sensors = (dm_harness_sensors){0};
}

dm_status dm_harness_ready(dm_harness *harness, const dm_kernel *kernel) {
  (void)harness, (void)kernel;
  return harness_absent();
}

dm_status dm_harness_run(dm_harness *harness, const dm_harness_work *work) {
  (void)harness, (void)work;
  return harness_absent();
}

dm_status dm_harness_expect(dm_harness *harness, const dm_harness_work *work, const int64_t *rows,
                            int64_t count) {
  (void)harness, (void)work, (void)rows, (void)count;
  return harness_absent();
}

int64_t dm_harness_judged(const dm_harness *harness) {
  (void)harness;
  return 0;
}

dm_status dm_harness_judge(dm_harness *harness, dm_view out, double *errors) {
  (void)harness, (void)out, (void)errors;
  return harness_absent();
}

dm_status dm_harness_prepare(dm_harness *harness, dm_harness_series *series) {
  (void)harness, (void)series;
  return harness_absent();
}

void dm_harness_forget(dm_harness *harness, dm_harness_series *series) {
  (void)harness, (void)series;
}

dm_status dm_harness_start(dm_harness *harness, dm_harness_series *series) {
  (void)harness, (void)series;
  return harness_absent();
}

dm_status dm_harness_finish(dm_harness *harness, double *seconds) {
  (void)harness, (void)seconds;
  return harness_absent();
}
