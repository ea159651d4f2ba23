/* rival: common code of the programs that time other libraries: the check of C, and the record. */
#ifndef DM_BENCH_RIVAL_CUH
#define DM_BENCH_RIVAL_CUH

#include <cublas_v2.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "core/element.h"
#include "tests/bench/device.cuh"

/* Element (row, column) of the first random matrix of `damier bench multiply --seed SEED`. */
__host__ __device__ static inline double random_element(uint64_t seed, int64_t row,
                                                        int64_t column) {
  const dm_generator generator = {DM_UNIFORM, seed, 0.0};
  return dm_element(&generator, row, column, 0);
}

/* The largest |C w - A (B w)| for random signs w (Freivalds 1979), in units of 8 UNIT |A| (|B| 1).
 * With elements of random signs, as here, rounding stays far below 1, and a C without one panel of
 * k is far above.  apply(M, x, absolute) is M x, or |M| x if ABSOLUTE. */
template <class In, class Out>
static double residual(const In &a, const In &b, const Out &c, int64_t n, double unit) {
  std::vector<double> w(n), ones(n, 1.0);
  for (int64_t i = 0; i < n; i++) w[i] = random_element(3, 0, i) < 0.0 ? -1.0 : 1.0;
  const std::vector<double> abw = apply(a, apply(b, w, false), false), cw = apply(c, w, false),
                            bound = apply(a, apply(b, ones, true), true);
  double worst = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double error = std::fabs(cw[i] - abw[i]) / (8.0 * unit * bound[i]);
    if (!(error <= worst)) worst = error; /* keeps NaN */
  }
  return worst;
}

struct Measured {
  const char *verb, *type, *git, *command;
  int64_t n;
  int ranks, gpus;
  std::string library, settings; /* SETTINGS: members of "bench", in JSON */
  std::vector<double> seconds;
  double residual;
};

static std::string with_version(const std::string &name) {
  int major, minor, patch;
  OK(cublasGetProperty(MAJOR_VERSION, &major));
  OK(cublasGetProperty(MINOR_VERSION, &minor));
  OK(cublasGetProperty(PATCH_LEVEL, &patch));
  return name + " " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

/* Prints one line of JSON to standard output; returns whether C is correct. */
static bool print_record(const Measured &m) {
  int device;
  cudaDeviceProp card;
  OK(cudaGetDevice(&device));
  OK(cudaGetDeviceProperties(&card, device));
  char date[32];
  const time_t today = time(nullptr);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&today));
  const long long n = m.n;
  printf("{\"verb\":\"%s\",\"git\":\"%s\",\"date\":\"%s\",\"command\":\"%s\",\"problem\":{"
         "\"shape\":\"%lld x %lld x %lld\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"work\":\"%s\"},"
         "\"machine\":{\"backend\":\"cuda\",\"device\":\"%s\",\"library\":\"%s\",\"ranks\":%d,"
         "\"gpus\":%d},\"bench\":{%s},\"repetitions\":{\"multiply_s\":[",
         m.verb, m.git, date, m.command, n, n, n, n, n, n, m.type, card.name, m.library.c_str(),
         m.ranks, m.gpus, m.settings.c_str());
  for (size_t i = 0; i < m.seconds.size(); i++) printf("%s%.9f", i ? "," : "", m.seconds[i]);
  const bool passed = m.residual < 1.0;
  printf("]},\"verification\":{\"verdict\":\"%s\",\"residual\":%.3g}}\n", passed ? "PASS" : "FAIL",
         m.residual);
  fflush(stdout);
  return passed;
}

#endif
