#include "engine/reduce.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "plan/partition.h"

/* A layer without panels has computed nothing: its partial block counts as zero, whatever memory
 * held. */
static bool has_sums(const dm_plan *plan, int l) {
  return dm_range_size(dm_plan_layer(plan, l)) > 0;
}

static dm_range share_of(const dm_rank_state *local, int l) {
  return dm_plan_c_share(local->plan, local->tile, local->coords.i, l);
}

/* Rows of this rank's block of C that layer L sums in PART. */
static dm_range sum_rows(const dm_rank_state *local, const dm_sum_part *part, int l) {
  const dm_range share = share_of(local, l);
  if (part->owner < 0) return share;
  if (part->owner != l) return (dm_range){share.begin, share.begin};
  return (dm_range){share.begin + part->rows.begin, share.begin + part->rows.end};
}

/* A sum whose messages are under way. */
typedef struct dm_reduction {
  dm_view block; /* the block; its rows COVERED */
  dm_range covered;
  char *received;
  int64_t slice; /* bytes of this rank's rows in one layer */
  dm_messages *messages;
} dm_reduction;

/* The part of SUMS, rows of a block or of c_sum, that gets added: the sums, or all their
 * accumulators. */
static dm_view added_of(const dm_rank_state *local, dm_view sums) {
  const dm_compute *row = &local->plan->problem.compute;
  return row->finish == DM_FINISH_LAST ? dm_compute_all(row, sums) : sums;
}

/* The rows to be summed, in packed host memory, for messages. */
static dm_status host_block(dm_rank_state *local, const dm_sum_part *part, dm_reduction *r) {
  r->covered = part->owner < 0 ? local->rows : sum_rows(local, part, part->owner);
  const int64_t rows = dm_range_size(r->covered);
  const dm_view block = added_of(
      local, dm_view_sub(local->c, r->covered.begin - local->rows.begin, 0, rows, local->c.cols));
  r->block = block;
  if (block.space == DM_HOST && dm_view_is_packed(block)) return DM_OK;
  void *copy;
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_BLOCK_COPY, &copy));
  r->block = dm_view_row_major(copy, block.dtype, rows, block.cols);
  dm_event copied;
  DM_TRY(dm_backend_copy(local->backend, r->block, block, &copied));
  return dm_backend_wait(local->backend, copied);
}

static dm_view rows_of_block(const dm_reduction *r, dm_range rows) {
  return dm_view_sub(r->block, rows.begin - r->covered.begin, 0, dm_range_size(rows),
                     r->block.cols);
}

static dm_status exchange(const dm_rank_state *local, const dm_sum_part *part, dm_reduction *r) {
  const dm_plan *plan = local->plan;
  const int me = local->coords.l;
  for (int l = 0; l < plan->pk && r->slice > 0; l++)
    if (l != me && has_sums(plan, l))
      DM_TRY(dm_messages_receive(r->messages, local->layers, r->received + l * r->slice, r->slice,
                                 l, 0));
  for (int l = 0; l < plan->pk && has_sums(plan, me); l++) {
    const dm_range rows = sum_rows(local, part, l);
    if (l == me || dm_range_size(rows) == 0) continue;
    const dm_view given = rows_of_block(r, rows);
    const int64_t bytes = given.rows * given.cols * dm_dtype_size(given.dtype);
    if (bytes > 0) DM_TRY(dm_messages_send(r->messages, local->layers, given.base, bytes, l, 0));
  }
  return DM_OK;
}

/* SUM += MORE, rows as in added_of; accumulators are added as their row defines. */
static dm_status add_layer(const dm_rank_state *local, dm_view sum, dm_view more) {
  const dm_compute *row = &local->plan->problem.compute;
  if (row->finish != DM_FINISH_LAST)
    return dm_backend_add(local->backend, sum, sum, more, 1.0, 1.0);
  const int64_t cols = dm_compute_first(row, local->c).cols;
  return dm_backend_join(local->backend, dm_view_sub(sum, 0, 0, sum.rows, cols),
                         dm_view_sub(more, 0, 0, more.rows, cols), dm_compute_plane(row, cols));
}

static dm_status add_up(dm_rank_state *local, const dm_sum_part *part, const dm_reduction *r) {
  const dm_plan *plan = local->plan;
  const int me = local->coords.l;
  const dm_range mine = sum_rows(local, part, me);
  const int64_t rows = dm_range_size(mine), cols = r->block.cols;
  if (rows == 0) return DM_OK;
  const dm_view own = rows_of_block(r, mine);
  const dm_view sum = dm_view_sub(added_of(local, local->c_sum),
                                  mine.begin - share_of(local, me).begin, 0, rows, cols);
  bool first = true;
  for (int l = 0; l < plan->pk; l++) {
    if (!has_sums(plan, l)) continue;
    void *partial = l == me ? own.base : r->received + l * r->slice;
    const dm_view layer = dm_view_row_major(partial, own.dtype, rows, cols);
    if (first)
      dm_copy(sum, layer, false);
    else
      DM_TRY(add_layer(local, sum, layer));
    first = false;
    local->phases.received += l == me ? 0 : r->slice;
  }
  return DM_OK;
}

static void reduction_free(dm_rank_state *local) {
  dm_reduction *r = local->reduction;
  dm_messages_free(r->messages);
  free(r);
  local->reduction = NULL;
}

static dm_status sum_open(dm_rank_state *local) {
  const dm_compute *row = &local->plan->problem.compute;
  const int64_t rows = dm_range_size(share_of(local, local->coords.l)), cols = local->c.cols;
  void *sum;
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_SUM, &sum));
  local->c_sum = dm_view_strided(sum, local->c.dtype, DM_HOST, rows, cols,
                                 dm_compute_added(row, local->c.dtype, cols));
  return DM_OK;
}

static dm_status start(dm_rank_state *local, const dm_sum_part *part, dm_reduction *r) {
  const int64_t rows = dm_range_size(sum_rows(local, part, local->coords.l));
  void *received;
  DM_TRY(sum_open(local));
  DM_TRY(host_block(local, part, r));
  DM_TRY(dm_bytes_of(rows, r->block.cols, dm_dtype_size(r->block.dtype), &r->slice));
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_RECEIVED, &received));
  r->received = received;
  DM_TRY(dm_messages_new(&r->messages));
  return exchange(local, part, r);
}

/* The sum over layers between GPUs: every rank pulls its rows of the other layers' blocks and adds
 * them in ascending order of l, with the same bits as the sum on the host.
 *
 * No layer waits for all others: each publishes its complete block, pulls from those published, and
 * is done when its peers have read their parts of it. */

static dm_range own_rows(const dm_rank_state *local) {
  return dm_plan_c_share(local->plan, local->tile, local->coords.i, local->coords.l);
}

static int64_t row_bytes(const dm_rank_state *local) {
  return local->c.row_stride * dm_dtype_size(local->c.dtype);
}

/* This rank's rows of layer L's block: as wide as there, so that they are one run. */
static dm_view piece_of(const dm_rank_state *local, int l) {
  const int64_t rows = dm_range_size(own_rows(local));
  return dm_view_strided((char *)local->memory.at[DM_BUFFER_PIECES] + l * rows * row_bytes(local),
                         local->c.dtype, DM_DEVICE, rows, local->c.cols, local->c.row_stride);
}

/* For each layer: the place of its piece in this rank's pieces and in its block, and the place in
 * this rank's block of the piece that it pulls. */
typedef struct places {
  int64_t *offset, *bytes, *source, *given, *given_bytes;
} places;

static places places_in(int64_t *memory, int layers) {
  return (places){memory, memory + layers, memory + 2 * layers, memory + 3 * layers,
                  memory + 4 * layers};
}

static void find_places(const dm_rank_state *local, const dm_sum_part *part, places *p) {
  const dm_range share = own_rows(local), mine = sum_rows(local, part, local->coords.l);
  const int64_t row = row_bytes(local), slice = dm_range_size(share) * row;
  for (int l = 0; l < local->plan->pk; l++) {
    const dm_range theirs = sum_rows(local, part, l);
    p->offset[l] = l * slice + (mine.begin - share.begin) * row;
    p->bytes[l] = has_sums(local->plan, l) ? dm_range_size(mine) * row : 0;
    p->source[l] = (mine.begin - local->rows.begin) * row;
    p->given[l] = (theirs.begin - local->rows.begin) * row;
    p->given_bytes[l] = has_sums(local->plan, local->coords.l) ? dm_range_size(theirs) * row : 0;
  }
}

/* Publishes the block, complete for this sum, and requests the peers' pieces. */
static dm_status post(dm_rank_state *local, const dm_sum_part *part) {
  dm_summing *sum = &local->summing;
  int64_t *memory;
  DM_TRY(dm_buffer_zeroed(5 * (int64_t)local->plan->pk, sizeof *memory, (void **)&memory));
  places p = places_in(memory, local->plan->pk);
  find_places(local, part, &p);
  dm_transport_refilled(local->transport, DM_BLOCK_SHARE, ++sum->turn);
  const dm_gather gather = {.group = local->layers,
                            .own = (char *)local->c.base + p.source[local->coords.l],
                            .slot = local->memory.at[DM_BUFFER_PIECES],
                            .offset = p.offset,
                            .bytes = p.bytes,
                            .source = p.source,
                            .share = DM_BLOCK_SHARE,
                            .given = p.given,
                            .given_bytes = p.given_bytes,
                            .filling = sum->turn,
                            .tag = (int)(sum->turn % 32768)};
  dm_status status = dm_transport_post(local->transport, &gather, &sum->ticket);
  free(memory);
  sum->stage = DM_SUM_PULLS;
  return status;
}

/* The first layer always has panels. */
static dm_status add_peers(dm_rank_state *local, const dm_sum_part *part) {
  const dm_range mine = sum_rows(local, part, local->coords.l);
  const int64_t from = mine.begin - own_rows(local).begin, rows = dm_range_size(mine);
  local->c_sum = piece_of(local, 0);
  const dm_view first = added_of(local, local->c_sum);
  const dm_view sum = dm_view_sub(first, from, 0, rows, first.cols);
  for (int l = 1; l < local->plan->pk; l++) {
    const dm_view layer = added_of(local, piece_of(local, l));
    if (has_sums(local->plan, l))
      DM_TRY(add_layer(local, sum, dm_view_sub(layer, from, 0, rows, sum.cols)));
  }
  return DM_OK;
}

static dm_status reduce_on_device(dm_rank_state *local, const dm_sum_part *part, bool *done) {
  dm_summing *sum = &local->summing;
  bool pulled = false;
  *done = false;
  if (sum->stage == DM_SUM_RESTS) DM_TRY(post(local, part));
  if (sum->stage == DM_SUM_PULLS) {
    DM_TRY(dm_transport_test(local->transport, sum->ticket, &pulled));
    if (!pulled) return DM_OK;
    DM_TRY(add_peers(local, part));
    sum->stage = DM_SUM_DRAINS;
  }
  *done = !part->last || dm_transport_drained(local->transport, DM_BLOCK_SHARE, sum->turn);
  if (*done) sum->stage = DM_SUM_RESTS;
  return DM_OK;
}

dm_status dm_rank_reduce(dm_rank_state *local, const dm_sum_part *part, bool *done) {
  const dm_sum_part whole = {.owner = -1, .last = true};
  *done = true;
  if (!part) part = &whole;
  if (dm_rank_reduces_on_device(local)) return reduce_on_device(local, part, done);
  if (!local->reduction) {
    void *memory;
    DM_TRY(dm_buffer_zeroed(1, sizeof(dm_reduction), &memory));
    local->reduction = memory;
    DM_TRY(start(local, part, local->reduction));
  }
  DM_TRY(dm_messages_test(local->reduction->messages, done));
  if (!*done) return DM_OK;
  dm_status status = add_up(local, part, local->reduction);
  reduction_free(local);
  return status;
}
