/* The planner compared with brute force and known optima, and its wishes. */
#include "plan/complete.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"
#include "plan_cases.h"
#include "steps/simulate.h"

/* Least cost over all grids, completed one by one; INFINITY if none fits. */
static double brute_force(const dm_question *q) {
  double least = INFINITY;
  for (int pm = 1; pm <= q->ranks; pm++)
    for (int pn = 1; pm * pn <= q->ranks; pn++)
      for (int pk = 1; pm * pn * pk <= q->ranks; pk++) {
        const dm_wishes *w = q->wishes;
        bool wished = (!w->pm || pm == w->pm) && (!w->pn || pn == w->pn) && (!w->pk || pk == w->pk);
        dm_plan plan;
        if (!wished || (w->reproducible && pk > 1)) continue;
        if (dm_plan_complete(q, pm, pn, pk, &plan) == DM_COMPLETE)
          least = fmin(least, dm_plan_price(&plan));
      }
  return least;
}

/* Pruning by lower bounds loses nothing: dimensions are large enough to make every grid a
 * candidate. */
TEST(choice_is_the_best_of_all) {
  dice d = {.seed = 6};
  for (int i = 0; i < many(600); i++) {
    const int ranks = (int)roll(&d, 1, 40);
    dm_problem problem = problem_of(roll(&d, 20000, 60000), roll(&d, 20000, 60000),
                                    roll(&d, 20000, 60000), (dm_dtype)roll(&d, 0, DM_I8));
    dm_problem_set_home(&problem, roll(&d, 0, 1) ? DM_HOME_FILE : DM_HOME_SHARES);
    if (roll(&d, 0, 1)) problem.op_a = problem.op_b = DM_OP_T;
    if (roll(&d, 0, 2) == 0) problem.chunk_a = problem.chunk_b = roll(&d, 1, 40) << 10;
    dm_machine machine = roll_machine(&d, ranks);
    dm_wishes wishes = roll_wishes(&d, ranks);
    dm_question q = {&problem, &machine, &wishes, ranks, false};
    if (roll(&d, 0, 1)) machine.host_bytes = roll(&d, 1, 64) << 30;
    dm_plan plan;
    dm_status status = dm_plan_choose(&problem, &machine, ranks, &wishes, &plan);
    double least = brute_force(&q);
    if (status) {
      assert_int_equal(status->code, DM_E_FIT);
      assert_true(isinf(least));
      dm_status_free(status);
    } else if (dm_plan_price(&plan) > least * (1 + 1e-5)) {
      fail_msg("case %d: %g s, but %g s is possible", i, dm_plan_price(&plan), least);
    }
  }
}

/* A batch has a plan whose tiles are parts of entries, and whose forecast is that of all of them.
 */
TEST(batches_have_plans) {
  dice d = {.seed = 21};
  for (int i = 0; i < many(200); i++) {
    const int ranks = (int)roll(&d, 1, 12);
    const int64_t entries = roll(&d, 2, 300), m = roll(&d, 1, 500);
    dm_problem problem = problem_of(entries * m, roll(&d, 1, 500), roll(&d, 1, 500), DM_F64);
    dm_problem one = problem;
    problem.batch = entries;
    one.m = m;
    dm_problem_set_home(&problem, DM_HOME_FILE);
    dm_problem_set_home(&one, DM_HOME_FILE);
    dm_machine machine = roll_machine(&d, ranks);
    dm_wishes wishes = {.reproducible = roll(&d, 0, 3) == 0};
    dm_plan plan, single;
    machine.host_bytes = 1 << 30;
    ok(dm_plan_choose(&problem, &machine, ranks, &wishes, &plan));
    ok(dm_plan_choose(&one, &machine, ranks, &wishes, &single));
    if (!dm_plan_has_runs(&plan)) assert_int_equal(plan.tiles_m % entries, 0);
    assert_true(plan.file_words >= (double)entries * single.file_words * (1 - 1e-9));
    if (dm_plan_tiles(&plan) * dm_plan_used(&plan) < 2000) ok(dm_plan_simulate(&plan));
  }
}

/* Many small entries on a single CPU rank: each tile is a run of them, within any memory; a run
 * that was interrupted goes on with the same runs, also on more ranks. */
TEST(small_entries_are_runs) {
  dice d = {.seed = 22};
  for (int i = 0; i < many(100); i++) {
    const int64_t entries = roll(&d, 256, 5000), rows = roll(&d, 1, 60);
    dm_problem problem = problem_of(entries * rows, roll(&d, 1, 60), roll(&d, 1, 500), DM_F64);
    dm_machine machine = machine_of("cores=2");
    dm_wishes wishes = {.tile_seconds = 60};
    dm_plan plan, again;
    problem.batch = entries;
    problem.op_b = roll(&d, 0, 1) ? DM_OP_T : DM_OP_N;
    problem.verify = roll(&d, 0, 1);
    dm_problem_set_home(&problem, DM_HOME_FILE);
    machine.host_bytes = roll(&d, 0, 1) ? 0 : 300 << 20;
    machine.process_bytes = 20 << 20;
    machine.inputs_cached = roll(&d, 0, 1);
    plan = planned(&problem, &machine, 1, wishes);
    assert_true(dm_plan_has_runs(&plan) && plan.panels == 1);
    assert_true(dm_plan_pressure(&plan, &machine) <= 1);
    ok(dm_plan_simulate(&plan));
    wishes.tiles_m = plan.tiles_m;
    wishes.tiles_n = plan.tiles_n;
    again = planned(&problem, &machine, 3, wishes);
    assert_int_equal(again.tiles_m, plan.tiles_m);
    assert_int_equal(dm_plan_used(&again), 1);
    ok(dm_plan_simulate(&again));
    wishes.pm = wishes.pn = wishes.pk = 1;
    wishes.panel = plan.kb;
    again = planned(&problem, &machine, 1, wishes);
    assert_true(again.tiles_m == plan.tiles_m && again.kb == plan.kb);
  }
}

/* The machine of a published comparison (COSMA, CA3DMM): 60 TFLOP/s, 48 GB/s, no overlap. */
static dm_plan compared(int64_t m, int64_t n, int64_t k, int ranks) {
  char text[200];
  snprintf(text, sizeof text,
           "gpu=h200 links=device gflops=60000 link=48 network=48 latency=0.001 copy=1e9 "
           "upload=1e9 nodes=%d",
           ranks);
  dm_problem problem = problem_of(m, n, k, DM_F64);
  dm_machine machine = machine_of(text);
  dm_problem_set_home(&problem, DM_HOME_SHARES);
  return planned(&problem, &machine, ranks, (dm_wishes){.no_overlap = true});
}

static void is_grid(dm_plan plan, int pm, int pn, int pk, double most_ratio) {
  if (plan.pm != pm || plan.pn != pn || plan.pk != pk)
    fail_msg("%dx%dx%d, not %dx%dx%d", plan.pm, plan.pn, plan.pk, pm, pn, pk);
  assert_true(plan.received_words <= plan.bound_words * most_ratio);
}

TEST(known_optima) {
  is_grid(compared(50000, 50000, 50000, 8), 2, 2, 2, 1.005);
  is_grid(compared(50000, 50000, 50000, 64), 4, 4, 4, 1.005);
  is_grid(compared(50000, 50000, 50000, 127), 5, 5, 5, 1.02);
  is_grid(compared(6000, 6000, 1200000, 8), 1, 1, 8, 1.005);
  is_grid(compared(6000, 6000, 1200000, 64), 1, 1, 64, 1.005);
  is_grid(compared(1200000, 6000, 6000, 64), 64, 1, 1, 1.005);
  is_grid(compared(100000, 100000, 5000, 64), 8, 8, 1, 1.005);
  dm_plan seven = compared(50000, 50000, 50000, 7);
  assert_int_equal(dm_plan_used(&seven), 6);
}

static dm_status wish_at(dm_home home, dm_wishes wishes, const char *machine_text, dm_plan *plan) {
  dm_problem problem = problem_of(1000, 1000, 5000, DM_F64);
  dm_machine machine = machine_of(machine_text);
  dm_problem_set_home(&problem, home);
  return dm_plan_choose(&problem, &machine, 4, &wishes, plan);
}

static dm_status wish(dm_wishes wishes, const char *machine_text, dm_plan *plan) {
  return wish_at(DM_HOME_FILE, wishes, machine_text, plan);
}

TEST(wishes_are_granted) {
  dm_plan plan;
  ok(wish((dm_wishes){.pm = 3, .pn = 1, .pk = 1, .panel = 192}, "ranks=4", &plan));
  assert_int_equal(plan.pm, 3);
  assert_int_equal(plan.kb, 192);
  ok(wish((dm_wishes){.reproducible = true}, "ranks=4", &plan));
  assert_true(plan.kb == DM_REPRODUCIBLE_PANEL && plan.border == DM_BORDER && plan.pk == 1);
  ok(wish((dm_wishes){.pm = 1, .pn = 1, .pk = 1, .no_overlap = true}, "gpu=h200", &plan));
  assert_true(plan.panels == 1 && plan.a == DM_IN_DEVICE && plan.b == DM_IN_DEVICE);
  ok(wish((dm_wishes){.pm = 2, .pn = 2, .pk = 1}, "gpu=h200 gpus=4 links=host", &plan));
  assert_true(plan.a == DM_IN_HOST && plan.b == DM_IN_HOST);
  ok(wish((dm_wishes){.pm = 4, .pn = 1, .pk = 1}, "gpu=h200 gpus=4 links=host", &plan));
  assert_true(plan.a == DM_IN_DEVICE && plan.b == DM_IN_HOST);
  ok(wish((dm_wishes){.from_device = true}, "gpu=h200 gpus=4 links=device", &plan));
  assert_true(plan.device_links && plan.a == DM_IN_DEVICE && plan.b == DM_IN_DEVICE);
  for (int links = 0; links < 2; links++) {
    const char *machine = links ? "gpu=h200 gpus=4 links=device" : "gpu=h200 gpus=4 links=host";
    ok(wish((dm_wishes){.from_host = true, .pm = 2, .pn = 2, .pk = 1}, machine, &plan));
    assert_true(plan.device_links == links && plan.a == DM_IN_HOST && plan.b == DM_IN_HOST);
    assert_true(uploads_first(&plan, DM_A) == links);
    ok(wish((dm_wishes){.from_host = true, .pm = 1, .pn = 1, .pk = 1}, machine, &plan));
    assert_true(plan.a == DM_IN_HOST && plan.b == DM_IN_HOST);
  }
  const dm_wishes square = {.pm = 2, .pn = 2, .pk = 1};
  ok(wish_at(DM_HOME_HOST, square, "gpu=h200 gpus=4 links=device", &plan));
  assert_true(dm_plan_brings(&plan, DM_A) && dm_plan_brings(&plan, DM_B) && plan.in_place);
  assert_true(plan.forecast.upload > 0 && plan.forecast.write > 0 && plan.host_bytes > 0);
  ok(wish_at(DM_HOME_HOST, square, "gpu=h200 gpus=4 links=host", &plan));
  assert_true(!dm_plan_brings(&plan, DM_A) && plan.a == DM_IN_HOST && plan.b == DM_IN_HOST);
  ok(wish_at(DM_HOME_HOST, square, "ranks=4", &plan));
  assert_true(!dm_plan_brings(&plan, DM_A) && !dm_plan_returns(&plan));
}

/* Requested options are kept even if memory is short, and pieces that are uploaded before gathering
 * use less PCIe. */
TEST(tiles_travel_by_links) {
  const dm_wishes wishes = {.pm = 2, .pn = 2, .pk = 1, .by_links = true};
  dm_problem problem = problem_of(30000, 30000, 30000, DM_F64);
  dm_machine machine = machine_of("gpu=h200 gpus=4 links=device");
  machine.device_bytes = (int64_t)1 << 30;
  dm_plan plan = planned(&problem, &machine, 4, wishes);
  assert_true(plan.tiles_m * plan.tiles_n > 1 && plan.device_links);
  assert_true(uploads_first(&plan, DM_A) && uploads_first(&plan, DM_B));
  assert_true(plan.device_bytes <= machine.device_bytes);
  dm_plan by_host = plan;
  by_host.device_links = false;
  assert_true(plan.forecast.upload < 0.6 * dm_plan_forecast(&by_host, &machine).upload);
  machine.device_links = false;
  plan = planned(&problem, &machine, 4, wishes);
  assert_true(!plan.device_links && plan.tiles_m * plan.tiles_n > 1);
}

TEST(impossible_wishes_are_refused) {
  dm_plan plan;
  fails(wish((dm_wishes){.pm = 5}, "ranks=4", &plan), DM_E_USAGE, "more than the 4 ranks");
  fails(wish((dm_wishes){.pm = 1 << 30, .pn = 1 << 30, .pk = 16}, "ranks=4", &plan), DM_E_USAGE,
        "more than");
  fails(wish((dm_wishes){.panel = 100}, "ranks=4", &plan), DM_E_USAGE, "multiple of 64");
  fails(wish((dm_wishes){.reproducible = true, .pk = 2}, "ranks=4", &plan), DM_E_USAGE,
        "one layer");
  fails(wish((dm_wishes){.from_device = true}, "ranks=4", &plan), DM_E_USAGE, "no GPU");
  fails(wish((dm_wishes){.from_device = true, .pm = 4}, "gpu=h200 gpus=4 links=host", &plan),
        DM_E_USAGE, "use --from host, or one rank");
}

/* The choice from MOST GPUs, each as WORDS say, where C's pages are cleared at PAGES bytes per
 * second and each GPU after the first takes NEXT_START seconds to start (0: as stated). */
static int choose_gpus(const dm_problem *p, const char *words, int most, double pages,
                       double next_start, double *seconds) {
  dm_machine machines[8];
  for (int i = 0; i < most; i++) {
    machines[i] = machine_of(words);
    machines[i].ranks_per_node = i + 1;
    machines[i].pages_now = pages;
    if (next_start > 0) machines[i].next_gpu_start = next_start;
  }
  return dm_plan_gpus(p, machines, most, &(dm_wishes){0}, seconds);
}

static int gpus_with_pages(const char *words, int64_t size, int most, double pages,
                           double *seconds) {
  const dm_problem p = problem_of(size, size, size, DM_F64);
  return choose_gpus(&p, words, most, pages, 0, seconds);
}

static int gpus_for(const char *words, int64_t size, int most, double *seconds) {
  return gpus_with_pages(words, size, most, 0, seconds);
}

/* On CPUs only, and only in the forecast: A is passed once and B twice. */
TEST(checks_are_forecast) {
  dm_problem unverified = problem_of(3000, 1000, 2000, DM_F32);
  unverified.verify = false;
  for (int gpu = 0; gpu < 2; gpu++) {
    dm_problem p = unverified;
    dm_machine machine = machine_of(gpu ? "gpu=h200" : "ranks=1 cores=4");
    machine.pass_now = 1e9;
    const double without = planned(&p, &machine, 1, (dm_wishes){0}).forecast.total;
    p.verify = true;
    const double with = planned(&p, &machine, 1, (dm_wishes){0}).forecast.total;
    const double bytes = 4.0 * (3000.0 * 2000 + 2 * 2000.0 * 1000);
    assert_true(fabs(with - without - (gpu ? 0 : bytes / 1e9)) < 1e-9);
  }
}

TEST(gpus_that_help) {
  double seconds[8];
  assert_int_equal(gpus_for("gpu=h100 read=45 write=15", 2048, 8, seconds), 1);
  for (int i = 1; i < 8; i++) assert_true(seconds[i] > seconds[0]); /* each costs a start */
  assert_int_equal(gpus_for("gpu=h100 read=45 write=15 gflops=20", 8192, 8, seconds), 8);
  /* Half of the products' time, but less than 3 % of the command's: the files decide. */
  assert_int_equal(gpus_for("gpu=h100 read=0.5 write=0.5", 16384, 2, seconds), 1);
  assert_true(seconds[1] > 0.97 * seconds[0]);
  /* Nothing fits. */
  assert_int_equal(gpus_for("gpu=h100 memory=1MiB", 4096, 4, seconds), 4);
  assert_true(isinf(seconds[3]));
}

/* Medians of whole commands on two H200 (the last on H100), from files on a tmpfs to a new one:
 * docs/results/node.jsonl. */
static const struct {
  int64_t m, k, n;
  dm_dtype type;
  double one, two; /* seconds with one GPU and with two */
} commands[] = {
    {32768, 32768, 32768, DM_F64, 1.859, 1.580}, {16384, 65536, 16384, DM_F64, 1.097, 1.184},
    {16384, 16384, 16384, DM_F64, 0.466, 0.816}, {16384, 262144, 16384, DM_BF16, 0.740, 1.000},
    {4096, 4096, 4096, DM_F64, 0.281, 0.574},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int gpus_of_command(int i, double next_start, double seconds[2]) {
  const dm_problem p = problem_of(commands[i].m, commands[i].n, commands[i].k, commands[i].type);
  return choose_gpus(&p, "gpu=h200 read=45 write=22", 2, 7e9, next_start, seconds);
}

/* New pages of C bound two GPUs as they bound one. */
TEST(pages_that_come_slowly_leave_one_gpu) {
  const dm_problem p = problem_of(32768, 32768, 32768, DM_F64);
  double seconds[2];
  assert_int_equal(choose_gpus(&p, "gpu=h200 read=45 write=22", 2, 4e9, 0, seconds), 1);
  assert_true(seconds[0] > 2.1 && seconds[1] > 2.1);
}

/* Whether the second GPU had just been used or was idle. */
TEST(two_gpus_where_they_paid) {
  static const double starts[] = {0, 0.18, 0.31};
  for (int i = 0; i < COMMANDS; i++)
    for (int s = 0; s < 3; s++) {
      double seconds[2];
      const bool paid = commands[i].two < 0.97 * commands[i].one;
      assert_int_equal(gpus_of_command(i, starts[s], seconds), paid ? 2 : 1);
    }
}

TEST(commands_are_forecast_within_a_tenth) {
  for (int i = 0; i < COMMANDS; i++) {
    double seconds[2];
    (void)gpus_of_command(i, 0, seconds);
    assert_true(fabs(seconds[0] / commands[i].one - 1) < 0.1);
    assert_true(fabs(seconds[1] / commands[i].two - 1) < 0.1);
  }
}

/* Pages are cleared from the start of the command on, also while GPUs start. */
TEST(pages_do_not_wait_for_gpus) {
  const double bytes = 8.0 * 32768 * 32768, rate = 2e9;
  double seconds[2];
  (void)gpus_with_pages("gpu=h100 read=45 write=15", 32768, 2, rate, seconds);
  for (int i = 0; i < 2; i++) {
    assert_true(seconds[i] > bytes / rate - 1e-9);
    assert_true(seconds[i] < bytes / rate + bytes / 15e9 + 0.1);
  }
}

RUN_ALL(test_plan_choose)
