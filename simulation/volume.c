#include "volume.h"

#include "core/view.h"
#include "plan/partition.h"

typedef struct receiver {
  int rank, per_node;
  sim_volume sum;
} receiver;

static int64_t padded_bytes(int64_t elements, dm_dtype type) {
  return dm_device_row(elements * dm_dtype_size(type));
}

static void add(receiver *r, int from, int64_t bytes) {
  if (from == r->rank) return;
  r->sum.received += bytes;
  if (from / r->per_node != r->rank / r->per_node) r->sum.crossed += bytes;
}

sim_volume sim_volume_of(const dm_plan *plan, int rank, int per_node) {
  receiver r = {.rank = rank, .per_node = per_node};
  const dm_coords at = dm_plan_coords(plan, rank);
  if (at.idle) return r.sum;
  const dm_problem *p = &plan->problem;
  const dm_range layer = dm_plan_layer(plan, at.l);
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, at.j));
  int64_t width = 0;
  for (int64_t panel = layer.begin; panel < layer.end; panel++)
    width += padded_bytes(dm_range_size(dm_plan_panel(plan, panel)), p->work);
  for (int j = 0; j < plan->pn; j++)
    add(&r, dm_plan_rank(plan, at.i, j, at.l),
        dm_range_size(dm_plan_a_share(plan, 0, at.i, j)) * width);
  for (int i = 0; i < plan->pm; i++)
    add(&r, dm_plan_rank(plan, i, at.j, at.l),
        dm_plan_b_share_rows(plan, i, at.l) * padded_bytes(cols, p->work));
  for (int l = 0; l < plan->pk; l++)
    if (dm_range_size(dm_plan_layer(plan, l)) > 0)
      add(&r, dm_plan_rank(plan, at.i, at.j, l),
          dm_range_size(dm_plan_c_share(plan, 0, at.i, at.l)) * padded_bytes(cols, p->accumulator));
  r.sum.read = dm_range_size(dm_plan_a_share(plan, 0, at.i, at.j)) *
                   dm_range_size(dm_plan_layer_k(plan, at.l)) * dm_dtype_size(p->file_a) +
               dm_plan_b_share_rows(plan, at.i, at.l) * cols * dm_dtype_size(p->file_b);
  r.sum.written = dm_range_size(dm_plan_c_share(plan, 0, at.i, at.l)) * cols * dm_dtype_size(p->c);
  return r.sum;
}
