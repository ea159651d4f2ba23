#include "measure/bench_tiles.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/fill.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* This rank's rows of the tile that the local is turned to; those that it sums, of several layers.
 */
static dm_range rows_of(const dm_rank_state *local) {
  const dm_coords *at = &local->coords;
  return local->plan->pk > 1 ? dm_plan_c_share(local->plan, local->tile, at->i, at->l)
                             : local->rows;
}

static dm_view in_host(const dm_bench_tiles *tiles) {
  const dm_rank_state *local = tiles->local;
  return dm_view_row_major(tiles->c + tiles->at[local->tile], local->c.dtype,
                           dm_range_size(rows_of(local)), local->c.cols);
}

/* As many rows of a block where the backend multiplies. */
static dm_view in_block(const dm_bench_tiles *tiles) {
  const dm_rank_state *local = tiles->local;
  return dm_view_sub(local->c, 0, 0, dm_range_size(rows_of(local)), local->c.cols);
}

static dm_status copy(const dm_bench_tiles *tiles, dm_view dst, dm_view src) {
  dm_event copied;
  DM_TRY(dm_backend_copy(tiles->local->backend, dst, src, &copied));
  return dm_backend_wait(tiles->local->backend, copied);
}

static dm_status place_tiles(dm_bench_tiles *tiles, int64_t *all) {
  dm_rank_state *local = tiles->local;
  *all = 0;
  for (int64_t t = 0; t < dm_plan_tiles(local->plan); t++) {
    int64_t bytes;
    dm_rank_turn_to(local, t);
    DM_TRY(dm_bytes_of(dm_range_size(rows_of(local)), local->c.cols, dm_dtype_size(local->c.dtype),
                       &bytes));
    tiles->at[t] = *all;
    if (dm_add_overflows(*all, bytes, all))
      return dm_fail(DM_E_FIT, "a C of more bytes than 64 bits count");
  }
  return DM_OK;
}

dm_status dm_bench_tiles_open(dm_rank_state *local, dm_bench_tiles *tiles) {
  const int64_t count = dm_plan_tiles(local->plan);
  int64_t bytes;
  *tiles = (dm_bench_tiles){.local = local};
  if (local->coords.idle) return DM_OK;
  DM_TRY(dm_buffer_zeroed(count, sizeof *tiles->at, (void **)&tiles->at));
  DM_TRY(dm_buffer_zeroed(count, sizeof *tiles->returned, (void **)&tiles->returned));
  DM_TRY(dm_buffer_zeroed(count, sizeof *tiles->posted, (void **)&tiles->posted));
  DM_TRY(place_tiles(tiles, &bytes));
  return dm_backend_alloc(local->backend, DM_HOST, bytes, (void **)&tiles->c);
}

void dm_bench_tiles_close(dm_bench_tiles *tiles) {
  if (!tiles->local) return;
  dm_backend_release(tiles->local->backend, DM_HOST, tiles->c);
  free(tiles->at);
  free(tiles->returned);
  free(tiles->posted);
}

dm_status dm_bench_tiles_spoil(dm_bench_tiles *tiles) {
  const dm_generator other = {.kind = DM_CONSTANT, .parameter = 3.0};
  dm_rank_state *local = tiles->local;
  if (local->coords.idle) return DM_OK;
  for (int64_t t = 0; t < dm_plan_tiles(local->plan); t++) {
    dm_rank_turn_to(local, t);
    tiles->posted[t] = false;
    DM_TRY(dm_backend_fill(local->backend, in_block(tiles), &other, 0, 0));
    DM_TRY(copy(tiles, in_host(tiles), in_block(tiles)));
  }
  return DM_OK;
}

dm_status dm_bench_tiles_store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  dm_bench_tiles *tiles = context;
  const int64_t t = local->tile;
  const dm_view sums = local->plan->pk > 1 ? local->c_sum : local->c;
  (void)rows; /* all of them: a tile has no strips */
  if (!tiles->posted[t])
    DM_TRY(dm_backend_copy(local->backend, in_host(tiles), sums, &tiles->returned[t]));
  tiles->posted[t] = true;
  return dm_backend_test(local->backend, tiles->returned[t], done);
}

dm_status dm_bench_tiles_show(dm_bench_tiles *tiles, dm_view *returned, dm_range *rows) {
  *rows = rows_of(tiles->local);
  *returned = in_block(tiles);
  return copy(tiles, *returned, in_host(tiles));
}
