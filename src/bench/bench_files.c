#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/verdict.h"
#include "core/checked.h"
#include "core/clock.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "file/file_system.h"
#include "file/inspect_impl.h"
#include "product/generate.h"
#include "run/record.h"

enum { FEWEST = 3, DEFAULT = 5, MOST = 100 }; /* turns */
enum { LARGEST = 1000, LARGEST_I8 = 8 };      /* whole numbers in the files */

/* What is measured in each turn. */
typedef enum measured {
  FILE_TO_FILE,
  EXPOSED_READ, /* seconds that no product hid */
  EXPOSED_MOVE,
  EXPOSED_REDUCE,
  EXPOSED_WRITE,
  EXPOSED_VERIFY,
  EXPOSED_COMMIT,
  BEFORE,
  COMPUTE,
  READ,
  WRITE,
  MEASURED
} measured;

static const struct {
  const char *name, *label;
} series[MEASURED] = {{"file", "file to file"},
                      {"exposed_read", "  reading"},
                      {"exposed_move", "  moving panels"},
                      {"exposed_reduce", "  summing layers"},
                      {"exposed_write", "  writing"},
                      {"exposed_verify", "  verifying"},
                      {"exposed_commit", "  naming C"},
                      {"before", "planning, making the file of C"},
                      {"compute", "the product in memory"},
                      {"read", NULL},
                      {"write", NULL}};

/* One size. */
typedef struct bench {
  dm_run *run;
  const dm_bench_files *wanted;
  char folder[DM_PATH];
  dm_multiply multiply;
  dm_ceiling inputs[2], scratch;
  int threads;     /* per rank, for files */
  dm_outcome last; /* of the last run */
  dm_verdict worst;
  int64_t own; /* dm_setup_process_bytes before the first run */
  int64_t count;
  double seconds[MEASURED][MOST];
} bench;

/* ---- the files, in a folder of their own ---- */

static dm_status make_folder(bench *b) {
  const char *directory = b->wanted->directory;
  if ((size_t)snprintf(b->folder, sizeof b->folder, "%s/damier-bench-XXXXXX", directory) >=
      sizeof b->folder - 32)
    return dm_fail(DM_E_USAGE, "the directory's name is too long");
  if (mkdtemp(b->folder)) return DM_OK;
  b->folder[0] = '\0';
  return dm_fail(DM_E_IO, "cannot create a folder in %s: %s", directory, strerror(errno));
}

static dm_status path_of(const bench *b, const char *name, char path[DM_PATH]) {
  const int length = snprintf(path, DM_PATH, "%s/%s", b->folder, name);
  return length < DM_PATH ? DM_OK : dm_fail(DM_E_USAGE, "the directory's name is too long");
}

/* Packed files hold integers, which use a part of the bits of an f64, as measured data do. */
static dm_generator generator_of(const bench *b, dm_matrix matrix) {
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

static dm_status make_input(bench *b, dm_matrix matrix, dm_dataset *dataset) {
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

static dm_status name_outputs(bench *b) {
  snprintf(b->multiply.out.dataset, sizeof b->multiply.out.dataset, "/c");
  DM_TRY(path_of(b, "C.h5", b->multiply.out.file));
  return path_of(b, "ceiling", b->scratch.file);
}

static dm_status make_files(bench *b) {
  const dm_comm *world = b->run->world;
  dm_run_phase(b->run, "making A and B", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? make_folder(b) : DM_OK));
  DM_TRY(dm_comm_broadcast(world, b->folder, sizeof b->folder, 0));
  DM_TRY(dm_comm_agree(world, name_outputs(b)));
  DM_TRY(make_input(b, DM_A, &b->multiply.a));
  return make_input(b, DM_B, &b->multiply.b);
}

static void remove_files(const bench *b) {
  static const char *const names[] = {"A.h5", "B.h5", "C.h5", "ceiling"};
  static const char *const endings[] = {"", ".part", ".journal", ".damier-new"};
  char path[DM_PATH + 16];
  for (int i = 0; b->folder[0] && i < 16; i++) {
    snprintf(path, sizeof path, "%s/%s%s", b->folder, names[i / 4], endings[i % 4]);
    unlink(path);
  }
  if (b->folder[0] && rmdir(b->folder))
    dm_log_line(&b->run->log, DM_LOG_WARNING, "%s could not be removed: %s", b->folder,
                strerror(errno));
}

/* ---- a turn ---- */

static dm_status forget_inputs(const bench *b) {
  dm_status status = DM_OK;
  if (!b->wanted->cold) return DM_OK;
  for (int i = 0; i < 2 && b->run->local_rank == 0 && !status; i++)
    status = dm_ceiling_forget(b->inputs[i].file);
  return dm_comm_agree(b->run->world, status);
}

static dm_status remove_result(const bench *b) {
  if (b->run->rank != 0 || !unlink(b->multiply.out.file) || errno == ENOENT) return DM_OK;
  return dm_fail(DM_E_IO, "%s: %s", b->multiply.out.file, strerror(errno));
}

/* The process grows with each run: --memory allows the next run as much as the first. */
static void allow_memory(bench *b) {
  const int64_t stated = b->wanted->product.engine.memory_host;
  if (stated > 0)
    b->multiply.engine.memory_host = stated + dm_max(0, dm_setup_process_bytes(1) - b->own);
}

static dm_status multiply_once(bench *b) {
  allow_memory(b);
  DM_TRY(dm_comm_agree(b->run->world, remove_result(b)));
  DM_TRY(forget_inputs(b));
  dm_record *unused = NULL;
  DM_TRY(dm_comm_agree(b->run->world, dm_record_new("multiply", "", &unused)));
  dm_status status = dm_multiply_run(b->run, &b->multiply, unused, &b->last);
  dm_record_free(unused);
  /* No hint on resuming: the files are removed. */
  if (status && status->code == DM_E_STOPPED) return dm_hint(status, "%s", "");
  DM_TRY(status);
  if (b->multiply.verify &&
      (b->worst.rows_checked == 0 || b->last.verdict.residual >= b->worst.residual))
    b->worst = b->last.verdict;
  return dm_comm_agree(b->run->world, remove_result(b));
}

/* NAN for packed inputs. */
static dm_status read_once(bench *b, double *seconds) {
  *seconds = NAN;
  if (b->multiply.a.layout == DM_CHUNKED) return DM_OK;
  DM_TRY(forget_inputs(b));
  return dm_ceiling_read(b->run, b->inputs, 2, b->threads, seconds);
}

/* A fresh file each time, as in a job. */
static dm_status write_once(bench *b, double *seconds) {
  const dm_problem *p = &b->last.plan.problem;
  dm_status status = DM_OK;
  b->scratch.bytes = p->m * p->n * dm_dtype_size(p->c);
  if (b->run->rank == 0) status = dm_ceiling_make(&b->scratch);
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_ceiling_write(b->run, &b->scratch, b->last.way, b->threads, seconds));
  if (b->run->rank == 0 && unlink(b->scratch.file))
    status = dm_fail(DM_E_IO, "%s: %s", b->scratch.file, strerror(errno));
  return dm_comm_agree(b->run->world, status);
}

/* The same product of matrices in memory, as much as it takes; 0 if they do not fit. */
static dm_status compute_once(bench *b, double *seconds) {
  dm_bench_multiply alone = b->wanted->product;
  dm_bench_found found = {.median = 0.0};
  dm_record *unused = NULL;
  alone.verify = alone.against_library = false;
  alone.warmup = alone.repetitions = 1;
  alone.engine.memory_host = alone.engine.memory_device = 0;
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

/* The first turn overwrites the results of warm-up turns (below 0). */
static dm_status take_turn(bench *b, int64_t turn) {
  double now[MEASURED];
  const dm_phases *p = &b->last.worst;
  DM_TRY(multiply_once(b));
  now[FILE_TO_FILE] = b->last.seconds;
  now[BEFORE] = b->last.before;
  now[EXPOSED_READ] = p->read;
  now[EXPOSED_MOVE] = fmax(0.0, p->multiply - p->gemm);
  now[EXPOSED_REDUCE] = p->reduce;
  now[EXPOSED_WRITE] = p->write;
  now[EXPOSED_VERIFY] = p->check + p->verify;
  now[EXPOSED_COMMIT] = p->commit;
  dm_run_phase(b->run, "measuring files and products alone", DM_SYNC_PATIENCE);
  DM_TRY(read_once(b, &now[READ]));
  DM_TRY(write_once(b, &now[WRITE]));
  DM_TRY(compute_once(b, &now[COMPUTE]));
  for (int x = 0; x < MEASURED; x++) b->seconds[x][dm_max(turn, 0)] = now[x];
  return dm_stop_agree(&b->run->stop, b->run->world);
}

/* ---- the record ---- */

static double bytes_of(int64_t rows, int64_t cols, dm_dtype dtype) {
  return (double)rows * (double)cols * (double)dm_dtype_size(dtype);
}

/* Seconds for the bytes read and written, at the rates of files alone; reading packed inputs does
 * not count. */
static double record_files(const bench *b, const double medians[MEASURED], dm_record *record) {
  const dm_problem *p = &b->last.plan.problem;
  const double a_and_b = bytes_of(p->m, p->k, p->file_a) + bytes_of(p->k, p->n, p->file_b);
  const double c = bytes_of(p->m, p->n, p->c), traffic = (double)b->last.worst.from_files;
  const double least = b->last.plan.file_bound_words * (double)dm_dtype_size(p->work);
  const bool packed = isnan(medians[READ]);
  dm_record_real(record, "rates.read_ceiling_Bps", packed ? NULL : "reading alone", DM_SHOWN_RATE,
                 a_and_b / medians[READ]);
  dm_record_real(record, "rates.write_ceiling_Bps", "writing and syncing alone", DM_SHOWN_RATE,
                 c / medians[WRITE]);
  dm_record_real(record, "moved.from_files_bytes", "read", DM_SHOWN_BYTES, traffic);
  dm_record_real(record, "moved.to_files_bytes", "written", DM_SHOWN_BYTES, c);
  dm_record_real(record, "moved.files_bound_bytes", NULL, DM_SHOWN_BYTES, least);
  dm_record_real(record, "moved.files_of_bound", "  read and written / lower bound", DM_SHOWN_PLAIN,
                 least > 0 ? (traffic + c) / least : NAN);
  return (packed ? 0.0 : medians[READ] * traffic / a_and_b) + medians[WRITE];
}

static void record_inputs(const bench *b, dm_record *record) {
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

static void record_bench(bench *b, const dm_setup *setup, dm_record *record) {
  const dm_problem *p = &b->last.plan.problem;
  double medians[MEASURED];
  record_inputs(b, record);
  dm_setup_record(setup, b->run, record);
  for (int x = 0; x < MEASURED; x++)
    medians[x] = isnan(b->seconds[x][0]) ? NAN
                                         : dm_record_times(record, series[x].name, series[x].label,
                                                           b->seconds[x], b->count)
                                               .median;
  const double time = medians[FILE_TO_FILE], files = record_files(b, medians, record);
  const double bound = fmax(medians[COMPUTE], files);
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
      "bound_s=%.4g efficiency=%.3f compute_s=%.4g files_s=%.4g exposed_read_s=%.4g "
      "exposed_write_s=%.4g exposed_move_s=%.4g %s",
      (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->work), b->run->ranks,
      time, bound, bound / time, medians[COMPUTE], files, medians[EXPOSED_READ],
      medians[EXPOSED_WRITE], medians[EXPOSED_MOVE],
      b->multiply.verify ? dm_verdict_word(&b->worst) : "UNVERIFIED");
}

/* ---- all ---- */

/* All ranks have the same times and decide alike. */
static bool is_enough(const bench *b, double passed) {
  const dm_bench_multiply *p = &b->wanted->product;
  if (b->count == MOST) return true;
  if (p->repetitions > 0) return b->count >= p->repetitions;
  return b->count >= DEFAULT || (b->count >= FEWEST && passed > p->limit);
}

static dm_status repeat(bench *b) {
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
static dm_status report(bench *b, dm_record *record) {
  dm_setup setup;
  allow_memory(b);
  DM_TRY(dm_setup_open(b->run, &b->multiply.engine, &b->last.plan.problem, &setup));
  setup.plan = b->last.plan;
  if (record) record_bench(b, &setup, record);
  dm_setup_close(&setup);
  return DM_OK;
}

static dm_status measure(bench *b, dm_record *record) {
  const dm_log log = b->run->log;
  const dm_progress_mode progress = b->run->progress;
  DM_TRY(make_files(b));
  /* Silences the notes of the many runs. */
  if (log.level == DM_LOG_NOTE) b->run->log.level = DM_LOG_WARNING;
  b->run->progress = DM_PROGRESS_NEVER;
  dm_status status = repeat(b);
  if (!status) status = report(b, record);
  b->run->log = log;
  b->run->progress = progress;
  return status;
}

static dm_multiply multiply_of(const dm_bench_files *w) {
  return (dm_multiply){.equation = {.op_a = DM_OP_N,
                                    .op_b = DM_OP_N,
                                    .alpha = {1.0, 0.0},
                                    .type = DM_DTYPE_NONE,
                                    .type_c = w->product.type_c,
                                    .compute = w->product.compute},
                       .engine = w->product.engine,
                       .verify = w->product.verify,
                       .seed = w->product.check_seed,
                       .allow_unchecked = true, /* only the times matter */
                       .protect = true,
                       .reserve_first = true,
                       .checkpoint = w->checkpoint,
                       .checkpoint_interval = w->checkpoint_interval};
}

dm_status dm_bench_files_run(dm_run *run, const dm_bench_files *wanted, dm_record *record) {
  bench *b = calloc(1, sizeof *b);
  DM_TRY(dm_comm_agree(run->world, b ? DM_OK : dm_fail(DM_E_FIT, "no memory for a benchmark")));
  b->run = run;
  b->wanted = wanted;
  b->own = dm_setup_process_bytes(1);
  b->multiply = multiply_of(wanted);
  b->threads = (int)dm_max(1, dm_run_io_threads(run, wanted->product.engine.io_threads));
  dm_status status = measure(b, run->rank == 0 ? record : NULL);
  if (run->rank == 0) remove_files(b);
  if (!status || status->agreed) free(b);
  return status;
}
