#include "product/reduced_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "file/batch.h"
#include "file/journal.h"
#include "file/naming.h"
#include "product/checkpoint_impl.h"

static const char ending[] = ".damier-kept", unfinished[] = ".damier-kept-n";
static const char magic[8] = "DMKEPT2";

/* What the file begins with; its last 8 bytes are a checksum of all before. */
typedef struct state_header {
  char magic[8];
  uint64_t command;
  int64_t tiles, step, reducers, unchecked;
} state_header;

/* The file as it is written or read. */
typedef struct state_file {
  int fd;
  bool writing;
  char path[DM_SIBLING_PATH];
  int64_t at, bytes; /* BYTES of a file that is read */
  XXH3_state_t *sum; /* of what was written */
} state_file;

static dm_status state_move(void *context, void *data, int64_t bytes) {
  state_file *f = context;
  if (!f->writing && bytes > f->bytes - f->at) return dm_fail(DM_E_INPUT, "%s is cut off", f->path);
  DM_TRY(dm_batch_move(f->fd, f->writing, f->path, data, bytes, f->at));
  f->at += bytes;
  if (f->sum && XXH3_64bits_update(f->sum, data, (size_t)bytes) != XXH_OK)
    return dm_fail(DM_E_BUG, "no checksum of %s", f->path);
  return DM_OK;
}

/* ---- what must be equal ---- */

static dm_status state_command(const dm_multiply *m, const dm_problem *problem, const char *metric,
                               uint64_t *sum) {
  DM_FREED dm_attributes *fields = NULL;
  char text[DM_REDUCTION_TEXT];
  DM_TRY(dm_buffer_table(1, &fields));
  DM_TRY(dm_fields_of_problem(m, problem, fields));
  DM_TRY(dm_attributes_add(fields, "metric", "%s", metric));
  *sum = (uint64_t)m->verify;
  for (int i = 0; i < fields->count; i++) {
    const dm_attribute *one = &fields->list[i];
    *sum = dm_checksum_bytes(one->name, (int64_t)strlen(one->name), *sum);
    *sum = dm_checksum_bytes(one->text, (int64_t)strlen(one->text), *sum);
  }
  for (int i = 0; i < m->kept.count; i++) {
    const char *what = dm_reduction_text(&m->kept.list[i], text);
    *sum = dm_checksum_bytes(what, (int64_t)strlen(what), *sum);
  }
  return DM_OK;
}

/* ---- reading ---- */

/* Whether the checksum is that of the file. */
static dm_status state_is_whole(state_file *f, bool *whole) {
  enum { PIECE = 1 << 20 };
  DM_FREED char *piece = NULL;
  XXH3_state_t *all = XXH3_createState();
  uint64_t stored = 0;
  dm_status status = all && XXH3_64bits_reset(all) == XXH_OK
                         ? DM_OK
                         : dm_fail(DM_E_FIT, "no memory for a checksum");
  if (!status) status = dm_buffer_alloc(PIECE, (void **)&piece);
  const int64_t end = f->bytes - (int64_t)sizeof stored;
  for (int64_t at = 0; at < end && !status; at += PIECE) {
    const int64_t some = dm_min(PIECE, end - at);
    status = dm_batch_move(f->fd, false, f->path, piece, some, at);
    if (!status) (void)XXH3_64bits_update(all, piece, (size_t)some);
  }
  if (!status) status = dm_batch_move(f->fd, false, f->path, &stored, sizeof stored, end);
  *whole = !status && XXH3_64bits_digest(all) == stored;
  (void)XXH3_freeState(all);
  return status;
}

/* What the reducers get. *HEADER has no tiles if the file is not this command's. */
static dm_status state_load(state_file *f, const dm_reduced_state *state, int64_t most,
                            dm_reducer *const *reducers, int count, state_header *header) {
  bool whole = false;
  DM_TRY(state_is_whole(f, &whole));
  if (whole) DM_TRY(state_move(f, header, sizeof *header));
  const bool ours = whole && memcmp(header->magic, magic, sizeof magic) == 0 &&
                    header->command == state->command && header->reducers == count &&
                    header->step > 0 && header->step <= most;
  if (!ours) header->tiles = 0;
  for (int i = 0; i < count && ours; i++) DM_TRY(dm_reducer_load(reducers[i], state_move, f));
  return DM_OK;
}

/* Rank 0. */
static dm_status state_find(dm_run *run, const dm_multiply *m, int64_t most,
                            dm_reducer *const *reducers, int count, dm_reduced_state *state) {
  struct stat info;
  state_file f = {.fd = -1};
  state_header header = {.tiles = 0};
  DM_TRY(dm_file_sibling(&m->out, ending, f.path));
  f.fd = open(f.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (f.fd < 0) return DM_OK;
  dm_status status = DM_OK;
  if (fstat(f.fd, &info) == 0 && S_ISREG(info.st_mode)) f.bytes = info.st_size;
  if (f.bytes > (int64_t)sizeof header)
    status = state_load(&f, state, most, reducers, count, &header);
  close(f.fd);
  DM_TRY(status);
  state->tiles = header.tiles;
  state->step = header.tiles > 0 ? header.step : 0;
  state->unchecked = header.tiles > 0 && header.unchecked != 0;
  if (state->tiles == 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s is not of this command and these inputs: all tiles are computed", f.path);
  return DM_OK;
}

dm_status dm_reduced_state_open(dm_run *run, const dm_multiply *m, const dm_problem *problem,
                                const char *metric, int64_t most, dm_reducer *const *reducers,
                                int count, dm_reduced_state *state) {
  *state = (dm_reduced_state){.on = m->checkpoint && count > 0 && m->out.file[0] &&
                                    !m->in_memory[DM_A] && !m->in_memory[DM_B],
                              .interval = m->checkpoint_interval,
                              .last = dm_now()};
  if (!state->on) return DM_OK;
  dm_status status = DM_OK;
  if (run->rank == 0) status = state_command(m, problem, metric, &state->command);
  if (run->rank == 0 && !status) status = state_find(run, m, most, reducers, count, state);
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_comm_broadcast(run->world, state, sizeof *state, 0);
}

/* ---- writing ---- */

typedef struct state_writing {
  const dm_multiply *m;
  const dm_reduced_state *state;
  state_header header;
  dm_reducer *const *reducers;
} state_writing;

static dm_status state_write_all(state_writing *w, state_file *f) {
  if (!f->sum || XXH3_64bits_reset(f->sum) != XXH_OK)
    return dm_fail(DM_E_FIT, "no memory for a checksum");
  DM_TRY(state_move(f, &w->header, sizeof w->header));
  for (int64_t i = 0; i < w->header.reducers; i++)
    DM_TRY(dm_reducer_save(w->reducers[i], state_move, f));
  uint64_t sum = XXH3_64bits_digest(f->sum);
  DM_TRY(state_move(f, &sum, sizeof sum));
  if (fsync(f->fd) != 0) return dm_file_failed(&w->m->out, f->path, "synced");
  return DM_OK;
}

/* Rank 0: the file is on the disk, under its name. */
static dm_status state_write(void *context, const dm_keepalive *keepalive) {
  state_writing *w = context;
  char path[DM_SIBLING_PATH], directory[DM_PATH];
  state_file f = {.writing = true};
  (void)keepalive;
  DM_TRY(dm_file_sibling(&w->m->out, unfinished, f.path));
  DM_TRY(dm_file_sibling(&w->m->out, ending, path));
  f.fd = open(f.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (f.fd < 0) return dm_file_failed(&w->m->out, f.path, "created");
  f.sum = XXH3_createState();
  dm_status status = state_write_all(w, &f);
  (void)XXH3_freeState(f.sum);
  if (close(f.fd) != 0 && !status) status = dm_file_failed(&w->m->out, f.path, "closed");
  if (!status && rename(f.path, path) != 0) status = dm_file_failed(&w->m->out, path, "renamed");
  if (status) {
    (void)unlink(f.path);
    return status;
  }
  dm_path_directory(w->m->out.file, directory);
  const int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)fsync(folder); /* else the older one may come back, which is as good */
    close(folder);
  }
  return DM_OK;
}

/* Whether rank 0 says so. */
static dm_status state_is_due(dm_run *run, const dm_reduced_state *state, bool now, int *due) {
  *due = now || dm_now() - state->last >= state->interval;
  return dm_comm_broadcast(run->world, due, sizeof *due, 0);
}

dm_status dm_reduced_state_keep(dm_run *run, const dm_multiply *m, int64_t tiles, int64_t step,
                                bool unchecked, bool now, dm_reducer *const *reducers, int count,
                                dm_reduced_state *state) {
  int due = 0;
  if (!state->on) return DM_OK;
  DM_TRY(state_is_due(run, state, now, &due));
  if (!due || tiles == state->tiles) return DM_OK;
  dm_run_phase(run, "recording", DM_SYNC_PATIENCE);
  for (int i = 0; i < count; i++) DM_TRY(dm_reducer_gather(reducers[i], run->world));
  state_writing w = {m, state, {.command = state->command, .tiles = tiles, .step = step}, reducers};
  memcpy(w.header.magic, magic, sizeof magic);
  w.header.reducers = count;
  w.header.unchecked = unchecked;
  dm_status failed = run->rank == 0 ? dm_watch_work(run->watch, state_write, &w) : DM_OK;
  if (failed)
    dm_log_line(&run->log, DM_LOG_WARNING, "%s: what is kept is not recorded any more",
                failed->message);
  state->on = !failed;
  dm_status_free(failed);
  DM_TRY(dm_comm_broadcast(run->world, &state->on, sizeof state->on, 0));
  if (state->on) state->tiles = tiles;
  state->last = dm_now();
  return DM_OK;
}

static void state_unlink(const dm_multiply *m, const char *which) {
  char path[DM_SIBLING_PATH];
  dm_status status = dm_file_sibling(&m->out, which, path);
  if (!status) (void)unlink(path);
  dm_status_free(status);
}

void dm_reduced_state_remove(const dm_multiply *m, const dm_reduced_state *state) {
  if (!state->on && state->tiles == 0) return;
  state_unlink(m, ending);
  state_unlink(m, unfinished);
}
