#include "io/cache_ahead.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/file_system.h"
#include "io/pool.h"

/* Linux cuts a request to what the device takes at once, at least 128 KiB. */
enum { REQUEST = 128 << 10, CACHE_AHEAD_TURN = 4 << 20 };

static const double cache_ahead_nearly_all = 0.95; /* what is missing is read as fast later */

typedef struct ahead_file {
  int fd;
  int64_t at, bytes;
} ahead_file;

struct dm_cache_ahead {
  dm_pool_task task; /* first */
  dm_pool *pool;
  atomic_bool stops;
  int count;
  ahead_file file[DM_CACHE_AHEAD_FILES];
};

/* Requests the next CACHE_AHEAD_TURN bytes; false: nothing is left, or the file system refuses. */
static bool take_turn(const dm_cache_ahead *ahead, ahead_file *file) {
  for (const int64_t end = file->at + CACHE_AHEAD_TURN; file->at < end; file->at += REQUEST)
    if (file->at >= file->bytes || ahead->stops || readahead(file->fd, file->at, REQUEST) != 0)
      return false;
  return true;
}

static dm_status take_turns(dm_pool_task *task, dm_scratch *scratch) {
  dm_cache_ahead *ahead = (dm_cache_ahead *)task;
  (void)scratch;
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < ahead->count; i++) any |= take_turn(ahead, &ahead->file[i]);
  }
  return DM_OK;
}

static void cache_ahead_add(dm_cache_ahead *ahead, const char *name) {
  struct stat info;
  if (!name || dm_file_cached(name) >= cache_ahead_nearly_all) return;
  const int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    ahead->file[ahead->count++] = (ahead_file){.fd = fd, .bytes = (int64_t)info.st_size};
  else
    close(fd);
}

dm_cache_ahead *dm_cache_ahead_start(const char *const *names, int count) {
  dm_cache_ahead *ahead = calloc(1, sizeof *ahead);
  if (!ahead) return NULL;
  ahead->task.run = take_turns;
  for (int i = 0; i < count && i < DM_CACHE_AHEAD_FILES; i++) cache_ahead_add(ahead, names[i]);
  if (ahead->count > 0) dm_status_free(dm_pool_open(1, 0, &ahead->pool));
  if (ahead->pool) {
    dm_pool_post(ahead->pool, &ahead->task);
    return ahead;
  }
  dm_cache_ahead_stop(ahead);
  return NULL;
}

void dm_cache_ahead_stop(dm_cache_ahead *ahead) {
  if (!ahead) return;
  ahead->stops = true;
  dm_pool_close(ahead->pool);
  for (int i = 0; i < ahead->count; i++) close(ahead->file[i].fd);
  free(ahead);
}
