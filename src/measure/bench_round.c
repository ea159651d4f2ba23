#include "measure/bench_round.h"

#include "core/checked.h"
#include "plan/partition.h"

static dm_view sums_of(const dm_rank_state *local) {
  return local->plan->pk > 1 ? local->c_sum : local->c;
}

dm_status dm_bench_round_open(dm_rank_state *local, dm_bench_round *round) {
  const dm_plan *plan = local->plan;
  const dm_dtype type = plan->problem.c;
  *round = (dm_bench_round){0};
  if (type == plan->problem.accumulator || local->coords.idle) return DM_OK;
  const bool on_host = !plan->gpu || (plan->pk > 1 && !plan->device_links);
  const dm_space space = on_host ? DM_HOST : DM_DEVICE;
  const dm_range rows = dm_plan_c_share(plan, 0, local->coords.i, local->coords.l);
  const int64_t stride = on_host ? local->c.cols : dm_device_stride(local->c.cols, type);
  int64_t bytes;
  void *memory;
  DM_TRY(dm_bytes_of(dm_range_size(rows), stride, dm_dtype_size(type), &bytes));
  DM_TRY(dm_backend_alloc(local->backend, space, bytes, &memory));
  round->c = dm_view_strided(memory, type, space, dm_range_size(rows), local->c.cols, stride);
  round->local = local;
  return DM_OK;
}

void dm_bench_round_close(dm_bench_round *round) {
  if (round->local) dm_backend_release(round->local->backend, round->c.space, round->c.base);
}

static dm_status convert(const dm_bench_round *round, dm_view dst, dm_view src) {
  dm_event done;
  DM_TRY(dm_backend_copy(round->local->backend, dst, src, &done));
  return dm_backend_wait(round->local->backend, done);
}

dm_status dm_bench_round_run(const dm_bench_round *round) {
  return round->local ? convert(round, round->c, sums_of(round->local)) : DM_OK;
}

dm_status dm_bench_round_show(const dm_bench_round *round) {
  return round->local ? convert(round, sums_of(round->local), round->c) : DM_OK;
}
