#include "plan/out_of_core.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "plan/buffers.h"
#include "plan/grid_cost.h"
#include "plan/panel_width.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum {
  MOST_COUNTS = 64, /* numbers of tiles to try per side */
  MOST_WIDTHS = 8,
  SLOTS = 2,
  WIDEST = 8192, /* width of panels, which are runs in a file; wider ones gain little */
  THINNEST = 16, /* least rows or columns of a block */
  MORE = 4,      /* also try so many finer cuts: they leave room for held panels */
};

typedef struct search {
  const dm_question *question;
  dm_plan best;
  double least, least_pressure;
} search;

/* Counts to try: 1, 2, ... 8, then in steps of a quarter, up to MOST. */
static int counts_up_to(int64_t most, int64_t counts[MOST_COUNTS]) {
  int count = 0;
  for (int64_t n = 1; n < most && count < MOST_COUNTS - 1; n += n < 8 ? 1 : n / 4)
    counts[count++] = n;
  counts[count++] = most;
  return count;
}

static int64_t most_tiles(const dm_plan *plan, int64_t size, int parts) {
  const int64_t step = plan->border > 0 ? plan->border : THINNEST;
  return dm_max(1, size / dm_min(size, step * parts));
}

static void set_panels(const dm_question *q, dm_plan *plan, int64_t kb) {
  const dm_widths widths = dm_plan_wished_widths(q, plan, kb);
  plan->kb = kb;
  memcpy(plan->ramp, widths.ramp, sizeof plan->ramp);
  plan->panels = dm_panels_of(plan->problem.k, plan->pk, kb, plan->ramp);
  plan->slots = plan->overlap ? (int)dm_min(SLOTS, dm_range_size(dm_plan_layer(plan, 0))) : 1;
  plan->reads = plan->slots + 1; /* one is read while the others wait for their products */
}

/* Candidate widths, widest first. */
static int widths(const dm_question *q, const dm_plan *plan, int64_t width[MOST_WIDTHS]) {
  const int64_t whole = dm_round_up(plan->problem.k, DM_PANEL_STEP);
  int count = 0;
  if (plan->reproducible || q->wishes->panel > 0) {
    width[0] = plan->reproducible ? DM_REPRODUCIBLE_PANEL : dm_min(q->wishes->panel, whole);
    return 1;
  }
  for (int64_t kb = WIDEST; kb >= DM_PANEL_STEP; kb /= 2)
    if (kb * 4 * plan->pk <= whole || kb == DM_PANEL_STEP) width[count++] = kb;
  return count;
}

/* Holds as many panels of MATRIX as fit. */
static void hold(const dm_question *q, dm_plan *plan, dm_matrix matrix) {
  int64_t *held = matrix == DM_A ? &plan->held_a : &plan->held_b;
  int64_t low = 0, high = dm_range_size(dm_plan_layer(plan, 0));
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE) return;
  while (low < high) {
    *held = low + (high - low + 1) / 2;
    if (dm_plan_pressure(plan, q->machine) <= 1)
      low = *held;
    else
      high = *held - 1;
  }
  *held = low;
}

static void consider_blocks(search *s, dm_plan *plan) {
  plan->held_a = plan->held_b = 0;
  double pressure = dm_plan_pressure(plan, s->question->machine);
  if (pressure > 1) {
    if (s->least == INFINITY && pressure < s->least_pressure) s->best = *plan;
    s->least_pressure = fmin(s->least_pressure, pressure);
    return;
  }
  hold(s->question, plan,
       plan->down ? DM_B : DM_A); /* the matrix whose band a line of tiles shares */
  hold(s->question, plan, plan->down ? DM_A : DM_B);
  plan->forecast = dm_plan_forecast(plan, s->question->machine);
  if (dm_plan_price(plan) >= s->least) return;
  s->least = dm_plan_price(plan);
  s->best = *plan;
}

/* Also tries a second block of C; its memory could allow larger tiles instead. */
static void consider(search *s, dm_plan *plan) {
  const bool stores = dm_plan_in_file(&plan->problem, DM_C); /* else all ranks pause at each tile */
  const int most =
      stores && plan->overlap && plan->pk == 1 && plan->tiles_m * plan->tiles_n > 1 ? 2 : 1;
  for (plan->blocks = 1; plan->blocks <= most; plan->blocks++) consider_blocks(s, plan);
  plan->blocks = 1;
}

/* With DOWN tiles down, the coarsest cuts across that fit; more tiles only need less memory. */
static void try_columns(search *s, dm_plan *plan, const int64_t *counts, int count) {
  int low = 0, high = count - 1;
  plan->held_a = plan->held_b = 0;
  while (low < high) {
    int middle = low + (high - low) / 2;
    plan->tiles_n = counts[middle];
    if (dm_plan_pressure(plan, s->question->machine) <= 1)
      high = middle;
    else
      low = middle + 1;
  }
  for (int i = low; i < dm_min(count, low + MORE); i++) {
    plan->tiles_n = counts[i];
    consider(s, plan);
  }
}

/* A symmetric C: as many tiles down as across, WISHED (0: any number). */
static void try_squares(search *s, dm_plan *plan, int64_t wished) {
  int64_t counts[MOST_COUNTS] = {wished};
  const int64_t most = dm_min(most_tiles(plan, plan->problem.m, plan->pm),
                              most_tiles(plan, plan->problem.n, plan->pn));
  const int count = wished > 0 ? 1 : counts_up_to(most, counts);
  plan->down = false;
  for (int i = 0, fitting = 0; i < count && fitting < MORE; i++) {
    plan->tiles_m = plan->tiles_n = counts[i];
    plan->held_a = plan->held_b = 0;
    fitting += dm_plan_pressure(plan, s->question->machine) <= 1;
    consider(s, plan);
  }
}

static void try_tiles(search *s, dm_plan *plan) {
  int64_t down[MOST_COUNTS], across[MOST_COUNTS];
  const dm_wishes *w = s->question->wishes;
  if (plan->problem.symmetry != DM_NO_SYMMETRY) {
    try_squares(s, plan, w->tiles_m);
    return;
  }
  if (w->tiles_m > 0) {
    plan->tiles_m = w->tiles_m;
    plan->tiles_n = w->tiles_n;
    plan->down = w->down;
    consider(s, plan);
    return;
  }
  const int64_t entries = dm_problem_entries(&plan->problem);
  if (entries > 1) { /* finer tiles are needed only if a whole entry does not fit */
    plan->tiles_m = entries;
    plan->tiles_n = 1;
    plan->down = false;
    plan->held_a = plan->held_b = 0;
    const double least = s->least;
    consider(s, plan);
    if (s->least < least || dm_plan_pressure(plan, s->question->machine) <= 1) return;
  }
  int rows = counts_up_to(most_tiles(plan, dm_problem_entry_rows(&plan->problem), plan->pm), down);
  int cols = counts_up_to(most_tiles(plan, plan->problem.n, plan->pn), across);
  for (int i = 0; i < rows; i++)
    for (int order = 0; order < 2; order++) {
      plan->tiles_m = entries * down[i];
      plan->down = order;
      try_columns(s, plan, across, cols);
    }
}

bool dm_plan_cut(const dm_question *question, dm_plan *plan) {
  search s = {.question = question, .best = *plan, .least = INFINITY, .least_pressure = INFINITY};
  dm_plan trial = *plan;
  int64_t width[MOST_WIDTHS];
  const bool links = plan->gpu && question->machine->device_links && dm_plan_used(plan) > 1;
  const int in_files = (dm_plan_in_file(&plan->problem, DM_A) ? 1 : 0) +
                       (dm_plan_in_file(&plan->problem, DM_B) ? 2 : 0);
  const int places = 4;
  trial.in_place = trial.shared_a = trial.shared_b = false;
  for (int i = links && question->wishes->by_links ? places : 0; i < places * (1 + links); i++) {
    if (i % places & ~in_files) continue;
    trial.device_links = i >= places;
    trial.a = i % places & 1 ? DM_IN_FILE : DM_IN_HOST;
    trial.b = i % places & 2 ? DM_IN_FILE : DM_IN_HOST;
    const int count = widths(question, plan, width);
    for (int w = 0; w < count; w++) {
      set_panels(question, &trial, width[w]);
      try_tiles(&s, &trial);
    }
  }
  *plan = s.best;
  return s.least < INFINITY;
}

void dm_plan_cut_for_time(const dm_question *question, double seconds, dm_plan *plan) {
  const dm_forecast *f = &plan->forecast;
  const double whole = f->gemm + f->exposed + f->reduce;
  if (whole <= seconds || question->wishes->tiles_m > 0) return;
  dm_plan trial = *plan;
  const int64_t most_m = most_tiles(plan, plan->problem.m, plan->pm);
  const int64_t most_n = most_tiles(plan, plan->problem.n, plan->pn);
  /* Slots only hold the panels of one tile. */
  trial.in_place = trial.shared_a = trial.shared_b = false;
  trial.slots = plan->overlap ? (int)dm_min(SLOTS, dm_range_size(dm_plan_layer(plan, 0))) : 1;
  if (plan->problem.symmetry != DM_NO_SYMMETRY) /* tiles off the diagonal have twice the work */
    trial.tiles_m = trial.tiles_n =
        dm_max(1, dm_min(dm_min(most_m, most_n), (int64_t)ceil(sqrt(2 * whole / seconds))));
  while (whole / (double)(trial.tiles_m * trial.tiles_n) > seconds &&
         plan->problem.symmetry == DM_NO_SYMMETRY &&
         (trial.tiles_m < most_m || trial.tiles_n < most_n)) {
    bool taller = plan->problem.m / trial.tiles_m > plan->problem.n / trial.tiles_n;
    if ((taller || trial.tiles_n >= most_n) && trial.tiles_m < most_m)
      trial.tiles_m++;
    else
      trial.tiles_n++;
  }
  if (dm_plan_pressure(&trial, question->machine) > 1) return;
  trial.blocks = plan->overlap && plan->pk == 1 ? 2 : 1;
  if (dm_plan_pressure(&trial, question->machine) > 1) trial.blocks = 1;
  trial.forecast = dm_plan_forecast(&trial, question->machine);
  *plan = trial;
}
