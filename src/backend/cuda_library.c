#ifdef DM_HAVE_CUDA

#include "backend/cuda_library.h"

#include <dlfcn.h>
#include <stdio.h>

void *dm_cuda_library_open(const char *name, int major) {
  char path[1024];
  snprintf(path, sizeof path, "lib%s.so.%d", name, major);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  snprintf(path, sizeof path, "%s/lib%s.so.%d", DM_CUDA_LIBRARIES, name, major);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

#endif
