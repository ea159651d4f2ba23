/* slow_transport: another one, on a rank that sleeps before every gather. */
#ifndef DM_TESTS_SLOW_TRANSPORT_H
#define DM_TESTS_SLOW_TRANSPORT_H

#include <unistd.h>

#include "transport/transport.h"

enum { SLOW_DELAY = 100 * 1000 };

/* Another one, with a rank that sleeps before every gather. */
typedef struct slow_transport {
  dm_transport base;
  dm_transport *inner;
  bool late;
} slow_transport;

static inline dm_status slow_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  slow_transport *slow = (slow_transport *)transport;
  if (slow->late) usleep(SLOW_DELAY);
  return dm_transport_post(slow->inner, gather, ticket);
}

static inline dm_status slow_test(dm_transport *transport, int ticket, bool *done) {
  return dm_transport_test(((slow_transport *)transport)->inner, ticket, done);
}

static inline void slow_filled(dm_transport *transport, int share) {
  dm_transport_filled(((slow_transport *)transport)->inner, share);
}

static inline void slow_refilled(dm_transport *transport, int share, uint64_t times) {
  dm_transport_refilled(((slow_transport *)transport)->inner, share, times);
}

static inline bool slow_drained(const dm_transport *transport, int share, uint64_t times) {
  return dm_transport_drained(((const slow_transport *)transport)->inner, share, times);
}

static inline void slow_close(dm_transport *transport) {
  dm_transport_close(((slow_transport *)transport)->inner);
}

static const dm_transport_ops slow_ops = {.name = "slow",
                                          .device_memory = true,
                                          .close = slow_close,
                                          .filled = slow_filled,
                                          .refilled = slow_refilled,
                                          .drained = slow_drained,
                                          .post = slow_post,
                                          .test = slow_test};

static inline slow_transport slow_around(dm_transport *inner, bool late) {
  return (slow_transport){.base.ops = &slow_ops, .inner = inner, .late = late};
}

#endif
