/* mover: the memory and copy functions that a transport uses. */
#ifndef DM_TRANSPORT_MOVER_H
#define DM_TRANSPORT_MOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "core/view.h"

/* A backend's allocation and copies (backend.h), for transports that stage GPU memory through the
 * host. */
typedef struct dm_mover {
  void *context;
  dm_status (*alloc)(void *context, dm_space space, int64_t bytes, void **memory);
  void (*release)(void *context, dm_space space, void *memory);
  dm_status (*copy)(void *context, dm_view dst, dm_view src, uint64_t *event);
  dm_status (*test)(void *context, uint64_t event, bool *done);
} dm_mover;

#endif
