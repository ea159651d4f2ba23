/* The memory of plans, and the messages if they do not fit. */
#include "core/checked.h"
#include "core/view.h"
#include "plan/buffers.h"
#include "plan/tiles.h"
#include "plan_cases.h"

static const int64_t gib = INT64_C(1) << 30;

static dm_status choose(dm_problem problem, const char *machine_text, int ranks, dm_plan *plan) {
  dm_machine machine = machine_of(machine_text);
  dm_problem_set_home(&problem, DM_HOME_SHARES); /* data without a file must be in memory */
  dm_wishes wishes = {0};
  return dm_plan_choose(&problem, &machine, ranks, &wishes, plan);
}

TEST(one_cpu_rank_holds_three_matrices) {
  dm_plan plan;
  dm_problem problem = problem_of(1000, 2000, 3000, DM_F64);
  problem.verify = false;
  ok(choose(problem, "", 1, &plan));
  assert_int_equal(plan.host_bytes, 8 * (1000 * 3000 + 3000 * 2000 + 1000 * 2000));
  assert_int_equal(plan.device_bytes, 0);
}

TEST(sums_of_many_rows_are_taken_later) {
  dm_plan plan;
  dm_machine machine = machine_of("");
  dm_problem problem = problem_of(1000000000, 4, 4, DM_F32);
  const dm_wishes wishes = {0};
  dm_problem_set_home(&problem, DM_HOME_FILE);
  problem.verify = true;
  machine.host_bytes = 16 * gib;
  assert_true(dm_plan_verifies_later(&problem, &machine));
  ok(dm_plan_choose(&problem, &machine, 1, &wishes, &plan));
  assert_false(plan.problem.verify);
  assert_true(plan.host_bytes <= machine.host_bytes);
  problem.m = 4000;
  assert_false(dm_plan_verifies_later(&problem, &machine));
}

TEST(streaming_adds_two_panels) {
  dm_plan plan;
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  problem.verify = false;
  ok(choose(problem, "ranks=4 links=host", 4, &plan));
  assert_true(plan.pm == 2 && plan.pn == 2);
  assert_int_equal(plan.host_bytes, 8 * (2 * 1024 * 4096 + 2048 * 2048 + 2 * 2 * 2048 * plan.kb));
}

/* Except for a page per rank for communication, and the unused rest of the last panel's slot. */
TEST(shared_slots_add_nothing) {
  dm_plan plan;
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  problem.verify = false;
  ok(choose(problem, "ranks=4", 4, &plan));
  assert_true(plan.pm == 2 && plan.pn == 2 && plan.shared_a && plan.shared_b);
  assert_int_equal(plan.host_bytes,
                   8 * (2 * 1024 * plan.panels * plan.kb + 2048 * 2048) + 2 * 4096);
  assert_true(plan.panels > 1 && plan.panels * plan.kb < 4096 + plan.panels * 64);
  ok(choose(problem, "nodes=2 ranks=2", 4, &plan));
  assert_true(plan.pm == 2 && plan.pn == 2 && plan.shared_a && !plan.shared_b);
}

TEST(need_never_exceeds_what_there_is) {
  dice d = {.seed = 7};
  int fits = 0, refused = 0;
  for (int i = 0; i < many(160); i++) {
    const int ranks = (int)roll(&d, 1, 16);
    dm_problem problem = problem_of(roll_size(&d, 400000), roll_size(&d, 400000),
                                    roll_size(&d, 400000), (dm_dtype)roll(&d, 0, DM_I8));
    dm_problem_set_home(&problem, i % 2 ? DM_HOME_FILE : DM_HOME_SHARES);
    dm_machine machine = roll_machine(&d, ranks);
    dm_wishes wishes = {.no_advice = i % 16 > 1};
    dm_plan plan;
    machine.host_bytes = roll(&d, 1, 6) * gib;
    if (machine.gpu) machine.device_bytes = roll(&d, 1, 6) * gib;
    dm_status status = dm_plan_choose(&problem, &machine, ranks, &wishes, &plan);
    if (status) {
      refused++;
      fails(status, DM_E_FIT, "per rank");
      continue;
    }
    fits++;
    assert_true(plan.host_bytes > 0 && plan.host_bytes <= machine.host_bytes);
    assert_true(plan.device_bytes <= machine.device_bytes || !machine.gpu);
  }
  assert_true(fits > many(50) && refused > many(15));
}

/* With less device memory: first both shares on the device, then narrow panels from the host, then
 * C in tiles, if host memory has room, then a refusal. */
TEST(shares_leave_the_device_when_they_must) {
  dm_plan plan;
  dm_problem problem = problem_of(20000, 20000, 20000, DM_F64);
  ok(choose(problem, "gpu=h200", 1, &plan));
  assert_true(plan.a == DM_IN_DEVICE && plan.b == DM_IN_DEVICE && plan.panels == 1);
  ok(choose(problem, "gpu=h200 device-memory=8GiB", 1, &plan));
  assert_true((plan.a == DM_IN_HOST) != (plan.b == DM_IN_HOST) && plan.panels > 3);
  ok(choose(problem, "gpu=h200 device-memory=4GiB", 1, &plan));
  assert_true(plan.a == DM_IN_HOST && plan.b == DM_IN_HOST && dm_plan_tiles(&plan) == 1);
  ok(choose(problem, "gpu=h200 device-memory=1GiB", 1, &plan));
  assert_true(dm_plan_returns(&plan) && dm_plan_tiles(&plan) > 3);
  assert_true(plan.device_bytes <= 1 << 30 && plan.host_bytes >= INT64_C(3) * 8 * 20000 * 20000);
  fails(choose(problem, "gpu=h200 device-memory=64MiB", 1, &plan), DM_E_FIT,
        "per rank on the device");
}

/* Rows of matrices on a GPU are aligned for its kernels; short ones are not enlarged. */
TEST(rows_on_a_device_are_padded) {
  dm_plan plan;
  const dm_problem odd = problem_of(8191, 3, 8191, DM_F64);
  assert_true(dm_device_stride(3, DM_F64) == 4 && dm_device_stride(255, DM_F64) == 256);
  assert_true(dm_device_stride(257, DM_F64) == 272 && dm_device_stride(1025, DM_BF16) == 1088);
  ok(choose(odd, "gpu=h200", 1, &plan));
  const dm_memory_need need = dm_plan_memory(&plan);
  assert_int_equal(need.part[DM_DEVICE][DM_MEMORY_A], INT64_C(8) * 8191 * 8192);
  assert_int_equal(need.part[DM_DEVICE][DM_MEMORY_B], 8 * 8191 * 4);
}

/* A kernel that copies its operands needs room for whole panels besides the shares, or narrower
 * panels. */
TEST(copies_of_a_kernel_count) {
  dm_problem problem = problem_of(8192, 8192, 8192, DM_F64);
  dm_machine machine = machine_of("gpu=h200");
  const dm_plan plain = planned(&problem, &machine, 1, (dm_wishes){0});
  machine.copies_a = machine.copies_b = 1;
  dm_plan copying = planned(&problem, &machine, 1, (dm_wishes){0});
  assert_int_equal(copying.device_bytes - plain.device_bytes, 2 * 8 * 8192 * copying.kb);
  machine.device_bytes = plain.device_bytes;
  fails(dm_plan_choose(&problem, &machine, 1, &(dm_wishes){.from_device = true}, &copying),
        DM_E_FIT, "per rank on the device");
}

/* High and low parts of A and B, B's complex numbers in two rows; 16 bytes per row and column. */
TEST(parts_of_split_operands_count) {
  const int64_t m = 700, n = 900, k = 1000;
  for (int64_t parts = 1; parts <= 2; parts++) {
    dm_problem problem = problem_of(m, n, k, parts == 1 ? DM_F32 : DM_C64);
    dm_plan plain, split;
    problem.verify = false;
    ok(choose(problem, "gpu=h200", 1, &plain));
    ok(product_compute("f32:f16", &problem));
    ok(choose(problem, "gpu=h200", 1, &split));
    assert_true(plain.panels == 1 && split.panels == 1);
    const int64_t deep = parts * k, cols = parts * n;
    assert_int_equal(split.device_bytes - plain.device_bytes,
                     4 * (m * dm_round_up(deep, 64) + deep * dm_round_up(cols, 64)) +
                         16 * (m + cols) + 512);
  }
}

/* Pieces use the slots of whole blocks while they fit, then a share besides a ring. */
TEST(blocks_become_rings_when_they_must) {
  dm_plan plan;
  dm_problem problem = problem_of(40000, 40000, 40000, DM_F64);
  ok(choose(problem, "gpu=h200 gpus=4 links=device", 4, &plan));
  assert_true(plan.in_place && plan.device_links);
  dm_memory_need need = dm_plan_memory(&plan);
  assert_int_equal(need.part[DM_DEVICE][DM_MEMORY_A] + need.part[DM_DEVICE][DM_MEMORY_B], 0);
  assert_true(need.part[DM_DEVICE][DM_MEMORY_RING_A] >= INT64_C(8) * 20000 * 40000);
  ok(choose(problem, "gpu=h200 gpus=4 links=device device-memory=14GiB", 4, &plan));
  assert_true(!plan.in_place && plan.device_links);
  need = dm_plan_memory(&plan);
  assert_true(need.part[DM_DEVICE][DM_MEMORY_A] >= INT64_C(8) * 10000 * 40000);
}

/* The number of ranks in the hint suffices. */
TEST(refusal_says_what_would_fit) {
  dm_plan plan;
  dm_problem problem = problem_of(100000, 100000, 100000, DM_F64);
  dm_status status = choose(problem, "ranks=4 memory=2GiB", 4, &plan);
  assert_non_null(status);
  assert_non_null(strstr(status->message, "GiB per rank on the host"));
  assert_non_null(strstr(status->message, "has 2.00 GiB"));
  int enough;
  assert_int_equal(sscanf(status->hint, "%d ranks", &enough), 1);
  assert_true(enough >= 5 && enough <= 400);
  dm_status_free(status);
  ok(choose(problem, "ranks=4 memory=2GiB", enough, &plan));
  fails(choose(problem, "memory=1MiB", 1, &plan), DM_E_FIT, "more ranks alone");
}

TEST(sizes_beyond_64_bits_are_refused) {
  dm_plan plan;
  const int64_t huge = INT64_C(1) << 40;
  fails(choose(problem_of(huge, huge, 1, DM_F64), "", 1, &plan), DM_E_FIT, "overflows 64 bits");
  fails(choose(problem_of(huge, 1, huge, DM_I8), "", 1, &plan), DM_E_FIT, "overflows 64 bits");
  fails(choose(problem_of(1, huge, huge, DM_I8), "", 1, &plan), DM_E_FIT, "overflows 64 bits");
  ok(choose(problem_of(huge, 1, 1, DM_F64), "", 1, &plan));
}

TEST(parts_add_up) {
  dm_plan plan;
  ok(choose(problem_of(5000, 6000, 7000, DM_C64), "gpu=h200 gpus=6", 6, &plan));
  dm_memory_need need = dm_plan_memory(&plan);
  for (int space = 0; space < 2; space++) {
    int64_t sum = 0;
    for (int part = 0; part < DM_MEMORY_PARTS; part++) sum += need.part[space][part];
    assert_int_equal(sum, need.total[space]);
  }
  assert_int_equal(need.total[DM_HOST], plan.host_bytes);
  assert_int_equal(need.total[DM_DEVICE], plan.device_bytes);
}

RUN_ALL(test_plan_memory)
