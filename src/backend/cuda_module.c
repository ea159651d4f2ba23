#ifdef DM_HAVE_CUDA

#include "backend/cuda_module.h"

#include <string.h>

static dm_status driver_error(const dm_cuda *gpu, const dm_cuda_driver *driver, CUresult answer,
                              const char *call) {
  const char *text = NULL;
  if (driver->error(answer, &text) != CUDA_SUCCESS || !text) text = "unknown error";
  return dm_fail(answer == CUDA_ERROR_OUT_OF_MEMORY ? DM_E_FIT : DM_E_DEVICE,
                 "GPU %d (%s, %s): %.*s: %s (%d)", gpu->index, gpu->name, gpu->id,
                 (int)strcspn(call, "("), call, text, (int)answer);
}

#define DRIVER(gpu, driver, call)                                                                  \
  do {                                                                                             \
    const CUresult driver_result_ = (driver)->call;                                                \
    if (driver_result_ != CUDA_SUCCESS) return driver_error(gpu, driver, driver_result_, #call);   \
  } while (0)

bool dm_cuda_driver_symbol(const char *name, void *function) {
  enum cudaDriverEntryPointQueryResult answer;
  void **symbol = function;
  *symbol = NULL;
#if CUDART_VERSION >= 12050
  cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, symbol, 12000, cudaEnableDefault, &answer);
#else
  cudaError_t error = cudaGetDriverEntryPoint(name, symbol, cudaEnableDefault, &answer);
#endif
  if (error == cudaSuccess && answer == cudaDriverEntryPointSuccess && *symbol) return true;
  (void)cudaGetLastError();
  return false;
}

dm_status dm_cuda_driver_find(dm_cuda_driver *driver) {
  if (dm_cuda_driver_symbol("cuModuleLoadData", &driver->load) &&
      dm_cuda_driver_symbol("cuModuleUnload", &driver->unload) &&
      dm_cuda_driver_symbol("cuModuleGetFunction", &driver->find) &&
      dm_cuda_driver_symbol("cuFuncSetAttribute", &driver->set_attribute) &&
      dm_cuda_driver_symbol("cuLaunchKernel", &driver->launch) &&
      dm_cuda_driver_symbol("cuGetErrorString", &driver->error))
    return DM_OK;
  return dm_fail(DM_E_DEVICE, "kernel jit is not available: the driver lacks functions for it");
}

static dm_status prepare(const dm_cuda *gpu, const dm_cuda_driver *driver, const char *name,
                         dm_cuda_module *m) {
  DRIVER(gpu, driver, find(&m->function, m->handle, name));
  DRIVER(
      gpu, driver,
      set_attribute(m->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)m->shared));
  return DM_OK;
}

dm_status dm_cuda_module_load(const dm_cuda *gpu, const dm_cuda_driver *driver, const char *image,
                              const char *name, dm_cuda_module *module) {
  DRIVER(gpu, driver, load(&module->handle, image));
  dm_status status = prepare(gpu, driver, name, module);
  if (status) dm_cuda_module_unload(driver, module);
  return status;
}

void dm_cuda_module_unload(const dm_cuda_driver *driver, dm_cuda_module *module) {
  if (module->handle) (void)driver->unload(module->handle);
  module->handle = NULL;
}

dm_status dm_cuda_module_launch(const dm_cuda *gpu, const dm_cuda_driver *driver,
                                const dm_cuda_module *m, int64_t blocks, void **arguments) {
  if (blocks > INT32_MAX) return dm_fail(DM_E_FIT, "C has too many tiles for one launch");
  DRIVER(gpu, driver,
         launch(m->function, (unsigned)blocks, 1, 1, (unsigned)m->threads, 1, 1,
                (unsigned)m->shared, gpu->lanes[DM_COMPUTE].stream, arguments, NULL));
  return DM_OK;
}

#endif
