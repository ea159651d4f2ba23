#include <math.h>
#include <stdlib.h>

#include "core/checked.h"
#include "core/compute.h"
#include "core/units.h"
#include "plan/buffers.h"
#include "plan/choose.h"
#include "plan/complete.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"

enum { MOST_PLANS = 64, PROMISING = 64, IN_TILES = 16 };
enum { MOST_TIMES = 4096, MOST_RANKS = 1 << 16, FEW_RANKS = 16 };

_Static_assert(sizeof(dm_plan) <= 4096, "rank 0 sends the plan in one short message");

typedef struct grid {
  int pm, pn, pk;
  double floor;
} grid;

/* The best plans so far, best first. */
typedef struct ranking {
  dm_plan *plans;
  int count, limit;
  bool unreachable; /* some grid was DM_UNREACHABLE */
} ranking;

/* ---- order of plans ---- */

/* Times that differ by less than 2^-20 count as equal, so that rounding errors decide nothing. */
static double coarse(double seconds) {
  int exponent;
  double fraction = frexp(seconds, &exponent);
  return ldexp(nearbyint(fraction * 0x1p20), exponent - 20);
}

static int sign_of(double difference) {
  return difference < 0 ? -1 : difference > 0;
}

/* Less time first, then fewer layers, squarer grids, more ranks. */
static int choose_compare(const dm_plan *x, const dm_plan *y) {
  int order = sign_of(coarse(dm_plan_price(x)) - coarse(dm_plan_price(y)));
  if (!order) order = sign_of(x->pk - y->pk);
  if (!order) order = sign_of(abs(x->pm - x->pn) - abs(y->pm - y->pn));
  if (!order) order = sign_of(dm_plan_used(y) - dm_plan_used(x));
  /* Ranks write whole rows of a C in a file if none shares rows with another. */
  const int rows = dm_plan_in_file(&x->problem, DM_C) ? -1 : 1;
  return order ? order : rows * sign_of(x->pm - y->pm);
}

static void insert(ranking *best, const dm_plan *plan) {
  int at = best->count;
  while (at > 0 && choose_compare(plan, &best->plans[at - 1]) < 0) at--;
  if (at == best->limit) return;
  if (best->count < best->limit) best->count++;
  for (int i = best->count - 1; i > at; i--) best->plans[i] = best->plans[i - 1];
  best->plans[at] = *plan;
}

/* ---- all grids ---- */

/* With longer sides some ranks would have nothing; a wish has precedence. */
static void limits(const dm_question *q, int64_t most[3]) {
  const dm_problem *p = q->problem;
  int64_t step = q->wishes->reproducible ? DM_BORDER : 1;
  most[0] = dm_ceil_div(dm_problem_entry_rows(p), step);
  most[1] = dm_ceil_div(p->n, step);
  most[2] = q->wishes->reproducible ? 1 : dm_ceil_div(p->k, DM_PANEL_STEP);
}

static int choose_first(int wish) {
  return wish ? wish : 1;
}

static int last(int wish, int64_t most, int room) {
  return wish ? (wish <= room ? wish : 0) : (int)dm_min(most, room);
}

static void choose_consider(const dm_question *q, grid g, ranking *best) {
  dm_plan plan;
  dm_completion outcome = dm_plan_complete(q, g.pm, g.pn, g.pk, &plan);
  if (outcome == DM_COMPLETE) insert(best, &plan);
  if (outcome == DM_UNREACHABLE) best->unreachable = true;
}

static void keep_promising(grid *promising, int *count, grid g) {
  if (*count == PROMISING && g.floor >= promising[PROMISING - 1].floor) return;
  int at = *count < PROMISING ? (*count)++ : PROMISING - 1;
  for (; at > 0 && g.floor < promising[at - 1].floor; at--) promising[at] = promising[at - 1];
  promising[at] = g;
}

static bool is_among(const grid *grids, int count, grid g) {
  for (int i = 0; i < count; i++)
    if (grids[i].pm == g.pm && grids[i].pn == g.pn && grids[i].pk == g.pk) return true;
  return false;
}

/* Whether the grid's floor is low enough to enter the ranking. */
static bool may_enter(const ranking *best, double floor) {
  return best->count < best->limit || floor <= dm_plan_price(&best->plans[best->limit - 1]);
}

/* Visits every grid. First round (BEST NULL): keeps those with the lowest floors. Second: completes
 * all others that may enter. */
static void choose_visit(const dm_question *q, grid *promising, int *count, ranking *best) {
  const dm_wishes *w = q->wishes;
  int64_t most[3];
  limits(q, most);
  for (int pm = choose_first(w->pm); pm <= last(w->pm, most[0], q->ranks); pm++) {
    int across = q->ranks / pm;
    for (int pn = choose_first(w->pn); pn <= last(w->pn, most[1], across); pn++) {
      int deep = across / pn;
      for (int pk = choose_first(w->pk); pk <= last(w->pk, most[2], deep); pk++) {
        if (!dm_triangle_takes_grid(q->problem, pm, pn, pk)) continue;
        grid g = {pm, pn, pk, dm_grid_floor(q->problem, q->machine, pm, pn, pk)};
        if (!best)
          keep_promising(promising, count, g);
        else if (may_enter(best, g.floor) && !is_among(promising, *count, g))
          choose_consider(q, g, best);
      }
    }
  }
}

/* ---- wishes ---- */

static dm_status check_grid(const dm_wishes *w, int ranks) {
  int64_t product = (int64_t)choose_first(w->pm) * choose_first(w->pn);
  if (w->pm < 0 || w->pn < 0 || w->pk < 0) return dm_fail(DM_E_USAGE, "a grid side below 1");
  if (product > ranks || product * choose_first(w->pk) > ranks)
    return dm_hint(dm_fail(DM_E_USAGE, "the grid %dx%dx%d needs more than the %d ranks of this job",
                           choose_first(w->pm), choose_first(w->pn), choose_first(w->pk), ranks),
                   "start more ranks, or choose a smaller grid");
  return DM_OK;
}

static dm_status check_wishes(const dm_question *q) {
  const dm_wishes *w = q->wishes;
  DM_TRY(check_grid(w, q->ranks));
  if (!dm_triangle_takes_grid(q->problem, w->pm, w->pn, w->pk))
    return dm_hint(dm_fail(DM_E_USAGE, "a symmetric product cannot use the grid %dx%dx%d",
                           choose_first(w->pm), choose_first(w->pn), choose_first(w->pk)),
                   w->pm == w->pn
                       ? "complex residues need one layer: --grid %dx%dx1"
                       : "give as many rows as columns, --grid %dx%dx1, or leave the grid "
                         "to the planner",
                   choose_first(w->pm), choose_first(w->pm));
  if (w->panel < 0 || w->panel % DM_PANEL_STEP)
    return dm_fail(DM_E_USAGE, "a panel of %lld is not a multiple of %d", (long long)w->panel,
                   DM_PANEL_STEP);
  const int64_t piece = q->machine->gpu ? q->problem->compute.piece : 0;
  if (piece > 0 && w->panel > piece && q->problem->k > piece)
    return dm_hint(dm_fail(DM_E_USAGE,
                           "a panel of %lld: sums of more than %lld products of %s are cut off",
                           (long long)w->panel, (long long)piece, q->problem->compute.name),
                   "state at most %lld, or --accumulate fast", (long long)piece);
  if (w->ramp[0] && w->reproducible)
    return dm_hint(dm_fail(DM_E_USAGE,
                           "a ramp-up panel of %lld: all panels of a reproducible product have one "
                           "width",
                           (long long)w->ramp[0]),
                   "state one width");
  for (int i = 0; i < DM_RAMP; i++)
    if (w->ramp[i] % DM_PANEL_STEP || w->ramp[i] < 0 || w->ramp[i] > w->panel)
      return dm_fail(DM_E_USAGE, "a ramp-up panel of %lld is not a multiple of %d up to %lld",
                     (long long)w->ramp[i], DM_PANEL_STEP, (long long)w->panel);
  if (w->reproducible && w->pk > 1)
    return dm_hint(
        dm_fail(DM_E_USAGE, "a reproducible product needs a grid with one layer, not %d", w->pk),
        "state a grid PMxPNx1");
  if (q->machine->gpu && q->problem->compute.own_kernels && !q->machine->own_kernels)
    return dm_hint(dm_fail(DM_E_USAGE,
                           "products of %s run on GPUs such as h200 and h100: not on %s",
                           q->problem->compute.name, q->machine->name),
                   "--compute auto runs on every GPU");
  if (w->reproducible && q->problem->fastest)
    return dm_hint(dm_fail(DM_E_USAGE, "--reproducible and --compute fastest cannot be combined: "
                                       "what is fastest depends on the machine"),
                   "--compute f64:int8 has the same bits on any grid; or leave out --compute");
  if (w->reproducible && w->panel && w->panel != DM_REPRODUCIBLE_PANEL)
    return dm_fail(DM_E_USAGE, "a reproducible product needs panels of %d, not %lld",
                   DM_REPRODUCIBLE_PANEL, (long long)w->panel);
  if (w->from_device && !q->machine->gpu)
    return dm_hint(dm_fail(DM_E_USAGE, "operands cannot start on a device: there is no GPU"),
                   "use --from host");
  return DM_OK;
}

static dm_status check_problem(const dm_problem *p, int ranks) {
  int64_t bytes;
  if (p->m < 1 || p->n < 1 || p->k < 1 || ranks < 1)
    return dm_fail(DM_E_BUG, "no plan exists for %lld x %lld x %lld on %d ranks", (long long)p->m,
                   (long long)p->n, (long long)p->k, ranks);
  DM_TRY(dm_bytes_of(p->m, p->k, 16, &bytes));
  DM_TRY(dm_bytes_of(dm_problem_b_rows(p), p->n, 16, &bytes));
  return dm_bytes_of(p->m, p->n, 16, &bytes);
}

/* ---- what to change so that a product fits ---- */

/* Grid sides to try: all up to 16, then in steps of an eighth; enough to find a grid that fits. */
static int next_side(int side) {
  return side + (side < 16 ? 1 : side / 8);
}

/* For memory, only one layer or as many as possible matter. */
static void try_layers(const dm_question *question, int pm, int pn, double *least, dm_plan *plan) {
  const dm_wishes *w = question->wishes;
  int most = w->reproducible ? 1 : question->ranks / (pm * pn);
  for (int pk = w->pk ? w->pk : 1; pk <= most; pk = most > pk && !w->pk ? most : most + 1) {
    dm_plan trial;
    if (!dm_triangle_takes_grid(question->problem, pm, pn, pk)) continue;
    dm_completion outcome = dm_plan_complete(question, pm, pn, pk, &trial);
    if (outcome == DM_UNREACHABLE) continue;
    double pressure = dm_plan_pressure(&trial, question->machine);
    if (plan->pm > 0 && pressure >= *least) continue;
    *least = pressure;
    *plan = trial;
  }
}

/* The plan for these ranks that needs least memory; stops at the first that fits. plan->pm is 0 if
 * no grid is possible. */
static double least_pressure(const dm_question *question, dm_plan *plan) {
  const dm_wishes *w = question->wishes;
  double least = INFINITY;
  plan->pm = 0;
  for (int pm = w->pm ? w->pm : 1; pm <= question->ranks; pm = next_side(pm)) {
    int across = question->ranks / pm;
    for (int pn = w->pn ? w->pn : 1; pn <= across; pn = next_side(pn)) {
      try_layers(question, pm, pn, &least, plan);
      if (least <= 1) return least;
      if (w->pn) break;
    }
    if (w->pm) break;
  }
  return least;
}

/* A number of ranks that fits, by bisection to within 1/16; 0: none up to MOST. */
static int ranks_that_fit(const dm_question *question, int64_t most) {
  dm_question more = *question;
  more.in_tiles = false;
  dm_plan plan;
  int64_t low = question->ranks, high = low;
  do {
    low = high;
    high *= 2;
    if (high > most) return 0;
    more.ranks = (int)high;
  } while (least_pressure(&more, &plan) > 1);
  while (high - low > dm_max(1, low / 16)) {
    int64_t middle = low + (high - low) / 2;
    more.ranks = (int)middle;
    if (least_pressure(&more, &plan) <= 1)
      high = middle;
    else
      low = middle;
  }
  return (int)high;
}

static dm_status add_advice(dm_status status, const dm_question *question) {
  dm_question free_question = *question;
  dm_wishes free_wishes = *question->wishes;
  dm_plan plan;
  free_wishes.pm = free_wishes.pn = free_wishes.pk = 0;
  free_wishes.panel = 0;
  free_question.wishes = &free_wishes;
  if (least_pressure(&free_question, &plan) <= 1)
    return dm_hint(status, "leave the grid and the panel to the planner: %dx%dx%d would fit",
                   plan.pm, plan.pn, plan.pk);
  int64_t most = dm_min((int64_t)question->ranks * MOST_TIMES, MOST_RANKS);
  int enough = ranks_that_fit(&free_question, most);
  if (enough > 0) return dm_hint(status, "%d ranks with this much memory each are enough", enough);
  if (question->machine->process_bytes > question->machine->host_bytes / 2) {
    char has[32];
    return dm_hint(status, "allow more; the process itself has %s already, which count",
                   dm_format_bytes(question->machine->process_bytes, has));
  }
  return dm_hint(status, "give each rank more memory; more ranks alone, up to %lld, are not enough",
                 (long long)dm_max(most, question->ranks));
}

static dm_status does_not_fit(const dm_question *question) {
  char needed[32], allowed[32];
  dm_plan plan;
  const dm_machine *machine = question->machine;
  dm_question small = *question;
  small.in_tiles = question->ranks <= FEW_RANKS; /* with more ranks it takes minutes */
  question = &small;
  least_pressure(question, &plan);
  if (plan.pm == 0)
    return dm_hint(
        dm_fail(DM_E_USAGE, "no grid keeps its shares on the GPUs without gathering them"),
        "use --from host, or one rank");
  dm_memory_need need = dm_plan_memory(&plan);
  bool device =
      plan.gpu && machine->device_bytes > 0 && need.total[DM_DEVICE] > machine->device_bytes;
  int64_t limit = device ? machine->device_bytes : machine->host_bytes;
  dm_status status =
      dm_fail(DM_E_FIT, "the product needs %s per rank %s (grid %dx%dx%d); it has %s",
              dm_format_bytes(need.total[device ? DM_DEVICE : DM_HOST], needed),
              device ? "on the device" : "on the host", plan.pm, plan.pn, plan.pk,
              dm_format_bytes(limit, allowed));
  return question->wishes->no_advice ? status : add_advice(status, question);
}

static dm_status nothing_found(const dm_question *q, bool unreachable) {
  const dm_wishes *w = q->wishes;
  if (unreachable && (w->pm || w->pn || w->pk))
    return dm_hint(dm_fail(DM_E_USAGE,
                           "on the grid %dx%dx%d shares that stay on the GPUs would have to "
                           "be gathered, but no transport here moves GPU memory",
                           choose_first(w->pm), choose_first(w->pn), choose_first(w->pk)),
                   "use --from host, or one rank");
  return does_not_fit(q);
}

/* CPUs pass A once and B twice to check them; GPUs check while they multiply. */
static double check_seconds(const dm_plan *plan, const dm_machine *machine) {
  const dm_problem *p = &plan->problem;
  if (plan->gpu || !p->verify || machine->pass_now <= 0) return 0;
  const double words =
      (double)p->m * (double)p->k + 2.0 * (double)dm_problem_b_rows(p) * (double)p->n;
  return words * (double)dm_dtype_size(p->work) / machine->pass_now;
}

/* The forecast for the present state of files and cores, after all decisions. */
static void forecast_now(const dm_machine *machine, dm_plan *plan) {
  dm_machine now = *machine;
  if (now.read_now > 0 && now.write_now > 0) {
    now.file_read = now.read_now;
    now.file_write = now.write_now;
  }
  for (int i = 0; i < DM_OPERANDS && now.speed_now > 0; i++) now.flops[i] *= now.speed_now;
  plan->forecast = dm_plan_forecast(plan, &now);
  plan->forecast.total += dm_plan_pages_seconds(plan, &now) + check_seconds(plan, &now);
}

/* Less is within the error of predictions. */
static const double choose_worth = 0.97;

int dm_plan_gpus(const dm_problem *problem, const dm_machine *machines, int most,
                 const dm_wishes *wishes, double *seconds) {
  int best = 0;
  for (int n = 1; n <= most; n++) {
    dm_plan plan;
    dm_machine machine = machines[n - 1];
    const double start = machine.pages_since = dm_machine_start(&machine, n, true);
    dm_status status = dm_plan_choose(problem, &machine, n, wishes, &plan);
    seconds[n - 1] = status ? INFINITY : plan.forecast.total + start;
    dm_status_free(status);
    if (isfinite(seconds[n - 1]) &&
        (best == 0 || seconds[n - 1] < choose_worth * seconds[best - 1]))
      best = n;
  }
  return best > 0 ? best : most;
}

dm_status dm_plan_candidates(const dm_problem *problem, const dm_machine *machine, int ranks,
                             const dm_wishes *wishes, dm_plan *plans, int count, int *found) {
  dm_problem adjusted = *problem;
  dm_question q = {&adjusted, machine, wishes, ranks, wishes->tiles_m > 0};
  const bool suits =
      dm_triangle_takes_grid(problem, wishes->pm, wishes->pn, wishes->pk) && !wishes->reproducible;
  if (adjusted.symmetry_found && !suits) adjusted.symmetry = DM_NO_SYMMETRY;
  adjusted.verify &= !dm_plan_verifies_later(problem, machine);
  ranking best = {.plans = plans, .limit = (int)dm_min(count, MOST_PLANS)};
  grid promising[PROMISING];
  int promises = 0;
  *found = 0;
  DM_TRY(check_problem(problem, ranks));
  DM_TRY(check_wishes(&q));
  choose_visit(&q, promising, &promises, NULL);
  for (int i = 0; i < promises; i++)
    if (may_enter(&best, promising[i].floor)) choose_consider(&q, promising[i], &best);
  choose_visit(&q, promising, &promises, &best);
  const int wholes = best.count;
  q.in_tiles = true; /* only if nothing fits untiled, and on the most promising grids */
  for (int i = 0; i < dm_min(promises, IN_TILES) && wholes == 0; i++)
    if (may_enter(&best, promising[i].floor)) choose_consider(&q, promising[i], &best);
  if (best.count == 0) return nothing_found(&q, best.unreachable);
  for (int i = 0; i < best.count; i++) {
    dm_plan_finish(&q, &plans[i]);
    forecast_now(machine, &plans[i]);
  }
  *found = best.count;
  return DM_OK;
}

/* Finding exponents takes so long at any size, in seconds: two passes, whose numbers the host sees
 * (f64 and c128 1024 to 4096 on an H200: 0.3 to 0.6 ms). */
static const double choose_scan = 0.5e-3;

/* Replaces *BEST and its *PRICE by the plan with COMPUTE if that has a lower price. Plans that do
 * not fit are not considered. */
static void consider_row(const dm_question *q, const dm_compute *compute, double *price,
                         dm_plan *best) {
  dm_problem problem = best->problem;
  dm_wishes silent = *q->wishes;
  dm_plan other;
  int found;
  problem.compute = *compute;
  silent.no_advice = true;
  dm_status status = dm_plan_candidates(&problem, q->machine, q->ranks, &silent, &other, 1, &found);
  const bool reads_again = !status && compute->scans && dm_plan_streams(&other);
  const double other_price = status ? 0.0 : dm_plan_price(&other) + compute->scans * choose_scan;
  if (!status && !reads_again && other_price < *price) {
    *price = other_price;
    *best = other;
  }
  dm_status_free(status);
}

/* PLAN, or a plan in another mode that is as accurate and a tenth faster. */
static void choose_fastest(const dm_question *q, dm_plan *plan) {
  const dm_compute plain = plan->problem.compute;
  const dm_dtype work = plan->problem.work;
  const int64_t k = plan->problem.k;
  double price = 0.9 * dm_plan_price(plan);
  dm_compute rows[DM_COMPUTES];
  const int count = dm_compute_alternatives(&plain, work, k, rows);
  for (int i = 0; i < count; i++) consider_row(q, &rows[i], &price, plan);
}

/* PLAN, which computes half of C because A and B are one matrix; or a faster one for all of C. */
static void choose_halves(const dm_question *q, dm_plan *plan) {
  dm_problem problem = *q->problem;
  dm_wishes silent = *q->wishes;
  dm_plan other;
  int found;
  problem.symmetry = DM_NO_SYMMETRY;
  silent.no_advice = true;
  dm_status status = dm_plan_candidates(&problem, q->machine, q->ranks, &silent, &other, 1, &found);
  if (!status && dm_plan_price(&other) < dm_plan_price(plan)) *plan = other;
  dm_status_free(status);
}

dm_status dm_plan_choose(const dm_problem *problem, const dm_machine *machine, int ranks,
                         const dm_wishes *wishes, dm_plan *plan) {
  int found;
  DM_TRY(dm_plan_candidates(problem, machine, ranks, wishes, plan, 1, &found));
  if (problem->symmetry_found && plan->problem.symmetry != DM_NO_SYMMETRY)
    choose_halves(&(dm_question){problem, machine, wishes, ranks, false}, plan);
  if (!problem->fastest || !machine->gpu || !machine->own_kernels) return DM_OK;
  const dm_question q = {problem, machine, wishes, ranks, false};
  choose_fastest(&q, plan);
  return DM_OK;
}
