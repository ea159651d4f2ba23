#include "job/generate.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "io/output.h"
#include "job/facts.h"
#include "job/put_in_place.h"
#include "plan/plan.h"

enum { STRIP = 32 << 20 }; /* bytes filled at a time */

/* This rank's rows, strip by strip. */
static dm_status write_rows(dm_run *run, const dm_generate *g, dm_output *output) {
  dm_range rows = dm_split(g->rows, run->ranks, run->rank, 1);
  int64_t row_bytes, strip_bytes;
  DM_TRY(dm_bytes_of(g->cols, 1, dm_dtype_size(g->dtype), &row_bytes));
  int64_t height = dm_max(1, STRIP / row_bytes);
  DM_TRY(dm_bytes_of(dm_min(height, dm_max(1, dm_range_size(rows))), 1, row_bytes, &strip_bytes));
  void *strip;
  DM_TRY(dm_buffer_alloc(strip_bytes, &strip));
  dm_status status = DM_OK;
  for (int64_t row = rows.begin; row < rows.end && !status; row += height) {
    dm_view view = dm_view_row_major(strip, g->dtype, dm_min(height, rows.end - row), g->cols);
    dm_fill(view, &g->generator, row, 0);
    status = dm_output_write(output, row, 0, view);
    if (!status) status = dm_run_beat(run);
  }
  free(strip);
  return status;
}

static dm_status describe(const dm_run *run, const dm_generate *g, dm_attributes *list) {
  list->count = 0;
  DM_TRY(dm_attributes_add(list, "software", "damier"));
  DM_TRY(dm_attributes_add(list, "command", "%s", run->command ? run->command : ""));
  DM_TRY(dm_attributes_add(list, "kind", "%s", dm_kind_name(g->generator.kind)));
  DM_TRY(dm_attributes_add(list, "seed", "%llu", (unsigned long long)g->generator.seed));
  return dm_attributes_add(list, "parameter", "%.17g", g->generator.parameter);
}

static dm_status commit(dm_run *run, const dm_generate *g, const dm_output_file *file) {
  if (run->rank != 0) return DM_OK;
  dm_attributes *attributes = malloc(sizeof *attributes);
  if (!attributes) return dm_fail(DM_E_FIT, "no memory for the provenance");
  dm_status status = describe(run, g, attributes);
  if (!status)
    status = dm_put_in_place(run, file, &g->form, g->io_threads, attributes, NULL, 0, g->force);
  free(attributes);
  return status;
}

static dm_status work(dm_run *run, const dm_generate *g, dm_output_file *file, bool *created) {
  dm_status status = DM_OK;
  if (run->rank == 0) {
    status = dm_output_create(&g->out, g->dtype, g->rows, g->cols, g->force, file);
    *created = status == DM_OK;
    if (!status) status = dm_put_room(file, &g->form);
  }
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_broadcast(run->world, file, sizeof *file, 0));
  dm_output *output = NULL;
  dm_run_phase(run, "writing", DM_SYNC_PATIENCE);
  status = dm_output_open(file, &output);
  if (!status) status = write_rows(run, g, output);
  if (!status) status = dm_output_sync(output);
  status = dm_status_first(status, dm_output_close(output));
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_agree(run->world, commit(run, g, file)));
  *created = false;
  return DM_OK;
}

dm_status dm_generate_run(dm_run *run, const dm_generate *g, dm_record *record) {
  double start = dm_now();
  dm_output_file file = {0};
  bool created = false;
  dm_status status = work(run, g, &file, &created);
  if (created) dm_output_discard(&file);
  if (status || run->rank != 0) return status;
  double seconds = dm_now() - start;
  int64_t bytes = g->rows * g->cols * dm_dtype_size(g->dtype);
  dm_record_text(record, "files.out", "matrix", "%s:%s", g->out.file, g->out.dataset);
  dm_facts_file_system("out", g->out.file, record);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_facts_record(NULL, false, record);
  dm_record_text(record, "matrix.shape", "shape", "%lld x %lld %s", (long long)g->rows,
                 (long long)g->cols, dm_dtype_name(g->dtype));
  dm_record_text(record, "matrix.kind", "elements", "%s, seed %llu",
                 dm_kind_name(g->generator.kind), (unsigned long long)g->generator.seed);
  dm_record_integer(record, "matrix.bytes", "size", DM_SHOWN_BYTES, bytes);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "damier: generate rows=%lld cols=%lld dtype=%s ranks=%d time_s=%.3f",
                    (long long)g->rows, (long long)g->cols, dm_dtype_name(g->dtype), run->ranks,
                    seconds);
  return DM_OK;
}
