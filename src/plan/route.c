#include "plan/route.h"

#include "plan/partition.h"
#include "plan/tiles.h"

dm_route dm_plan_route(const dm_plan *plan, dm_matrix matrix) {
  const bool a = matrix == DM_A;
  dm_route r = {.fetched = a ? dm_plan_fetches_a(plan) : dm_plan_fetches_b(plan),
                .uploaded = a ? dm_plan_uploads_a(plan) : dm_plan_uploads_b(plan),
                .piece = DM_SHARE};
  if (a ? plan->shared_a : plan->shared_b) {
    r.piece = r.given = r.gathered = r.operand = DM_SHARED_SLOTS;
    return r;
  }
  r.linked = r.fetched && plan->device_links;
  if (r.linked && plan->in_place && !r.uploaded) r.piece = DM_DEVICE_RING;
  if (r.fetched) r.gathered = r.linked ? DM_DEVICE_RING : DM_HOST_RING;
  r.given = r.linked && r.uploaded ? DM_DEVICE_RING : r.piece;
  r.operand = r.uploaded ? DM_DEVICE_RING : r.fetched ? r.gathered : r.piece;
  return r;
}
