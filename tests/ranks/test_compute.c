/* ranks: 1 2 3 4 6 8. Compute modes defined only here, with several accumulators per element of C
 * and a FINISH before or after layers are summed: on every grid, in tiles, resumed, in strips, and
 * in a job from files to a file. With integers all must be exact. */
#include <unistd.h>

#include "inspect/inspect_impl.h"
#include "product/multiply.h"
#include "programs/generate.h"
#include "stored_product.h"

/* ---- A in two parts with separate accumulators ---- */

static void product_of_halves(void *context, const dm_view *c, dm_view a, dm_view b,
                              bool accumulate, dm_exponents exponents) {
  (void)context;
  (void)exponents;
  for (int64_t i = 0; i < c[0].rows; i++)
    for (int64_t j = 0; j < c[0].cols; j++) {
      double sum[2] = {0.0, 0.0};
      for (int x = 0; x < 2 && accumulate; x++) sum[x] = *(double *)dm_view_at(c[x], i, j);
      for (int64_t l = 0; l < a.cols; l++) {
        const double whole = *(double *)dm_view_at(a, i, l), by = *(double *)dm_view_at(b, l, j);
        const double high = 4.0 * (double)((int)whole / 4);
        sum[0] += high * by;
        sum[1] += (whole - high) * by;
      }
      for (int x = 0; x < 2; x++) *(double *)dm_view_at(c[x], i, j) = sum[x];
    }
}

static void finish_halves(void *context, void *sums, const void *const *accumulators, int64_t count,
                          dm_exponents exponents) {
  (void)context;
  (void)exponents;
  const double *high = accumulators[0], *low = accumulators[1];
  for (int64_t i = 0; i < count; i++) ((double *)sums)[i] = high[i] + low[i];
}

/* ---- remainders, combined by the Chinese remainder theorem ---- */

enum { MODULI = 3 };
static const int32_t moduli[MODULI] = {101, 103, 107};

static int32_t remainder_of(int64_t number, int32_t modulus) {
  return (int32_t)((number % modulus + modulus) % modulus);
}

static void product_of_remainders(void *context, const dm_view *c, dm_view a, dm_view b,
                                  bool accumulate, dm_exponents exponents) {
  (void)context;
  (void)exponents;
  for (int x = 0; x < MODULI; x++)
    for (int64_t i = 0; i < c[x].rows; i++)
      for (int64_t j = 0; j < c[x].cols; j++) {
        int32_t *at = dm_view_at(c[x], i, j);
        int64_t sum = accumulate ? *at : 0;
        for (int64_t l = 0; l < a.cols; l++)
          sum +=
              (int64_t) * (double *)dm_view_at(a, i, l) * (int64_t) * (double *)dm_view_at(b, l, j);
        *at = remainder_of(sum, moduli[x]);
      }
}

static void finish_remainders(void *context, void *sums, const void *const *accumulators,
                              int64_t count, dm_exponents exponents) {
  (void)context;
  (void)exponents;
  int64_t all = 1;
  for (int x = 0; x < MODULI; x++) all *= moduli[x];
  for (int64_t i = 0; i < count; i++) {
    int64_t number = 0, step = 1;
    for (int x = 0; x < MODULI; x++) {
      const int32_t wanted = remainder_of(((const int32_t *)accumulators[x])[i], moduli[x]);
      while (remainder_of(number, moduli[x]) != wanted) number += step;
      step *= moduli[x];
    }
    ((double *)sums)[i] = (double)(number > all / 2 ? number - all : number);
  }
}

/* ---- */

typedef struct mode {
  dm_compute row;
  dm_compute_calls calls;
} mode;

enum { MODES = 4 };

static mode mode_of(int turn) {
  const dm_compute of_halves = {.name = "halves",
                                .inputs = 1 << DM_F64,
                                .results = 1 << DM_F64,
                                .work = DM_F64,
                                .operand = DM_F64,
                                .products = 2,
                                .accumulator = DM_F64,
                                .accumulators = 2,
                                .sum = DM_F64,
                                .roundoff = 0x1p-53};
  mode m = {of_halves, {NULL, product_of_halves, finish_halves, NULL}};
  if (turn % 2) {
    m = (mode){of_halves, {NULL, product_of_remainders, finish_remainders, NULL}};
    snprintf(m.row.name, sizeof m.row.name, "remainders");
    m.row.accumulator = DM_I32; /* narrower than the sums */
    m.row.accumulators = m.row.products = MODULI;
  }
  m.row.finish = turn / 2 % 2 ? DM_FINISH_LAST : DM_FINISH_FIRST;
  return m;
}

/* ---- what the engine computes ---- */

static double expected(const product *p, int64_t row, int64_t col) {
  double sum = 0.0;
  for (int64_t l = 0; l < p->plan.problem.k; l++)
    sum += dm_element(&p->a, row, l, 0) * dm_element(&p->b, l, col, 0);
  return sum;
}

static void compare(void *none, const product *p, int64_t row, int64_t col, double got) {
  const dm_plan *plan = &p->plan;
  const double want = expected(p, row, col);
  (void)none;
  CHECK(p->test, got == want,
        "%s, grid %dx%dx%d, tile %lld, %d strips: C(%lld, %lld) = %g, wanted %g",
        plan->problem.compute.name, plan->pm, plan->pn, plan->pk, (long long)p->local.tile,
        plan->strips, (long long)row, (long long)col, got, want);
}

static void multiply(rank_test *test, const mode *m, dm_wishes wishes, int strips, int64_t done) {
  dm_problem problem = product_problem(37, 29, 64 * 4 + 5, DM_F64);
  const dm_machine machine = one_node(test, NULL, strips > 0); /* strips keep gathered panels */
  problem.compute = m->row;
  if (wishes.tiles_m > 0) dm_problem_set_home(&problem, DM_HOME_FILE);
  wishes.panel = 64;
  product p = product_open_with(test, &machine, problem, wishes, DM_INTEGER, 5, &m->calls);
  product_store(&p, strips, done, compare, NULL);
}

static void every_grid(rank_test *test) {
  const int ranks = test->run.ranks;
  for (int pm = 1, turn = 0; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks && pk <= 5; pk++, turn++) {
        const mode m = mode_of(turn), other = mode_of(turn + 1);
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .no_overlap = turn % 3 == 2};
        multiply(test, &m, wishes, 0, 0);
        multiply(test, &other, wishes, 3, 0);
        wishes.tiles_m = 2, wishes.tiles_n = 3;
        multiply(test, &other, wishes, 0, 0);
        multiply(test, &m, wishes, 0, 4); /* resumed */
      }
}

/* ---- what a job writes ---- */

static dm_dataset input(rank_test *test, const char *folder, dm_matrix matrix) {
  dm_generate make = {.generator = {.kind = DM_INTEGER, .seed = 3 + matrix, .parameter = 8.0},
                      .file = {.rows = 150, .cols = 150, .dtype = DM_F64, .io_threads = -1}};
  dm_inspection question = {0};
  dm_record *unused;
  dm_dataset dataset;
  snprintf(make.file.out.file, sizeof make.file.out.file, "%s/%d.h5", folder, (int)matrix);
  snprintf(make.file.out.dataset, sizeof make.file.out.dataset, "/x");
  must(test,
       dm_output_form_complete(&make.file.form, make.file.dtype, make.file.rows, make.file.cols));
  must(test, dm_record_new("generate", "", &unused));
  must(test, dm_generate_run(&test->run, &make, unused));
  dm_record_free(unused);
  question.at = make.file.out;
  dm_finding *finding = memory_of(test, sizeof *finding);
  memset(finding, 0, sizeof *finding);
  must(test, dm_examine(&question, finding));
  dataset = finding->dataset;
  free(finding);
  return dataset;
}

/* Tiles and layers are those that TURN asks for. */
static void check_plan(rank_test *test, const dm_record *record, int turn) {
  char *text;
  int pk = 0;
  must(test, dm_record_json(record, &text));
  const char *grid = strstr(text, "\"grid\":\"");
  CHECK(test, grid && sscanf(grid, "\"grid\":\"%*dx%*dx%d", &pk) == 1, "no grid in %s", text);
  CHECK(test,
        (turn / MODES % 2 == 0) == (strstr(text, "\"tiles\":1,") != NULL) &&
            (turn / MODES / 2 == 0 || test->run.ranks == 1 || pk > 1),
        "another plan than was asked for");
  free(text);
}

/* Its verification is independent of accumulators. */
static void run_job(rank_test *test, const char *folder, dm_dataset a, dm_dataset b, int turn) {
  const mode m = mode_of(turn);
  dm_multiply job = {.a = a,
                     .b = b,
                     .equation = {.alpha = {1.0}, .type = DM_DTYPE_NONE, .type_c = DM_DTYPE_NONE},
                     .engine = {.backend = "cpu",
                                .kernel = "auto",
                                .transport = "auto",
                                .threads = 1,
                                .io_threads = -1,
                                .wishes = {.panel = 64}},
                     .verify = true,
                     .force = true,
                     .checkpoint = true};
  dm_record *record;
  job.equation.own = &m.row;
  job.engine.compute = &m.calls;
  if (turn / MODES % 2) job.engine.wishes.tiles_m = job.engine.wishes.tiles_n = 2;
  if (turn / MODES / 2) job.engine.wishes.pk = test->run.ranks < 3 ? test->run.ranks : 3;
  snprintf(job.out.file, sizeof job.out.file, "%s/c.h5", folder);
  snprintf(job.out.dataset, sizeof job.out.dataset, "/c");
  must(test, dm_record_new("multiply", "", &record));
  dm_status status = dm_multiply_run(&test->run, &job, record);
  CHECK(test, !status, "a job with %s: %s", m.row.name, status->message);
  if (!status && test->run.rank == 0) check_plan(test, record, turn);
  dm_status_free(status);
  dm_record_free(record);
}

static void every_job(rank_test *test) {
  char folder[] = "/tmp/damier-test-XXXXXX";
  if (test->run.rank == 0 && !mkdtemp(folder)) must(test, dm_fail(DM_E_IO, "no folder"));
  must(test, dm_comm_broadcast(test->run.world, folder, sizeof folder, 0));
  const dm_dataset a = input(test, folder, DM_A), b = input(test, folder, DM_B);
  for (int turn = 0; turn<4 * MODES; turn += test->run.ranks> 2 ? 3 : 1)
    run_job(test, folder, a, b, turn);
  must(test, dm_comm_barrier(test->run.world));
  static const char *const names[] = {"0.h5", "1.h5", "c.h5"};
  for (int i = 0; i < 3 && test->run.rank == 0; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  if (test->run.rank == 0) CHECK(test, rmdir(folder) == 0, "%s is not empty", folder);
}

TEST_PROGRAM(test_compute) {
  static _Thread_local rank_test test; /* a run that waits for files must not move */
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, NULL, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  every_grid(&test);
  every_job(&test);
  return rank_test_end(&test);
}
