#include "plan/panel_width.h"

#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "plan/buffers.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"
#include "plan/volume.h"

enum {
  PANEL_WIDTH_SLOTS =
      2, /* one is filled while the other is read; the model predicts no gain from a third */
  SLOTS_CROSSING = 4, /* a CPU rank's message sometimes waits for the end of a slice of a product at
                       the peer; measured over links of 1 Gbit/s */
  SLOTS_IN_PLACE = 3, /* cost nothing there, and give a late panel one more product's time */
  FEWEST_PANELS = 4,  /* panels of a streaming layer: keeps the first and the last short */
  FEWEST_RAMPED = 2,  /* the same if ramp-up panels are possible */
  SHORT_LAYER = 32,   /* in units of DM_PANEL_STEP; shorter layers may have fewer panels */
  IN_SHARED_SLOTS = 1536, /* costs a CPU product nothing, which is cut at 384 anyway; a run can stop
                           between panels */
  PANEL_WIDTH_SLICE = 384, /* that cut; the limit for panels that hide reading of the next ones */
  SLICE_WIDENED = 1024,    /* the same for types that the CPU widens to f32 (backend/cpu_blas.c) */
  NARROW_CROSSING = 128,
  PANEL_WIDTH_NARROW = 512, /* narrower only for lack of memory, */
  NARROW_READ = 2048,       /* or, on GPUs, for files slower than predicted */
  PANEL_WIDTH_TOGETHER =
      8, /* panels read together at FAST or more: a strip is copied to the GPU panel by panel */
};

static const double fast = 8e9; /* bytes per second of a rank */

static const double tolerance =
    1.005; /* accepted increase of the time without files, to need less memory */
static const double panel_width_margin =
    1.25; /* links may be slower than predicted by this factor */

static bool streams(const dm_plan *plan) {
  const dm_route a = dm_plan_route(plan, DM_A), b = dm_plan_route(plan, DM_B);
  return dm_route_moves(&a) || dm_route_moves(&b);
}

/* Each panel has its own slot in GPU memory. */
static bool keeps_slots(const dm_plan *plan) {
  return dm_plan_route(plan, DM_A).piece == DM_DEVICE_RING ||
         dm_plan_route(plan, DM_B).piece == DM_DEVICE_RING;
}

/* Ranks that multiply on CPUs receive panels as messages from other nodes. */
static bool crosses(const dm_question *question, const dm_plan *plan) {
  return !plan->gpu && streams(plan) && dm_plan_used(plan) > question->machine->ranks_per_node;
}

/* Panels are read from files while others are multiplied. */
static bool reads_behind(const dm_plan *plan) {
  return dm_plan_reads_files(&plan->problem) && plan->overlap && !plan->read_first;
}

/* Panels are copied from the caller's memory to shares on GPUs while others are multiplied. */
static bool brings_behind(const dm_plan *plan) {
  return plan->overlap && (dm_plan_brings(plan, DM_A) || dm_plan_brings(plan, DM_B));
}

void dm_plan_set_panels(const dm_question *question, dm_widths widths, dm_plan *plan) {
  plan->kb = widths.kb;
  memcpy(plan->ramp, widths.ramp, sizeof plan->ramp);
  plan->panels = dm_panels_of(plan->problem.k, plan->pk, plan->kb, plan->ramp);
  int64_t longest = dm_range_size(dm_plan_layer(plan, 0));
  int64_t slots = keeps_slots(plan)         ? SLOTS_IN_PLACE
                  : crosses(question, plan) ? SLOTS_CROSSING
                                            : PANEL_WIDTH_SLOTS;
  plan->slots = plan->overlap ? (int)dm_min(slots, longest) : 1;
}

/* ---- candidates ---- */

/* Depth of a layer, in units of DM_PANEL_STEP. */
static int64_t panel_width_depth_of(const dm_plan *plan) {
  return dm_ceil_div(dm_ceil_div(plan->problem.k, DM_PANEL_STEP), plan->pk);
}

/* Whether ramp-up panels are possible: between GPUs, when products take longer than the moves they
 * hide. */
static bool may_ramp(const dm_question *question, const dm_plan *plan) {
  return plan->gpu && plan->device_links && plan->overlap && !plan->reproducible &&
         question->wishes->panel == 0 && streams(plan);
}

/* Bytes of op(A) and op(B) that a rank reads in a panel: fewer take the steps of a panel, which are
 * a few microseconds and a request to the threads that read, as long as their product. */
enum { LEAST_BYTES = 1 << 20 };

int64_t dm_plan_least_panel(const dm_plan *plan) {
  const int64_t rows = dm_range_size(dm_plan_rows(plan, 0, 0));
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, 0));
  return LEAST_BYTES / dm_sat_mul(dm_sat_add(rows, cols), dm_dtype_size(plan->problem.work));
}

int64_t dm_plan_longest_panel(const dm_plan *plan) {
  const int64_t piece = plan->gpu ? plan->problem.compute.piece : 0;
  return piece > 0 ? dm_max(DM_PANEL_STEP, piece / DM_PANEL_STEP * DM_PANEL_STEP) : INT64_MAX;
}

/* Panel widths to try, widest first: a layer in 1, 2, 3, 4, 6, 8, 12, ... panels. */
static int panel_width_widths(const dm_question *question, const dm_plan *plan, int64_t width[64]) {
  const int64_t units = dm_ceil_div(plan->problem.k, DM_PANEL_STEP);
  const int64_t layer = panel_width_depth_of(plan);
  const int64_t piece = dm_plan_longest_panel(plan) / DM_PANEL_STEP;
  if (plan->reproducible || question->wishes->panel > 0) {
    int64_t wish = plan->reproducible ? DM_REPRODUCIBLE_PANEL : question->wishes->panel;
    width[0] = plan->reproducible ? wish : dm_min(wish, units * DM_PANEL_STEP);
    return 1;
  }
  const bool shared = plan->shared_a || plan->shared_b;
  const bool files = dm_plan_reads_files(&plan->problem) && plan->overlap;
  if (!streams(plan) && (shared || (files && !plan->gpu))) {
    const bool widened = dm_dtype_size(plan->problem.work) < dm_dtype_size(DM_F32);
    const int64_t slice = widened ? SLICE_WIDENED : PANEL_WIDTH_SLICE;
    const int64_t wide =
        dm_max(files ? slice : IN_SHARED_SLOTS, /* also if A and B are read first */
               dm_plan_least_panel(plan));
    const int64_t panels = dm_ceil_div(layer * DM_PANEL_STEP, wide); /* of about equal width */
    width[0] = dm_ceil_div(layer, dm_max(1, panels)) * DM_PANEL_STEP;
    return 1;
  }
  const int64_t few = may_ramp(question, plan) ? FEWEST_RAMPED : FEWEST_PANELS;
  int64_t fewest =
      dm_max(streams(plan) && layer >= SHORT_LAYER ? few : 1, dm_ceil_div(layer, piece));
  int count = 0;
  for (int64_t panels = 1, next; count < 64; panels = next) {
    next = panels == 1 ? 2 : panels & (panels - 1) ? panels / 3 * 4 : panels / 2 * 3;
    if (panels < fewest) continue;
    int64_t kb = dm_ceil_div(layer, panels) * DM_PANEL_STEP;
    if (count == 0 || kb < width[count - 1]) width[count++] = kb;
    const bool arrives = streams(plan) || reads_behind(plan) || brings_behind(plan);
    if (!arrives || kb == DM_PANEL_STEP) break;
  }
  return count;
}

/* A width less than WIDTH whose product lasts while the panel of WIDTH arrives, which takes PART of
 * that panel's product. 0: no gain. */
static int64_t ramp_before(int64_t width, double part) {
  const int64_t least = (int64_t)ceil(panel_width_margin * part * (double)width);
  const int64_t ramp = dm_max(dm_round_up(least, DM_PANEL_STEP), PANEL_WIDTH_NARROW);
  return 2 * ramp <= width ? ramp : 0;
}

/* RAMPS narrow panels before those of PLAN, if they help: only the move of the first panel is not
 * hidden. */
static dm_widths ramped(const dm_question *question, const dm_plan *plan, int ramps) {
  const dm_forecast f = dm_plan_forecast(plan, question->machine);
  const double part = (f.fetch + f.upload) / f.gemm;
  int64_t ramp[DM_RAMP + 1] = {plan->kb}; /* starting with the widest */
  dm_widths w = {.kb = plan->kb};
  if (!may_ramp(question, plan) || part > 0.5) return w;
  for (int i = 0; i < ramps; i++) ramp[i + 1] = ramp[i] > 0 ? ramp_before(ramp[i], part) : 0;
  for (int i = 0; i < ramps && ramp[ramps] > 0; i++) w.ramp[i] = ramp[ramps - i];
  return w;
}

dm_widths dm_plan_stated_widths(const dm_question *question, const dm_plan *plan, int64_t kb) {
  dm_widths w = {.kb = kb};
  memcpy(w.ramp, question->wishes->ramp, sizeof w.ramp);
  for (int ramps = dm_plan_ramp_count(w.ramp); ramps > 0; w.ramp[--ramps] = 0)
    if (dm_panels_of(plan->problem.k, plan->pk, kb, w.ramp) >= (ramps + 1) * plan->pk) break;
  return w;
}

/* ---- the choice ---- */

typedef struct panel_width_search {
  const dm_question *question;
  dm_plan *plan;
  dm_widths best; /* so far; kb 0: none fits */
  double least;
} panel_width_search;

static void panel_width_consider(panel_width_search *s, dm_widths widths) {
  dm_plan_set_panels(s->question, widths, s->plan);
  if (dm_plan_pressure(s->plan, s->question->machine) > 1) return;
  const dm_forecast f = dm_plan_forecast(s->plan, s->question->machine);
  /* Narrow panels arrive earlier, which matters if products wait for the first one. */
  const double seconds =
      s->plan->gpu && reads_behind(s->plan) ? f.total : f.gemm + f.exposed + f.reduce;
  if (seconds <= s->least * tolerance) s->best = widths;
  s->least = fmin(s->least, seconds);
}

/* Panels of about KB, equally wide or after narrow ones. */
static void consider_both(panel_width_search *s, int64_t kb) {
  const int64_t layer = panel_width_depth_of(s->plan) * DM_PANEL_STEP;
  const int64_t panels = dm_ceil_div(layer, kb);
  panel_width_consider(s, (dm_widths){.kb = kb});
  for (int ramps = 1; ramps <= DM_RAMP && panels >= FEWEST_RAMPED; ramps++) {
    dm_plan_set_panels(s->question, (dm_widths){.kb = kb}, s->plan);
    dm_widths w = ramped(s->question, s->plan, ramps);
    if (w.ramp[0] == 0) return;
    w.kb = dm_round_up(dm_ceil_div(layer - w.ramp[0] - w.ramp[1], panels), DM_PANEL_STEP);
    panel_width_consider(s, w);
  }
}

bool dm_plan_choose_width(const dm_question *question, dm_plan *plan) {
  panel_width_search s = {.question = question, .plan = plan, .least = INFINITY};
  int64_t width[64];
  int count = panel_width_widths(question, plan, width);
  const bool read = plan->gpu && reads_behind(plan);
  const int64_t together = question->machine->file_read < fast * dm_plan_used(plan)
                               ? 0
                               : dm_plan_run_wanted(plan) / dm_dtype_size(plan->problem.work);
  const int64_t narrow = read ? dm_max(NARROW_READ, together / PANEL_WIDTH_TOGETHER)
                         : crosses(question, plan) ? NARROW_CROSSING
                         : plan->gpu               ? PANEL_WIDTH_NARROW
                                                   : PANEL_WIDTH_SLICE;
  for (int i = 0; i < count; i++) {
    if (s.best.kb > 0 && width[i] < narrow) break;
    if (question->wishes->ramp[0] > 0)
      panel_width_consider(&s, dm_plan_stated_widths(question, plan, width[i]));
    else
      consider_both(&s, width[i]);
  }
  if (s.best.kb == 0) return false;
  dm_plan_set_panels(question, s.best, plan);
  plan->forecast = dm_plan_forecast(plan, question->machine);
  return true;
}
