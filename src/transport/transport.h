/* transport: how panels move between ranks.  One table of functions; NULL in it means (optional).
 */
#ifndef DM_TRANSPORT_TRANSPORT_H
#define DM_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"

enum { DM_GATHERS = 16 }; /* gathers that may be under way at once */

/* One panel, gathered from all ranks of a group: rank r contributes BYTES[r] bytes, which stand at
 * OFFSET[r] of every rank's slot.  All ranks of the group post the same gathers, each under its own
 * tag; the order may differ. */
typedef struct dm_gather {
  const dm_comm *group;
  const void *own; /* this rank's piece; may be where it belongs in the slot already */
  void *slot;
  const int64_t *offset, *bytes; /* one entry per rank of the group; read while posting only */
  int tag;                       /* 0 .. 32767, not used by another gather of the group under way */
} dm_gather;

typedef struct dm_transport dm_transport;

typedef struct dm_transport_ops {
  const char *name;
  const char *about;
  const char *not_built; /* NULL, or why */
  bool device_memory;    /* pieces and slots are GPU memory */
  dm_status (*open)(dm_transport **transport);
  void (*close)(dm_transport *transport);
  dm_status (*post)(dm_transport *transport, const dm_gather *gather, int *ticket);
  dm_status (*test)(dm_transport *transport, int ticket, bool *done);
  int64_t (*received)(const dm_transport *transport); /* bytes from other ranks so far */
} dm_transport_ops;

struct dm_transport {
  const dm_transport_ops *ops;
};

/* All names, built or not; NULL at the end. */
const dm_transport_ops *const *dm_transport_all(void);

/* self for one rank, else host. */
const dm_transport_ops *dm_transport_auto(int ranks);

dm_status dm_transport_open(const dm_transport_ops *ops, dm_transport **transport);
void dm_transport_close(dm_transport *transport); /* NULL is allowed; every gather must be done */

/* Starts a gather; *ticket stands for it until test says that it is done. */
dm_status dm_transport_post(dm_transport *transport, const dm_gather *gather, int *ticket);

/* Moves all gathers on; *done frees the ticket. */
dm_status dm_transport_test(dm_transport *transport, int ticket, bool *done);

int64_t dm_transport_received(const dm_transport *transport);

#endif
