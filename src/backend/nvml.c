/* The few functions of NVML that are needed, by name: its header is not part of every toolkit. */
#include "backend/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

enum { CLOCK_SM = 1, SENSOR_GPU = 0 }; /* of the enumerations nvmlClockType_t and its sister */

/* Function pointers and dlsym: through memory, as POSIX suggests. */
static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

void dm_nvml_open(const char *uuid, dm_nvml *nvml) {
  int (*begin)(void);
  int (*by_uuid)(const char *, void **);
  *nvml = (dm_nvml){0};
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  dm_nvml found = {.library = library};
  bool whole = find(library, "nvmlInit_v2", &begin) && find(library, "nvmlShutdown", &found.end) &&
               find(library, "nvmlDeviceGetHandleByUUID", &by_uuid) &&
               find(library, "nvmlDeviceGetClockInfo", &found.clock) &&
               find(library, "nvmlDeviceGetPowerUsage", &found.power) &&
               find(library, "nvmlDeviceGetTemperature", &found.temperature);
  (void)find(library, "nvmlDeviceGetTotalEnergyConsumption", &found.energy);
  if (!whole || begin() != 0) {
    dlclose(library);
    return;
  }
  if (by_uuid(uuid, &found.device) != 0) {
    (void)found.end();
    dlclose(library);
    return;
  }
  *nvml = found;
}

void dm_nvml_close(dm_nvml *nvml) {
  if (!nvml->library) return;
  (void)nvml->end();
  dlclose(nvml->library);
  *nvml = (dm_nvml){0};
}

double dm_nvml_clock(const dm_nvml *nvml) {
  unsigned mhz;
  if (!nvml->device || nvml->clock(nvml->device, CLOCK_SM, &mhz) != 0) return NAN;
  return 1e6 * mhz;
}

double dm_nvml_power(const dm_nvml *nvml) {
  unsigned milliwatts;
  if (!nvml->device || nvml->power(nvml->device, &milliwatts) != 0) return NAN;
  return 1e-3 * milliwatts;
}

double dm_nvml_energy(const dm_nvml *nvml) {
  unsigned long long millijoules;
  if (!nvml->device || !nvml->energy || nvml->energy(nvml->device, &millijoules) != 0) return NAN;
  return 1e-3 * (double)millijoules;
}

double dm_nvml_temperature(const dm_nvml *nvml) {
  unsigned celsius;
  if (!nvml->device || nvml->temperature(nvml->device, SENSOR_GPU, &celsius) != 0) return NAN;
  return celsius;
}
