#include "carrier.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "ports.h"
#include "transport/transport_list.h"

static const int64_t longest = (int64_t)4 << 30; /* address space for a message, in bytes */

typedef struct passage {
  dm_gather wanted;
  int64_t *bytes; /* a copy of wanted.bytes */
  int inner;      /* the host's ticket, without ports */
  uint64_t order; /* sequence number of the rank's gathers, from 1; 0: free */
  double posted, end;
  bool met; /* all peers have posted: the end is known */
} passage;

typedef struct carrier {
  dm_transport base;
  dm_transport *host;
  dm_mover mover;
  int rank, per_node;    /* consecutive ranks of the job per node */
  int *ranks[DM_SHARES]; /* job ranks of a share's group */
  bool *near[DM_SHARES]; /* whether on this rank's node */
  const dm_comm *group[DM_SHARES];
  sim_meeting *meeting[DM_SHARES];
  uint64_t posts;
  passage passages[DM_GATHERS]; /* by ticket */
  int64_t *nowhere;             /* zeros, for the largest group */
  int64_t crossed;
} carrier;

/* The buffer for all messages of all ranks, which are threads of one process: SMPI copies nothing
 * between such addresses. */
static char *wire(void) {
  static char *memory;
  if (!memory) memory = SMPI_SHARED_MALLOC((size_t)longest);
  return memory;
}

static dm_status carrier_open(const dm_transport_config *config, dm_transport **transport) {
  void *memory;
  if (!config->mover || !config->node) return dm_fail(DM_E_BUG, "the carrier lacks a mover");
  DM_TRY(dm_buffer_zeroed(1, sizeof(carrier), &memory));
  carrier *c = memory;
  c->base.ops = &dm_transport_carrier;
  c->mover = *config->mover;
  c->rank = dm_comm_rank(config->group);
  c->per_node = dm_comm_size(config->node);
  const int ranks = dm_comm_size(config->group);
  DM_TRY(dm_buffer_zeroed(ranks, sizeof(int64_t), (void **)&c->nowhere));
  *transport = &c->base;
  return dm_transport_open(&dm_transport_host, config, &c->host);
}

static void carrier_close(dm_transport *transport) {
  carrier *c = (carrier *)transport;
  dm_transport_close(c->host);
  for (int s = 0; s < DM_SHARES; s++) {
    sim_meeting_close(c->meeting[s]);
    free(c->ranks[s]);
    free(c->near[s]);
  }
  for (int i = 0; i < DM_GATHERS; i++) free(c->passages[i].bytes);
  free(c->nowhere);
  free(c);
}

/* No rank reads another's memory; this only finds the ranks of the group and those nearby. */
static dm_status carrier_expose(dm_transport *transport, int share, const dm_comm *group,
                                void *exposed, int64_t bytes) {
  carrier *c = (carrier *)transport;
  (void)exposed, (void)bytes;
  const int64_t size = dm_comm_size(group);
  c->group[share] = group;
  DM_TRY(dm_buffer_zeroed(size, sizeof(int), (void **)&c->ranks[share]));
  DM_TRY(dm_buffer_zeroed(size, sizeof(bool), (void **)&c->near[share]));
  DM_TRY(dm_comm_gather(group, &c->rank, sizeof c->rank, c->ranks[share], 0));
  DM_TRY(dm_comm_broadcast(group, c->ranks[share], size * (int64_t)sizeof(int), 0));
  for (int r = 0; r < size; r++)
    c->near[share][r] = c->ranks[share][r] / c->per_node == c->rank / c->per_node;
  return sim_meeting_open(group, share, c->ranks[share], &c->meeting[share]);
}

static bool has_ports(const carrier *c) {
  return sim_ports_of(c->rank).inside > 0;
}

static dm_status count(carrier *c, const dm_gather *gather) {
  for (int r = 0; r < dm_comm_size(gather->group); r++) {
    if (gather->bytes[r] > longest && !has_ports(c))
      return dm_fail(DM_E_FIT, "a simulated piece of more than %lld bytes", (long long)longest);
    if (r != dm_comm_rank(gather->group)) c->base.received += gather->bytes[r];
    if (!c->near[gather->share][r]) c->crossed += gather->bytes[r];
  }
  return DM_OK;
}

/* Records a gather for the ports until it is complete. */
static dm_status enter(carrier *c, const dm_gather *wanted, passage *p) {
  const int ranks = dm_comm_size(wanted->group);
  free(p->bytes);
  *p = (passage){.wanted = *wanted, .posted = simgrid_get_clock(), .order = ++c->posts};
  DM_TRY(dm_buffer_zeroed(ranks, sizeof(int64_t), (void **)&p->bytes));
  for (int r = 0; r < ranks; r++) p->bytes[r] = wanted->bytes[r];
  if (has_ports(c))
    sim_meeting_enter(c->meeting[wanted->share], wanted, wanted->tag, c->near[wanted->share]);
  return DM_OK;
}

/* ---- gathers ---- */

/* Copies the rank's own piece in the backend's time. */
static dm_status keep_own(const carrier *c, const dm_gather *wanted) {
  const int me = dm_comm_rank(wanted->group);
  char *place = (char *)wanted->slot + wanted->offset[me];
  if (place == wanted->own || wanted->bytes[me] == 0) return DM_OK;
  uint64_t event;
  const dm_view piece = dm_view_row_major(place, DM_I8, 1, wanted->bytes[me]);
  return c->mover.copy(c->mover.context, piece, piece, &event);
}

static dm_status carrier_post(dm_transport *transport, const dm_gather *wanted, int *ticket) {
  carrier *c = (carrier *)transport;
  if (wanted->share < 0 || wanted->share >= DM_SHARES || c->group[wanted->share] != wanted->group)
    return dm_fail(DM_E_BUG, "a gather of share %d, which was not exposed", wanted->share);
  for (*ticket = 0; *ticket < DM_GATHERS && c->passages[*ticket].order;) ++*ticket;
  if (*ticket == DM_GATHERS) return dm_fail(DM_E_BUG, "more than %d gathers under way", DM_GATHERS);
  passage *p = &c->passages[*ticket];
  DM_TRY(count(c, wanted));
  DM_TRY(keep_own(c, wanted));
  DM_TRY(enter(c, wanted, p));
  if (has_ports(c)) return DM_OK;
  dm_gather gather = *wanted;
  gather.own = gather.slot = wire();
  gather.offset = c->nowhere;
  if (gather.sent) gather.sent = c->nowhere;
  return dm_transport_post(c->host, &gather, &p->inner);
}

/* When this rank notices that all peers are ready; INFINITY: not known. */
static double meets(const carrier *c, const passage *p) {
  return sim_meeting_complete(c->meeting[p->wanted.share], p->wanted.tag) +
         sim_ports_of(c->rank).notice;
}

static dm_status look(carrier *c, passage *p) {
  const int share = p->wanted.share;
  if (p->met) return DM_OK;
  if (!has_ports(c)) return dm_transport_test(c->host, p->inner, &p->met);
  p->met = meets(c, p) <= simgrid_get_clock();
  if (p->met)
    p->end = sim_meeting_received(c->meeting[share], dm_comm_rank(c->group[share]), p->wanted.tag,
                                  p->bytes, c->near[share], p->posted);
  return DM_OK;
}

static dm_status carrier_test(dm_transport *transport, int ticket, bool *done) {
  carrier *c = (carrier *)transport;
  passage *p = &c->passages[ticket];
  DM_TRY(look(c, p));
  *done = p->met && p->end <= simgrid_get_clock();
  if (*done) p->order = 0;
  return DM_OK;
}

static const passage *oldest_of(const carrier *c) {
  const passage *oldest = NULL;
  for (const passage *p = c->passages; p < c->passages + DM_GATHERS; p++)
    if (p->order && (!oldest || p->order < oldest->order)) oldest = p;
  return oldest;
}

/* Waits for the oldest gather: the others cannot complete before. */
static dm_status carrier_yield(dm_transport *transport) {
  carrier *c = (carrier *)transport;
  const passage *oldest = oldest_of(c);
  if (oldest && oldest->met) {
    if (oldest->end > simgrid_get_clock()) sg_actor_sleep_until(oldest->end);
    return DM_OK;
  }
  if (!has_ports(c)) return dm_host_wait_oldest(c->host);
  while (oldest && meets(c, oldest) > simgrid_get_clock()) sim_bell_wait(c->rank, meets(c, oldest));
  return DM_OK;
}

double sim_carrier_next(const dm_transport *transport) {
  const carrier *c = (const carrier *)transport;
  const double now = simgrid_get_clock();
  double next = INFINITY;
  for (const passage *p = c->passages; p < c->passages + DM_GATHERS; p++) {
    const double time = p->order ? p->met ? p->end : meets(c, p) : INFINITY;
    if (time > now) next = fmin(next, time);
  }
  return next;
}

int64_t sim_carrier_crossed(const dm_transport *transport) {
  return ((const carrier *)transport)->crossed;
}

const dm_transport_ops dm_transport_carrier = {
    .name = "carrier",
    .about = "GPU memory by MPI, in a simulation",
    .device_memory = true,
    .open = carrier_open,
    .close = carrier_close,
    .expose = carrier_expose,
    .post = carrier_post,
    .test = carrier_test,
    .yield = carrier_yield,
};
