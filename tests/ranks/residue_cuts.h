/* residue_cuts: a product by residues, divided at random: ranks, grid, panels, layers, tiles,
 * strips, shares in memory or in the file. Every element must have the bits of the exact sum. */
#ifndef DM_TESTS_RESIDUE_CUTS_H
#define DM_TESTS_RESIDUE_CUTS_H

#include "engine/endpoint.h"
#include "exact_residues.h"
#include "plan/buffers.h"
#include "stored_product.h"

typedef struct cut_job {
  product *p;
  uint64_t draw;
} cut_job;

/* ---- A and B ---- */

static inline bool cut_has_lines(const void *state, const dm_rank_state *local, dm_matrix matrix) {
  (void)local;
  return ((const cut_job *)state)->draw >> (50 + matrix) & 1;
}

/* Passes whole rows or columns, or parts of all; each rank has some, in pieces. */
static inline dm_status cut_pass(void *state, dm_rank_state *local, dm_matrix matrix,
                                 dm_piece_taker *take, void *context) {
  enum { PIECES = 3 };
  cut_job *j = state;
  const dm_problem *problem = &local->plan->problem;
  const bool by_row = cut_has_lines(state, local, matrix) == (matrix == DM_A);
  const int64_t m = matrix == DM_A ? problem->m : problem->k;
  const int64_t n = matrix == DM_A ? problem->k : problem->n;
  for (int i = 0; i < PIECES; i++) {
    const dm_range part = dm_split(by_row ? m : n, PIECES * (int64_t)local->run->ranks,
                                   PIECES * (int64_t)local->run->rank + i, 1);
    const dm_range rows = by_row ? part : (dm_range){0, m}, cols = by_row ? (dm_range){0, n} : part;
    const dm_view piece =
        generated(j->p->test, matrix == DM_A ? &j->p->a : &j->p->b, problem->work, rows, cols);
    dm_status status = take(context, local->backend, piece, 0, rows.begin, cols.begin);
    free(piece.base);
    DM_TRY(status);
  }
  return DM_OK;
}

/* ---- one product ---- */

static inline int64_t drawn(uint64_t bits, int shift, int64_t below) {
  return (int64_t)(bits >> shift & 255) * below / 256;
}

static inline dm_wishes cut_wishes(uint64_t bits, int ranks) {
  dm_wishes wishes = {.panel = 64 * (1 + drawn(bits, 0, 5)), .no_overlap = drawn(bits, 8, 4) == 0};
  wishes.pk = 1 + (int)drawn(bits, 16, ranks);
  wishes.pm = 1 + (int)drawn(bits, 24, ranks / wishes.pk);
  wishes.pn = 1 + (int)drawn(bits, 32, ranks / wishes.pk / wishes.pm);
  if (drawn(bits, 40, 2) == 0) return wishes;
  wishes.tiles_m = 1 + drawn(bits, 44, 3);
  wishes.tiles_n = 1 + drawn(bits, 36, 3);
  wishes.down = drawn(bits, 20, 2);
  return wishes;
}

/* Panels of A or B, or both, pass through slots, except for the first ones. */
static inline void cut_to_file(dm_plan *plan, uint64_t bits) {
  const int64_t layer = dm_range_size(dm_plan_layer(plan, plan->pk - 1));
  const int which = 1 + (int)drawn(bits, 12, 3);
  plan->in_place = plan->shared_a = plan->shared_b = false;
  plan->slots = plan->overlap ? (int)dm_min(2, dm_range_size(dm_plan_layer(plan, 0))) : 1;
  plan->reads = plan->slots + (int)drawn(bits, 28, 2);
  plan->a = which & 1 ? DM_IN_FILE : DM_IN_HOST;
  plan->b = which & 2 ? DM_IN_FILE : DM_IN_HOST;
  plan->held_a = which & 1 ? drawn(bits, 6, layer + 1) : 0;
  plan->held_b = which & 2 ? drawn(bits, 14, layer + 1) : 0;
  plan->device_links &= dm_plan_used(plan) > 1;
}

static inline void cut_run(product *p, uint64_t draw) {
  static const dm_source_ops ops = {.pass = cut_pass, .has_lines = cut_has_lines};
  double *expected = expected_of(p->test, p);
  cut_job j = {.p = p, .draw = draw};
  const dm_source sources[2] = {{&ops, &j}, {&ops, &j}};
  storage s = {.p = p, .take = same_bits, .context = expected, .sources = sources};
  storage_run(&s);
  free(expected);
  product_close(p);
}

/* Product number TURN, on MACHINE with OPS. */
static inline void cut_at_random(rank_test *test, const dm_machine *machine,
                                 const dm_backend_ops *ops, const dm_transport_ops *transport,
                                 uint64_t turn) {
  static const char *const choices[] = {"f64:int8:15", "f64:int8:14", "f64:int8:13"};
  static const dm_kind kinds[] = {DM_UNIFORM, DM_HILBERT, DM_INTEGER};
  const uint64_t bits = dm_mix(turn + 1000 * (uint64_t)test->run.ranks);
  const dm_dtype work = turn % 3 == 2 ? DM_C128 : DM_F64;
  dm_problem problem = product_problem(21 + drawn(bits, 2, 40), 17 + drawn(bits, 10, 40),
                                       64 + drawn(bits, 18, 500), work);
  dm_problem_set_home(&problem, DM_HOME_FILE);
  must(test, product_compute(choices[turn % 3], &problem));
  const dm_wishes wishes = cut_wishes(dm_mix(bits), test->run.ranks);
  const dm_kind kind = kinds[turn % 3];
  const double parameter = kind == DM_INTEGER ? 8.0 : 0.1;
  product p = {.test = test,
               .a = {.kind = kind, .seed = 2 * turn, .parameter = parameter},
               .b = {.kind = kind, .seed = 2 * turn + 1, .parameter = parameter},
               .transport = transport};
  must(test, dm_plan_choose(&problem, machine, test->run.ranks, &wishes, &p.plan));
  if (turn % 2) cut_to_file(&p.plan, dm_mix(bits + 1));
  if (p.plan.gpu && !p.plan.device_links) p.transport = NULL; /* through host memory */
  const dm_route a = dm_plan_route(&p.plan, DM_A), b = dm_plan_route(&p.plan, DM_B);
  const bool stays = dm_route_keeps_panels(&a) && dm_route_keeps_panels(&b) &&
                     dm_range_size(dm_plan_layer(&p.plan, p.plan.pk - 1)) > 0;
  if (turn % 2 == 0 && stays && p.plan.overlap && dm_plan_tiles(&p.plan) == 1) {
    p.plan.strips = 2 + (int)(turn / 2 % 2);
    p.plan.stretch = 1;
  } else {
    p.plan.strips = 0, p.plan.stretch = 0;
  }
  const dm_backend_config config = {.local_rank = test->run.local_rank,
                                    .local_ranks = test->run.local_ranks,
                                    .threads = 1,
                                    .compute = &p.plan.problem.compute,
                                    .kernel = "auto"};
  must(test, dm_backend_open(ops, &config, &p.backend));
  cut_run(&p, bits);
}

#endif
