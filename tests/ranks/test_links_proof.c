/* ranks: 2 3 4 9.  A transport that is not what it says is found out before it is used. */
#include "backend/cpu.h"
#include "engine/links.h"
#include "rank_test.h"

/* host, with a fault in what the last rank does. */
typedef struct faulty_transport {
  dm_transport base;
  dm_transport *inner;
  unsigned char *slot;
  int64_t last; /* byte of the slot */
  bool faulty;
} faulty_transport;

static const dm_transport_ops wrong_byte, refused_open, failing_post, sound;

static dm_status faulty_open(const dm_transport_config *config, dm_transport **transport,
                             const dm_transport_ops *ops) {
  faulty_transport *f = calloc(1, sizeof *f);
  f->base.ops = ops;
  f->faulty = dm_comm_rank(config->group) == dm_comm_size(config->group) - 1 && ops != &sound;
  if (f->faulty && ops == &refused_open) {
    free(f);
    return dm_comm_agree(config->group, dm_fail(DM_E_DEVICE, "no such link"));
  }
  dm_status status = ops == &refused_open ? dm_comm_agree(config->group, DM_OK) : DM_OK;
  if (!status) status = dm_transport_open(dm_transport_find("host"), config, &f->inner);
  if (status)
    free(f);
  else
    *transport = &f->base;
  return status;
}

static dm_status open_wrong(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &wrong_byte);
}
static dm_status open_refused(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &refused_open);
}
static dm_status open_failing(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &failing_post);
}
static dm_status open_sound(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &sound);
}

static void faulty_close(dm_transport *transport) {
  dm_transport_close(((faulty_transport *)transport)->inner);
  free(transport);
}

static dm_status faulty_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  faulty_transport *f = (faulty_transport *)transport;
  const int first = dm_comm_rank(gather->group) == 0; /* not its own piece */
  f->slot = gather->slot;
  f->last = gather->offset[first] + gather->bytes[first] - 1;
  DM_TRY(dm_transport_post(f->inner, gather, ticket));
  if (f->faulty && f->base.ops == &failing_post) return dm_fail(DM_E_DEVICE, "the link is down");
  return DM_OK;
}

static dm_status faulty_test(dm_transport *transport, int ticket, bool *done) {
  faulty_transport *f = (faulty_transport *)transport;
  DM_TRY(dm_transport_test(f->inner, ticket, done));
  if (*done && f->faulty && f->base.ops == &wrong_byte) f->slot[f->last] ^= 1;
  return DM_OK;
}

static int64_t faulty_received(const dm_transport *transport) {
  return dm_transport_received(((const faulty_transport *)transport)->inner);
}

#define FAULTY(opener)                                                                             \
  {                                                                                                \
    .name = "faulty", .open = opener, .close = faulty_close, .post = faulty_post,                  \
    .test = faulty_test, .received = faulty_received                                               \
  }
static const dm_transport_ops wrong_byte = FAULTY(open_wrong), refused_open = FAULTY(open_refused),
                              failing_post = FAULTY(open_failing), sound = FAULTY(open_sound);

static void prove(rank_test *t, dm_backend *cpu, const dm_transport_ops *ops, const char *wanted) {
  dm_link_rates rate = {0};
  dm_status status = dm_links_self_test(&t->run, cpu, ops, &rate);
  if (!wanted) {
    CHECK(t, !status && rate.inside > 0.0, "a sound transport was refused");
  } else {
    CHECK(t, status && status->agreed && strstr(status->message, wanted), "wanted '%s', got '%s'",
          wanted, status ? status->message : "nothing");
  }
  dm_status_free(status);
}

TEST_PROGRAM(test_links_proof) {
  rank_test test = rank_test_start();
  const dm_backend_config config = {.local_ranks = test.run.ranks, .threads = 1, .kernel = "auto"};
  dm_backend *cpu;
  must(&test, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  prove(&test, cpu, &sound, NULL);
  prove(&test, cpu, &wrong_byte, "arrived as");
  prove(&test, cpu, &refused_open, "no such link");
  prove(&test, cpu, &failing_post, "the link is down");
  prove(&test, cpu, dm_transport_find("cuda-mpi"), "not built");
  prove(&test, cpu, &sound, NULL); /* what failed before has left nothing behind */
  dm_backend_close(cpu);
  return rank_test_end(&test);
}
