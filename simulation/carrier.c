#include "carrier.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "transport/transport_list.h"

/* Addresses for a piece.  Ports take the time of a longer one, but messages bring no more of it. */
static const int64_t longest = (int64_t)4 << 30;

/* A rank is ahead of another by fewer gathers: twice as many as it has slots. */
enum { RECENT = 16 };

/* Of one rank, seen by all: they are threads of one process.  Times are simulated seconds. */
typedef struct rank_ports {
  sim_ports rate;
  double send_free[2], receive_free[2]; /* inside, between */
  double *left[DM_SHARES][RECENT];      /* when the piece for each member has left */
} rank_ports;

static rank_ports *all_ports;

/* A gather as the ports see it. */
typedef struct passage {
  dm_gather wanted;
  int64_t *bytes; /* a copy of the gather's */
  int64_t number; /* of the share's gathers */
  int inner;      /* the host's ticket */
  uint64_t order; /* among all of the rank's gathers: 1, 2, ...; 0: free */
  double posted, end;
  bool met; /* all peers have posted theirs: the end is known */
} passage;

typedef struct carrier {
  dm_transport base;
  dm_transport *host;
  dm_mover mover;
  int rank, per_node;    /* nodes hold so many consecutive ranks of the job */
  int *ranks[DM_SHARES]; /* in the job, of a share's group */
  const dm_comm *group[DM_SHARES];
  int64_t gathers[DM_SHARES];
  uint64_t posts;
  passage passages[DM_GATHERS];       /* by ticket */
  int64_t *nowhere, *cut, *cut_given; /* zeros, and lengths of messages, for the largest group */
  int64_t crossed, unsent;
} carrier;

/* What is sent and received, by all ranks, which are threads of one process: SMPI copies nothing
 * between such addresses. */
static char *wire(void) {
  static char *memory;
  if (!memory) memory = SMPI_SHARED_MALLOC((size_t)longest);
  return memory;
}

dm_status sim_ports_set(int rank, int ranks, sim_ports ports) {
  if (!all_ports) DM_TRY(dm_buffer_zeroed(ranks, sizeof *all_ports, (void **)&all_ports));
  all_ports[rank].rate = ports;
  return DM_OK;
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
  DM_TRY(dm_buffer_zeroed(dm_comm_size(config->group), sizeof(int64_t), (void **)&c->nowhere));
  DM_TRY(dm_buffer_zeroed(dm_comm_size(config->group), sizeof(int64_t), (void **)&c->cut));
  DM_TRY(dm_buffer_zeroed(dm_comm_size(config->group), sizeof(int64_t), (void **)&c->cut_given));
  *transport = &c->base;
  return dm_transport_open(&dm_transport_host, config, &c->host);
}

static void carrier_close(dm_transport *transport) {
  carrier *c = (carrier *)transport;
  dm_transport_close(c->host);
  for (int s = 0; s < DM_SHARES; s++) free(c->ranks[s]);
  for (int i = 0; i < DM_GATHERS; i++) free(c->passages[i].bytes);
  free(c->nowhere);
  free(c->cut);
  free(c->cut_given);
  free(c);
}

/* Nothing is read from another rank's memory; but who is whose neighbour becomes known here. */
static dm_status carrier_expose(dm_transport *transport, int share, const dm_comm *group,
                                void *exposed, int64_t bytes) {
  carrier *c = (carrier *)transport;
  void *memory;
  (void)exposed, (void)bytes;
  const int64_t size = dm_comm_size(group);
  DM_TRY(dm_buffer_zeroed(size, sizeof(int), &memory));
  c->ranks[share] = memory;
  c->group[share] = group;
  for (int i = 0; i < RECENT; i++)
    DM_TRY(dm_buffer_zeroed(size, sizeof(double), (void **)&all_ports[c->rank].left[share][i]));
  DM_TRY(dm_comm_gather(group, &c->rank, sizeof c->rank, c->ranks[share], 0));
  return dm_comm_broadcast(group, c->ranks[share], size * (int64_t)sizeof(int), 0);
}

static bool is_near(const carrier *c, int rank) {
  return rank / c->per_node == c->rank / c->per_node;
}

static bool has_ports(const carrier *c) {
  return all_ports[c->rank].rate.inside > 0;
}

static dm_status count(carrier *c, const dm_gather *gather) {
  const int *ranks = c->ranks[gather->share];
  for (int r = 0; r < dm_comm_size(gather->group); r++) {
    c->cut[r] = dm_min(gather->bytes[r], longest);
    if (gather->given) c->cut_given[r] = dm_min(gather->given_bytes[r], longest);
    if (c->cut[r] < gather->bytes[r] && !has_ports(c))
      return dm_fail(DM_E_FIT, "a simulated piece of more than %lld bytes", (long long)longest);
    if (r != dm_comm_rank(gather->group)) c->unsent += gather->bytes[r] - c->cut[r];
    if (!is_near(c, ranks[r])) c->crossed += gather->bytes[r];
  }
  return DM_OK;
}

/* ---- ports ---- */

static double rate_of(const rank_ports *p, bool near) {
  return near ? p->rate.inside : p->rate.between;
}

/* Pieces leave one after the other, beginning with that of the right neighbour. */
static void send_all(carrier *c, const dm_gather *g, int64_t number) {
  const int ranks = dm_comm_size(g->group), me = dm_comm_rank(g->group);
  rank_ports *own = &all_ports[c->rank];
  for (int i = 1; i < ranks; i++) {
    const int peer = (me + i) % ranks;
    const bool near = is_near(c, c->ranks[g->share][peer]);
    const int64_t bytes = g->given ? g->given_bytes[peer] : g->bytes[me];
    double *busy = &own->send_free[!near];
    *busy = fmax(*busy, simgrid_get_clock()) + (double)bytes / rate_of(own, near);
    own->left[g->share][number % RECENT][peer] = *busy;
  }
}

/* When all pieces are there: each has left its rank, and the port was free for it. */
static double receive_all(carrier *c, const passage *p) {
  const dm_gather *g = &p->wanted;
  const int ranks = dm_comm_size(g->group), me = dm_comm_rank(g->group);
  rank_ports *own = &all_ports[c->rank];
  double end = p->posted;
  for (int i = 1; i < ranks; i++) {
    const int peer = (me - i + ranks) % ranks, rank = c->ranks[g->share][peer];
    const bool near = is_near(c, rank);
    const double seconds = (double)p->bytes[peer] / rate_of(own, near);
    const double left = all_ports[rank].left[g->share][p->number % RECENT][me];
    double *busy = &own->receive_free[!near];
    *busy = fmax(fmax(*busy, p->posted) + seconds, left);
    end = fmax(end, *busy);
  }
  return end;
}

/* What the ports have to know of a gather until it is done. */
static dm_status enter(carrier *c, const dm_gather *wanted, passage *p) {
  const int ranks = dm_comm_size(wanted->group);
  free(p->bytes);
  *p = (passage){.wanted = *wanted, .posted = simgrid_get_clock(), .order = ++c->posts};
  p->number = c->gathers[wanted->share]++;
  DM_TRY(dm_buffer_zeroed(ranks, sizeof(int64_t), (void **)&p->bytes));
  for (int r = 0; r < ranks; r++) p->bytes[r] = wanted->bytes[r];
  if (has_ports(c)) send_all(c, wanted, p->number);
  return DM_OK;
}

/* ---- gathers ---- */

/* The backend says what copying the own piece takes. */
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
  dm_gather gather = *wanted;
  gather.own = gather.slot = wire();
  gather.bytes = c->cut;
  gather.offset = c->nowhere;
  if (gather.given) gather.given = c->nowhere;
  if (gather.given) gather.given_bytes = c->cut_given;
  DM_TRY(enter(c, wanted, p));
  return dm_transport_post(c->host, &gather, &p->inner);
}

static dm_status carrier_test(dm_transport *transport, int ticket, bool *done) {
  carrier *c = (carrier *)transport;
  passage *p = &c->passages[ticket];
  if (!p->met) {
    DM_TRY(dm_transport_test(c->host, p->inner, &p->met));
    if (p->met) p->end = has_ports(c) ? receive_all(c, p) : 0.0;
  }
  *done = p->met && p->end <= simgrid_get_clock();
  if (*done) p->order = 0;
  return DM_OK;
}

/* Nothing can be done before the oldest gather is. */
static dm_status carrier_rest(dm_transport *transport) {
  carrier *c = (carrier *)transport;
  const passage *oldest = NULL;
  for (const passage *p = c->passages; p < c->passages + DM_GATHERS; p++)
    if (p->order && (!oldest || p->order < oldest->order)) oldest = p;
  if (!oldest || !oldest->met) return dm_host_rest(c->host);
  if (oldest->end > simgrid_get_clock()) sg_actor_sleep_until(oldest->end);
  return DM_OK;
}

static int64_t carrier_received(const dm_transport *transport) {
  const carrier *c = (const carrier *)transport;
  return dm_transport_received(c->host) + c->unsent;
}

static int64_t carrier_crossed(const dm_transport *transport) {
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
    .rest = carrier_rest,
    .received = carrier_received,
    .crossed = carrier_crossed,
};
