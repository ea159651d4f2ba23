#include "transport/transport.h"

#include <stddef.h>

#include "transport/transport_list.h"

const dm_transport_ops *const *dm_transport_all(void) {
  static const dm_transport_ops *const all[] = {&dm_transport_self, &dm_transport_host, NULL};
  return all;
}

const dm_transport_ops *dm_transport_auto(int ranks) {
  return ranks == 1 ? &dm_transport_self : &dm_transport_host;
}

dm_status dm_transport_open(const dm_transport_ops *ops, dm_transport **transport) {
  if (ops->not_built)
    return dm_fail(DM_E_DEVICE, "transport %s is not built: %s", ops->name, ops->not_built);
  return ops->open(transport);
}

void dm_transport_close(dm_transport *transport) {
  if (transport) transport->ops->close(transport);
}

dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  return transport->ops->post(transport, gather, ticket);
}

dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done) {
  return transport->ops->test(transport, ticket, done);
}

int64_t dm_transport_received(const dm_transport *transport) {
  return transport->ops->received(transport);
}
