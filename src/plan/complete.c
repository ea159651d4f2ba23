#include "plan/complete.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "plan/buffers.h"
#include "plan/grid_cost.h"
#include "plan/out_of_core.h"
#include "plan/panel_width.h"
#include "plan/partition.h"
#include "plan/route.h"
#include "plan/runs.h"
#include "plan/tiles.h"
#include "plan/volume.h"

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
    dm_plan_cut_for_time(question, limit, plan);
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
  const bool batch = dm_problem_entries(&base.problem) > 1; /* a tile is part of one entry */
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
      (dm_plan_cut(question, &cut) || least == INFINITY ||
       dm_plan_pressure(&cut, question->machine) < least))
    *plan = cut;
  if (batch && !question->in_tiles) return DM_TOO_LARGE;
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
      dm_plan_in_file(p, DM_C) ? p->m * p->n * dm_dtype_size(p->c) + p->beside_bytes : 0;
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
  const bool all = dm_plan_all_in_files(p);
  if (all)
    plan->file_bound_words =
        (double)dm_problem_entries(p) *
        dm_bound_file_words(dm_problem_entry_rows(p), p->n, p->k, machine->host_bytes ? words : 0);
  if (!p->reads_c || !dm_plan_in_file(p, DM_OLD)) return;
  plan->file_words += c;
  if (all) plan->file_bound_words += c;
}

enum {
  STRIPS = 8,      /* strips of a block */
  STRETCHES = 256, /* stretches to try */
  THINNEST = 64,   /* least rows of a strip */
  THINNEST_ON_GPU = 1024,
};

static const double worth = 0.995; /* strips must reduce the time to this fraction */

/* All panels that a product reads remain in memory until the last one has arrived. */
static bool keeps_panels(const dm_plan *plan) {
  const dm_route a = dm_plan_route(plan, DM_A), b = dm_plan_route(plan, DM_B);
  return dm_route_keeps_panels(&a) && dm_route_keeps_panels(&b);
}

static int most_strips(const dm_plan *plan) {
  const int64_t thinnest = plan->gpu ? THINNEST_ON_GPU : THINNEST;
  const int64_t step = dm_max(plan->border, thinnest);
  const int64_t rows = dm_range_size(dm_plan_c_share(plan, 0, plan->pm - 1, plan->pk - 1));
  return (int)dm_min(STRIPS, rows / step);
}

static double price(const dm_question *question, dm_plan *plan) {
  plan->forecast = dm_plan_forecast(plan, question->machine);
  return plan->forecast.total;
}

void dm_plan_choose_strips(const dm_question *question, dm_plan *plan) {
  const bool leaves = dm_plan_has_files(&plan->problem) || dm_plan_returns(plan) || plan->pk > 1;
  const int64_t shortest = dm_range_size(dm_plan_layer(plan, plan->pk - 1));
  plan->strips = 0;
  plan->stretch = 0;
  if (!leaves || !plan->overlap || dm_plan_tiles(plan) > 1 || dm_plan_streams(plan) ||
      plan->problem.symmetry != DM_NO_SYMMETRY || /* images are stored when all rows are there */
      !keeps_panels(plan))
    return;
  const int strips = most_strips(plan);
  dm_plan best = *plan, trial = *plan;
  double least = price(question, &best);
  const int64_t step = dm_max(1, dm_ceil_div(shortest, STRETCHES));
  trial.strips = strips;
  for (trial.stretch = step; trial.stretch <= shortest && strips > 1; trial.stretch += step) {
    const double seconds = price(question, &trial);
    if (seconds >= worth * least) continue;
    best = trial;
    least = seconds;
  }
  *plan = best;
}
