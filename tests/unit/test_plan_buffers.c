/* The list of a rank's buffers holds all data of the rank's steps, and adds up to the need. */
#include "core/checked.h"
#include "plan/buffers.h"
#include "plan/tiles.h"
#include "plan_cases.h"

static const int64_t mib = 1 << 20;

typedef struct census {
  int plans, shared, streams, rings, kept, layers, ramps, empty;
} census;

static void roll_ramp(dice *d, dm_plan *plan) {
  const int64_t ramp[DM_RAMP] = {DM_PANEL_STEP, 0};
  const int64_t panels = dm_panels_of(plan->problem.k, plan->pk, plan->kb, ramp);
  if (roll(d, 0, 3) || plan->kb < 2 * DM_PANEL_STEP || panels < 2 * plan->pk || plan->border > 0)
    return;
  memcpy(plan->ramp, ramp, sizeof ramp);
  plan->panels = panels;
}

/* A plan for little memory; false: none fits. */
static bool roll_plan(dice *d, int ranks, dm_plan *plan) {
  static const char *const kinds[] = {"", "gpu=h200 links=device", "gpu=h200 links=host",
                                      "links=host"};
  dm_problem problem = problem_of(roll_size(d, 9000), roll_size(d, 9000), roll_size(d, 20000),
                                  (dm_dtype)roll(d, 0, DM_I8));
  dm_problem_set_home(&problem, roll(d, 0, 2) > 0 ? DM_HOME_FILE : (dm_home)roll(d, 0, 1));
  problem.reads_c = dm_plan_has_files(&problem) && roll(d, 0, 1);
  problem.op_a = (dm_op)roll(d, 0, 1);
  dm_machine machine = machine_of(kinds[roll(d, 0, 3)]);
  machine.ranks_per_node = (int)roll(d, 1, ranks);
  machine.nodes = (ranks + machine.ranks_per_node - 1) / machine.ranks_per_node;
  if (machine.gpu && roll(d, 0, 1)) machine.device_bytes = (66 * mib) << roll(d, 0, 2);
  if (roll(d, 0, 1)) machine.host_bytes = (machine.gpu ? 480 : 60) * mib + roll(d, 0, 80) * mib;
  dm_wishes wishes = roll_wishes(d, ranks);
  wishes.no_advice = true;
  dm_status status = dm_plan_choose(&problem, &machine, ranks, &wishes, plan);
  const bool fits = status == DM_OK;
  dm_status_free(status);
  if (fits) roll_ramp(d, plan);
  return fits;
}

static int64_t bytes_of(int64_t rows, int64_t cols, dm_dtype type, dm_space space) {
  const int64_t stride = space == DM_DEVICE ? dm_device_stride(cols, type) : cols;
  return rows * stride * dm_dtype_size(type);
}

static void sizes_are_consistent(const dm_buffers *list) {
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_buffer *b = &list->of[kind];
    assert_true(b->slots >= 0 && b->slot >= 0 && b->bytes >= 0 && b->counted >= 0);
    if (b->where == DM_NOWHERE) assert_true(b->bytes == 0 && b->slots == 0);
    if (b->where != DM_SHARED_MEMORY) assert_int_equal(b->counted, b->bytes);
    assert_true(b->bytes <= dm_round_up(b->slots * b->slot, DM_BUFFER_SLAB_BYTES));
    assert_true(b->slots == 0 || b->bytes >= (b->slots - 1) * b->slot);
  }
}

/* Every piece has a place, every panel a slot, in every tile. */
static void factor_fits(const dm_plan *plan, dm_coords at, dm_matrix x, const dm_buffers *list,
                        census *seen) {
  const dm_route route = dm_plan_route(plan, x);
  const dm_buffer *piece = &list->of[dm_buffer_of(x, route.piece)];
  const dm_buffer *operand = &list->of[dm_buffer_of(x, route.operand)];
  const dm_range layer = dm_plan_layer(plan, at.l);
  const dm_dtype work = plan->problem.work;
  assert_true(piece->where != DM_NOWHERE && operand->where != DM_NOWHERE);
  if (route.gathered) assert_true(list->of[dm_buffer_of(x, route.gathered)].where != DM_NOWHERE);
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++)
    for (int64_t p = layer.begin; p < layer.end; p++) {
      const int64_t q = p - layer.begin, depth = dm_range_size(dm_plan_panel(plan, p));
      const int64_t across =
          dm_range_size(x == DM_A ? dm_plan_rows(plan, t, at.i) : dm_plan_cols(plan, t, at.j));
      const int64_t own = dm_range_size(x == DM_A ? dm_plan_a_share(plan, t, at.i, at.j)
                                                  : dm_plan_b_share(plan, p, at.i));
      const int64_t place = dm_plan_place_of(plan, x, dm_range_size(layer), t, q);
      assert_true(place >= 0 && place < piece->slots);
      const int64_t bytes =
          bytes_of(own, x == DM_A ? depth : across, work, dm_where_space(piece->where));
      assert_true(bytes <= piece->slot && place * piece->slot + bytes <= piece->bytes);
      if (route.operand == DM_SHARE) continue;
      const int64_t slot = dm_route_slot(&route, q, plan->slots - 1);
      assert_true(slot >= 0 && slot < operand->slots);
      assert_true(bytes_of(x == DM_A ? across : depth, x == DM_A ? depth : across, work,
                           dm_where_space(operand->where)) <= operand->slot);
      assert_true(operand->slots * operand->slot <= operand->bytes);
    }
  seen->shared += route.piece == DM_SHARED_SLOTS;
  seen->rings += route.operand == DM_DEVICE_RING && route.piece == DM_SHARE;
  seen->kept += route.piece == DM_DEVICE_RING;
}

static void block_fits(const dm_plan *plan, dm_coords at, const dm_buffers *list) {
  const dm_buffer *blocks = &list->of[DM_BUFFER_BLOCKS], *sum = &list->of[DM_BUFFER_SUM];
  const dm_dtype type = plan->problem.accumulator;
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++) {
    const int64_t rows = dm_range_size(dm_plan_rows(plan, t, at.i));
    const int64_t cols = dm_range_size(dm_plan_cols(plan, t, at.j));
    const int64_t own = dm_range_size(dm_plan_c_share(plan, t, at.i, at.l));
    assert_true(bytes_of(rows, cols, type, plan->gpu ? DM_DEVICE : DM_HOST) <= blocks->slot);
    if (plan->pk > 1 && !plan->device_links)
      assert_true(bytes_of(own, cols, type, DM_HOST) <= sum->bytes);
    if (dm_plan_has_files(&plan->problem) && own > 0) assert_true(cols <= list->stored);
  }
  assert_true(blocks->slots == plan->blocks);
}

static void check_one(dice *d, census *seen) {
  const int ranks = (int)roll(d, 1, 12);
  dm_plan plan;
  if (!roll_plan(d, ranks, &plan)) return;
  const dm_memory_need most = dm_plan_memory(&plan);
  for (int rank = 0; rank < ranks; rank++) {
    const dm_coords at = dm_plan_coords(&plan, rank);
    dm_buffers list;
    dm_plan_buffers(&plan, at, &list);
    sizes_are_consistent(&list);
    int64_t sum[2] = {0, 0};
    for (int kind = 0; kind < DM_BUFFERS; kind++)
      sum[dm_where_space(list.of[kind].where)] += list.of[kind].counted;
    const dm_memory_need need = dm_buffers_need(&list);
    for (int space = 0; space < 2; space++) {
      assert_int_equal(sum[space], need.total[space]);
      assert_true(need.total[space] <= most.total[space]);
    }
    if (at.idle) {
      assert_true(sum[DM_HOST] == 0 && sum[DM_DEVICE] == 0);
      continue;
    }
    factor_fits(&plan, at, DM_A, &list, seen);
    factor_fits(&plan, at, DM_B, &list, seen);
    block_fits(&plan, at, &list);
    seen->empty += dm_range_size(dm_plan_layer(&plan, at.l)) == 0;
  }
  seen->plans++;
  seen->streams += dm_plan_streams(&plan);
  seen->layers += plan.pk > 1;
  seen->ramps += plan.ramp[0] > 0;
}

TEST(lists_hold_what_steps_need) {
  dice d = {.seed = 17};
  census seen = {0};
  for (int i = 0; i < many(6000); i++) check_one(&d, &seen);
  assert_true(seen.plans > many(2000) && seen.shared > many(200) && seen.streams > many(50) &&
              seen.rings > many(200));
  assert_true(seen.kept > many(200) && seen.layers > many(200) && seen.ramps > many(100) &&
              seen.empty > many(20));
}

/* Sizes that overflow 64 bits stay invalid in any sum. */
TEST(overflow_stays) {
  dm_plan plan = whole_plan();
  const int64_t huge = INT64_C(1) << 40;
  plan.problem.m = plan.problem.n = plan.problem.k = huge;
  plan.kb = huge / 2;
  for (int shared = 0; shared < 2; shared++) {
    plan.gpu = !shared;
    plan.shared_a = plan.shared_b = shared;
    const dm_memory_need need = dm_plan_memory(&plan);
    assert_true(need.total[DM_HOST] == INT64_MAX || plan.gpu);
    assert_true(need.total[DM_DEVICE] == INT64_MAX || !plan.gpu);
    dm_buffers list;
    dm_plan_buffers(&plan, (dm_coords){0}, &list);
    assert_int_equal(list.of[DM_BUFFER_BLOCKS].bytes, INT64_MAX);
    for (int kind = 0; kind < DM_BUFFERS; kind++) assert_true(list.of[kind].counted >= 0);
  }
}

/* One buffer, and a name, for each kind. */
TEST(kinds_are_named) {
  for (int kind = 0; kind < DM_BUFFERS; kind++)
    assert_true(strlen(dm_buffer_kinds[(dm_buffer_kind)kind].name) > 4);
  assert_int_equal(dm_buffer_of(DM_A, DM_SHARE), DM_BUFFER_SHARE_A);
  assert_int_equal(dm_buffer_of(DM_B, DM_SHARED_SLOTS), DM_BUFFER_SHARED_B);
}

RUN_ALL(test_plan_buffers)
