#include "engine/publish.h"

#include "plan/partition.h"

static bool is_upload(const dm_step *step) {
  return step->kind == DM_STEP_UPLOAD_A || step->kind == DM_STEP_UPLOAD_B;
}

static dm_factor *factor_of(const dm_published *s, dm_matrix matrix) {
  return matrix == DM_A ? &s->local->a : &s->local->b;
}

/* Whether peers read pieces from the slots that they are uploaded to. */
static bool gives_slots(const dm_published *s, dm_matrix matrix) {
  const dm_route *route = &factor_of(s, matrix)->route;
  return route->given != route->piece;
}

static bool in_slots(const dm_published *s, const dm_step *step) {
  return gives_slots(s, dm_step_matrix(step->kind));
}

static int64_t turn_of(const dm_published *s, const dm_step *step) {
  return dm_step_turn(s->local->plan, step, s->local->panels);
}

void dm_publish_open(dm_rank_state *local, bool brings, dm_published *published) {
  *published = (dm_published){.local = local};
  published->in_parts = brings && dm_plan_tiles(local->plan) == 1 && !dm_plan_streams(local->plan);
}

void dm_publish_close(dm_published *s) {
  for (int x = 0; x < 2; x++) {
    const bool slots = gives_slots(s, (dm_matrix)x);
    const int64_t shown = slots ? s->shown[x] : s->in_parts ? s->loaded[x] : 0;
    factor_of(s, (dm_matrix)x)->fillings += (uint64_t)shown;
  }
}

uint64_t dm_publish_filling(const dm_published *s, const dm_step *step) {
  if (!s->in_parts && !in_slots(s, step)) return 1;
  return factor_of(s, dm_step_matrix(step->kind))->fillings + (uint64_t)turn_of(s, step) + 1;
}

/* Pieces of this run or, in its first turns, all pieces of the previous run. */
bool dm_publish_may_begin(const dm_published *s, const dm_step *step) {
  if (!is_upload(step) || !in_slots(s, step)) return true;
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const uint64_t before = factor_of(s, matrix)->fillings, slots = (uint64_t)s->local->plan->slots;
  const uint64_t next = dm_publish_filling(s, step);
  const uint64_t times = next > before + slots ? next - slots : before;
  return times <= 1 || dm_transport_drained(s->local->transport, (int)matrix, times);
}

bool dm_publish_is_next(const dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  if (is_upload(step)) return !in_slots(s, step) || turn_of(s, step) <= s->shown[matrix];
  return !s->in_parts || turn_of(s, step) <= s->loaded[matrix];
}

/* If nothing is multiplied meanwhile, a share is published when complete. */
void dm_publish_loaded(dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  const int64_t loaded = ++s->loaded[matrix];
  if (in_slots(s, step)) return;
  if (s->in_parts)
    dm_transport_refilled(s->local->transport, (int)matrix,
                          factor_of(s, matrix)->fillings + (uint64_t)loaded);
  else if (step->panel == s->local->panels.end - 1)
    dm_transport_filled(s->local->transport, (int)matrix);
}

void dm_publish_uploaded(dm_published *s, const dm_step *step) {
  const dm_matrix matrix = dm_step_matrix(step->kind);
  if (!in_slots(s, step)) return;
  s->shown[matrix]++;
  dm_transport_refilled(s->local->transport, (int)matrix, dm_publish_filling(s, step));
}
