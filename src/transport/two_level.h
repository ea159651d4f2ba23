/* two_level: a transport made of two, one between ranks of a node and one between nodes. */
#ifndef DM_TRANSPORT_TWO_LEVEL_H
#define DM_TRANSPORT_TWO_LEVEL_H

#include "transport/transport.h"

/* As dm_transport_ops.open, for OPS, which has no other functions.  Pieces of ranks on config.node
 * travel by INSIDE, as does what a rank keeps for itself; all others by BETWEEN, which is given no
 * other.  Both borrow CONFIG's communicators. */
dm_status dm_two_level_open(const dm_transport_ops *ops, const dm_transport_ops *inside,
                            const dm_transport_ops *between, const dm_transport_config *config,
                            dm_transport **transport);

#endif
