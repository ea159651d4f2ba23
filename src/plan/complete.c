#include "plan/complete.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "plan/buffers.h"
#include "plan/grid_cost.h"
#include "plan/panel_width.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan/volume.h"

/* ---- products that do not fit in memory, or take too long in one piece ----
 *
 * C is cut into tiles, and as much of A and B is kept in memory as fits. */

enum {
  MOST_COUNTS = 64, /* numbers of tiles to try per side */
  MOST_WIDTHS = 8,
  COMPLETE_SLOTS = 2,
  WIDEST = 8192,   /* width of panels, which are runs in a file; wider ones gain little */
  LEAST_SIDE = 16, /* least rows or columns of a block */
  MORE = 4,        /* also try so many finer cuts: they leave room for held panels */
};

typedef struct complete_search {
  const dm_question *question;
  dm_plan best;
  double least, least_pressure;
} complete_search;

/* Counts to try: 1, 2, ... 8, then in steps of a quarter, up to MOST. */
static int counts_up_to(int64_t most, int64_t counts[MOST_COUNTS]) {
  int count = 0;
  for (int64_t n = 1; n < most && count < MOST_COUNTS - 1; n += n < 8 ? 1 : n / 4)
    counts[count++] = n;
  counts[count++] = most;
  return count;
}

static int64_t most_tiles(const dm_plan *plan, int64_t size, int parts) {
  const int64_t step = plan->border > 0 ? plan->border : LEAST_SIDE;
  return dm_max(1, size / dm_min(size, step * parts));
}

static void set_panels(const dm_question *q, dm_plan *plan, int64_t kb) {
  const dm_widths widths = dm_plan_stated_widths(q, plan, kb);
  plan->kb = kb;
  memcpy(plan->ramp, widths.ramp, sizeof plan->ramp);
  plan->panels = dm_panels_of(plan->problem.k, plan->pk, kb, plan->ramp);
  plan->slots =
      plan->overlap ? (int)dm_min(COMPLETE_SLOTS, dm_range_size(dm_plan_layer(plan, 0))) : 1;
  plan->reads = plan->slots + 1; /* one is read while the others wait for their products */
}

/* Candidate widths, widest first. */
static int complete_widths(const dm_question *q, const dm_plan *plan, int64_t width[MOST_WIDTHS]) {
  const int64_t whole = dm_round_up(plan->problem.k, DM_PANEL_STEP);
  int count = 0;
  if (plan->reproducible || q->wishes->panel > 0) {
    width[0] = plan->reproducible ? DM_REPRODUCIBLE_PANEL : dm_min(q->wishes->panel, whole);
    return 1;
  }
  const int64_t wanted = dm_max(WIDEST, dm_sat_round_up(dm_plan_least_panel(plan), DM_PANEL_STEP));
  const int64_t widest = dm_min(wanted, dm_plan_longest_panel(plan));
  for (int64_t kb = widest; kb >= DM_PANEL_STEP && count < MOST_WIDTHS;
       kb = kb / 2 / DM_PANEL_STEP * DM_PANEL_STEP)
    if (kb * 4 * plan->pk <= whole || kb == DM_PANEL_STEP) width[count++] = kb;
  return count;
}

/* Holds as many panels of MATRIX as fit. */
static void hold(const dm_question *q, dm_plan *plan, dm_matrix matrix) {
  int64_t *held = matrix == DM_A ? &plan->held_a : &plan->held_b;
  int64_t low = 0, high = dm_range_size(dm_plan_layer(plan, 0));
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE || dm_triangle_shares(plan, matrix) ||
      dm_plan_has_runs(plan) || dm_plan_tiles(plan) == 1) /* no other tile needs the panels */
    return;
  while (low < high) {
    *held = low + (high - low + 1) / 2;
    if (dm_plan_pressure(plan, q->machine) <= 1)
      low = *held;
    else
      high = *held - 1;
  }
  *held = low;
}

static void consider_blocks(complete_search *s, dm_plan *plan) {
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
static void complete_consider(complete_search *s, dm_plan *plan) {
  const bool stores = dm_plan_in_file(&plan->problem, DM_C); /* else all ranks pause at each tile */
  const int most =
      stores && plan->overlap && plan->pk == 1 && plan->tiles_m * plan->tiles_n > 1 ? 2 : 1;
  for (plan->blocks = 1; plan->blocks <= most; plan->blocks++) consider_blocks(s, plan);
  plan->blocks = 1;
}

/* With DOWN tiles down, the coarsest cuts across that fit; more tiles only need less memory. */
static void try_columns(complete_search *s, dm_plan *plan, const int64_t *counts, int count) {
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
    complete_consider(s, plan);
  }
}

/* A symmetric C: as many tiles down as across, WISHED (0: any number). */
static void try_squares(complete_search *s, dm_plan *plan, int64_t wished) {
  int64_t counts[MOST_COUNTS] = {wished};
  const int64_t most = dm_min(most_tiles(plan, plan->problem.m, plan->pm),
                              most_tiles(plan, plan->problem.n, plan->pn));
  const int count = wished > 0 ? 1 : counts_up_to(most, counts);
  plan->down = false;
  for (int i = 0, fitting = 0; i < count && fitting < MORE; i++) {
    plan->tiles_m = plan->tiles_n = counts[i];
    plan->held_a = plan->held_b = 0;
    fitting += dm_plan_pressure(plan, s->question->machine) <= 1;
    complete_consider(s, plan);
  }
}

static void try_tiles(complete_search *s, dm_plan *plan) {
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
    complete_consider(s, plan);
    return;
  }
  const int64_t entries = dm_problem_entries(&plan->problem);
  if (entries > 1) { /* finer tiles are needed only if a whole entry does not fit */
    plan->tiles_m = entries;
    plan->tiles_n = 1;
    plan->down = false;
    plan->held_a = plan->held_b = 0;
    const double least = s->least;
    complete_consider(s, plan);
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

/* ---- runs of small entries ---- */

enum { COMPLETE_RUN = 16 << 20 }; /* bytes of each factor, and of C, in a run */

/* Whether this job goes on with the runs of an earlier one. */
static bool continues_runs(const dm_question *q) {
  const int64_t tiles = q->wishes->tiles_m;
  return tiles > 0 && tiles < dm_problem_entries(q->problem);
}

static bool takes_runs(const dm_question *q, const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  const dm_wishes *w = q->wishes;
  return dm_runs_suit(p) && p->work == p->accumulator && dm_plan_used(plan) == 1 && !plan->gpu &&
         plan->border == 0 && (continues_runs(q) || (w->panel == 0 && w->tiles_m == 0));
}

/* As many entries as RUN has room for, of the largest of three matrices. */
static int64_t entries_of_run(const dm_problem *p) {
  const int64_t rows = dm_problem_entry_rows(p);
  const int64_t most = dm_max(rows * p->n, dm_max(rows * p->k, p->k * p->n));
  return dm_max(1, dm_min(p->batch, COMPLETE_RUN / (most * dm_dtype_size(p->accumulator))));
}

/* The longest runs that fit. */
static void try_runs(complete_search *s, dm_plan *plan) {
  const int64_t wished = s->question->wishes->tiles_m;
  plan->tiles_n = 1;
  for (int64_t each = entries_of_run(&plan->problem); each > 1; each /= 2) {
    plan->tiles_m = wished > 0 ? wished : dm_ceil_div(plan->problem.batch, each);
    complete_consider(s, plan);
    if (wished > 0 || dm_plan_pressure(plan, s->question->machine) <= 1) return;
  }
}

/* Every residence of A and B; with RUNS only those. */
static void try_residences(complete_search *s, const dm_plan *plan, bool runs) {
  const dm_question *question = s->question;
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
    const int count = runs ? 1 : complete_widths(question, plan, width);
    if (runs) width[0] = dm_round_up(plan->problem.k, DM_PANEL_STEP);
    for (int w = 0; w < count; w++) {
      set_panels(question, &trial, width[w]);
      (runs ? try_runs : try_tiles)(s, &trial);
    }
  }
}

/* Completes PLAN, which has a grid: chooses tiles, residences (host or, with files, file), held
 * panels, and the panel width with the least predicted time within memory. False if nothing fits:
 * PLAN is then the one that needs least. */
static bool cut_c(const dm_question *question, dm_plan *plan) {
  complete_search s = {
      .question = question, .best = *plan, .least = INFINITY, .least_pressure = INFINITY};
  if (takes_runs(question, plan)) try_residences(&s, plan, true);
  if (s.least == INFINITY && !continues_runs(question)) try_residences(&s, plan, false);
  *plan = s.best;
  return s.least < INFINITY;
}

/* ---- matrices that pass through the cache ---- */

/* Matrices of which a panel with enough work has at least COMPLETE_NARROW columns, or rows, are
 * read longer than they are multiplied. If there are many such panels, it takes less time to pass
 * each through the cache than to keep it in memory until the verification. The same holds for
 * elements that are SPREAD times as long in memory as in their files, such as genotypes in f64. */
enum { COMPLETE_NARROW = 2048, PASSING = 16, SPREAD = 4, SPREAD_PANEL = 384 };

static bool passes(const dm_question *q, const dm_plan *plan, int64_t width) {
  const dm_problem *p = &plan->problem;
  return !plan->gpu && plan->overlap && !plan->reproducible && dm_problem_entries(p) == 1 &&
         dm_compute_is_plain(&p->compute) && q->wishes->tiles_m == 0 &&
         p->k / plan->pk >= PASSING * width;
}

static bool is_narrow(const dm_question *q, const dm_plan *plan) {
  const int64_t width = dm_max(dm_plan_least_panel(plan), q->wishes->panel);
  return width >= COMPLETE_NARROW && passes(q, plan, width) && dm_plan_all_in_files(&plan->problem);
}

static bool is_spread(const dm_question *q, const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  return dm_dtype_size(p->work) >= SPREAD * dm_dtype_size(p->file_a) &&
         dm_dtype_size(p->work) >= SPREAD * dm_dtype_size(p->file_b) &&
         p->symmetry != DM_NO_SYMMETRY && p->home[DM_A] == DM_HOME_FILE &&
         p->home[DM_B] == DM_HOME_FILE && dm_plan_used(plan) == 1 &&
         passes(q, plan, dm_max(SPREAD_PANEL, q->wishes->panel));
}

/* Completes PLAN, which has a grid, without keeping A and B; false: it does not suit or fit, or C
 * is to be stored in tiles meanwhile. */
static bool pass_all(const dm_question *question, dm_plan *plan) {
  const double limit = question->wishes->tile_seconds;
  const bool narrow = is_narrow(question, plan), spread = !narrow && is_spread(question, plan);
  complete_search s = {
      .question = question, .best = *plan, .least = INFINITY, .least_pressure = INFINITY};
  int64_t width[MOST_WIDTHS];
  dm_plan trial = *plan;
  if (!narrow && !spread) return false;
  trial.a = trial.b = DM_IN_FILE;
  trial.in_place = trial.shared_a = trial.shared_b = false;
  (void)complete_widths(question, plan, width);
  if (spread && question->wishes->panel == 0)
    width[0] = dm_max(SPREAD_PANEL, dm_round_up(dm_plan_least_panel(plan), DM_PANEL_STEP));
  set_panels(question, &trial, width[0]);
  complete_consider(&s, &trial);
  if (spread && limit > 0 && s.best.forecast.total > limit) return false;
  *plan = s.best;
  return s.least < INFINITY;
}

/* Cuts the C of a PLAN that fits into tiles that are predicted to take at most SECONDS. */
static void cut_c_for_time(const dm_question *question, double seconds, dm_plan *plan) {
  const dm_forecast *f = &plan->forecast;
  const double whole = f->gemm + f->exposed + f->reduce;
  if (whole <= seconds || question->wishes->tiles_m > 0) return;
  dm_plan trial = *plan;
  const int64_t most_m = most_tiles(plan, plan->problem.m, plan->pm);
  const int64_t most_n = most_tiles(plan, plan->problem.n, plan->pn);
  /* Slots only hold the panels of one tile. */
  trial.in_place = trial.shared_a = trial.shared_b = false;
  trial.slots =
      plan->overlap ? (int)dm_min(COMPLETE_SLOTS, dm_range_size(dm_plan_layer(plan, 0))) : 1;
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

/* ---- products that fit ---- */

enum {
  MOST_VARIANTS = 12, /* two residences of A and of B each: in place, in a ring, through the host */
};

/* Chooses the box of ranks with the least traffic of a node; the ranks of a node must form whole
 * boxes. */
static void set_box(const dm_question *question, dm_plan *plan) {
  const int per_node = question->machine->ranks_per_node, used = dm_plan_used(plan);
  plan->qm = plan->qn = plan->qk = 1;
  if (per_node == 1 || used <= per_node || used % per_node) return;
  dm_plan best = *plan, trial = *plan;
  double least = dm_plan_crossing(plan, question->machine);
  for (trial.qm = 1; trial.qm <= per_node && trial.qm <= plan->pm; trial.qm++) {
    if (per_node % trial.qm || plan->pm % trial.qm) continue;
    for (trial.qn = 1; trial.qn <= per_node / trial.qm && trial.qn <= plan->pn; trial.qn++) {
      trial.qk = per_node / trial.qm / trial.qn;
      if (trial.qm * trial.qn * trial.qk != per_node) continue;
      if (plan->pn % trial.qn || plan->pk % trial.qk) continue;
      double crossing = dm_plan_crossing(&trial, question->machine);
      if (crossing < least || best.qm * best.qn * best.qk == 1) best = trial;
      least = fmin(least, crossing);
    }
  }
  *plan = best;
}

/* Which groups are on one node each; in plain order, row by row of the grid. */
static void set_shared_slots(const dm_question *question, dm_plan *plan) {
  const int per_node = question->machine->ranks_per_node;
  const bool one_node = dm_plan_used(plan) <= per_node;
  const bool boxed = plan->qm * plan->qn * plan->qk > 1;
  if (!question->machine->shared_slots || plan->gpu) return;
  plan->shared_a = dm_plan_fetches_a(plan) &&
                   (one_node || (boxed ? plan->qn == plan->pn : per_node % plan->pn == 0));
  plan->shared_b =
      dm_plan_fetches_b(plan) &&
      (one_node || (boxed ? plan->qm == plan->pm : per_node % (plan->pm * plan->pn) == 0));
}

/* Residences in order of preference: GPU memory where possible, then host memory. */
static int residences(const dm_question *question, const dm_plan *plan,
                      dm_plan variants[MOST_VARIANTS]) {
  const bool fetched_a = dm_plan_fetches_a(plan), fetched_b = dm_plan_fetches_b(plan);
  int count = 0;
  if (!plan->gpu) {
    variants[0] = *plan;
    return 1;
  }
  const bool others = !question->wishes->by_links || !question->machine->device_links;
  for (int links = question->machine->device_links; links >= !others; links--) {
    for (int hosted = 0; hosted < 4; hosted++) {
      dm_plan *v = &variants[count];
      *v = *plan;
      v->device_links = links;
      v->a = hosted & 1 ? DM_IN_HOST : DM_IN_DEVICE;
      v->b = hosted & 2 ? DM_IN_HOST : DM_IN_DEVICE;
      /* Pieces in host memory can be gathered there, or from the GPUs that they were uploaded
       * to. */
      bool reachable =
          links || (!(fetched_a && v->a == DM_IN_DEVICE) && !(fetched_b && v->b == DM_IN_DEVICE));
      bool wanted = !(question->wishes->from_device && hosted != 0) &&
                    !(question->wishes->from_host && hosted != 3);
      if (!reachable || !wanted) continue;
      count++;
      if (!links || !((fetched_a && v->a == DM_IN_DEVICE) || (fetched_b && v->b == DM_IN_DEVICE)))
        continue;
      variants[count] = *v;
      v->in_place = true; /* first; then as a ring if that does not fit */
      count++;
    }
    if (!fetched_a && !fetched_b) break;
  }
  return count;
}

/* Cuts PLAN into tiles of at most the seconds requested. A run may be SLACK times slower than
 * predicted and should still finish a tile in that time: so tiles are finer by this factor where
 * that costs at most EXTRA, but take at least LEAST_TILE seconds. */
static void cut_for_checkpoints(const dm_question *question, dm_plan *plan) {
  const double slack = 10, extra = 1.05, least_tile = 1;
  const double most = question->wishes->tile_seconds;
  const dm_plan uncut = *plan;
  dm_plan_choose_strips(question, plan);
  const double affordable = extra * plan->forecast.total;
  double limit = fmax(most / slack, fmin(most, least_tile));
  for (bool good = false; !good; limit = fmin(2 * limit, most)) {
    *plan = uncut;
    cut_c_for_time(question, limit, plan);
    dm_plan_choose_strips(question, plan);
    good = limit >= most || plan->forecast.total <= affordable;
  }
}

dm_completion dm_plan_complete(const dm_question *question, int pm, int pn, int pk, dm_plan *plan) {
  const dm_wishes *wishes = question->wishes;
  dm_plan variants[MOST_VARIANTS], base = {.problem = *question->problem,
                                           .ranks = question->ranks,
                                           .pm = pm,
                                           .pn = pn,
                                           .pk = pk,
                                           .qm = 1,
                                           .qn = 1,
                                           .qk = 1};
  base.reproducible = wishes->reproducible;
  base.border = wishes->reproducible ? DM_BORDER : 0;
  const bool batch = dm_problem_entries(&base.problem) > 1; /* whose entries are tiles */
  base.tiles_m = dm_problem_entries(&base.problem);
  base.tiles_n = base.blocks = 1;
  base.overlap = !wishes->no_overlap;
  base.gpu = question->machine->gpu;
  /* GPUs multiply residues of numbers scaled by maxima over all of A and B. */
  base.read_first = base.gpu ? base.problem.compute.scans : question->machine->inputs_cached;
  base.process_bytes = question->machine->process_bytes;
  base.copies_a = question->machine->copies_a;
  base.copies_b = question->machine->copies_b;
  base.a = base.b = DM_IN_HOST;
  dm_plan_set_panels(question, (dm_widths){.kb = DM_PANEL_STEP},
                     &base); /* values for the counts below */
  set_box(question, &base);
  set_shared_slots(question, &base);
  int count = residences(question, &base, variants);
  double least = INFINITY;
  if (count == 0) return DM_UNREACHABLE;
  *plan = base;
  if (pass_all(question, plan)) return DM_COMPLETE;
  *plan = variants[0];
  for (int i = 0; i < count && wishes->tiles_m == 0 && !batch; i++) {
    if (dm_plan_choose_width(question, &variants[i])) {
      *plan = variants[i];
      if (dm_plan_in_file(&base.problem, DM_C) && wishes->tile_seconds > 0)
        cut_for_checkpoints(question, plan);
      else
        dm_plan_choose_strips(question, plan);
      return DM_COMPLETE;
    }
    double pressure = dm_plan_pressure(&variants[i], question->machine);
    if (i == 0 || pressure < least) *plan = variants[i];
    least = fmin(least, pressure);
  }
  dm_plan cut = base;
  const bool may_cut =
      dm_plan_has_files(&base.problem) || dm_plan_returns(&base) || wishes->may_cut;
  if (question->in_tiles && may_cut && !wishes->from_device &&
      (cut_c(question, &cut) || least == INFINITY ||
       dm_plan_pressure(&cut, question->machine) < least))
    *plan = cut;
  if (batch && !question->in_tiles) return DM_TOO_LARGE;
  if (continues_runs(question) && !dm_plan_has_runs(plan)) return DM_TOO_LARGE;
  return dm_plan_pressure(plan, question->machine) <= 1 ? DM_COMPLETE : DM_TOO_LARGE;
}

void dm_plan_finish(const dm_question *question, dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  const dm_machine *machine = question->machine;
  dm_volume volume = dm_plan_volume(plan, machine->ranks_per_node);
  dm_memory_need need = dm_plan_memory(plan);
  int64_t memory = plan->gpu ? machine->device_bytes : machine->host_bytes;
  plan->received_words = volume.most_words;
  plan->received_bytes_total = volume.total_bytes;
  plan->between_nodes_bytes = volume.between_nodes;
  plan->bound_words = 0; /* the entries of a batch need not exchange anything */
  if (dm_problem_entries(p) == 1)
    plan->bound_words = dm_bound_words(p->m, p->n, p->k, dm_plan_used(plan),
                                       (double)memory / (double)dm_dtype_size(p->work));
  plan->host_bytes = need.total[DM_HOST];
  plan->device_bytes = need.total[DM_DEVICE];
  plan->disk_bytes =
      p->home[DM_C] == DM_HOME_FILE ? p->m * p->n * dm_dtype_size(p->c) + p->more_bytes : 0;
  plan->forecast = dm_plan_forecast(plan, machine);
  if (!dm_plan_has_files(p)) return;
  /* The memory of all ranks; unstated memory is unlimited. */
  const double bytes =
      (double)machine->host_bytes + (plan->gpu ? (double)machine->device_bytes : 0);
  const double words = (double)dm_plan_used(plan) * bytes / (double)dm_dtype_size(p->work);
  const double c = (double)p->m * (double)p->n;
  plan->file_words = dm_plan_in_file(p, DM_C) ? c : 0;
  for (int x = 0; x < 2; x++)
    if (dm_plan_in_file(p, x))
      plan->file_words +=
          dm_plan_read_words(plan, (dm_matrix)x) + dm_plan_words_ahead(plan, (dm_matrix)x);
  const bool all = dm_plan_all_in_files(p) && p->symmetry == DM_NO_SYMMETRY; /* X is read once */
  if (all)
    plan->file_bound_words =
        (double)dm_problem_entries(p) *
        dm_bound_file_words(dm_problem_entry_rows(p), p->n, p->k, machine->host_bytes ? words : 0);
  if (!p->reads_c || !dm_plan_in_file(p, DM_OLD)) return;
  plan->file_words += c;
  if (all) plan->file_bound_words += c;
}

enum {
  COMPLETE_STRIPS = 8, /* strips of a block */
  STRETCHES = 256,     /* stretches to try */
  THINNEST = 64,       /* least rows of a strip */
  THINNEST_ON_GPU = 1024,
};

static const double complete_worth = 0.995; /* strips must reduce the time to this fraction */

/* All panels that a product reads remain in memory until the last one has arrived. */
static bool keeps_panels(const dm_plan *plan) {
  const dm_route a = dm_plan_route(plan, DM_A), b = dm_plan_route(plan, DM_B);
  return dm_route_keeps_panels(&a) && dm_route_keeps_panels(&b);
}

static int most_strips(const dm_plan *plan) {
  const int64_t thinnest = plan->gpu ? THINNEST_ON_GPU : THINNEST;
  const int64_t step = dm_max(plan->border, thinnest);
  const int64_t rows = dm_range_size(dm_plan_c_share(plan, 0, plan->pm - 1, plan->pk - 1));
  return (int)dm_min(COMPLETE_STRIPS, rows / step);
}

static double price(const dm_question *question, dm_plan *plan) {
  plan->forecast = dm_plan_forecast(plan, question->machine);
  return plan->forecast.total;
}

/* Images are stored when all rows are there; a block on the diagonal is completed strip by strip,
 * unless other ranks have parts of its sums, or these replace accumulators. */
static bool completes_strips(const dm_plan *plan) {
  return plan->problem.symmetry == DM_NO_SYMMETRY ||
         (!dm_triangle_has_images(plan) && plan->pk == 1 &&
          plan->problem.compute.finish == DM_NO_FINISH);
}

void dm_plan_choose_strips(const dm_question *question, dm_plan *plan) {
  const bool leaves = dm_plan_has_files(&plan->problem) || dm_plan_returns(plan) || plan->pk > 1;
  const int64_t shortest = dm_range_size(dm_plan_layer(plan, plan->pk - 1));
  plan->strips = 0;
  plan->stretch = 0;
  if (!leaves || !plan->overlap || dm_plan_tiles(plan) > 1 || dm_plan_streams(plan) ||
      !completes_strips(plan) || !keeps_panels(plan))
    return;
  const int strips = most_strips(plan);
  dm_plan best = *plan, trial = *plan;
  double least = price(question, &best);
  const int64_t step = dm_max(1, dm_ceil_div(shortest, STRETCHES));
  trial.strips = strips;
  for (trial.stretch = step; trial.stretch <= shortest && strips > 1; trial.stretch += step) {
    const double seconds = price(question, &trial);
    if (seconds >= complete_worth * least) continue;
    best = trial;
    least = seconds;
  }
  *plan = best;
}
