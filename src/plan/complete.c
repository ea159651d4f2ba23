#include "plan/complete.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "plan/bound.h"
#include "plan/grid_cost.h"
#include "plan/memory_need.h"
#include "plan/out_of_core.h"
#include "plan/partition.h"
#include "plan/strips.h"
#include "plan/tiles.h"
#include "plan/volume.h"

enum {
  SLOTS = 2, /* one is filled while the other is read; a third gained nothing in the model */
  SLOTS_CROSSING = 4, /* a message of a CPU rank waits, some times over, until a piece of a product
                         is done at its other end; measured over links of 1 Gbit/s */
  SLOTS_IN_PLACE = 3, /* cost nothing there, and a late panel has the time of a product more */
  FEWEST_PANELS = 4,  /* of a layer that streams: keeps the first and the last one short */
  SHORT_LAYER = 32,   /* units of DM_PANEL_STEP; shorter ones may have fewer panels */
  MOST_VARIANTS = 12, /* two residences each of A and B: in place, in a ring, by the host */
  WINDOWED = 1536, /* a width that costs a CPU product nothing: it is cut at 384 anyway, and between
                      panels a run can be stopped */
  SLICE = 384,     /* that cut: between files, panels behind which others are read are no wider */
  NARROW_CROSSING = 128,
  NARROW = 512,       /* a width that only a lack of memory justifies, */
  NARROW_READ = 2048, /* or, on GPUs, only files that are slower than was foreseen */
};

static const double tolerance = 1.005; /* of the time between the files, for less memory */

static double part_of(int64_t need, int64_t limit) {
  if (need == INT64_MAX) return INFINITY;
  return limit > 0 ? (double)need / (double)limit : 0;
}

double dm_plan_pressure(const dm_plan *plan, const dm_machine *machine) {
  dm_memory_need need = dm_plan_memory(plan);
  double device = plan->gpu ? part_of(need.total[DM_DEVICE], machine->device_bytes) : 0;
  return fmax(part_of(need.total[DM_HOST], machine->host_bytes), device);
}

static bool streams(const dm_plan *plan) {
  return (dm_plan_fetches_a(plan) && !plan->window_a) ||
         (dm_plan_fetches_b(plan) && !plan->window_b) || dm_plan_uploads_a(plan) ||
         dm_plan_uploads_b(plan);
}

/* Panels come as messages from other nodes to ranks that multiply on the CPU. */
static bool crosses(const dm_question *question, const dm_plan *plan) {
  return !plan->gpu && streams(plan) && dm_plan_used(plan) > question->machine->ranks_per_node;
}

static void set_panels(const dm_question *question, dm_plan *plan, int64_t kb) {
  plan->kb = kb;
  plan->panels = dm_ceil_div(plan->problem.k, kb);
  int64_t longest = dm_range_size(dm_plan_layer(plan, 0));
  int64_t slots = plan->in_place            ? SLOTS_IN_PLACE
                  : crosses(question, plan) ? SLOTS_CROSSING
                                            : SLOTS;
  plan->slots = plan->overlap ? (int)dm_min(slots, longest) : 1;
}

/* The box of ranks that makes a node's traffic least; a node's ranks must form whole boxes. */
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

/* Which groups have all their ranks on one node; in plain order, row after row of the grid. */
static void set_windows(const dm_question *question, dm_plan *plan) {
  const int per_node = question->machine->ranks_per_node;
  const bool one_node = dm_plan_used(plan) <= per_node;
  const bool boxed = plan->qm * plan->qn * plan->qk > 1;
  if (!question->machine->windows || plan->gpu) return;
  plan->window_a = dm_plan_fetches_a(plan) &&
                   (one_node || (boxed ? plan->qn == plan->pn : per_node % plan->pn == 0));
  plan->window_b =
      dm_plan_fetches_b(plan) &&
      (one_node || (boxed ? plan->qm == plan->pm : per_node % (plan->pm * plan->pn) == 0));
}

/* Residences in order of preference: in the GPU what can be there, on the host the rest. */
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
      /* What lies in host memory may be gathered there, or from the GPUs that it was uploaded to.
       */
      bool reachable =
          links || (!(fetched_a && v->a == DM_IN_DEVICE) && !(fetched_b && v->b == DM_IN_DEVICE));
      v->brought = question->wishes->brings && hosted == 0;
      bool wanted = !(question->wishes->from_device && hosted != 0) &&
                    !(question->wishes->from_host && hosted != 3 && !v->brought);
      if (!reachable || !wanted) continue;
      count++;
      if (!links || !((fetched_a && v->a == DM_IN_DEVICE) || (fetched_b && v->b == DM_IN_DEVICE)))
        continue;
      variants[count] = *v;
      v->in_place = true; /* first, and as a ring where that does not fit */
      count++;
    }
    if (!fetched_a && !fetched_b) break;
  }
  return count;
}

/* Panels come from files while others are multiplied. */
static bool reads_behind(const dm_plan *plan) {
  return plan->problem.from_files && plan->overlap;
}

/* The panel widths worth trying, widest first: a layer in 1, 2, 3, 4, 6, 8, 12, ... panels. */
static int widths(const dm_question *question, const dm_plan *plan, int64_t width[64]) {
  const int64_t units = dm_ceil_div(plan->problem.k, DM_PANEL_STEP);
  const int64_t layer = dm_ceil_div(units, plan->pk);
  if (plan->reproducible || question->wishes->panel > 0) {
    int64_t wish = plan->reproducible ? DM_REPRODUCIBLE_PANEL : question->wishes->panel;
    width[0] = plan->reproducible ? wish : dm_min(wish, units * DM_PANEL_STEP);
    return 1;
  }
  const bool windowed = plan->window_a || plan->window_b;
  if (!streams(plan) && (windowed || (reads_behind(plan) && !plan->gpu))) {
    const int64_t wide = reads_behind(plan) ? SLICE : WINDOWED;
    const int64_t panels = dm_ceil_div(layer * DM_PANEL_STEP, wide); /* of about equal width */
    width[0] = dm_ceil_div(layer, dm_max(1, panels)) * DM_PANEL_STEP;
    return 1;
  }
  int64_t fewest = streams(plan) && layer >= SHORT_LAYER ? FEWEST_PANELS : 1;
  int count = 0;
  for (int64_t panels = 1, next; count < 64; panels = next) {
    next = panels == 1 ? 2 : panels & (panels - 1) ? panels / 3 * 4 : panels / 2 * 3;
    if (panels < fewest) continue;
    int64_t kb = dm_ceil_div(layer, panels) * DM_PANEL_STEP;
    if (count == 0 || kb < width[count - 1]) width[count++] = kb;
    if (!(streams(plan) || reads_behind(plan)) || kb == DM_PANEL_STEP) break;
  }
  return count;
}

/* The best width for a plan that is complete but for it; false where none fits, and then the
 * narrowest. */
static bool choose_width(const dm_question *question, dm_plan *plan) {
  int64_t width[64], chosen = 0;
  double least = INFINITY;
  int count = widths(question, plan, width);
  const bool read = plan->gpu && reads_behind(plan);
  const int64_t narrow = read                      ? NARROW_READ
                         : crosses(question, plan) ? NARROW_CROSSING
                         : plan->gpu               ? NARROW
                                                   : SLICE;
  for (int i = 0; i < count; i++) {
    if (chosen > 0 && width[i] < narrow) break;
    set_panels(question, plan, width[i]);
    if (dm_plan_pressure(plan, question->machine) > 1) continue;
    dm_forecast f = dm_plan_forecast(plan, question->machine);
    /* Narrow panels are sooner there, which counts where products wait for the first one. */
    const double seconds =
        plan->gpu && reads_behind(plan) ? f.total : f.gemm + f.exposed + f.reduce;
    if (seconds <= least * tolerance) chosen = width[i];
    least = fmin(least, seconds);
  }
  if (chosen == 0) return false;
  set_panels(question, plan, chosen);
  plan->forecast = dm_plan_forecast(plan, question->machine);
  return true;
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
  memcpy(base.rates, question->machine->rates, sizeof base.rates);
  base.reproducible = wishes->reproducible;
  base.border = wishes->reproducible ? DM_BORDER : 0;
  base.tiles_m = base.tiles_n = base.blocks = 1;
  base.overlap = !wishes->no_overlap;
  base.gpu = question->machine->gpu;
  base.process_bytes = question->machine->process_bytes;
  base.copies_a = question->machine->copies_a;
  base.copies_b = question->machine->copies_b;
  base.a = base.b = DM_IN_HOST;
  set_panels(question, &base, DM_PANEL_STEP); /* something for the counts below */
  set_box(question, &base);
  set_windows(question, &base);
  int count = residences(question, &base, variants);
  double least = INFINITY;
  if (count == 0) return DM_UNREACHABLE;
  *plan = variants[0];
  for (int i = 0; i < count && wishes->tiles_m == 0; i++) {
    if (choose_width(question, &variants[i])) {
      *plan = variants[i];
      if (base.problem.from_files) dm_plan_cut_for_time(question, plan);
      dm_plan_choose_strips(question, plan);
      return DM_COMPLETE;
    }
    double pressure = dm_plan_pressure(&variants[i], question->machine);
    if (i == 0 || pressure < least) *plan = variants[i];
    least = fmin(least, pressure);
  }
  dm_plan cut = base;
  if (question->in_tiles && (base.problem.from_files || dm_plan_returns(&base)) &&
      !wishes->from_device &&
      (dm_plan_cut(question, &cut) || least == INFINITY ||
       dm_plan_pressure(&cut, question->machine) < least))
    *plan = cut;
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
  plan->bound_words = dm_bound_words(p->m, p->n, p->k, dm_plan_used(plan),
                                     (double)memory / (double)dm_dtype_size(p->work));
  plan->host_bytes = need.total[DM_HOST];
  plan->device_bytes = need.total[DM_DEVICE];
  plan->disk_bytes = p->from_files ? p->m * p->n * dm_dtype_size(p->c) + p->beside_bytes : 0;
  plan->forecast = dm_plan_forecast(plan, machine);
  if (!p->from_files) return;
  /* What all ranks may hold; memory that is not stated is not limited. */
  const double bytes =
      (double)machine->host_bytes + (plan->gpu ? (double)machine->device_bytes : 0);
  const double words = (double)dm_plan_used(plan) * bytes / (double)dm_dtype_size(p->work);
  const double c = (double)p->m * (double)p->n;
  plan->file_words = dm_plan_read_words(plan, DM_A) + dm_plan_read_words(plan, DM_B) + c;
  plan->file_bound_words = dm_bound_file_words(p->m, p->n, p->k, machine->host_bytes ? words : 0);
  if (!p->reads_c) return;
  plan->file_words += c;
  plan->file_bound_words += c;
}
