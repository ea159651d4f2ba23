/* ranks: 1 2 4 */
/* Whole products whose panels travel from GPU to GPU, with a rank that is late at every step: the
 * same bits as through the host. */
#include "delayed_transport.h"
#include "engine/execute.h"
#include "engine/links.h"
#include "engine/rank_state.h"
#include "gpu_ranks.h"
#include "lib/product_problem.h"
#include "plan/choose.h"

#ifndef LINKS_LATE /* less if the GPU is slow */
#define LINKS_LATE 100
#endif

enum { NOBODY = -1, LATE = LINKS_LATE * 1000 }; /* microseconds */
enum { IN_PLACE, RING, FROM_HOST, B_FROM_HOST };

static dm_status generate(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  (void)context;
  const dm_generator normal = {.kind = DM_NORMAL, .seed = 11 + (uint64_t)matrix};
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 11 + (uint64_t)matrix, .parameter = 8};
  const dm_generator *kind = local->plan->problem.work == DM_I8 ? &whole : &normal;
  return dm_backend_fill(local->backend, dm_rank_piece(local, matrix, panel), kind,
                         dm_rank_piece_rows(local, matrix, panel).begin,
                         dm_rank_piece_cols(local, matrix, panel).begin);
}

static dm_plan plan_of(rank_test *t, dm_problem problem, dm_wishes wishes, bool links) {
  dm_machine machine;
  dm_plan plan;
  dm_machine_stated("H200", 1, &machine);
  machine.nodes = t->run.nodes;
  machine.ranks_per_node = dm_comm_size(t->run.near);
  machine.device_links = links;
  wishes.from_device = links;
  wishes.from_host = !links;
  must(t, dm_plan_choose(&problem, &machine, t->run.ranks, &wishes, &plan));
  return plan;
}

/* The same, with the narrowest possible first panels in each layer. */
static dm_plan led(dm_plan plan) {
  const int64_t second = plan.kb > 2 * DM_PANEL_STEP ? 2 * DM_PANEL_STEP : 0;
  const int64_t ramp[DM_RAMP] = {DM_PANEL_STEP, second};
  const int64_t panels = dm_panels_of(plan.problem.k, plan.pk, plan.kb, ramp);
  if (plan.kb == DM_PANEL_STEP || panels < (1 + dm_plan_ramp_count(ramp)) * plan.pk) return plan;
  memcpy(plan.ramp, ramp, sizeof ramp);
  plan.panels = panels;
  return plan;
}

/* Returns this rank's *BYTES of sums, which the caller frees. */
static void *sums_of(rank_test *t, dm_backend *gpu, const dm_transport_ops *ops,
                     const dm_plan *plan, int late, int64_t *bytes) {
  dm_rank_state local;
  static const dm_source_ops source = {.load = generate};
  const dm_step_calls calls = {.source = {{&source, NULL}, {&source, NULL}}};
  must(t, dm_rank_open(&t->run, plan, gpu, ops, &local));
  delayed_transport slow = delayed(local.transport);
  if (late == t->run.rank) slow.sleep = LATE;
  if (plan->device_links) local.transport = &slow.base;
  /* One call: a rank may multiply while another still fills its share. */
  must(t, dm_execute(&local, DM_LOADS | DM_PRODUCTS, &calls));
  must(t, dm_execute(&local, DM_SUMS, &calls));
  dm_view sums = plan->pk > 1 ? local.c_sum : local.c;
  *bytes = sums.rows * sums.cols * dm_dtype_size(plan->problem.accumulator);
  void *host = memory_of(t, *bytes);
  dm_event copied = 0;
  if (!local.coords.idle && *bytes > 0)
    must(t, dm_backend_copy(gpu, dm_view_row_major(host, sums.dtype, sums.rows, sums.cols), sums,
                            &copied));
  must(t, dm_backend_wait(gpu, copied));
  dm_rank_close(&local);
  return host;
}

/* Pieces that are already in their slots, are copied there, or come from host memory. */
static void compare(rank_test *t, dm_backend *gpu, const dm_transport_ops *ops, dm_problem problem,
                    dm_wishes wishes, bool ramps, int late) {
  int64_t bytes, again;
  const dm_plan even[2] = {plan_of(t, problem, wishes, false), plan_of(t, problem, wishes, true)};
  const dm_plan by_host = ramps ? led(even[false]) : even[false];
  const dm_plan by_links = ramps ? led(even[true]) : even[true];
  CHECK(t, by_links.in_place == (by_links.pm * by_links.pn > 1), "not in place, though it fits");
  void *want = sums_of(t, gpu, NULL, &by_host, NOBODY, &bytes);
  for (int way = IN_PLACE; way <= B_FROM_HOST; way++) {
    dm_plan plan = by_links;
    plan.in_place &= way == IN_PLACE || way == B_FROM_HOST;
    if (way == FROM_HOST) plan.slots = by_host.slots;
    if (way == FROM_HOST) plan.a = DM_IN_HOST;
    if (way == FROM_HOST || way == B_FROM_HOST) plan.b = DM_IN_HOST;
    void *got = sums_of(t, gpu, ops, &plan, late, &again);
    CHECK(t, bytes == again && memcmp(want, got, (size_t)bytes) == 0,
          "%s, %dx%dx%d, %s, way %d, rank %d late: other bits than by way of the host", ops->name,
          plan.pm, plan.pn, plan.pk, dm_dtype_name(problem.work), way, late);
    free(got);
  }
  free(want);
}

static dm_problem problem_of(int64_t m, int64_t n, int64_t k, dm_dtype work) {
  dm_problem problem = product_problem(m, n, k, work);
  problem.verify = false;
  return problem;
}

static void every_grid(rank_test *t, dm_backend *gpu, const dm_transport_ops *ops) {
  static const dm_dtype types[] = {DM_F64, DM_BF16, DM_C128, DM_I8, DM_F32};
  const int ranks = t->run.ranks;
  int turn = 0;
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks; pk++, turn++) {
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .panel = 64 * (1 + turn % 3)};
        wishes.no_overlap = turn % 5 == 4;
        const int64_t odd = 1 + 2 * (int64_t)(dm_mix((uint64_t)turn) % 97);
        const dm_problem problem =
            problem_of(100 + odd, 260 + 3 * odd, 64 * 5 + odd, types[turn % 5]);
        const int late = pm * pn > 1 && turn % 2 == 0 ? turn % ranks : NOBODY;
        compare(t, gpu, ops, problem, wishes, turn % 4 >= 2, late);
      }
}

/* Each rank in turn is late, so that all others run ahead of it. */
static void every_rank_late(rank_test *t, dm_backend *gpu, const dm_transport_ops *ops) {
  for (int late = 0; late < t->run.ranks; late++)
    compare(t, gpu, ops, problem_of(301, 205, 64 * 4 + 7, DM_F64),
            (dm_wishes){.pm = t->run.ranks > 2 ? 2 : 1,
                        .pn = t->run.ranks > 2 ? 2 : t->run.ranks,
                        .pk = 1,
                        .panel = 64},
            false, late);
}

static void prove_and_multiply(rank_test *t, dm_backend *gpu, const dm_transport_ops *ops) {
  dm_link_rates rates;
  must(t, dm_links_self_test(&t->run, gpu, ops, &rates));
  CHECK(t, dm_comm_size(t->run.near) == 1 || rates.inside > 0.0, "%s: nothing was timed",
        ops->name);
  CHECK(t, t->run.nodes == 1 || rates.between > 0.0, "%s: nothing was timed", ops->name);
  every_grid(t, gpu, ops);
  every_rank_late(t, gpu, ops);
}

/* All transports available for NODES nodes, which are pretended. NCCL needs a GPU for each rank. */
static void all_transports(gpu_test *t, int nodes, const char *name) {
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    if (!(*ops)->device_memory || (*ops)->not_built) continue;
    if (strstr((*ops)->name, "nccl") && t->device.sharing > 1) continue;
    if (name && strcmp(name, (*ops)->name) != 0) continue;
    if (nodes > 1 ? (*ops)->one_node : (*ops)->several_nodes) continue;
    prove_and_multiply(&t->base, t->gpu, *ops);
  }
}

/* Tests the named transport, or all. */
TEST_PROGRAM(test_links_gpu) {
  gpu_test t;
  if (!gpu_test_start(&t, false)) return SKIPPED;
  for (int nodes = 1; nodes <= dm_min(2, t.base.run.ranks); nodes++) {
    must(&t.base, dm_run_pretend_nodes(&t.base.run, nodes));
    all_transports(&t, nodes, argc > 1 ? argv[1] : NULL);
  }
  return gpu_test_end(&t);
}
