#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/crew.h"
#include "file/batch.h"
#include "plan/partition.h"
#include "plan/plan.h"

enum { PIECE = 8 << 20, MEMORY = 128 << 20, MOST_THREADS = 256 };

/* Shared by the threads of a rank, which process piece after piece. */
typedef struct transfer {
  const char *file; /* for messages */
  int fd;
  bool writes;
  dm_write_way way;
  dm_file_writer writer; /* if it writes */
  int64_t begin, end;    /* range in the file */
  char *memory;
  int64_t size;              /* bytes of MEMORY, a multiple of PIECE */
  atomic_int_least64_t next; /* next piece */
  _Atomic(dm_status) failed; /* first error */
} transfer;

static dm_status read_piece(const transfer *t, char *memory, int64_t bytes, int64_t at) {
  dm_batch batch;
  dm_batch_start(&batch, t->fd, false, t->file, NULL);
  DM_TRY(dm_batch_add(&batch, memory, bytes, at));
  return dm_batch_flush(&batch);
}

static void work(void *argument) {
  transfer *t = argument;
  for (;;) {
    const int64_t piece = atomic_fetch_add(&t->next, 1), at = t->begin + piece * PIECE;
    if (at >= t->end || atomic_load(&t->failed)) return;
    char *memory = t->memory + piece * PIECE % t->size;
    const int64_t bytes = dm_min(PIECE, t->end - at);
    dm_status none = DM_OK, failed = t->writes ? dm_file_writer_bytes(&t->writer, memory, bytes, at)
                                               : read_piece(t, memory, bytes, at);
    if (failed && !atomic_compare_exchange_strong(&t->failed, &none, failed))
      dm_status_free(failed);
  }
}

static dm_status work_together(transfer *t, int threads) {
  threads = (int)dm_min(threads, MOST_THREADS);
  const int working = dm_fork_join(threads, work, t);
  return working < threads ? dm_fail(DM_E_FIT, "only %d threads could be started", working) : DM_OK;
}

static dm_status failure(const dm_ceiling *range, const char *what, int number) {
  return dm_fail(number == ENOSPC ? DM_E_FIT : DM_E_IO, "%s: %s: %s", range->file, what,
                 strerror(number));
}

static dm_status transfer_range(const dm_run *run, const dm_ceiling *range, transfer *t,
                                int threads) {
  const dm_range part = dm_split(range->bytes, run->ranks, run->rank, 4096);
  t->file = range->file;
  t->fd = open(range->file, (t->writes ? dm_file_writer_flags(t->way) : O_RDONLY) | O_CLOEXEC);
  if (t->fd < 0) return failure(range, "open", errno);
  t->begin = range->offset + part.begin;
  t->end = range->offset + part.end;
  atomic_init(&t->next, 0);
  atomic_init(&t->failed, DM_OK);
  dm_status status =
      t->writes ? dm_file_writer_open(t->fd, range->file, t->way, &t->writer) : DM_OK;
  if (!status) status = work_together(t, threads);
  status = dm_status_first(status, atomic_load(&t->failed));
  if (t->writes) dm_file_writer_close(&t->writer);
  if (!status && t->writes && fdatasync(t->fd)) status = failure(range, "fdatasync", errno);
  if (close(t->fd) && !status) status = failure(range, "close", errno);
  return status;
}

static dm_status measure(dm_run *run, const dm_ceiling *ranges, int count, int threads,
                         const dm_write_way *writes, double *seconds) {
  int64_t largest = 1;
  for (int i = 0; i < count; i++)
    largest = dm_max(largest, dm_ceil_div(ranges[i].bytes, run->ranks));
  transfer t = {.writes = writes != NULL,
                .way = writes ? *writes : DM_WRITE_PWRITE,
                .size = dm_round_up(dm_min(largest, MEMORY), PIECE)};
  dm_status status = dm_buffer_alloc(t.size, (void **)&t.memory);
  /* Touches all pages, so that none is allocated during the timing. */
  if (!status) memset(t.memory, 0x5a, (size_t)t.size);
  status = dm_comm_agree(run->world, status);
  if (!status) status = dm_comm_barrier(run->world);
  const double start = dm_now();
  dm_status mine = DM_OK;
  for (int i = 0; i < count && !status && !mine; i++)
    mine = transfer_range(run, &ranges[i], &t, threads);
  const double end = dm_now();
  free(t.memory);
  DM_TRY(status);
  DM_TRY(dm_comm_agree(run->world, mine));
  return dm_run_span(run, start, end, seconds);
}

dm_status dm_ceiling_read(dm_run *run, const dm_ceiling *ranges, int count, int threads,
                          double *seconds) {
  return measure(run, ranges, count, threads, NULL, seconds);
}

dm_status dm_ceiling_write(dm_run *run, const dm_ceiling *range, dm_write_way way, int threads,
                           double *seconds) {
  return measure(run, range, 1, threads, &way, seconds);
}

dm_status dm_ceiling_make(const dm_ceiling *range) {
  if (unlink(range->file) && errno != ENOENT) return failure(range, "unlink", errno);
  const int fd = open(range->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failure(range, "open", errno);
  int number = posix_fallocate(fd, 0, (off_t)(range->offset + range->bytes));
  if (!number && fsync(fd)) number = errno;
  if (close(fd) && !number) number = errno;
  return number ? failure(range, "reserving space", number) : DM_OK;
}

dm_status dm_ceiling_forget(const char *file) {
  struct statfs info;
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return dm_fail(DM_E_IO, "%s: %s", file, strerror(errno));
  int number = fstatfs(fd, &info) ? errno : 0;
  const bool memory = !number && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
  if (!number && !memory) number = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  if (memory) return dm_fail(DM_E_USAGE, "%s is in memory and cannot be dropped from it", file);
  return number ? dm_fail(DM_E_IO, "%s: %s", file, strerror(number)) : DM_OK;
}
