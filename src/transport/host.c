/* host: MPI between buffers in host memory. Always available; the reference for the other
 * transports. */
#include <stdlib.h>
#include <string.h>

#include "transport/transport_list.h"

typedef struct host_transport {
  dm_transport base;
  dm_messages *gathers[DM_GATHERS];
  uint64_t posted[DM_GATHERS]; /* order of posting: 1, 2, ... */
  uint64_t posts;
} host_transport;

static void host_close(dm_transport *transport) {
  host_transport *host = (host_transport *)transport;
  for (int i = 0; i < DM_GATHERS; i++) dm_messages_free(host->gathers[i]);
  free(host);
}

static dm_status host_open(const dm_transport_config *config, dm_transport **transport) {
  (void)config;
  host_transport *host = calloc(1, sizeof *host);
  if (!host) return dm_fail(DM_E_FIT, "no memory for a transport");
  host->base.ops = &dm_transport_host;
  for (int i = 0; i < DM_GATHERS; i++) {
    dm_status status = dm_messages_new(&host->gathers[i]);
    if (status) {
      host_close(&host->base);
      return status;
    }
  }
  *transport = &host->base;
  return DM_OK;
}

/* PEER's piece of this rank's share. */
static const char *piece_for(const dm_gather *gather, int peer, int64_t *bytes) {
  const int me = dm_comm_rank(gather->group);
  *bytes = gather->sent ? gather->sent_bytes[peer] : gather->bytes[me];
  return (const char *)gather->own + (gather->sent ? gather->sent[peer] - gather->sent[me] : 0);
}

/* Receives are posted before sends. Every rank starts with its right neighbour, so that not all
 * send to the same rank at once. */
static dm_status host_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  host_transport *host = (host_transport *)transport;
  int ranks = dm_comm_size(gather->group), me = dm_comm_rank(gather->group);
  DM_TRY(dm_transport_ticket(transport, ticket));
  dm_messages *messages = host->gathers[*ticket];
  host->posted[*ticket] = ++host->posts;

  for (int i = 1; i < ranks; i++) {
    int peer = (me - i + ranks) % ranks;
    DM_TRY(dm_messages_receive(messages, gather->group, (char *)gather->slot + gather->offset[peer],
                               gather->bytes[peer], peer, gather->tag));
    transport->received += gather->bytes[peer];
  }
  for (int i = 1; i < ranks; i++) {
    int64_t bytes;
    const int peer = (me + i) % ranks;
    const char *piece = piece_for(gather, peer, &bytes);
    DM_TRY(dm_messages_send(messages, gather->group, piece, bytes, peer, gather->tag));
  }

  char *place = (char *)gather->slot + gather->offset[me];
  if (place != gather->own && gather->bytes[me] > 0)
    memcpy(place, gather->own, (size_t)gather->bytes[me]);
  return DM_OK;
}

static dm_status host_test(dm_transport *transport, int ticket, bool *done) {
  host_transport *host = (host_transport *)transport;
  DM_TRY(dm_messages_test(host->gathers[ticket], done));
  if (*done) transport->busy[ticket] = false;
  return DM_OK;
}

dm_status dm_host_wait_oldest(dm_transport *transport) {
  host_transport *host = (host_transport *)transport;
  int oldest = -1;
  for (int i = 0; i < DM_GATHERS; i++)
    if (transport->busy[i] && (oldest < 0 || host->posted[i] < host->posted[oldest])) oldest = i;
  return oldest < 0 ? DM_OK : dm_messages_wait_idle(host->gathers[oldest]);
}

const dm_transport_ops dm_transport_host = {
    .name = "host",
    .about = "MPI through host memory",
    .open = host_open,
    .close = host_close,
    .post = host_post,
    .test = host_test,
};
