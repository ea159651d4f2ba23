
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/child.h"
#include "dataset/file_system.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_use.h"
#include "dataset/npy_header.h"
#include "io/batch.h"
#include "io/output_impl.h"
#include "io/read.h"

enum { OUTPUT_RECAST_PIECE = 1 << 24, OUTPUT_RECAST_HEAD_BYTES = 1 << 20 };

/* ---- before the work ---- */

/* What dm_recast_check asks a child. */
typedef struct recast_question {
  dm_location at;
  bool force;
} recast_question;

/* The dataset at AT, of which OBJECT tells: whether all else in FILE stays as it is without it. */
static dm_status recast_may_go(const dm_location *at, hid_t file, const H5O_info_t *object) {
  static const char *const ties[] = {"CLASS", "REFERENCE_LIST", "DIMENSION_LIST"};
  if (object->type != H5O_TYPE_DATASET)
    return dm_fail_at(DM_E_USAGE, at, "exists in the file and is no dataset; nothing was touched");
  if (object->rc > 1)
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "the dataset has other names (hard links)"),
                   "nothing was touched; they would keep the old numbers: name another dataset");
  DM_H5_HELD hid_t set = H5Dopen2(file, at->dataset, H5P_DEFAULT);
  if (set < 0) return dm_h5_fail(DM_E_INPUT, at, "the dataset cannot be opened");
  for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
    bool has;
    DM_TRY(dm_h5_has_attribute(at, set, ties[i], &has));
    if (has)
      return dm_hint(dm_fail_at(DM_E_USAGE, at,
                                "the dataset has or is a dimension scale (its attribute '%s'), "
                                "which others refer to",
                                ties[i]),
                     "nothing was touched; name another dataset");
  }
  return DM_OK;
}

/* A dm_child_work: checks each component of the dataset's path without following links. *REPLACES:
 * a dataset is there. */
static dm_status check_place(const void *question, void *replaces) {
  const recast_question *asked = question;
  const dm_location *at = &asked->at;
  hid_t file;
  *(char *)replaces = 0;
  DM_TRY(dm_h5_start(false));
  DM_TRY(dm_h5_open_file(at, &file));
  char path[DM_PATH];
  for (size_t end = 1; at->dataset[end - 1]; end++) {
    if (at->dataset[end] != '/' && at->dataset[end] != '\0') continue;
    memcpy(path, at->dataset, end);
    path[end] = '\0';
    H5L_info_t link;
    H5O_info_t object = {.type = H5O_TYPE_UNKNOWN};
    bool exists;
    DM_TRY(dm_h5_has_link(at, file, path, H5P_DEFAULT, &exists));
    if (!exists) return DM_OK;
    if (H5Lget_info(file, path, &link, H5P_DEFAULT) < 0 ||
        (link.type == H5L_TYPE_HARD && H5Oget_info_by_name(file, path, &object, H5P_DEFAULT) < 0))
      return dm_h5_fail(DM_E_INPUT, at, "'%.300s' cannot be read", path);
    const bool group = object.type == H5O_TYPE_GROUP;
    if (at->dataset[end] == '/' && !group)
      return dm_fail_at(DM_E_USAGE, at, "'%.300s' is not a group of the file", path);
    if (at->dataset[end] == '\0' && asked->force) {
      *(char *)replaces = 1;
      return recast_may_go(at, file, &object);
    }
  }
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "already exists in the file"),
                 "nothing was touched; name another dataset: -o FILE.h5:/name; --force replaces "
                 "this one");
}

dm_status dm_recast_check(const dm_location *at, bool force, dm_output_form *form) {
  char replaces = 0;
  struct stat info;
  const recast_question question = {*at, force};
  DM_TRY(dm_child_run(at, check_place, &question, &replaces, sizeof replaces));
  form->replaces = force && replaces != 0;
  if (stat(at->file, &info) < 0) return dm_file_failed(at, at->file, "examined");
  if (info.st_nlink > 1)
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "the file has other names (hard links)"),
                   "--append replaces the file by a new one, which would have this name alone");
  if (access(at->file, W_OK) < 0)
    return dm_fail_at(DM_E_IO, at, "the file cannot be written: %s", strerror(errno));
  form->existing.at = *at;
  dm_dataset_set_identity(&info, &form->existing);
  return DM_OK;
}

static dm_status output_bytes_of(const dm_output_file *file, int64_t *bytes) {
  return dm_bytes_of(file->rows, file->cols, dm_dtype_size(file->dtype), bytes);
}

dm_status dm_recast_room(const dm_output_file *file, const dm_output_form *form) {
  int64_t bytes = 0;
  DM_TRY(output_bytes_of(file, &bytes));
  if (dm_add_overflows(bytes, form->existing.file_bytes + OUTPUT_RECAST_HEAD_BYTES, &bytes))
    return dm_fail_at(DM_E_FIT, &file->at, "the size of the new file overflows 64 bits");
  return dm_context(dm_output_room(&file->at, bytes), "the new file beside the first");
}

/* ---- at the end ---- */

/* Adds PART bytes of C from byte DONE. */
static void output_add_piece(dm_tile_sums *sums, const dm_output_file *made, const void *piece,
                             int64_t done, int64_t part) {
  const int64_t size = dm_dtype_size(made->dtype);
  dm_tile_sums_add_run(sums, piece, made->dtype, done / size, part / size);
}

static dm_status output_copy(const dm_output_file *made, int from, int64_t at, int64_t to,
                             int64_t bytes, dm_tile_sums *sums, const dm_keepalive *keepalive) {
  DM_FREED void *piece = NULL;
  DM_TRY(dm_buffer_alloc(dm_max(1, dm_min(bytes, OUTPUT_RECAST_PIECE)), &piece));
  for (int64_t done = 0; done < bytes; done += OUTPUT_RECAST_PIECE) {
    const int64_t part = dm_min(OUTPUT_RECAST_PIECE, bytes - done);
    DM_TRY(dm_batch_move(from, false, made->at.file, piece, part, at + done));
    output_add_piece(sums, made, piece, done, part);
    DM_TRY(dm_batch_move(made->made, true, made->part, piece, part, to + done));
    DM_TRY(dm_keepalive_beat(keepalive));
  }
  return DM_OK;
}

/* The space of the dataset that is replaced is free for the new one. */
static dm_status recast_add(hid_t h5, dm_output_file *made, bool replaces) {
  if (replaces && H5Ldelete(h5, made->at.dataset, H5P_DEFAULT) < 0)
    return dm_h5_fail(DM_E_IO, &made->at, "the old dataset cannot be removed from the copy");
  return dm_output_add(h5, made, NULL);
}

static dm_status output_add_dataset(dm_output_file *made, bool replaces) {
  DM_H5_ALONE;
  char path[DM_DESCRIPTOR];
  DM_TRY(dm_h5_start(false));
  hid_t h5 = -1;
  DM_H5_HELD hid_t access = dm_h5_unlocked();
  if (access >= 0) h5 = H5Fopen(dm_output_by_descriptor(made->made, path), H5F_ACC_RDWR, access);
  dm_status status = h5 < 0 ? dm_h5_fail(DM_E_IO, &made->at, "its copy cannot be opened")
                            : recast_add(h5, made, replaces);
  if (h5 >= 0 && H5Fclose(h5) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &made->at, "its copy cannot be closed");
  return status;
}

static dm_status copy_existing(dm_output_file *made, const dm_output_form *form,
                               const dm_keepalive *keepalive, int *held) {
  *held = open(made->at.file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (*held < 0) return dm_file_failed(&made->at, made->at.file, "opened");
  DM_TRY(dm_output_lock(&made->at, made->at.file, *held, LOCK_SH));
  DM_TRY(dm_recast_unchanged(made, form));
  DM_TRY(output_copy(made, *held, 0, 0, form->existing.file_bytes, NULL, keepalive));
  return output_add_dataset(made, form->replaces);
}

static dm_status output_begin(dm_output_file *made, const dm_output_form *form,
                              const dm_keepalive *keepalive, int *held) {
  char header[DM_NPY_HEADER];
  if (form->existing.at.file[0]) return copy_existing(made, form, keepalive, held);
  DM_TRY(dm_npy_header(made->dtype, made->rows, made->cols, &made->leads, header, &made->offset));
  return dm_batch_move(made->made, true, made->part, header, made->offset, 0);
}

/* What is made of FILE. */
typedef struct recasting {
  const dm_output_file *file;
  const dm_output_form *form;
  dm_tile_sums *sums;
  const dm_keepalive *keepalive;
  int *held;
} recasting;

/* A dm_output_filling. */
static dm_status recast_into(void *context, dm_output_file *made) {
  const recasting *r = context;
  int64_t bytes = 0;
  DM_TRY(output_bytes_of(r->file, &bytes));
  DM_TRY(output_begin(made, r->form, r->keepalive, r->held));
  DM_TRY(output_copy(made, r->file->made, r->file->offset, made->offset, bytes, r->sums,
                     r->keepalive));
  DM_TRY(dm_tile_sums_compare(r->sums, r->file->part));
  return dm_output_sync_made(made, r->keepalive);
}

dm_status dm_recast(const dm_output_file *file, const dm_output_form *form, dm_tile_sums *sums,
                    const dm_keepalive *keepalive, dm_output_file *made, int *held) {
  recasting r = {file, form, sums, keepalive, held};
  *held = -1;
  dm_status status = dm_output_fill(made, file, file, false, recast_into, &r);
  if (!status) return DM_OK;
  if (*held >= 0) close(*held);
  *held = -1;
  return status->hint[0]
             ? status
             : dm_hint(status, "the complete result is '%.200s', an HDF5 file", file->part);
}

dm_status dm_recast_unchanged(const dm_output_file *file, const dm_output_form *form) {
  const dm_dataset *old = &form->existing;
  dm_dataset now = {.at = old->at};
  if (!old->at.file[0]) return DM_OK;
  dm_status status = dm_dataset_identify(&now);
  if (!status && now.device == old->device && now.inode == old->inode &&
      now.file_bytes == old->file_bytes && now.modified_ns == old->modified_ns)
    return DM_OK;
  dm_status_free(status);
  return dm_hint(dm_fail_at(DM_E_IO, &old->at, "the file was changed during the run"),
                 "it was not touched; the result is '%.200s.part', an HDF5 file", file->at.file);
}
