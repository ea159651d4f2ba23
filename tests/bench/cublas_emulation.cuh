/* cublas_emulation: cuBLAS' own emulation of f64 by fixed-point numbers, available since CUDA 13.0
 * update 2; it multiplies natively if it has no kernel or too little memory. */
#ifndef DM_BENCH_CUBLAS_EMULATION_CUH
#define DM_BENCH_CUBLAS_EMULATION_CUH

#include <cublas_v2.h>

#include "tests/bench/device.cuh"

struct Emulated {
  const char *name;
  cublasHandle_t blas;
  Device<char> room;
  Device<int> bits; /* kept per number; -1: multiplied natively */
  cublasStatus_t status;
  std::vector<float> ms;

  /* For products of N with KEPT bits; 0: cuBLAS chooses. */
  Emulated(const char *name, int64_t n, int kept)
      : name(name), room(room_of(n)), bits(1), status(CUBLAS_STATUS_NOT_SUPPORTED) {
    OK(cublasCreate(&blas));
    OK(cublasSetWorkspace(blas, room.p, room_of(n)));
#if CUBLAS_VERSION >= 130100
    OK(cublasSetEmulationStrategy(blas, CUBLAS_EMULATION_STRATEGY_EAGER));
    OK(cublasSetFixedPointEmulationMantissaBitCountPointer(blas, bits.p));
    if (kept == 0) return;
    OK(cublasSetFixedPointEmulationMantissaControl(blas, CUDA_EMULATION_MANTISSA_CONTROL_FIXED));
    OK(cublasSetFixedPointEmulationMaxMantissaBitCount(blas, kept));
#endif
  }
  ~Emulated() {
    cublasDestroy(blas);
  }
  /* Enough for its slices of A and B. */
  static int64_t room_of(int64_t n) {
    return 24 * n * n + (64 << 20);
  }
  void run(int64_t n, const double *a, const double *b, double *c) {
#if CUBLAS_VERSION >= 130100
    const double one = 1, zero = 0;
    const cudaDataType type = CUDA_R_64F;
    status =
        cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, type, n, a, type, n, &zero,
                     c, type, n, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUBLAS_GEMM_DEFAULT);
#endif
  }
  /* After a last run.  NATIVE: times of the native products. */
  void report(int64_t n, double error, const std::vector<float> &native) {
    if (status != CUBLAS_STATUS_SUCCESS) {
      printf("    cuBLAS' emulation, %s: refused, %s\n", name, cublasGetStatusString(status));
      return;
    }
    const int kept = fetch(bits.p, 1)[0];
    std::vector<float> ratio;
    for (size_t i = 0; i < ms.size(); i++) ratio.push_back(native[i] / ms[i]);
    printf("    cuBLAS' emulation, %s: %8.3f ms %6.1f TFLOP/s | ratio %.3f | error %.2g | ", name,
           median(ms), 2.0 * n * n * n / median(ms) * 1e-9, median(ratio), error);
    if (kept < 0)
      printf("not used: a native product\n");
    else
      printf("%d bits\n", kept);
  }
};

#endif
