/* nvrtc: NVIDIA's run-time compiler, loaded on demand: a program that never compiles starts without
 * it. */
#ifndef DM_BACKEND_NVRTC_H
#define DM_BACKEND_NVRTC_H

#include <nvrtc.h>
#include <stddef.h>

#include "core/status.h"

typedef struct dm_nvrtc {
  nvrtcResult (*version)(int *major, int *minor);
  nvrtcResult (*arch_count)(int *count);
  nvrtcResult (*archs)(int *archs);
  nvrtcResult (*create)(nvrtcProgram *program, const char *source, const char *name, int count,
                        const char *const *texts, const char *const *names);
  nvrtcResult (*compile)(nvrtcProgram program, int count, const char *const *options);
  nvrtcResult (*destroy)(nvrtcProgram *program);
  nvrtcResult (*log_size)(nvrtcProgram program, size_t *size);
  nvrtcResult (*log)(nvrtcProgram program, char *text);
  nvrtcResult (*cubin_size)(nvrtcProgram program, size_t *size);
  nvrtcResult (*cubin)(nvrtcProgram program, char *image);
  nvrtcResult (*ptx_size)(nvrtcProgram program, size_t *size);
  nvrtcResult (*ptx)(nvrtcProgram program, char *image);
  const char *(*error)(nvrtcResult result);
  int number; /* its version: 13000 */
} dm_nvrtc;

/* Finds and loads the library; it stays loaded.  DM_E_DEVICE says what to install. */
dm_status dm_nvrtc_load(dm_nvrtc *nvrtc);

/* Compiles SOURCE, which may include the embedded headers, for a GPU of CAPABILITY (times 10) to
 * machine code, or to PTX if the compiler is older than the GPU. The caller frees *image. */
dm_status dm_nvrtc_compile(const dm_nvrtc *nvrtc, const char *source, int capability, char **image,
                           size_t *size);

#endif
