#include "engine/links.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "core/element.h"
#include "core/units.h"

static void add_reason(dm_links *links, const char *name, const char *text) {
  const size_t used = strlen(links->reasons);
  snprintf(links->reasons + used, sizeof links->reasons - used, "%s%s: %s", used ? "; " : "", name,
           text);
}

static const char *in_words(const dm_link_rates *rates, char text[80]) {
  char inside[32], between[32];
  if (rates->inside > 0 && rates->between > 0)
    snprintf(text, 80, "%s inside nodes, %s between", dm_format_rate(rates->inside, inside),
             dm_format_rate(rates->between, between));
  else
    dm_format_rate(rates->inside > 0 ? rates->inside : rates->between, text);
  return text;
}

/* Self-tests OPS and notes the outcome. */
static dm_status attempt(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                         dm_links *links, dm_link_rates *rates) {
  char text[80];
  dm_status status = dm_links_self_test(run, backend, ops, rates);
  add_reason(links, ops->name, status ? status->message : in_words(rates, text));
  return status;
}

/* Another transport must be faster by more than the noise of a measurement. */
static const double clearly = 1.2;

static void links_choose(dm_links *links, const dm_transport_ops *ops, const dm_link_rates *rates) {
  if (links->chosen && rates->between <= clearly * links->rates.between) return;
  links->chosen = ops;
  links->rates = *rates;
}

static dm_status take_named(const dm_run *run, dm_backend *backend, const char *name,
                            dm_links *links) {
  const dm_transport_ops *ops = dm_transport_find(name);
  dm_link_rates rates, between = {0};
  if (!ops) return dm_fail(DM_E_USAGE, "there is no transport '%s'", name);
  dm_status status = attempt(run, backend, ops, links, &rates);
  if (!status && ops->shared_slots && run->nodes > 1) { /* it uses host there */
    status = attempt(run, backend, dm_transport_find("host"), links, &between);
    rates.between = between.between;
  }
  if (status) {
    status->code = DM_E_DEVICE; /* in any case, this transport is not available */
    return ops->not_built ? status : dm_context(status, "transport %s", name);
  }
  links_choose(links, ops, &rates);
  return DM_OK;
}

/* Whether to self-test OPS if the user did not name it. */
static bool links_is_candidate(const dm_run *run, const dm_backend *backend,
                               const dm_transport_ops *ops) {
  if (ops->not_built) return false;
  if (!backend->ops->device_memory) return ops->shared_slots && run->nodes < run->ranks;
  if (ops->one_node && run->nodes > 1) return false;
  return ops->device_memory && (!ops->several_nodes || run->nodes > 1);
}

/* GPU memory that must pass through the host is slower by a factor of 100: warn the user and say
 * what to do. Messages instead of shared slots cost a few per cent. */
static void regret(const dm_run *run, const dm_transport_ops *ops, dm_status status) {
  if (!status) return;
  const dm_level level = ops->device_memory ? DM_LOG_WARNING : DM_LOG_NOTE;
  dm_log_line(&run->log, level, "transport %s: %s; panels %s", ops->name, status->message,
              ops->device_memory ? "pass through host memory" : "travel as messages");
  if (status->hint[0]) dm_log_line(&run->log, level, "%s", status->hint);
  dm_status_free(status);
}

dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links) {
  dm_link_rates rates = {0};
  *links = (dm_links){0};
  if (strcmp(name, "auto") != 0) return take_named(run, backend, name, links);
  if (run->ranks == 1) {
    links_choose(links, dm_transport_find("self"), &rates);
    return DM_OK;
  }
  const dm_transport_ops *best = NULL; /* first failure */
  dm_status why = DM_OK;
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    if (!links_is_candidate(run, backend, *ops)) continue;
    dm_status status = attempt(run, backend, *ops, links, &rates);
    if (!status) links_choose(links, *ops, &rates);
    if (links->chosen && run->nodes == 1) break; /* starting NCCL takes a second */
    if (status && !best) best = *ops;
    why = dm_status_first(why, status);
  }
  if (!links->chosen)
    regret(run, best, why);
  else
    dm_status_free(why);
  /* Plans of GPU jobs may want host, too; in one process it only copies memory. */
  const bool copies = dm_comm_is_one_process(run->world);
  if (links->chosen && run->nodes == 1 && (copies || links->chosen->shared_slots)) return DM_OK;
  const dm_transport_ops *host = dm_transport_find("host");
  DM_TRY(attempt(run, backend, host, links, &rates));
  if (!links->chosen) links_choose(links, host, &rates);
  if (links->chosen->shared_slots) links->rates.between = rates.between; /* it uses host there */
  return DM_OK;
}

dm_status dm_links_recall(const dm_run *run, dm_backend *backend, int device, const char *name,
                          dm_known_links *known, dm_links *links) {
  if (known && known->links.chosen && known->backend == backend->ops && known->device == device &&
      strcmp(known->wish, name) == 0) {
    *links = known->links;
    return DM_OK;
  }
  DM_TRY(dm_links_choose(run, backend, name, links));
  if (!known) return DM_OK;
  *known = (dm_known_links){.links = *links, .backend = backend->ops, .device = device};
  snprintf(known->wish, sizeof known->wish, "%s", name);
  return DM_OK;
}

const dm_transport_ops *dm_links_for(const dm_links *links, const dm_plan *plan) {
  return links->chosen->device_memory == plan->device_links ? links->chosen
                                                            : dm_transport_find("host");
}

/* ---- test patterns between neighbours ---- */

enum { LINKS_TAGS = 1 << 15 };

static const double links_patience = 30.0; /* seconds; a link that hangs is not used */

/* ---- memory ---- */

/* Collective: a GROUP of neighbours: the ranks of one node, or, BETWEEN nodes, one rank of each
 * node at the same position. */
static dm_status links_find_neighbours(const dm_run *run, bool between, dm_comm **group) {
  dm_comm *across = NULL;
  const dm_comm *all = run->near;
  dm_status status = DM_OK;
  if (between) {
    status = dm_comm_split(run->world, dm_comm_rank(run->near), run->rank, &across);
    all = across;
  }
  if (!status) {
    const int64_t ranks = dm_comm_size(all), rank = dm_comm_rank(all);
    const int64_t parts = dm_ceil_div(ranks, DM_PATTERN_RANKS);
    status = dm_comm_split(all, (int)(rank * parts / ranks), (int)rank, group);
  }
  dm_comm_free(across);
  return dm_comm_agree(run->world, status);
}

static dm_status links_take_memory(dm_link_pattern *e) {
  const int64_t bytes = (int64_t)e->slots * dm_comm_size(e->group) * e->piece;
  void *memory;
  if (!e->shared) {
    DM_TRY(dm_backend_alloc(e->backend, e->space, dm_round_up(bytes, DM_SLAB), &memory));
    e->slot = memory;
  }
  if (!e->in_place) {
    DM_TRY(dm_backend_alloc(e->backend, e->space, e->piece, &memory));
    e->share = memory;
  }
  DM_TRY(dm_backend_alloc(e->backend, DM_HOST, 2 * e->piece, &memory));
  e->sent = memory;
  e->arrived = e->sent + e->piece;
  return DM_OK;
}

static dm_status links_show(dm_link_pattern *e) {
  const int64_t bytes = (int64_t)e->slots * dm_comm_size(e->group) * e->piece;
  void *memory = e->slot;
  if (e->shared) DM_TRY(dm_transport_slots_open(e->transport, e->number, e->group, bytes, &memory));
  e->slot = memory;
  if (e->in_place) e->share = e->slot;
  if (e->shared) return DM_OK;
  return dm_transport_expose(e->transport, e->number, e->group, e->share,
                             e->in_place ? dm_round_up(bytes, DM_SLAB) : e->piece);
}

dm_status dm_link_pattern_open(dm_link_pattern *e, const dm_comm *all) {
  const int ranks = dm_comm_size(e->group);
  e->shared = e->transport->ops->shared_slots != NULL;
  e->in_place |= e->shared;
  e->space = e->transport->ops->device_memory ? DM_DEVICE : DM_HOST;
  for (int i = 0; i < e->slots * ranks; i++) e->offset[i / ranks][i % ranks] = i * e->piece;
  DM_TRY(dm_comm_agree(all, links_take_memory(e)));
  return dm_comm_agree(all, links_show(e));
}

void dm_link_pattern_close(dm_link_pattern *e) {
  if (!e->in_place) dm_backend_release(e->backend, e->space, e->share);
  if (!e->shared) dm_backend_release(e->backend, e->space, e->slot);
  dm_backend_release(e->backend, DM_HOST, e->sent);
  dm_comm_free(e->group);
}

/* ---- test patterns ---- */

/* The first BYTES, rounded up. */
static void write_pattern(const dm_link_pattern *e, int rank, int step, int64_t bytes) {
  const uint64_t first = ((uint64_t)rank << 40) + ((uint64_t)step << 32);
  for (int64_t i = 0; i < dm_ceil_div(bytes, 8); i++) {
    const uint64_t word = dm_mix(first + (uint64_t)i);
    memcpy(e->sent + 8 * i, &word, 8);
  }
}

static dm_view links_run_of(const char *memory, dm_space space, int64_t bytes) {
  return dm_view_strided((void *)memory, DM_I8, space, 1, bytes, bytes);
}

static dm_status links_copy(const dm_link_pattern *e, char *dst, dm_space to, const char *src,
                            dm_space from, int64_t bytes) {
  return dm_backend_copy_now(e->backend, links_run_of(dst, to, bytes),
                             links_run_of(src, from, bytes));
}

/* The start of a rank's piece in its test pattern: 0 if in place, anywhere in a share. */
static int64_t start_of(const dm_link_pattern *e, int rank) {
  return e->in_place ? 0 : e->source[rank];
}

dm_status dm_link_pattern_fill(const dm_link_pattern *e, int step) {
  const int me = dm_comm_rank(e->group), ranks = dm_comm_size(e->group);
  memset(e->arrived, 0, (size_t)e->piece);
  write_pattern(e, me, step, e->piece);
  for (int i = 0; i < e->slots * ranks && !e->shared; i++)
    DM_TRY(links_copy(e, e->slot + i * e->piece, e->space, e->arrived, DM_HOST, e->piece));
  if (!e->in_place) return links_copy(e, e->share, e->space, e->sent, DM_HOST, e->piece);
  for (int s = 0; s < e->slots && e->bytes[me] > 0;
       s++) /* a piece starts at its place, and may be shorter than its room */
    DM_TRY(links_copy(e, e->slot + e->offset[s][me], e->space, e->sent, DM_HOST, e->bytes[me]));
  return DM_OK;
}

static dm_status links_compare_piece(const dm_link_pattern *e, int rank, int64_t bytes) {
  const char *const wanted = e->sent + start_of(e, rank);
  int64_t at = 0;
  if (memcmp(e->arrived, wanted, (size_t)bytes) == 0) return DM_OK;
  while (e->arrived[at] == wanted[at]) at++;
  return dm_fail(DM_E_DEVICE, "byte %lld of %lld from neighbour %d arrived as %02x, not %02x",
                 (long long)at, (long long)bytes, rank, e->arrived[at] & 0xff, wanted[at] & 0xff);
}

dm_status dm_link_pattern_compare(const dm_link_pattern *e, int step) {
  for (int r = 0; r < dm_comm_size(e->group); r++) {
    write_pattern(e, r, step, start_of(e, r) + e->bytes[r]);
    for (int s = 0; s < e->slots && e->bytes[r] > 0; s++) {
      const char *piece = e->slot + e->offset[s][r];
      DM_TRY(links_copy(e, e->arrived, DM_HOST, piece, e->space, e->bytes[r]));
      DM_TRY(links_compare_piece(e, r, e->bytes[r]));
    }
  }
  return DM_OK;
}

/* ---- moving ---- */

/* Waits until the gather of TICKET is done. */
static dm_status links_wait_for(const dm_link_pattern *e, int ticket) {
  const double start = dm_now();
  for (bool done = false;;) {
    DM_TRY(dm_transport_test(e->transport, ticket, &done));
    if (done) dm_watch_moved(e->watch);
    dm_watch_poll(e->watch);
    if (done) return DM_OK;
    if (dm_now() - start > links_patience)
      return dm_fail(DM_E_DEVICE, "nothing arrived for %.0f s", links_patience);
    sched_yield();
  }
}

static dm_status links_post(const dm_link_pattern *e, int i, int *ticket) {
  const int slot = i % e->slots, me = dm_comm_rank(e->group);
  const int64_t *const source = e->in_place ? e->offset[slot] : e->source;
  const dm_gather gather = {.group = e->group,
                            .own = e->share + source[me],
                            .slot = e->slot,
                            .offset = e->offset[slot],
                            .bytes = e->bytes,
                            .source = source,
                            .share = e->number,
                            .tag = i % LINKS_TAGS};
  return dm_transport_post(e->transport, &gather, ticket);
}

dm_status dm_link_pattern_gather(const dm_link_pattern *e, int count, int at_once) {
  int tickets[DM_GATHERS];
  for (int i = 0; i < count + at_once; i++) {
    if (i >= at_once && i - at_once < count)
      DM_TRY(links_wait_for(e, tickets[(i - at_once) % at_once]));
    if (i < count) DM_TRY(links_post(e, i, &tickets[i % at_once]));
  }
  return DM_OK;
}

void dm_link_pattern_copy(const dm_link_pattern *e, int count) {
  const int ranks = dm_comm_size(e->group), me = dm_comm_rank(e->group);
  for (int i = 0; i < count && ranks > 1; i++) {
    const int r = (me + 1 + i % (ranks - 1)) % ranks;
    memcpy(e->arrived, e->slot + e->offset[i % e->slots][r], (size_t)e->bytes[r]);
    dm_watch_moved(e->watch);
    dm_watch_poll(e->watch);
  }
}

/* ---- the self-test ----
 *
 * Ranks exchange test patterns in the way panels travel, compare every
 * byte, and then measure the time with all ranks active. Pieces grow from a size that any link
 * carries to one that shows the link's bandwidth, as long as that takes at most two seconds. */

enum {
  PATTERN = 0,      /* the share is filled once */
  LINKS_ROUNDS = 8, /* maximum number of gathers timed */
  SMALLEST_PIECE = 4 << 10,
  GROWTH = 16,
  SLACK = 64,             /* bytes left out of a piece, so that it may start anywhere */
  DEVICE_PIECE = 8 << 20, /* bytes a rank contributes */
  HOST_PIECE = 1 << 20,
};

static const double links_moment = 2.0; /* longest time of a gather in seconds, ... */
static const double timed = 0.05;       /* ... and of all timed gathers, unless one takes longer */

/* Odd sizes and unaligned starts; other bytes in every STEP, so that earlier data is never mistaken
 * for new data. */
static void links_lay_out(dm_link_pattern *e, int step, int64_t size) {
  for (int r = 0; r < dm_comm_size(e->group); r++) {
    e->source[r] = 3 * r + 8 * step;
    e->bytes[r] = size - SLACK - 5 * r;
    e->offset[0][r] = r * e->piece + r;
  }
}

/* Aligned like panels: unaligned copies go byte by byte, and their time would mislead. */
static void lay_out_plain(dm_link_pattern *e) {
  for (int r = 0; r < dm_comm_size(e->group); r++) {
    e->source[r] = 0;
    e->bytes[r] = (e->bytes[r] + SLACK) / SLACK * SLACK;
    e->offset[0][r] = r * e->piece;
  }
}

/* Measures the seconds per byte received by this rank. */
static dm_status links_measure(const dm_link_pattern *e, const dm_comm *world, int rounds,
                               double *slowness) {
  const int64_t before = dm_transport_received(e->transport);
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_status status = dm_link_pattern_gather(e, rounds, rounds);
  const double seconds = dm_now() - start;
  const int64_t bytes = dm_transport_received(e->transport) - before;
  *slowness = bytes > 0 ? seconds / (double)bytes : 0.0;
  return status;
}

/* One gather whose bytes are all compared; returns the seconds that the slowest rank waited. */
static dm_status carry_once(const dm_link_pattern *e, const dm_comm *world, double *seconds) {
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_status status = dm_link_pattern_gather(e, 1, 1);
  *seconds = dm_now() - start;
  DM_TRY(dm_comm_agree(world, status ? status : dm_link_pattern_compare(e, PATTERN)));
  return dm_comm_max_f64(world, seconds, 1);
}

static dm_status carry(dm_link_pattern *e, const dm_comm *world, double *rate) {
  int64_t size = SMALLEST_PIECE;
  double slowness = 0.0, seconds = 0.0;
  DM_TRY(dm_comm_agree(world, dm_link_pattern_fill(e, PATTERN)));
  dm_transport_filled(e->transport, e->number);
  for (int step = 0;; step++) {
    links_lay_out(e, step, size);
    DM_TRY(carry_once(e, world, &seconds));
    if (step == 0) continue; /* step 0 opened connections */
    if (size == e->piece || seconds * GROWTH > links_moment) break;
    size = dm_min(size * GROWTH, e->piece);
  }
  const double rounds = fmax(1, fmin(LINKS_ROUNDS, timed / fmax(seconds, 1e-9)));
  lay_out_plain(e);
  DM_TRY(dm_comm_agree(world, links_measure(e, world, (int)rounds, &slowness)));
  DM_TRY(dm_comm_max_f64(world, &slowness, 1));
  *rate = slowness > 0.0 ? 1.0 / slowness : 0.0;
  return DM_OK;
}

/* Each rank writes its piece into the shared slots; measures copying the others' pieces out, as
 * products read them. */
static dm_status share_slots(dm_link_pattern *e, const dm_comm *world, double *rate) {
  const int others = dm_comm_size(e->group) - 1;
  double slowness = 0.0, seconds;
  links_lay_out(e, 0, e->piece);
  DM_TRY(dm_comm_agree(world, dm_link_pattern_fill(e, PATTERN)));
  dm_transport_filled(e->transport, e->number);
  DM_TRY(carry_once(e, world, &seconds));
  DM_TRY(dm_comm_barrier(world));
  const double start = dm_now();
  dm_link_pattern_copy(e, LINKS_ROUNDS * others);
  if (others > 0) slowness = (dm_now() - start) / (double)(LINKS_ROUNDS * others * e->piece);
  DM_TRY(dm_comm_max_f64(world, &slowness, 1));
  *rate = slowness > 0.0 ? 1.0 / slowness : 0.0;
  return DM_OK;
}

/* Uses share 0 inside nodes, share 1 between them. */
static dm_status test_level(dm_link_pattern *e, const dm_run *run, bool between, double *rate) {
  e->number = between;
  DM_TRY(links_find_neighbours(run, between, &e->group));
  DM_TRY(dm_link_pattern_open(e, run->world));
  return e->shared ? share_slots(e, run->world, rate) : carry(e, run->world, rate);
}

static dm_status mover_alloc(void *context, dm_space space, int64_t bytes, void **memory) {
  return dm_backend_alloc(context, space, bytes, memory);
}

static void mover_release(void *context, dm_space space, void *memory) {
  dm_backend_release(context, space, memory);
}

static dm_status post_copy(void *context, dm_view dst, dm_view src, uint64_t *event) {
  return dm_backend_copy(context, dst, src, event);
}

static dm_status test_copy(void *context, uint64_t event, bool *done) {
  return dm_backend_test(context, event, done);
}

dm_status dm_links_open(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                        dm_transport **transport) {
  const dm_mover mover = {.context = backend,
                          .alloc = mover_alloc,
                          .release = mover_release,
                          .copy = post_copy,
                          .test = test_copy};
  dm_transport_config config = {
      .group = run->world, .device = -1, .node = run->near, .mover = &mover};
  dm_device device;
  DM_TRY(dm_comm_agree(run->world, dm_backend_device(backend, &device)));
  if (backend->ops->device_memory) config.device = device.index;
  return dm_comm_agree(run->world, dm_transport_open(ops, &config, transport));
}

dm_status dm_links_self_test(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                             dm_link_rates *rates) {
  const int64_t piece = ops->device_memory ? DEVICE_PIECE : HOST_PIECE;
  dm_link_pattern e[2] = {{.backend = backend, .watch = run->watch, .slots = 1, .piece = piece}};
  *rates = (dm_link_rates){0};
  DM_TRY(dm_links_open(run, backend, ops, &e[0].transport));
  e[1] = e[0];
  const bool inside = run->nodes < run->ranks || run->nodes == 1;
  const bool between = run->nodes > 1 && !ops->shared_slots;
  dm_status status = inside ? test_level(&e[0], run, false, &rates->inside) : DM_OK;
  if (!status && between) status = test_level(&e[1], run, true, &rates->between);
  /* A peer may still write to the memory of an aborted test: do not free it. */
  if (status) {
    dm_transport_abandon(e->transport);
    return status;
  }
  dm_transport_close(e->transport);
  if (inside) dm_link_pattern_close(&e[0]);
  if (between) dm_link_pattern_close(&e[1]);
  return DM_OK;
}
