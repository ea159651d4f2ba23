/* nvml: what the driver's management library says of a GPU while it works.  The library is loaded
 * if it is there; nothing depends on it. */
#ifndef DM_BACKEND_NVML_H
#define DM_BACKEND_NVML_H

#include <stdbool.h>

/* Plain data; all zero is a device that says nothing. */
typedef struct dm_nvml {
  void *library, *device;
  int (*clock)(void *device, int which, unsigned *mhz);
  int (*power)(void *device, unsigned *milliwatts);
  int (*energy)(void *device, unsigned long long *millijoules); /* may be NULL */
  int (*temperature)(void *device, int which, unsigned *celsius);
  int (*end)(void);
} dm_nvml;

/* The GPU of that UUID ("GPU-..."); without the library, or such a GPU, *nvml is all zero. */
void dm_nvml_open(const char *uuid, dm_nvml *nvml);
void dm_nvml_close(dm_nvml *nvml);

/* NAN where the device does not say: clock of the multiprocessors in 1/s, W, degrees Celsius. */
double dm_nvml_clock(const dm_nvml *nvml);
double dm_nvml_power(const dm_nvml *nvml);
double dm_nvml_temperature(const dm_nvml *nvml);

/* J since the driver was loaded; renewed 10 to 50 times a second.  NAN before Volta. */
double dm_nvml_energy(const dm_nvml *nvml);

typedef struct dm_nvml_facts {
  char driver[80]; /* version; "": not known */
  int nvlinks;     /* that are up */
  char links[80];  /* "18 NVLinks ..., PCIe 5 x16"; "": not known */
  double clock;    /* highest of the multiprocessors, in 1/s; NAN or 0: not known */
  double power;    /* W that it may take; the same */
} dm_nvml_facts;

/* What the library says of the GPU of that UUID. */
void dm_nvml_describe(const char *uuid, dm_nvml_facts *facts);

#endif
