/* Reads tiles again from the part file: tiles recorded by an earlier run before trusting them, and,
 * if requested, all written tiles before C gets its name. */
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/element_sum.h"
#include "io/read.h"
#include "io/tile_sums.h"
#include "job/checkpoint_impl.h"
#include "plan/partition.h"
#include "plan/saturating.h"

enum { STRIP = 4 << 20 }; /* fits in a cache between reading and summing */

/* auto: read C again if that takes at most this fraction of the run's time so far. */
static const double cheap = 0.01, unnoticed = 0.01; /* fraction; seconds */
static const double assumed_rate = 1e9; /* bytes per second that a rank reads and checksums */

/* The state of a recorded tile. */
enum { TAKEN_UP = DM_TILE_COMPUTED | DM_TILE_STORED | DM_TILE_RECORDED };

dm_tile_record dm_trust_record(const dm_plan *plan, int64_t t) {
  const dm_tile tile = dm_plan_tile(plan, t);
  return (dm_tile_record){.row = tile.rows.begin,
                          .col = tile.cols.begin,
                          .rows = dm_range_size(tile.rows),
                          .cols = dm_range_size(tile.cols)};
}

int64_t dm_recorded_tile(const dm_checkpoint *c, const dm_tile_record *r, int64_t from) {
  for (int64_t i = 0; i < c->tiles; i++) {
    const int64_t t = (from + i) % c->tiles;
    const dm_tile_record cut = dm_trust_record(c->plan, t);
    if (r->row == cut.row && r->col == cut.col && r->rows == cut.rows && r->cols == cut.cols)
      return t;
  }
  return -1;
}

dm_status dm_trust_list(dm_checkpoint *c) {
  int64_t count = 0;
  const dm_tile_record *old = c->journal ? dm_journal_records(c->journal, &count) : NULL;
  DM_TRY(dm_buffer_table(c->tiles, &c->records));
  for (int64_t i = 0, t = -1; i < dm_min(count, c->found.records); i++) {
    t = dm_recorded_tile(c, &old[i], t + 1);
    c->records[t] = old[i];
    dm_tile_reach(c->states, t, TAKEN_UP);
  }
  return DM_OK;
}

void dm_trust_list_others(dm_checkpoint *c) {
  int64_t count = 0;
  const dm_tile_record *old = c->journal ? dm_journal_records(c->journal, &count) : NULL;
  for (int64_t t = 0; t < c->tiles; t++) {
    if (dm_tile_has(c->states, t, TAKEN_UP)) {
      c->taken++;
      continue;
    }
    c->records[t] = dm_trust_record(c->plan, t);
    if (count > 0) c->records[t].run = old[count - 1].run + 1;
  }
}

/* The checksum of this rank's part of one tile. */
static dm_status sum_of(dm_checkpoint *c, dm_reader *reader, const dm_dataset *set,
                        const dm_tile_record *tile, uint64_t *sum) {
  const dm_range rows = dm_split(tile->rows, c->run->ranks, c->run->rank, 1);
  const int64_t row_bytes = dm_max(1, tile->cols * dm_dtype_size(set->dtype));
  const int64_t height = dm_min(dm_max(1, STRIP / row_bytes), dm_max(1, dm_range_size(rows)));
  void *strip;
  *sum = 0;
  DM_TRY(dm_buffer_alloc(height * row_bytes, &strip));
  dm_status status = DM_OK;
  for (int64_t at = rows.begin; at < rows.end && !status; at += height) {
    dm_view view = dm_view_row_major(strip, set->dtype, dm_min(height, rows.end - at), tile->cols);
    status = dm_reader_read(reader, tile->row + at, tile->col, &view, 1, false);
    if (!status) *sum += dm_checksum_view(view, tile->row + at, tile->col, set->cols);
  }
  free(strip);
  return status;
}

dm_status dm_trust_sums(dm_checkpoint *c, const dm_output_file *file, const dm_tile_record *list,
                        int64_t count, const bool *wanted, uint64_t *sums) {
  dm_dataset set;
  dm_reader *reader;
  DM_TRY(dm_output_part(file, &set));
  DM_TRY(dm_reader_open(&set, DM_DTYPE_NONE, &reader));
  dm_reader_keepalive(reader, &c->run->keepalive);
  dm_status status = DM_OK;
  for (int64_t t = 0; t < count && !status; t++)
    if (!wanted || wanted[t]) status = sum_of(c, reader, &set, &list[t], &sums[t]);
  dm_reader_close(reader);
  return status;
}

static dm_status sums_of_recorded(dm_checkpoint *c, const dm_output_file *file, uint64_t *sums) {
  bool *recorded;
  DM_TRY(dm_buffer_table(c->tiles, &recorded));
  for (int64_t t = 0; t < c->tiles; t++) recorded[t] = dm_tile_has(c->states, t, DM_TILE_RECORDED);
  dm_status status = dm_trust_sums(c, file, c->records, c->tiles, recorded, sums);
  free(recorded);
  return status;
}

static void warn(const dm_checkpoint *c, int64_t tile) {
  const dm_tile_record *r = &c->records[tile];
  dm_log_line(
      &c->run->log, DM_LOG_WARNING,
      "tile %lld, %lld x %lld at (%lld, %lld), differs from its checksum: computing it again",
      (long long)tile + 1, (long long)r->rows, (long long)r->cols, (long long)r->row,
      (long long)r->col);
}

dm_status dm_trust_recorded(dm_checkpoint *c, const dm_output_file *file) {
  uint64_t *sums;
  dm_run_phase(c->run, "checking the recorded tiles", 1);
  DM_TRY(dm_buffer_table(c->tiles, &sums));
  dm_status status = dm_comm_agree(c->run->world, sums_of_recorded(c, file, sums));
  if (!status) status = dm_comm_sum_i64(c->run->world, (int64_t *)sums, c->tiles);
  for (int64_t t = 0; t < c->tiles && !status; t++) {
    if (!dm_tile_has(c->states, t, DM_TILE_RECORDED) || sums[t] == c->records[t].checksum) continue;
    if (c->run->rank == 0) warn(c, t);
    dm_tile_give_back(c->states, t);
  }
  free(sums);
  return status;
}

/* ---- tiles written by this run ---- */

/* Rank 0's estimate: whether C can be read again cheaply, from the page cache. */
static bool is_cheap(const dm_checkpoint *c) {
  const dm_problem *p = &c->plan->problem;
  const int64_t bytes = dm_packed(p->m, p->n, dm_dtype_size(p->c));
  const double seconds = (double)bytes / assumed_rate / c->run->ranks;
  return seconds <= unnoticed + cheap * (dm_now() - c->started) &&
         bytes <= dm_memory_available() / 2;
}

static dm_status compare(dm_checkpoint *c, uint64_t *sums) {
  DM_TRY(
      dm_comm_agree(c->run->world, dm_trust_sums(c, &c->file, c->records, c->tiles, NULL, sums)));
  DM_TRY(dm_comm_sum_i64(c->run->world, (int64_t *)sums, c->tiles));
  dm_status status = DM_OK;
  for (int64_t t = 0; t < c->tiles && !status && c->run->rank == 0; t++)
    if (sums[t] != c->records[t].checksum)
      status = dm_tile_not_written(&c->records[t], t + 1, c->file.part);
  return dm_comm_agree(c->run->world, status);
}

dm_status dm_checkpoint_read_back(dm_checkpoint *c, dm_read_back wish, bool *done) {
  int64_t wanted = wish == DM_READ_BACK_ALWAYS;
  if (c->run->rank == 0 && wish == DM_READ_BACK_AUTO) wanted = is_cheap(c);
  DM_TRY(dm_comm_broadcast(c->run->world, &wanted, sizeof wanted, 0));
  *done = c->sums && wanted;
  if (!*done) return DM_OK;
  uint64_t *sums;
  dm_run_phase(c->run, "reading C again", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(c->tiles, &sums)));
  dm_status status = compare(c, sums);
  free(sums);
  return status;
}
