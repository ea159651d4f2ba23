#include "programs/generate.h"

#include "product/provenance.h"

#include "core/clock.h"
#include "core/element.h"
#include "run/facts.h"
#include "run/run.h"

static dm_status generate_fill(void *context, dm_view rows, int64_t row) {
  dm_fill(rows, context, row, 0);
  return DM_OK;
}

static dm_status generate_describe(void *context, const dm_run *run, dm_attributes *list) {
  const dm_generator *generator = context;
  list->count = 0;
  DM_TRY(dm_attributes_add(list, "software", "damier"));
  DM_TRY(dm_provenance_command(run, list));
  DM_TRY(dm_attributes_add(list, "kind", "%s", dm_kind_name(generator->kind)));
  DM_TRY(dm_attributes_add(list, "seed", "%llu", (unsigned long long)generator->seed));
  return dm_attributes_add(list, "parameter", "%.17g", generator->parameter);
}

dm_status dm_generate_run(dm_run *run, const dm_generate *g, dm_record *record) {
  double start = dm_now();
  dm_generator generator = g->generator;
  dm_rows_file file = g->file;
  file.fill = generate_fill;
  file.describe = generate_describe;
  file.context = &generator;
  dm_status status = dm_rows_file_write(run, &file);
  if (status || run->rank != 0) return status;
  double seconds = dm_now() - start;
  int64_t bytes = file.rows * file.cols * dm_dtype_size(file.dtype);
  dm_record_text(record, "files.out", "matrix", "%s%s%s", file.out.file,
                 dm_output_is_alone(&file.out) ? "" : ":",
                 dm_output_is_alone(&file.out) ? "" : file.out.dataset);
  dm_facts_file_system("out", file.out.file, record);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_facts_record(NULL, false, record);
  dm_record_text(record, "matrix.shape", "shape", "%lld x %lld %s", (long long)file.rows,
                 (long long)file.cols, dm_dtype_name(file.dtype));
  dm_record_text(record, "matrix.kind", "elements", "%s, seed %llu",
                 dm_kind_name(g->generator.kind), (unsigned long long)g->generator.seed);
  dm_record_integer(record, "matrix.bytes", "size", DM_SHOWN_BYTES, bytes);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "rows=%lld cols=%lld dtype=%s ranks=%d time_s=%.3f",
                    (long long)file.rows, (long long)file.cols, dm_dtype_name(file.dtype),
                    run->ranks, seconds);
  return DM_OK;
}
