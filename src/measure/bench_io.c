/* bench_io: compares the program's own reader and writer with plain pread and pwrite; or, for a
 * matrix in packed chunks, reading by several threads with one thread that unpacks from memory to
 * memory. The ways alternate, so that all see the same state of the system. Files are read from the
 * page cache, which hides the least of our own cost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "core/fork_join.h"
#include "io/file_queue.h"
#include "io/inspect.h"
#include "io/output.h"
#include "io/pack.h"
#include "measure/bench.h"
#include "measure/ceiling.h"
#include "plan/partition.h"
#include "plan/plan.h"
#include "run/facts.h"
#include "run/statistics.h"

enum { COLUMNS = 8192, LARGEST = 1000, MOST_WAYS = 4 };

typedef struct bench {
  dm_run *run;
  const dm_bench_io *wanted;
  dm_output_form form;
  bool packed;
  int threads; /* reading threads */
  int64_t rows;
  dm_range mine; /* this rank's rows, and their memory */
  dm_view memory;
  dm_generator generator;
  dm_output_file file, packed_file;
  dm_ceiling plain;
  dm_dataset dataset;
  dm_reader *reader;
  int64_t unpacked; /* chunks per turn, of all ranks */
} bench;

/* A way to measure. */
typedef struct way {
  const char *name, *label;
  dm_status (*take)(bench *b, double *seconds);
} way;

static int64_t row_bytes(void) {
  return COLUMNS * (int64_t)sizeof(double);
}

/* ---- plain files: one thread per rank; space is reserved, as for the program's own ---- */

static dm_status plain_write(bench *b, double *seconds) {
  return dm_ceiling_write(b->run, &b->plain, DM_WRITE_PWRITE, 1, seconds);
}

static dm_status plain_read(bench *b, double *seconds) {
  return dm_ceiling_read(b->run, &b->plain, 1, 1, seconds);
}

/* ---- the program's own reader and writer ---- */

static dm_status damier_write(bench *b, double *seconds) {
  dm_output *output = NULL;
  DM_TRY(dm_output_open(&b->file, &output));
  const double start = dm_now();
  dm_status status = DM_OK;
  if (b->memory.rows > 0) status = dm_output_write(output, b->mine.begin, 0, b->memory);
  if (!status) status = dm_output_sync(output, NULL);
  *seconds = dm_now() - start;
  return dm_status_first(status, dm_output_close(output));
}

static dm_status check_corners(const bench *b) {
  double first, last;
  dm_fill(dm_view_row_major(&first, DM_F64, 1, 1), &b->generator, b->mine.begin, 0);
  dm_fill(dm_view_row_major(&last, DM_F64, 1, 1), &b->generator, b->mine.end - 1, COLUMNS - 1);
  if (b->memory.rows == 0 ||
      (*(double *)b->memory.base == first &&
       *(double *)dm_view_at(b->memory, b->memory.rows - 1, COLUMNS - 1) == last))
    return DM_OK;
  return dm_fail(DM_E_CORRUPT, "the matrix was not read as it was written");
}

static dm_status damier_read(bench *b, double *seconds) {
  dm_file_queue *ahead = NULL;
  dm_transfer *reading;
  memset(b->memory.base, 0xff, (size_t)(b->memory.rows * row_bytes()));
  DM_TRY(dm_comm_barrier(b->run->world));
  const double start = dm_now();
  DM_TRY(dm_file_queue_open(b->threads, DM_READ_MEMORY, &ahead));
  dm_status status =
      dm_file_queue_read(ahead, b->reader, b->mine.begin, 0, &b->memory, 1, false, &reading);
  if (!status) status = dm_transfer_wait(reading, &b->run->keepalive);
  *seconds = dm_now() - start;
  b->unpacked = dm_file_queue_unpacked(ahead);
  dm_file_queue_close(ahead);
  return status ? status : check_corners(b);
}

static dm_status unpack_alone(bench *b, double *seconds) {
  return b->run->rank == 0 ? dm_ceiling_unpack(&b->dataset, seconds) : DM_OK;
}

static const way contiguous[] = {{"plain_write", "pwrite + fsync", plain_write},
                                 {"damier_write", "damier writing", damier_write},
                                 {"plain_read", "pread", plain_read},
                                 {"damier_read", "damier reading", damier_read}};
static const way chunked[] = {{"unpack_one_thread", "one thread, from memory", unpack_alone},
                              {"unpack", "damier reading", damier_read}};

/* ---- files ---- */

static dm_status create(bench *b) {
  dm_location at;
  char text[DM_PATH + 32];
  snprintf(text, sizeof text, "%s/damier-bench-io.h5:/scratch", b->wanted->directory);
  DM_TRY(dm_io_parse_location(text, &at));
  DM_TRY(dm_output_create(&at, DM_F64, b->rows, COLUMNS, true, &b->file));
  if (b->packed) return dm_pack_room(&b->file, &b->form);
  DM_TRY(dm_ceiling_make(&b->plain));
  return dm_output_choose_way(&b->file, DM_WRITE_AUTO, b->run->local_ranks);
}

static dm_status take_memory(bench *b) {
  void *memory;
  b->mine = dm_split(b->rows, b->run->ranks, b->run->rank, b->packed ? b->form.chunk_rows : 1);
  DM_TRY(dm_buffer_alloc(dm_range_size(b->mine) * row_bytes(), &memory));
  b->memory = dm_view_row_major(memory, DM_F64, dm_range_size(b->mine), COLUMNS);
  dm_fill(b->memory, &b->generator, b->mine.begin, 0);
  return DM_OK;
}

static dm_status pack(bench *b) {
  DM_TRY(dm_pack(&b->file, &b->form, dm_cores(), NULL, &b->run->keepalive, &b->packed_file));
  dm_output_discard(&b->file);
  return dm_pack_dataset(&b->packed_file, &b->form, &b->dataset);
}

static dm_status open_files(bench *b) {
  const dm_comm *world = b->run->world;
  double unused;
  DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? create(b) : DM_OK));
  const int made = b->file.made;
  DM_TRY(dm_comm_broadcast(world, &b->file, sizeof b->file, 0));
  b->file.made = made;
  DM_TRY(dm_comm_agree(world, take_memory(b)));
  if (b->packed) {
    DM_TRY(dm_comm_agree(world, damier_write(b, &unused)));
    DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? pack(b) : DM_OK));
    DM_TRY(dm_comm_broadcast(world, &b->dataset, sizeof b->dataset, 0));
  } else { /* not packed: read as contiguous */
    DM_TRY(dm_comm_agree(world, dm_output_part(&b->file, &b->dataset)));
  }
  return dm_comm_agree(world, dm_reader_open(&b->dataset, DM_DTYPE_NONE, &b->reader));
}

/* ---- measuring ---- */

static void record_bench(const bench *b, dm_record *record) {
  char form[96];
  dm_record_text(record, "files.directory", "directory", "%s", b->wanted->directory);
  dm_facts_file_system("directory", b->wanted->directory, record);
  dm_facts_record(NULL, false, record);
  if (b->packed) {
    dm_output_form_text(&b->form, form, sizeof form);
    dm_record_text(record, "bench.form", "matrix", "%s", form);
  }
  dm_record_integer(record, "bench.bytes", "size", DM_SHOWN_BYTES, b->rows * row_bytes());
  if (b->packed) {
    dm_record_integer(record, "bench.stored_bytes", "stored", DM_SHOWN_BYTES,
                      b->dataset.file_bytes);
    dm_record_integer(record, "bench.unpacked", "chunks unpacked", DM_SHOWN_PLAIN, b->unpacked);
  }
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN,
                    b->wanted->repetitions);
  dm_record_integer(record, "machine.ranks", "ranks", DM_SHOWN_PLAIN, b->run->ranks);
  dm_record_integer(record, "machine.io_threads", "threads that read, per rank", DM_SHOWN_PLAIN,
                    b->threads);
  dm_record_text(record, "bench.page_cache", NULL, "warm");
}

static void summarise(const bench *b, const double *rate, dm_record *record) {
  const long long bytes = b->rows * row_bytes();
  const double write = rate[1] / rate[0], read = rate[3] / rate[2];
  dm_record_real(record, "rates.write_of_plain", "writing / pwrite", DM_SHOWN_PLAIN, write);
  dm_record_real(record, "rates.read_of_plain", "reading / pread", DM_SHOWN_PLAIN, read);
  dm_record_summary(record,
                    "damier: bench io bytes=%lld ranks=%d read_gbs=%.3f write_gbs=%.3f "
                    "read_of_plain=%.3f write_of_plain=%.3f",
                    bytes, b->run->ranks, rate[3] * 1e-9, rate[1] * 1e-9, read, write);
}

static void summarise_packed(const bench *b, const double *rate, dm_record *record) {
  const double threads = (double)dm_max(1, b->threads) * b->run->ranks;
  const double part = rate[1] / (rate[0] * threads);
  dm_record_real(record, "rates.unpack_of_threads", "reading / (one thread x threads)",
                 DM_SHOWN_PLAIN, part);
  dm_record_summary(record,
                    "damier: bench io bytes=%lld stored=%lld ranks=%d io_threads=%d "
                    "unpack_gbs=%.3f one_thread_gbs=%.3f unpack_of_threads=%.3f",
                    (long long)(b->rows * row_bytes()), (long long)b->dataset.file_bytes,
                    b->run->ranks, b->threads, rate[1] * 1e-9, rate[0] * 1e-9, part);
}

static dm_status once(bench *b, const way *how, double *seconds) {
  *seconds = 0.0;
  DM_TRY(dm_comm_barrier(b->run->world));
  DM_TRY(dm_comm_agree(b->run->world, how->take(b, seconds)));
  return dm_comm_max_f64(b->run->world, seconds, 1);
}

/* SECONDS: all turns of the first way, then of the next. */
static dm_status take_turns(bench *b, const way *ways, int count, double *seconds) {
  const int turns = b->wanted->repetitions;
  for (int turn = -1; turn < turns; turn++) /* the first is a warm-up */
    for (int i = 0; i < count; i++) {
      double taken;
      DM_TRY(once(b, &ways[i], &taken));
      if (turn >= 0) seconds[i * turns + turn] = taken;
    }
  return dm_comm_sum_i64(b->run->world, &b->unpacked, 1);
}

static dm_status measure(bench *b, dm_record *record) {
  const way *ways = b->packed ? chunked : contiguous;
  const int count = b->packed ? 2 : MOST_WAYS, turns = b->wanted->repetitions;
  double *seconds, rate[MOST_WAYS];
  DM_TRY(open_files(b));
  DM_TRY(dm_comm_agree(
      b->run->world, dm_buffer_zeroed(count * (int64_t)turns, sizeof *seconds, (void **)&seconds)));
  dm_status status = take_turns(b, ways, count, seconds);
  if (!status && record) {
    record_bench(b, record);
    for (int i = 0; i < count; i++) {
      char path[64];
      const dm_statistics s =
          dm_record_times(record, ways[i].name, NULL, seconds + i * turns, turns);
      rate[i] = (double)(b->rows * row_bytes()) / s.median;
      snprintf(path, sizeof path, "rates.%s_bytes", ways[i].name);
      dm_record_real(record, path, ways[i].label, DM_SHOWN_RATE, rate[i]);
    }
    (b->packed ? summarise_packed : summarise)(b, rate, record);
  }
  free(seconds);
  return status;
}

dm_status dm_bench_io_run(dm_run *run, const dm_bench_io *wanted, dm_record *record) {
  bench b = {.run = run,
             .wanted = wanted,
             .form = wanted->form,
             .packed = dm_output_is_chunked(&wanted->form),
             .threads = dm_run_io_threads(run, wanted->io_threads),
             .rows = dm_max(1, wanted->bytes / row_bytes()),
             .generator = {.kind = DM_UNIFORM, .seed = 1},
             .file = {.made = -1},
             .packed_file = {.made = -1}};
  b.plain.bytes = b.rows * row_bytes();
  if ((size_t)snprintf(b.plain.file, sizeof b.plain.file, "%s/damier-bench-io.plain",
                       wanted->directory) >= sizeof b.plain.file)
    return dm_fail(DM_E_USAGE, "the directory's name is too long");
  if (b.packed) { /* integers use a part of the bits of an f64, as measured data do */
    b.generator = (dm_generator){.kind = DM_INTEGER, .seed = 1, .parameter = LARGEST};
    DM_TRY(dm_comm_agree(run->world, dm_output_form_complete(&b.form, DM_F64, b.rows, COLUMNS)));
  }
  dm_status status = measure(&b, run->rank == 0 ? record : NULL);
  dm_reader_close(b.reader);
  if (run->rank == 0) {
    dm_output_discard(&b.file);
    dm_output_discard(&b.packed_file);
    dm_output_release(&b.file);
    dm_output_release(&b.packed_file);
    if (unlink(b.plain.file) && errno != ENOENT && !status)
      status = dm_fail(DM_E_IO, "%s: removing it failed: %s", b.plain.file, strerror(errno));
  }
  free(b.memory.base);
  return dm_comm_agree(run->world, status);
}
