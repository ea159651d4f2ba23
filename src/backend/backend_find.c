/* backend_find: the names for --backend, one that was not built reports the reason; starts and ends
 * the GPU early. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/backend_list.h"
#include "backend/cpu.h"
#include "backend/cuda.h"
#include "backend/kernel_list.h"
#include "core/status.h"
#include "core/suggest.h"

enum { BACKEND_MOST = 16 }; /* names that a message suggests from */

const dm_backend_ops *const *dm_backend_all(void) {
  return dm_backend_list;
}

dm_status dm_backend_find(const char *name, const dm_backend_ops **ops) {
  const dm_backend_ops *const *all = dm_backend_list;
  const char *names[BACKEND_MOST];
  int count = 0;
  for (int i = 0; all[i] && i < BACKEND_MOST; i++) {
    names[count++] = all[i]->name;
    if (strcmp(name, all[i]->name) != 0) continue;
    if (all[i]->not_built)
      return dm_hint(dm_fail(DM_E_DEVICE, "backend %s is not built: %s", name, all[i]->not_built),
                     "--backend cpu runs everywhere");
    *ops = all[i];
    return DM_OK;
  }
  return dm_suggest(dm_fail(DM_E_USAGE, "there is no backend '%s'", name), name, names, count);
}

int dm_backend_device_count(const dm_backend_ops *ops) {
  return ops == &dm_backend_cuda ? dm_cuda_device_count() : 0;
}

bool dm_backend_has_driver(void) {
  return !dm_backend_cuda.not_built && dm_cuda_has_driver();
}

void dm_backend_gpus(dm_gpu_list *list) {
  list->count = 0;
  if (!dm_backend_has_driver()) return;
  dm_cuda_list(list);
  dm_gpu_list_hide(list);
}

const dm_backend_ops *dm_backend_for_gpus(void) {
  return &dm_backend_cuda;
}

const dm_kernel *dm_backend_registry(void) {
  return dm_cuda_registry();
}

void dm_backend_use_one_gpu(void) {
  if (dm_backend_has_driver()) dm_cuda_use_one_gpu();
}

void dm_backend_prepare(void) {
  dm_cpu_name_kernels(true);
  if (dm_backend_has_driver()) dm_gpu_few_queues();
}

void dm_backend_choose_kernels(void) {
  dm_cpu_name_kernels(false);
}

int dm_backend_current_gpu(void) {
  return dm_backend_has_driver() ? dm_cuda_current() : -1;
}

void dm_backend_select_gpu(int index) {
  if (index >= 0) dm_cuda_select(index);
}

const dm_backend_ops *dm_backend_auto(void) {
  return !dm_backend_cuda.not_built && dm_cuda_device_count() > 0 ? &dm_backend_cuda
                                                                  : &dm_backend_cpu;
}

/* ---- starting a GPU while MPI starts ---- */

struct dm_warm_up {
  pthread_t thread;
  bool runs; /* the thread must be joined */
  bool started;
  int local_rank;
};

static void *backend_start(void *argument) {
  dm_warm_up *w = argument;
  w->started = dm_cuda_start(w->local_rank);
  return NULL;
}

static void *backend_stop(void *argument) {
  dm_cuda_stop(((dm_warm_up *)argument)->local_rank);
  return NULL;
}

static void backend_begin(dm_warm_up *w, void *(*work)(void *)) {
  w->runs = pthread_create(&w->thread, NULL, work, w) == 0;
}

static void backend_join(dm_warm_up *w) {
  if (w->runs) (void)pthread_join(w->thread, NULL);
  w->runs = false;
}

dm_warm_up *dm_backend_warm_up(int local_rank, bool only) {
  if (local_rank < 0 || !dm_backend_has_driver()) return NULL;
  if (only) dm_cuda_use_one_gpu();
  dm_warm_up *w = malloc(sizeof *w);
  if (!w) return NULL;
  w->local_rank = local_rank;
  backend_begin(w, backend_start);
  return w;
}

bool dm_warm_up_started(dm_warm_up *w) {
  if (w) backend_join(w);
  return !w || w->started;
}

void dm_warm_up_undo(dm_warm_up *w) {
  if (!w) return;
  backend_join(w);
  backend_begin(w, backend_stop);
}

void dm_warm_up_end(dm_warm_up *w) {
  if (!w) return;
  backend_join(w);
  free(w);
}

bool dm_backend_ends_slowly(void) {
  return dm_cuda_ends_slowly();
}
