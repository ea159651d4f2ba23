/* Stubs of the lab for a program built without CUDA. */
#include "backend/lab.h"

#ifndef DM_HAVE_CUDA

#include "backend/cuda.h"

static dm_status absent(void) {
  return dm_fail(DM_E_DEVICE, "kernels run on GPUs: %s", dm_backend_cuda.not_built);
}

dm_status dm_lab_open(dm_backend *backend, dm_lab **lab) {
  (void)backend;
  *lab = NULL;
  return absent();
}

void dm_lab_close(dm_lab *lab) {
  (void)lab;
}

dm_status dm_lab_limits_of(dm_backend *backend, dm_lab_limits *limits) {
  (void)backend, (void)limits;
  return absent();
}

void dm_lab_sense(dm_lab *lab, dm_lab_sensors *sensors) {
  (void)lab;
  *sensors = (dm_lab_sensors){0};
}

dm_status dm_lab_run(dm_lab *lab, const dm_lab_work *work) {
  (void)lab, (void)work;
  return absent();
}

dm_status dm_lab_expect(dm_lab *lab, const dm_lab_work *work, const int64_t *rows, int64_t count) {
  (void)lab, (void)work, (void)rows, (void)count;
  return absent();
}

int64_t dm_lab_judged(const dm_lab *lab) {
  (void)lab;
  return 0;
}

dm_status dm_lab_judge(dm_lab *lab, dm_view out, double *errors) {
  (void)lab, (void)out, (void)errors;
  return absent();
}

dm_status dm_lab_prepare(dm_lab *lab, dm_lab_series *series) {
  (void)lab, (void)series;
  return absent();
}

void dm_lab_forget(dm_lab *lab, dm_lab_series *series) {
  (void)lab, (void)series;
}

dm_status dm_lab_start(dm_lab *lab, dm_lab_series *series) {
  (void)lab, (void)series;
  return absent();
}

dm_status dm_lab_finish(dm_lab *lab, double *seconds) {
  (void)lab, (void)seconds;
  return absent();
}

#endif
