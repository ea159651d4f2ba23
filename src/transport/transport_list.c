#include "transport/transport_list.h"

#include <stddef.h>

const dm_transport_ops *const dm_transport_list[] = {&dm_transport_self,
                                                     &dm_transport_host,
                                                     &dm_transport_shared,
                                                     &dm_transport_ipc,
                                                     &dm_transport_nccl,
                                                     &dm_transport_ipc_nccl,
                                                     NULL};
