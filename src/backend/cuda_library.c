#include "backend/cuda_state.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { CUDA_PATH = 1024 };

static void *cuda_open_in(const char *folder, const char *name, int major) {
  char path[CUDA_PATH];
  const int length = snprintf(path, sizeof path, "%slib%s.so.%d", folder, name, major);
  return length < CUDA_PATH ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* FILE is "PACKAGES/damier/FILE": looks where pip installs NVIDIA's packages. */
static void *open_beside(const char *file, const char *name, int major) {
  char folder[CUDA_PATH];
  const char *slash = memrchr(file, '/', strlen(file));
  const char *above = slash ? memrchr(file, '/', (size_t)(slash - file)) : NULL;
  const int length = above ? (int)(above - file) : 0;
  if (!above) return NULL;
  snprintf(folder, sizeof folder, "%.*s/nvidia/cu%d/lib/", length, file, major);
  void *library = cuda_open_in(folder, name, major);
  if (library) return library;
  snprintf(folder, sizeof folder, "%.*s/nvidia/cublas/lib/", length, file); /* before CUDA 13 */
  return cuda_open_in(folder, name, major);
}

/* Beside this library, or beside the program. */
static void *open_in_packages(const char *name, int major) {
  static const char here = 0;
  Dl_info object;
  char program[CUDA_PATH];
  void *library = NULL;
  if (dladdr(&here, &object)) library = open_beside(object.dli_fname, name, major);
  const ssize_t length = library ? 0 : readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return library;
  program[length] = '\0';
  return open_beside(program, name, major);
}

void *dm_cuda_library_open(const char *name, int major) {
  void *library = cuda_open_in("", name, major);
  if (!library) library = cuda_open_in(DM_CUDA_LIBRARIES "/", name, major);
  return library ? library : open_in_packages(name, major);
}

/* Wrappers for the cuBLAS functions in use. Each finds its function in the library at its first
 * call, which may load it, and passes its arguments on. A process with torch has hundreds of
 * libraries, among which each look-up would search: the function's address is kept. */

#define LIBRARY(name) "lib" name ".so." DM_TEXT_OF(CUBLAS_VER_MAJOR)
#define DM_TEXT_OF(number) DM_TEXT(number)
#define DM_TEXT(number) #number

static void *cuda_find(const char *library, const char *symbol) {
  void *loaded = dm_cuda_library_open(library, CUBLAS_VER_MAJOR);
  return loaded ? dlsym(loaded, symbol) : NULL;
}

/* dlsym returns an object pointer; POSIX guarantees that this conversion works. */
#define PASS_ON(library, name, missing, ...)                                                       \
  static void *_Atomic known;                                                                      \
  void *address = atomic_load_explicit(&known, memory_order_acquire);                              \
  __typeof__(&name) call;                                                                          \
  if (!address) {                                                                                  \
    address = cuda_find(library, #name);                                                           \
    atomic_store_explicit(&known, address, memory_order_release);                                  \
  }                                                                                                \
  *(void **)&call = address;                                                                       \
  return call ? call(__VA_ARGS__) : (missing)

#define BLAS(name, ...) PASS_ON("cublas", name, CUBLAS_STATUS_NOT_INITIALIZED, __VA_ARGS__)
#define LT(name, ...) PASS_ON("cublasLt", name, CUBLAS_STATUS_NOT_INITIALIZED, __VA_ARGS__)

void dm_cuda_cublas_version(int version[3]) {
  static const libraryPropertyType parts[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  const int built[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  void *loaded = dlopen(LIBRARY("cublas"), RTLD_NOW | RTLD_NOLOAD);
  __typeof__(&cublasGetProperty) property = NULL;
  if (loaded) *(void **)&property = dlsym(loaded, "cublasGetProperty");
  for (int i = 0; i < 3; i++)
    if (!property || property(parts[i], &version[i]) != CUBLAS_STATUS_SUCCESS)
      version[i] = built[i];
  if (loaded) (void)dlclose(loaded);
}

const char *cublasGetStatusString(cublasStatus_t status) {
  PASS_ON("cublas", cublasGetStatusString, LIBRARY("cublas") " cannot be loaded", status);
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
  BLAS(cublasCreate_v2, handle);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  BLAS(cublasDestroy_v2, handle);
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
  BLAS(cublasGetProperty, type, value);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  BLAS(cublasSetStream_v2, handle, stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes) {
  BLAS(cublasSetWorkspace_v2, handle, workspace, bytes);
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  BLAS(cublasSetPointerMode_v2, handle, mode);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  BLAS(cublasSetAtomicsMode, handle, mode);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  BLAS(cublasSetMathMode, handle, mode);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t op_a,
                               cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                               const void *alpha, const void *a, cudaDataType type_a, int64_t lda,
                               const void *b, cudaDataType type_b, int64_t ldb, const void *beta,
                               void *c, cudaDataType type_c, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  BLAS(cublasGemmEx_64, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
       type_c, ldc, compute, algorithm);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n,
    int64_t k, const void *alpha, const void *a, cudaDataType type_a, int64_t lda, long long step_a,
    const void *b, cudaDataType type_b, int64_t ldb, long long step_b, const void *beta, void *c,
    cudaDataType type_c, int64_t ldc, long long step_c, int64_t count, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm) {
  BLAS(cublasGemmStridedBatchedEx_64, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, step_a, b,
       type_b, ldb, step_b, beta, c, type_c, ldc, step_c, count, compute, algorithm);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  LT(cublasLtCreate, handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  LT(cublasLtDestroy, handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  LT(cublasLtMatmulDescCreate, description, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  LT(cublasLtMatmulDescDestroy, description);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  LT(cublasLtMatrixLayoutCreate, layout, type, rows, cols, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  LT(cublasLtMatrixLayoutDestroy, layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  LT(cublasLtMatmulPreferenceCreate, preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  LT(cublasLtMatmulPreferenceDestroy, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void *value, size_t bytes) {
  LT(cublasLtMatmulPreferenceSetAttribute, preference, name, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *found) {
  LT(cublasLtMatmulAlgoGetHeuristic, handle, description, a, b, c, d, preference, wanted, results,
     found);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t layout_a,
                              const void *b, cublasLtMatrixLayout_t layout_b, const void *beta,
                              const void *c, cublasLtMatrixLayout_t layout_c, void *d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes,
                              cudaStream_t stream) {
  LT(cublasLtMatmul, handle, description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d,
     layout_d, algorithm, workspace, bytes, stream);
}
