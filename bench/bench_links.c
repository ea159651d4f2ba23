/* bench_links: measures pairs of ranks with every transport. In each round all ranks are paired, as
 * in a tournament, and after ranks - 1 rounds every rank has met every other. In a round, first
 * rank 0 and its partner run while all others are idle, then all pairs run at once. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cli/session.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "engine/links.h"
#include "engine/setup.h"
#include "options/request.h"
#include "run/record.h"

enum { MOST_GATHERS = 2000 };

static const double bench_moment = 0.01; /* least seconds of a repetition with small pieces */

/* ONE_WAY, BOTH_WAYS: one pair while all others are idle; BENCH_TOGETHER: both ways, all ranks in
 * pairs.
 */
typedef enum link_way { ONE_WAY, BOTH_WAYS, BENCH_TOGETHER, WAYS } link_way;

static const char *const bench_names[WAYS] = {"one_way", "both_ways", "together"};
static const char *const titles[WAYS] = {"one way, alone", "both ways at once, alone",
                                         "both ways, all ranks in pairs"};

typedef struct link_bench {
  dm_run *run;
  const dm_bench_links *wanted;
  dm_setup setup;
  const dm_transport_ops *ops;
  double *mine; /* received by this rank: [size][way][from]; NAN: not measured */
  const dm_call *call;
} link_bench;

/* ---- sizes ---- */

static dm_status add_size(void *context, int64_t bytes) {
  dm_bench_links *wanted = context;
  if (wanted->sizes == DM_LINK_SIZES)
    return dm_fail(DM_E_USAGE, "more than %d sizes", DM_LINK_SIZES);
  if (bytes > INT64_C(1) << 40) return dm_fail(DM_E_USAGE, "a piece has at most 1 TiB");
  wanted->bytes[wanted->sizes++] = bytes;
  return DM_OK;
}

dm_status dm_bench_links_sizes(const char *text, dm_bench_links *wanted) {
  char item[96];
  wanted->sizes = 0;
  while (dm_next_word(&text, ',', item)) DM_TRY(dm_parse_range(item, add_size, wanted));
  return DM_OK;
}

/* ---- one pair ---- */

/* Whether both are on one node, as the run counts nodes. */
static dm_status share_node(const dm_run *run, const dm_comm *pair, bool *same) {
  int64_t node = run->rank;
  DM_TRY(dm_comm_broadcast(run->near, &node, sizeof node, 0));
  int64_t most[2] = {node, -node};
  DM_TRY(dm_comm_max_i64(pair, most, 2));
  *same = most[0] == -most[1];
  return DM_OK;
}

dm_status dm_link_open(dm_run *run, dm_backend *backend, const dm_transport_ops *ops, int other,
                       int64_t largest, dm_link *link) {
  bool same = false;
  *link = (dm_link){.run = run,
                    .other = other,
                    .exchange = {.backend = backend,
                                 .watch = run->watch,
                                 .slots = DM_PATTERN_SLOTS,
                                 .piece = dm_round_up(largest, 256),
                                 .in_place = true}};
  dm_link_pattern *e = &link->exchange;
  DM_TRY(dm_links_open(run, backend, ops, &link->transport));
  e->transport = link->transport;
  const int color = other < 0 ? run->ranks + run->rank : (int)dm_min(other, run->rank);
  DM_TRY(dm_comm_split(run->world, color, run->rank, &e->group));
  DM_TRY(dm_comm_agree(run->world, share_node(run, e->group, &same)));
  link->served = dm_comm_size(e->group) == 2 && (same || !ops->shared_slots);
  DM_TRY(dm_comm_agree(run->world, link->served ? dm_link_pattern_open(e, e->group) : DM_OK));
  dm_transport_filled(link->transport, 0);
  return DM_OK;
}

void dm_link_close(dm_link *link) {
  dm_transport_close(link->transport);
  if (link->served)
    dm_link_pattern_close(&link->exchange);
  else
    dm_comm_free(link->exchange.group);
}

/* With shared slots, receiving is copying the peer's data. */
static dm_status bench_move(const dm_link *link, int count, int at_once) {
  if (!link->exchange.shared) return dm_link_pattern_gather(&link->exchange, count, at_once);
  dm_link_pattern_copy(&link->exchange, count);
  return DM_OK;
}

/* SENDERS: bit 0 for member 0, bit 1 for member 1. */
static void set_senders(dm_link *link, int senders, int64_t size) {
  for (int i = 0; i < 2; i++) link->exchange.bytes[i] = senders & 1 << i ? size : 0;
}

dm_status dm_link_check(dm_link *link, int64_t size) {
  dm_link_pattern *e = &link->exchange;
  for (int senders = 1; senders <= 3; senders++) {
    link->step++;
    set_senders(link, senders, size);
    DM_TRY(dm_comm_agree(e->group, dm_link_pattern_fill(e, link->step)));
    DM_TRY(dm_comm_agree(e->group, bench_move(link, e->slots, e->slots)));
    DM_TRY(dm_comm_agree(e->group, dm_link_pattern_compare(e, link->step)));
  }
  return DM_OK;
}

static dm_status bench_check(const link_bench *b, dm_link *link) {
  dm_status status = DM_OK;
  for (int s = 0; s < b->wanted->sizes && !status && link->served; s++)
    status = dm_link_check(link, b->wanted->bytes[s]);
  return dm_comm_agree(b->run->world, status);
}

/* Seconds of COUNT gathers, of the slower member; all ranks of ALL start together. */
static dm_status bench_batch(dm_link *link, const dm_comm *all, int count, double *seconds) {
  DM_TRY(dm_comm_barrier(all));
  const double start = dm_now();
  dm_status status = link->served ? bench_move(link, count, DM_PATTERN_SLOTS) : DM_OK;
  *seconds = dm_now() - start;
  DM_TRY(dm_comm_agree(all, status));
  return dm_comm_max_f64(link->exchange.group, seconds, 1);
}

/* A number of gathers that takes a moment, the same for all of ALL. */
static dm_status choose_count(dm_link *link, const dm_comm *all, int *count) {
  double seconds;
  DM_TRY(bench_batch(link, all, DM_PATTERN_SLOTS, &seconds));
  DM_TRY(dm_comm_max_f64(all, &seconds, 1));
  const double wanted_count = bench_moment * DM_PATTERN_SLOTS / fmax(seconds, 1e-9);
  *count = (int)dm_round_up((int64_t)fmin(fmax(wanted_count, 1), MOST_GATHERS), DM_PATTERN_SLOTS);
  return DM_OK;
}

/* Both members of a pair, and with BENCH_TOGETHER all ranks. */
static dm_status bench_measure(const link_bench *b, dm_link *link, int size, link_way way,
                               int senders) {
  const dm_comm *group = link->exchange.group, *all = way == BENCH_TOGETHER ? b->run->world : group;
  const int repetitions = b->wanted->repetitions;
  const int64_t bytes = b->wanted->bytes[size];
  double seconds[DM_BENCH_MOST];
  int count;
  set_senders(link, senders, bytes);
  DM_TRY(choose_count(link, all, &count));
  for (int i = 0; i < repetitions; i++) DM_TRY(bench_batch(link, all, count, &seconds[i]));
  const double median = dm_statistics_of(seconds, repetitions).median;
  const bool received = senders & ~(1 << dm_comm_rank(group));
  if (!link->served || !received) return DM_OK;
  b->mine[((int64_t)size * WAYS + way) * b->run->ranks + link->other] =
      (double)bytes * count / median;
  return DM_OK;
}

static dm_status measure_alone(const link_bench *b, dm_link *link) {
  for (int s = 0; s < b->wanted->sizes; s++) {
    DM_TRY(bench_measure(b, link, s, ONE_WAY, 1));
    DM_TRY(bench_measure(b, link, s, ONE_WAY, 2));
    DM_TRY(bench_measure(b, link, s, BOTH_WAYS, 3));
  }
  return DM_OK;
}

static dm_status bench_play(const link_bench *b, dm_link *link) {
  dm_run *run = b->run;
  const bool alone = link->served && (run->rank == 0 || link->other == 0);
  DM_TRY(bench_check(b, link));
  dm_status status = alone ? measure_alone(b, link) : DM_OK;
  dm_status rested = dm_comm_idle_barrier(run->world);
  DM_TRY(dm_comm_agree(run->world, dm_status_first(status, rested)));
  DM_TRY(dm_stop_agree(&run->stop, run->world));
  for (int s = 0; s < b->wanted->sizes; s++) DM_TRY(bench_measure(b, link, s, BENCH_TOGETHER, 3));
  return dm_stop_agree(&run->stop, run->world);
}

/* ---- the record ---- */

typedef struct summary {
  dm_statistics all; /* over the pairs */
  int from, to;      /* ranks of the slowest pair */
} summary;

/* VALUES: [to][way][from]. */
static summary summary_of(const double *values, int ranks, link_way way, double *scratch) {
  summary s = {.all = {.median = NAN, .least = NAN, .most = NAN}};
  double worst = INFINITY;
  int64_t count = 0;
  for (int64_t i = 0; i < (int64_t)ranks * ranks; i++) {
    const int to = (int)(i / ranks), from = (int)(i % ranks);
    const double value = values[((int64_t)to * WAYS + way) * ranks + from];
    if (!isfinite(value)) continue;
    scratch[count++] = value;
    if (value >= worst) continue;
    worst = value;
    s.from = from;
    s.to = to;
  }
  if (count > 0) s.all = dm_statistics_of(scratch, count);
  return s;
}

static void record_way(const summary *s, link_way way, dm_record *record) {
  const char *const parts[] = {"median", "least", "most"};
  const double numbers[] = {s->all.median, s->all.least, s->all.most};
  char text[200], shown[3][32];
  for (int i = 0; i < 3; i++) { /* unknown values, too: the CSV has the same columns for all */
    char path[64];
    snprintf(path, sizeof path, "rates.%s_%s_Bps", bench_names[way], parts[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_PLAIN, numbers[i]);
    dm_format_rate(numbers[i], shown[i]);
  }
  if (s->all.count == 0) return;
  snprintf(text, sizeof text, "median %s, least %s, most %s; slowest from rank %d to %d", shown[0],
           shown[1], shown[2], s->from, s->to);
  dm_record_line(record, titles[way], text);
}

static dm_status record_size(const link_bench *b, int size, const double *values,
                             dm_record *record) {
  const int ranks = b->run->ranks;
  double *scratch;
  char rate[32];
  DM_TRY(dm_buffer_zeroed((int64_t)ranks * ranks, sizeof *scratch, (void **)&scratch));
  dm_setup_record_machine(&b->setup, b->run, record);
  dm_record_text(record, "transport.name", "transport", "%s", b->ops->name);
  dm_record_text(record, "transport.about", NULL, "%s", b->ops->about);
  dm_record_integer(record, "bench.bytes", "pieces", DM_SHOWN_BYTES, b->wanted->bytes[size]);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN,
                    b->wanted->repetitions);
  summary s[WAYS];
  for (int way = 0; way < WAYS; way++) {
    s[way] = summary_of(values, ranks, (link_way)way, scratch);
    record_way(&s[way], (link_way)way, record);
  }
  free(scratch);
  dm_record_text(record, "verification.verdict", "bytes compared", "PASS");
  dm_record_summary(
      record, "transport=%s bytes=%lld ranks=%d median=%s PASS", b->ops->name,
      (long long)b->wanted->bytes[size], ranks,
      s[BENCH_TOGETHER].all.count > 0 ? dm_format_rate(s[BENCH_TOGETHER].all.median, rate) : "-");
  return DM_OK;
}

static dm_status report_size(link_bench *b, int size, double *all) {
  const int64_t count = (int64_t)WAYS * b->run->ranks;
  dm_record *record = NULL;
  DM_TRY(
      dm_comm_gather(b->run->world, b->mine + size * count, count * (int64_t)sizeof *all, all, 0));
  if (b->run->rank != 0) return DM_OK;
  dm_status status = dm_record_new("bench links", b->run->command, &record);
  if (!status) status = record_size(b, size, all, record);
  if (!status) status = dm_cli_publish(b->call, record);
  dm_record_free(record);
  return status;
}

static dm_status report_all(link_bench *b) {
  const int64_t ranks = b->run->ranks;
  double *all = NULL;
  dm_status status = DM_OK;
  if (b->run->rank == 0)
    status = dm_buffer_zeroed(WAYS * ranks * ranks, sizeof *all, (void **)&all);
  status = dm_comm_agree(b->run->world, status);
  for (int s = 0; s < b->wanted->sizes && !status; s++)
    status = dm_comm_agree(b->run->world, report_size(b, s, all));
  free(all);
  return status;
}

/* ---- transports ---- */

/* The circle method: RANK's partner in ROUND; -1: none. */
static int partner(int rank, int ranks, int round) {
  const int circle = ranks - 1 + ranks % 2; /* one rank is outside, or none if odd */
  const int half = (circle + 1) / 2;
  int other = (int)(((int64_t)round - rank + 2 * (int64_t)circle) % circle);
  if (rank == circle) other = (int)((int64_t)round * half % circle);
  if (other == rank) other = circle;
  return other < ranks ? other : -1;
}

static bool bench_is_candidate(const link_bench *b, const dm_transport_ops *ops) {
  const dm_run *run = b->run;
  const bool gpu = b->setup.backend->ops->device_memory;
  if (strcmp(b->wanted->engine.transport, "auto") != 0)
    return strcmp(b->wanted->engine.transport, ops->name) == 0;
  if (ops->not_built || strcmp(ops->name, "self") == 0) return false;
  if (!gpu) return !ops->device_memory && (!ops->shared_slots || run->nodes < run->ranks);
  if (ops->shared_slots || (ops->one_node && run->nodes > 1)) return false;
  return !ops->device_memory || !ops->several_nodes || run->nodes > 1;
}

/* *opened: the transport works at all. */
static dm_status measure_transport(link_bench *b, bool *opened) {
  const int ranks = b->run->ranks, rounds = ranks - 1 + ranks % 2;
  for (int64_t i = 0; i < (int64_t)b->wanted->sizes * WAYS * ranks; i++) b->mine[i] = NAN;
  int64_t largest = 0;
  for (int i = 0; i < b->wanted->sizes; i++) largest = dm_max(largest, b->wanted->bytes[i]);
  *opened = false;
  for (int round = 0; round < rounds; round++) {
    dm_link link;
    const int other = partner(b->run->rank, ranks, round);
    dm_status status = dm_link_open(b->run, b->setup.backend, b->ops, other, largest, &link);
    if (!status) *opened = true;
    if (!status) status = bench_play(b, &link);
    /* A peer may still write to an aborted exchange: its memory is kept. */
    if (status && link.transport) dm_transport_abandon(link.transport);
    DM_TRY(status);
    dm_link_close(&link);
  }
  return report_all(b);
}

static dm_status bench_refused(const link_bench *b, dm_status status) {
  if (strcmp(b->wanted->engine.transport, "auto") != 0) {
    status->code = DM_E_DEVICE; /* whatever the error: this transport is not available */
    return b->ops->not_built ? status : dm_context(status, "transport %s", b->ops->name);
  }
  dm_log_line(&b->run->log, DM_LOG_NOTE, "transport %s: %s", b->ops->name, status->message);
  dm_status_free(status);
  return DM_OK;
}

static dm_status measure_all(link_bench *b) {
  const dm_problem any = {
      .work = DM_F64, .compute = *dm_compute_by(DM_F64), .accumulator = DM_F64, .c = DM_F64};
  if (b->run->ranks == 1)
    return dm_hint(dm_fail(DM_E_USAGE, "bench links needs two ranks or more"),
                   "mpirun -n 2 damier bench links");
  DM_TRY(dm_setup_open_backend(b->run, &b->wanted->engine, &any, &b->setup));
  const int64_t count = (int64_t)b->wanted->sizes * WAYS * b->run->ranks;
  DM_TRY(dm_comm_agree(b->run->world, dm_buffer_zeroed(count, sizeof *b->mine, (void **)&b->mine)));
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    bool opened;
    b->ops = *ops;
    if (!bench_is_candidate(b, b->ops)) continue;
    dm_run_phase(b->run, "measuring links", 1);
    dm_status status = measure_transport(b, &opened);
    if (status && !opened && status->agreed) status = bench_refused(b, status);
    DM_TRY(status);
  }
  return DM_OK;
}

dm_status dm_bench_links_run(dm_run *run, const dm_bench_links *wanted, const dm_call *call) {
  link_bench b = {.run = run, .wanted = wanted, .call = call};
  dm_status status = measure_all(&b);
  if (status && !status->agreed) return status;
  free(b.mine);
  if (b.setup.backend) dm_setup_close(&b.setup);
  return status;
}

/* ---- the verb ---- */

static dm_status bench_read_links(const dm_call *call, dm_bench_links *wanted) {
  *wanted = (dm_bench_links){.repetitions = (int)call->own.repetitions};
  if (call->own.repetitions > DM_BENCH_MOST)
    return dm_fail(DM_E_USAGE, "option '--repetitions': at most %d", DM_BENCH_MOST);
  return dm_context(dm_bench_links_sizes(call->own.pieces, wanted), "option '--bytes'");
}

static dm_status bench_links(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  dm_bench_links *wanted = shared;
  (void)record;
  wanted->engine = dm_request_engine(&call->settings);
  return dm_bench_links_run(run, wanted, call);
}

int dm_bench_verb_links(dm_call *call) {
  dm_bench_links wanted = {.sizes = 0};
  dm_status prepared = dm_cli_speaks(call) ? bench_read_links(call, &wanted) : DM_OK;
  return dm_bench_job(call, prepared, bench_links, &wanted, sizeof wanted);
}
