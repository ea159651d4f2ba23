/* ranks: 1 2 3 4 6 8. Panels in shared memory: the same bits as with messages, no rank reads
 * missing pieces, and if one rank cannot share, all refuse. */
#include <sys/resource.h>
#include <time.h>

#include "engine/execute.h"
#include "engine/links.h"
#include "plan/partition.h"
#include "small_product.h"
#include "transport/shared_memory.h"

static void *result_of(product *p, int64_t *bytes) {
  dm_range rows;
  dm_view sums = product_sums(p, &rows);
  const int64_t row = sums.cols * dm_dtype_size(sums.dtype);
  *bytes = sums.rows * row;
  char *copy = memory_of(p->test, *bytes);
  for (int64_t i = 0; i < sums.rows; i++)
    memcpy(copy + i * row, dm_view_at(sums, i, 0), (size_t)row);
  return copy;
}

/* The last rank is late with its pieces. */
static void *multiply(product *p, int64_t *bytes) {
  const struct timespec delay = {.tv_nsec = 20000000};
  must(p->test, dm_rank_open(&p->test->run, &p->plan, p->backend, p->transport, &p->local));
  if (p->test->run.rank == p->test->run.ranks - 1) nanosleep(&delay, NULL);
  fill_share(p, DM_A);
  fill_share(p, DM_B);
  product_run(p, DM_PRODUCTS);
  product_run(p, DM_SUMS);
  return result_of(p, bytes);
}

/* Bytes that this rank receives to sum layers, whose rows of the sums are BYTES. */
static int64_t summed(const product *p, int64_t bytes) {
  int64_t received = 0;
  for (int l = 0; l < p->plan.pk && !p->local.coords.idle; l++)
    if (l != p->local.coords.l && dm_range_size(dm_plan_layer(&p->plan, l)) > 0) received += bytes;
  return received;
}

static bool mapped(void) {
  char line[400];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, "damier-shared") != NULL;
  if (maps) fclose(maps);
  return found;
}

/* With shared slots and with messages, otherwise by the same plan. */
static void compare(rank_test *t, int per_node, dm_problem problem, dm_wishes wishes) {
  dm_machine machine = one_node(t, NULL, true);
  machine.ranks_per_node = per_node;
  product p = product_open_on(t, &machine, problem, wishes, DM_UNIFORM, 7);
  const bool shared = p.plan.shared_a || p.plan.shared_b;
  CHECK(t, shared || per_node < t->run.ranks || dm_plan_used(&p.plan) == p.plan.pk,
        "a plan for one node without shared slots");
  int64_t bytes, again;
  void *in_slots = multiply(&p, &bytes);
  CHECK(t, mapped() == (shared && !p.local.coords.idle), "shared memory: %d, planned: %d", mapped(),
        shared);
  const int64_t received = dm_transport_received(p.local.transport);
  if ((p.plan.shared_a || p.plan.pn == 1) && (p.plan.shared_b || p.plan.pm == 1))
    CHECK(t, received == summed(&p, bytes), "%lld bytes were received", (long long)received);
  dm_rank_close(&p.local);
  CHECK(t, !mapped(), "shared memory is still mapped");
  p.plan.shared_a = p.plan.shared_b = false;
  p.transport = NULL;
  void *sent = multiply(&p, &again);
  CHECK(t, bytes == again && memcmp(in_slots, sent, (size_t)bytes) == 0,
        "grid %dx%dx%d, %d ranks a node: other bits than by messages", p.plan.pm, p.plan.pn,
        p.plan.pk, per_node);
  free(in_slots);
  free(sent);
  product_close(&p);
}

static void every_grid(rank_test *t) {
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_C64, DM_BF16};
  const int ranks = t->run.ranks;
  int turn = 0;
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks; pk++, turn++) {
        const dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .panel = 64 * (1 + turn % 3)};
        const dm_problem problem = product_problem(41, 31, 64 * 7 + 5, types[turn % 4]);
        compare(t, ranks, problem, wishes);
        if (ranks > 2 && ranks % 2 == 0) compare(t, 2, problem, wishes);
      }
  compare(t, ranks, product_problem(1, 3, 1, DM_F64), (dm_wishes){0});
  compare(t, ranks, product_problem(60, 70, 80, DM_F64), (dm_wishes){.reproducible = true});
}

static void proof(rank_test *t, const char *wanted) {
  const dm_backend_config config = {.local_ranks = t->run.ranks, .threads = 1, .kernel = "auto"};
  dm_backend *cpu;
  dm_links links;
  must(t, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  dm_status status = dm_links_choose(&t->run, cpu, "shared", &links);
  if (!wanted)
    CHECK(t, !status && links.chosen == dm_transport_find("shared"), "refused: %s",
          status ? status->message : links.reasons);
  else
    CHECK(t, status && status->code == DM_E_DEVICE && strstr(status->message, wanted),
          "wanted '%s', got '%s'", wanted, status ? status->message : "nothing");
  dm_status_free(status);
  if (t->run.ranks > 1) {
    must(t, dm_links_choose(&t->run, cpu, "auto", &links));
    CHECK(t,
          strcmp(links.chosen->name, wanted ? "host" : "shared") == 0 &&
              (!wanted || strstr(links.reasons, wanted)),
          "auto chose %s (%s)", links.chosen->name, links.reasons);
  }
  dm_backend_close(cpu);
}

/* One rank that cannot share is enough. */
static void limited(rank_test *t) {
  struct rlimit old, small = {.rlim_cur = 1 << 20};
  CHECK(t, getrlimit(RLIMIT_FSIZE, &old) == 0, "no limits");
  small.rlim_max = old.rlim_max;
  if (t->run.rank == t->run.ranks - 1) (void)setrlimit(RLIMIT_FSIZE, &small);
  proof(t, "limit on file sizes");
  (void)setrlimit(RLIMIT_FSIZE, &old);
}

static void too_large(rank_test *t) {
  dm_shared_memory memory;
  dm_status status = dm_shared_memory_open(t->run.world, INT64_C(1) << 58, &memory);
  CHECK(t, status && status->code == DM_E_FIT && status->agreed, "2^58 bytes of shared memory: %s",
        status ? status->message : "granted");
  CHECK(t, !memory.base && !mapped(), "what failed left memory behind");
  dm_status_free(status);
}

TEST_PROGRAM(test_shared_slots) {
  rank_test test = rank_test_start();
  every_grid(&test);
  proof(&test, NULL);
  limited(&test);
  too_large(&test);
  return rank_test_end(&test);
}
