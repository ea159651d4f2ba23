/* Compares products of f64 and c128 by residues (kernels/residues) with cublasDgemm and
 * cublasZgemm, in the memory of one GPU: checks each pass bit for bit against the host, then times
 * 10 alternating pairs for each size and number of moduli.  With 15 moduli, also times cuBLAS' own
 * emulation of f64.
 *
 * From the root of the repository:
 *   nvcc -O3 -std=c++17 -fmad=false -gencode arch=compute_90a,code=sm_90a -I. -Isrc \
 *     tests/bench/residues.cu kernels/residues/residue_*.cu kernels/helpers/tensor_map.cu
 * src/core/residues.c -lcublas \ -o build/bench_residues && build/bench_residues [check | N ...]
 * Without arguments: checks, then 4096 8192 16384 for M = 14, 15, 16 (about 20 s); c128 up to 8192.
 * docs/results/residues.txt is its output. */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
#include "core/remainder.h"
}
#include "kernels/residue_kernels.h"
#include "tests/bench/cublas_emulation.cuh"
#include "tests/bench/device.cuh"

static int processors;

/* ---- the whole product ---- */

static dm_view view_of(double *base, int64_t rows, int64_t cols, int64_t row_stride,
                       int64_t col_stride) {
  return {base, DM_F64, DM_DEVICE, rows, cols, row_stride, col_stride};
}
static int64_t up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

static const int depths[DM_RESIDUE_LINE_SUMS - 1] = {4, 5, 6, 7, 9, 12}; /* backend/backend.c */

struct Emulation {
  int64_t m, n, k, panel;
  dm_moduli moduli;
  int64_t plane, row_stride;
  Device<uint64_t> extremes;
  Device<int64_t> sums;
  Device<int32_t> s, t;
  Device<int8_t> pa, pb, c;
  cudaEvent_t event[5];

  Emulation(int64_t m, int64_t n, int64_t k, int64_t panel, int count, int64_t plane, int64_t pad)
      : m(m), n(n), k(k), panel(panel), plane(plane), row_stride(count * plane + pad),
        extremes(DM_RESIDUE_LINE_EXTREMES * std::max(m, n)),
        sums(DM_RESIDUE_LINE_SUMS * std::max(m, n)), s(m), t(n),
        pa(dm_residue_panel_bytes(count, m, panel)), pb(dm_residue_panel_bytes(count, n, panel)),
        c(m * row_stride) {
    dm_moduli_make(count, &moduli);
    for (auto &e : event) OK(cudaEventCreate(&e));
  }
  ~Emulation() {
    for (auto &e : event) cudaEventDestroy(e);
  }

  dm_residue_panel panel_a(int64_t deep) const {
    return dm_residue_panel_at(pa.p, moduli.count, m, deep);
  }
  dm_residue_panel panel_b(int64_t deep) const {
    return dm_residue_panel_at(pb.p, moduli.count, n, deep);
  }
  /* Exponents as in engine/scaling.c: PARTS consecutive lines share an exponent. */
  void exponents(dm_view lines, int parts, int32_t *to) {
    const int64_t most = DM_RESIDUE_LINE_EXTREMES * lines.rows,
                  all = DM_RESIDUE_LINE_SUMS * lines.rows;
    OK(cudaMemsetAsync(extremes.p, 0, most * 8));
    OK(cudaMemsetAsync(sums.p, 0, all * 8));
    OK(dm_kernels_residue_extremes(lines, extremes.p, 0));
    auto of = fetch((double *)extremes.p, most); /* magnitudes, which order like their bits */
    for (int64_t r = 0; r < lines.rows; r += parts)
      of[2 * r] = of[2 * (r + parts - 1)] = std::max(of[2 * r], of[2 * (r + parts - 1)]);
    OK(cudaMemcpyAsync(extremes.p, of.data(), most * 8, cudaMemcpyHostToDevice));
    OK(dm_kernels_residue_sums(lines, (double *)extremes.p, depths, sums.p, 0));
    const auto sum = fetch(sums.p, all);
    std::vector<int32_t> chosen(lines.rows);
    for (int64_t r = 0; r < lines.rows; r++) {
      int64_t squares = 0;
      for (int64_t l = r / parts * parts; l < (r / parts + 1) * parts; l++)
        squares += sum[DM_RESIDUE_LINE_SUMS * l];
      chosen[r] = dm_exponent(&moduli, of[2 * r], squares, k);
    }
    OK(cudaMemcpyAsync(to, chosen.data(), lines.rows * 4, cudaMemcpyHostToDevice));
  }
  void exponents(dm_view a, dm_view bt, int parts) {
    exponents(a, 1, s.p);
    exponents(bt, parts, t.p);
  }
  static dm_view part(dm_view v, int64_t first, int64_t count) {
    v.base = (double *)v.base + first * v.col_stride;
    v.cols = count;
    return v;
  }
  void split(dm_view a, dm_view bt, int64_t first, int64_t deep) {
    const dm_residue_split sa = {panel_a(deep), part(a, first, deep), s.p, false, 0};
    const dm_residue_split sb = {panel_b(deep), part(bt, first, deep), t.p, true, 0};
    OK(dm_kernels_residue_split(&sa));
    OK(dm_kernels_residue_split(&sb));
  }
  void product(int64_t deep, bool accumulate) {
    const dm_residue_product p = {c.p,           row_stride, plane,      panel_a(deep),
                                  panel_b(deep), accumulate, processors, 0};
    OK(dm_kernels_residue_product(&p));
  }
  void combine(double *to) {
    const dm_residue_combination all = {
        view_of(to, m, n, n, 1), c.p, row_stride, plane, s.p, t.p, &moduli, 0};
    OK(dm_kernels_residue_combine(&all));
  }
  /* MS: of exponents, split, product (with panels: including split), combine, and the total. */
  void run(dm_view a, dm_view bt, double *to, float *ms) {
    OK(cudaEventRecord(event[0]));
    exponents(a, bt, 1);
    OK(cudaEventRecord(event[1]));
    if (panel >= k) {
      split(a, bt, 0, k);
      OK(cudaEventRecord(event[2]));
      product(k, false);
    } else {
      OK(cudaEventRecord(event[2]));
      for (int64_t h = 0; h < k; h += panel) {
        const int64_t deep = std::min(panel, k - h);
        split(a, bt, h, deep);
        product(deep, h > 0);
      }
    }
    OK(cudaEventRecord(event[3]));
    combine(to);
    OK(cudaEventRecord(event[4]));
    OK(cudaEventSynchronize(event[4]));
    for (int i = 0; i < 4; i++) OK(cudaEventElapsedTime(&ms[i], event[i], event[i + 1]));
    OK(cudaEventElapsedTime(&ms[4], event[0], event[4]));
  }
};

/* ---- checks: every pass bit for bit against the host ---- */

static int bad;
static void wrong(const char *what, int64_t i, int64_t j, int x, double got, double wanted) {
  if (bad++ < 20)
    printf("  WRONG %s at (%ld, %ld) x %d: %.17g instead of %.17g\n", what, (long)i, (long)j, x,
           got, wanted);
}

static int symmetric_of(int64_t v, int p) {
  const int r = (int)((v % p + p) % p);
  return 2 * r < p ? r : r - p;
}

static void check_case(int64_t m, int64_t n, int64_t k, int64_t panel, int count, int64_t plane,
                       int64_t pad, bool extreme) {
  printf("check m %ld n %ld k %ld panel %ld M %d plane %ld pad %ld%s\n", (long)m, (long)n, (long)k,
         (long)panel, count, (long)plane, (long)pad, extreme ? " extreme" : "");
  fflush(stdout);
  const int before = bad;
  Device<double> a(m * k), b(k * n), to(m * n);
  generate<<<1024, 256>>>(a.p, m * k, 1), generate<<<1024, 256>>>(b.p, k * n, 1u << 30);
  Emulation e(m, n, k, panel, count, plane, pad);
  const dm_view va = view_of(a.p, m, k, k, 1), vb = view_of(b.p, n, k, 1, n);
  OK(cudaMemset(e.c.p, 0x55, m * e.row_stride));
  e.exponents(va, vb, 1);
  OK(cudaDeviceSynchronize());
  const auto ha = fetch(a.p, m * k), hb = fetch(b.p, k * n);
  const auto s = fetch(e.s.p, m), t = fetch(e.t.p, n);
  const auto exponent = [&](const std::vector<double> &v, int64_t first, int64_t step) {
    double largest = 0;
    int64_t squares = 0;
    for (int64_t h = 0; h < k; h++) largest = std::max(largest, fabs(v[first + h * step]));
    const dm_power power = dm_square_power(largest);
    for (int64_t h = 0; h < k; h++) squares += dm_square(v[first + h * step], power);
    return dm_exponent(&e.moduli, largest, squares, k);
  };
  for (int64_t i = 0; i < m; i++)
    if (exponent(ha, i * k, 1) != s[i])
      wrong("exponent of A", i, 0, 0, s[i], exponent(ha, i * k, 1));
  for (int64_t j = 0; j < n; j++)
    if (exponent(hb, j, n) != t[j]) wrong("exponent of B", j, 0, 0, t[j], exponent(hb, j, n));

  std::vector<int8_t> ra(count * m * k), rb(count * n * k); /* residues, not permuted */
  for (int x = 0; x < count; x++) {
    for (int64_t i = 0; i < m; i++)
      for (int64_t h = 0; h < k; h++)
        ra[(x * m + i) * k + h] =
            dm_whole_residue(&e.moduli, x, dm_whole_of(ha[i * k + h], dm_power_of(s[i])));
    for (int64_t j = 0; j < n; j++)
      for (int64_t h = 0; h < k; h++)
        rb[(x * n + j) * k + h] =
            dm_whole_residue(&e.moduli, x, dm_whole_of(hb[h * n + j], dm_power_of(t[j])));
  }
  std::vector<int8_t> old;
  for (int64_t h = 0; h < k; h += panel) {
    const int64_t deep = std::min(panel, k - h);
    const dm_residue_panel qa = e.panel_a(deep), qb = e.panel_b(deep);
    const int64_t bytes_a = dm_residue_panel_bytes(count, m, deep);
    const int64_t bytes_b = dm_residue_panel_bytes(count, n, deep);
    if (extreme) { /* the largest possible sums */
      OK(cudaMemset(e.pa.p, 0x80, bytes_a));
      OK(cudaMemset(e.pb.p, h ? 0x7f : 0x80, bytes_b));
      std::fill(ra.begin(), ra.end(), (int8_t)-128);
      std::fill(rb.begin(), rb.end(), h ? (int8_t)127 : (int8_t)-128);
    } else {
      e.split(va, vb, h, deep);
      OK(cudaDeviceSynchronize());
      const auto fa = fetch(e.pa.p, bytes_a), fb = fetch(e.pb.p, bytes_b);
      for (int x = 0; x < count; x++)
        for (int64_t d = 0; d < deep; d++) {
          for (int64_t i = 0; i < m; i++) {
            const int got = fa[(x * qa.plane_rows + i) * qa.stride + d];
            if (got != ra[(x * m + i) * k + h + d])
              wrong("split of A", i, h + d, x, got, ra[(x * m + i) * k + h + d]);
          }
          for (int64_t j = 0; j < n; j++) {
            const int got = fb[(x * qb.plane_rows + dm_residue_place(j)) * qb.stride + d];
            if (got != rb[(x * n + j) * k + h + d])
              wrong("split of B", j, h + d, x, got, rb[(x * n + j) * k + h + d]);
          }
        }
    }
    e.product(deep, h > 0);
    OK(cudaDeviceSynchronize());
    const auto c = fetch(e.c.p, m * e.row_stride);
    for (int x = 0; x < count; x++)
      for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
          int64_t sum = h ? old[i * e.row_stride + x * plane + j] : 0;
          const int8_t *u = &ra[(x * m + i) * k + h], *v = &rb[(x * n + j) * k + h];
          if (extreme && h)
            sum += -128 * 127 * deep;
          else if (extreme)
            sum += 128 * 128 * deep;
          else {
            int part = 0;
            for (int64_t d = 0; d < deep; d++) part += u[d] * v[d];
            sum += part;
          }
          const int wanted = symmetric_of(sum, dm_moduli_numbers[x]);
          const int got = c[i * e.row_stride + x * plane + j];
          if (got != wanted) wrong("product", i, j, x, got, wanted);
        }
    for (int64_t i = 0; i < m; i++) /* bytes between and after the planes */
      for (int64_t z = 0; z < e.row_stride; z++)
        if ((z >= count * plane || z % plane >= n) && c[i * e.row_stride + z] != 0x55)
          wrong("untouched byte", i, z, 0, c[i * e.row_stride + z], 0x55);
    old = c;
  }
  e.combine(to.p);
  OK(cudaDeviceSynchronize());
  const auto got = fetch(to.p, m * n);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      const double wanted =
          dm_residues_value(&e.moduli, &old[i * e.row_stride + j], plane, -(s[i] + t[j]));
      if (memcmp(&wanted, &got[i * n + j], 8) != 0)
        wrong("combine", i, j, 0, got[i * n + j], wanted);
    }
  printf("  %s\n", bad == before ? "right" : "WRONG");
}

static void check_all() {
  check_case(256, 192, 1024, 1024, 15, 192, 0, false); /* one aligned tile of a cluster */
  check_case(300, 270, 900, 900, 14, 288, 0, false);   /* borders */
  check_case(257, 193, 1700, 850, 16, 208, 0, false);  /* two panels */
  check_case(129, 200, 300, 100, 20, 200, 0, false);   /* 8-byte runs, few steps, 3 words */
  check_case(67, 65, 130, 64, 17, 67, 3, false);       /* unaligned */
  check_case(1, 1, 1, 1, 2, 1, 0, false);
  check_case(5, 700, 33, 33, 7, 704, 0, false);
  check_case(700, 5, 1000, 300, 3, 8, 8, false);
  check_case(70, 70, 131072, 65536, 2, 80, 0, true); /* sums of 2^30 */
  if (bad) {
    printf("CHECKS FAILED: %d\n", bad);
    exit(1);
  }
  printf("all checks passed\n\n");
}

/* ---- times ---- */

struct Twofold {
  double high, low;
};
static void add_product(Twofold *sum, double a, double b) {
  const double p = a * b, e = fma(a, b, -p), s = sum->high + p, z = s - sum->high;
  sum->low += ((sum->high - (s - z)) + (p - z)) + e;
  sum->high = s;
}

/* The largest |C - got| / (|A||B|) over 8 x 8 elements. */
static double error_of(const double *a, const double *b, const double *c, int64_t n) {
  std::vector<double> rows[8], cols[8];
  int64_t at[8];
  for (int i = 0; i < 8; i++) {
    at[i] = (n / 8 * i + 37 * i + 5) % n;
    rows[i] = fetch(a + at[i] * n, n);
    cols[i].resize(n);
    OK(cudaMemcpy2D(cols[i].data(), 8, b + at[i], n * 8, 8, n, cudaMemcpyDeviceToHost));
  }
  double worst = 0;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      Twofold sum = {0, 0};
      double size = 0;
      for (int64_t h = 0; h < n; h++) {
        add_product(&sum, rows[i][h], cols[j][h]);
        size += fabs(rows[i][h] * cols[j][h]);
      }
      const double got = fetch(c + at[i] * n + at[j], 1)[0];
      worst = std::max(worst, fabs((sum.high - got) + sum.low) / size);
    }
  return worst;
}

/* EMULATED is timed alternately with the others. */
static void bench(int64_t n, int count, int64_t panel, int pairs, cublasHandle_t blas,
                  const std::vector<Emulated *> &emulated) {
  Device<double> a(n * n), b(n * n), c(n * n), d(n * n);
  generate<<<4096, 256>>>(a.p, n * n, 1), generate<<<4096, 256>>>(b.p, n * n, 1ull << 40);
  const dm_view va = view_of(a.p, n, n, n, 1), vb = view_of(b.p, n, n, 1, n);
  Emulation e(n, n, n, panel, count, up(n, 16), 0);
  const double one = 1, zero = 0;
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  std::vector<float> pass[5], native;
  for (int i = -1; i < pairs; i++) {
    float ms[5], other;
    e.run(va, vb, c.p, ms);
    OK(cudaEventRecord(begin));
    OK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b.p, n, a.p, n, &zero, d.p, n));
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&other, begin, end));
    for (Emulated *library : emulated) {
      float third;
      OK(cudaEventRecord(begin));
      library->run(n, a.p, b.p, d.p);
      OK(cudaEventRecord(end));
      OK(cudaEventSynchronize(end));
      OK(cudaEventElapsedTime(&third, begin, end));
      if (i >= 0) library->ms.push_back(third);
    }
    if (i < 0) continue; /* warm-up */
    for (int p = 0; p < 5; p++) pass[p].push_back(ms[p]);
    native.push_back(other);
  }
  OK(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b.p, n, a.p, n, &zero, d.p, n));
  std::vector<float> ratio;
  for (size_t i = 0; i < native.size(); i++) ratio.push_back(native[i] / pass[4][i]);
  const double flop = 2.0 * n * n * n, total = median(pass[4]), blas_ms = median(native);
  const double cells = (double)n * n, ms_exponents = median(pass[0]), ms_split = median(pass[1]);
  const double ms_product = median(pass[2]), ms_combine = median(pass[3]);
  printf(
      "N %5ld M %2d panel %5ld | emulated %8.3f ms %6.1f TFLOP/s | cuBLAS %8.3f ms %6.1f TFLOP/s | "
      "ratio %.3f | error %.2g cuBLAS %.2g\n",
      (long)n, count, (long)std::min(panel, n), total, flop / total * 1e-9, blas_ms,
      flop / blas_ms * 1e-9, median(ratio), error_of(a.p, b.p, c.p, n), error_of(a.p, b.p, d.p, n));
  printf("    exponents %.3f ms (%.2f TB/s)", ms_exponents, 4 * 8 * cells / ms_exponents * 1e-9);
  if (panel >= n)
    printf(" | split %.3f ms (%.2f TB/s) | product %.3f ms (%.0f TOPS)", ms_split,
           2 * (8 + count) * cells / ms_split * 1e-9, ms_product, count * flop / ms_product * 1e-9);
  else
    printf(" | split and product %.3f ms (%.0f TOPS)", ms_product,
           count * flop / ms_product * 1e-9);
  printf(" | combine %.3f ms (%.2f TB/s)\n", ms_combine, (8 + count) * cells / ms_combine * 1e-9);
  for (Emulated *library : emulated) {
    library->run(n, a.p, b.p, d.p);
    library->report(n, error_of(a.p, b.p, d.p, n), native);
  }
  fflush(stdout);
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
}

/* The largest |C - got| / (|A||B|) over real parts of 8 x 8 elements. */
static double error_of_complex(const double *a, const double *b, const double *c, int64_t n) {
  double worst = 0;
  for (int i = 0; i < 8; i++) {
    const int64_t at = (n / 8 * i + 37 * i + 5) % n;
    const std::vector<double> row = fetch(a + 2 * at * n, 2 * n);
    for (int j = 0; j < 8; j++) {
      const int64_t to = (n / 8 * j + 37 * j + 5) % n;
      std::vector<double> col(2 * n);
      OK(cudaMemcpy2D(col.data(), 16, b + 2 * to, n * 16, 16, n, cudaMemcpyDeviceToHost));
      Twofold sum = {0, 0};
      double size = 0;
      for (int64_t h = 0; h < n; h++) {
        add_product(&sum, row[2 * h], col[2 * h]);
        add_product(&sum, -row[2 * h + 1], col[2 * h + 1]);
        size += fabs(row[2 * h] * col[2 * h]) + fabs(row[2 * h + 1] * col[2 * h + 1]);
      }
      const double got = fetch(c + 2 * (at * n + to), 1)[0];
      worst = std::max(worst, fabs((sum.high - got) + sum.low) / size);
    }
  }
  return worst;
}

/* c128: a real product of N x 2N x 2N (m, n, k), whose B is formed by the split. */
static void bench_complex(int64_t n, int count, int pairs, cublasHandle_t blas) {
  Device<double> a(2 * n * n), b(2 * n * n), c(2 * n * n), d(2 * n * n);
  generate<<<4096, 256>>>(a.p, 2 * n * n, 1), generate<<<4096, 256>>>(b.p, 2 * n * n, 1ull << 40);
  const dm_view va = view_of(a.p, n, 2 * n, 2 * n, 1), parts = view_of(b.p, 2 * n, n, 1, 2 * n);
  const dm_view vb = {b.p, DM_C128, DM_DEVICE, n, n, 1, n};
  Emulation e(n, 2 * n, 2 * n, 2 * n, count, up(2 * n, 16), 0);
  const cuDoubleComplex one = {1, 0}, zero = {0, 0};
  const cuDoubleComplex *za = (const cuDoubleComplex *)a.p, *zb = (const cuDoubleComplex *)b.p;
  std::vector<float> pass[5], native, ratio;
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  for (int i = -1; i < pairs; i++) {
    float ms[5], other;
    OK(cudaEventRecord(e.event[0]));
    e.exponents(va, parts, 2);
    OK(cudaEventRecord(e.event[1]));
    const dm_residue_split sa = {e.panel_a(2 * n), va, e.s.p, false, 0};
    const dm_residue_split sb = {e.panel_b(2 * n), vb, e.t.p, true, 0};
    OK(dm_kernels_residue_split(&sa));
    OK(dm_kernels_residue_split(&sb));
    OK(cudaEventRecord(e.event[2]));
    e.product(2 * n, false);
    OK(cudaEventRecord(e.event[3]));
    e.combine(c.p);
    OK(cudaEventRecord(e.event[4]));
    OK(cudaEventSynchronize(e.event[4]));
    for (int p = 0; p < 4; p++) OK(cudaEventElapsedTime(&ms[p], e.event[p], e.event[p + 1]));
    OK(cudaEventElapsedTime(&ms[4], e.event[0], e.event[4]));
    OK(cudaEventRecord(begin));
    OK(cublasZgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, zb, n, za, n, &zero,
                   (cuDoubleComplex *)d.p, n));
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&other, begin, end));
    if (i < 0) continue; /* warm-up */
    for (int p = 0; p < 5; p++) pass[p].push_back(ms[p]);
    native.push_back(other), ratio.push_back(other / ms[4]);
  }
  const double flop = 8.0 * n * n * n, total = median(pass[4]), blas_ms = median(native);
  printf("c128 N %5ld M %2d | emulated %8.3f ms %6.1f TFLOP/s | cuBLAS %8.3f ms %6.1f TFLOP/s | "
         "ratio %.3f | error %.2g cuBLAS %.2g\n",
         (long)n, count, total, flop / total * 1e-9, blas_ms, flop / blas_ms * 1e-9, median(ratio),
         error_of_complex(a.p, b.p, c.p, n), error_of_complex(a.p, b.p, d.p, n));
  printf("    exponents %.3f ms | split %.3f ms | product %.3f ms (%.0f TOPS) | combine %.3f ms\n",
         median(pass[0]), median(pass[1]), median(pass[2]), count * flop / median(pass[2]) * 1e-9,
         median(pass[3]));
  fflush(stdout);
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  processors = properties.multiProcessorCount;
  printf("%s, %d multiprocessors, cuBLAS %d\n", properties.name, processors, CUBLAS_VERSION);
  check_all();
  if (argc > 1 && strcmp(argv[1], "check") == 0) return 0;
  cublasHandle_t blas;
  OK(cublasCreate(&blas));
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; i++) sizes.push_back(atoll(argv[i]));
  if (sizes.empty()) sizes = {4096, 8192, 16384};
  for (const int64_t n : sizes) {
    Emulated dynamic("bits chosen by it", n, 0), fixed("55 bits", n, 55);
    for (int count = 14; count <= 16; count++)
      bench(n, count, n, 10, blas,
            count == 15 ? std::vector<Emulated *>{&dynamic, &fixed} : std::vector<Emulated *>{});
    bench(n, 15, 2048, 4, blas, {});
    for (int count = 15; count <= 16 && n <= 8192; count++) bench_complex(n, count, 10, blas);
  }
  cublasDestroy(blas);
  return 0;
}
