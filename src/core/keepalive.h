/* keepalive: lets long work report progress to its caller and ask whether to continue. */
#ifndef DM_CORE_KEEPALIVE_H
#define DM_CORE_KEEPALIVE_H

#include <stddef.h>

#include "core/status.h"

typedef struct dm_keepalive {
  dm_status (*beat)(void *context); /* an error ends the work and is returned */
  void *context;
} dm_keepalive;

/* KEEPALIVE may be NULL. */
static inline dm_status dm_keepalive_beat(const dm_keepalive *keepalive) {
  return keepalive && keepalive->beat ? keepalive->beat(keepalive->context) : DM_OK;
}

#endif
