/* ranks: 2 3.  What is measured of a pair is checked first: wrong bytes, in either direction, and a
 * link that fails are errors of both. */
#include "backend/cpu.h"
#include "measure/bench_links_impl.h"
#include "rank_test.h"

/* host, with a fault on the rank of the highest number in a pair, or of the lowest. */
typedef struct faulty_transport {
  dm_transport base;
  dm_transport *inner;
  char *wrong; /* byte */
} faulty_transport;

static const dm_transport_ops wrong_low, wrong_high, failing;

static dm_status faulty_open(const dm_transport_config *config, dm_transport **transport,
                             const dm_transport_ops *ops) {
  faulty_transport *f = calloc(1, sizeof *f);
  f->base.ops = ops;
  *transport = &f->base;
  return dm_transport_open(dm_transport_find("host"), config, &f->inner);
}

static dm_status open_low(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &wrong_low);
}
static dm_status open_high(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &wrong_high);
}
static dm_status open_failing(const dm_transport_config *config, dm_transport **transport) {
  return faulty_open(config, transport, &failing);
}

static void faulty_close(dm_transport *transport) {
  dm_transport_close(((faulty_transport *)transport)->inner);
  free(transport);
}

static dm_status faulty_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  faulty_transport *f = (faulty_transport *)transport;
  const int me = dm_comm_rank(gather->group), other = 1 - me;
  f->wrong = gather->bytes[other] > 0 && me == (f->base.ops == &wrong_high)
                 ? (char *)gather->slot + gather->offset[other] + gather->bytes[other] - 1
                 : NULL;
  DM_TRY(dm_transport_post(f->inner, gather, ticket));
  if (f->base.ops == &failing && me == 1) return dm_fail(DM_E_DEVICE, "the link is down");
  return DM_OK;
}

static dm_status faulty_test(dm_transport *transport, int ticket, bool *done) {
  faulty_transport *f = (faulty_transport *)transport;
  DM_TRY(dm_transport_test(f->inner, ticket, done));
  if (*done && f->wrong) *f->wrong ^= 1;
  f->wrong = *done ? NULL : f->wrong;
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
static const dm_transport_ops wrong_low = FAULTY(open_low), wrong_high = FAULTY(open_high),
                              failing = FAULTY(open_failing);

static void check(rank_test *t, dm_backend *cpu, const dm_transport_ops *ops, const char *wanted) {
  static dm_link links[5 * 2]; /* of both rank counts; what broke off stays as it is */
  static int count;
  dm_link *link = &links[count++];
  const int color = t->run.rank < 2 ? 0 : -1; /* a third rank meets nobody */
  must(t, dm_link_open(&t->run, cpu, ops, color, 5000, link));
  CHECK(t, link->served == (t->run.rank < 2), "who is served?");
  const int64_t size = ops == &failing ? 99 : 4999; /* what nobody receives is sent all the same */
  dm_status status = link->served ? dm_link_check(link, size) : DM_OK;
  if (!wanted || !link->served)
    CHECK(t, !status, "a sound pair was refused: %s", status->message);
  else
    CHECK(t, status && strstr(status->message, wanted), "wanted '%s'", wanted);
  if (!wanted) {
    dm_link_value value = {0};
    bool measured = false;
    must(t, dm_link_measure(link, DM_LINK_TOGETHER, 0, 4999, 3, &value, &measured));
    CHECK(t, measured == link->served, "who measured?");
    CHECK(t,
          !measured ||
              (value.least > 0 && value.least <= value.median && value.median <= value.most),
          "rates that do not fit together");
    dm_link_close(link);
  }
  dm_status_free(status);
}

TEST_PROGRAM(test_link_pairs) {
  rank_test test = rank_test_start();
  const dm_backend_config config = {.local_ranks = test.run.ranks, .threads = 1, .kernel = "auto"};
  dm_backend *cpu;
  must(&test, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  check(&test, cpu, dm_transport_find("host"), NULL);
  check(&test, cpu, dm_transport_find("shared"), NULL);
  check(&test, cpu, &wrong_low, "arrived as");
  check(&test, cpu, &wrong_high, "arrived as");
  check(&test, cpu, &failing, "the link is down");
  dm_backend_close(cpu);
  return rank_test_end(&test);
}
