#include "plan/fit.h"

#include <math.h>

#include "core/checked.h"
#include "core/units.h"
#include "plan/buffers.h"
#include "plan/choose.h"

enum { MOST_TIMES = 4096, MOST_RANKS = 1 << 16, FEW_RANKS = 16 };

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
  return dm_hint(status, "give each rank more memory; more ranks alone, up to %lld, are not enough",
                 (long long)dm_max(most, question->ranks));
}

dm_status dm_plan_does_not_fit(const dm_question *question) {
  char needed[32], given[32];
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
              dm_format_bytes(limit, given));
  return question->wishes->no_advice ? status : add_advice(status, question);
}

enum { STEP = 64, MOST = 1 << 24 };

static dm_status try_size(const dm_problem *problem, const dm_machine *machine, int ranks,
                          const dm_wishes *wishes, int64_t n) {
  dm_problem square = *problem;
  dm_plan plan;
  square.m = square.n = square.k = n;
  return dm_plan_choose(&square, machine, ranks, wishes, &plan);
}

dm_status dm_plan_fill(const dm_problem *problem, const dm_machine *machine, int ranks,
                       const dm_wishes *wishes, double fill, int64_t *n) {
  dm_machine part = *machine;
  part.host_bytes = (int64_t)(fill * (double)machine->host_bytes);
  part.device_bytes = (int64_t)(fill * (double)machine->device_bytes);
  if (part.host_bytes < 1 || (machine->gpu && part.device_bytes < 1))
    return dm_fail(DM_E_USAGE, "there is no memory limit to fill");
  dm_wishes tersely = *wishes;
  tersely.no_advice = true;
  DM_TRY(try_size(problem, &part, ranks, wishes, STEP));
  int64_t low = 1, high = MOST / STEP; /* in steps */
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    dm_status status = try_size(problem, &part, ranks, &tersely, middle * STEP);
    if (status && status->code != DM_E_FIT) return status;
    if (status)
      high = middle;
    else
      low = middle;
    dm_status_free(status);
  }
  *n = low * STEP;
  return DM_OK;
}
