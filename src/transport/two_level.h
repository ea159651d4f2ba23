/* two_level: combines two transports, one inside nodes and one between them. */
#ifndef DM_TRANSPORT_TWO_LEVEL_H
#define DM_TRANSPORT_TWO_LEVEL_H

#include "transport/transport.h"

/* Implements dm_transport_ops.open for OPS, which has no other functions. Pieces of ranks on
 * config.node, including the rank's own, use INSIDE; all others use BETWEEN. Both borrow CONFIG's
 * communicators. */
dm_status dm_two_level_open(const dm_transport_ops *ops, const dm_transport_ops *inside,
                            const dm_transport_ops *between, const dm_transport_config *config,
                            dm_transport **transport);

#endif
