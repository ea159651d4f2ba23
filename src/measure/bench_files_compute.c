/* The products of a plan with nothing read or written: what computing and moving panels take. */
#include "core/clock.h"
#include "engine/generated_source.h"
#include "measure/bench_files_impl.h"
#include "plan/tiles.h"

/* Slots and shares keep what the first round has filled them with. */
static dm_status two_rounds(dm_files_bench *b, dm_rank_state *local, double *seconds) {
  const dm_comm *world = b->run->world;
  dm_generated_source source =
      dm_generated_random(local->plan->problem.work, b->wanted->product.seed);
  const dm_step_calls filling = {.context = &source, .load = dm_source_generated.load}, none = {0};
  const unsigned products = DM_PRODUCTS | DM_SUMS;
  const bool streams = dm_plan_streams(local->plan);
  const unsigned kinds = streams ? products | DM_LOADS : products;
  if (!streams) DM_TRY(dm_comm_agree(world, dm_execute(local, DM_LOADS, &filling)));
  DM_TRY(dm_comm_barrier(world));
  DM_TRY(dm_execute(local, kinds, streams ? &filling : &none));
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  DM_TRY(dm_execute(local, kinds, &none));
  *seconds = dm_now() - start;
  return dm_comm_max_f64(world, seconds, 1);
}

dm_status dm_bench_files_compute(dm_files_bench *b, double *seconds) {
  dm_setup setup;
  dm_rank_state local;
  dm_run_phase(b->run, "multiplying alone", 1);
  dm_bench_files_memory(b);
  DM_TRY(dm_setup_open(b->run, &b->multiply.engine, &b->last.plan.problem, &setup));
  setup.plan = b->last.plan;
  setup.plan.strips = 0; /* all in one go */
  setup.plan.stretch = 0;
  setup.plan.todo = NULL;
  dm_status status = dm_rank_open(b->run, &setup.plan, setup.backend, setup.transport, &local);
  if (!status || status->agreed) {
    if (!status) status = two_rounds(b, &local, seconds);
    if (status && !status->agreed) return status;
    dm_rank_close(&local);
    dm_setup_close(&setup);
  }
  return status;
}
