/* Finds transports by name. */
#include <string.h>

#include "transport/transport.h"
#include "transport/transport_list.h"

const dm_transport_ops *const *dm_transport_all(void) {
  return dm_transport_list;
}

const dm_transport_ops *dm_transport_find(const char *name) {
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++)
    if (strcmp((*ops)->name, name) == 0) return *ops;
  return NULL;
}
