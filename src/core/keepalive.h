/* keepalive: how a long piece of work tells those above that it moves, and hears whether to go on.
 */
#ifndef DM_CORE_KEEPALIVE_H
#define DM_CORE_KEEPALIVE_H

#include <stddef.h>

#include "core/status.h"

typedef struct dm_keepalive {
  dm_status (*beat)(void *context); /* anything but DM_OK ends the work with it */
  void *context;
} dm_keepalive;

/* KEEPALIVE may be NULL: nobody wants to know. */
static inline dm_status dm_keepalive_beat(const dm_keepalive *keepalive) {
  return keepalive && keepalive->beat ? keepalive->beat(keepalive->context) : DM_OK;
}

#endif
