/* backend_list: the names that --backend takes.  One that was not built still explains itself. */
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cpu.h"
#include "backend/cuda.h"
#include "core/closest.h"

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
  dm_status status = dm_fail(DM_E_USAGE, "there is no backend '%s'", name);
  int closest = dm_closest(name, names, count);
  return closest < 0 ? status : dm_hint(status, "did you mean '%s'?", names[closest]);
}

int dm_backend_device_count(const dm_backend_ops *ops) {
  return ops == &dm_backend_cuda ? dm_cuda_device_count() : 0;
}

const dm_backend_ops *dm_backend_auto(void) {
  return !dm_backend_cuda.not_built && dm_cuda_device_count() > 0 ? &dm_backend_cuda
                                                                  : &dm_backend_cpu;
}
