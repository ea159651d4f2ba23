/* The record of bench multiply --from file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_files_impl.h"
#include "check/verdict.h"
#include "core/units.h"
#include "engine/phases.h"
#include "file/file_system.h"
#include "run/statistics.h"

static const char *const exposed_names[DM_EXPOSED_PHASES] = {"read",  "move",   "reduce",
                                                             "write", "verify", "commit"};
static const char *const exposed_labels[DM_EXPOSED_PHASES] = {
    "  reading", "  moving panels", "  summing layers", "  writing", "  verifying", "  naming C"};

/* The way with the shortest median. */
static int best_of(double values[][DM_MOST_TURNS], int ways, int64_t count) {
  int best = 0;
  double least = INFINITY;
  for (int w = 0; w < ways; w++) {
    double sorted[DM_MOST_TURNS];
    memcpy(sorted, values[w], (size_t)count * sizeof *sorted);
    const double median = dm_statistics_of(sorted, count).median;
    if (median < least) best = w, least = median;
  }
  return best;
}

static double bytes_of(int64_t rows, int64_t cols, dm_dtype dtype) {
  return (double)rows * (double)cols * (double)dm_dtype_size(dtype);
}

/* Seconds for the bytes read and written, at the ceilings. */
static double record_ceilings(dm_files_bench *b, dm_record *record) {
  const dm_problem *p = &b->last.plan.problem;
  const double a_and_b = bytes_of(p->m, p->k, p->file_a) + bytes_of(p->k, p->n, p->file_b);
  const double c = bytes_of(p->m, p->n, p->c), traffic = (double)b->last.worst.from_files;
  const int read = best_of(b->read, b->widths, b->count);
  const int write = best_of(b->write, b->writers, b->count);
  const double reading = dm_record_times(record, "read", NULL, b->read[read], b->count).median;
  const double writing = dm_record_times(record, "write", NULL, b->write[write], b->count).median;
  const bool packed = b->multiply.a.layout == DM_CHUNKED;
  dm_record_real(record, "rates.read_ceiling_Bps",
                 packed ? "unpacking by one thread, times all" : "reading alone", DM_SHOWN_RATE,
                 a_and_b / reading);
  dm_record_integer(record, "bench.read_threads", NULL, DM_SHOWN_PLAIN, b->width[read]);
  dm_record_real(record, "rates.write_ceiling_Bps", "writing and syncing alone", DM_SHOWN_RATE,
                 c / writing);
  dm_record_integer(record, "bench.write_threads", NULL, DM_SHOWN_PLAIN, b->writer[write].threads);
  dm_record_text(record, "bench.write_way", "  the fastest way", "%s",
                 dm_write_way_name(b->writer[write].way));
  dm_record_real(record, "moved.from_files_bytes", "read", DM_SHOWN_BYTES, traffic);
  dm_record_real(record, "moved.to_files_bytes", "written", DM_SHOWN_BYTES, c);
  const double least = b->last.plan.file_bound_words * (double)dm_dtype_size(p->work);
  dm_record_real(record, "moved.files_bound_bytes", NULL, DM_SHOWN_BYTES, least);
  dm_record_real(record, "moved.files_of_bound", "  read and written / lower bound", DM_SHOWN_PLAIN,
                 least > 0 ? (traffic + c) / least : NAN);
  return reading * traffic / a_and_b + writing;
}

static void record_inputs(const dm_files_bench *b, dm_record *record) {
  const dm_dataset *const inputs[] = {&b->multiply.a, &b->multiply.b};
  const char *const paths[] = {"files.a", "files.b"}, *const labels[] = {"A", "B"};
  dm_record_text(record, "bench.from", NULL, "file");
  char kind[DM_FILE_SYSTEM];
  dm_io_file_system(b->wanted->directory, kind);
  dm_record_text(record, "files.directory", "directory", "%s (%s)", b->wanted->directory, kind);
  dm_record_text(record, "files.file_system", NULL, "%s", kind);
  dm_record_text(record, "bench.page_cache", "A and B before each run", "%s",
                 b->wanted->cold ? "not in the page cache" : "in the page cache");
  for (int i = 0; i < 2; i++) {
    char layout[160];
    dm_io_describe(inputs[i], layout, sizeof layout);
    dm_record_text(record, paths[i], labels[i], "%lld x %lld %s, %s", (long long)inputs[i]->rows,
                   (long long)inputs[i]->cols, dm_dtype_name(inputs[i]->dtype), layout);
  }
  dm_record_integer(record, "machine.io_threads", "threads for files, per rank", DM_SHOWN_PLAIN,
                    dm_run_io_threads(b->run, b->multiply.engine.io_threads));
  dm_record_text(record, "files.write_way", "C is written by", "%s",
                 dm_write_way_name(b->last.way));
  dm_record_integer(record, "bench.warmup", NULL, DM_SHOWN_PLAIN, b->wanted->product.warmup);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN, b->count);
}

void dm_bench_files_record(dm_files_bench *b, const dm_setup *setup, dm_record *record) {
  const dm_problem *p = &b->last.plan.problem;
  double exposed[DM_EXPOSED_PHASES];
  record_inputs(b, record);
  dm_setup_record(setup, b->run, record);
  const double time = dm_record_times(record, "file", "file to file", b->seconds, b->count).median;
  for (int i = 0; i < DM_EXPOSED_PHASES; i++) {
    char name[32];
    snprintf(name, sizeof name, "exposed_%s", exposed_names[i]);
    exposed[i] = dm_record_times(record, name, exposed_labels[i], b->exposed[i], b->count).median;
  }
  const double plain =
      dm_record_times(record, "no_overlap", "the same with --no-overlap", b->plain, b->count)
          .median;
  const double compute =
      dm_record_times(record, "compute", "products alone", b->compute, b->count).median;
  dm_record_times(record, "before", "planning, making the file of C", b->before, b->count);
  const double files = record_ceilings(b, record), bound = fmax(compute, files);
  dm_record_real(record, "times.files_s", "files at these rates", DM_SHOWN_SECONDS, files);
  dm_record_real(record, "times.bound_s", "bound: products, or files", DM_SHOWN_SECONDS, bound);
  dm_record_real(record, "rates.of_bound", "efficiency: bound / time", DM_SHOWN_PLAIN,
                 bound / time);
  dm_record_real(record, "rates.file_flops", "rate", DM_SHOWN_FLOPS, dm_product_flops(p) / time);
  dm_record_integer(record, "memory.host_process_bytes", NULL, DM_SHOWN_BYTES,
                    b->last.plan.process_bytes);
  dm_record_integer(record, "memory.host_peak_bytes", NULL, DM_SHOWN_BYTES, b->last.worst.resident);
  if (b->multiply.verify)
    dm_verdict_record(&b->worst, &(dm_checked){.problem = p}, &b->run->log, record);
  dm_record_summary(
      record,
      "damier: bench multiply from=file m=%lld n=%lld k=%lld dtype=%s ranks=%d time_s=%.4g "
      "bound_s=%.4g efficiency=%.3f no_overlap_s=%.4g compute_s=%.4g files_s=%.4g "
      "exposed_read_s=%.4g exposed_write_s=%.4g exposed_move_s=%.4g %s",
      (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->work), b->run->ranks,
      time, bound, bound / time, plain, compute, files, exposed[DM_EXPOSED_READ],
      exposed[DM_EXPOSED_WRITE], exposed[DM_EXPOSED_MOVE],
      b->multiply.verify ? dm_verdict_word(&b->worst) : "UNVERIFIED");
}
