/* The driver of emulated GPUs: nothing to start or to shut down. EMULATED_GPUS is their number (1);
 * the digits of EMULATED_GPU_FAILS are those that do not start, whatever CUDA_VISIBLE_DEVICES
 * shows; with EMULATED_NO_DRIVER none is found; with EMULATED_SLOW_END processes end as if the
 * driver took that many seconds, or until a signal, and held a descriptor for it. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/cuda.h"

void dm_cuda_use_one_gpu(void) {
}

static _Thread_local int current;

int dm_cuda_current(void) {
  return current;
}

void dm_cuda_select(int index) {
  current = index;
}

bool dm_cuda_has_driver(void) {
  return true;
}

void dm_cuda_list(dm_gpu_list *list) {
  const char *number = getenv("EMULATED_GPUS");
  list->count = number ? atoi(number) : 1;
  for (int i = 0; i < list->count; i++) {
    snprintf(list->gpu[i].name, DM_GPU_TEXT, "emulated L40S");
    snprintf(list->gpu[i].id, DM_GPU_TEXT, "GPU-%d-emulated", i);
  }
}

bool dm_cuda_start(int local_rank) {
  const char *fails = getenv("EMULATED_GPU_FAILS");
  dm_gpu_list list;
  dm_backend_gpus(&list);
  if (dm_cuda_ends_slowly()) (void)!open("/dev/zero", O_RDONLY | O_CLOEXEC);
  return !fails || !strchr(fails, list.gpu[local_rank % list.count].id[strlen("GPU-")]);
}

void dm_cuda_stop(int local_rank) {
  (void)local_rank;
}

/* Checks for leaks run at a usual end. */
bool dm_cuda_ends_slowly(void) {
  return getenv("EMULATED_SLOW_END") != NULL;
}

/* ---- the process that is left while the driver ends GPUs (--wrap=clone) ---- */

int __real_clone(int (*work)(void *), void *stack, int flags, void *argument);
int __wrap_clone(int (*work)(void *), void *stack, int flags, void *argument);

static int (*before)(void *);

static int end_slowly(void *argument) {
  struct timespec rest = {.tv_sec = atoi(getenv("EMULATED_SLOW_END"))};
  const int code = before(argument);
  (void)syscall(SYS_nanosleep, &rest, NULL);
  return code;
}

int __wrap_clone(int (*work)(void *), void *stack, int flags, void *argument) {
  before = work;
  return __real_clone(end_slowly, stack, flags, argument);
}

int dm_cuda_device_count(void) {
  if (getenv("EMULATED_NO_DRIVER")) return 0;
  dm_gpu_list list;
  dm_backend_gpus(&list);
  return list.count;
}
