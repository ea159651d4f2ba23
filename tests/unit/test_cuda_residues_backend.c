/* Products by residues on the cuda backend: the inputs of their exponents, and the bits of C, equal
 * the CPU's. */
#include "backend/backend.h"
#include "backend/cpu.h"
#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "core/checked.h"
#include "core/compute.h"
#include "core/residues.h"
#include "cuda_test.h"
#include "device_memory.h"

/* Rows of all magnitudes: zeros, subnormal, huge and ordinary numbers. */
static double wide_number(int64_t row, int64_t col) {
  static const int powers[] = {0, 900, -1060, 1022, 3, -400};
  if (row % 7 == 6) return 0.0;
  const double number = (double)(int64_t)bits_at(row * 5000 + col) * 0x1p-63;
  return ldexp(number, powers[row % 7] - (int)(bits_at(col) % 30));
}

static dm_backend *open_mode(const dm_backend_ops *ops, const dm_compute *row) {
  const dm_backend_config config = {.local_ranks = 1, .compute = row, .kernel = "auto"};
  dm_backend *backend;
  ok(dm_backend_open(ops, &config, &backend));
  return backend;
}

static dm_compute mode_of(const char *name, int64_t k) {
  dm_compute_choice choice = 0;
  dm_compute row;
  assert_true(dm_compute_parse(name, &choice));
  ok(dm_compute_choose(choice, DM_F64, k, &row));
  return row;
}

/* Extremes and sums of rows or columns are equal on both; they include previous contents of the
 * result. */
static void check_lines(dm_backend *gpu, dm_view host, dm_view device, bool by_row) {
  const int64_t lines = by_row ? host.rows : host.cols;
  double *wanted = zeros(16 * lines), *got = zeros(16 * lines);
  int64_t *wanted_sums = zeros(8 * DM_LINE_SUMS * lines), *sums = zeros(8 * DM_LINE_SUMS * lines);
  for (int64_t l = 0; l < lines; l++) {
    wanted[2 * l] = got[2 * l] = l % 3 == 1 ? 0.75 : 0.0;
    wanted[2 * l + 1] = got[2 * l + 1] = l % 3 == 1 ? -1e-3 : -INFINITY;
    for (int x = 0; x < DM_LINE_SUMS; x++)
      wanted_sums[DM_LINE_SUMS * l + x] = sums[DM_LINE_SUMS * l + x] = l + x;
  }
  dm_host_extremes(host, by_row, wanted);
  ok(dm_backend_extremes(gpu, device, by_row, got));
  for (int64_t l = 0; l < 2 * lines; l++)
    if (memcmp(&got[l], &wanted[l], sizeof *got) != 0)
      fail_msg("%lld x %lld, by %s: extreme %lld is %a instead of %a", (long long)host.rows,
               (long long)host.cols, by_row ? "row" : "column", (long long)l, got[l], wanted[l]);
  for (int64_t l = 0; l < lines; l++) /* sums of infinite rows are never used */
    if (isinf(wanted[2 * l])) wanted[2 * l] = 0.0;
  dm_host_line_sums(host, by_row, wanted, wanted_sums);
  ok(dm_backend_line_sums(gpu, device, by_row, wanted, sums));
  for (int64_t l = 0; l < lines * DM_LINE_SUMS; l++)
    if (wanted[2 * (l / DM_LINE_SUMS)] > 0.0 && sums[l] != wanted_sums[l])
      fail_msg("%lld x %lld, by %s: sum %lld of line %lld is %lld instead of %lld",
               (long long)host.rows, (long long)host.cols, by_row ? "row" : "column",
               (long long)(l % DM_LINE_SUMS), (long long)(l / DM_LINE_SUMS), (long long)sums[l],
               (long long)wanted_sums[l]);
  free(wanted), free(got), free(wanted_sums), free(sums);
}

TEST(test_residue_lines) {
  static const int64_t shapes[][3] = {/* rows, columns, stride */
                                      {1, 1, 1},      {1, 5000, 5001}, {300, 333, 336},
                                      {777, 1, 2},    {9, 4500, 4500}, {129, 70, 71},
                                      {4100, 40, 40}, {66000, 3, 3}};
  const dm_compute row = mode_of("f64:int8", 5000);
  dm_backend *gpu = open_mode(&dm_backend_cuda, &row);
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const int64_t rows = shapes[s][0], cols = shapes[s][1], stride = shapes[s][2];
    double *numbers = zeros(rows * stride * 8);
    for (int64_t at = 0; at < rows * stride; at++)
      numbers[at] = wide_number(at / stride, at % stride);
    if (s == 2) numbers[5 * stride + 7] = (double)NAN, numbers[8 * stride + 9] = -INFINITY;
    void *device = uploaded(numbers, rows * stride * 8);
    const dm_view host = dm_view_strided(numbers, DM_F64, DM_HOST, rows, cols, stride);
    const dm_view there = dm_view_strided(device, DM_F64, DM_DEVICE, rows, cols, stride);
    check_lines(gpu, host, there, true);
    check_lines(gpu, host, there, false);
    cuda_ok(cudaFree(device));
    float *shorter = zeros(rows * stride * 4);
    for (int64_t at = 0; at < rows * stride; at++) shorter[at] = (float)ldexp(numbers[at], -900);
    device = uploaded(shorter, rows * stride * 4);
    check_lines(gpu, dm_view_strided(shorter, DM_F32, DM_HOST, rows, cols, stride),
                dm_view_strided(device, DM_F32, DM_DEVICE, rows, cols, stride), s % 2);
    cuda_ok(cudaFree(device));
    free(numbers), free(shorter);
  }
  dm_backend_close(gpu);
}

/* C = A B in a compute mode, with all its memory in one block. */
typedef struct place {
  dm_backend *backend;
  dm_space space;
  dm_view a, b, sums;
  dm_exponents exponents;
  int64_t plane;
} place;

static void run_product(const place *p, const dm_compute *row, int64_t strip, int64_t cut) {
  const dm_view first = dm_compute_first(row, p->sums);
  dm_event done;
  for (int64_t i = 0; i < p->sums.rows; i += strip) { /* strips of rows, in two parts of k */
    const int64_t rows = dm_min(strip, p->sums.rows - i), k = p->a.cols;
    const dm_view c = dm_view_sub(first, i, 0, rows, first.cols);
    const dm_exponents at = {p->exponents.rows + i, p->exponents.cols};
    ok(dm_backend_gemm_parts(p->backend, c, p->plane, dm_view_sub(p->a, i, 0, rows, cut),
                             dm_view_sub(p->b, 0, 0, cut, p->b.cols), false, at, &done));
    ok(dm_backend_gemm_parts(p->backend, c, p->plane, dm_view_sub(p->a, i, cut, rows, k - cut),
                             dm_view_sub(p->b, cut, 0, k - cut, p->b.cols), true, at, &done));
    ok(dm_backend_finish(p->backend, dm_view_sub(p->sums, i, 0, rows, p->sums.cols), c, p->plane,
                         at, &done));
  }
  ok(dm_backend_wait(p->backend, done));
}

static void compare_types(const char *name, bool is_complex, int64_t m, int64_t n, int64_t k,
                          int64_t strip, int64_t cut) {
  const dm_compute row = mode_of(name, k);
  const dm_dtype work = dm_compute_type(row.work, is_complex);
  const int64_t parts = dm_compute_parts(&row, work), lines = m + parts * n;
  dm_backend *cpu = open_mode(&dm_backend_cpu, &row), *gpu = open_mode(&dm_backend_cuda, &row);
  const dm_generator generator = {.kind = DM_NORMAL, .seed = 7};
  pair a = make_pair(gpu, work, m, k, 3, generator), b = make_pair(gpu, work, k, n, 1, generator);
  const int64_t stride = dm_device_stride(dm_compute_width(&row, work, n), work);
  const int64_t size = dm_dtype_size(work);
  char *c = zeros(m * stride * size);
  int32_t *exponents = zeros(lines * 4);
  for (int64_t i = 0; i < lines; i++) /* both of a complex column are equal */
    exponents[i] = 40 + (int32_t)(bits_at(i < m ? i : m + (i - m) / parts) % 5);
  void *on_c = on_gpu(m * stride * size, UNTOUCHED);
  int32_t *on_exponents = uploaded(exponents, lines * 4);
  const int64_t plane = dm_compute_plane(&row, lines - m);
  const place host = {cpu,
                      DM_HOST,
                      a.host,
                      b.host,
                      dm_view_strided(c, work, DM_HOST, m, n, stride),
                      {exponents, exponents + m},
                      plane};
  const place device = {gpu,
                        DM_DEVICE,
                        a.device,
                        b.device,
                        dm_view_strided(on_c, work, DM_DEVICE, m, n, stride),
                        {on_exponents, on_exponents + m},
                        plane};
  run_product(&host, &row, m, k);
  run_product(&device, &row, strip, cut);
  char *got = downloaded(on_c, m * stride * size);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      if (memcmp(got + (i * stride + j) * size, c + (i * stride + j) * size, (size_t)size) != 0)
        fail_msg("%s in %s, %lld x %lld x %lld: other bits in C(%lld, %lld): %a instead of %a",
                 dm_dtype_name(work), name, (long long)m, (long long)n, (long long)k, (long long)i,
                 (long long)j, number(dm_view_row_major(got, work, m, stride), i, j),
                 number(host.sums, i, j));
  free_pair(gpu, a), free_pair(gpu, b);
  cuda_ok(cudaFree(on_c)), cuda_ok(cudaFree(on_exponents));
  free(c), free(exponents), free(got);
  dm_backend_close(cpu), dm_backend_close(gpu);
}

static void compare_backends(const char *name, int64_t m, int64_t n, int64_t k, int64_t strip,
                             int64_t cut) {
  compare_types(name, false, m, n, k, strip, cut);
}

TEST(test_residues_of_complex) {
  compare_types("f64:int8", true, 1, 1, 1, 1, 0);
  compare_types("f64:int8", true, 70, 133, 500, 70, 499);
  compare_types("f64:int8:20", true, 257, 65, 130, 100, 64);
  compare_types("f64:int8:8", true, 65, 131, 333, 64, 100);
  compare_types("f64:int8", true, 33, 49, DM_RESIDUES_SPLIT / 2 + 1, 33, DM_RESIDUES_SPLIT / 2 + 1);
  compare_types("f32:int8", true, 70, 133, 500, 33, 251);
  compare_types("f32:int8:14", true, 129, 65, 333, 129, 333);
}

TEST(test_residues_of_backends) {
  compare_backends("f64:int8", 1, 1, 1, 1, 0);
  compare_backends("f64:int8", 1, 1, 1, 1, 1);
  compare_backends("f64:int8", 70, 133, 500, 70, 500);
  compare_backends("f64:int8:20", 257, 65, 130, 100, 64);
  compare_backends("f64:int8:8", 65, 260, 1000, 64, 333);
  compare_backends("f64:int8:14", 300, 1000, 777, 128, 777);
  compare_backends("f32:int8", 1, 3, 5, 1, 5);
  compare_backends("f32:int8", 70, 133, 500, 33, 501 / 2);
  compare_backends("f32:int8:14", 129, 65, 333, 129, 333);
  compare_backends("f64:int8", 33, 49, DM_RESIDUES_SPLIT + 1, 33, DM_RESIDUES_SPLIT + 1);
  compare_backends("f64:int8", 20, 70, DM_RESIDUES_DEPTH + 4321, 20, DM_RESIDUES_DEPTH + 4321);
}

CUDA_TESTS(test_cuda_residues_backend)
