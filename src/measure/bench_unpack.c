/* bench_unpack: how fast threads read a matrix that is stored in packed chunks, beside what one of
 * them unpacks from memory to memory, turn about.  The file lies in the page cache. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "io/pack.h"
#include "io/pool.h"
#include "io/read_ahead.h"
#include "measure/bench.h"
#include "plan/partition.h"
#include "plan/plan.h"
#include "run/facts.h"
#include "run/statistics.h"

enum { COLUMNS = 8192, LARGEST = 1000 };
enum { ALONE = 1 << 27 }; /* bytes that are enough to time one thread */

typedef struct bench {
  dm_run *run;
  const dm_bench_io *wanted;
  dm_output_form form;
  int threads;
  int64_t rows;
  dm_range mine; /* rows of this rank */
  void *memory;  /* this rank's rows */
  dm_output_file plain, packed;
  dm_dataset dataset;
  dm_reader *reader;
  int64_t stored, unpacked; /* bytes of the file; chunks in a turn, of all ranks */
} bench;

static int64_t row_bytes(void) {
  return COLUMNS * (int64_t)sizeof(double);
}

/* Whole numbers: they take a part of the bits of an f64, as measured data do. */
static dm_status write_rows(bench *b, const dm_output_file *file) {
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 1, .parameter = LARGEST};
  dm_view rows = dm_view_row_major(b->memory, DM_F64, dm_range_size(b->mine), COLUMNS);
  dm_output *output = NULL;
  dm_fill(rows, &whole, b->mine.begin, 0);
  DM_TRY(dm_output_open(file, &output));
  dm_status status = rows.rows > 0 ? dm_output_write(output, b->mine.begin, 0, rows) : DM_OK;
  return dm_status_first(status, dm_output_close(output));
}

static dm_status make_plain(bench *b) {
  char text[DM_PATH + 32];
  dm_location at;
  snprintf(text, sizeof text, "%s/damier-bench-io.h5:/scratch", b->wanted->directory);
  DM_TRY(dm_io_parse_location(text, &at));
  DM_TRY(dm_output_create(&at, DM_F64, b->rows, COLUMNS, true, &b->plain));
  return dm_pack_room(&b->plain, &b->form);
}

static dm_status make_packed(bench *b) {
  DM_TRY(dm_pack(&b->plain, &b->form, dm_pool_cores(1), &b->run->keepalive, &b->packed));
  dm_output_discard(&b->plain);
  b->plain.part[0] = '\0';
  return dm_pack_dataset(&b->packed, &b->form, &b->dataset);
}

static dm_status open_file(bench *b) {
  const dm_comm *world = b->run->world;
  b->mine = dm_split(b->rows, b->run->ranks, b->run->rank, b->form.chunk_rows);
  DM_TRY(dm_comm_agree(world, dm_buffer_alloc(dm_range_size(b->mine) * row_bytes(), &b->memory)));
  DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? make_plain(b) : DM_OK));
  DM_TRY(dm_comm_broadcast(world, &b->plain, sizeof b->plain, 0));
  DM_TRY(dm_comm_agree(world, write_rows(b, &b->plain)));
  DM_TRY(dm_comm_agree(world, b->run->rank == 0 ? make_packed(b) : DM_OK));
  DM_TRY(dm_comm_broadcast(world, &b->dataset, sizeof b->dataset, 0));
  b->stored = b->dataset.file_bytes;
  return dm_comm_agree(world, dm_reader_open(&b->dataset, DM_DTYPE_NONE, &b->reader));
}

/* One thread of rank 0, some of its rows, memory to memory; what all rows would take. */
static dm_status one_thread(bench *b, double *seconds) {
  if (b->run->rank != 0) return DM_OK;
  int64_t bands = dm_max(1, ALONE / row_bytes() / b->form.chunk_rows);
  int64_t rows = dm_min(dm_range_size(b->mine), bands * b->form.chunk_rows);
  DM_TRY(dm_reader_time_unpacking(b->reader, 0, rows, seconds));
  *seconds *= (double)b->rows / (double)rows;
  return DM_OK;
}

static dm_status all_threads(bench *b, double *seconds) {
  dm_view rows = dm_view_row_major(b->memory, DM_F64, dm_range_size(b->mine), COLUMNS);
  dm_read_ahead *ahead = NULL;
  dm_reading *reading;
  memset(b->memory, 0xff, (size_t)(rows.rows * row_bytes()));
  DM_TRY(dm_comm_barrier(b->run->world));
  double start = dm_now();
  DM_TRY(dm_read_ahead_open(b->threads, DM_READ_MEMORY, &ahead));
  dm_status status =
      dm_read_ahead_post(ahead, b->reader, b->mine.begin, 0, &rows, 1, false, &reading);
  if (!status) status = dm_reading_wait(reading, &b->run->keepalive);
  *seconds = dm_now() - start;
  b->unpacked = dm_read_ahead_unpacked(ahead);
  dm_read_ahead_close(ahead);
  if (status) return status;
  const dm_generator whole = {.kind = DM_INTEGER, .seed = 1, .parameter = LARGEST};
  double first, last;
  dm_fill(dm_view_row_major(&first, DM_F64, 1, 1), &whole, b->mine.begin, 0);
  dm_fill(dm_view_row_major(&last, DM_F64, 1, 1), &whole, b->mine.end - 1, COLUMNS - 1);
  if (rows.rows > 0 && (*(double *)b->memory != first ||
                        *(double *)dm_view_at(rows, rows.rows - 1, COLUMNS - 1) != last))
    return dm_fail(DM_E_CORRUPT, "the matrix was not read as it was written");
  return DM_OK;
}

static dm_status turn(bench *b, double *alone, double *together) {
  *alone = *together = 0.0;
  DM_TRY(dm_comm_agree(b->run->world, one_thread(b, alone)));
  DM_TRY(dm_comm_agree(b->run->world, all_threads(b, together)));
  double seconds[2] = {*alone, *together};
  DM_TRY(dm_comm_max_f64(b->run->world, seconds, 2));
  *alone = seconds[0];
  *together = seconds[1];
  return dm_comm_sum_i64(b->run->world, &b->unpacked, 1);
}

static void record_rates(const bench *b, double *alone, double *together, dm_record *record) {
  const int64_t bytes = b->rows * row_bytes();
  const int count = b->wanted->repetitions, threads = (int)dm_max(1, b->threads);
  dm_record_series(record, "repetitions.unpack_one_thread_s", alone, count);
  dm_record_series(record, "repetitions.unpack_s", together, count);
  double one = (double)bytes / dm_statistics_of(alone, count).median;
  double all = (double)bytes / dm_statistics_of(together, count).median;
  double part = all / (one * threads * b->run->ranks);
  char form[96];
  dm_output_form_text(&b->form, form, sizeof form);
  dm_record_text(record, "files.directory", "directory", "%s", b->wanted->directory);
  dm_facts_file_system("directory", b->wanted->directory, record);
  dm_facts_record(NULL, false, record);
  dm_record_text(record, "bench.form", "matrix", "%s", form);
  dm_record_integer(record, "bench.bytes", "size", DM_SHOWN_BYTES, bytes);
  dm_record_integer(record, "bench.stored_bytes", "stored", DM_SHOWN_BYTES, b->stored);
  dm_record_integer(record, "bench.unpacked", "chunks unpacked", DM_SHOWN_PLAIN, b->unpacked);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN, count);
  dm_record_integer(record, "machine.ranks", "ranks", DM_SHOWN_PLAIN, b->run->ranks);
  dm_record_integer(record, "machine.io_threads", "threads per rank", DM_SHOWN_PLAIN, b->threads);
  dm_record_text(record, "bench.page_cache", NULL, "warm");
  dm_record_real(record, "rates.unpack_one_thread_bytes", "one thread, from memory", DM_SHOWN_RATE,
                 one);
  dm_record_real(record, "rates.unpack_bytes", "damier reading", DM_SHOWN_RATE, all);
  dm_record_real(record, "rates.unpack_of_threads", "reading / (one thread x threads)",
                 DM_SHOWN_PLAIN, part);
  dm_record_summary(record,
                    "damier: bench io bytes=%lld stored=%lld ranks=%d io_threads=%d "
                    "unpack_gbs=%.3f one_thread_gbs=%.3f unpack_of_threads=%.3f",
                    (long long)bytes, (long long)b->stored, b->run->ranks, b->threads, all * 1e-9,
                    one * 1e-9, part);
}

static dm_status measure(bench *b, dm_record *record) {
  const int count = b->wanted->repetitions;
  double *alone;
  DM_TRY(open_file(b));
  DM_TRY(dm_comm_agree(b->run->world,
                       dm_buffer_zeroed(2 * (int64_t)count, sizeof *alone, (void **)&alone)));
  double *together = alone + count, warm[2];
  dm_status status = turn(b, &warm[0], &warm[1]);
  for (int i = 0; i < count && !status; i++) status = turn(b, &alone[i], &together[i]);
  if (!status && record) record_rates(b, alone, together, record);
  free(alone);
  return status;
}

dm_status dm_bench_unpack_run(dm_run *run, const dm_bench_io *wanted, dm_record *record) {
  bench b = {.run = run,
             .wanted = wanted,
             .form = wanted->form,
             .threads = dm_run_io_threads(run, wanted->io_threads),
             .rows = dm_max(1, wanted->bytes / row_bytes())};
  DM_TRY(dm_comm_agree(run->world, dm_output_form_complete(&b.form, DM_F64, b.rows, COLUMNS)));
  dm_status status = measure(&b, run->rank == 0 ? record : NULL);
  dm_reader_close(b.reader);
  if (run->rank == 0) {
    dm_output_discard(&b.plain);
    dm_output_discard(&b.packed);
  }
  free(b.memory);
  return dm_comm_agree(run->world, status);
}
