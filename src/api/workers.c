#include "api/library.h"

#include "comm/team.h"

dm_status dm_workers_new(int ranks, dm_crew **workers) {
  DM_TRY(dm_crew_new(ranks, workers));
  const int started = dm_crew_threads(*workers);
  if (started == ranks) return DM_OK;
  dm_crew_free(*workers);
  *workers = NULL;
  return dm_fail(DM_E_FIT, "only %d of %d ranks could be started", started, ranks);
}

/* ---- calls of a context that has several GPUs ---- */

damier_matrix dm_led_part(const damier_matrix *m, int rank) {
  damier_matrix none = m->parts ? m->parts[rank] : *m;
  none.parts = NULL;
  if (m->parts || rank == 0) return none;
  none.data = NULL;
  none.own_rows = 0;
  none.memory = DAMIER_HOST_MEMORY;
  none.stream = NULL;
  return none;
}

/* An error that only one rank knows ends the call of all. */
static void end_all(const damier_context *context, dm_status status) {
  if (status && !status->agreed) dm_team_break(context->run.world, status);
}

typedef struct led_round {
  const dm_led_call *call;
  damier_context *leader;
  dm_status status; /* of rank 0 */
} led_round;

static void workers_follow(void *argument, int64_t rank) {
  led_round *round = argument;
  const dm_led_call *call = round->call;
  if (rank == 0) {
    round->status = call->work(round->leader, call); /* may close it */
    end_all(round->leader, round->status);
    return;
  }
  damier_context *own = call->led[rank];
  dm_plain_numbers numbers;
  dm_plain_numbers_begin(&numbers);
  own->numbers = numbers;
  dm_status status = call->work(own, call);
  end_all(own, status);
  dm_status_free(status);
  dm_plain_numbers_end(&numbers);
}

dm_status dm_lead(dm_led_call *call) {
  damier_context *leader = call->leader;
  led_round round = {.call = call, .leader = leader};
  call->led = leader->led;
  if (!leader->workers) return call->work(leader, call);
  dm_crew_each(leader->workers, workers_follow, &round);
  return round.status;
}
