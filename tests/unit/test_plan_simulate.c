/* The chosen plans multiply the matrices, for thousands of random problems. */
#include "plan/partition.h"
#include "plan_cases.h"
#include "steps/simulate.h"

typedef struct census {
  int plans, layers, empty_layers, uploads, device_rings, idle, boxes, reproducible, thin, narrow,
      led;
} census;

static void count(const dm_plan *p, const dm_machine *machine, census *seen) {
  seen->plans++;
  seen->layers += p->pk > 1;
  seen->empty_layers += p->pk > p->panels;
  seen->uploads += dm_plan_uploads_a(p) && dm_plan_fetches_a(p);
  seen->device_rings += p->gpu && p->device_links && dm_plan_fetches_b(p);
  seen->idle += dm_plan_used(p) < p->ranks;
  seen->boxes += p->qm * p->qn * p->qk > 1 && machine->nodes > 1;
  seen->reproducible += p->reproducible;
  seen->thin += p->problem.k == 1;
  seen->led += p->ramp[0] > 0;
  seen->narrow += p->pm > p->problem.m || p->pn > p->problem.n;
}

/* Gives some plans little device memory, so that shares move to the host and panels become narrow.
 */
static void roll_memory(dice *d, const dm_problem *p, dm_machine *machine) {
  machine->host_bytes = 0;
  if (!machine->gpu || roll(d, 0, 2)) return;
  machine->device_bytes = (128 << 20) + (p->m * p->n + p->n * p->k) * 8 * roll(d, 1, 3) / 2;
}

/* The planner only uses ramps for larger products. */
static void roll_ramp(dice *d, dm_plan *plan) {
  const int64_t ramp[DM_RAMP] = {DM_PANEL_STEP, DM_PANEL_STEP * roll(d, 0, 2)};
  const int64_t panels = dm_panels_of(plan->problem.k, plan->pk, plan->kb, ramp);
  if (roll(d, 0, 1) || ramp[1] > plan->kb || panels < (1 + dm_plan_ramp_count(ramp)) * plan->pk ||
      plan->reproducible)
    return;
  memcpy(plan->ramp, ramp, sizeof ramp);
  plan->panels = panels;
}

static void check_one(dice *d, census *seen) {
  const int ranks = (int)roll(d, 1, 24);
  dm_dtype work = (dm_dtype)roll(d, 0, DM_I8);
  dm_problem problem = problem_of(roll_size(d, 900), roll_size(d, 900), roll_size(d, 6000), work);
  dm_machine machine = roll_machine(d, ranks);
  dm_wishes wishes = roll_wishes(d, ranks);
  dm_plan plan;
  roll_memory(d, &problem, &machine);
  dm_status status = dm_plan_choose(&problem, &machine, ranks, &wishes, &plan);
  if (status && status->code == DM_E_FIT) {
    dm_status_free(status);
    return;
  }
  ok(status);
  roll_ramp(d, &plan);
  count(&plan, &machine, seen);
  ok(dm_plan_simulate(&plan));
}

TEST(random_plans_multiply) {
  dice d = {.seed = 3};
  census seen = {0};
  for (int i = 0; i < many(4000); i++) check_one(&d, &seen);
  assert_true(seen.plans > many(3000));
  assert_true(seen.layers > many(100));
  assert_true(seen.empty_layers > many(20));
  assert_true(seen.uploads > many(100));
  assert_true(seen.device_rings > many(100));
  assert_true(seen.idle > many(100));
  assert_true(seen.boxes > many(50));
  assert_true(seen.reproducible > many(100));
  assert_true(seen.thin > many(10));
  assert_true(seen.led > many(100));
  assert_true(seen.narrow > many(50));
}

/* More slots than the planner uses: the steps must be correct for any number. */
TEST(any_number_of_slots) {
  for (int slots = 1; slots <= 5; slots++)
    for (int k = 1; k <= 10; k++)
      for (int variant = 0; variant < 32; variant++) {
        dm_plan plan = plan_on_grid(problem_of(50, 60, k * 64 - 7, DM_F64), 2, 3, 2);
        plan.slots = slots;
        plan.overlap = variant & 1;
        plan.gpu = variant & 2;
        plan.device_links = plan.gpu && variant & 4;
        plan.a = plan.b = plan.device_links ? DM_IN_DEVICE : DM_IN_HOST;
        if (variant & 16) plan.b = DM_IN_HOST;
        if (variant & 8) plan.pm = 1, plan.pn = 6;
        ok(dm_plan_simulate(&plan));
      }
}

/* Shares in files, with any held part, in any number of tiles, of one entry or of a batch. */
TEST(any_tiles) {
  dice d = {.seed = 11};
  int streams = 0, held = 0, lines = 0, layers = 0, first = 0, batches = 0;
  for (int i = 0; i < many(3000); i++) {
    static const dm_residence where[] = {DM_IN_HOST, DM_IN_FILE};
    const int pm = (int)roll(&d, 1, 3), pn = (int)roll(&d, 1, 3), pk = (int)roll(&d, 1, 3);
    dm_plan plan = plan_on_grid(
        problem_of(roll(&d, 6, 60), roll(&d, 6, 60), roll_size(&d, 12 * DM_PANEL_STEP), DM_F64), pm,
        pn, pk);
    plan.slots = (int)roll(&d, 1, 3);
    const int64_t entries = roll(&d, 0, 1) ? roll(&d, 2, 4) : 1;
    plan.problem.batch = entries;
    plan.problem.m *= entries;
    plan.tiles_m = entries * roll(&d, 1, 4);
    plan.tiles_n = roll(&d, 1, 4);
    plan.blocks = pk == 1 ? (int)roll(&d, 1, 2) : 1;
    plan.down = roll(&d, 0, 1);
    plan.reads = (int)roll(&d, 1, 4);
    plan.overlap = roll(&d, 0, 3) > 0;
    plan.gpu = roll(&d, 0, 1);
    plan.a = where[roll(&d, 0, 1)];
    plan.b = where[roll(&d, 0, 1)];
    plan.problem.compute.finish = (dm_finish_place)roll(&d, DM_NO_FINISH, DM_FINISH_LAST);
    plan.reads += plan.slots - 1;
    plan.device_links = plan.gpu && roll(&d, 0, 1);
    plan.problem.verify = roll(&d, 0, 1);
    plan.held_a = roll(&d, 0, dm_range_size(dm_plan_layer(&plan, 0)));
    plan.held_b = roll(&d, 0, dm_range_size(dm_plan_layer(&plan, 0)));
    dm_todo *todo = roll(&d, 0, 2) ? roll_todo(&d, &plan) : NULL;
    streams += dm_plan_streams(&plan);
    held += dm_plan_streams(&plan) && plan.held_a > 0 && plan.held_b > 0;
    lines += plan.tiles_m > 2 && plan.tiles_n > 2;
    batches += entries > 1 && plan.tiles_m > entries;
    layers += plan.pk > 1 && plan.tiles_m * plan.tiles_n > 1;
    first += uploads_first(&plan, DM_A);
    ok(dm_plan_simulate(&plan));
    dm_todo_free(todo);
  }
  assert_true(streams > many(1000) && held > many(500) && lines > many(500) && layers > many(500) &&
              first > many(400) && batches > many(500));
}

/* The last panels in strips, if gathered panels stay. */
TEST(any_strips) {
  dice d = {.seed = 13};
  int layers = 0, gathered = 0, all_kept = 0;
  for (int i = 0; i < many(2000); i++) {
    const int pm = (int)roll(&d, 1, 3), pn = (int)roll(&d, 1, 3), pk = (int)roll(&d, 1, 3);
    dm_plan plan = plan_on_grid(
        problem_of(roll(&d, 6, 60), roll(&d, 6, 60), roll(&d, pk, 10) * DM_PANEL_STEP - 5, DM_F64),
        pm, pn, pk);
    plan.slots = (int)roll(&d, 1, 4);
    plan.border = roll(&d, 0, 1) * 4;
    plan.overlap = roll(&d, 0, 3) > 0;
    plan.gpu = roll(&d, 0, 1);
    plan.in_place = plan.device_links = plan.gpu;
    plan.a = plan.b = plan.gpu ? DM_IN_DEVICE : DM_IN_HOST;
    plan.shared_a = !plan.gpu && pn > 1;
    plan.shared_b = !plan.gpu && pm > 1;
    plan.problem.compute.finish = (dm_finish_place)roll(&d, DM_NO_FINISH, DM_FINISH_LAST);
    plan.strips = (int)roll(&d, 1, 6);
    plan.stretch = roll(&d, 1, dm_range_size(dm_plan_layer(&plan, pk - 1)));
    layers += pk > 1;
    gathered += pm > 1 && pn > 1;
    all_kept += plan.stretch == dm_range_size(dm_plan_layer(&plan, 0));
    dm_todo *todo = roll(&d, 0, 5) ? NULL : roll_todo(&d, &plan);
    ok(dm_plan_simulate(&plan));
    dm_todo_free(todo);
  }
  assert_true(layers > many(800) && gathered > many(500) && all_kept > many(200));
}

RUN_ALL(test_plan_simulate)
