#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/copy.h"
#include "dataset/file_system.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "io/batch.h"
#include "io/file_note.h"
#include "io/output_impl.h"
#include "io/output_tiles.h"

struct dm_output {
  dm_output_file file;
  dm_view memory; /* base NULL: in the file */
  int fd;         /* -1: in memory */
  dm_file_writer writer;
  pthread_t syncer;
  const dm_keepalive *keepalive; /* of the syncing thread */
  dm_output_then *then;          /* what it does afterwards, or NULL */
  void *context;
  bool threaded, syncing;
  atomic_bool ended; /* the sync under way, with this */
  dm_status outcome;
};

static dm_status output_open_part(const dm_output_file *file, int *fd) {
  *fd = open(file->part, dm_file_writer_flags(file->way) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (*fd < 0) return dm_file_failed(&file->at, file->part, "opened");
  /* Held while the file is being written; --force of another run checks it. */
  DM_TRY(dm_output_lock(&file->at, file->part, *fd, LOCK_SH));
  return dm_output_check_open(file, *fd);
}

dm_status dm_output_open(const dm_output_file *file, dm_output **output) {
  dm_output *new;
  DM_TRY(dm_buffer_table(1, &new));
  new->file = *file;
  dm_status status = output_open_part(file, &new->fd);
  if (!status) status = dm_file_writer_open(new->fd, new->file.part, file->way, &new->writer);
  if (status) {
    if (new->fd >= 0) close(new->fd);
    free(new);
    return status;
  }
  *output = new;
  return DM_OK;
}

dm_status dm_output_open_memory(dm_view view, dm_output **output) {
  DM_TRY(dm_buffer_table(1, output));
  dm_output *new = *output;
  strcpy(new->file.at.file, "memory");
  new->file.rows = view.rows;
  new->file.cols = view.cols;
  new->file.dtype = view.dtype;
  new->memory = view;
  new->fd = -1;
  return DM_OK;
}

dm_status dm_output_choose_way(dm_output_file *file, dm_write_way wish, int writers) {
  return dm_write_way_choose(file->part, wish, writers, &file->way);
}

static dm_status output_check(const dm_output_file *file, int64_t row, int64_t col, dm_view view) {
  if (view.space == DM_HOST && view.dtype == file->dtype &&
      (view.col_stride == 1 || view.cols == 1) && row >= 0 && col >= 0 &&
      view.rows <= file->rows - row && view.cols <= file->cols - col)
    return DM_OK;
  return dm_fail_at(DM_E_BUG, &file->at, "%lld x %lld elements at (%lld, %lld) do not fit",
                    (long long)view.rows, (long long)view.cols, (long long)row, (long long)col);
}

/* Starts writing VIEW's pages to the disk, so that a sync has little to do. The sync reports
 * errors. */
static void hasten(const dm_output *output, int64_t row, int64_t col, dm_view view) {
  const int64_t size = dm_dtype_size(output->file.dtype), width = output->file.cols;
  const int64_t begin = row * width + col, end = (row + view.rows - 1) * width + col + view.cols;
  (void)!sync_file_range(output->fd, output->file.offset + begin * size, (end - begin) * size,
                         SYNC_FILE_RANGE_WRITE);
}

static int64_t output_place_of(const dm_output_file *file, int64_t row, int64_t col) {
  return file->offset + (row * file->cols + col) * dm_dtype_size(file->dtype);
}

/* Whole rows that follow each other are one run of the file and of memory. */
static bool writes_one_run(const dm_output_file *file, dm_view view) {
  return view.cols == file->cols && view.row_stride == view.cols;
}

static dm_status write_plain(dm_output *output, int64_t row, int64_t col, dm_view view) {
  const dm_output_file *file = &output->file;
  const int64_t height = writes_one_run(file, view) ? view.rows : 1;
  const int64_t bytes = height * view.cols * dm_dtype_size(file->dtype);
  dm_batch batch;
  dm_batch_start(&batch, output->fd, true, file->part, NULL);
  for (int64_t i = 0; i < view.rows; i += height)
    DM_TRY(
        dm_batch_add(&batch, dm_view_at(view, i, 0), bytes, output_place_of(file, row + i, col)));
  DM_TRY(dm_batch_flush(&batch));
  hasten(output, row, col, view);
  return DM_OK;
}

/* All rows of VIEW at once, or one by one; 0 if pwritev, which writes many rows, is faster. */
static int64_t rows_at_a_time(const dm_output *output, dm_view view) {
  const dm_output_file *file = &output->file;
  const int64_t height = writes_one_run(file, view) ? view.rows : 1;
  const int64_t bytes = height * view.cols * dm_dtype_size(file->dtype);
  return dm_file_writer_maps(&output->writer, bytes) ? height : 0;
}

dm_status dm_output_write(dm_output *output, int64_t row, int64_t col, dm_view view) {
  const dm_output_file *file = &output->file;
  DM_TRY(output_check(file, row, col, view));
  if (dm_view_is_empty(view)) return DM_OK;
  if (output->memory.base) {
    dm_copy(dm_view_sub(output->memory, row, col, view.rows, view.cols), view, false);
    return DM_OK;
  }
  const int64_t height = rows_at_a_time(output, view);
  const int64_t bytes = height * view.cols * dm_dtype_size(file->dtype);
  if (height == 0) return write_plain(output, row, col, view);
  for (int64_t i = 0; i < view.rows; i += height)
    DM_TRY(dm_file_writer_bytes(&output->writer, dm_view_at(view, i, 0), bytes,
                                output_place_of(file, row + i, col)));
  return DM_OK;
}

dm_status dm_output_sync(dm_output *output, const dm_keepalive *keepalive) {
  const int number = dm_file_sync(output->fd, false, keepalive);
  if (!number) return DM_OK;
  return dm_fail_at(DM_E_IO, &output->file.at, "'%s' could not be synced to the disk: %s",
                    output->file.part, strerror(number));
}

static void *sync_behind(void *argument) {
  dm_output *output = argument;
  output->outcome = dm_output_sync(output, output->keepalive);
  if (!output->outcome && output->then) output->outcome = output->then(output->context);
  atomic_store(&output->ended, true);
  return NULL;
}

dm_status dm_output_sync_start(dm_output *output, const dm_keepalive *keepalive,
                               dm_output_then *then, void *context) {
  if (output->syncing) return dm_fail_at(DM_E_BUG, &output->file.at, "is being synced already");
  output->keepalive = keepalive;
  output->then = then;
  output->context = context;
  output->syncing = true;
  atomic_store(&output->ended, false);
  output->threaded = pthread_create(&output->syncer, NULL, sync_behind, output) == 0;
  return DM_OK;
}

dm_status dm_output_syncing(dm_output *output, bool wait, bool *done) {
  *done = !output->syncing;
  if (*done) return DM_OK;
  if (output->threaded && !wait && !atomic_load(&output->ended)) return DM_OK;
  if (output->threaded)
    pthread_join(output->syncer, NULL);
  else
    sync_behind(output);
  output->syncing = false;
  *done = true;
  return output->outcome;
}

dm_status dm_output_close(dm_output *output) {
  if (!output) return DM_OK;
  if (output->memory.base) {
    free(output);
    return DM_OK;
  }
  bool done;
  dm_status status = dm_output_syncing(output, true, &done);
  dm_file_writer_close(&output->writer);
  if (close(output->fd) < 0 && errno != EINTR && !status)
    status = dm_fail_at(DM_E_IO, &output->file.at, "'%s': close: %s", output->file.part,
                        strerror(errno));
  free(output);
  return status;
}

/* ---- the commit of an output: attributes, sync, and the rename to its final name ---- */

/* A commit of FILE, which gets its last temporary name first. */
typedef struct output_commitment {
  dm_output_file file;
  const dm_output_completion *c;
} output_commitment;

static dm_status output_complete(void *context, hid_t file, hid_t set) {
  const output_commitment *one = context;
  const dm_output_completion *c = one->c;
  const dm_location *at = &one->file.at;
  for (int i = 0; i < c->provenance->count; i++)
    DM_TRY(dm_h5_write_text(at, set, c->provenance->list[i].name, c->provenance->list[i].text));
  DM_TRY(dm_h5_write_text(at, set, DM_STATE, "complete"));
  if (c->count > 0) DM_TRY(dm_output_write_tiles(at, set, c->tiles, c->count));
  return dm_output_mark_finished(file, &one->file);
}

/* Opens FILE->made with HDF5: by its present name, since the descriptor may be of an earlier one,
 * but never another file. */
static dm_status open_made(const dm_output_file *file, unsigned flags, hid_t *h5, hid_t *set) {
  char path[DM_DESCRIPTOR];
  *h5 = *set = -1;
  const int fd = open(file->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return dm_file_failed(&file->at, file->part, "reopened");
  dm_status status = dm_output_check_open(file, fd);
  DM_H5_HELD hid_t access = status ? -1 : dm_h5_unlocked();
  if (access >= 0) *h5 = H5Fopen(dm_output_by_descriptor(fd, path), flags, access);
  if (*h5 >= 0) *set = H5Dopen2(*h5, file->at.dataset, H5P_DEFAULT);
  if (!status && *set < 0)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be reopened", file->part);
  close(fd);
  return status;
}

dm_status dm_output_edit(const dm_output_file *file, dm_output_work *work, void *context) {
  DM_H5_ALONE;
  DM_TRY(dm_output_check_name(file, file->part));
  DM_TRY(dm_h5_start(false));
  hid_t h5, set;
  dm_status status = open_made(file, H5F_ACC_RDWR, &h5, &set);
  if (!status) status = work(context, h5, set);
  if (!status && H5Fflush(h5, H5F_SCOPE_LOCAL) < 0)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be flushed", file->part);
  if (set >= 0 && H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be closed", file->part);
  if (h5 >= 0 && H5Fclose(h5) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be closed", file->part);
  return status;
}

dm_status dm_output_sync_made(const dm_output_file *file, const dm_keepalive *keepalive) {
  if (file->store && syncfs(file->made) < 0) /* all of its files at once */
    return dm_file_failed(&file->at, file->part, "synced");
  errno = dm_file_sync(file->made, true, keepalive);
  return errno ? dm_file_failed(&file->at, file->part, "synced") : DM_OK;
}

/* Compares SET, as a program would read it, with what was written. */
static dm_status output_compare(const dm_location *at, const dm_output_completion *c, hid_t set) {
  DM_FREED dm_attributes *found = NULL;
  DM_TRY(dm_buffer_table(1, &found));
  DM_TRY(dm_h5_read_attributes(at, set, found));
  bool same;
  DM_TRY(dm_h5_is_complete(at, set, &same));
  for (int i = 0; i < c->provenance->count && same; i++) {
    dm_attribute wanted = c->provenance->list[i];
    dm_text_clean(wanted.text);
    const char *text = dm_attributes_find(found, wanted.name);
    same = strcmp(text ? text : "", wanted.text) == 0;
  }
  return same ? DM_OK : dm_fail_at(DM_E_IO, at, "its provenance differs from what was written");
}

/* HDF5's metadata has no checksum, so it is read back before the file gets its name. */
static dm_status read_again(const dm_output_file *file, const dm_output_completion *c) {
  DM_H5_ALONE;
  DM_H5_HELD hid_t h5 = -1, set = -1;
  DM_TRY(open_made(file, H5F_ACC_RDONLY, &h5, &set));
  return output_compare(&file->at, c, set);
}

static dm_status appeared(const dm_output_file *file) {
  return dm_fail_at(DM_E_IO, &file->at, "the file appeared during the run");
}

static dm_status give_name(const dm_output_file *file, bool force) {
  const char *to = file->at.file;
  const bool replaces = file->store && force && access(to, F_OK) == 0;
  if (replaces) { /* no rename replaces a folder that is not empty */
    if (renameat2(AT_FDCWD, file->part, AT_FDCWD, to, RENAME_EXCHANGE) < 0)
      return dm_file_failed(&file->at, file->part, "exchanged with the old one");
    dm_status_free(dm_store_remove(&file->at, file->part));
    return DM_OK;
  }
  const int failed = force ? rename(file->part, to) : dm_output_rename_new(file->part, to);
  if (!failed) return DM_OK;
  if (errno != EEXIST) return dm_file_failed(&file->at, file->part, "renamed");
  return appeared(file);
}

static dm_status output_finish(output_commitment *one, const dm_keepalive *keepalive) {
  dm_output_file *file = &one->file;
  if (file->store)
    DM_TRY(dm_store_complete(file, one->c));
  else if (one->c->provenance)
    DM_TRY(dm_output_edit(file, output_complete, one));
  DM_TRY(dm_output_sync_made(file, keepalive));
  if (one->c->provenance && !file->store) DM_TRY(read_again(file, one->c));
  DM_TRY(dm_output_take_rights(file));
  if (one->c->noted) dm_file_note(file->made, one->c->noted);
  return dm_output_check_name(file, file->part);
}

/* Products of pairs that a killed run with other options left: nothing resumes from them beside a
 * complete C. */
static void remove_pairs(const dm_location *at) {
  static const char *const with[] = {"", ".part", ".journal", ".damier-new"};
  for (int i = 0; dm_output_endings[i]; i++) {
    char ending[64], path[DM_SIBLING_PATH];
    if (strncmp(dm_output_endings[i], ".damier-pair-", 13) != 0) continue;
    for (size_t j = 0; j < sizeof with / sizeof *with; j++) {
      snprintf(ending, sizeof ending, "%s%s", dm_output_endings[i], with[j]);
      dm_status status = dm_file_sibling(at, ending, path);
      if (!status && access(path, F_OK) == 0) (void)unlink(path);
      dm_status_free(status);
    }
  }
}

static dm_status output_publish(const dm_output_file *file, const dm_output_completion *c,
                                bool *named) {
  struct stat info;
  if (!c->force && lstat(file->at.file, &info) == 0) return appeared(file);
  if (c->unrecorded && c->journal) DM_TRY(dm_journal_remove(c->journal));
  if (c->unrecorded && c->source) dm_output_discard(c->source);
  if (c->clear) c->clear(c->context);
  remove_pairs(&file->at);
  DM_TRY(give_name(file, c->force));
  DM_TRY(dm_output_check_name(file, file->at.file)); /* another run may have taken the name */
  *named = true;
  return DM_OK;
}

dm_status dm_output_commit(const dm_output_file *file, const dm_output_completion *completion,
                           const dm_keepalive *keepalive, bool *named) {
  output_commitment one = {*file, completion};
  int folder;
  *named = false;
  /* Opened now: once C has its name, only the sync can still fail. */
  DM_TRY(dm_folder_open(&file->at, &folder));
  dm_status status = dm_output_take_new_name(&one.file, folder);
  if (!status) status = output_finish(&one, keepalive);
  if (!status) status = output_publish(&one.file, completion, named);
  if (!*named && strcmp(file->part, one.file.part) != 0)
    dm_status_free(dm_output_name_again(&one.file));
  if (*named)
    status = dm_hint(dm_folder_sync(&file->at, folder),
                     "%.200s is complete; a crash of the computer could still lose its name",
                     file->at.file);
  close(folder);
  return status;
}
