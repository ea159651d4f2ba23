/* What NVML says of a GPU once: its driver, what connects it, its limits. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/nvml.h"

enum { CLOCK_SM = 1, MOST_LINKS = 18 };

typedef int asks_number(void *device, unsigned *value);
typedef int asks_link(void *device, unsigned link, unsigned *value);

static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* 0 where the device does not say. */
static unsigned number(const dm_nvml *nvml, const char *name) {
  asks_number *ask;
  unsigned value = 0;
  return find(nvml->library, name, &ask) && ask(nvml->device, &value) == 0 ? value : 0;
}

/* How many NVLinks are up, and of which version. */
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
