/* The sum over layers between GPUs: every rank pulls its rows of the other layers' blocks and adds
 * them in ascending order of l, with the same bits as the sum on the host.
 *
 * No layer waits for all others: each publishes its complete block, pulls from those published, and
 * is done when its peers have read their parts of it. */
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/reduce.h"
#include "plan/partition.h"

bool dm_rank_reduces_on_device(const dm_rank_state *local) {
  return local->plan->device_links && local->plan->pk > 1;
}

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
  const dm_range share = own_rows(local), mine = dm_sum_rows(local, part, local->coords.l);
  const int64_t row = row_bytes(local), slice = dm_range_size(share) * row;
  for (int l = 0; l < local->plan->pk; l++) {
    const dm_range theirs = dm_sum_rows(local, part, l);
    p->offset[l] = l * slice + (mine.begin - share.begin) * row;
    p->bytes[l] = dm_sum_has(local->plan, l) ? dm_range_size(mine) * row : 0;
    p->source[l] = (mine.begin - local->rows.begin) * row;
    p->given[l] = (theirs.begin - local->rows.begin) * row;
    p->given_bytes[l] = dm_sum_has(local->plan, local->coords.l) ? dm_range_size(theirs) * row : 0;
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
static dm_status add_up(dm_rank_state *local, const dm_sum_part *part) {
  const dm_range mine = dm_sum_rows(local, part, local->coords.l);
  const int64_t from = mine.begin - own_rows(local).begin, rows = dm_range_size(mine);
  local->c_sum = piece_of(local, 0);
  const dm_view first = dm_sum_added(local, local->c_sum);
  const dm_view sum = dm_view_sub(first, from, 0, rows, first.cols);
  for (int l = 1; l < local->plan->pk; l++) {
    const dm_view layer = dm_sum_added(local, piece_of(local, l));
    if (dm_sum_has(local->plan, l))
      DM_TRY(dm_sum_add(local, sum, dm_view_sub(layer, from, 0, rows, sum.cols)));
  }
  return DM_OK;
}

dm_status dm_rank_reduce_on_device(dm_rank_state *local, const dm_sum_part *part, bool *done) {
  dm_summing *sum = &local->summing;
  bool pulled = false;
  *done = false;
  if (sum->stage == DM_SUM_RESTS) DM_TRY(post(local, part));
  if (sum->stage == DM_SUM_PULLS) {
    DM_TRY(dm_transport_test(local->transport, sum->ticket, &pulled));
    if (!pulled) return DM_OK;
    DM_TRY(add_up(local, part));
    sum->stage = DM_SUM_DRAINS;
  }
  *done = !part->last || dm_transport_drained(local->transport, DM_BLOCK_SHARE, sum->turn);
  if (*done) sum->stage = DM_SUM_RESTS;
  return DM_OK;
}
