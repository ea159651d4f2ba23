/* faulty_transport: the host transport with a fault on the first or the last rank of a group. */
#ifndef DM_TESTS_FAULTY_TRANSPORT_H
#define DM_TESTS_FAULTY_TRANSPORT_H

#include "rank_test.h"
#include "transport/transport.h"

enum fault { SOUND, WRONG_BYTE, REFUSED_OPEN, FAILING_POST };

static _Thread_local enum fault fault;    /* of all open transports */
static _Thread_local bool fault_of_first; /* the first rank has it, else the last */

typedef struct faulty_transport {
  dm_transport base;
  dm_transport *inner;
  char *wrong[DM_GATHERS]; /* the byte to change, for each gather under way */
} faulty_transport;

static bool has_fault(enum fault which, const dm_comm *group) {
  return fault == which && dm_comm_rank(group) == (fault_of_first ? 0 : dm_comm_size(group) - 1);
}

static const dm_transport_ops faulty_ops;

static dm_status faulty_open(const dm_transport_config *config, dm_transport **transport) {
  const bool refused = has_fault(REFUSED_OPEN, config->group);
  DM_TRY(dm_comm_agree(config->group, refused ? dm_fail(DM_E_DEVICE, "no such link") : DM_OK));
  faulty_transport *f = calloc(1, sizeof *f);
  f->base.ops = &faulty_ops;
  *transport = &f->base;
  return dm_transport_open(dm_transport_find("host"), config, &f->inner);
}

static void faulty_close(dm_transport *transport) {
  dm_transport_close(((faulty_transport *)transport)->inner);
  free(transport);
}

static dm_status faulty_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  faulty_transport *f = (faulty_transport *)transport;
  const int other = dm_comm_rank(gather->group) == 0; /* another rank's piece */
  DM_TRY(dm_transport_post(f->inner, gather, ticket));
  f->wrong[*ticket] = has_fault(WRONG_BYTE, gather->group) && gather->bytes[other] > 0
                          ? (char *)gather->slot + gather->offset[other] + gather->bytes[other] - 1
                          : NULL;
  if (has_fault(FAILING_POST, gather->group)) return dm_fail(DM_E_DEVICE, "the link is down");
  return DM_OK;
}

static dm_status faulty_test(dm_transport *transport, int ticket, bool *done) {
  faulty_transport *f = (faulty_transport *)transport;
  DM_TRY(dm_transport_test(f->inner, ticket, done));
  char **wrong = &f->wrong[ticket];
  if (*done && *wrong) **wrong ^= 1;
  if (*done) *wrong = NULL;
  return DM_OK;
}

static int64_t faulty_received(const dm_transport *transport) {
  return dm_transport_received(((const faulty_transport *)transport)->inner);
}

static const dm_transport_ops faulty_ops = {.name = "faulty",
                                            .open = faulty_open,
                                            .close = faulty_close,
                                            .post = faulty_post,
                                            .test = faulty_test,
                                            .received = faulty_received};

#endif
