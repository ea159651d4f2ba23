/* C in its file against the checksums of its tiles from when it was computed. */
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "programs/verify_result.h"
#include "programs/verify_result_impl.h"
#include "run/facts.h"

dm_status dm_verify_tiles_open(dm_run *run, dm_verify *v) {
  const dm_tile_record *first = v->tiles; /* of rank 0 */
  dm_tile_record *tiles = NULL;
  v->tiles = NULL;
  v->sums = NULL;
  if (v->tile_count == 0) return DM_OK;
  dm_status status = dm_buffer_table(v->tile_count, &tiles);
  if (!status) status = dm_tile_sums_open(tiles, v->tile_count, v->c.cols, &v->sums);
  v->tiles = tiles;
  DM_TRY(dm_comm_agree(run->world, status));
  const int64_t bytes = v->tile_count * (int64_t)sizeof *tiles;
  if (run->rank == 0) memcpy(tiles, first, (size_t)bytes);
  return dm_comm_broadcast(run->world, tiles, bytes, 0);
}

void dm_verify_tiles_close(dm_verify *v) {
  dm_tile_sums_close(v->sums);
  free(v->tiles);
  v->sums = NULL;
  v->tiles = NULL;
}

dm_status dm_verify_tiles_compare(dm_run *run, const dm_verify *v) {
  int64_t count, place;
  uint64_t *sums = dm_tile_sums_values(v->sums, &count);
  if (count == 0) return DM_OK;
  DM_TRY(dm_comm_sum_i64(run->world, (int64_t *)sums, count));
  const dm_tile_record *tile = dm_tile_sums_wrong(v->sums, &place);
  if (!tile) return DM_OK;
  dm_status status = dm_fail(
      DM_E_VERIFY, "%s was changed: its tile %lld, %lld x %lld at (%lld, %lld), has other bits",
      v->c.at.file, (long long)place, (long long)tile->rows, (long long)tile->cols,
      (long long)tile->row, (long long)tile->col);
  status->agreed = true;
  return status;
}

static dm_status verify_tiles_add(void *sums, dm_view part, int64_t row, int64_t col) {
  dm_tile_sums_add(sums, part, row, col);
  return DM_OK;
}

dm_status dm_verify_tiles_read(dm_run *run, const dm_verify *v) {
  return dm_comm_agree(run->world,
                       dm_verify_stream(run, v, DM_C, v->c.dtype, verify_tiles_add, v->sums));
}

static void record_tiles(const dm_run *run, const dm_verify *v, bool good, double seconds,
                         dm_record *record) {
  const dm_dataset *c = &v->c;
  char shape[DM_SHAPE_TEXT];
  dm_record_text(record, "files.c", "C", "%s %s", dm_dataset_text(c, shape),
                 dm_dtype_name(c->dtype));
  dm_facts_file_system("c", c->at.file, record);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_facts_record(NULL, false, record);
  dm_record_text(record, "verification.method", "verified",
                 "checksums of %lld tiles, without A and B: %s", (long long)v->tile_count,
                 good ? "PASS" : "FAIL");
  dm_record_text(record, "verification.verdict", NULL, "%s", good ? "PASS" : "FAIL");
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "m=%lld n=%lld dtype=%s tiles=%lld %s", (long long)c->rows,
                    (long long)c->cols, dm_dtype_name(c->dtype), (long long)v->tile_count,
                    good ? "PASS" : "FAIL");
}

dm_status dm_verify_quickly(dm_run *run, const dm_verify *verify, dm_record *record) {
  const double start = dm_now();
  dm_verify v = *verify;
  dm_status status = dm_verify_tiles_open(run, &v);
  if (!status) status = dm_verify_tiles_read(run, &v);
  if (!status) status = dm_verify_tiles_compare(run, &v);
  if (run->rank == 0 && (!status || status->code == DM_E_VERIFY))
    record_tiles(run, &v, !status, dm_now() - start, record);
  dm_verify_tiles_close(&v);
  return status;
}
