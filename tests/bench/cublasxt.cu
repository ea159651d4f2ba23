/* cublasxt: times cuBLASXt's product of two random matrices in pinned host memory, C in host memory too,
 * and checks it by a random vector (Freivalds 1979).  Built by scripts/bench/cublasxt.sh alone; one line
 * of JSON on standard output.
 *
 *     cublasxt f64|f32 N REPETITIONS GIT "COMMAND"
 *
 * Each repetition is timed with the block width that was fastest in one product with each of BLOCKS. */
#include <cublasXt.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <vector>

#include "tests/bench/device.cuh"

static const int BLOCKS[] = {1024, 2048, 4096, 8192};

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* n x n elements, row after row, in pinned host memory. */
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

template <class T> static void fill(const Pinned<T> &m, uint64_t seed) {
  Device<T> on_gpu(m.n * m.n);
  generate<<<1024, 256>>>(on_gpu.p, m.n * m.n, seed);
  OK(cudaGetLastError());
  OK(cudaMemcpy(m.p, on_gpu.p, m.n * m.n * sizeof(T), cudaMemcpyDeviceToHost));
}

/* M x, and with ABSOLUTE |M| x. */
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

/* The largest |C w - A (B w)| in units of 2 n u |A| (|B| 1): rounding stays below 1. */
template <class T>
static double residual(const Pinned<T> &a, const Pinned<T> &b, const Pinned<T> &c) {
  std::vector<double> w(a.n), ones(a.n, 1.0);
  for (int64_t i = 0; i < a.n; i++) w[i] = rand() % 2 ? 1.0 : -1.0;
  const std::vector<double> abw = apply(a, apply(b, w, false), false), cw = apply(c, w, false),
                            bound = apply(a, apply(b, ones, true), true);
  const double unit = 0.5 * std::numeric_limits<T>::epsilon();
  double worst = 0.0;
  for (int64_t i = 0; i < a.n; i++) {
    const double error = std::fabs(cw[i] - abw[i]) / (2.0 * a.n * unit * bound[i]);
    if (!(error <= worst)) worst = error; /* NaN stays */
  }
  return worst;
}

static cublasStatus_t gemm(cublasXtHandle_t xt, int64_t n, const double *a, const double *b, double *c) {
  const double one = 1.0, zero = 0.0;
  return cublasXtDgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &zero, c, n);
}

static cublasStatus_t gemm(cublasXtHandle_t xt, int64_t n, const float *a, const float *b, float *c) {
  const float one = 1.0f, zero = 0.0f;
  return cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &zero, c, n);
}

/* Seconds of C = A B of row-major matrices: the columns of cuBLAS are our rows. */
template <class T>
static double multiply(cublasXtHandle_t xt, const Pinned<T> &a, const Pinned<T> &b, const Pinned<T> &c) {
  const double start = now();
  OK(gemm(xt, a.n, a.p, b.p, c.p));
  OK(cudaDeviceSynchronize());
  return now() - start;
}

template <class T>
static int fastest_block(cublasXtHandle_t xt, const Pinned<T> &a, const Pinned<T> &b, const Pinned<T> &c) {
  int best = BLOCKS[0];
  double least = HUGE_VAL;
  for (const int block : BLOCKS) {
    OK(cublasXtSetBlockDim(xt, block));
    (void)multiply(xt, a, b, c); /* warms up */
    const double seconds = multiply(xt, a, b, c);
    if (seconds < least) best = block, least = seconds;
  }
  return best;
}

template <class T> static int measure(const char *type, char **words) {
  const int64_t n = atoll(words[2]);
  const int repetitions = atoi(words[3]);
  Pinned<T> a(n), b(n), c(n);
  fill(a, 1);
  fill(b, 2);
  cublasXtHandle_t xt;
  int device = 0, version;
  OK(cublasXtCreate(&xt));
  OK(cublasXtDeviceSelect(xt, 1, &device));
  OK(cublasXtSetPinningMemMode(xt, CUBLASXT_PINNING_DISABLED)); /* it is pinned already */
  const int block = fastest_block(xt, a, b, c);
  OK(cublasXtSetBlockDim(xt, block));
  OK(cublasGetProperty(MAJOR_VERSION, &version));
  cudaDeviceProp card;
  OK(cudaGetDeviceProperties(&card, device));
  char date[32];
  const time_t today = time(nullptr);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&today));
  printf("{\"verb\":\"bench cublasxt\",\"git\":\"%s\",\"date\":\"%s\",\"command\":\"%s\",\"problem\":{"
         "\"shape\":\"%lld x %lld x %lld\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"work\":\"%s\"},\"machine\":{"
         "\"backend\":\"cuda\",\"device\":\"%s\",\"library\":\"cuBLASXt %d\",\"ranks\":1},\"bench\":{"
         "\"block\":%d},\"repetitions\":{\"multiply_s\":[",
         words[4], date, words[5], (long long)n, (long long)n, (long long)n, (long long)n, (long long)n,
         (long long)n, type, card.name, version, block);
  for (int i = 0; i < repetitions; i++) printf("%s%.9f", i ? "," : "", multiply(xt, a, b, c));
  const double rest = residual(a, b, c);
  const bool passed = rest < 1.0;
  printf("]},\"verification\":{\"verdict\":\"%s\",\"residual\":%.3g}}\n", passed ? "PASS" : "FAIL", rest);
  OK(cublasXtDestroy(xt));
  return passed ? 0 : 1;
}

int main(int count, char **words) {
  if (count == 6 && !strcmp(words[1], "f64")) return measure<double>("f64", words);
  if (count == 6 && !strcmp(words[1], "f32")) return measure<float>("f32", words);
  fprintf(stderr, "usage: cublasxt f64|f32 N REPETITIONS GIT COMMAND\n");
  return 2;
}
