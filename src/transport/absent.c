/* Transports that were not built, with the reason. */
#include "transport/transport_list.h"

#ifndef DM_HAVE_CUDA
const dm_transport_ops dm_transport_ipc = {
    .name = "ipc",
    .about = "GPU to GPU inside a node: pulls through CUDA IPC",
    .not_built = "this program was built without CUDA (configure with -DDAMIER_CUDA=ON)",
    .device_memory = true,
    .one_node = true,
};

const dm_transport_ops dm_transport_ipc_nccl = {
    .name = "ipc+nccl",
    .about = "ipc inside a node, NCCL between nodes",
    .not_built = "this program was built without CUDA (configure with -DDAMIER_CUDA=ON)",
    .device_memory = true,
};
#endif

#ifndef DM_HAVE_NCCL
const dm_transport_ops dm_transport_nccl = {
    .name = "nccl",
    .about = "GPU to GPU, also between nodes: sent by NCCL",
    .not_built = "this program was built without NCCL (configure with -DDAMIER_NCCL=ON)",
    .device_memory = true,
};
#endif
