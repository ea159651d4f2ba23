#include "product/flow.h"

#include "core/checked.h"

enum { TAGS = 1 << 15 };

void dm_flow_endure(dm_flow *f, dm_status status) {
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
                      .given = f->lists.given,
                      .given_bytes = f->lists.given_bytes,
                      .filling = f->base + (uint64_t)item + 1,
                      .tag = (int)(item % TAGS)};
  f->ops->lay_out(f->context, item, &f->lists, &gather);
  dm_transport_refilled(transport, DM_WORKSPACE_SHARE, gather.filling);
  return dm_transport_post(transport, &gather, &f->tickets[item % DM_GATHERS]);
}

/* The transport's errors end the flow. */
static dm_status advance_gathers(dm_flow *f, bool *moved) {
  bool done = true;
  const bool may = f->published < f->copying && f->published - f->arrived < DM_GATHERS;
  if (may && !f->failure)
    dm_flow_endure(f,
                   dm_backend_test(f->space->backend, f->copied[f->published % DM_GATHERS], &done));
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
static dm_status advance(dm_flow *f, bool *moved) {
  *moved = false;
  if (!f->failure) dm_flow_endure(f, advance_copies(f, moved));
  DM_TRY(advance_gathers(f, moved));
  if (!f->failure) dm_flow_endure(f, advance_taking(f, moved));
  if (!f->failure) return DM_OK;
  f->copying = f->items; /* peers get anything */
  f->taken = f->arrived;
  return DM_OK;
}

/* Until ITEMS have been taken, or only published: *COUNT. Broken: the transport's error. */
static void run(dm_flow *f, const int64_t *count, int64_t items) {
  bool moved;
  while (*count < items && !f->broke) {
    f->broke = advance(f, &moved);
    if (moved) dm_watch_moved(f->run->watch);
    dm_watch_poll(f->run->watch);
    if (!moved && !f->broke) f->broke = dm_transport_rest(f->space->transport);
  }
  /* The peers go on without this rank. */
  if (f->broke) dm_transport_abandon(f->space->transport);
}

void dm_flow_start(dm_flow *flow, const dm_flow_ops *ops, void *context, const dm_run *run_of,
                   dm_workspace *space, int64_t items, int64_t first) {
  const int ranks = run_of->ranks;
  int64_t *lists = space->lists;
  *flow = (dm_flow){
      .ops = ops,
      .context = context,
      .run = run_of,
      .space = space,
      .base = space->fillings,
      .items = items,
      .lists = {lists, lists + ranks, lists + 2 * ranks, lists + 3 * ranks, lists + 4 * ranks},
      .waits = true};
  run(flow, &flow->published, dm_min(first, items));
  flow->waits = false;
}

void dm_flow_take_all(dm_flow *flow) {
  run(flow, &flow->taken, flow->items);
}

dm_status dm_flow_end(dm_flow *f) {
  const dm_comm *world = f->run->world;
  /* After a failure copies may still read the caller's matrix. */
  for (int i = 0; i < DM_GATHERS; i++)
    dm_flow_endure(f, dm_backend_wait(f->space->backend, f->copied[i]));
  f->space->fillings += (uint64_t)f->items;
  int64_t broken = f->broke != DM_OK;
  dm_status status = dm_comm_agree(world, dm_status_first(f->failure, f->broke));
  if (!status) return DM_OK;
  dm_status counted = dm_comm_max_i64(world, &broken, 1);
  if (!counted && broken) dm_workspace_abandon(f->space);
  return dm_status_first(status, counted);
}
