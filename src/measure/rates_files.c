/* What files give to the program's own readers and writers, all ranks at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fill.h"
#include "io/file_queue.h"
#include "measure/ceiling.h"
#include "measure/rates_measure.h"
#include "run/statistics.h"

enum {
  COLUMNS = 4096, /* of f64 */
  ROWS = 4096,    /* of each rank: 128 MiB */
  FEWEST = 3,
  MOST = 5,
  PASSES = 8, /* of reading what the page cache has: one alone is over too soon */
};

static const double long_enough = 5.0; /* seconds, after which the fewest turns do */

typedef enum way { WRITE, READ, COLD, WAYS } way;

typedef struct bench {
  dm_run *run;
  int threads;
  dm_output_file file; /* that is there now, or none */
  dm_view mine;        /* this rank's rows */
  int passes;          /* of the next reading */
  bool forgets;        /* the page cache is not the only place of its file system */
  double seconds[WAYS][MOST];
} bench;

static int64_t first_row(const bench *b) {
  return b->run->rank * (int64_t)ROWS;
}

static double bytes_of(const bench *b) {
  return (double)b->run->ranks * ROWS * COLUMNS * (double)sizeof(double);
}

/* Collective: a fresh file with its space reserved, as a job has it. */
static dm_status make_file(bench *b, const char *folder) {
  dm_location at;
  char text[DM_PATH + 32];
  dm_status status = DM_OK;
  if (b->run->rank == 0) {
    if (b->file.part[0]) dm_output_discard(&b->file);
    snprintf(text, sizeof text, "%s/damier-tune-rates.h5:/scratch", folder);
    status = dm_io_parse_location(text, &at);
    if (!status)
      status =
          dm_output_create(&at, DM_F64, b->run->ranks * (int64_t)ROWS, COLUMNS, true, &b->file);
    if (!status) status = dm_output_choose_way(&b->file, DM_WRITE_AUTO, dm_run_writers(b->run, -1));
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  return dm_comm_broadcast(b->run->world, &b->file, sizeof b->file, 0);
}

/* Collective: SECONDS of what ACTION did. */
static dm_status timed(bench *b, dm_status (*action)(bench *, void *), void *context,
                       double *seconds) {
  DM_TRY(dm_comm_barrier(b->run->world));
  const double start = dm_now();
  dm_status status = action(b, context);
  const double end = dm_now();
  DM_TRY(dm_comm_agree(b->run->world, status));
  return dm_run_span(b->run, start, end, seconds);
}

static dm_status write_mine(bench *b, void *context) {
  dm_output *output = context;
  dm_file_queue *behind;
  dm_transfer *writing;
  DM_TRY(dm_file_queue_open(b->threads, 0, &behind));
  dm_status status =
      dm_file_queue_write(behind, output, first_row(b), 0, b->mine, (dm_prepare){0}, &writing);
  if (!status) status = dm_transfer_wait(writing, &b->run->keepalive);
  if (!status) status = dm_output_sync(output);
  dm_file_queue_close(behind);
  return status;
}

static dm_status write_file(bench *b, double *seconds) {
  dm_output *output = NULL;
  dm_run_phase(b->run, "writing to measure it", DM_SYNC_PATIENCE);
  dm_status status = dm_comm_agree(b->run->world, dm_output_open(&b->file, &output));
  if (!status) status = timed(b, write_mine, output, seconds);
  return dm_status_first(status, dm_output_close(output));
}

static dm_status read_mine(bench *b, void *context) {
  for (int pass = 0; pass < b->passes; pass++)
    DM_TRY(dm_reader_read(context, first_row(b), 0, &b->mine, 1, false));
  return DM_OK;
}

/* What an unfinished output is: a contiguous dataset. */
static dm_status open_reader(const bench *b, dm_file_queue **ahead, dm_reader **reader) {
  dm_dataset dataset;
  DM_TRY(dm_output_part(&b->file, &dataset));
  DM_TRY(dm_reader_open(&dataset, DM_DTYPE_NONE, reader));
  dm_reader_keepalive(*reader, &b->run->keepalive);
  DM_TRY(dm_file_queue_open(b->threads, DM_READ_MEMORY, ahead));
  dm_reader_lean_on(*reader, *ahead);
  return DM_OK;
}

static dm_status read_file(bench *b, int passes, double *seconds) {
  dm_file_queue *ahead = NULL;
  dm_reader *reader = NULL;
  dm_run_phase(b->run, "reading to measure it", 1);
  b->passes = passes;
  dm_status status = dm_comm_agree(b->run->world, open_reader(b, &ahead, &reader));
  if (!status && passes > 1) { /* what was written may not be in the page cache */
    b->passes = 1;
    status = timed(b, read_mine, reader, seconds);
    b->passes = passes;
  }
  if (!status) status = timed(b, read_mine, reader, seconds);
  *seconds /= passes;
  dm_file_queue_close(ahead);
  dm_reader_close(reader);
  return status;
}

/* Collective: every node lets the file leave its page cache; notes where that cannot be. */
static dm_status forget_file(bench *b) {
  dm_status status = b->run->local_rank == 0 ? dm_ceiling_forget(b->file.part) : DM_OK;
  int64_t stays = status && status->code == DM_E_USAGE;
  if (stays) {
    dm_status_free(status);
    status = DM_OK;
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  DM_TRY(dm_comm_max_i64(b->run->world, &stays, 1));
  b->forgets = !stays;
  return DM_OK;
}

static dm_status take_turn(bench *b, const char *folder, int turn) {
  DM_TRY(make_file(b, folder));
  DM_TRY(write_file(b, &b->seconds[WRITE][turn]));
  DM_TRY(read_file(b, PASSES, &b->seconds[READ][turn]));
  DM_TRY(forget_file(b));
  if (b->forgets) DM_TRY(read_file(b, 1, &b->seconds[COLD][turn]));
  return dm_comm_agree(b->run->world, dm_run_beat(b->run));
}

static double rate_of(bench *b, way how, int turns) {
  const dm_statistics s = dm_statistics_of(b->seconds[how], turns);
  return bytes_of(b) / s.median;
}

static dm_status measure(bench *b, const char *folder, dm_rates *rates) {
  double all = 0;
  int turns = 0;
  while (turns < FEWEST || (turns < MOST && all < long_enough)) {
    DM_TRY(take_turn(b, folder, turns));
    for (int i = 0; i < WAYS; i++) all += b->seconds[i][turns];
    turns++;
  }
  rates->file_write = rate_of(b, WRITE, turns);
  rates->file_read = rate_of(b, READ, turns);
  rates->file_cold = b->forgets ? rate_of(b, COLD, turns) : 0;
  return DM_OK;
}

static dm_status fill_mine(bench *b) {
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 1};
  void *memory;
  DM_TRY(dm_buffer_alloc(ROWS * COLUMNS * (int64_t)sizeof(double), &memory));
  b->mine = dm_view_row_major(memory, DM_F64, ROWS, COLUMNS);
  dm_fill(b->mine, &random, first_row(b), 0);
  return DM_OK;
}

/* Rank 0 alone knows in the end where files were measured: it writes that down. */
static dm_status find_mount(const dm_run *run, const char *folder, dm_mount *mount) {
  if (run->rank != 0 || dm_io_mount(folder, mount)) return DM_OK;
  return dm_fail(DM_E_IO, "%s: the system does not say in which file system it lies", folder);
}

dm_status dm_rates_measure_files(dm_run *run, const char *folder, dm_rates *rates) {
  bench b = {.run = run, .threads = dm_run_io_threads(run, -1)};
  dm_mount mount = {.kind = ""};
  DM_TRY(dm_comm_agree(run->world, find_mount(run, folder, &mount)));
  dm_status status = dm_comm_agree(run->world, fill_mine(&b));
  if (!status) status = measure(&b, folder, rates);
  if (run->rank == 0 && b.file.part[0]) dm_output_discard(&b.file);
  free(b.mine.base);
  if (!status) rates->files = mount;
  return status;
}
