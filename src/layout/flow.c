#include "layout/flow.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/links.h"
#include "transport/transport_table.h"

enum { FLOW_TAGS = 1 << 15 };

/* Peers read the memory until the transport is closed. */
static void flow_close_memory(dm_workspace *space) {
  dm_transport_close(space->transport);
  if (space->memory) dm_backend_release(space->backend, DM_DEVICE, space->memory);
  space->transport = NULL;
  space->memory = NULL;
  space->bytes = 0;
  space->fillings = 0;
}

/* After the transport failed on a rank all ranks have stopped: what was posted ends without its
 * peers, and nothing else is started. */
static void abandon(dm_workspace *space) {
  if (space->transport) dm_transport_abandon(space->transport);
  flow_close_memory(space);
}

void dm_flow_keep_error(dm_flow *f, dm_status status) {
  if (!f->failure)
    f->failure = status;
  else
    dm_status_free(status);
}

/* Nobody reads the place of ITEM any more: neither peers nor this rank. */
static dm_status is_free(const dm_flow *f, int64_t item, bool *free) {
  const int64_t last = f->ops->before(f->context, item);
  *free = last < 0;
  if (*free || last >= f->taken) return DM_OK;
  if (!dm_transport_drained(f->space->transport, DM_WORKSPACE_SHARE, f->base + (uint64_t)last + 1))
    return DM_OK;
  return f->ops->done(f->context, last, free);
}

static dm_status advance_copies(dm_flow *f, bool *moved) {
  bool free = false;
  if (f->copying == f->items || f->copying - f->arrived == DM_GATHERS) return DM_OK;
  DM_TRY(is_free(f, f->copying, &free));
  if (!free) return DM_OK;
  *moved = true;
  dm_event *copied = &f->copied[f->copying % DM_GATHERS];
  *copied = 0;
  return f->ops->give(f->context, f->copying++, copied);
}

static dm_status post_gather(dm_flow *f, int64_t item) {
  dm_transport *transport = f->space->transport;
  dm_gather gather = {.group = f->run->world,
                      .offset = f->lists.offset,
                      .bytes = f->lists.bytes,
                      .source = f->lists.source,
                      .share = DM_WORKSPACE_SHARE,
                      .sent = f->lists.sent,
                      .sent_bytes = f->lists.sent_bytes,
                      .filling = f->base + (uint64_t)item + 1,
                      .tag = (int)(item % FLOW_TAGS)};
  f->ops->lay_out(f->context, item, &f->lists, &gather);
  dm_transport_refilled(transport, DM_WORKSPACE_SHARE, gather.filling);
  return dm_transport_post(transport, &gather, &f->tickets[item % DM_GATHERS]);
}

/* The transport's errors end the flow. */
static dm_status advance_gathers(dm_flow *f, bool *moved) {
  bool done = true;
  const bool may = f->published < f->copying && f->published - f->arrived < DM_GATHERS;
  if (may && !f->failure)
    dm_flow_keep_error(
        f, dm_backend_test(f->space->backend, f->copied[f->published % DM_GATHERS], &done));
  if (may && (done || f->failure)) {
    DM_TRY(post_gather(f, f->published));
    f->published++;
    *moved = true;
  }
  if (f->arrived == f->published) return DM_OK;
  DM_TRY(dm_transport_test(f->space->transport, f->tickets[f->arrived % DM_GATHERS], &done));
  f->arrived += done;
  *moved |= done;
  return DM_OK;
}

static dm_status advance_taking(dm_flow *f, bool *moved) {
  bool taken = false;
  if (f->taken == f->arrived || f->waits) return DM_OK;
  DM_TRY(f->ops->take(f->context, f->taken, &taken, moved));
  f->taken += taken;
  return DM_OK;
}

/* Starts or completes what can be. */
static dm_status flow_advance(dm_flow *f, bool *moved) {
  *moved = false;
  if (!f->failure) dm_flow_keep_error(f, advance_copies(f, moved));
  DM_TRY(advance_gathers(f, moved));
  if (!f->failure) dm_flow_keep_error(f, advance_taking(f, moved));
  if (!f->failure) return DM_OK;
  f->copying = f->items; /* peers get anything */
  f->taken = f->arrived;
  return DM_OK;
}

/* Until ITEMS have been taken, or only published: *COUNT. Broken: the transport's error. */
static void flow_run(dm_flow *f, const int64_t *count, int64_t items) {
  bool moved;
  while (*count < items && !f->broke) {
    f->broke = flow_advance(f, &moved);
    if (moved) dm_watch_moved(f->run->watch);
    dm_watch_poll(f->run->watch);
    if (!moved && !f->broke) f->broke = dm_transport_yield(f->space->transport);
  }
  /* The peers go on without this rank. */
  if (f->broke) dm_transport_abandon(f->space->transport);
}

void dm_flow_start(dm_flow *flow, int64_t first) {
  const int ranks = flow->run->ranks;
  const bool waits = flow->waits;
  int64_t *lists = flow->space->lists;
  flow->base = flow->space->fillings;
  flow->lists = (dm_flow_lists){lists, lists + ranks, lists + 2 * ranks, lists + 3 * ranks,
                                lists + 4 * ranks};
  flow->waits = true;
  flow_run(flow, &flow->published, dm_min(first, flow->items));
  flow->waits = waits;
}

void dm_flow_take(dm_flow *flow) {
  flow->waits = false;
  flow_run(flow, &flow->taken, flow->items);
}

void dm_flow_poll(dm_flow *f) {
  bool moved;
  if (f->broke) return;
  f->broke = flow_advance(f, &moved);
  if (moved) dm_watch_moved(f->run->watch);
  if (f->broke) dm_transport_abandon(f->space->transport);
}

dm_status dm_flow_end(dm_flow *f) {
  const dm_comm *world = f->run->world;
  /* After a failure copies may still read the caller's matrix. */
  for (int i = 0; i < DM_GATHERS; i++)
    dm_flow_keep_error(f, dm_backend_wait(f->space->backend, f->copied[i]));
  f->space->fillings += (uint64_t)f->items;
  int64_t broken = f->broke != DM_OK;
  dm_status status = dm_comm_agree(world, dm_status_first(f->failure, f->broke));
  if (!status) return DM_OK;
  dm_status counted = dm_comm_max_i64(world, &broken, 1);
  if (!counted && broken) abandon(f->space);
  return dm_status_first(status, counted);
}

/* ---- the workspace ---- */

static const int64_t spare = (int64_t)512 << 20;

void dm_workspace_close(dm_workspace *space) {
  flow_close_memory(space);
  dm_staging_close(&space->staging);
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

/* Leaves room for the BLAS library and for sums. */
static dm_status flow_allocate(dm_workspace *space, int64_t bytes) {
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
  *there = space->bytes > 0 && space->bytes >= bytes;
  if (*there) return DM_OK;
  flow_close_memory(space);
  /* A product of which nothing travels needs the transport, too. */
  bytes = dm_round_up(bytes > 0 ? bytes : 1, DM_SLAB);
  dm_status status = dm_comm_agree(run->world, flow_allocate(space, bytes));
  if (status) {
    flow_close_memory(space);
    if (status->code != DM_E_FIT) return status;
    dm_status_free(status);
    return DM_OK;
  }
  status = dm_links_open(run, space->backend, space->links.chosen, &space->transport);
  if (!status)
    status = dm_comm_agree(run->world, dm_transport_expose(space->transport, DM_WORKSPACE_SHARE,
                                                           run->world, space->memory, bytes));
  if (status) abandon(space);
  if (!status) space->bytes = bytes;
  *there = !status;
  return status;
}
