#include "transport/transport.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport_list.h"

dm_status dm_transport_open(const dm_transport_ops *ops, const dm_transport_config *config,
                            dm_transport **transport) {
  if (ops->not_built)
    return dm_fail(DM_E_DEVICE, "transport %s is not built: %s", ops->name, ops->not_built);
  return ops->open(config, transport);
}

void dm_transport_close(dm_transport *transport) {
  if (transport) transport->ops->close(transport);
}

void dm_transport_abandon(dm_transport *transport) {
  if (transport && transport->ops->abandon) transport->ops->abandon(transport);
}

dm_status dm_transport_expose(dm_transport *transport, int share, const dm_comm *group,
                              void *memory, int64_t bytes) {
  if (!transport->ops->expose) return DM_OK;
  if (share < 0 || share >= DM_SHARES || transport->exposed[share])
    return dm_fail(DM_E_BUG, "share %d cannot be exposed (again)", share);
  transport->exposed[share] = group;
  return transport->ops->expose(transport, share, group, memory, bytes);
}

dm_status dm_transport_slots_open(dm_transport *transport, int share, const dm_comm *group,
                                  int64_t bytes, void **memory) {
  if (!transport->ops->shared_slots)
    return dm_fail(DM_E_BUG, "transport %s has no shared slots", transport->ops->name);
  return transport->ops->shared_slots(transport, share, group, bytes, memory);
}

void dm_transport_filled(dm_transport *transport, int share) {
  dm_transport_refilled(transport, share, 1);
}

void dm_transport_refilled(dm_transport *transport, int share, uint64_t times) {
  if (transport->ops->refilled) transport->ops->refilled(transport, share, times);
}

bool dm_transport_drained(const dm_transport *transport, int share, uint64_t times) {
  return !transport->ops->drained || transport->ops->drained(transport, share, times);
}

dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  const int share = gather->share;
  if (transport->ops->expose &&
      (share < 0 || share >= DM_SHARES || transport->exposed[share] != gather->group))
    return dm_fail(DM_E_BUG, "a gather of share %d, which is not exposed to its group", share);
  return transport->ops->post(transport, gather, ticket);
}

dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done) {
  return transport->ops->test(transport, ticket, done);
}

dm_status dm_transport_yield(dm_transport *transport) {
  if (transport->ops->yield) return transport->ops->yield(transport);
  sched_yield();
  return DM_OK;
}

int64_t dm_transport_received(const dm_transport *transport) {
  return transport->ops->received ? transport->ops->received(transport) : transport->received;
}
