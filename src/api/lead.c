#include "api/lead.h"

#include "comm/team.h"

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

static void follow(void *argument, int rank) {
  const dm_led_call *call = argument;
  damier_context *own = call->led[rank];
  dm_plain_numbers numbers;
  dm_plain_numbers_begin(&numbers);
  own->numbers = numbers;
  call->work(own, call);
  dm_plain_numbers_end(&numbers);
}

void dm_lead_begin(dm_led_call *call) {
  call->led = call->leader->led;
  dm_followers_begin(call->leader->followers, follow, call);
}

dm_status dm_lead_end(const dm_led_call *call, dm_status status) {
  const damier_context *leader = call->leader;
  if (!leader->followers) return status;
  if (status && !status->agreed) dm_team_break(leader->run.world, status);
  dm_followers_end(leader->followers);
  return status;
}

void dm_led_done(damier_context *context, dm_status status) {
  if (status && !status->agreed) dm_team_break(context->run.world, status);
  dm_status_free(status);
}
