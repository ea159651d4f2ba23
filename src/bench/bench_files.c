#include "bench/bench_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/ceiling.h"
#include "check/verdict.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "file/inspect_impl.h"
#include "file/file_system.h"
#include "plan/tiles.h"
#include "product/generate.h"
#include "run/statistics.h"

enum { DM_MOST_TURNS = 100, DM_MOST_WIDTHS = 12, DM_MOST_WAYS = 2 };
enum { DM_MOST_WRITERS = DM_MOST_WAYS * DM_MOST_WIDTHS };

/* A way to write, and its threads per rank. */
typedef struct dm_writers {
  dm_write_way way;
  int threads;
} dm_writers;

/* Phases' time that products do not hide. */
typedef enum dm_exposed {
  DM_EXPOSED_READ,
  DM_EXPOSED_MOVE,
  DM_EXPOSED_REDUCE,
  DM_EXPOSED_WRITE,
  DM_EXPOSED_VERIFY,
  DM_EXPOSED_COMMIT,
  DM_EXPOSED_PHASES
} dm_exposed;

/* One size; the arrays have one entry per turn. */
typedef struct dm_files_bench {
  dm_run *run;
  const dm_bench_files *wanted;
  char folder[DM_PATH];
  dm_multiply multiply;
  dm_ceiling inputs[2], scratch;
  int widths, width[DM_MOST_WIDTHS]; /* threads per rank for the ceilings, ... */
  bool slow_read[DM_MOST_WIDTHS];    /* ... left out if reading was slow */
  int writers;
  dm_writers writer[DM_MOST_WRITERS]; /* same for writing */
  bool slow_write[DM_MOST_WRITERS];
  dm_outcome last; /* outcome of a run with overlap */
  dm_verdict worst;
  int64_t own; /* dm_setup_process_bytes before the first run */
  int64_t count;
  double seconds[DM_MOST_TURNS], plain[DM_MOST_TURNS], compute[DM_MOST_TURNS];
  double before[DM_MOST_TURNS];
  double read[DM_MOST_WIDTHS][DM_MOST_TURNS], write[DM_MOST_WRITERS][DM_MOST_TURNS];
  double exposed[DM_EXPOSED_PHASES][DM_MOST_TURNS];
} dm_files_bench;

/* Collective: creates the folder with A and B, and the files for the ceilings.
 * (bench_files.c) */
dm_status dm_bench_files_make(dm_files_bench *bench);
void dm_bench_files_remove(const dm_files_bench *bench); /* rank 0 */

/* Rank 0: records all measurements. SETUP has the machine and the plan. (bench_files.c) */
void dm_bench_files_record(dm_files_bench *bench, const dm_setup *setup, dm_record *record);

enum { FEWEST = 3, DEFAULT = 5 };

static void pose(dm_files_bench *b) {
  const dm_bench_files *w = b->wanted;
  b->multiply.equation = (dm_equation){.op_a = DM_OP_N,
                                       .op_b = DM_OP_N,
                                       .alpha = {1.0, 0.0},
                                       .type = DM_DTYPE_NONE,
                                       .type_c = w->product.type_c,
                                       .compute = w->product.compute};
  b->multiply.engine = w->product.engine;
  b->multiply.verify = w->product.verify;
  b->multiply.seed = w->product.check_seed;
  b->multiply.allow_unchecked = true; /* only the times matter */
  b->multiply.protect = true;
  b->multiply.reserve_first = true;
  b->multiply.checkpoint = w->checkpoint;
  b->multiply.checkpoint_interval = w->checkpoint_interval;
}

/* 1, 2, 4, ... threads, and the number that the job uses. */
static void choose_widths(dm_files_bench *b) {
  const int most = (int)dm_max(1, dm_run_io_threads(b->run, b->wanted->product.engine.io_threads));
  for (int width = 1; width < most && b->widths < DM_MOST_WIDTHS - 1; width *= 2)
    b->width[b->widths++] = width;
  b->width[b->widths++] = most;
}

/* Collective: pwrite, and the best way for the folder, each with every number of threads. */
static dm_status choose_writers(dm_files_bench *b) {
  dm_write_way ways[DM_MOST_WAYS] = {DM_WRITE_PWRITE, DM_WRITE_PWRITE};
  dm_status status = DM_OK;
  dm_write_way wish = b->wanted->product.engine.write_by;
  if (wish == DM_WRITE_PWRITE) wish = DM_WRITE_AUTO; /* measured in any case */
  if (b->run->rank == 0) {
    b->scratch.bytes = 1; /* for trials */
    status = dm_ceiling_make(&b->scratch);
    if (!status)
      status = dm_write_way_choose(b->scratch.file, wish,
                                   dm_run_writers(b->run, b->wanted->product.engine.io_threads),
                                   &ways[1]);
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_comm_broadcast(b->run->world, ways, sizeof ways, 0));
  for (int i = 0; i < (ways[1] == DM_WRITE_PWRITE ? 1 : 2); i++)
    for (int w = 0; w < b->widths; w++)
      b->writer[b->writers++] = (dm_writers){ways[i], b->width[w]};
  return DM_OK;
}

/* ---- the parts of a turn ---- */

static dm_status forget_inputs(const dm_files_bench *b) {
  dm_status status = DM_OK;
  if (!b->wanted->cold) return DM_OK;
  for (int i = 0; i < 2 && b->run->local_rank == 0 && !status; i++)
    status = dm_ceiling_forget(b->inputs[i].file);
  return dm_comm_agree(b->run->world, status);
}

static dm_status remove_result(const dm_files_bench *b) {
  if (b->run->rank != 0 || !unlink(b->multiply.out.file) || errno == ENOENT) return DM_OK;
  return dm_fail(DM_E_IO, "%s: %s", b->multiply.out.file, strerror(errno));
}

/* The process grows with each run: --memory allows the next run as much as the first. */
static void allow_memory(dm_files_bench *b) {
  const int64_t stated = b->wanted->product.engine.memory_host;
  if (stated > 0)
    b->multiply.engine.memory_host = stated + dm_max(0, dm_setup_process_bytes(1) - b->own);
}

static dm_status multiply_once(dm_files_bench *b, bool overlap, dm_outcome *outcome) {
  allow_memory(b);
  DM_TRY(dm_comm_agree(b->run->world, remove_result(b)));
  DM_TRY(forget_inputs(b));
  b->multiply.engine.wishes.no_overlap = !overlap;
  dm_record *unused = NULL;
  DM_TRY(dm_comm_agree(b->run->world, dm_record_new("multiply", "", &unused)));
  dm_status status = dm_multiply_run(b->run, &b->multiply, unused, outcome);
  dm_record_free(unused);
  /* No hint on resuming: the files are removed. */
  if (status && status->code == DM_E_STOPPED) return dm_hint(status, "%s", "");
  DM_TRY(status);
  if (b->multiply.verify &&
      (b->worst.rows_checked == 0 || outcome->verdict.residual >= b->worst.residual))
    b->worst = outcome->verdict;
  return DM_OK;
}

/* For packed inputs: the rate of one thread, times all threads. */
static dm_status unpack_once(dm_files_bench *b, int64_t turn) {
  double part[2] = {0.0, 0.0};
  dm_status status = DM_OK;
  if (b->run->rank == 0) {
    status = dm_ceiling_unpack(&b->multiply.a, &part[0]);
    if (!status) status = dm_ceiling_unpack(&b->multiply.b, &part[1]);
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_comm_max_f64(b->run->world, part, 2));
  for (int w = 0; w < b->widths; w++)
    b->read[w][turn] = (part[0] + part[1]) / (double)(b->width[w] * b->run->ranks);
  return DM_OK;
}

static dm_status read_once(dm_files_bench *b, int64_t turn) {
  if (b->multiply.a.layout == DM_CHUNKED) return unpack_once(b, turn);
  for (int w = 0; w < b->widths; w++) {
    b->read[w][turn] = INFINITY;
    if (b->slow_read[w]) continue;
    DM_TRY(forget_inputs(b));
    DM_TRY(dm_ceiling_read(b->run, b->inputs, 2, b->width[w], &b->read[w][turn]));
  }
  return DM_OK;
}

/* A fresh file each time, as in a job. */
static dm_status write_once(dm_files_bench *b, int64_t turn) {
  const dm_comm *world = b->run->world;
  const dm_problem *p = &b->last.plan.problem;
  b->scratch.bytes = p->m * p->n * dm_dtype_size(p->c);
  for (int w = 0; w < b->writers; w++) {
    b->write[w][turn] = INFINITY;
    if (b->slow_write[w]) continue;
    DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? dm_ceiling_make(&b->scratch) : DM_OK));
    DM_TRY(dm_ceiling_write(b->run, &b->scratch, b->writer[w].way, b->writer[w].threads,
                            &b->write[w][turn]));
  }
  dm_status status = DM_OK;
  if (b->run->rank == 0 && unlink(b->scratch.file))
    status = dm_fail(DM_E_IO, "%s: %s", b->scratch.file, strerror(errno));
  return dm_comm_agree(world, status);
}

/* The same product of matrices in memory: the time to compute and to move panels; 0 if they do not
 * fit. */
static dm_status compute_once(dm_files_bench *b, double *seconds) {
  dm_bench_multiply alone = b->wanted->product;
  dm_bench_found found = {.median = 0.0};
  dm_record *unused = NULL;
  alone.verify = alone.against_library = alone.against_one = false;
  alone.warmup = alone.repetitions = 1;
  allow_memory(b);
  alone.engine.memory_host = b->multiply.engine.memory_host;
  alone.engine.wishes.no_advice = true;
  DM_TRY(dm_comm_agree(b->run->world, dm_record_new("bench multiply", "", &unused)));
  dm_status status = dm_bench_multiply_run(b->run, &alone, unused, &found);
  dm_record_free(unused);
  if (status && status->agreed && status->code == DM_E_FIT) {
    dm_status_free(status);
    status = DM_OK;
  }
  DM_TRY(status);
  *seconds = found.median;
  return dm_comm_max_f64(b->run->world, seconds, 1);
}

static void keep(dm_files_bench *b, int64_t turn, const dm_outcome *with,
                 const dm_outcome *without) {
  const dm_phases *p = &with->worst;
  const double exposed[DM_EXPOSED_PHASES] = {
      p->read,  fmax(0.0, p->multiply - p->gemm), p->reduce, p->write, p->check + p->verify,
      p->commit};
  b->last = *with;
  b->seconds[turn] = with->seconds;
  b->before[turn] = with->before;
  b->plain[turn] = without->seconds;
  for (int i = 0; i < DM_EXPOSED_PHASES; i++) b->exposed[i][turn] = exposed[i];
}

/* After a warm-up round: skips all but the fastest two from now on. */
static void leave_out_slow(bool *slow, double seconds[][DM_MOST_TURNS], int count) {
  for (int w = 0; w < count; w++) {
    int faster = 0;
    for (int v = 0; v < count; v++) faster += seconds[v][0] < seconds[w][0];
    slow[w] |= faster >= 2;
  }
}

/* Measures everything once; the two ways swap order from turn to turn. The first turn overwrites
 * the results of warm-up turns (below 0). */
static dm_status take_turn(dm_files_bench *b, int64_t turn) {
  dm_outcome outcome[2]; /* without overlap, with it */
  const int64_t at = dm_max(turn, 0);
  const bool first = turn % 2 == 0;
  DM_TRY(multiply_once(b, first, &outcome[first]));
  DM_TRY(multiply_once(b, !first, &outcome[!first]));
  keep(b, at, &outcome[1], &outcome[0]);
  DM_TRY(dm_comm_agree(b->run->world, remove_result(b)));
  dm_run_phase(b->run, "measuring the ceilings", DM_SYNC_PATIENCE);
  DM_TRY(read_once(b, at));
  DM_TRY(write_once(b, at));
  DM_TRY(compute_once(b, &b->compute[at]));
  DM_TRY(dm_stop_agree(&b->run->stop, b->run->world));
  if (turn < 0) leave_out_slow(b->slow_read, b->read, b->widths);
  if (turn < 0) leave_out_slow(b->slow_write, b->write, b->writers);
  return DM_OK;
}

/* All ranks have the same times and decide alike. */
static bool is_enough(const dm_files_bench *b, double passed) {
  const dm_bench_multiply *p = &b->wanted->product;
  if (b->count == DM_MOST_TURNS) return true;
  if (p->repetitions > 0) return b->count >= p->repetitions;
  return b->count >= DEFAULT || (b->count >= FEWEST && passed > p->limit);
}

static dm_status repeat(dm_files_bench *b) {
  double passed = 0.0;
  for (int64_t turn = -b->wanted->product.warmup; turn < 0; turn++) DM_TRY(take_turn(b, turn));
  while (!is_enough(b, passed)) {
    double start = dm_now();
    DM_TRY(take_turn(b, b->count));
    b->count++;
    start = dm_now() - start;
    DM_TRY(dm_comm_max_f64(b->run->world, &start, 1));
    passed += start;
  }
  return DM_OK;
}

/* Records the machine and the plan of the runs. */
static dm_status report(dm_files_bench *b, dm_record *record) {
  dm_setup setup;
  allow_memory(b);
  DM_TRY(dm_setup_open(b->run, &b->multiply.engine, &b->last.plan.problem, &setup));
  setup.plan = b->last.plan;
  if (record) dm_bench_files_record(b, &setup, record);
  dm_setup_close(&setup);
  return DM_OK;
}

static dm_status measure(dm_files_bench *b, dm_record *record) {
  const dm_log log = b->run->log;
  const dm_progress_mode progress = b->run->progress;
  DM_TRY(dm_bench_files_make(b));
  DM_TRY(choose_writers(b));
  /* Silences the notes of the many runs. */
  if (log.level == DM_LOG_NOTE) b->run->log.level = DM_LOG_WARNING;
  b->run->progress = DM_PROGRESS_NEVER;
  dm_status status = repeat(b);
  if (!status) status = report(b, record);
  b->run->log = log;
  b->run->progress = progress;
  return status;
}

dm_status dm_bench_files_run(dm_run *run, const dm_bench_files *wanted, dm_record *record) {
  dm_files_bench *b = calloc(1, sizeof *b);
  DM_TRY(dm_comm_agree(run->world, b ? DM_OK : dm_fail(DM_E_FIT, "no memory for a benchmark")));
  b->run = run;
  b->wanted = wanted;
  b->own = dm_setup_process_bytes(1);
  pose(b);
  choose_widths(b);
  dm_status status = measure(b, run->rank == 0 ? record : NULL);
  if (run->rank == 0) dm_bench_files_remove(b);
  if (!status || status->agreed) free(b);
  return status;
}

/* Creates the files of bench multiply --from file, in their own folder. */

enum { LARGEST = 1000, LARGEST_I8 = 8 };

static dm_status path_of(const dm_files_bench *b, const char *name, char path[DM_PATH]) {
  const int length = snprintf(path, DM_PATH, "%s/%s", b->folder, name);
  return length < DM_PATH ? DM_OK : dm_fail(DM_E_USAGE, "the directory's name is too long");
}

static dm_status make_folder(dm_files_bench *b) {
  const char *directory = b->wanted->directory;
  if ((size_t)snprintf(b->folder, sizeof b->folder, "%s/damier-bench-XXXXXX", directory) >=
      sizeof b->folder - 32)
    return dm_fail(DM_E_USAGE, "the directory's name is too long");
  if (mkdtemp(b->folder)) return DM_OK;
  b->folder[0] = '\0';
  return dm_fail(DM_E_IO, "cannot create a folder in %s: %s", directory, strerror(errno));
}

/* Packed files hold integers, which use a part of the bits of an f64, as measured data do. */
static dm_generator generator_of(const dm_files_bench *b, dm_matrix matrix) {
  const dm_bench_multiply *p = &b->wanted->product;
  const bool small = p->type == DM_I8;
  const bool whole = small || dm_output_is_chunked(&b->wanted->form);
  return (dm_generator){.kind = whole ? DM_INTEGER : DM_UNIFORM,
                        .seed = p->seed + (uint64_t)matrix,
                        .parameter = whole ? (small ? LARGEST_I8 : LARGEST) : 0};
}

/* The program's own file: it can be inspected without a child process. */
static dm_status look(const dm_location *at, dm_dataset *dataset) {
  dm_inspection question = {.at = *at};
  dm_finding *finding = calloc(1, sizeof *finding);
  if (!finding) return dm_fail(DM_E_FIT, "no memory for an inspection");
  dm_status status = dm_examine(&question, finding);
  *dataset = finding->dataset;
  free(finding);
  return status;
}

static dm_status make_input(dm_files_bench *b, dm_matrix matrix, dm_dataset *dataset) {
  const dm_bench_multiply *p = &b->wanted->product;
  dm_generate make = {.rows = matrix == DM_A ? p->m : p->k,
                      .cols = matrix == DM_A ? p->k : p->n,
                      .dtype = p->type,
                      .generator = generator_of(b, matrix),
                      .form = b->wanted->form,
                      .io_threads = p->engine.io_threads};
  dm_record *unused = NULL;
  snprintf(make.out.dataset, sizeof make.out.dataset, "/x");
  dm_status status = path_of(b, matrix == DM_A ? "A.h5" : "B.h5", make.out.file);
  if (!status) status = dm_output_form_complete(&make.form, make.dtype, make.rows, make.cols);
  if (!status) status = dm_record_new("generate", "", &unused);
  DM_TRY(dm_comm_agree(b->run->world, status));
  status = dm_generate_run(b->run, &make, unused);
  dm_record_free(unused);
  DM_TRY(status);
  DM_TRY(dm_comm_agree(b->run->world, b->run->rank == 0 ? look(&make.out, dataset) : DM_OK));
  DM_TRY(dm_comm_broadcast(b->run->world, dataset, sizeof *dataset, 0));
  dm_ceiling *input = &b->inputs[matrix];
  *input = (dm_ceiling){.offset = dataset->offset > 0 ? dataset->offset : 0,
                        .bytes = dataset->stored_bytes};
  snprintf(input->file, sizeof input->file, "%s", make.out.file);
  return DM_OK;
}

static dm_status name_outputs(dm_files_bench *b) {
  snprintf(b->multiply.out.dataset, sizeof b->multiply.out.dataset, "/c");
  DM_TRY(path_of(b, "C.h5", b->multiply.out.file));
  return path_of(b, "ceiling", b->scratch.file);
}

dm_status dm_bench_files_make(dm_files_bench *b) {
  const dm_comm *world = b->run->world;
  dm_run_phase(b->run, "making A and B", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? make_folder(b) : DM_OK));
  DM_TRY(dm_comm_broadcast(world, b->folder, sizeof b->folder, 0));
  DM_TRY(dm_comm_agree(world, name_outputs(b)));
  DM_TRY(make_input(b, DM_A, &b->multiply.a));
  return make_input(b, DM_B, &b->multiply.b);
}

void dm_bench_files_remove(const dm_files_bench *b) {
  static const char *const names[] = {"A.h5",           "B.h5",         "C.h5",
                                      "C.h5.part",      "C.h5.journal", "C.h5.damier-new",
                                      "ceiling",

                                      "A.h5.part",      "B.h5.part",    "A.h5.damier-new",
                                      "B.h5.damier-new"};
  char path[DM_PATH];
  if (!b->folder[0]) return;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    dm_status status = path_of(b, names[i], path);
    if (!status) unlink(path);
    dm_status_free(status);
  }
  if (rmdir(b->folder))
    dm_log_line(&b->run->log, DM_LOG_WARNING, "%s could not be removed: %s", b->folder,
                strerror(errno));
}

/* The record of bench multiply --from file. */

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
