/* delayed_transport: wraps a transport; its gathers start or complete late. */
#ifndef DM_TESTS_DELAYED_TRANSPORT_H
#define DM_TESTS_DELAYED_TRANSPORT_H

#include <unistd.h>

#include "transport/transport.h"

typedef struct delayed_transport {
  dm_transport base;
  dm_transport *inner;
  int sleep;    /* microseconds, before every gather */
  int patience; /* number of tests before every second gather may complete */
  int posted, tests[DM_GATHERS];
} delayed_transport;

static inline dm_status delayed_post(dm_transport *transport, const dm_gather *gather,
                                     int *ticket) {
  delayed_transport *d = (delayed_transport *)transport;
  if (d->sleep > 0) usleep((useconds_t)d->sleep);
  DM_TRY(dm_transport_post(d->inner, gather, ticket));
  d->tests[*ticket] = d->posted++ % 2 == 0 ? d->patience : 0;
  return DM_OK;
}

static inline dm_status delayed_test(dm_transport *transport, int ticket, bool *done) {
  delayed_transport *d = (delayed_transport *)transport;
  *done = false;
  return d->tests[ticket]-- > 0 ? DM_OK : dm_transport_test(d->inner, ticket, done);
}

static inline void delayed_refilled(dm_transport *transport, int share, uint64_t times) {
  dm_transport_refilled(((delayed_transport *)transport)->inner, share, times);
}

static inline bool delayed_drained(const dm_transport *transport, int share, uint64_t times) {
  return dm_transport_drained(((const delayed_transport *)transport)->inner, share, times);
}

static inline void delayed_close(dm_transport *transport) {
  dm_transport_close(((delayed_transport *)transport)->inner);
}

static const dm_transport_ops delayed_ops = {.name = "delayed",
                                             .device_memory = true,
                                             .close = delayed_close,
                                             .refilled = delayed_refilled,
                                             .drained = delayed_drained,
                                             .post = delayed_post,
                                             .test = delayed_test};

static inline delayed_transport delayed(dm_transport *inner) {
  return (delayed_transport){.base.ops = &delayed_ops, .inner = inner};
}

#endif
