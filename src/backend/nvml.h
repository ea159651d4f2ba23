/* nvml: the state of a GPU as reported by the driver's management library, which is loaded if
 * present; nothing depends on it. */
#ifndef DM_BACKEND_NVML_H
#define DM_BACKEND_NVML_H

#include <stdbool.h>

#include "backend/gpu_list.h"

/* Plain data; all zero: a device without readings. */
typedef struct dm_nvml {
  void *library, *device;
  int (*clock)(void *device, int which, unsigned *mhz);
  int (*power)(void *device, unsigned *milliwatts);
  int (*energy)(void *device, unsigned long long *millijoules); /* may be NULL */
  int (*temperature)(void *device, int which, unsigned *celsius);
  int (*end)(void);
} dm_nvml;

/* Opens the GPU with that UUID ("GPU-..."); without the library or the GPU, *nvml is all zero. */
void dm_nvml_open(const char *uuid, dm_nvml *nvml);
void dm_nvml_close(dm_nvml *nvml);

/* NAN if unknown: clock of the multiprocessors in 1/s, W, degrees Celsius. */
double dm_nvml_clock(const dm_nvml *nvml);
double dm_nvml_power(const dm_nvml *nvml);
double dm_nvml_temperature(const dm_nvml *nvml);

/* J since the driver was loaded; updated 10 to 50 times a second. NAN before Volta. */
double dm_nvml_energy(const dm_nvml *nvml);

/* All GPUs, by bus; empty without the library. */
void dm_nvml_list(dm_gpu_list *list);

typedef struct dm_nvml_facts {
  char driver[80]; /* driver version; "": unknown */
  int nvlinks;     /* active NVLinks */
  char links[80];  /* "18 NVLinks ..., PCIe 5 x16"; "": unknown */
  double clock;    /* highest multiprocessor clock in 1/s; NAN or 0: unknown */
  double power;    /* power limit in W; NAN or 0: unknown */
} dm_nvml_facts;

/* Facts about the GPU with that UUID. */
void dm_nvml_describe(const char *uuid, dm_nvml_facts *facts);

#endif
