/* bench_links: measures every pair of ranks with every transport. In each round all ranks are
 * paired, as in a tournament, and after ranks - 1 rounds every rank has met every other. In a
 * round, first each pair runs while all others are idle, then all pairs run at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/units.h"
#include "measure/bench_links_impl.h"

typedef struct bench {
  dm_run *run;
  const dm_bench_links *wanted;
  dm_setup setup;
  const dm_transport_ops *ops;
  dm_link_value *mine; /* [size][way][from] */
  dm_bench_told *tell;
  void *context;
} bench;

/* ---- sizes ---- */

static dm_status add_size(void *context, int64_t bytes) {
  dm_bench_links *wanted = context;
  if (wanted->sizes == DM_LINK_SIZES)
    return dm_fail(DM_E_USAGE, "more than %d sizes", DM_LINK_SIZES);
  if (bytes > INT64_C(1) << 40) return dm_fail(DM_E_USAGE, "a piece of more than 1 TiB");
  wanted->bytes[wanted->sizes++] = bytes;
  return DM_OK;
}

dm_status dm_bench_links_sizes(const char *text, dm_bench_links *wanted) {
  char item[96];
  wanted->sizes = 0;
  while (dm_next_word(&text, ',', item)) DM_TRY(dm_parse_range(item, add_size, wanted));
  return DM_OK;
}

static int64_t largest(const dm_bench_links *wanted) {
  int64_t bytes = 0;
  for (int i = 0; i < wanted->sizes; i++) bytes = dm_max(bytes, wanted->bytes[i]);
  return bytes;
}

/* ---- pairs ---- */

/* The circle method: RANK's partner in ROUND; -1: none. */
static int partner(int rank, int ranks, int round) {
  const int circle = ranks - 1 + ranks % 2; /* one rank is outside, or none if odd */
  const int half = (circle + 1) / 2;
  int other = (int)(((int64_t)round - rank + 2 * (int64_t)circle) % circle);
  if (rank == circle) other = (int)((int64_t)round * half % circle);
  if (other == rank) other = circle;
  return other < ranks ? other : -1;
}

static dm_link_value *value_at(const bench *b, int size, dm_link_way way, int from) {
  return &b->mine[((int64_t)size * DM_LINK_WAYS + way) * b->run->ranks + from];
}

static dm_status measure(bench *b, dm_link *link, int size, dm_link_way way, int from, int other) {
  dm_link_value value;
  bool measured;
  DM_TRY(dm_link_measure(link, way, from, b->wanted->bytes[size], b->wanted->repetitions, &value,
                         &measured));
  if (measured && other >= 0) *value_at(b, size, way, other) = value;
  return DM_OK;
}

/* Called by both members. */
static dm_status measure_alone(bench *b, dm_link *link, int other) {
  for (int s = 0; s < b->wanted->sizes; s++) {
    DM_TRY(measure(b, link, s, DM_LINK_ONE_WAY, 0, other));
    DM_TRY(measure(b, link, s, DM_LINK_ONE_WAY, 1, other));
    DM_TRY(measure(b, link, s, DM_LINK_BOTH_WAYS, 0, other));
    DM_TRY(measure(b, link, s, DM_LINK_TURNS, 0, other));
  }
  return DM_OK;
}

static dm_status check_all(bench *b, dm_link *link) {
  dm_status status = DM_OK;
  for (int s = 0; s < b->wanted->sizes && !status && link->served; s++)
    status = dm_link_check(link, b->wanted->bytes[s]);
  return dm_comm_agree(b->run->world, status);
}

static dm_status play(bench *b, dm_link *link, int round) {
  dm_run *run = b->run;
  const int other = partner(run->rank, run->ranks, round);
  DM_TRY(check_all(b, link));
  for (int first = 0; first < run->ranks && b->wanted->alone; first++) {
    const int second = partner(first, run->ranks, round);
    const bool mine = run->rank == first || run->rank == second;
    if (second < first) continue;
    dm_status status = mine && link->served ? measure_alone(b, link, other) : DM_OK;
    dm_status rested = dm_comm_rest(run->world);
    DM_TRY(dm_comm_agree(run->world, dm_status_first(status, rested)));
    DM_TRY(dm_stop_agree(&run->stop, run->world));
  }
  for (int s = 0; s < b->wanted->sizes; s++)
    DM_TRY(measure(b, link, s, DM_LINK_TOGETHER, 0, other));
  return dm_stop_agree(&run->stop, run->world);
}

/* ---- transports ---- */

static bool is_candidate(const bench *b, const dm_transport_ops *ops) {
  const dm_run *run = b->run;
  const bool gpu = b->setup.backend->ops->device_memory;
  if (strcmp(b->wanted->engine.transport, "auto") != 0)
    return strcmp(b->wanted->engine.transport, ops->name) == 0;
  if (ops->not_built || strcmp(ops->name, "self") == 0) return false;
  if (!gpu) return !ops->device_memory && (!ops->shared_slots || run->nodes < run->ranks);
  if (ops->shared_slots || (ops->one_node && run->nodes > 1)) return false;
  return !ops->device_memory || !ops->crossed || run->nodes > 1;
}

static dm_status tell_size(bench *b, int size, dm_link_value *all) {
  const dm_link_table table = {b->run, &b->setup, b->wanted, b->ops, b->wanted->bytes[size], all};
  const int64_t bytes = (int64_t)DM_LINK_WAYS * b->run->ranks * (int64_t)sizeof *all;
  DM_TRY(dm_comm_gather(b->run->world, value_at(b, size, 0, 0), bytes, all, 0));
  if (b->run->rank != 0) return DM_OK;
  dm_record *record = NULL;
  dm_status status = dm_record_new("bench links", b->run->command, &record);
  if (!status) status = dm_bench_links_record(&table, record);
  if (!status) status = b->tell(b->context, record);
  dm_record_free(record);
  return status;
}

static dm_status tell(bench *b) {
  dm_link_value *all = NULL;
  const int64_t each = (int64_t)DM_LINK_WAYS * b->run->ranks;
  dm_status status = DM_OK;
  if (b->run->rank == 0)
    status = dm_buffer_zeroed(each * b->run->ranks, sizeof *all, (void **)&all);
  status = dm_comm_agree(b->run->world, status);
  for (int s = 0; s < b->wanted->sizes && !status; s++)
    status = dm_comm_agree(b->run->world, tell_size(b, s, all));
  free(all);
  return status;
}

/* *opened: the transport works at all. */
static dm_status measure_transport(bench *b, bool *opened) {
  const int ranks = b->run->ranks, rounds = ranks - 1 + ranks % 2;
  for (int64_t i = 0; i < (int64_t)b->wanted->sizes * DM_LINK_WAYS * ranks; i++)
    b->mine[i] = (dm_link_value){NAN, NAN, NAN};
  *opened = false;
  for (int round = 0; round < rounds; round++) {
    dm_link link;
    const int other = partner(b->run->rank, ranks, round);
    const int color = other < 0 ? -1 : (int)dm_min(other, b->run->rank);
    dm_status status =
        dm_link_open(b->run, b->setup.backend, b->ops, color, largest(b->wanted), &link);
    if (!status) *opened = true;
    if (!status) status = play(b, &link, round);
    /* A peer may still write to an aborted exchange: its memory is kept. */
    if (status && link.transport) dm_transport_abandon(link.transport);
    DM_TRY(status);
    dm_link_close(&link);
  }
  return tell(b);
}

static dm_status refused(const bench *b, dm_status status) {
  if (strcmp(b->wanted->engine.transport, "auto") != 0) {
    status->code = DM_E_DEVICE; /* whatever the error: this transport is not available */
    return b->ops->not_built ? status : dm_context(status, "transport %s", b->ops->name);
  }
  dm_log_line(&b->run->log, DM_LOG_NOTE, "transport %s: %s", b->ops->name, status->message);
  dm_status_free(status);
  return DM_OK;
}

static dm_status measure_all(bench *b) {
  const dm_problem any = {
      .work = DM_F64, .compute = *dm_compute_by(DM_F64), .accumulator = DM_F64, .c = DM_F64};
  if (b->run->ranks == 1)
    return dm_hint(dm_fail(DM_E_USAGE, "bench links needs two ranks or more"),
                   "mpirun -n 2 damier bench links");
  DM_TRY(dm_setup_open_backend(b->run, &b->wanted->engine, &any, &b->setup));
  const int64_t count = (int64_t)b->wanted->sizes * DM_LINK_WAYS * b->run->ranks;
  DM_TRY(dm_comm_agree(b->run->world, dm_buffer_zeroed(count, sizeof *b->mine, (void **)&b->mine)));
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    bool opened;
    b->ops = *ops;
    if (!is_candidate(b, b->ops)) continue;
    dm_run_phase(b->run, "measuring links", 1);
    dm_status status = measure_transport(b, &opened);
    if (status && !opened && status->agreed) status = refused(b, status);
    DM_TRY(status);
  }
  return DM_OK;
}

dm_status dm_bench_links_run(dm_run *run, const dm_bench_links *wanted, dm_bench_told *told,
                             void *context) {
  bench b = {.run = run, .wanted = wanted, .tell = told, .context = context};
  dm_status status = measure_all(&b);
  if (status && !status->agreed) return status;
  free(b.mine);
  if (b.setup.backend) dm_setup_close(&b.setup);
  return status;
}
