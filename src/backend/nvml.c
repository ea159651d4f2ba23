/* The few functions of NVML in use, by name: not every toolkit has its header. */
#include "backend/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLOCK_SM = 1, SENSOR_GPU = 0 }; /* values of nvmlClockType_t and nvmlTemperatureSensors_t */
enum { MOST_LINKS = 18 };

/* Function pointers and dlsym: through memory, as POSIX suggests. */
static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

void dm_nvml_list(dm_gpu_list *list) {
  int (*begin)(void), (*end)(void), (*count)(unsigned *), (*by_index)(unsigned, void **);
  int (*name)(void *, char *, unsigned), (*uuid)(void *, char *, unsigned);
  unsigned gpus = 0;
  void *device;
  list->count = 0;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  if (find(library, "nvmlInit_v2", &begin) && find(library, "nvmlShutdown", &end) &&
      find(library, "nvmlDeviceGetCount_v2", &count) &&
      find(library, "nvmlDeviceGetHandleByIndex_v2", &by_index) &&
      find(library, "nvmlDeviceGetName", &name) && find(library, "nvmlDeviceGetUUID", &uuid) &&
      begin() == 0) {
    (void)count(&gpus);
    for (unsigned i = 0; i < gpus && list->count < DM_GPUS; i++) {
      dm_listed_gpu *gpu = &list->gpu[list->count++];
      *gpu = (dm_listed_gpu){.id = ""};
      if (by_index(i, &device) != 0) continue;
      (void)name(device, gpu->name, sizeof gpu->name);
      (void)uuid(device, gpu->id, sizeof gpu->id);
    }
    (void)end();
  }
  dlclose(library);
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

/* ---- facts ---- */

typedef int asks_number(void *device, unsigned *value);
typedef int asks_link(void *device, unsigned link, unsigned *value);

/* 0 if unknown. */
static unsigned number(const dm_nvml *nvml, const char *name) {
  asks_number *ask;
  unsigned value = 0;
  return find(nvml->library, name, &ask) && ask(nvml->device, &value) == 0 ? value : 0;
}

/* Counts active NVLinks and finds their version. */
static int count_links(const dm_nvml *nvml, unsigned *version) {
  asks_link *state, *of_version;
  int count = 0;
  *version = 0;
  if (!find(nvml->library, "nvmlDeviceGetNvLinkState", &state)) return 0;
  for (unsigned i = 0; i < MOST_LINKS; i++) {
    unsigned up = 0;
    if (state(nvml->device, i, &up) != 0 || !up) continue;
    count++;
    if (find(nvml->library, "nvmlDeviceGetNvLinkVersion", &of_version))
      (void)of_version(nvml->device, i, version);
  }
  return count;
}

static void describe_links(const dm_nvml *nvml, dm_nvml_facts *facts) {
  unsigned version;
  const unsigned generation = number(nvml, "nvmlDeviceGetMaxPcieLinkGeneration");
  const unsigned width = number(nvml, "nvmlDeviceGetMaxPcieLinkWidth");
  size_t used = 0;
  facts->nvlinks = count_links(nvml, &version);
  if (facts->nvlinks > 0)
    used = (size_t)snprintf(facts->links, sizeof facts->links, "%d NVLinks (NVML's version %u)%s",
                            facts->nvlinks, version, generation ? ", " : "");
  if (generation)
    snprintf(facts->links + used, sizeof facts->links - used, "PCIe %u x%u", generation, width);
}

void dm_nvml_describe(const char *uuid, dm_nvml_facts *facts) {
  int (*driver)(char *text, unsigned length);
  int (*clock)(void *device, int which, unsigned *mhz);
  unsigned mhz;
  dm_nvml nvml;
  *facts = (dm_nvml_facts){.clock = NAN, .power = NAN};
  dm_nvml_open(uuid, &nvml);
  if (!nvml.device) return;
  if (!find(nvml.library, "nvmlSystemGetDriverVersion", &driver) ||
      driver(facts->driver, sizeof facts->driver) != 0)
    facts->driver[0] = '\0';
  if (find(nvml.library, "nvmlDeviceGetMaxClockInfo", &clock) &&
      clock(nvml.device, CLOCK_SM, &mhz) == 0)
    facts->clock = 1e6 * mhz;
  facts->power = 1e-3 * number(&nvml, "nvmlDeviceGetEnforcedPowerLimit");
  describe_links(&nvml, facts);
  dm_nvml_close(&nvml);
}
