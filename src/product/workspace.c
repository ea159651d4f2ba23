#include "product/workspace.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/links.h"
#include "transport/transport_table.h"

static const int64_t spare = (int64_t)512 << 20;

/* Peers read the memory until the transport is closed. */
static void close_memory(dm_workspace *space) {
  dm_transport_close(space->transport);
  if (space->memory) dm_backend_release(space->backend, DM_DEVICE, space->memory);
  space->transport = NULL;
  space->memory = NULL;
  space->bytes = 0;
  space->fillings = 0;
}

/* All ranks have stopped: what was posted ends without its peers, and nothing else is started. */
void dm_workspace_abandon(dm_workspace *space) {
  if (space->transport) dm_transport_abandon(space->transport);
  close_memory(space);
}

void dm_workspace_close(dm_workspace *space) {
  close_memory(space);
  free(space->tried);
  free(space->lists);
  *space = (dm_workspace){0};
}

static dm_status choose_links(dm_workspace *space, const dm_run *run, dm_backend *backend,
                              const char *transport) {
  if (space->tried && strcmp(space->tried, transport) == 0 && space->backend == backend)
    return DM_OK;
  dm_workspace_close(space);
  space->backend = backend;
  space->tried = strdup(transport);
  dm_status status = dm_buffer_table(5 * (int64_t)run->ranks, &space->lists);
  if (!status && !space->tried) status = dm_fail(DM_E_FIT, "no memory for a transport");
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_links_choose(run, backend, transport, &space->links);
}

static dm_status expose(dm_workspace *space, const dm_run *run, int64_t bytes) {
  DM_TRY(dm_links_open(run, space->backend, space->links.chosen, &space->transport));
  return dm_comm_agree(run->world, dm_transport_expose(space->transport, DM_WORKSPACE_SHARE,
                                                       run->world, space->memory, bytes));
}

/* Leaves room for the BLAS library and for sums. */
static dm_status allocate(dm_workspace *space, int64_t bytes) {
  dm_device device;
  DM_TRY(dm_backend_device(space->backend, &device));
  if (device.memory_free < bytes || device.memory_free - bytes < spare)
    return dm_fail(DM_E_FIT, "no GPU memory for a workspace");
  return dm_backend_alloc(space->backend, DM_DEVICE, bytes, &space->memory);
}

dm_status dm_workspace_open(dm_workspace *space, const dm_run *run, dm_backend *backend,
                            const char *transport, int64_t bytes, bool *there) {
  *there = false;
  DM_TRY(choose_links(space, run, backend, transport));
  if (!space->links.chosen->device_memory) return DM_OK;
  *there = space->bytes >= bytes;
  if (*there) return DM_OK;
  close_memory(space);
  bytes = dm_round_up(bytes, DM_SLAB);
  dm_status status = dm_comm_agree(run->world, allocate(space, bytes));
  if (status) {
    close_memory(space);
    if (status->code != DM_E_FIT) return status;
    dm_status_free(status);
    return DM_OK;
  }
  status = expose(space, run, bytes);
  if (status) dm_workspace_abandon(space);
  if (!status) space->bytes = bytes;
  *there = !status;
  return status;
}
