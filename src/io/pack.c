#include "io/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/journal.h"
#include "io/output_file.h"
#include "io/pack_chunks.h"

static dm_status path_of(const dm_location *at, char path[DM_PATH + 8]) {
  snprintf(path, DM_PATH + 8, "%s.packing", at->file);
  const char *slash = strrchr(path, '/');
  /* The reader's locations are shorter by the ending. */
  if (strlen(slash ? slash + 1 : path) > NAME_MAX || strlen(path) >= DM_PATH)
    return dm_fail_at(DM_E_USAGE, at, "its name is too long");
  return DM_OK;
}

dm_status dm_pack_check(const dm_location *location, bool force) {
  char path[DM_PATH + 8];
  bool ours;
  DM_TRY(path_of(location, path));
  DM_TRY(dm_journal_look(location, &ours));
  return dm_output_leftover(location, path, force || ours, false);
}

dm_status dm_pack_forget(const dm_location *location) {
  char path[DM_PATH + 8];
  DM_TRY(path_of(location, path));
  return dm_output_leftover(location, path, true, true);
}

dm_status dm_pack_room(const dm_output_file *file, const dm_output_form *form) {
  char directory[DM_PATH];
  int64_t bytes;
  DM_TRY(dm_output_form_bytes(form, file->dtype, file->rows, file->cols, &bytes));
  dm_output_directory(file->at.file, directory);
  dm_status status = dm_output_room(&file->at, directory, bytes);
  return status ? dm_context(status, "the file with chunks, beside the one without") : DM_OK;
}

static dm_status write_chunks(dm_packing *p, const dm_output_file *to) {
  hid_t access = dm_h5_unlocked(), file = -1;
  if (access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
    file = H5Fopen(to->part, H5F_ACC_RDWR, access);
  p->set = file >= 0 ? H5Dopen2(file, to->at.dataset, H5P_DEFAULT) : -1;
  dm_status status = p->set < 0 ? dm_h5_fail(DM_E_IO, &to->at, "'%s' cannot be reopened", to->part)
                                : dm_packing_write(p);
  if (!status && H5Fflush(file, H5F_SCOPE_LOCAL) < 0)
    status = dm_h5_fail(DM_E_IO, &to->at, "'%s' cannot be flushed", to->part);
  if (p->set >= 0 && H5Dclose(p->set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &to->at, "'%s' cannot be closed", to->part);
  if (file >= 0 && H5Fclose(file) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &to->at, "'%s' cannot be closed", to->part);
  if (access >= 0) H5Pclose(access);
  return status;
}

dm_status dm_pack_dataset(const dm_output_file *packed, const dm_output_form *form,
                          dm_dataset *dataset) {
  *dataset = (dm_dataset){.at = packed->at,
                          .rows = packed->rows,
                          .cols = packed->cols,
                          .dtype = packed->dtype,
                          .layout = DM_CHUNKED,
                          .offset = -1,
                          .chunk_rows = form->chunk_rows,
                          .chunk_cols = form->chunk_cols,
                          .filters = (form->shuffle ? DM_FILTER_SHUFFLE : 0u) |
                                     (form->deflate > 0 ? DM_FILTER_DEFLATE : 0u)};
  snprintf(dataset->at.file, sizeof dataset->at.file, "%.*s", DM_PATH - 1, packed->part);
  return dm_io_identity(dataset);
}

static dm_status compare_chunks(dm_packing *p, const dm_output_file *to) {
  dm_dataset dataset;
  DM_TRY(dm_pack_dataset(to, p->form, &dataset));
  dm_status status = dm_reader_open(&dataset, DM_DTYPE_NONE, &p->reader);
  if (!status) status = dm_packing_compare(p);
  dm_reader_close(p->reader);
  p->reader = NULL;
  /* To a reader a file that it cannot make out is a wrong input; this one was written just now. */
  if (status && status->code == DM_E_INPUT) status->code = DM_E_IO;
  return status;
}

static dm_status pack_open(dm_packing *p, const dm_output_file *to, int made, int threads) {
  DM_TRY(dm_packing_open(p, threads));
  DM_TRY(write_chunks(p, to));
  DM_TRY(dm_output_sync_path(&to->at, to->part, O_RDWR | O_NOFOLLOW));
  (void)flock(made, LOCK_SH | LOCK_NB); /* HDF5 wants to share it now */
  return compare_chunks(p, to);
}

/* The source is locked as long as it is read, the target by the descriptor that made it. */
static dm_status pack_from(dm_packing *p, dm_output_file *to, int threads) {
  const dm_output_file *from = p->from;
  p->fd = open(from->part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (p->fd < 0)
    return dm_fail_at(DM_E_IO, &from->at, "'%s' cannot be opened: %s", from->part, strerror(errno));
  if (flock(p->fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
    return dm_fail_at(DM_E_IO, &from->at, "another run is writing '%s'", from->part);
  int made = open(to->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (made < 0)
    return dm_fail_at(DM_E_IO, &to->at, "'%s' cannot be created: %s", to->part, strerror(errno));
  dm_status status = DM_OK;
  if (flock(made, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
    status = dm_fail_at(DM_E_IO, &to->at, "another run is writing '%s'", to->part);
  if (!status) status = dm_output_structure(to, to->part, p->form);
  if (!status) status = pack_open(p, to, made, threads);
  dm_packing_close(p);
  if (status) unlink(to->part);
  close(made);
  return status;
}

dm_status dm_pack(const dm_output_file *file, const dm_output_form *form, int threads,
                  const dm_keepalive *keepalive, dm_output_file *packed) {
  dm_packing p = {
      .from = file, .to = packed, .form = form, .keepalive = keepalive, .fd = -1, .set = -1};
  *packed = *file;
  packed->part[0] = '\0';
  DM_TRY(path_of(&file->at, packed->part));
  /* What an earlier run left was asked after before the work began. */
  DM_TRY(dm_pack_forget(&file->at));
  dm_status status = pack_from(&p, packed, threads);
  if (p.fd >= 0) close(p.fd);
  if (status && !status->hint[0])
    dm_hint(status, "the whole result is '%.200s', contiguous", file->part);
  return status;
}
