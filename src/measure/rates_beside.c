/* How much messages from other nodes slow down products: a CPU rank's cores do both. */
#include <math.h>

#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "engine/exchange.h"
#include "engine/setup.h"
#include "measure/rates_measure.h"
#include "run/statistics.h"

enum {
  SIZE = 1024, /* size of a block, and ... */
  WIDTH = 512, /* ... width of the panels */
  PIECE = 1 << 20,
  AT_ONCE = DM_EXCHANGE_SLOTS, /* as many as panels under way during a product */
  MOST_PRODUCTS = 8,           /* most products in a queue */
  MOST_GATHERS = 1000,
  TURNS = 7, /* pairs of runs, with and without messages */
};

static const double long_enough = 0.3;   /* seconds of products, enough to see an effect */
static const double share_of_time = 0.5; /* fraction of it that the messages would take alone */

typedef struct bed {
  dm_run *run;
  dm_backend *backend;
  dm_exchange exchange; /* between ranks of different nodes */
  dm_view a, b, c;
} bed;

static dm_status take(bed *b, int64_t rows, int64_t cols, dm_view *view) {
  const dm_generator generator = {.kind = DM_UNIFORM, .seed = 1};
  void *memory;
  DM_TRY(dm_backend_alloc(b->backend, DM_HOST, rows * cols * (int64_t)sizeof(double), &memory));
  *view = dm_view_row_major(memory, DM_F64, rows, cols);
  return dm_backend_fill(b->backend, *view, &generator, 0, 0);
}

static dm_status open_matrices(bed *b) {
  DM_TRY(take(b, SIZE, WIDTH, &b->a));
  DM_TRY(take(b, WIDTH, SIZE, &b->b));
  return take(b, SIZE, SIZE, &b->c);
}

static dm_status open_bed(bed *b) {
  dm_exchange *e = &b->exchange;
  DM_TRY(dm_comm_agree(b->run->world, open_matrices(b)));
  DM_TRY(dm_exchange_open(e, b->run->world));
  for (int r = 0; r < dm_comm_size(e->group); r++) e->bytes[r] = PIECE;
  return dm_comm_agree(b->run->world, dm_exchange_fill(e, 0));
}

static void close_bed(bed *b) {
  void *const memory[] = {b->a.base, b->b.base, b->c.base};
  dm_transport_close(b->exchange.transport);
  for (int i = 0; i < 3; i++)
    if (memory[i]) dm_backend_release(b->backend, DM_HOST, memory[i]);
  dm_exchange_close(&b->exchange);
}

/* Runs PRODUCTS, and COUNT gathers beside them, on all ranks; *seconds of the slowest. */
static dm_status multiply(bed *b, int products, int count, double *seconds) {
  int tickets[AT_ONCE], posted = 0, arrived = 0;
  dm_event last;
  bool done = false;
  DM_TRY(dm_comm_barrier(b->run->world));
  const double start = dm_now();
  for (int i = 0; i < products; i++)
    DM_TRY(dm_backend_gemm(b->backend, b->c, b->a, b->b, true, &last));
  while (!done || arrived < count) {
    bool here = false;
    while (posted < count && posted < arrived + AT_ONCE) {
      DM_TRY(dm_exchange_post(&b->exchange, posted, &tickets[posted % AT_ONCE]));
      posted++;
    }
    if (arrived < posted)
      DM_TRY(dm_transport_test(b->exchange.transport, tickets[arrived % AT_ONCE], &here));
    arrived += here;
    if (!done)
      DM_TRY(dm_backend_test(b->backend, last, &done));
    else if (!here && arrived < count)
      DM_TRY(dm_transport_rest(b->exchange.transport));
  }
  const double end = dm_now();
  DM_TRY(dm_comm_agree(b->run->world, dm_run_beat(b->run)));
  return dm_run_span(b->run, start, end, seconds);
}

/* Seconds that COUNT gathers add to PRODUCTS: the median difference of alternating runs. */
static dm_status added_by(bed *b, int products, int count, double *seconds) {
  double differences[TURNS];
  for (int i = 0; i < TURNS; i++) {
    double alone, beside;
    DM_TRY(multiply(b, products, 0, &alone));
    DM_TRY(multiply(b, products, count, &beside));
    differences[i] = beside - alone;
  }
  *seconds = dm_statistics_of(differences, TURNS).median;
  return DM_OK;
}

static dm_status measure(bed *b, double network, double *rate) {
  double received = (double)(dm_comm_size(b->exchange.group) - 1) * PIECE; /* per gather */
  double one, added;
  DM_TRY(dm_comm_max_f64(b->run->world, &received, 1)); /* nodes may differ in ranks */
  DM_TRY(multiply(b, 1, 0, &one));                      /* touches the memory */
  DM_TRY(multiply(b, 1, 0, &one));
  const int products = (int)fmax(1, fmin(long_enough / one, MOST_PRODUCTS));
  const double fitting = share_of_time * one * products * network / received;
  const int count = (int)fmax(1, fmin(fitting, MOST_GATHERS));
  DM_TRY(added_by(b, products, count, &added));
  *rate = added > 0 ? received * count / added : 0;
  return DM_OK;
}

dm_status dm_rates_measure_beside(dm_run *run, dm_backend *backend, double network, double *rate) {
  bed b = {.run = run, .backend = backend};
  *rate = 0;
  if (run->nodes == 1 || backend->ops->device_memory || !(network > 0)) return DM_OK;
  b.exchange =
      (dm_exchange){.backend = backend, .watch = run->watch, .slots = AT_ONCE, .piece = PIECE};
  DM_TRY(dm_exchange_neighbours(run, true, &b.exchange.group));
  DM_TRY(dm_links_open(run, backend, dm_transport_find("host"), &b.exchange.transport));
  dm_status status = open_bed(&b);
  if (!status) status = measure(&b, network, rate);
  /* A peer may still write to an aborted exchange: its memory is kept. */
  if (status)
    dm_transport_abandon(b.exchange.transport);
  else
    close_bed(&b);
  return status;
}
