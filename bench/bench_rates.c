/* bench_rates: the planner's rates, measured by all ranks at once, which share memory, cores, links
 * and power; as words for --machine. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "cli/session.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/crew.h"
#include "engine/equation.h"
#include "engine/setup.h"
#include "io/batch.h"
#include "options/request.h"
#include "plan/grid_cost.h"
#include "run/facts.h"
#include "run/record.h"

enum {
  BENCH_RATES_LEAST_RUNS = 5,
  BENCH_RATES_MOST_RUNS = 1024,
  SELF_TESTS = 5,  /* per transport */
  SIZE_CPU = 1024, /* rows and columns of a block ... */
  SIZE_GPU = 8192,
  WIDTH_CPU = 512, /* ... and the panels' width */
  WIDTH_GPU = 8192,
  STREAM_HOST = 32 << 20, /* bytes per array; larger than most caches of a core */
  STREAM_DEVICE = 512 << 20,
  FILE_BYTES = 128 << 20, /* per rank */
  FILE_PIECE = 8 << 20,
  FILE_TURNS = 3,
};

static const double long_enough = 0.3; /* least seconds of runs */
static const double settled_gpu = 1.5; /* seconds of products: a GPU at its power limit slows down
                                          within a fraction of a second */

/* Up to three matrices, each in host or device memory. */
typedef struct workload {
  dm_run *run;
  dm_backend *backend;
  dm_space space[3];
  dm_view view[3];
} workload;

static void close_workload(workload *b) {
  for (int i = 0; i < 3; i++)
    if (b->view[i].base) dm_backend_release(b->backend, b->space[i], b->view[i].base);
}

static dm_status bench_take(workload *b, int i, dm_dtype type, int64_t rows, int64_t cols,
                            const dm_generator *generator) {
  void *memory;
  DM_TRY(dm_backend_alloc(b->backend, b->space[i], rows * cols * dm_dtype_size(type), &memory));
  b->view[i] = dm_view_strided(memory, type, b->space[i], rows, cols, cols);
  return generator ? dm_backend_fill(b->backend, b->view[i], generator, 0, 0) : DM_OK;
}

/* The PART quantile of ACTION's time on the slowest rank, over enough runs to take LEAST seconds.
 * The first run does not count. */
static dm_status time_runs(workload *b, dm_status (*action)(workload *b), double least, double part,
                           double *seconds) {
  double times[BENCH_RATES_MOST_RUNS], all = 0;
  int count = 0;
  DM_TRY(dm_comm_agree(b->run->world, action(b)));
  while (count < BENCH_RATES_LEAST_RUNS || (count < BENCH_RATES_MOST_RUNS && all < least)) {
    DM_TRY(dm_comm_barrier(b->run->world));
    const double start = dm_now();
    dm_status status = action(b);
    const double end = dm_now();
    DM_TRY(dm_comm_agree(b->run->world, status));
    DM_TRY(dm_run_span(b->run, start, end, &times[count]));
    all += times[count++];
    DM_TRY(dm_comm_agree(b->run->world, dm_run_beat(b->run)));
  }
  (void)dm_statistics_of(times, count); /* sorts */
  *seconds = times[(int)(part * count)];
  return DM_OK;
}

/* ---- products ---- */

static dm_status bench_rates_multiply(workload *b) {
  /* On the CPU adding is free; on GPUs the planner adds its cost. */
  const bool adds = b->space[2] == DM_HOST;
  dm_event done;
  DM_TRY(dm_backend_gemm(b->backend, b->view[2], b->view[0], b->view[1], adds, &done));
  return dm_backend_wait(b->backend, done);
}

static dm_status fill_product(workload *b, const dm_problem *p, int64_t size, int64_t width) {
  const bool whole = p->work == DM_I8;
  const dm_generator generator = {
      .kind = whole ? DM_INTEGER : DM_UNIFORM, .seed = 1, .parameter = whole ? 8 : 0};
  dm_event done;
  DM_TRY(bench_take(b, 0, p->work, size, width, &generator));
  DM_TRY(bench_take(b, 1, p->work, width, size, &generator));
  DM_TRY(bench_take(b, 2, p->accumulator, size, size, NULL)); /* written once before timing: */
  DM_TRY(dm_backend_gemm(b->backend, b->view[2], b->view[0], b->view[1], false, &done));
  return dm_backend_wait(b->backend, done);
}

static dm_status measure_product(dm_run *run, dm_backend *backend, const dm_problem *problem,
                                 double *rate) {
  const bool gpu = backend->ops->device_memory;
  const int64_t size = gpu ? SIZE_GPU : SIZE_CPU, width = gpu ? WIDTH_GPU : WIDTH_CPU;
  const dm_space space = gpu ? DM_DEVICE : DM_HOST;
  workload b = {.run = run, .backend = backend, .space = {space, space, space}};
  double seconds = 0;
  dm_status status = dm_comm_agree(run->world, fill_product(&b, problem, size, width));
  /* A low quantile on the CPU: other load only slows it down. */
  if (!status)
    status = time_runs(&b, bench_rates_multiply, gpu ? settled_gpu : long_enough, gpu ? 0.5 : 0.25,
                       &seconds);
  close_workload(&b);
  DM_TRY(status);
  const double flops = (dm_dtype_is_complex(problem->work) ? 8.0 : 2.0) * (double)size *
                       (double)size * (double)width;
  *rate = flops / seconds / dm_product_efficiency((double)size, (double)size, (double)width, gpu);
  return DM_OK;
}

/* ---- memory and links ---- */

/* Like sums over layers: two reads and a write. */
static dm_status bench_add(workload *b) {
  return dm_backend_add(b->backend, b->view[2], b->view[0], b->view[1], 1.0, 1.0);
}

static dm_status bench_upload(workload *b) {
  return dm_backend_copy_now(b->backend, b->view[1], b->view[0]);
}

/* Bytes per second of ACTION on COUNT arrays, the first in FIRST, the others in LAST: of all arrays
 * in one space, or of a copy between two spaces. */
static dm_status measure_stream(dm_run *run, dm_backend *backend, dm_status (*action)(workload *),
                                int count, dm_space last, double *rate) {
  const int64_t bytes = last == DM_DEVICE ? STREAM_DEVICE : STREAM_HOST, cols = 4096;
  const dm_generator generator = {.kind = DM_UNIFORM, .seed = 1};
  workload b = {.run = run, .backend = backend, .space = {DM_HOST, last, last}};
  double seconds = 0;
  dm_status status = DM_OK;
  for (int i = 0; i < count && !status; i++)
    status = bench_take(&b, i, DM_F64, bytes / cols / 8, cols, &generator);
  status = dm_comm_agree(run->world, status);
  if (!status) status = time_runs(&b, action, long_enough, 0.25, &seconds);
  close_workload(&b);
  DM_TRY(status);
  *rate = (last == DM_HOST ? count : 1) * (double)bytes / seconds;
  return DM_OK;
}

/* The best of several self-tests, inside nodes and between them. */
static dm_status measure_links(dm_run *run, const dm_setup *setup, dm_machine *machine) {
  for (int i = 0; i < SELF_TESTS && run->ranks > 1; i++) {
    dm_link_rates found;
    DM_TRY(dm_comm_agree(run->world,
                         dm_links_self_test(run, setup->backend, setup->links.chosen, &found)));
    machine->link = fmax(machine->link, found.inside);
    machine->network = fmax(machine->network, found.between * run->local_ranks);
  }
  DM_TRY(measure_stream(run, setup->backend, bench_add, 3, DM_HOST, &machine->host_copy));
  if (!machine->gpu) return DM_OK;
  return measure_stream(run, setup->backend, bench_upload, 2, DM_DEVICE, &machine->upload);
}

/* ---- files ---- */

/* One file, of which each rank reads and writes a part; shared by its threads, which take piece
 * after piece. */
typedef struct transfer {
  dm_run *run;
  char file[DM_PATH];
  char *memory;  /* FILE_BYTES */
  int64_t begin; /* of this rank's part, FILE_BYTES long, in the file */
  dm_write_way way;
  bool writes;
  int fd;
  dm_file_writer writer;
} transfer;

static dm_status file_failed(const transfer *t, const char *what, int number) {
  return dm_fail(number == ENOSPC ? DM_E_FIT : DM_E_IO, "%s: %s: %s", t->file, what,
                 strerror(number));
}

static dm_status move_piece(void *context, int64_t number) {
  transfer *t = context;
  const int64_t at = number * FILE_PIECE;
  char *memory = t->memory + at;
  return t->writes ? dm_file_writer_bytes(&t->writer, memory, FILE_PIECE, t->begin + at)
                   : dm_batch_move(t->fd, false, t->file, memory, FILE_PIECE, t->begin + at);
}

/* Reads this rank's part, or writes and syncs it, and drops it from the page cache, as far as the
 * system does that. */
static dm_status transfer_part(transfer *t, int threads) {
  t->fd = open(t->file, (t->writes ? dm_file_writer_flags(t->way) : O_RDONLY) | O_CLOEXEC);
  if (t->fd < 0) return file_failed(t, "open", errno);
  dm_status status =
      dm_file_writer_open(t->fd, t->file, t->writes ? t->way : DM_WRITE_PWRITE, &t->writer);
  if (!status) status = dm_fork_each(FILE_BYTES / FILE_PIECE, threads, move_piece, t);
  dm_file_writer_close(&t->writer);
  if (!status && t->writes && fdatasync(t->fd)) status = file_failed(t, "fdatasync", errno);
  if (t->writes) (void)posix_fadvise(t->fd, t->begin, FILE_BYTES, POSIX_FADV_DONTNEED);
  if (close(t->fd) && !status) status = file_failed(t, "close", errno);
  return status;
}

/* Seconds of the slowest rank. */
static dm_status time_transfer(transfer *t, bool writes, int threads, double *seconds) {
  t->writes = writes;
  DM_TRY(dm_comm_barrier(t->run->world));
  const double start = dm_now();
  dm_status status = transfer_part(t, threads);
  const double end = dm_now();
  DM_TRY(dm_comm_agree(t->run->world, status));
  return dm_run_span(t->run, start, end, seconds);
}

/* Creates a fresh file with its space reserved, as in a job. */
static dm_status bench_make_file(transfer *t) {
  if (unlink(t->file) && errno != ENOENT) return file_failed(t, "unlink", errno);
  const int fd = open(t->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return file_failed(t, "open", errno);
  int number = dm_batch_reserve(fd, 0, 0, (int64_t)t->run->ranks * FILE_BYTES);
  if (!number && fsync(fd)) number = errno;
  if (close(fd) && !number) number = errno;
  if (number) return file_failed(t, "reserving space", number);
  return dm_write_way_choose(t->file, DM_WRITE_AUTO, dm_run_writers(t->run, -1), &t->way);
}

/* All ranks together, as in jobs: writing with sync, and reading past the page cache. */
static dm_status time_files(transfer *t, dm_machine *machine) {
  const int threads = (int)dm_max(1, dm_run_io_threads(t->run, -1));
  const double bytes = (double)t->run->ranks * FILE_BYTES;
  double written[FILE_TURNS], read[FILE_TURNS];
  dm_comm *world = t->run->world;
  for (int i = 0; i < FILE_TURNS; i++) {
    DM_TRY(dm_comm_agree(world, t->run->rank == 0 ? bench_make_file(t) : DM_OK));
    DM_TRY(dm_comm_broadcast(world, &t->way, sizeof t->way, 0));
    DM_TRY(time_transfer(t, true, threads, &written[i]));
    DM_TRY(time_transfer(t, false, threads, &read[i]));
    DM_TRY(dm_comm_agree(world, dm_run_beat(t->run)));
  }
  machine->file_write = bytes / dm_statistics_of(written, FILE_TURNS).median;
  machine->file_read = bytes / dm_statistics_of(read, FILE_TURNS).median;
  return DM_OK;
}

static dm_status measure_files(dm_run *run, const char *folder, dm_machine *machine) {
  transfer t = {.run = run, .begin = run->rank * (int64_t)FILE_BYTES};
  if ((size_t)snprintf(t.file, sizeof t.file, "%s/damier-bench-rates", folder) >= sizeof t.file)
    return dm_fail(DM_E_USAGE, "the folder's name is too long");
  dm_run_phase(run, "measuring files", DM_SYNC_PATIENCE);
  dm_status status = dm_buffer_alloc(FILE_BYTES, (void **)&t.memory);
  if (!status) memset(t.memory, 0x5a, FILE_BYTES); /* so that no page is new while it is timed */
  status = dm_comm_agree(run->world, status);
  if (!status) status = time_files(&t, machine);
  free(t.memory);
  if (run->rank == 0) unlink(t.file);
  return status;
}

/* ---- all ---- */

static dm_status measure_type(dm_run *run, const dm_engine_options *engine, dm_operand operand,
                              dm_setup *first, dm_machine *machine) {
  const dm_dtype type = dm_operand_dtype(operand);
  const dm_equation equation = {.type_c = DM_DTYPE_NONE, .own = dm_compute_by(operand)};
  dm_problem problem = {
      .m = SIZE_CPU, .n = SIZE_CPU, .k = SIZE_CPU, .file_a = type, .file_b = type};
  dm_setup setup;
  DM_TRY(dm_comm_agree(run->world, dm_types_of(type, &equation, &problem)));
  DM_TRY(dm_setup_open(run, engine, &problem, &setup));
  dm_status status = DM_OK;
  if (first) {
    const dm_machine *m = &setup.machine;
    *first = setup; /* closed below: only for its descriptions */
    *machine = (dm_machine){.nodes = m->nodes,
                            .ranks_per_node = m->ranks_per_node,
                            .cores_per_rank = m->cores_per_rank,
                            .gpu = m->gpu,
                            .device_links = m->device_links,
                            .shared_slots = m->shared_slots};
    snprintf(machine->name, sizeof machine->name, "%s", m->name);
    status = measure_links(run, &setup, machine);
  }
  if (!status) status = measure_product(run, setup.backend, &problem, &machine->flops[operand]);
  dm_setup_close(&setup);
  return status;
}

static dm_status bench_rates_measure(dm_run *run, const dm_bench_rates *wanted, dm_setup *first,
                                     dm_machine *machine) {
  const dm_operand operands[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8, DM_TF32};
  dm_run quiet = *run; /* silences notes on the unused products */
  if (quiet.log.level > DM_LOG_WARNING) quiet.log.level = DM_LOG_WARNING;
  dm_run_phase(run, "measuring rates", 1);
  for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
    const dm_dtype type = dm_operand_dtype(operands[i]);
    if (operands[i] != (dm_operand)type && i > 0 && !machine->gpu)
      machine->flops[operands[i]] = machine->flops[type];
    else
      DM_TRY(measure_type(&quiet, &wanted->engine, operands[i], i == 0 ? first : NULL, machine));
  }
  return wanted->files[0] ? measure_files(run, wanted->files, machine) : DM_OK;
}

static void write_words(const dm_machine *m, bool files, char *words, size_t room) {
  if (m->gpu)
    snprintf(words, room, "nodes=%d gpus=%d gpu=%s links=%s\n", m->nodes, m->ranks_per_node,
             m->name, m->device_links ? "device" : "host");
  else
    snprintf(words, room, "nodes=%d ranks=%d cores=%d links=%s\n", m->nodes, m->ranks_per_node,
             m->cores_per_rank, m->shared_slots ? "shared" : "host");
  dm_machine_put_rates(m, files, words, room);
}

static dm_status bench_write_file(const char *path, const dm_setup *setup, const char *words) {
  FILE *file = fopen(path, "w");
  if (!file) return dm_fail(DM_E_IO, "%s: %s", path, strerror(errno));
  fprintf(
      file,
      "# Rates of %s with %s, by 'damier bench rates': one rank's while all work; GFLOP/s, GB/s.\n"
      "# read= and write= are those of all ranks together. Use: --machine @%s\n%s",
      setup->device.name, setup->device.library, path, words);
  const bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) return dm_fail(DM_E_IO, "%s: it could not be written", path);
  return DM_OK;
}

static dm_status bench_rates_report(dm_run *run, const dm_bench_rates *wanted,
                                    const dm_setup *setup, const dm_machine *machine,
                                    dm_record *record) {
  char words[1024], line[96];
  write_words(machine, wanted->files[0] != '\0', words, sizeof words);
  if (wanted->output[0]) DM_TRY(bench_write_file(wanted->output, setup, words));
  dm_record_text(record, "machine.device", "device", "%s", setup->device.name);
  dm_record_text(record, "machine.library", NULL, "%s", setup->device.library);
  dm_record_integer(record, "machine.ranks", "ranks", DM_SHOWN_PLAIN, run->ranks);
  dm_record_integer(record, "machine.nodes", "nodes", DM_SHOWN_PLAIN, run->nodes);
  dm_record_text(record, "machine.host", NULL, "%s", dm_comm_host(run->world));
  dm_facts_record(NULL, false, record);
  dm_record_text(record, "transport.name", "panels travel by", "%s", setup->links.chosen->name);
  dm_record_text(record, "rates.words", NULL, "%s", words);
  for (const char *at = words; *at; at += strcspn(at, "\n") + 1) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    dm_record_line(record, at == words ? "--machine" : "", line);
  }
  dm_record_text(record, "rates.file", wanted->output[0] ? "file" : NULL, "%s", wanted->output);
  dm_record_summary(record, "ranks=%d gflops=%.3g", run->ranks, machine->flops[DM_F64] * 1e-9);
  return DM_OK;
}

dm_status dm_bench_rates_run(dm_run *run, const dm_bench_rates *wanted, dm_record *record) {
  dm_setup setup;
  dm_machine machine;
  DM_TRY(dm_comm_agree(run->world, dm_report_replaces(wanted->output, "#", "rates")));
  DM_TRY(bench_rates_measure(run, wanted, &setup, &machine));
  return dm_comm_agree(run->world, run->rank == 0
                                       ? bench_rates_report(run, wanted, &setup, &machine, record)
                                       : DM_OK);
}

/* ---- the verb ---- */

static dm_status bench_rates(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)shared;
  const dm_settings *s = &call->settings;
  dm_bench_rates bench = {.engine = dm_request_engine(s)};
  snprintf(bench.output, sizeof bench.output, "%s", call->own.rates_file);
  snprintf(bench.files, sizeof bench.files, "%s", call->own.files);
  return dm_bench_rates_run(run, &bench, record);
}

int dm_bench_verb_rates(dm_call *call) {
  return dm_bench_job(call, DM_OK, bench_rates, NULL, 0);
}
