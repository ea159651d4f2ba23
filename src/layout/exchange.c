#include "layout/exchange.h"

#include "core/checked.h"

enum {
  EXCHANGE_TURNS = 2,
  EXCHANGE_ALIGNED = 256 /* bytes, at multiples of which messages start */
};

/* Of the messages to all ranks, or from all, in a round. */
static const int64_t exchange_round_bytes = 64 << 20;

dm_status dm_message_rounds_of(int64_t lines, int64_t line_bytes, int64_t per_round, int ranks,
                               dm_message_rounds *rounds) {
  const int64_t most =
      (per_round > 0 ? per_round : exchange_round_bytes) / ranks / dm_max(1, line_bytes);
  rounds->height = dm_max(1, dm_min(lines, most));
  rounds->count = dm_ceil_div(lines, rounds->height);
  rounds->slot_bytes = dm_round_up(rounds->height * line_bytes, EXCHANGE_ALIGNED);
  return dm_bytes_of(2 * EXCHANGE_TURNS, ranks, lines > 0 ? rounds->slot_bytes : 0, &rounds->bytes);
}

typedef struct running_exchange {
  const dm_exchange_ops *ops;
  const void *context;
  const dm_run *run;
  dm_workspace *space;
  int64_t at;
  const dm_message_rounds *rounds;
  dm_event taken[EXCHANGE_TURNS]; /* the last copy from a message of a round */
} running_exchange;

/* Offset in the workspace of the message to (OUT) or from RANK, of a round. */
static int64_t exchange_place_of(const running_exchange *x, int64_t round, bool out, int rank) {
  const int64_t area = round % EXCHANGE_TURNS * 2 + out;
  return x->at + (area * x->run->ranks + rank) * x->rounds->slot_bytes;
}

static char *exchange_message_of(const running_exchange *x, int64_t round, bool out, int rank) {
  return (char *)x->space->memory + exchange_place_of(x, round, out, rank);
}

static int64_t exchange_bytes_of(const running_exchange *x, dm_exchange_message one) {
  return one.giver == one.taker ? 0 : x->ops->bytes(x->context, one);
}

static int64_t exchange_before(const void *context, int64_t round) {
  (void)context;
  return round - EXCHANGE_TURNS;
}

static dm_status is_taken(const void *context, int64_t round, bool *done) {
  const running_exchange *x = context;
  return dm_backend_test(x->space->backend, x->taken[round % EXCHANGE_TURNS], done);
}

static dm_status copy_all(const running_exchange *x, int64_t round, bool out, dm_event *done) {
  for (int r = 0; r < x->run->ranks; r++) {
    const dm_exchange_message one = {out ? x->run->rank : r, out ? r : x->run->rank, round};
    if (exchange_bytes_of(x, one) > 0)
      DM_TRY(x->ops->copy(x->context, one, exchange_message_of(x, round, out, r), done));
  }
  return DM_OK;
}

static dm_status exchange_give(void *context, int64_t round, dm_event *copied) {
  return copy_all(context, round, true, copied);
}

static dm_status exchange_take(void *context, int64_t round, bool *taken, bool *moved) {
  running_exchange *x = context;
  dm_event *done = &x->taken[round % EXCHANGE_TURNS];
  *done = 0;
  *taken = *moved = true;
  return copy_all(x, round, false, done);
}

static void exchange_lay_out(const void *context, int64_t round, const dm_flow_lists *lists,
                             dm_gather *gather) {
  const running_exchange *x = context;
  const int me = x->run->rank;
  gather->own = gather->slot = exchange_message_of(x, round, false, 0);
  for (int r = 0; r < x->run->ranks; r++) {
    lists->offset[r] = r * x->rounds->slot_bytes;
    lists->bytes[r] = exchange_bytes_of(x, (dm_exchange_message){r, me, round});
    lists->source[r] = exchange_place_of(x, round, true, me);
    lists->sent[r] = exchange_place_of(x, round, true, r);
    lists->sent_bytes[r] = exchange_bytes_of(x, (dm_exchange_message){me, r, round});
  }
}

dm_status dm_exchange_run(const dm_exchange_ops *ops, const void *context, const dm_run *run,
                          dm_workspace *space, int64_t at, const dm_message_rounds *rounds) {
  static const dm_flow_ops flow_ops = {.before = exchange_before,
                                       .done = is_taken,
                                       .give = exchange_give,
                                       .lay_out = exchange_lay_out,
                                       .take = exchange_take};
  running_exchange x = {ops, context, run, space, at, rounds, {0}};
  dm_flow flow = {.ops = &flow_ops,
                  .context = &x,
                  .run = run,
                  .space = space,
                  .items = rounds->count,
                  .waits = true};
  dm_event kept = 0;
  dm_flow_start(&flow, EXCHANGE_TURNS);
  dm_flow_keep_error(&flow, ops->keep(context, &kept));
  dm_flow_take(&flow);
  const dm_event posted[] = {kept, x.taken[0], x.taken[1]};
  for (int i = 0; i < 3; i++) dm_flow_keep_error(&flow, dm_backend_wait(space->backend, posted[i]));
  return dm_flow_end(&flow);
}
