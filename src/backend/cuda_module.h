/* cuda_module: machine code compiled at run time, through the driver API. */
#ifndef DM_BACKEND_CUDA_MODULE_H
#define DM_BACKEND_CUDA_MODULE_H

#include <cuda.h>

#include "backend/cuda_state.h"

/* Driver functions in use; found through the runtime, so that nothing links against libcuda. */
typedef struct dm_cuda_driver {
  CUresult (*load)(CUmodule *module, const void *image);
  CUresult (*unload)(CUmodule module);
  CUresult (*find)(CUfunction *function, CUmodule module, const char *name);
  CUresult (*set_attribute)(CUfunction function, CUfunction_attribute attribute, int value);
  CUresult (*launch)(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                     unsigned threads_y, unsigned threads_z, unsigned shared, CUstream stream,
                     void **arguments, void **extra);
  CUresult (*error)(CUresult result, const char **text);
} dm_cuda_driver;

typedef struct dm_cuda_module {
  CUmodule handle;
  CUfunction function;
  int threads;    /* per block */
  int64_t shared; /* bytes per block */
} dm_cuda_module;

dm_status dm_cuda_driver_find(dm_cuda_driver *driver);

/* Loads kernel NAME of IMAGE; the caller sets MODULE's threads and shared. */
dm_status dm_cuda_module_load(const dm_cuda *gpu, const dm_cuda_driver *driver, const char *image,
                              const char *name, dm_cuda_module *module);
void dm_cuda_module_unload(const dm_cuda_driver *driver, dm_cuda_module *module);

/* Launches BLOCKS blocks on the compute lane. */
dm_status dm_cuda_module_launch(const dm_cuda *gpu, const dm_cuda_driver *driver,
                                const dm_cuda_module *module, int64_t blocks, void **arguments);

#endif
