#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"
#include "plan/grid_cost.h"

const char sim_options_help[] =
    "Simulates the multiplication C = A B on a described machine; started by smpirun, one rank\n"
    "for each GPU.  simulation/simulate.sh writes platforms and starts it.\n"
    "\n"
    "  --machine WORDS      as damier plan --machine; with gpu= and links=device\n"
    "  --m M --n N --k K    sizes; --size N for all three\n"
    "  --type TYPE          f64 (default), f32, bf16, ...\n"
    "  --rate FLOPS         of a large product of that type on one GPU; default: the machine's\n"
    "  --rate-at N          the square product at which that rate was measured; default: very "
    "large\n"
    "  --grid PMxPNxPK      instead of the planner's choice; 0 leaves it a side\n"
    "  --panel K            width of panels, a multiple of 64\n"
    "  --most-panels N      of a layer; default 64\n"
    "  --no-overlap         one slot: a panel moves, then it is multiplied\n"
    "  --slow-down PART     0.05: every rank is slower by a part of it, chosen at random\n"
    "  --network HOW        flows (default): links share their rate among all messages under way;\n"
    "                       ports: each rank sends and receives one piece at a time; then "
    "SimGrid's\n"
    "                       network must be without contention\n"
    "  --notice SECONDS     (ports) pieces are no messages: ranks see in memory, so much later,\n"
    "                       that all their peers are ready; for thousands of ranks\n"
    "  --files SERVERS      (--notice) A and B come from a file system, and C goes there: so many\n"
    "                       ranks more\n"
    "  --file-rate RATE     bytes/s of each of them\n"
    "  --slow-nic PART      one adapter has this part of its rate (ports; with flows the platform\n"
    "                       says so)\n"
    "  --seed S             for that choice; default 1\n"
    "  --platform WORDS     kept in the record\n"
    "  --json FILE          appends a record; - is standard output\n";

enum {
  MACHINE = 1,
  M,
  N,
  K,
  SIZE,
  TYPE,
  RATE,
  AT,
  GRID,
  PANEL,
  MOST,
  PLAIN,
  SLOW,
  SEED,
  NETWORK,
  NIC,
  NOTICE,
  FILES,
  FILE_RATE,
  WORDS,
  JSON
};

static const struct option known[] = {{"machine", required_argument, NULL, MACHINE},
                                      {"m", required_argument, NULL, M},
                                      {"n", required_argument, NULL, N},
                                      {"k", required_argument, NULL, K},
                                      {"size", required_argument, NULL, SIZE},
                                      {"type", required_argument, NULL, TYPE},
                                      {"rate", required_argument, NULL, RATE},
                                      {"rate-at", required_argument, NULL, AT},
                                      {"grid", required_argument, NULL, GRID},
                                      {"panel", required_argument, NULL, PANEL},
                                      {"most-panels", required_argument, NULL, MOST},
                                      {"no-overlap", no_argument, NULL, PLAIN},
                                      {"slow-down", required_argument, NULL, SLOW},
                                      {"seed", required_argument, NULL, SEED},
                                      {"network", required_argument, NULL, NETWORK},
                                      {"slow-nic", required_argument, NULL, NIC},
                                      {"notice", required_argument, NULL, NOTICE},
                                      {"files", required_argument, NULL, FILES},
                                      {"file-rate", required_argument, NULL, FILE_RATE},
                                      {"platform", required_argument, NULL, WORDS},
                                      {"json", required_argument, NULL, JSON},
                                      {0}};

static dm_status not_a(const char *what, const char *value) {
  return dm_fail(DM_E_USAGE, "'%s' is not %s", value, what);
}

static dm_status read_count(const char *text, int64_t least, int64_t *value) {
  return dm_parse_count(text, value) && *value >= least ? DM_OK : not_a("a size", text);
}

static dm_status read_real(const char *text, double *value) {
  return dm_parse_real(text, value) && *value >= 0 ? DM_OK : not_a("a number", text);
}

static dm_status read_grid(const char *text, dm_wishes *wishes) {
  char rest;
  if (sscanf(text, "%dx%dx%d%c", &wishes->pm, &wishes->pn, &wishes->pk, &rest) == 3) return DM_OK;
  return not_a("a grid PMxPNxPK", text);
}

/* Of the machine, which is known only when all is read. */
typedef struct wanted {
  const char *machine;
  double rate;
  int64_t rate_at;
} wanted;

static dm_status take(int which, const char *text, sim_options *o, wanted *w) {
  int64_t value = 0;
  switch (which) {
  case MACHINE:
    w->machine = text;
    return DM_OK;
  case M:
    return read_count(text, 1, &o->problem.m);
  case N:
    return read_count(text, 1, &o->problem.n);
  case K:
    return read_count(text, 1, &o->problem.k);
  case SIZE:
    DM_TRY(read_count(text, 1, &value));
    o->problem.m = o->problem.n = o->problem.k = value;
    return DM_OK;
  case TYPE:
    return dm_dtype_parse(text, &o->problem.work) ? DM_OK : not_a("a type", text);
  case RATE:
    return read_real(text, &w->rate);
  case AT:
    return read_count(text, 1, &w->rate_at);
  case GRID:
    return read_grid(text, &o->wishes);
  case PANEL:
    return read_count(text, 64, &o->wishes.panel);
  case MOST:
    DM_TRY(read_count(text, 1, &value));
    o->most_panels = (int)value;
    return DM_OK;
  case PLAIN:
    o->wishes.no_overlap = true;
    return DM_OK;
  case SLOW:
    return read_real(text, &o->slow_down);
  case SEED:
    DM_TRY(read_count(text, 0, &value));
    o->seed = (uint64_t)value;
    return DM_OK;
  case NETWORK:
    o->ports = strcmp(text, "ports") == 0;
    return o->ports || strcmp(text, "flows") == 0 ? DM_OK : not_a("flows or ports", text);
  case NIC:
    DM_TRY(read_real(text, &o->slow_nic));
    return o->slow_nic > 0 ? DM_OK : not_a("above 0", text);
  case NOTICE:
    return read_real(text, &o->notice);
  case FILES:
    DM_TRY(read_count(text, 1, &value));
    o->servers = (int)dm_min(value, INT_MAX);
    return DM_OK;
  case FILE_RATE:
    return read_real(text, &o->file_rate);
  case WORDS:
    o->platform = text;
    return DM_OK;
  case JSON:
    o->json = text;
    return DM_OK;
  default:
    return dm_fail(DM_E_USAGE, "an option that is not known, or lacks its value");
  }
}

static dm_status check(const sim_options *o) {
  const dm_machine *machine = &o->machine;
  if (o->problem.m < 1 || o->problem.n < 1 || o->problem.k < 1)
    return dm_fail(DM_E_USAGE, "--m, --n and --k are needed, or --size");
  if (!machine->gpu || !machine->device_links)
    return dm_fail(DM_E_USAGE, "--machine needs gpu=NAME and links=device");
  if (o->notice > 0 && !o->ports) return dm_fail(DM_E_USAGE, "--notice needs --network ports");
  if (o->servers > 0 && (o->notice <= 0 || o->file_rate <= 0))
    return dm_fail(DM_E_USAGE, "--files needs --file-rate and --notice");
  if (o->servers == 0 && o->file_rate > 0) return dm_fail(DM_E_USAGE, "--file-rate needs --files");
  return DM_OK;
}

dm_status sim_options_read(int argc, char **argv, sim_options *o) {
  wanted w = {.machine = "gpu=h200,links=device"};
  *o = (sim_options){.seed = 1, .slow_nic = 1.0, .most_panels = 64, .platform = ""};
  o->wishes.from_device = true;
  opterr = 0;
  for (int which; (which = getopt_long(argc, argv, "", known, NULL)) != -1;)
    DM_TRY(take(which, optarg, o, &w));
  if (optind < argc) return not_a("an option", argv[optind]);
  DM_TRY(dm_machine_parse(w.machine, &o->machine));
  dm_problem *p = &o->problem;
  p->file_a = p->file_b = p->work;
  p->compute = *dm_compute_by((dm_operand)p->work);
  p->c = p->accumulator = dm_compute_sum(p->work);
  const double at = (double)w.rate_at;
  if (w.rate > 0) o->machine.flops[p->work] = w.rate;
  if (at > 0) o->machine.flops[p->work] /= dm_product_efficiency(at, at, at, true);
  return check(o);
}
