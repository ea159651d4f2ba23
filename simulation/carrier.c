#include "carrier.h"

#include <smpi/smpi.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "transport/transport_list.h"

/* The largest piece. */
static const int64_t longest = (int64_t)4 << 30;

typedef struct carrier {
  dm_transport base;
  dm_transport *host;
  dm_mover mover;
  int rank, per_node;    /* nodes hold so many consecutive ranks of the job */
  int *ranks[DM_SHARES]; /* in the job, of a share's group */
  const dm_comm *group[DM_SHARES];
  int64_t *nowhere; /* as many zeros as the largest group has ranks */
  int64_t crossed;
} carrier;

/* What is sent and received, by all ranks, which are threads of one process: SMPI copies nothing
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
  DM_TRY(dm_buffer_zeroed(dm_comm_size(config->group), sizeof(int64_t), (void **)&c->nowhere));
  *transport = &c->base;
  return dm_transport_open(&dm_transport_host, config, &c->host);
}

static void carrier_close(dm_transport *transport) {
  carrier *c = (carrier *)transport;
  dm_transport_close(c->host);
  for (int s = 0; s < DM_SHARES; s++) free(c->ranks[s]);
  free(c->nowhere);
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
  DM_TRY(dm_comm_gather(group, &c->rank, sizeof c->rank, c->ranks[share], 0));
  return dm_comm_broadcast(group, c->ranks[share], size * (int64_t)sizeof(int), 0);
}

static dm_status count(carrier *c, const dm_gather *gather) {
  const int *ranks = c->ranks[gather->share];
  for (int r = 0; r < dm_comm_size(gather->group); r++) {
    if (gather->bytes[r] > longest)
      return dm_fail(DM_E_FIT, "a simulated piece of more than %lld bytes", (long long)longest);
    if (ranks[r] / c->per_node != c->rank / c->per_node) c->crossed += gather->bytes[r];
  }
  return DM_OK;
}

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
  DM_TRY(count(c, wanted));
  DM_TRY(keep_own(c, wanted));
  dm_gather gather = *wanted;
  gather.own = gather.slot = wire();
  gather.offset = c->nowhere;
  if (gather.given) gather.given = c->nowhere;
  return dm_transport_post(c->host, &gather, ticket);
}

static dm_status carrier_test(dm_transport *transport, int ticket, bool *done) {
  return dm_transport_test(((carrier *)transport)->host, ticket, done);
}

static dm_status carrier_rest(dm_transport *transport) {
  return dm_host_rest(((carrier *)transport)->host);
}

static int64_t carrier_received(const dm_transport *transport) {
  return dm_transport_received(((const carrier *)transport)->host);
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
