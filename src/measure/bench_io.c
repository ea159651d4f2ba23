/* bench_io: what the file system gives to plain pread and pwrite, and what of it the program's own
 * reader and writer reach.  The four take turns, so that all see the same state of the system; the
 * file lies in the page cache when it is read, which hides the least of our own cost. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "io/inspect.h"
#include "io/output.h"
#include "io/read_ahead.h"
#include "measure/bench.h"
#include "plan/partition.h"
#include "plan/plan.h"
#include "run/facts.h"
#include "run/statistics.h"

enum { COLUMNS = 8192, PIECE = 16 << 20 };

typedef enum way { PLAIN_WRITE, DAMIER_WRITE, PLAIN_READ, DAMIER_READ, WAYS } way;

static const char *const way_names[WAYS] = {"plain_write", "damier_write", "plain_read",
                                            "damier_read"};
static const char *const way_labels[WAYS] = {"pwrite + fsync", "damier writing", "pread",
                                             "damier reading"};

typedef struct bench {
  dm_run *run;
  const dm_bench_io *wanted;
  int threads; /* that read */
  int64_t rows;
  dm_range mine; /* rows of this rank */
  void *memory;  /* this rank's rows */
  dm_output_file file;
  char plain[DM_PATH + 32];
} bench;

static int64_t row_bytes(void) {
  return COLUMNS * (int64_t)sizeof(double);
}

static dm_status no_plain(const bench *b, const char *what) {
  return dm_fail(DM_E_IO, "%s: %s failed: %s", b->plain, what, strerror(errno));
}

/* The plain file is reserved beforehand, as the program's own is. */
static dm_status plain_write(bench *b, double *seconds) {
  int fd = open(b->plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return no_plain(b, "open");
  dm_status status = DM_OK;
  if (b->run->rank == 0 && posix_fallocate(fd, 0, b->rows * row_bytes()) != 0)
    status = no_plain(b, "reserving space");
  status = dm_comm_agree(b->run->world, status);
  double start = dm_now();
  int64_t from = b->mine.begin * row_bytes(), bytes = dm_range_size(b->mine) * row_bytes();
  for (int64_t at = 0; at < bytes && !status;) {
    ssize_t n = pwrite(fd, (char *)b->memory + at, (size_t)dm_min(PIECE, bytes - at), from + at);
    if (n > 0) at += n;
    if (n < 0 && errno != EINTR) status = no_plain(b, "pwrite");
  }
  if (!status && fsync(fd)) status = no_plain(b, "fsync");
  *seconds = dm_now() - start;
  if (close(fd) && !status) status = no_plain(b, "close");
  return status;
}

static dm_status plain_read(bench *b, double *seconds) {
  int fd = open(b->plain, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return no_plain(b, "open");
  dm_status status = DM_OK;
  double start = dm_now();
  int64_t from = b->mine.begin * row_bytes(), bytes = dm_range_size(b->mine) * row_bytes();
  for (int64_t at = 0; at < bytes && !status;) {
    ssize_t n = pread(fd, (char *)b->memory + at, (size_t)dm_min(PIECE, bytes - at), from + at);
    if (n > 0) at += n;
    if (n == 0 || (n < 0 && errno != EINTR)) status = no_plain(b, "pread");
  }
  *seconds = dm_now() - start;
  if (close(fd) && !status) status = no_plain(b, "close");
  return status;
}

static dm_status damier_write(bench *b, double *seconds) {
  dm_output *output = NULL;
  DM_TRY(dm_output_open(&b->file, &output));
  dm_view rows = dm_view_row_major(b->memory, DM_F64, dm_range_size(b->mine), COLUMNS);
  double start = dm_now();
  dm_status status = DM_OK;
  if (rows.rows > 0) status = dm_output_write(output, b->mine.begin, 0, rows);
  if (!status) status = dm_output_sync(output);
  *seconds = dm_now() - start;
  return dm_status_first(status, dm_output_close(output));
}

/* The unfinished file is read as the contiguous dataset that it is. */
static dm_status damier_read(bench *b, double *seconds) {
  dm_dataset dataset;
  DM_TRY(dm_output_part(&b->file, &dataset));
  dm_reader *reader;
  DM_TRY(dm_reader_open(&dataset, DM_DTYPE_NONE, &reader));
  dm_view rows = dm_view_row_major(b->memory, DM_F64, dm_range_size(b->mine), COLUMNS);
  dm_read_ahead *ahead = NULL;
  double start = dm_now();
  dm_status status = dm_read_ahead_open(b->threads, DM_READ_MEMORY, &ahead);
  if (!status) dm_reader_lean_on(reader, ahead);
  if (!status && rows.rows > 0) status = dm_reader_read(reader, b->mine.begin, 0, &rows, 1, false);
  *seconds = dm_now() - start;
  dm_read_ahead_close(ahead);
  dm_reader_close(reader);
  return status;
}

static dm_status once(bench *b, way how, double *seconds) {
  static dm_status (*const ways[WAYS])(bench *, double *) = {plain_write, damier_write, plain_read,
                                                             damier_read};
  *seconds = 0.0;
  DM_TRY(dm_comm_barrier(b->run->world));
  DM_TRY(dm_comm_agree(b->run->world, ways[how](b, seconds)));
  return dm_comm_max_f64(b->run->world, seconds, 1);
}

static dm_status open_files(bench *b) {
  dm_location at;
  char text[DM_PATH + 32];
  snprintf(text, sizeof text, "%s/damier-bench-io.h5:/scratch", b->wanted->directory);
  dm_status status = DM_OK;
  if (b->run->rank == 0) {
    status = dm_io_parse_location(text, &at);
    if (!status) status = dm_output_create(&at, DM_F64, b->rows, COLUMNS, true, &b->file);
    if (!status) status = dm_output_choose_way(&b->file, DM_WRITE_AUTO, b->run->local_ranks);
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_comm_broadcast(b->run->world, &b->file, sizeof b->file, 0));
  snprintf(b->plain, sizeof b->plain, "%s/damier-bench-io.plain", b->wanted->directory);
  b->mine = dm_split(b->rows, b->run->ranks, b->run->rank, 1);
  status = dm_buffer_alloc(dm_range_size(b->mine) * row_bytes(), &b->memory);
  if (status) return dm_comm_agree(b->run->world, status);
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 1};
  dm_fill(dm_view_row_major(b->memory, DM_F64, dm_range_size(b->mine), COLUMNS), &random,
          b->mine.begin, 0);
  return dm_comm_agree(b->run->world, DM_OK);
}

static void record_ways(const bench *b, double *seconds[WAYS], dm_record *record) {
  const int64_t bytes = b->rows * row_bytes();
  const int count = b->wanted->repetitions;
  double rate[WAYS];
  dm_record_text(record, "files.directory", "directory", "%s", b->wanted->directory);
  dm_facts_file_system("directory", b->wanted->directory, record);
  dm_facts_record(NULL, false, record);
  dm_record_integer(record, "bench.bytes", "size", DM_SHOWN_BYTES, bytes);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN, count);
  dm_record_integer(record, "machine.ranks", "ranks", DM_SHOWN_PLAIN, b->run->ranks);
  dm_record_integer(record, "machine.io_threads", "threads that read, per rank", DM_SHOWN_PLAIN,
                    b->threads);
  dm_record_text(record, "bench.page_cache", NULL, "warm");
  for (int i = 0; i < WAYS; i++) {
    char path[64];
    snprintf(path, sizeof path, "repetitions.%s_s", way_names[i]);
    dm_record_series(record, path, seconds[i], count);
    dm_statistics s = dm_statistics_of(seconds[i], count);
    rate[i] = (double)bytes / s.median;
    snprintf(path, sizeof path, "rates.%s_bytes", way_names[i]);
    dm_record_real(record, path, way_labels[i], DM_SHOWN_RATE, rate[i]);
    snprintf(path, sizeof path, "times.%s_median_s", way_names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, s.median);
    snprintf(path, sizeof path, "times.%s_ci95_low_s", way_names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, s.low);
    snprintf(path, sizeof path, "times.%s_ci95_high_s", way_names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, s.high);
  }
  double write = rate[DAMIER_WRITE] / rate[PLAIN_WRITE],
         read = rate[DAMIER_READ] / rate[PLAIN_READ];
  dm_record_real(record, "rates.write_of_plain", "writing / pwrite", DM_SHOWN_PLAIN, write);
  dm_record_real(record, "rates.read_of_plain", "reading / pread", DM_SHOWN_PLAIN, read);
  dm_record_summary(record,
                    "damier: bench io bytes=%lld ranks=%d read_gbs=%.3f write_gbs=%.3f "
                    "read_of_plain=%.3f write_of_plain=%.3f",
                    (long long)bytes, b->run->ranks, rate[DAMIER_READ] * 1e-9,
                    rate[DAMIER_WRITE] * 1e-9, read, write);
}

static dm_status measure(bench *b, dm_record *record) {
  const int count = b->wanted->repetitions;
  double *all, *seconds[WAYS];
  DM_TRY(open_files(b));
  DM_TRY(dm_buffer_zeroed(WAYS * (int64_t)count, sizeof *all, (void **)&all));
  dm_status status = DM_OK;
  for (int i = 0; i < WAYS; i++) seconds[i] = all + i * count;
  /* The first turn warms up. */
  for (int turn = -1; turn < count && !status; turn++) {
    for (int i = 0; i < WAYS && !status; i++) {
      double taken = 0.0;
      status = once(b, (way)i, &taken);
      if (turn >= 0) seconds[i][turn] = taken;
    }
  }
  if (!status && record) record_ways(b, seconds, record);
  free(all);
  return status;
}

dm_status dm_bench_io_run(dm_run *run, const dm_bench_io *wanted, dm_record *record) {
  bench b = {.run = run,
             .wanted = wanted,
             .threads = dm_run_io_threads(run, wanted->io_threads),
             .rows = dm_max(1, wanted->bytes / row_bytes())};
  dm_status status = measure(&b, run->rank == 0 ? record : NULL);
  if (run->rank == 0 && b.file.part[0]) {
    dm_output_discard(&b.file);
    if (unlink(b.plain) && errno != ENOENT && !status) status = no_plain(&b, "removing it");
  }
  free(b.memory);
  return dm_comm_agree(run->world, status);
}
