/* Compares products of f32 and c64 from f16 (kernels/split) with cublasSgemm and cublasCgemm, in
 * the memory of one GPU: times of 10 alternating pairs for each size, and the errors of both.
 *
 * From the root of the repository:
 *   nvcc -O3 -std=c++17 -fmad=false -gencode arch=compute_90a,code=sm_90a -I. -Isrc \
 *     tests/bench/split.cu kernels/split/split_*.cu kernels/helpers/tensor_map.cu \
 *     kernels/helpers/transpose_tiled.cu -lcublas -o build/bench_split && build/bench_split [N ...]
 * Without arguments: 4096 8192 16384 (about 15 s); c64 up to 8192.  docs/results/split.txt is
 * its output. */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/split_kernels.h"
#include "tests/bench/device.cuh"

/* PARTS 2: complex numbers, as a real product of N x 2N x 2N (m, n, k). */
struct Product {
  int64_t n, parts, deep; /* DEEP: k, and columns of C */
  Device<uint16_t> of_a, of_b;
  Device<int32_t> exponents, few;
  Device<dm_split_line> lines;
  Device<dm_split_count> count;
  cudaEvent_t event[5];
  int processors;

  Product(int64_t n, int64_t parts, int processors)
      : n(n), parts(parts), deep(parts * n), of_a(2 * n * deep), of_b(2 * deep * deep),
        exponents(n + deep), few(n + deep), lines(deep), count(1), processors(processors) {
    for (auto &e : event) OK(cudaEventCreate(&e));
  }
  ~Product() {
    for (auto &e : event) cudaEventDestroy(e);
  }
  dm_view real(float *base) const {
    return {base, DM_F32, DM_DEVICE, n, deep, deep, 1};
  }
  /* MS: milliseconds of split A, split B, product, native lines, and the total. */
  void run(float *a, float *b, float *c, float *ms) {
    const dm_view va = real(a), vc = real(c);
    const dm_view vb = {b, parts == 2 ? DM_C64 : DM_F32, DM_DEVICE, n, n, n, 1};
    const dm_split_parts pa = {of_a.p, of_a.p + n * deep, n, deep, deep, exponents.p};
    const dm_split_parts pb = {of_b.p, of_b.p + deep * deep, deep, deep, deep, exponents.p + n};
    const dm_split split_a = {pa, va, nullptr, count.p, 0};
    const dm_split split_b = {pb, vb, lines.p, count.p, 0};
    const dm_split_product product = {vc, pa, pb, false, processors, 0};
    const dm_split_native native = {vc,        va,      vb, pa.exponents, pb.exponents, few.p,
                                    few.p + n, count.p, 0};
    OK(cudaEventRecord(event[0]));
    OK(cudaMemsetAsync(count.p, 0, offsetof(dm_split_count, all)));
    OK(cudaMemsetAsync(lines.p, 0, deep * sizeof(dm_split_line)));
    OK(dm_kernels_split_rows(&split_a));
    OK(cudaEventRecord(event[1]));
    OK(dm_kernels_split_columns(&split_b));
    OK(cudaEventRecord(event[2]));
    OK(dm_kernels_split_product(&product));
    OK(cudaEventRecord(event[3]));
    OK(dm_kernels_split_native(&native));
    OK(cudaEventRecord(event[4]));
    OK(cudaEventSynchronize(event[4]));
    for (int i = 0; i < 4; i++) OK(cudaEventElapsedTime(&ms[i], event[i], event[i + 1]));
    OK(cudaEventElapsedTime(&ms[4], event[0], event[4]));
  }
};

/* The largest |C - got| / (|A||B|) over (parts of) 32 x 32 elements, computed in f64. */
static double error_of(const float *a, const float *b, const float *c, int64_t n, int64_t parts) {
  const int64_t deep = parts * n;
  constexpr int SAMPLES = 32;
  std::vector<float> rows[SAMPLES], cols[SAMPLES];
  int64_t at[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) {
    at[i] = (n / SAMPLES * i + 37 * i + 5) % n;
    rows[i] = fetch(a + at[i] * deep, deep);
    cols[i].resize(deep);
    OK(cudaMemcpy2D(cols[i].data(), 4 * parts, b + at[i] * parts, deep * 4, 4 * parts, n,
                    cudaMemcpyDeviceToHost));
  }
  double worst = 0;
  for (int i = 0; i < SAMPLES; i++) {
    const auto row = fetch(c + at[i] * deep, deep);
    for (int64_t j = 0; j < SAMPLES * parts; j++) {
      const int64_t sample = j / parts, part = j % parts;
      double sum = 0, size = 0;
      for (int64_t h = 0; h < deep; h++) {
        const double one = (double)rows[i][h] * cols[sample][part ? h ^ 1 : h];
        sum += parts == 2 && part == 0 && h % 2 == 1 ? -one : one;
        size += fabs(one);
      }
      worst = std::max(worst, fabs(sum - row[at[sample] * parts + part]) / size);
    }
  }
  return worst;
}

/* C = A B by cuBLAS. */
static void multiply(cublasHandle_t blas, int64_t n, int64_t parts, const Device<float> &a,
                     const Device<float> &b, const Device<float> &c) {
  const cublasOperation_t no = CUBLAS_OP_N;
  const float one = 1, zero = 0;
  const cuComplex complex_one = {1, 0}, complex_zero = {0, 0};
  if (parts == 1)
    OK(cublasSgemm(blas, no, no, n, n, n, &one, b.p, n, a.p, n, &zero, c.p, n));
  else
    OK(cublasCgemm(blas, no, no, n, n, n, &complex_one, (const cuComplex *)b.p, n,
                   (const cuComplex *)a.p, n, &complex_zero, (cuComplex *)c.p, n));
}

static void bench(int64_t n, int64_t parts, int processors, cublasHandle_t blas) {
  const int64_t all = parts * n * n;
  Device<float> a(all), b(all), c(all), d(all);
  generate<<<4096, 256>>>(a.p, all, 1), generate<<<4096, 256>>>(b.p, all, 1ull << 40);
  Product product(n, parts, processors);
  std::vector<float> pass[5], native, ratio;
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  for (int i = -2; i < 10; i++) {
    float ms[5], other;
    product.run(a.p, b.p, c.p, ms);
    OK(cudaEventRecord(begin));
    multiply(blas, n, parts, a, b, d);
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&other, begin, end));
    if (i < 0) continue; /* warm-up */
    for (int p = 0; p < 5; p++) pass[p].push_back(ms[p]);
    native.push_back(other), ratio.push_back(other / ms[4]);
  }
  const double flop = 2.0 * parts * parts * n * n * n, total = median(pass[4]),
               blas_ms = median(native);
  const auto lines = fetch(product.count.p, 1);
  printf("%s N %5ld | f32:f16 %8.3f ms %6.1f TFLOP/s | cuBLAS %8.3f ms %6.1f TFLOP/s | ratio %.3f "
         "(%.3f to %.3f) | error %.2g cuBLAS %.2g | native lines %llu\n",
         parts == 2 ? "c64" : "f32", (long)n, total, flop / total * 1e-9, blas_ms,
         flop / blas_ms * 1e-9, median(ratio), *std::min_element(ratio.begin(), ratio.end()),
         *std::max_element(ratio.begin(), ratio.end()), error_of(a.p, b.p, c.p, n, parts),
         error_of(a.p, b.p, d.p, n, parts), lines[0].now);
  printf("    split A %.3f ms (%.2f TB/s) | split B %.3f ms (%.2f TB/s) | product %.3f ms (%.0f "
         "TFLOP/s of f16) | native %.3f ms\n",
         median(pass[0]), 8.0 * all / median(pass[0]) * 1e-9, median(pass[1]),
         (8.0 + 4.0 * parts) * all / median(pass[1]) * 1e-9, median(pass[2]),
         3 * flop / median(pass[2]) * 1e-9, median(pass[3]));
  fflush(stdout);
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  cublasHandle_t blas;
  OK(cublasCreate(&blas));
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; i++) sizes.push_back(atoll(argv[i]) / 64 * 64);
  if (sizes.empty()) sizes = {4096, 8192, 16384};
  for (const int64_t n : sizes)
    for (int64_t parts = 1; parts * n <= DM_SPLIT_DEPTH && parts <= 2; parts++)
      bench(n, parts, properties.multiProcessorCount, blas);
  cublasDestroy(blas);
  return 0;
}
