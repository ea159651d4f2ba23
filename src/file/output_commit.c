/* The commit of an output: attributes, sync, and the rename to its final name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "file/file_sync.h"
#include "file/hdf5_attribute.h"
#include "file/hdf5_use.h"
#include "file/output_impl.h"
#include "file/output_tiles.h"

/* A commit of FILE, which gets its last temporary name first. */
typedef struct commitment {
  dm_output_file file;
  const dm_completion *c;
} commitment;

static dm_status complete(void *context, hid_t file, hid_t set) {
  const commitment *one = context;
  const dm_completion *c = one->c;
  const dm_location *at = &one->file.at;
  for (int i = 0; i < c->provenance->count; i++)
    DM_TRY(dm_h5_write_text(at, set, c->provenance->list[i].name, c->provenance->list[i].text));
  DM_TRY(dm_h5_write_text(at, set, DM_STATE, "complete"));
  if (c->count > 0) DM_TRY(dm_output_write_tiles(at, file, c->tiles, c->count));
  return dm_output_mark_finished(file, &one->file);
}

/* Opens FILE->made with HDF5: by its present name, since the descriptor may be of an earlier one,
 * but never another file. */
static dm_status open_made(const dm_output_file *file, unsigned flags, hid_t *h5, hid_t *set) {
  char path[DM_DESCRIPTOR];
  *h5 = *set = -1;
  const int fd = open(file->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return dm_io_failed(&file->at, file->part, "reopened");
  dm_status status = dm_output_check_open(file, fd);
  hid_t access = status ? -1 : dm_h5_unlocked();
  if (access >= 0) *h5 = H5Fopen(dm_output_by_descriptor(fd, path), flags, access);
  if (*h5 >= 0) *set = H5Dopen2(*h5, file->at.dataset, H5P_DEFAULT);
  if (!status && *set < 0)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be reopened", file->part);
  if (access >= 0) H5Pclose(access);
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
  errno = dm_file_sync(file->made, true, keepalive);
  return errno ? dm_io_failed(&file->at, file->part, "synced") : DM_OK;
}

/* Compares SET, as a program would read it, with what was written. */
static dm_status compare(const dm_location *at, const dm_completion *c, hid_t set) {
  dm_attributes *found;
  DM_TRY(dm_buffer_table(1, &found));
  dm_status status = dm_h5_read_attributes(at, set, found);
  bool same = dm_h5_is_whole(set);
  for (int i = 0; i < c->provenance->count && !status && same; i++) {
    dm_attribute wanted = c->provenance->list[i];
    dm_io_clean(wanted.text);
    const char *text = dm_attributes_find(found, wanted.name);
    same = strcmp(text ? text : "", wanted.text) == 0;
  }
  free(found);
  if (status || same) return status;
  return dm_fail_at(DM_E_IO, at, "its provenance differs from what was written");
}

/* HDF5's metadata has no checksum, so it is read back before the file gets its name. */
static dm_status look_again(const dm_output_file *file, const dm_completion *c) {
  DM_H5_ALONE;
  hid_t h5, set;
  dm_status status = open_made(file, H5F_ACC_RDONLY, &h5, &set);
  if (!status) status = compare(&file->at, c, set);
  if (set >= 0) H5Dclose(set);
  if (h5 >= 0) H5Fclose(h5);
  return status;
}

static dm_status appeared(const dm_output_file *file) {
  return dm_fail_at(DM_E_IO, &file->at, "the file appeared during the run");
}

static dm_status give_name(const dm_output_file *file, bool force) {
  const char *to = file->at.file;
  const int failed = force ? rename(file->part, to) : dm_output_rename_new(file->part, to);
  if (!failed) return DM_OK;
  if (errno != EEXIST) return dm_io_failed(&file->at, file->part, "renamed");
  return appeared(file);
}

static dm_status finish(commitment *one, const dm_keepalive *keepalive) {
  dm_output_file *file = &one->file;
  if (one->c->provenance) DM_TRY(dm_output_edit(file, complete, one));
  DM_TRY(dm_output_sync_made(file, keepalive));
  if (one->c->provenance) DM_TRY(look_again(file, one->c));
  DM_TRY(dm_output_take_rights(file));
  return dm_output_check_name(file, file->part);
}

static dm_status publish(const dm_output_file *file, const dm_completion *c, bool *named) {
  struct stat info;
  if (!c->force && lstat(file->at.file, &info) == 0) return appeared(file);
  if (c->unrecorded && c->journal) DM_TRY(dm_journal_remove(c->journal));
  if (c->unrecorded && c->source) dm_output_discard(c->source);
  DM_TRY(give_name(file, c->force));
  DM_TRY(dm_output_check_name(file, file->at.file)); /* another run may have taken the name */
  *named = true;
  return DM_OK;
}

static void take_back(dm_output_file *new, const dm_output_file *before) {
  if (strcmp(before->part, new->part) != 0) dm_status_free(dm_output_name_again(new));
}

dm_status dm_output_commit(const dm_output_file *file, const dm_completion *completion,
                           const dm_keepalive *keepalive, bool *named) {
  commitment one = {*file, completion};
  int folder;
  *named = false;
  /* Opened now: once C has its name, only the sync can still fail. */
  DM_TRY(dm_folder_open(&file->at, &folder));
  dm_status status = dm_output_take_new_name(&one.file, folder);
  if (!status) status = finish(&one, keepalive);
  if (!status) status = publish(&one.file, completion, named);
  if (!*named) take_back(&one.file, file);
  if (*named)
    status = dm_hint(dm_folder_sync(&file->at, folder),
                     "%.200s is complete; a crash of the computer could still lose its name",
                     file->at.file);
  close(folder);
  return status;
}
