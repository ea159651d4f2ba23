/* transport: moves panels between ranks.
 *
 * A transport moves host memory by messages, or GPU memory by pulls: every rank exposes its shares
 * once, reports when they are filled, and peers read their pieces from them. Ranks of one node can
 * also keep panels in shared slots, memory that all of them map: then nothing moves. */
#ifndef DM_TRANSPORT_TRANSPORT_H
#define DM_TRANSPORT_TRANSPORT_H

#include "transport/transport_table.h"

/* All names, built or not; NULL at the end. */
const dm_transport_ops *const *dm_transport_all(void);

/* The table of NAME, built or not; NULL for an unknown name. */
const dm_transport_ops *dm_transport_find(const char *name);

/* Collective in the config's group, with the same outcome on all its ranks. DM_E_DEVICE says why
 * these ranks cannot use the transport. */
dm_status dm_transport_open(const dm_transport_ops *ops, const dm_transport_config *config,
                            dm_transport **transport);

/* NULL is allowed; every gather must be done. Collective: returns when no peer reads this rank's
 * exposed memory any more, so that it may be freed. */
void dm_transport_close(dm_transport *transport);

/* Replaces close after a failure; local to this rank, frees nothing. Stops operations that need no
 * peer; memory that peers may still read or write remains. */
void dm_transport_abandon(dm_transport *transport);

/* Lets the ranks of GROUP read BYTES of this rank's MEMORY as its share SHARE. Collective in GROUP,
 * whose ranks all learn of failures. MEMORY must be an allocation of its own: the driver shares
 * whole blocks of 2 MiB with all their contents. */
dm_status dm_transport_expose(dm_transport *transport, int share, const dm_comm *group,
                              void *memory, int64_t bytes);

/* Zeroed memory of BYTES that the ranks of GROUP, all on one node, map at addresses of their own;
 * it holds their shares SHARE. Collective in GROUP, with the same outcome on all its ranks. The
 * transport owns the memory and frees it when closed. A gather of this share has its slots, and
 * OWN, in this memory; it is done when all ranks have reported theirs as filled. */
dm_status dm_transport_slots_open(dm_transport *transport, int share, const dm_comm *group,
                                  int64_t bytes, void **memory);

/* Reports that this rank's share is complete: peers may read the pieces that they requested. */
void dm_transport_filled(dm_transport *transport, int share);

/* For shares that are filled in parts or again: this rank's is now complete for gathers of up to
 * TIMES fillings. TIMES only grows; dm_transport_filled counts as the first. */
void dm_transport_refilled(dm_transport *transport, int share, uint64_t times);

/* Whether peers have finished reading this rank's share for gathers of up to TIMES fillings, as far
 * as they read it without this rank. This rank's own such gathers must be done. */
bool dm_transport_drained(const dm_transport *transport, int share, uint64_t times);

/* Starts a gather and returns its *ticket; test progresses all gathers and sets *done for one. */
dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket);
dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done);

/* Yields while nothing can be done until something arrives. May return earlier, except in the
 * simulation's transports, which return once some gather is done. */
dm_status dm_transport_yield(dm_transport *transport);

/* Bytes received from other ranks so far. */
int64_t dm_transport_received(const dm_transport *transport);

#endif
