/* All ranks together: do the members of each group post the same gathers and sums, and do all
 * ranks reach the end?
 *
 * Every rank here has one step under way and waits for it, in the order of its list.  That is the
 * strictest way to run: a ready step stays ready, so ranks with more steps under way, in any order
 * of progress, can always do the same.  If all these ranks finish, no execution can block. */
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "steps/simulate.h"

typedef struct runner {
  dm_cursor cursor;
  dm_step step; /* under way */
  bool ended, posted;
} runner;

/* The number of ranks that have posted each gather and sum. */
typedef struct board {
  const dm_simulation *simulation;
  runner *runners;
  int *rows;   /* [i][tile][panel] */
  int *cols;   /* [j][tile][panel] */
  int *sides;  /* [tile][panel]: of a layer, which owns its panels */
  int *layers; /* [tile, or strip][i][j] */
} board;

/* The counter of the step's group, and how many ranks the group has; NULL for steps of one rank. */
static int *counter_of(const board *b, const runner *r, int *members) {
  const dm_plan *plan = b->simulation->plan;
  const dm_coords *at = &r->cursor.coords;
  const int64_t turns = dm_plan_tiles(plan) * plan->panels;
  const int64_t turn = r->step.tile * plan->panels + r->step.panel;
  const int64_t sum = r->step.strip < 0 ? r->step.tile : r->step.strip;
  switch (r->step.kind) {
  case DM_STEP_FETCH_A:
    *members = plan->pn;
    return &b->rows[at->i * turns + turn];
  case DM_STEP_FETCH_B:
    *members = plan->pm;
    return &b->cols[at->j * turns + turn];
  case DM_STEP_CHECK:
    *members = plan->pm * plan->pn;
    return &b->sides[turn];
  case DM_STEP_REDUCE:
    *members = plan->pk;
    return &b->layers[(sum * plan->pm + at->i) * plan->pn + at->j];
  default:
    return NULL;
  }
}

static dm_status post(const board *b, runner *r, int rank) {
  int members, *counter = counter_of(b, r, &members);
  r->posted = true;
  if (!counter || ++*counter <= members) return DM_OK;
  return dm_fail(DM_E_BUG, "matching: rank %d, step %lld (%s): posted by more than %d ranks", rank,
                 (long long)r->step.index, dm_step_name(r->step.kind), members);
}

static bool is_done(const board *b, const runner *r) {
  int members, *counter = counter_of(b, r, &members);
  return !counter || *counter == members;
}

static void advance(const board *b, runner *r) {
  r->ended = !b->simulation->source(b->simulation->context, &r->cursor, &r->step);
  r->posted = false;
}

/* Runs one rank until it must wait; *moved: whether it made progress. */
static dm_status run(const board *b, runner *r, int rank, bool *moved) {
  while (!r->ended) {
    if (!r->posted) {
      DM_TRY(post(b, r, rank));
      *moved = true;
    }
    if (!is_done(b, r)) break;
    advance(b, r);
    *moved = true;
  }
  return DM_OK;
}

static dm_status run_all(const board *b, int used) {
  for (int rank = 0; rank < used; rank++) {
    dm_cursor_start(&b->runners[rank].cursor, b->simulation->plan, rank);
    advance(b, &b->runners[rank]);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < used; rank++) DM_TRY(run(b, &b->runners[rank], rank, &moved));
  }
  for (int rank = 0; rank < used; rank++) {
    const runner *r = &b->runners[rank];
    if (!r->ended)
      return dm_fail(DM_E_BUG, "matching: rank %d, step %lld (%s): waits forever", rank,
                     (long long)r->step.index, dm_step_name(r->step.kind));
  }
  return DM_OK;
}

static dm_status allocate_counters(int64_t groups, int64_t each, int **counters) {
  int64_t count;
  if (dm_mul_overflows(groups, each, &count))
    return dm_fail(DM_E_FIT, "the steps of %lld panels are too many to simulate", (long long)each);
  return dm_buffer_zeroed(count, sizeof **counters, (void **)counters);
}

static dm_status allocate(board *b, const dm_plan *plan) {
  DM_TRY(dm_buffer_zeroed(dm_plan_used(plan), sizeof *b->runners, (void **)&b->runners));
  const int64_t tiles = dm_plan_tiles(plan), turns = tiles * plan->panels;
  DM_TRY(allocate_counters(plan->pm, turns, &b->rows));
  DM_TRY(allocate_counters(plan->pn, turns, &b->cols));
  DM_TRY(allocate_counters(1, turns, &b->sides));
  const int64_t sums = dm_max(tiles, dm_plan_strips(plan));
  return allocate_counters(sums, (int64_t)plan->pm * plan->pn, &b->layers);
}

dm_status dm_simulate_matching(const dm_simulation *simulation) {
  board b = {.simulation = simulation};
  dm_status status = allocate(&b, simulation->plan);
  if (!status) status = run_all(&b, dm_plan_used(simulation->plan));
  free(b.runners);
  free(b.rows);
  free(b.cols);
  free(b.sides);
  free(b.layers);
  return status;
}
