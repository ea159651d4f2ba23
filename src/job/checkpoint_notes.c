/* Every rank reports its tiles on the disk to rank 0, in order; rank 0 records them. */
#include <sched.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "job/checkpoint_impl.h"
#include "run/aside.h"

enum { TAG = 75 };

static bool writes(const dm_checkpoint *c) {
  return c->run->rank < c->used;
}

dm_status dm_notes_open(dm_checkpoint *c) {
  DM_TRY(dm_buffer_table(c->tiles + 1, &c->mine));
  for (int64_t t = 0; t <= c->tiles; t++) c->mine[t].tile = t;
  DM_TRY(dm_messages_new(&c->sent));
  if (c->run->rank != 0) return DM_OK;
  DM_TRY(dm_buffer_table(c->tiles, &c->missing));
  for (int64_t t = 0; t < c->tiles; t++) c->missing[t] = c->used;
  DM_TRY(dm_buffer_table(c->used, &c->tellers));
  for (int r = 1; r < c->used; r++) DM_TRY(dm_messages_new(&c->tellers[r].messages));
  return DM_OK;
}

void dm_notes_close(dm_checkpoint *c) {
  for (int r = 1; c->tellers && r < c->used; r++) dm_messages_free(c->tellers[r].messages);
  dm_messages_free(c->sent);
  free(c->tellers);
  free(c->missing);
  free(c->mine);
}

static void take(dm_checkpoint *c, const dm_tile_note *note) {
  c->records[note->tile].checksum += note->checksum;
  c->missing[note->tile]--;
  const int64_t all = dm_plan_todo(c->plan);
  while (c->complete < all && c->missing[dm_plan_todo_tile(c->plan, c->complete)] == 0)
    c->complete++;
}

static dm_status send_note(dm_checkpoint *c, const dm_tile_note *note) {
  return dm_messages_send(c->sent, c->comm, note, sizeof *note, 0, TAG);
}

dm_status dm_notes_tell(dm_checkpoint *c, int64_t end) {
  for (; c->told < end; c->told++) {
    const dm_tile_note *note = &c->mine[dm_plan_todo_tile(c->plan, c->told)];
    if (c->run->rank == 0)
      take(c, note);
    else
      DM_TRY(send_note(c, note));
  }
  bool done;
  return dm_messages_test(c->sent, &done);
}

static dm_status take_from(dm_checkpoint *c, int rank) {
  dm_teller *teller = &c->tellers[rank];
  bool arrived = true;
  while (arrived && !teller->ended) {
    if (!teller->asked)
      DM_TRY(dm_messages_receive(teller->messages, c->comm, &teller->note, sizeof teller->note,
                                 rank, TAG));
    teller->asked = true;
    DM_TRY(dm_messages_test(teller->messages, &arrived));
    if (!arrived) return DM_OK;
    teller->asked = false;
    teller->ended = teller->note.tile == c->tiles;
    if (!teller->ended) take(c, &teller->note);
  }
  return DM_OK;
}

dm_status dm_notes_take(dm_checkpoint *c) {
  for (int r = 1; r < c->used; r++) DM_TRY(take_from(c, r));
  return DM_OK;
}

static bool all_ended(const dm_checkpoint *c) {
  for (int r = 1; r < c->used; r++)
    if (!c->tellers[r].ended) return false;
  return true;
}

dm_status dm_notes_end(dm_checkpoint *c) {
  if (c->run->rank != 0) {
    if (writes(c)) DM_TRY(send_note(c, &c->mine[c->tiles]));
    return dm_messages_wait(c->sent);
  }
  while (!all_ended(c)) {
    DM_TRY(dm_notes_take(c));
    dm_watch_poll(c->run->watch);
    sched_yield();
  }
  return DM_OK;
}

static dm_status append_notes(void *context, const dm_keepalive *keepalive) {
  dm_checkpoint *c = context;
  (void)keepalive; /* writes few bytes */
  if (dm_journal_state_of(c->journal) != DM_JOURNAL_PRESENT)
    DM_TRY(dm_journal_begin(c->journal, &c->fields));
  const int64_t count = c->complete - c->written;
  dm_tile_record *list;
  DM_TRY(dm_buffer_table(count, &list));
  for (int64_t i = 0; i < count; i++)
    list[i] = c->records[dm_plan_todo_tile(c->plan, c->written + i)];
  dm_status status = dm_journal_append(c->journal, list, count);
  free(list);
  return status;
}

dm_status dm_notes_record(dm_checkpoint *c) {
  if (!c->on || c->complete == c->written) return DM_OK;
  DM_TRY(dm_run_aside(c->run, append_notes, c));
  for (; c->written < c->complete; c->written++)
    dm_tile_reach(c->states, dm_plan_todo_tile(c->plan, c->written), DM_TILE_RECORDED);
  return DM_OK;
}
