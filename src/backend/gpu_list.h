/* gpu_list: the GPUs that this process may use, found without starting them, as the driver takes
 * longer to start the more GPUs it sees; and their state. */
#ifndef DM_BACKEND_GPU_LIST_H
#define DM_BACKEND_GPU_LIST_H

#include <stdbool.h>

#include "core/status.h"

enum { DM_GPUS = 64, DM_GPU_TEXT = 64 };

typedef struct dm_listed_gpu {
  char name[DM_GPU_TEXT];  /* of the product, "NVIDIA H200"; may be empty */
  char id[DM_GPU_TEXT];    /* "GPU-..."; may be empty */
  char entry[DM_GPU_TEXT]; /* its name in CUDA_VISIBLE_DEVICES */
} dm_listed_gpu;

typedef struct dm_gpu_list {
  int count;
  dm_listed_gpu gpu[DM_GPUS];
} dm_gpu_list;

/* Of all GPUs of this computer, without entries, makes LIST those that CUDA_VISIBLE_DEVICES does
 * not hide, in its order. */
void dm_gpu_list_hide(dm_gpu_list *list);

/* Reduces LIST to WANTED: a number of GPUs, the first ones; or a list of indices in LIST or of
 * names that begin an id, separated by commas ("2," is a single one); or "none". DM_E_USAGE: it is
 * neither, or names a GPU twice; DM_E_DEVICE: there is no such GPU. */
dm_status dm_gpu_list_restrict(dm_gpu_list *list, const char *wanted);

/* From now on this process sees the first COUNT GPUs of LIST alone; call before it starts one. */
void dm_gpu_list_show(const dm_gpu_list *list, int count);

/* From now on a GPU that this process starts gets few queues; see dm_backend_prepare. */
void dm_gpu_few_queues(void);

/* ---- the state of a GPU as reported by the driver's management library, which is loaded if
 * present; nothing depends on it ---- */

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
