/* gpu_list: the GPUs that this process may use, found without starting them: the driver takes
 * longer to start the more GPUs it sees. */
#ifndef DM_BACKEND_GPU_LIST_H
#define DM_BACKEND_GPU_LIST_H

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

#endif
