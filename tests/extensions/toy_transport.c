/* A transport: host's messages, counted. */
#include <stdlib.h>

#include "extensions/toys.h"
#include "transport/transport.h"
#include "transport/transport_list.h"

_Atomic int toy_gathers;

typedef struct toy {
  dm_transport base;
  dm_transport *host;
} toy;

static const dm_transport_ops toy_transport;

static dm_status toy_open(const dm_transport_config *config, dm_transport **transport) {
  toy *t = calloc(1, sizeof *t);
  if (!t) abort();
  t->base.ops = &toy_transport;
  *transport = &t->base;
  return dm_transport_open(&dm_transport_host, config, &t->host);
}

static void toy_close(dm_transport *transport) {
  dm_transport_close(((toy *)transport)->host);
  free(transport);
}

static dm_status toy_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  toy_gathers++;
  return dm_transport_post(((toy *)transport)->host, gather, ticket);
}

static dm_status toy_test(dm_transport *transport, int ticket, bool *done) {
  return dm_transport_test(((toy *)transport)->host, ticket, done);
}

static const dm_transport_ops toy_transport = {.name = "toy",
                                               .about = "for tests",
                                               .open = toy_open,
                                               .close = toy_close,
                                               .post = toy_post,
                                               .test = toy_test};

const dm_transport_ops *const dm_transport_list[] = {&dm_transport_self, &dm_transport_host,
                                                     &toy_transport, NULL};
