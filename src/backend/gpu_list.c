#include "backend/gpu_list.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"

static const char variable[] = "CUDA_VISIBLE_DEVICES";
static const char hidden_hint[] = "nvidia-smi -L lists GPUs with their UUIDs; CUDA_VISIBLE_DEVICES "
                                  "or the batch system may hide some";

/* The next word of a list, without blanks; false: there is none. */
static bool next_word(const char **text, char word[DM_GPU_TEXT]) {
  *text += strspn(*text, " ");
  if (!**text) return false;
  const size_t length = strcspn(*text, ",");
  size_t used = dm_min((int64_t)length, DM_GPU_TEXT - 1);
  while (used > 0 && (*text)[used - 1] == ' ') used--;
  snprintf(word, DM_GPU_TEXT, "%.*s", (int)used, *text);
  *text += length + ((*text)[length] == ',');
  return true;
}

enum { GPU_LIST_NONE = -1, SEVERAL = -2 };

/* The index in LIST that WORD names, or how many it names instead. */
static int gpu_list_find(const dm_gpu_list *list, const char *word) {
  int64_t index;
  int found = GPU_LIST_NONE;
  if (dm_parse_count(word, &index)) return index < list->count ? (int)index : GPU_LIST_NONE;
  for (int i = 0; i < list->count; i++)
    if (strncmp(word, "GPU-", 4) == 0 && strncmp(list->gpu[i].id, word, strlen(word)) == 0)
      found = found == GPU_LIST_NONE ? i : SEVERAL;
  return found;
}

/* As the driver does: GPUs after one that does not exist are hidden, and a process sees one part of
 * a divided GPU (MIG) at most. */
static void hide(dm_gpu_list *list, const char *visible) {
  const dm_gpu_list all = *list;
  char word[DM_GPU_TEXT];
  list->count = 0;
  while (next_word(&visible, word) && list->count < DM_GPUS) {
    const int at = gpu_list_find(&all, word);
    const bool part = strncmp(word, "MIG-", 4) == 0;
    if (at < 0 && !part) return;
    dm_listed_gpu *gpu = &list->gpu[list->count++];
    *gpu = part ? (dm_listed_gpu){.id = ""} : all.gpu[at];
    snprintf(gpu->entry, sizeof gpu->entry, "%s", word);
    if (part) return;
  }
}

void dm_gpu_list_hide(dm_gpu_list *list) {
  const char *visible = getenv(variable);
  for (int i = 0; i < list->count; i++)
    snprintf(list->gpu[i].entry, sizeof list->gpu[i].entry, "%d", i);
  if (visible) hide(list, visible);
}

static dm_status gpu_list_absent(const dm_gpu_list *list, const char *word) {
  char range[48] = "no GPU is visible";
  if (list->count > 0) snprintf(range, sizeof range, "those visible are 0 to %d", list->count - 1);
  return dm_hint(dm_fail(DM_E_DEVICE, "there is no GPU %s: %s", word, range), "%s", hidden_hint);
}

static dm_status gpu_list_take_number(dm_gpu_list *list, const char *wanted, int64_t number) {
  if (number < 1)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a number of GPUs, a list or none", wanted),
                   "none multiplies on the CPU");
  if (list->count == 0)
    return dm_hint(dm_fail(DM_E_DEVICE, "this process sees no GPU"), "%s", hidden_hint);
  if (number > list->count)
    return dm_hint(dm_fail(DM_E_DEVICE, "%s GPUs are more than the %d that this process sees",
                           wanted, list->count),
                   "%s; '%s,' is the GPU with that number", hidden_hint, wanted);
  list->count = (int)number;
  return DM_OK;
}

static bool gpu_list_is_name(const char *word) {
  const bool is_id = strncmp(word, "GPU-", 4) == 0;
  return word[0] && (is_id || strspn(word, "0123456789") == strlen(word));
}

dm_status dm_gpu_list_restrict(dm_gpu_list *list, const char *wanted) {
  const dm_gpu_list all = *list;
  char word[DM_GPU_TEXT];
  int64_t number;
  bool taken[DM_GPUS] = {false};
  if (dm_parse_count(wanted, &number)) return gpu_list_take_number(list, wanted, number);
  list->count = 0;
  if (strcmp(wanted, "none") == 0) return DM_OK;
  for (const char *rest = wanted; next_word(&rest, word);) {
    if (!gpu_list_is_name(word))
      return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a GPU", word),
                     "a number of GPUs; a list such as 0,2 or GPU-5a...,GPU-07...; or none");
    const int at = gpu_list_find(&all, word);
    if (at == SEVERAL)
      return dm_hint(dm_fail(DM_E_USAGE, "the UUIDs of several GPUs begin with %s", word),
                     "nvidia-smi -L lists GPUs with their UUIDs");
    if (at < 0) return gpu_list_absent(&all, word);
    if (taken[at]) return dm_fail(DM_E_USAGE, "GPU %s is named twice", word);
    taken[at] = true;
    list->gpu[list->count++] = all.gpu[at];
  }
  return list->count > 0 ? DM_OK : dm_fail(DM_E_USAGE, "'%s' names no GPU", wanted);
}

void dm_gpu_list_show(const dm_gpu_list *list, int count) {
  char text[DM_GPUS * (DM_GPU_TEXT + 1)] = "";
  size_t used = 0;
  for (int i = 0; i < count; i++)
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", list->gpu[i].entry);
  (void)setenv(variable, text, 1); /* on failure the start takes longer */
}

/* The driver makes eight queues for kernels and eight for copies, in 0.12 s (H200); two of each, in
 * 0.06 s, are as fast: neither checks nor copies wait for products. */
void dm_gpu_few_queues(void) {
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 0); /* on failure the start takes longer */
}

/* ---- the few functions of NVML in use, by name: not every toolkit has its header ---- */

enum { CLOCK_SM = 1, SENSOR_GPU = 0 }; /* values of nvmlClockType_t and nvmlTemperatureSensors_t */
enum { GPU_LIST_MOST_LINKS = 18 };

/* Function pointers and dlsym: through memory, as POSIX suggests. */
static bool find_function(void *library, const char *name, void *function) {
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
  if (find_function(library, "nvmlInit_v2", &begin) &&
      find_function(library, "nvmlShutdown", &end) &&
      find_function(library, "nvmlDeviceGetCount_v2", &count) &&
      find_function(library, "nvmlDeviceGetHandleByIndex_v2", &by_index) &&
      find_function(library, "nvmlDeviceGetName", &name) &&
      find_function(library, "nvmlDeviceGetUUID", &uuid) && begin() == 0) {
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
  bool whole = find_function(library, "nvmlInit_v2", &begin) &&
               find_function(library, "nvmlShutdown", &found.end) &&
               find_function(library, "nvmlDeviceGetHandleByUUID", &by_uuid) &&
               find_function(library, "nvmlDeviceGetClockInfo", &found.clock) &&
               find_function(library, "nvmlDeviceGetPowerUsage", &found.power) &&
               find_function(library, "nvmlDeviceGetTemperature", &found.temperature);
  (void)find_function(library, "nvmlDeviceGetTotalEnergyConsumption", &found.energy);
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
static unsigned gpu_list_number(const dm_nvml *nvml, const char *name) {
  asks_number *ask;
  unsigned value = 0;
  return find_function(nvml->library, name, &ask) && ask(nvml->device, &value) == 0 ? value : 0;
}

/* Counts active NVLinks and finds their version. */
static int count_links(const dm_nvml *nvml, unsigned *version) {
  asks_link *state, *of_version;
  int count = 0;
  *version = 0;
  if (!find_function(nvml->library, "nvmlDeviceGetNvLinkState", &state)) return 0;
  for (unsigned i = 0; i < GPU_LIST_MOST_LINKS; i++) {
    unsigned up = 0;
    if (state(nvml->device, i, &up) != 0 || !up) continue;
    count++;
    if (find_function(nvml->library, "nvmlDeviceGetNvLinkVersion", &of_version))
      (void)of_version(nvml->device, i, version);
  }
  return count;
}

static void describe_links(const dm_nvml *nvml, dm_nvml_facts *facts) {
  unsigned version;
  const unsigned generation = gpu_list_number(nvml, "nvmlDeviceGetMaxPcieLinkGeneration");
  const unsigned width = gpu_list_number(nvml, "nvmlDeviceGetMaxPcieLinkWidth");
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
  if (!find_function(nvml.library, "nvmlSystemGetDriverVersion", &driver) ||
      driver(facts->driver, sizeof facts->driver) != 0)
    facts->driver[0] = '\0';
  if (find_function(nvml.library, "nvmlDeviceGetMaxClockInfo", &clock) &&
      clock(nvml.device, CLOCK_SM, &mhz) == 0)
    facts->clock = 1e6 * mhz;
  facts->power = 1e-3 * gpu_list_number(&nvml, "nvmlDeviceGetEnforcedPowerLimit");
  describe_links(&nvml, facts);
  dm_nvml_close(&nvml);
}
