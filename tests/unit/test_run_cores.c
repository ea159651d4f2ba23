/* The cores of ranks, on described computers with described launchers. */
#include "checks.h"
#include "run/cores.h"

enum { RANKS = 16 };

typedef struct node {
  dm_core_case of;
  dm_topology topology;
  cpu_set_t bound[RANKS], near[RANKS];
} node;

static void add_range(cpu_set_t *cpus, int first, int last) {
  for (int cpu = first; cpu <= last; cpu++) CPU_SET(cpu, cpus);
}

/* RANKS ranks on a computer described to hwloc, with CPUS logical CPUs that all belong to the job;
 * each rank is bound to the next EACH of them; 0: to all. */
static node *node_of(const char *synthetic, int cpus, int ranks, int each) {
  node *n = calloc(1, sizeof *n);
  assert_non_null(n);
  assert_int_equal(unsetenv("HWLOC_COMPONENTS"), 0); /* would override the description */
  assert_int_equal(setenv("HWLOC_SYNTHETIC", synthetic, 1), 0);
  dm_topology_read(&n->topology);
  assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
  assert_int_equal(n->topology.count, cpus);
  n->of = (dm_core_case){.ranks = ranks, .bound = n->bound};
  add_range(&n->of.job, 0, cpus - 1);
  for (int r = 0; r < ranks; r++)
    add_range(&n->bound[r], each ? r * each : 0, each ? (r + 1) * each - 1 : cpus - 1);
  return n;
}

static dm_core_part part_of(const node *n, int rank) {
  dm_core_part part;
  dm_cores_divide(&n->of, &n->topology, rank, &part);
  assert_true(part.threads >= 1 && part.threads <= CPU_COUNT(&part.cpus));
  return part;
}

static void expect(const node *n, int rank, int first, int last, int threads,
                   dm_core_reason reason) {
  const dm_core_part part = part_of(n, rank);
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  add_range(&wanted, first, last);
  assert_true(CPU_EQUAL(&part.cpus, &wanted));
  assert_int_equal(part.threads, threads);
  assert_int_equal(part.reason, reason);
}

static const char sockets[] = "pack:2 core:8 pu:1", threaded[] =
                                                        "pack:2 core:4 pu:2(indexes=0,8,1,9,"
                                                        "2,10,3,11,4,12,5,13,6,14,7,15)";

TEST(one_rank_has_all) {
  node *n = node_of(sockets, 16, 1, 0);
  expect(n, 0, 0, 15, 16, DM_CORES_ALL);
  free(n);
}

/* Open MPI 4 and one or two ranks: each bound to a core. */
TEST(narrow_bindings_are_widened) {
  node *n = node_of(sockets, 16, 1, 1);
  expect(n, 0, 0, 15, 16, DM_CORES_WIDENED);
  n->of.keep = true;
  expect(n, 0, 0, 0, 1, DM_CORES_BOUND);
  free(n);
  n = node_of(sockets, 16, 2, 1);
  expect(n, 0, 0, 7, 8, DM_CORES_WIDENED);
  expect(n, 1, 8, 15, 8, DM_CORES_WIDENED);
  n->of.keep = true;
  expect(n, 1, 1, 1, 1, DM_CORES_BOUND);
  free(n);
  n = node_of(sockets, 16, 3, 1);
  expect(n, 0, 0, 4, 5, DM_CORES_WIDENED);
  expect(n, 1, 5, 9, 5, DM_CORES_WIDENED);
  expect(n, 2, 10, 15, 6, DM_CORES_WIDENED);
  free(n);
}

/* taskset -c 4-7 mpirun: the launcher's cores are the job's, wherever it bound the ranks. */
TEST(the_launchers_cores_are_the_jobs) {
  node *n = node_of(sockets, 16, 2, 1);
  CPU_ZERO(&n->of.job);
  add_range(&n->of.job, 4, 7);
  expect(n, 0, 4, 5, 2, DM_CORES_WIDENED);
  expect(n, 1, 6, 7, 2, DM_CORES_WIDENED);
  free(n);
}

TEST(sockets_are_divided) {
  node *n = node_of(sockets, 16, 2, 8); /* --map-by socket */
  expect(n, 0, 0, 7, 8, DM_CORES_BOUND);
  expect(n, 1, 8, 15, 8, DM_CORES_BOUND);
  free(n);
  n = node_of(sockets, 16, 4, 0);
  for (int r = 0; r < 4; r++) { /* ranks 0 and 2 on the first socket */
    CPU_ZERO(&n->bound[r]);
    add_range(&n->bound[r], r % 2 * 8, r % 2 * 8 + 7);
  }
  expect(n, 0, 0, 3, 4, DM_CORES_PART);
  expect(n, 1, 8, 11, 4, DM_CORES_PART);
  expect(n, 2, 4, 7, 4, DM_CORES_PART);
  expect(n, 3, 12, 15, 4, DM_CORES_PART);
  free(n);
  n = node_of(sockets, 16, 4, 0); /* --bind-to none */
  expect(n, 3, 12, 15, 4, DM_CORES_PART);
  free(n);
}

/* Sets that overlap without being equal: ranks keep theirs, and threads do not pile up. */
TEST(overlapping_sets_share) {
  node *n = node_of(sockets, 16, 2, 0);
  CPU_ZERO(&n->bound[1]);
  add_range(&n->bound[1], 8, 15);
  expect(n, 0, 0, 15, 12, DM_CORES_BOUND);
  expect(n, 1, 8, 15, 4, DM_CORES_BOUND);
  free(n);
}

TEST(hardware_threads_stay_together) {
  node *n = node_of(threaded, 16, 2, 0);
  const dm_core_part first = part_of(n, 0), second = part_of(n, 1);
  assert_int_equal(first.cores, 4);
  assert_int_equal(first.threads, 4);
  assert_int_equal(CPU_COUNT(&first.cpus), 8);
  for (int cpu = 0; cpu < 16; cpu++) {
    assert_int_equal(CPU_ISSET(cpu, &first.cpus) != 0, cpu % 8 < 4);
    assert_int_equal(CPU_ISSET(cpu, &second.cpus) != 0, cpu % 8 >= 4);
  }
  free(n);
}

TEST(more_ranks_than_cores) {
  node *n = node_of("core:2 pu:1", 2, 5, 0);
  for (int r = 0; r < 5; r++) expect(n, r, 0, 1, 1, DM_CORES_PART);
  free(n);
}

TEST(wishes_and_quotas) {
  node *n = node_of(sockets, 16, 2, 0);
  n->of.threads = 3;
  expect(n, 1, 8, 15, 3, DM_CORES_PART);
  n->of.threads = 12; /* more than its part */
  expect(n, 1, 0, 15, 12, DM_CORES_PART);
  n->of.threads = 100;
  expect(n, 1, 0, 15, 16, DM_CORES_PART);
  n->of.threads = 0;
  n->of.quota = 6;
  expect(n, 0, 0, 7, 3, DM_CORES_PART);
  n->of.quota = 0.5;
  expect(n, 0, 0, 7, 1, DM_CORES_PART);
  free(n);
}

/* GPU 0 is attached to the second socket. */
TEST(ranks_sit_near_their_gpus) {
  node *n = node_of(sockets, 16, 2, 0);
  n->of.near = n->near;
  add_range(&n->near[0], 8, 15);
  add_range(&n->near[1], 0, 7);
  expect(n, 0, 8, 15, 8, DM_CORES_PART);
  expect(n, 1, 0, 7, 8, DM_CORES_PART);
  free(n);
}

/* With random bindings the ranks together use exactly the job's cores, and threads do not pile up.
 */
TEST(random_nodes) {
  srandom(5);
  for (int round = 0; round < 300; round++) {
    const int ranks = 1 + (int)(random() % RANKS);
    node *n = node_of("numa:2 core:8 pu:2", 32, ranks, 0);
    for (int r = 0; r < ranks; r++) {
      if (random() % 2) CPU_ZERO(&n->bound[r]);
      const int first = (int)(random() % 32);
      add_range(&n->bound[r], first, first + (int)(random() % (32 - first)));
    }
    cpu_set_t together;
    CPU_ZERO(&together);
    int sum = 0;
    for (int r = 0; r < ranks; r++) {
      const dm_core_part part = part_of(n, r);
      CPU_OR(&together, &together, &part.cpus);
      sum += part.threads;
    }
    assert_true(CPU_EQUAL(&together, &n->of.job));
    assert_true(sum <= (ranks > 16 ? ranks : 16 + ranks));
    free(n);
  }
}

/* Like /sys/bus/pci/devices/X/local_cpulist, including the line end. */
TEST(lists_of_cpus) {
  static const struct {
    const char *text, *again;
  } cases[] = {{"0-7,16-23", "0-7,16-23"}, {"3", "3"},   {"0,2,4-5\n", "0,2,4-5"},  {"", ""},
               {"1022-", "1022-1023"},     {"four", ""}, {"1023,1024-1030", "1023"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cpu_set_t cpus;
    char text[64];
    dm_cpus_parse(cases[i].text, &cpus);
    dm_cpus_text(&cpus, text, sizeof text);
    assert_string_equal(text, cases[i].again);
  }
}

RUN_ALL(test_run_cores)
