#include "backend/nvrtc.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_state.h"
#include "core/buffer.h"
#include "kernels/embedded.h"

enum { MAJOR = CUDART_VERSION / 1000, MOST_ARCHS = 256 };

/* Headers of the C library that the kernels include: NVRTC has none. */
static const char stdint_text[] = "typedef signed char int8_t;\n"
                                  "typedef int int32_t;\n"
                                  "typedef unsigned uint32_t;\n"
                                  "typedef long int64_t;\n"
                                  "typedef unsigned long uint64_t;\n"
                                  "typedef unsigned long uintptr_t;\n";

enum { EMBEDDED = sizeof embedded_names / sizeof embedded_names[0] };

/* POINTER points to a function pointer: dlsym's result has the same size on any POSIX system. */
static bool find(void *library, const char *symbol, void *pointer) {
  void *address = dlsym(library, symbol);
  memcpy(pointer, &address, sizeof address);
  return address != NULL;
}

static bool find_all(void *library, dm_nvrtc *n) {
  return find(library, "nvrtcVersion", &n->version) &&
         find(library, "nvrtcGetNumSupportedArchs", &n->arch_count) &&
         find(library, "nvrtcGetSupportedArchs", &n->archs) &&
         find(library, "nvrtcCreateProgram", &n->create) &&
         find(library, "nvrtcCompileProgram", &n->compile) &&
         find(library, "nvrtcDestroyProgram", &n->destroy) &&
         find(library, "nvrtcGetProgramLogSize", &n->log_size) &&
         find(library, "nvrtcGetProgramLog", &n->log) &&
         find(library, "nvrtcGetCUBINSize", &n->cubin_size) &&
         find(library, "nvrtcGetCUBIN", &n->cubin) &&
         find(library, "nvrtcGetPTXSize", &n->ptx_size) && find(library, "nvrtcGetPTX", &n->ptx) &&
         find(library, "nvrtcGetErrorString", &n->error);
}

dm_status dm_nvrtc_load(dm_nvrtc *nvrtc) {
  int major, minor;
  void *library = dm_cuda_library_open("nvrtc", MAJOR);
  if (!library)
    return dm_hint(
        dm_fail(DM_E_DEVICE, "kernel jit is not available: libnvrtc.so.%d was not found", MAJOR),
        "it is NVRTC, a part of the CUDA Toolkit; LD_LIBRARY_PATH may name its folder, "
        "and --kernel warp_tile does not need it");
  if (!find_all(library, nvrtc) || nvrtc->version(&major, &minor) != NVRTC_SUCCESS)
    return dm_fail(DM_E_DEVICE, "kernel jit is not available: libnvrtc.so.%d is of another version",
                   MAJOR);
  nvrtc->number = 1000 * major + 10 * minor;
  return DM_OK;
}

/* The newest architecture known to the compiler and not newer than CAPABILITY; 0: none. */
static int newest_arch(const dm_nvrtc *nvrtc, int capability) {
  int count = 0, archs[MOST_ARCHS], newest = 0;
  if (nvrtc->arch_count(&count) != NVRTC_SUCCESS || count > MOST_ARCHS) return 0;
  if (nvrtc->archs(archs) != NVRTC_SUCCESS) return 0;
  for (int i = 0; i < count; i++)
    if (archs[i] <= capability && archs[i] > newest) newest = archs[i];
  return newest;
}

/* The first line with an error in the compiler's log. */
static void first_error(const dm_nvrtc *nvrtc, nvrtcProgram program, char *line, size_t room) {
  size_t size = 0;
  void *memory;
  snprintf(line, room, "the compiler says nothing");
  if (nvrtc->log_size(program, &size) != NVRTC_SUCCESS || size < 2) return;
  dm_status status = dm_buffer_zeroed((int64_t)size + 1, 1, &memory);
  if (status) {
    dm_status_free(status);
    return;
  }
  char *text = memory;
  if (nvrtc->log(program, text) == NVRTC_SUCCESS) {
    const char *error = strstr(text, "error");
    const char *at = error ? error : text;
    while (at > text && at[-1] != '\n') at--;
    snprintf(line, room, "%.*s", (int)strcspn(at, "\n"), at);
  }
  free(text);
}

static nvrtcResult image_of(const dm_nvrtc *nvrtc, nvrtcProgram program, bool ptx, char **image,
                            size_t *size) {
  nvrtcResult answer = ptx ? nvrtc->ptx_size(program, size) : nvrtc->cubin_size(program, size);
  if (answer != NVRTC_SUCCESS) return answer;
  *image = malloc(*size + 1);
  if (!*image) return NVRTC_ERROR_OUT_OF_MEMORY;
  answer = ptx ? nvrtc->ptx(program, *image) : nvrtc->cubin(program, *image);
  if (answer == NVRTC_SUCCESS) return answer;
  free(*image);
  *image = NULL;
  return answer;
}

static nvrtcResult create(const dm_nvrtc *nvrtc, const char *source, nvrtcProgram *program) {
  const char *names[EMBEDDED + 1], *texts[EMBEDDED + 1];
  memcpy(names, embedded_names, sizeof embedded_names);
  memcpy(texts, embedded_texts, sizeof embedded_texts);
  names[EMBEDDED] = "stdint.h";
  texts[EMBEDDED] = stdint_text;
  return nvrtc->create(program, source, "jit.cu", EMBEDDED + 1, texts, names);
}

dm_status dm_nvrtc_compile(const dm_nvrtc *nvrtc, const char *source, int capability, char **image,
                           size_t *size) {
  const int arch = newest_arch(nvrtc, capability);
  const bool ptx = arch != capability; /* the driver translates it */
  char target[48], line[400] = "";
  snprintf(target, sizeof target, "--gpu-architecture=%s_%d", ptx ? "compute" : "sm", arch);
  /* The options nvcc uses for kernels/. */
  const char *const options[] = {target, "--std=c++17", "--fmad=false"};
  nvrtcProgram program = NULL;
  *image = NULL;
  nvrtcResult answer = create(nvrtc, source, &program);
  if (answer == NVRTC_SUCCESS)
    answer = nvrtc->compile(program, (int)(sizeof options / sizeof options[0]), options);
  if (answer == NVRTC_ERROR_COMPILATION) first_error(nvrtc, program, line, sizeof line);
  if (answer == NVRTC_SUCCESS) answer = image_of(nvrtc, program, ptx, image, size);
  if (program) (void)nvrtc->destroy(&program);
  if (answer == NVRTC_SUCCESS) return DM_OK;
  return dm_fail(answer == NVRTC_ERROR_OUT_OF_MEMORY ? DM_E_FIT : DM_E_DEVICE,
                 "NVRTC %d.%d, for %s_%d: %s%s%s", nvrtc->number / 1000, nvrtc->number / 10 % 100,
                 ptx ? "compute" : "sm", arch, nvrtc->error(answer), line[0] ? ": " : "", line);
}
