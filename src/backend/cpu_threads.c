/* cpu_threads: CBLAS cannot set threads; each library has its own call, found at run time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/cpu.h"
#include "core/buffer.h"

typedef void (*set_function)(int);

/* dlsym returns an object pointer; POSIX guarantees that this conversion works. */
static void *symbol(const char *name) {
  return dlsym(RTLD_DEFAULT, name);
}

bool dm_cpu_set_threads(int threads) {
  bool told = false;
  static const char *const names[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                      "bli_thread_set_num_threads", "nvpl_blas_set_num_threads"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    set_function set;
    *(void **)&set = symbol(names[i]);
    if (set) set(threads);
    told |= set != NULL;
  }
  return told;
}

enum { BUFFER = 128 << 20, STACK = 8 << 20, BESIDE = 32 << 20, MOST_BUFFERS = 64 };

/* Bytes of a thread's stack. */
static int64_t stack_bytes(void) {
  struct rlimit limit;
  const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? (int64_t)limit.rlim_cur : STACK;
}

/* Each thread that multiplies reserves a buffer, and retries for ever if a limit prevents that. So
 * the buffers are reserved here, where a failure is an error: OpenBLAS keeps them. */
dm_status dm_cpu_room(int threads) {
  void *(*alloc)(int), (*release)(void *);
  void *buffers[MOST_BUFFERS];
  char need[48];
  *(void **)&alloc = symbol("blas_memory_alloc");
  *(void **)&release = symbol("blas_memory_free");
  if (!alloc || !release) return DM_OK;
  if (threads > MOST_BUFFERS) threads = MOST_BUFFERS;
  const int64_t bytes = threads * (BUFFER + stack_bytes()) + BESIDE;
  snprintf(need, sizeof need, "OpenBLAS with %d threads", threads);
  DM_TRY(dm_memory_room(bytes, need));
  for (int i = 0; i < threads; i++) buffers[i] = alloc(0);
  for (int i = 0; i < threads; i++) release(buffers[i]);
  return DM_OK;
}

void dm_cpu_library(char *text, int64_t size) {
  char *(*config)(void);
  *(void **)&config = symbol("openblas_get_config");
  if (config) {
    snprintf(text, (size_t)size, "%s", config());
    return;
  }
  const char *name = symbol("MKL_Get_Max_Threads")          ? "MKL"
                     : symbol("bli_thread_get_num_threads") ? "BLIS"
                     : symbol("nvpl_blas_get_max_threads")  ? "NVPL BLAS"
                                                            : "CBLAS";
  snprintf(text, (size_t)size, "%s", name);
}

/* OpenBLAS selects its kernels by the CPU's model number. For an unknown one it silently uses the
 * oldest, which are several times slower. */
static const char *chosen_kernels(void) {
  char *(*corename)(void);
  *(void **)&corename = symbol("openblas_get_corename");
  return corename ? corename() : "";
}

static bool are_outdated(const char *kernels) {
  static const char *const old[] = {"Prescott", "Core2", "Nehalem", "Barcelona", "Penryn"};
  bool outdated = false;
  for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) outdated |= strcmp(kernels, old[i]) == 0;
  return outdated;
}

/* The value for OPENBLAS_CORETYPE if it is unset and the kernels are outdated; else NULL. */
static const char *newer_kernels(void) {
#if defined(__x86_64__)
  if (getenv("OPENBLAS_CORETYPE") || !are_outdated(chosen_kernels())) return NULL;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SKYLAKEX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "HASWELL" : NULL;
#else
  return NULL;
#endif
}

/* OpenBLAS reads the variable on loading. It has no call to read it again, except these two, its
 * initialization and shutdown. */
void dm_cpu_name_kernels(void) {
  static const char variable[] = "OPENBLAS_CORETYPE";
  void (*begin)(void), (*end)(void);
  const char *newer = newer_kernels();
  *(void **)&begin = symbol("gotoblas_dynamic_init");
  *(void **)&end = symbol("gotoblas_dynamic_quit");
  if (!newer || !begin || !end || setenv(variable, newer, 1) != 0) return;
  end();
  begin();
  if (are_outdated(chosen_kernels())) unsetenv(variable); /* it failed: restore it, and warn */
}

void dm_cpu_advice(char *text, int64_t size) {
  const char *newer = newer_kernels();
  text[0] = '\0';
  if (newer)
    snprintf(text, (size_t)size,
             "OpenBLAS does not know this CPU and uses its %s kernels; OPENBLAS_CORETYPE=%s, or a "
             "newer OpenBLAS, multiplies several times faster",
             chosen_kernels(), newer);
}
