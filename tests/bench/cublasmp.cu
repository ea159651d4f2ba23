/* cublasmp: times cuBLASMp's product of two random matrices in GPU memory, with one GPU per rank,
 * and checks it by a random vector.  Built only by scripts/bench/cublasmp.sh.
 *
 *     mpirun -n P cublasmp f64|f32|bf16 N                                   "fastest LAYOUT"
 *     mpirun -n P cublasmp f64|f32|bf16 N LAYOUT REPETITIONS GIT "COMMAND"  one line of JSON
 *
 * C of bf16 is f32.  Layouts: block-cyclic over a grid of ranks ("2x1:4096"), and the two for which
 * the library overlaps transfers with products: "all-gather" of B and "reduce-scatter" of C. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "tests/bench/cublasmp_parts.cuh"

template <class T> struct Product {
  using Sum = typename Kind<T>::Sum;
  Session &s;
  int64_t n;
  Part<T> a, b;
  Part<Sum> c;
  size_t device_bytes = 0, host_bytes = 0;
  bool accepted; /* whether the library supports the product */
  Shared work;
  std::vector<char> host_work;

  Product(Session &s, int64_t n, const Layout &l)
      : s(s), n(n), a(s, n, l.a), b(s, n, l.b), c(s, n, l.c), accepted(sizes()),
        work(c.memory.grid, (int64_t)device_bytes), host_work(host_bytes) {
    a.fill(1);
    b.fill(2);
  }

  bool sizes() {
    const Sum one = 1, zero = 0;
    const int refused = cublasMpGemm_bufferSize(
        s.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.p, 1, 1, a.form, b.p, 1, 1, b.form,
        &zero, c.p, 1, 1, c.form, Kind<T>::compute, &device_bytes, &host_bytes);
    return !refused;
  }

  /* Seconds from a common start until all ranks are done; infinite if it is not supported. */
  double multiply() {
    const Sum one = 1, zero = 0;
    double seconds = HUGE_VAL;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    if (accepted &&
        !cublasMpGemm(s.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.p, 1, 1, a.form, b.p, 1,
                      1, b.form, &zero, c.p, 1, 1, c.form, Kind<T>::compute, work.p, device_bytes,
                      host_work.data(), host_bytes)) {
      OK(cudaStreamSynchronize(s.stream));
      seconds = MPI_Wtime() - start;
    }
    OK(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return seconds;
  }

  double wrong() const {
    return residual(a, b, c, n, 0.5 * std::numeric_limits<Sum>::epsilon());
  }
};

template <class T> static int find_fastest(Session &s, const char *type, int64_t n) {
  std::string best;
  double least = HUGE_VAL;
  for (const Layout &layout : layouts_of(n, s.ranks)) {
    Product<T> product(s, n, layout);
    (void)product.multiply(); /* warms up */
    const double seconds = product.multiply();
    const double wrong = std::isinf(seconds) ? HUGE_VAL : product.wrong();
    if (s.rank == 0)
      fprintf(stderr, "cublasmp: %s, %s, memory that all GPUs address: %s: %.4f s, residual %.3g\n",
              type, layout.name.c_str(), product.work.addressable ? "yes" : "no", seconds, wrong);
    if (wrong < 1.0 && seconds < least) best = layout.name, least = seconds;
  }
  if (s.rank == 0) printf("fastest %s\n", best.c_str());
  return best.empty() ? 1 : 0;
}

static std::string library() {
  int nccl;
  OK(ncclGetVersion(&nccl));
  return "cuBLASMp " + std::to_string(CUBLASMP_VER_MAJOR) + "." +
         std::to_string(CUBLASMP_VER_MINOR) + "." + std::to_string(CUBLASMP_VER_PATCH) + ", " +
         with_version("cuBLAS") + ", NCCL " + std::to_string(nccl / 10000) + "." +
         std::to_string(nccl / 100 % 100) + "." + std::to_string(nccl % 100);
}

template <class T> static int measure(Session &s, int64_t n, const Layout &layout, char **words) {
  Product<T> product(s, n, layout);
  Measured m = {"bench cublasmp", words[1], words[5], words[6], n, s.ranks, s.ranks};
  (void)product.multiply(); /* warms up */
  for (int i = 0; i < atoi(words[4]); i++) m.seconds.push_back(product.multiply());
  m.library = library();
  m.settings = "\"layout\":\"" + layout.name +
               "\",\"addressable\":" + (product.work.addressable ? "true" : "false");
  if (std::isinf(m.seconds.front())) {
    if (s.rank == 0) fprintf(stderr, "cublasmp: the library does not support this product\n");
    return 1;
  }
  m.residual = product.wrong();
  if (s.rank == 0) (void)print_record(m);
  return m.residual < 1.0 ? 0 : 1;
}

template <class T> static int run(int count, char **words) {
  Session s;
  const int64_t n = atoll(words[2]);
  if (count == 3) return find_fastest<T>(s, words[1], n);
  for (const Layout &layout : layouts_of(n, s.ranks))
    if (layout.name == words[3]) return measure<T>(s, n, layout, words);
  if (s.rank == 0) fprintf(stderr, "cublasmp: no layout of these ranks is called %s\n", words[3]);
  return 2;
}

int main(int count, char **words) {
  int result = 2;
  OK(MPI_Init(&count, &words));
  const std::string type = count == 3 || count == 7 ? words[1] : "";
  if (type == "f64")
    result = run<double>(count, words);
  else if (type == "f32")
    result = run<float>(count, words);
  else if (type == "bf16")
    result = run<__nv_bfloat16>(count, words);
  else
    fprintf(stderr, "usage: cublasmp f64|f32|bf16 N [LAYOUT REPETITIONS GIT COMMAND]\n");
  OK(MPI_Finalize());
  return result;
}
