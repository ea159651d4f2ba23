#include "product/state_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "core/clock.h"
#include "dataset/naming.h"
#include "io/batch.h"
#include "product/run_fields.h"

static const char state_file_ending[] = ".damier-kept", state_file_unfinished[] = ".damier-kept-n";
static const char magic[8] = "DMKEPT3";

/* What the file begins with; its last 8 bytes are a checksum of all before. */
typedef struct state_header {
  char magic[8];
  uint64_t command;
} state_header;

/* The file as it is written or read. */
struct dm_state_file {
  int fd;
  bool writing;
  char path[DM_SIBLING_PATH];
  int64_t at, bytes; /* BYTES of a file that is read */
  XXH3_state_t *sum; /* of what was written */
};

dm_status dm_state_move(void *file, void *data, int64_t bytes) {
  dm_state_file *f = file;
  if (!f->writing && bytes > f->bytes - f->at) return dm_fail(DM_E_INPUT, "%s is cut off", f->path);
  if (bytes == 0) return DM_OK;
  DM_TRY(dm_batch_move(f->fd, f->writing, f->path, data, bytes, f->at));
  f->at += bytes;
  if (f->sum && XXH3_64bits_update(f->sum, data, (size_t)bytes) != XXH_OK)
    return dm_fail(DM_E_BUG, "no checksum of %s", f->path);
  return DM_OK;
}

/* ---- what must be equal ---- */

static dm_status state_command(const dm_multiply *m, const dm_problem *problem, const char *more,
                               uint64_t *sum) {
  DM_FREED dm_attributes *fields = NULL;
  char text[DM_REDUCTION_TEXT];
  DM_TRY(dm_buffer_table(1, &fields));
  DM_TRY(dm_fields_of_problem(m, problem, fields));
  *sum = (uint64_t)m->verify;
  for (int i = 0; i < fields->count; i++) {
    const dm_attribute *one = &fields->list[i];
    *sum = dm_checksum_bytes(one->name, (int64_t)strlen(one->name), *sum);
    *sum = dm_checksum_bytes(one->text, (int64_t)strlen(one->text), *sum);
  }
  *sum = dm_checksum_bytes(more, (int64_t)strlen(more), *sum);
  for (int i = 0; i < m->kept.count; i++) {
    const char *what = dm_reduction_text(&m->kept.list[i], text);
    *sum = dm_checksum_bytes(what, (int64_t)strlen(what), *sum);
  }
  return DM_OK;
}

dm_status dm_state_open(dm_run *run, const dm_multiply *m, const dm_problem *problem,
                        const char *more, dm_state *state) {
  *state = (dm_state){.on = m->checkpoint && m->out.file[0] && !m->in_memory[DM_A] &&
                            !m->in_memory[DM_B],
                      .interval = m->checkpoint_interval,
                      .last = dm_now()};
  if (!state->on) return DM_OK;
  return dm_comm_agree(run->world,
                       run->rank == 0 ? state_command(m, problem, more, &state->command) : DM_OK);
}

/* ---- reading ---- */

/* Whether the checksum is that of the file. */
static dm_status state_is_intact(dm_state_file *f, bool *whole) {
  enum { STATE_FILE_PIECE = 1 << 20 };
  DM_FREED char *piece = NULL;
  XXH3_state_t *all = XXH3_createState();
  uint64_t stored = 0;
  dm_status status = all && XXH3_64bits_reset(all) == XXH_OK
                         ? DM_OK
                         : dm_fail(DM_E_FIT, "no memory for a checksum");
  if (!status) status = dm_buffer_alloc(STATE_FILE_PIECE, (void **)&piece);
  const int64_t end = f->bytes - (int64_t)sizeof stored;
  for (int64_t at = 0; at < end && !status; at += STATE_FILE_PIECE) {
    const int64_t some = dm_min(STATE_FILE_PIECE, end - at);
    status = dm_batch_move(f->fd, false, f->path, piece, some, at);
    if (!status) (void)XXH3_64bits_update(all, piece, (size_t)some);
  }
  if (!status) status = dm_batch_move(f->fd, false, f->path, &stored, sizeof stored, end);
  *whole = !status && XXH3_64bits_digest(all) == stored;
  (void)XXH3_freeState(all);
  return status;
}

void dm_state_refuse(dm_run *run, const dm_location *out) {
  dm_log_line(&run->log, DM_LOG_WARNING,
              "%s%s is not of this command and these inputs: all begins again", out->file,
              state_file_ending);
}

static dm_status state_load(dm_run *run, const dm_location *out, const dm_state *state,
                            dm_state_file *f, dm_state_work *work, void *context) {
  state_header header = {.command = 0};
  bool whole = false;
  if (f->bytes > (int64_t)sizeof header) DM_TRY(state_is_intact(f, &whole));
  if (whole) DM_TRY(dm_state_move(f, &header, sizeof header));
  if (whole && memcmp(header.magic, magic, sizeof magic) == 0 && header.command == state->command)
    return work(context, f);
  dm_state_refuse(run, out);
  return DM_OK;
}

dm_status dm_state_read(dm_run *run, const dm_location *out, const dm_state *state,
                        dm_state_work *work, void *context) {
  struct stat info;
  dm_state_file f = {.fd = -1};
  if (!state->on) return DM_OK;
  DM_TRY(dm_file_sibling(out, state_file_ending, f.path));
  f.fd = open(f.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (f.fd < 0) return DM_OK;
  if (fstat(f.fd, &info) == 0 && S_ISREG(info.st_mode)) f.bytes = info.st_size;
  dm_status status = state_load(run, out, state, &f, work, context);
  close(f.fd);
  return status;
}

/* ---- writing ---- */

typedef struct state_writing {
  const dm_location *out;
  uint64_t command;
  dm_state_work *work;
  void *context;
} state_writing;

static dm_status state_write_all(state_writing *w, dm_state_file *f) {
  state_header header = {.command = w->command};
  memcpy(header.magic, magic, sizeof magic);
  if (!f->sum || XXH3_64bits_reset(f->sum) != XXH_OK)
    return dm_fail(DM_E_FIT, "no memory for a checksum");
  DM_TRY(dm_state_move(f, &header, sizeof header));
  DM_TRY(w->work(w->context, f));
  uint64_t sum = XXH3_64bits_digest(f->sum);
  DM_TRY(dm_state_move(f, &sum, sizeof sum));
  if (fsync(f->fd) != 0) return dm_file_failed(w->out, f->path, "synced");
  return DM_OK;
}

/* Rank 0: the file is on the disk, under its name. */
static dm_status state_write_file(void *context, const dm_keepalive *keepalive) {
  state_writing *w = context;
  char path[DM_SIBLING_PATH], directory[DM_PATH];
  dm_state_file f = {.writing = true};
  (void)keepalive;
  DM_TRY(dm_file_sibling(w->out, state_file_unfinished, f.path));
  DM_TRY(dm_file_sibling(w->out, state_file_ending, path));
  f.fd = open(f.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (f.fd < 0) return dm_file_failed(w->out, f.path, "created");
  f.sum = XXH3_createState();
  dm_status status = state_write_all(w, &f);
  (void)XXH3_freeState(f.sum);
  if (close(f.fd) != 0 && !status) status = dm_file_failed(w->out, f.path, "closed");
  if (!status && rename(f.path, path) != 0) status = dm_file_failed(w->out, path, "renamed");
  if (status) {
    (void)unlink(f.path);
    return status;
  }
  dm_path_directory(w->out->file, directory);
  const int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)fsync(folder); /* else the older one may come back, which is as good */
    close(folder);
  }
  return DM_OK;
}

dm_status dm_state_is_due(dm_run *run, const dm_state *state, bool now, bool *due) {
  *due = state->on && (now || dm_now() - state->last >= state->interval);
  return state->on ? dm_comm_broadcast(run->world, due, sizeof *due, 0) : DM_OK;
}

dm_status dm_state_write(dm_run *run, const dm_location *out, dm_state *state, dm_state_work *work,
                         void *context) {
  state_writing w = {out, state->command, work, context};
  dm_status failed = run->rank == 0 ? dm_watch_work(run->watch, state_write_file, &w) : DM_OK;
  if (failed)
    dm_log_line(&run->log, DM_LOG_WARNING, "%s: what is kept is not recorded any more",
                failed->message);
  state->on = !failed;
  dm_status_free(failed);
  DM_TRY(dm_comm_broadcast(run->world, &state->on, sizeof state->on, 0));
  state->last = dm_now();
  return DM_OK;
}

static void state_unlink(const dm_location *out, const char *which) {
  char path[DM_SIBLING_PATH];
  dm_status status = dm_file_sibling(out, which, path);
  if (!status) (void)unlink(path);
  dm_status_free(status);
}

void dm_state_remove(const dm_location *out) {
  state_unlink(out, state_file_ending);
  state_unlink(out, state_file_unfinished);
}
