/* two_level: a transport made of two, one between ranks of a node and one between nodes. */
#ifndef DM_TRANSPORT_TWO_LEVEL_H
#define DM_TRANSPORT_TWO_LEVEL_H

#include "transport/transport.h"

/* As dm_transport_ops.open.  Pieces of ranks on config.node travel by INSIDE, as does what a rank
 * keeps for itself; all others by BETWEEN, which is given no other.  Both borrow CONFIG's
 * communicators. */
dm_status dm_two_level_open(const dm_transport_ops *ops, const dm_transport_ops *inside,
                            const dm_transport_ops *between, const dm_transport_config *config,
                            dm_transport **transport);

/* The table of all functions but name, about, not_built and open. */
#define DM_TWO_LEVEL                                                                               \
  .close = dm_two_level_close, .abandon = dm_two_level_abandon, .expose = dm_two_level_expose,     \
  .filled = dm_two_level_filled, .refilled = dm_two_level_refilled,                                \
  .drained = dm_two_level_drained, .post = dm_two_level_post, .test = dm_two_level_test,           \
  .received = dm_two_level_received, .crossed = dm_two_level_crossed

void dm_two_level_close(dm_transport *transport);
void dm_two_level_abandon(dm_transport *transport);
dm_status dm_two_level_expose(dm_transport *transport, int share, const dm_comm *group,
                              void *memory, int64_t bytes);
void dm_two_level_filled(dm_transport *transport, int share);
void dm_two_level_refilled(dm_transport *transport, int share, uint64_t times);
bool dm_two_level_drained(const dm_transport *transport, int share, uint64_t times);
dm_status dm_two_level_post(dm_transport *transport, const dm_gather *gather, int *ticket);
dm_status dm_two_level_test(dm_transport *transport, int ticket, bool *done);
int64_t dm_two_level_received(const dm_transport *transport);
int64_t dm_two_level_crossed(const dm_transport *transport);

#endif
