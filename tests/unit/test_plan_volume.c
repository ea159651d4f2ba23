/* Counted traffic compared with a count over all pairs of ranks; the lower bound at known points.
 */
#include "plan/partition.h"
#include "plan/volume.h"
#include "plan_cases.h"

static int64_t size(dm_range range) {
  return dm_range_size(range);
}

/* Elements of X that rank TO receives from rank FROM; *sums: those of C. */
static double pair(const dm_plan *p, int from, int to, double *sums) {
  dm_coords f = dm_plan_coords(p, from), t = dm_plan_coords(p, to);
  double words = 0;
  *sums = 0;
  if (from == to) return 0;
  if (f.i == t.i && f.l == t.l)
    words += (double)(size(dm_plan_a_share(p, 0, f.i, f.j)) * size(dm_plan_layer_k(p, f.l)));
  if (f.j == t.j && f.l == t.l) {
    dm_range layer = dm_plan_layer(p, f.l);
    for (int64_t q = layer.begin; q < layer.end; q++)
      words += (double)(size(dm_plan_b_share(p, q, f.i)) * size(dm_plan_cols(p, 0, f.j)));
  }
  if (f.i == t.i && f.j == t.j)
    *sums = (double)(size(dm_plan_c_share(p, 0, t.i, t.l)) * size(dm_plan_cols(p, 0, t.j)));
  return words;
}

static dm_volume count_pairs(const dm_plan *p, int per_node) {
  const double work = (double)dm_dtype_size(p->problem.work);
  const double sum = (double)dm_dtype_size(p->problem.accumulator);
  dm_volume v = {0};
  for (int to = 0; to < dm_plan_used(p); to++) {
    double words = 0;
    for (int from = 0; from < dm_plan_used(p); from++) {
      double sums, operands = pair(p, from, to, &sums);
      words += operands + sums;
      v.total_bytes += operands * work + sums * sum;
      if (from / per_node != to / per_node) v.between_nodes += operands * work + sums * sum;
    }
    v.most_words = fmax(v.most_words, words);
  }
  return v;
}

TEST(counts_are_exact) {
  dice d = {.seed = 5};
  for (int i = 0; i < 400; i++) {
    const int ranks = (int)roll(&d, 1, 24);
    dm_problem problem = problem_of(roll_size(&d, 400), roll_size(&d, 400), roll_size(&d, 3000),
                                    (dm_dtype)roll(&d, 0, DM_I8));
    dm_machine machine = roll_machine(&d, ranks);
    const dm_plan plan = planned(&problem, &machine, ranks, roll_wishes(&d, ranks));
    dm_volume v = count_pairs(&plan, machine.ranks_per_node);
    assert_true(plan.received_words == v.most_words);
    assert_true(plan.received_bytes_total == v.total_bytes);
    assert_true(plan.between_nodes_bytes == v.between_nodes);
  }
}

static void close_to(double value, double expected) {
  if (fabs(value - expected) > 1e-9 * fabs(expected)) fail_msg("%.17g, not %.17g", value, expected);
}

/* Layers add residues: M bytes per element, or per part of a complex one. */
TEST(residues_of_layers) {
  static const dm_dtype types[] = {DM_F64, DM_C128, DM_F32};
  static const char *const modes[] = {"f64:int8:16", "f64:int8:16", "f32:int8:9"};
  for (int i = 0; i < 3; i++) {
    dm_plan plan = plan_on_grid(product_problem(320, 160, 640, types[i]), 1, 1, 2);
    ok(product_compute(modes[i], &plan.problem));
    const double bytes = (i == 1 ? 2 : 1) * plan.problem.compute.moduli * 320.0 * 160.0;
    assert_true(dm_plan_volume(&plan, 2).total_bytes == bytes);
  }
}

/* The three cases of the theorem, and its independence of the order of dimensions. */
TEST(bound_has_its_three_cases) {
  close_to(dm_bound_words(1000, 1000, 1000, 8, 0), 3e6 / 4 - 3e6 / 8);
  close_to(dm_bound_words(6000, 6000, 1200000, 8, 0), 36e6 * (1 - 1.0 / 8));
  close_to(dm_bound_words(1200000, 6000, 6000, 64, 0), 36e6 * (1 - 1.0 / 64));
  close_to(dm_bound_words(6000, 1200000, 6000, 64, 0), 36e6 * (1 - 1.0 / 64));
  double flat = 2 * sqrt(1e5 * 1e5 * 5e3 * 5e3 / 64) + 1e10 / 64 - (1e10 + 1e9) / 64;
  close_to(dm_bound_words(100000, 5000, 100000, 64, 0), flat);
  close_to(dm_bound_words(5, 5, 5, 1, 0), 0);
}

TEST(little_memory_raises_the_bound) {
  double free_bound = dm_bound_words(10000, 10000, 10000, 100, 0);
  close_to(dm_bound_words(10000, 10000, 10000, 100, 1e12), free_bound);
  close_to(dm_bound_words(10000, 10000, 10000, 100, 1e4), 2e12 / (100 * 1e2) - 2e4);
  assert_true(dm_bound_words(10000, 10000, 10000, 100, 1e4) > free_bound);
}

RUN_ALL(test_plan_volume)
