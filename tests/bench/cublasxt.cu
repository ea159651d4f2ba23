/* cublasxt: times cuBLASXt's product of two random matrices in pinned host memory on one or several
 * GPUs, with C in host memory too, and checks it by a random vector.  Built only by
 * scripts/bench/cublasxt.sh.
 *
 *     cublasxt f64|f32 N GPUS                                      prints the fastest of BLOCKS
 *     cublasxt f64|f32 N GPUS BLOCK REPETITIONS GIT "COMMAND"      prints one line of JSON */
#include <cublasXt.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/bench/rival.cuh"

static const int BLOCKS[] = {1024, 2048, 4096, 8192};

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* n x n elements, row-major, in pinned host memory. */
template <class T> struct Pinned {
  int64_t n;
  T *p = nullptr;
  explicit Pinned(int64_t n) : n(n) {
    OK(cudaMallocHost(&p, n * n * sizeof(T)));
  }
  ~Pinned() {
    cudaFreeHost(p);
  }
  Pinned(const Pinned &) = delete;
};

template <class T> __global__ void fill_rows(T *to, int64_t n, uint64_t seed) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n * n;
       i += (int64_t)gridDim.x * blockDim.x)
    to[i] = (T)random_element(seed, i / n, i % n);
}

template <class T> static void fill(const Pinned<T> &m, uint64_t seed) {
  Device<T> on_gpu(m.n * m.n);
  fill_rows<<<1024, 256>>>(on_gpu.p, m.n, seed);
  OK(cudaGetLastError());
  OK(cudaMemcpy(m.p, on_gpu.p, m.n * m.n * sizeof(T), cudaMemcpyDeviceToHost));
}

template <class T>
static std::vector<double> apply(const Pinned<T> &m, const std::vector<double> &x, bool absolute) {
  std::vector<double> y(m.n);
#pragma omp parallel for
  for (int64_t i = 0; i < m.n; i++) {
    double sum = 0.0;
    for (int64_t j = 0; j < m.n; j++) {
      const double element = m.p[i * m.n + j];
      sum += (absolute ? std::fabs(element) : element) * x[j];
    }
    y[i] = sum;
  }
  return y;
}

static cublasStatus_t gemm(cublasXtHandle_t xt, int64_t n, const double *a, const double *b,
                           double *c) {
  const double one = 1.0, zero = 0.0;
  return cublasXtDgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &zero, c, n);
}

static cublasStatus_t gemm(cublasXtHandle_t xt, int64_t n, const float *a, const float *b,
                           float *c) {
  const float one = 1.0f, zero = 0.0f;
  return cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &zero, c, n);
}

template <class T> struct Product {
  Pinned<T> a, b, c;
  cublasXtHandle_t xt;
  Product(int64_t n, int gpus) : a(n), b(n), c(n) {
    std::vector<int> devices(gpus);
    std::iota(devices.begin(), devices.end(), 0);
    fill(a, 1);
    fill(b, 2);
    OK(cublasXtCreate(&xt));
    OK(cublasXtDeviceSelect(xt, gpus, devices.data()));
    OK(cublasXtSetPinningMemMode(xt, CUBLASXT_PINNING_DISABLED)); /* already pinned */
  }
  ~Product() {
    cublasXtDestroy(xt);
  }
  /* Seconds of C = A B of row-major matrices: cuBLAS' columns are our rows.  The call returns when
   * C is complete. */
  double multiply() {
    const double start = now();
    OK(gemm(xt, a.n, a.p, b.p, c.p));
    return now() - start;
  }
};

template <class T> static int fastest_block(Product<T> &product) {
  int best = BLOCKS[0];
  double least = HUGE_VAL;
  for (const int block : BLOCKS) {
    if (block > product.a.n) break;
    OK(cublasXtSetBlockDim(product.xt, block));
    (void)product.multiply(); /* warms up */
    const double seconds = product.multiply();
    fprintf(stderr, "cublasxt: blocks of %d: %.4f s\n", block, seconds);
    if (seconds < least) best = block, least = seconds;
  }
  return best;
}

template <class T> static int measure(int count, char **words) {
  const int64_t n = atoll(words[2]);
  const int gpus = atoi(words[3]);
  Product<T> product(n, gpus);
  if (count == 4) {
    printf("%d\n", fastest_block(product));
    return 0;
  }
  OK(cublasXtSetBlockDim(product.xt, atoi(words[4])));
  Measured m = {"bench cublasxt", words[1], words[6], words[7], n, 1, gpus};
  m.library = with_version("cuBLASXt");
  m.settings = std::string("\"block\":") + words[4];
  (void)product.multiply(); /* warms up */
  for (int i = 0; i < atoi(words[5]); i++) m.seconds.push_back(product.multiply());
  m.residual =
      residual(product.a, product.b, product.c, n, 0.5 * std::numeric_limits<T>::epsilon());
  return print_record(m) ? 0 : 1;
}

int main(int count, char **words) {
  if (count == 4 || count == 8) {
    if (!strcmp(words[1], "f64")) return measure<double>(count, words);
    if (!strcmp(words[1], "f32")) return measure<float>(count, words);
  }
  fprintf(stderr, "usage: cublasxt f64|f32 N GPUS [BLOCK REPETITIONS GIT COMMAND]\n");
  return 2;
}
