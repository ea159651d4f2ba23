#include "core/clock.h"
#include "programs/pairwise.h"
#include "programs/pairwise_impl.h"

dm_status dm_pairwise_run(dm_in_place *kept, dm_run *run, const dm_multiply *m, dm_record *record) {
  pairwise p = {.run = run, .kept = kept, .started = dm_now(), .record = record};
  p.in_memory = m->in_memory[DM_A] || m->in_memory[DM_B] || m->in_memory[DM_C];
  if (m->equation.half != DM_BOTH_HALVES)
    return dm_comm_agree(run->world,
                         dm_hint(dm_fail(DM_E_USAGE, "--missing pairwise makes both halves of C"),
                                 "leave out --triangle"));
  return dm_pairwise_make(&p, m, dm_pairwise_deliver);
}
