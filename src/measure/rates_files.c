/* Rates of files for several threads of all ranks at once, as in jobs. */
#include <stdio.h>
#include <unistd.h>

#include "core/checked.h"
#include "measure/ceiling.h"
#include "measure/rates_measure.h"
#include "run/statistics.h"

enum {
  BYTES = 128 << 20, /* per rank */
  FEWEST = 3,
  MOST = 5,
  PASSES = 8, /* reads from the page cache per turn: one would be too short */
};

static const double long_enough = 5.0; /* seconds, after which the fewest turns suffice */

typedef enum way { WRITE, READ, COLD, WAYS } way;

typedef struct bench {
  dm_run *run;
  int threads;
  dm_ceiling file[PASSES]; /* the same file */
  dm_write_way way;
  bool forgets; /* the file system is not in memory */
  double seconds[WAYS][MOST];
} bench;

/* Collective: creates a fresh file with its space reserved, as in a job. */
static dm_status make_file(bench *b) {
  dm_status status = DM_OK;
  if (b->run->rank == 0) {
    status = dm_ceiling_make(b->file);
    if (!status)
      status =
          dm_write_way_choose(b->file->file, DM_WRITE_AUTO, dm_run_writers(b->run, -1), &b->way);
  }
  DM_TRY(dm_comm_agree(b->run->world, status));
  return dm_comm_broadcast(b->run->world, &b->way, sizeof b->way, 0);
}

/* Collective: drops the file from the page cache of every node; notes if that is not possible. */
static dm_status forget_file(bench *b) {
  dm_status status = b->run->local_rank == 0 ? dm_ceiling_forget(b->file->file) : DM_OK;
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

static dm_status take_turn(bench *b, int turn) {
  double unused;
  dm_run_phase(b->run, "writing to measure it", DM_SYNC_PATIENCE);
  DM_TRY(make_file(b));
  DM_TRY(dm_ceiling_write(b->run, b->file, b->way, b->threads, &b->seconds[WRITE][turn]));
  dm_run_phase(b->run, "reading to measure it", DM_SYNC_PATIENCE);
  /* Written data may not be in the page cache. */
  DM_TRY(dm_ceiling_read(b->run, b->file, 1, b->threads, &unused));
  DM_TRY(dm_ceiling_read(b->run, b->file, PASSES, b->threads, &b->seconds[READ][turn]));
  b->seconds[READ][turn] /= PASSES;
  DM_TRY(forget_file(b));
  if (b->forgets) DM_TRY(dm_ceiling_read(b->run, b->file, 1, b->threads, &b->seconds[COLD][turn]));
  return dm_comm_agree(b->run->world, dm_run_beat(b->run));
}

static double rate_of(bench *b, way how, int turns) {
  return (double)b->file->bytes / dm_statistics_of(b->seconds[how], turns).median;
}

static dm_status measure(bench *b, dm_rates *rates) {
  double all = 0;
  int turns = 0;
  while (turns < FEWEST || (turns < MOST && all < long_enough)) {
    DM_TRY(take_turn(b, turns));
    for (int i = 0; i < WAYS; i++) all += b->seconds[i][turns];
    turns++;
  }
  rates->file_write = rate_of(b, WRITE, turns);
  rates->file_read = rate_of(b, READ, turns);
  rates->file_cold = b->forgets ? rate_of(b, COLD, turns) : 0;
  return DM_OK;
}

/* Only rank 0 needs the mount: it writes the file of rates. */
static dm_status find_mount(const dm_run *run, const char *folder, dm_mount *mount) {
  if (run->rank != 0 || dm_io_mount(folder, mount)) return DM_OK;
  return dm_fail(DM_E_IO, "%s: its file system cannot be determined", folder);
}

dm_status dm_rates_measure_files(dm_run *run, const char *folder, dm_rates *rates) {
  bench b = {.run = run, .threads = (int)dm_max(1, dm_run_io_threads(run, -1))};
  dm_mount mount = {.kind = ""};
  b.file[0].bytes = run->ranks * (int64_t)BYTES;
  if ((size_t)snprintf(b.file[0].file, sizeof b.file[0].file, "%s/damier-tune-rates", folder) >=
      sizeof b.file[0].file)
    return dm_fail(DM_E_USAGE, "the folder's name is too long");
  for (int i = 1; i < PASSES; i++) b.file[i] = b.file[0];
  DM_TRY(dm_comm_agree(run->world, find_mount(run, folder, &mount)));
  dm_status status = measure(&b, rates);
  if (run->rank == 0) unlink(b.file[0].file);
  if (!status) rates->files = mount;
  return status;
}
