/* backend_list: the names for --backend. One that was not built reports the reason. */
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cpu.h"
#include "backend/cuda.h"
#include "core/status.h"

static const dm_backend_ops *const all[] = {&dm_backend_cpu, &dm_backend_cuda, NULL};

const dm_backend_ops *const *dm_backend_all(void) {
  return all;
}

dm_status dm_backend_find(const char *name, const dm_backend_ops **ops) {
  const char *names[sizeof all / sizeof all[0]];
  int count = 0;
  for (int i = 0; all[i]; i++) {
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

double dm_backend_gpu_start(void) {
  return dm_backend_cuda.start;
}

void dm_backend_see_one(void) {
  dm_cuda_see_one();
}

void dm_backend_name_kernels(void) {
  dm_cpu_name_kernels();
}

bool dm_backend_has_driver(void) {
  return dm_cuda_has_driver();
}

const dm_backend_ops *dm_backend_auto(void) {
  return !dm_backend_cuda.not_built && dm_cuda_device_count() > 0 ? &dm_backend_cuda
                                                                  : &dm_backend_cpu;
}
