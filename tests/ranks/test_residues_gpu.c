/* ranks: 1 2 4. Products of f64 and c128 by residues have the same bits on GPUs as on the CPU,
 * where one call multiplies all of A and B. */
#include <math.h>

#include "backend/backend.h"
#include "backend/verify_sums.h"
#include "core/residues.h"
#include "gpu_ranks.h"
#include "stored_product.h"

/* ---- the expected result ---- */

static void *take(rank_test *test, dm_backend *cpu, int64_t bytes) {
  void *memory;
  must(test, dm_backend_alloc(cpu, DM_HOST, bytes, &memory));
  return memory;
}

static void find_exponents(rank_test *test, dm_backend *cpu, const dm_moduli *moduli, dm_view view,
                           bool by_row, int32_t *exponents) {
  const int64_t lines = by_row ? view.rows : view.cols, depth = by_row ? view.cols : view.rows;
  double *extremes = take(test, cpu, 16 * lines);
  int64_t *sums = take(test, cpu, 8 * DM_LINE_SUMS * lines);
  memset(sums, 0, (size_t)(8 * DM_LINE_SUMS * lines));
  for (int64_t l = 0; l < lines; l++) extremes[2 * l] = 0.0, extremes[2 * l + 1] = -INFINITY;
  must(test, dm_backend_extremes(cpu, view, by_row, extremes));
  must(test, dm_backend_line_sums(cpu, view, by_row, extremes, sums));
  for (int64_t l = 0; l < lines; l++)
    exponents[l] = dm_exponent(moduli, extremes[2 * l], sums[DM_LINE_SUMS * l], depth);
  dm_backend_release(cpu, DM_HOST, extremes);
  dm_backend_release(cpu, DM_HOST, sums);
}

/* Exponents of B's columns; the columns of both parts of complex numbers share theirs. */
static void find_of_columns(rank_test *test, dm_backend *cpu, const dm_moduli *moduli, dm_view b,
                            int32_t *exponents) {
  dm_view turned = dm_view_transpose(b), packed;
  if (!dm_dtype_is_complex(b.dtype)) {
    find_exponents(test, cpu, moduli, b, false, exponents);
    return;
  }
  packed = dm_view_row_major(take(test, cpu, 16 * b.rows * b.cols), b.dtype, b.cols, b.rows);
  dm_copy(packed, turned, false);
  find_exponents(test, cpu, moduli, dm_view_parts(packed), true, exponents);
  for (int64_t j = b.cols - 1; j >= 0; j--) exponents[2 * j] = exponents[2 * j + 1] = exponents[j];
  dm_backend_release(cpu, DM_HOST, packed.base);
}

/* C = A B with separate accumulators, as COMPUTE defines. */
static void multiply_on_cpu(rank_test *test, dm_backend *cpu, const dm_compute *compute, dm_view a,
                            dm_view b, double *c) {
  const int64_t width = dm_compute_width(compute, a.dtype, b.cols);
  void *memory = take(test, cpu, dm_dtype_size(a.dtype) * a.rows * width);
  const dm_view sums = dm_view_strided(memory, a.dtype, DM_HOST, a.rows, b.cols, width);
  const dm_view first = dm_compute_first(compute, sums);
  const int64_t plane = dm_compute_plane(compute, first.cols);
  int32_t *rows = take(test, cpu, 4 * a.rows), *cols = take(test, cpu, 4 * first.cols);
  const dm_exponents exponents = {rows, cols};
  dm_moduli moduli;
  dm_event done;
  dm_moduli_make(compute->moduli, &moduli);
  find_exponents(test, cpu, &moduli, dm_view_parts(a), true, rows);
  find_of_columns(test, cpu, &moduli, b, cols);
  must(test, dm_backend_gemm_parts(cpu, first, plane, a, b, false, exponents, &done));
  must(test, dm_backend_finish(cpu, sums, first, plane, exponents, &done));
  must(test, dm_backend_wait(cpu, done));
  dm_copy(dm_view_row_major(c, sums.dtype, sums.rows, sums.cols), sums, false);
  dm_backend_release(cpu, DM_HOST, memory);
  dm_backend_release(cpu, DM_HOST, rows);
  dm_backend_release(cpu, DM_HOST, cols);
}

static double *expected_of(rank_test *test, const product *p) {
  const dm_problem *problem = &p->plan.problem;
  const dm_range rows = {0, problem->m}, inner = {0, problem->k}, cols = {0, problem->n};
  const dm_backend_config config = {
      .local_ranks = 1, .threads = 1, .compute = &problem->compute, .kernel = "auto"};
  const dm_view a = generated(test, &p->a, problem->work, rows, inner);
  const dm_view b = generated(test, &p->b, problem->work, inner, cols);
  double *c = memory_of(test, problem->m * problem->n * dm_dtype_size(problem->work));
  dm_backend *cpu;
  must(test, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  multiply_on_cpu(test, cpu, &problem->compute, a, b, c);
  dm_backend_close(cpu);
  free(a.base);
  free(b.base);
  return c;
}

/* ---- what the engine computes ---- */

/* EXPECTED: all of C, in parts. */
static void compare(void *expected, const product *p, int64_t row, int64_t col, double got) {
  const dm_plan *plan = &p->plan;
  const int64_t n = (dm_dtype_is_complex(plan->problem.work) ? 2 : 1) * plan->problem.n;
  const double want = ((const double *)expected)[row * n + col];
  CHECK(p->test, memcmp(&got, &want, sizeof got) == 0,
        "%s in %s, %lld x %lld x %lld, grid %dx%d, panels of %lld, tile %lld, %d strips: "
        "C(%lld, %lld) = %a, wanted %a",
        dm_dtype_name(plan->problem.work), plan->problem.compute.name, (long long)plan->problem.m,
        (long long)plan->problem.n, (long long)plan->problem.k, plan->pm, plan->pn,
        (long long)plan->kb, (long long)p->local.tile, plan->strips, (long long)row, (long long)col,
        got, want);
}

static dm_problem problem_in(rank_test *test, dm_dtype work, const char *name, int64_t m, int64_t n,
                             int64_t k) {
  dm_problem problem = product_problem(m, n, k, work);
  must(test, product_compute(name, &problem));
  return problem;
}

static dm_problem problem_of(rank_test *test, const char *name, int64_t m, int64_t n, int64_t k) {
  return problem_in(test, DM_F64, name, m, n, k);
}

static void multiply(rank_test *test, dm_problem problem, dm_wishes wishes, int strips,
                     uint64_t seed) {
  static const dm_kind kinds[] = {DM_UNIFORM, DM_INTEGER, DM_HILBERT, DM_IDENTITY};
  const dm_machine machine = one_node(test, "h200", false);
  const double parameter = 8.0;
  product p = {.test = test,
               .a = {.kind = kinds[seed % 4], .seed = 2 * seed, .parameter = parameter},
               .b = {.kind = kinds[seed % 3], .seed = 2 * seed + 1, .parameter = parameter}};
  must(test, dm_plan_choose(&problem, &machine, test->run.ranks, &wishes, &p.plan));
  const dm_backend_config config = {.local_rank = test->run.local_rank,
                                    .local_ranks = test->run.local_ranks,
                                    .threads = 1,
                                    .compute = &p.plan.problem.compute,
                                    .kernel = "auto",
                                    .tile = wishes.reproducible ? DM_BORDER : 0};
  must(test, dm_backend_open(&dm_backend_cuda, &config, &p.backend));
  double *expected = expected_of(test, &p);
  product_store(&p, strips, 0, compare, expected);
  free(expected);
}

/* Whole and in tiles, with panels of all widths; test_residues_cuts_gpu tests layers. */
static void every_grid(rank_test *test) {
  static const char *const names[] = {"f64:int8", "f64:int8:20", "f64:int8:8"};
  static const int64_t panels[] = {0, 64, 128, 320};
  const int ranks = test->run.ranks;
  uint64_t turn = 0;
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int i = 0; i < 4; i++, turn++) {
        const uint64_t bits = dm_mix(turn + 77);
        const int64_t m = 8 + (int64_t)(bits % 90), n = 8 + (int64_t)(bits >> 8 & 127);
        const int64_t k = 1 + (int64_t)(bits >> 16 & 511);
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = 1, .panel = panels[turn % 4]};
        wishes.no_overlap = i == 2;
        if (i == 3) wishes.tiles_m = 2, wishes.tiles_n = 3, wishes.may_cut = true;
        const dm_dtype work = turn % 2 ? DM_C128 : DM_F64;
        multiply(test, problem_in(test, work, names[turn % 3], m, n, k), wishes, 0, turn);
      }
}

/* One rank keeps all panels, so that the last ones can be multiplied in strips. */
static void in_strips(rank_test *test) {
  const dm_wishes wishes = {.panel = 64};
  multiply(test, problem_of(test, "f64:int8", 67, 133, 300), wishes, 3, 5);
  multiply(test, problem_of(test, "f64:int8:14", 129, 31, 65), wishes, 2, 6);
  multiply(test, problem_in(test, DM_C128, "f64:int8", 67, 133, 300), wishes, 3, 7);
}

static void odd_shapes(rank_test *test) {
  const dm_wishes none = {0};
  multiply(test, problem_of(test, "f64:int8", 1, 1, 1), none, 0, 8);
  multiply(test, problem_of(test, "f64:int8", 1, 300, 17), none, 0, 4);
  multiply(test, problem_of(test, "f64:int8", 259, 1, 129), none, 0, 9);
  multiply(test, problem_of(test, "f64:int8", 9, 21, DM_RESIDUES_DEPTH + 777), none, 0, 16);
  multiply(test, problem_in(test, DM_C128, "f64:int8", 1, 1, 1), none, 0, 9);
  multiply(test, problem_in(test, DM_C128, "f64:int8", 65, 33, 129), none, 0, 12);
  multiply(test, problem_in(test, DM_C128, "f64:int8", 9, 11, DM_RESIDUES_SPLIT + 77), none, 0, 20);
}

/* Whether this rank's GPU supports such products; some models do not. */
static bool can_multiply(rank_test *test) {
  const dm_problem problem = problem_of(test, "f64:int8", 64, 64, 64);
  const dm_backend_config config = {.local_rank = test->run.local_rank,
                                    .local_ranks = test->run.local_ranks,
                                    .compute = &problem.compute,
                                    .kernel = "auto"};
  dm_backend *gpu = NULL;
  dm_status status = dm_backend_open(&dm_backend_cuda, &config, &gpu);
  const bool refused = status && status->code == DM_E_USAGE;
  if (!refused) must(test, status);
  if (refused) dm_status_free(status);
  dm_backend_close(gpu);
  return !refused;
}

TEST_PROGRAM(test_residues_gpu) {
  static gpu_test test; /* a run that waits for files must not move */
  if (!gpu_test_start(&test, false)) return SKIPPED;
  if (!can_multiply(&test.base)) return gpu_test_end(&test) ? 1 : SKIPPED;
  every_grid(&test.base);
  if (test.base.run.ranks == 1) in_strips(&test.base);
  if (test.base.run.ranks == 1) odd_shapes(&test.base);
  return gpu_test_end(&test);
}
