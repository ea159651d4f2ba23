#include <stdlib.h>

#include "comm/comm_impl.h"
#include "core/checked.h"

struct dm_messages {
  const dm_comm *comm; /* of the last message */
  dm_request *requests;
  int count, room;
};

dm_status dm_messages_new(dm_messages **messages) {
  *messages = calloc(1, sizeof **messages);
  return *messages ? DM_OK : dm_fail(DM_E_FIT, "no memory for messages");
}

void dm_messages_free(dm_messages *messages) {
  if (!messages) return;
  free(messages->requests);
  free(messages);
}

static dm_status reserve(dm_messages *messages, int64_t bytes) {
  int64_t needed = messages->count + dm_ceil_div(bytes, DM_MESSAGE_MAX);
  if (needed <= messages->room) return DM_OK;
  int room = (int)dm_max(needed, 2 * (int64_t)messages->room + 8);
  dm_request *requests = realloc(messages->requests, (size_t)room * sizeof *requests);
  if (!requests) return dm_fail(DM_E_FIT, "no memory for %d messages", room);
  messages->requests = requests;
  messages->room = room;
  return DM_OK;
}

dm_status dm_messages_send(dm_messages *messages, const dm_comm *comm, const void *data,
                           int64_t bytes, int peer, int tag) {
  DM_TRY(reserve(messages, bytes));
  messages->comm = comm;
  for (int64_t at = 0; at < bytes; at += DM_MESSAGE_MAX) {
    int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    DM_TRY(comm->ops->send(comm, (const char *)data + at, count, peer, tag,
                           &messages->requests[messages->count]));
    messages->count++;
  }
  return DM_OK;
}

dm_status dm_messages_receive(dm_messages *messages, const dm_comm *comm, void *data, int64_t bytes,
                              int peer, int tag) {
  DM_TRY(reserve(messages, bytes));
  messages->comm = comm;
  for (int64_t at = 0; at < bytes; at += DM_MESSAGE_MAX) {
    int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    DM_TRY(comm->ops->receive(comm, (char *)data + at, count, peer, tag,
                              &messages->requests[messages->count]));
    messages->count++;
  }
  return DM_OK;
}

dm_status dm_messages_test(dm_messages *messages, bool *done) {
  DM_TRY(dm_comm_test_all(messages->requests, messages->count, done));
  if (*done) messages->count = 0;
  return DM_OK;
}

dm_status dm_messages_rest(dm_messages *messages) {
  DM_TRY(dm_comm_wait_all(messages->requests, messages->count));
  messages->count = 0;
  return DM_OK;
}

dm_status dm_messages_wait(dm_messages *messages) {
  if (messages->count > 0)
    DM_TRY(dm_comm_finish(messages->comm, messages->requests, messages->count));
  messages->count = 0;
  return DM_OK;
}
