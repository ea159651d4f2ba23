/* What plans take of memory, and what is said where they do not fit. */
#include <stdio.h>

#include "plan_cases.h"

#include "core/view.h"
#include "plan/choose.h"
#include "plan/memory_need.h"
#include "plan/tiles.h"

static const int64_t gib = INT64_C(1) << 30;

static dm_status choose(dm_problem problem, const char *machine_text, int ranks, dm_plan *plan) {
  dm_machine machine = machine_of(machine_text);
  problem.home = DM_HOME_SHARES; /* what is in no file must be in memory */
  dm_wishes wishes = {0};
  return dm_plan_choose(&problem, &machine, ranks, &wishes, plan);
}

static void one_cpu_rank_holds_three_matrices(void **state) {
  (void)state;
  dm_plan plan;
  dm_problem problem = problem_of(1000, 2000, 3000, DM_F64);
  problem.home = DM_HOME_SHARES;
  problem.verify = false;
  must(choose(problem, "", 1, &plan));
  assert_int_equal(plan.host_bytes, 8 * (1000 * 3000 + 3000 * 2000 + 1000 * 2000));
  assert_int_equal(plan.device_bytes, 0);
}

static void streaming_adds_two_panels(void **state) {
  (void)state;
  dm_plan plan;
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  problem.home = DM_HOME_SHARES;
  problem.verify = false;
  must(choose(problem, "ranks=4 links=host", 4, &plan));
  assert_true(plan.pm == 2 && plan.pn == 2);
  assert_int_equal(plan.host_bytes, 8 * (2 * 1024 * 4096 + 2048 * 2048 + 2 * 2 * 2048 * plan.kb));
}

/* But a page each for what the ranks tell each other, and what the last panel leaves of its slot.
 */
static void shared_slots_add_nothing(void **state) {
  (void)state;
  dm_plan plan;
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  problem.home = DM_HOME_SHARES;
  problem.verify = false;
  must(choose(problem, "ranks=4", 4, &plan));
  assert_true(plan.pm == 2 && plan.pn == 2 && plan.shared_a && plan.shared_b);
  assert_int_equal(plan.host_bytes,
                   8 * (2 * 1024 * plan.panels * plan.kb + 2048 * 2048) + 2 * 4096);
  assert_true(plan.panels > 1 && plan.panels * plan.kb < 4096 + plan.panels * 64);
  must(choose(problem, "nodes=2 ranks=2", 4, &plan));
  assert_true(plan.pm == 2 && plan.pn == 2 && plan.shared_a && !plan.shared_b);
}

static void need_never_exceeds_what_there_is(void **state) {
  (void)state;
  dice d = {.seed = 7};
  int fits = 0, refused = 0;
  for (int i = 0; i < 500; i++) {
    const int ranks = (int)roll(&d, 1, 16);
    dm_problem problem = problem_of(roll_size(&d, 400000), roll_size(&d, 400000),
                                    roll_size(&d, 400000), (dm_dtype)roll(&d, 0, DM_I8));
    problem.home = i % 2 ? DM_HOME_FILES : DM_HOME_SHARES;
    dm_machine machine = roll_machine(&d, ranks);
    dm_wishes wishes = {.no_advice = i % 16 > 1};
    dm_plan plan;
    machine.host_bytes = roll(&d, 1, 6) * gib;
    if (machine.gpu) machine.device_bytes = roll(&d, 1, 6) * gib;
    dm_status status = dm_plan_choose(&problem, &machine, ranks, &wishes, &plan);
    if (status) {
      refused++;
      must_fail(status, DM_E_FIT, "per rank");
      continue;
    }
    fits++;
    assert_true(plan.host_bytes > 0 && plan.host_bytes <= machine.host_bytes);
    assert_true(plan.device_bytes <= machine.device_bytes || !machine.gpu);
  }
  assert_true(fits > 150 && refused > 50);
}

/* Less device memory: first both shares there, then narrow panels from the host, then C in tiles,
 * which host memory has room for, then a refusal. */
static void shares_leave_the_device_when_they_must(void **state) {
  (void)state;
  dm_plan plan;
  dm_problem problem = problem_of(20000, 20000, 20000, DM_F64);
  must(choose(problem, "gpu=h200", 1, &plan));
  assert_true(plan.a == DM_IN_DEVICE && plan.b == DM_IN_DEVICE && plan.panels == 1);
  must(choose(problem, "gpu=h200 device-memory=8GiB", 1, &plan));
  assert_true((plan.a == DM_IN_HOST) != (plan.b == DM_IN_HOST) && plan.panels > 3);
  must(choose(problem, "gpu=h200 device-memory=4GiB", 1, &plan));
  assert_true(plan.a == DM_IN_HOST && plan.b == DM_IN_HOST && dm_plan_tiles(&plan) == 1);
  must(choose(problem, "gpu=h200 device-memory=1GiB", 1, &plan));
  assert_true(dm_plan_returns(&plan) && dm_plan_tiles(&plan) > 3);
  assert_true(plan.device_bytes <= 1 << 30 && plan.host_bytes >= INT64_C(3) * 8 * 20000 * 20000);
  must_fail(choose(problem, "gpu=h200 device-memory=64MiB", 1, &plan), DM_E_FIT,
            "per rank on the device");
}

/* Rows of a GPU's matrices begin where its kernels read them fast; short ones are not blown up. */
static void rows_on_a_device_are_padded(void **state) {
  (void)state;
  dm_plan plan;
  const dm_problem odd = problem_of(8191, 3, 8191, DM_F64);
  assert_true(dm_device_stride(3, DM_F64) == 4 && dm_device_stride(255, DM_F64) == 256);
  assert_true(dm_device_stride(257, DM_F64) == 272 && dm_device_stride(1025, DM_BF16) == 1088);
  must(choose(odd, "gpu=h200", 1, &plan));
  const dm_memory_need need = dm_plan_memory(&plan);
  assert_int_equal(need.part[DM_DEVICE][DM_MEMORY_A], INT64_C(8) * 8191 * 8192);
  assert_int_equal(need.part[DM_DEVICE][DM_MEMORY_B], 8 * 8191 * 4);
}

/* A kernel that copies its operands: whole panels beside the shares, or narrower ones. */
static void copies_of_a_kernel_count(void **state) {
  (void)state;
  dm_plan plain, copying;
  dm_wishes wishes = {0};
  dm_problem problem = problem_of(8192, 8192, 8192, DM_F64);
  dm_machine machine = machine_of("gpu=h200");
  must(dm_plan_choose(&problem, &machine, 1, &wishes, &plain));
  machine.copies_a = machine.copies_b = 1;
  must(dm_plan_choose(&problem, &machine, 1, &wishes, &copying));
  assert_int_equal(copying.device_bytes - plain.device_bytes, 2 * 8 * 8192 * copying.kb);
  machine.device_bytes = plain.device_bytes;
  must_fail(dm_plan_choose(&problem, &machine, 1, &(dm_wishes){.from_device = true}, &copying),
            DM_E_FIT, "per rank on the device");
}

/* Pieces lie in the slots of whole blocks while these fit, then in a share beside a ring. */
static void blocks_become_rings_when_they_must(void **state) {
  (void)state;
  dm_plan plan;
  dm_problem problem = problem_of(40000, 40000, 40000, DM_F64);
  must(choose(problem, "gpu=h200 gpus=4 links=device", 4, &plan));
  assert_true(plan.in_place && plan.device_links);
  dm_memory_need need = dm_plan_memory(&plan);
  assert_int_equal(need.part[DM_DEVICE][DM_MEMORY_A] + need.part[DM_DEVICE][DM_MEMORY_B], 0);
  assert_true(need.part[DM_DEVICE][DM_MEMORY_RING_A] >= INT64_C(8) * 20000 * 40000);
  must(choose(problem, "gpu=h200 gpus=4 links=device device-memory=14GiB", 4, &plan));
  assert_true(!plan.in_place && plan.device_links);
  need = dm_plan_memory(&plan);
  assert_true(need.part[DM_DEVICE][DM_MEMORY_A] >= INT64_C(8) * 10000 * 40000);
}

/* The number of ranks in the hint is enough. */
static void refusal_says_what_would_fit(void **state) {
  (void)state;
  dm_plan plan;
  dm_problem problem = problem_of(100000, 100000, 100000, DM_F64);
  dm_status status = choose(problem, "ranks=4 memory=2GiB", 4, &plan);
  assert_non_null(status);
  assert_non_null(strstr(status->message, "GiB per rank on the host"));
  assert_non_null(strstr(status->message, "has 2.00 GiB"));
  int enough;
  assert_int_equal(sscanf(status->hint, "%d ranks", &enough), 1);
  assert_in_range(enough, 5, 400);
  dm_status_free(status);
  must(choose(problem, "ranks=4 memory=2GiB", enough, &plan));
  must_fail(choose(problem, "memory=1MiB", 1, &plan), DM_E_FIT, "more ranks alone");
}

static void sizes_beyond_64_bits_are_refused(void **state) {
  (void)state;
  dm_plan plan;
  const int64_t huge = INT64_C(1) << 40;
  must_fail(choose(problem_of(huge, huge, 1, DM_F64), "", 1, &plan), DM_E_FIT, "no 64-bit size");
  must_fail(choose(problem_of(huge, 1, huge, DM_I8), "", 1, &plan), DM_E_FIT, "no 64-bit size");
  must_fail(choose(problem_of(1, huge, huge, DM_I8), "", 1, &plan), DM_E_FIT, "no 64-bit size");
  must(choose(problem_of(huge, 1, 1, DM_F64), "", 1, &plan));
}

static void parts_add_up(void **state) {
  (void)state;
  dm_plan plan;
  must(choose(problem_of(5000, 6000, 7000, DM_C64), "gpu=h200 gpus=6", 6, &plan));
  dm_memory_need need = dm_plan_memory(&plan);
  for (int space = 0; space < 2; space++) {
    int64_t sum = 0;
    for (int part = 0; part < DM_MEMORY_PARTS; part++) sum += need.part[space][part];
    assert_int_equal(sum, need.total[space]);
  }
  assert_int_equal(need.total[DM_HOST], plan.host_bytes);
  assert_int_equal(need.total[DM_DEVICE], plan.device_bytes);
}

TEST_PROGRAM(test_plan_memory) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_cpu_rank_holds_three_matrices),
      cmocka_unit_test(streaming_adds_two_panels),
      cmocka_unit_test(shared_slots_add_nothing),
      cmocka_unit_test(need_never_exceeds_what_there_is),
      cmocka_unit_test(shares_leave_the_device_when_they_must),
      cmocka_unit_test(rows_on_a_device_are_padded),
      cmocka_unit_test(copies_of_a_kernel_count),
      cmocka_unit_test(blocks_become_rings_when_they_must),
      cmocka_unit_test(refusal_says_what_would_fit),
      cmocka_unit_test(sizes_beyond_64_bits_are_refused),
      cmocka_unit_test(parts_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
