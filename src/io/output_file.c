#include "io/output_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/units.h"
#include "dataset/file_system.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_use.h"
#include "io/batch.h"
#include "io/read.h"

/* A write beyond the limit would kill the process. */
static dm_status check_limit(const dm_location *at, int64_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur >= (rlim_t)bytes)
    return DM_OK;
  return dm_hint(dm_fail_at(DM_E_FIT, at, "needs %lld bytes, a file may have %llu",
                            (long long)bytes, (unsigned long long)limit.rlim_cur),
                 "raise the limit on file sizes (ulimit -f)");
}

dm_status dm_output_space(const dm_location *at, int64_t bytes) {
  char directory[DM_PATH];
  struct statvfs info;
  dm_path_directory(at->file, directory);
  if (statvfs(directory, &info) < 0)
    return dm_fail_at(DM_E_IO, at, "its directory: %s", strerror(errno));
  int64_t blocks = (int64_t)(geteuid() == 0 ? info.f_bfree : info.f_bavail), room;
  /* Some network file systems do not report free space: then the reservation or the write fails. */
  if (info.f_blocks == 0 || dm_mul_overflows(blocks, (int64_t)info.f_frsize, &room)) return DM_OK;
  if (bytes <= room) return DM_OK;
  char need[32], have[32];
  return dm_hint(dm_fail_at(DM_E_FIT, at, "needs %s (%lld bytes), %s are free",
                            dm_format_bytes(bytes, need), (long long)bytes,
                            dm_format_bytes(room, have)),
                 "make room, or name a file on another file system");
}

dm_status dm_output_room(const dm_location *at, int64_t bytes) {
  DM_TRY(check_limit(at, bytes));
  return dm_output_space(at, bytes);
}

/* A commit had begun. */
static bool has_new_name(const dm_location *at, int fd) {
  char new[DM_SIBLING_PATH];
  dm_status status = dm_output_new_name(at, new);
  const bool has = !status && dm_path_names(new, fd);
  dm_status_free(status);
  return has;
}

/* A complete file has been renamed by the user. */
static dm_status check_mark(const dm_location *at, const char *part, int fd) {
  bool unfinished, nothing = false, ours;
  if (has_new_name(at, fd)) return DM_OK;
  DM_TRY(dm_output_find(at, part, fd, DM_UNFINISHED, &unfinished));
  if (!unfinished) DM_TRY(dm_batch_is_zero(part, fd, &nothing));
  if (unfinished || nothing) return DM_OK;
  DM_TRY(dm_output_find(at, part, fd, DM_ID_NAME, &ours));
  return dm_hint(dm_fail_at(DM_E_USAGE, at,
                            ours ? "'%s' exists and is a complete result"
                                 : "'%s' exists and was not made by damier",
                            part),
                 "nothing was touched; move it away, or name another output");
}

dm_status dm_output_leftover(const dm_location *at, const char *part, bool remove) {
  int fd = open(part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return DM_OK;
  if (fd < 0)
    return dm_fail_at(DM_E_IO, at, "'%s' exists and cannot be opened: %s", part, strerror(errno));
  struct stat info;
  dm_status status = DM_OK;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
    status = dm_fail_at(DM_E_IO, at, "'%s' exists and is not a file", part);
  else
    status = dm_output_lock(at, part, fd, LOCK_EX);
  if (!status) status = check_mark(at, part, fd);
  if (!status && remove && unlink(part) < 0 && errno != ENOENT)
    status = dm_file_failed(at, part, "removed");
  close(fd);
  return status;
}

bool dm_output_is_left(const dm_location *at) {
  char path[DM_SIBLING_PATH];
  struct stat info;
  bool is = false;
  for (int i = 0; i < 2; i++) {
    dm_status status = i ? dm_output_new_name(at, path) : dm_file_sibling(at, ".part", path);
    is |= !status && lstat(path, &info) == 0;
    dm_status_free(status);
  }
  return is;
}

dm_status dm_output_forget(const dm_location *at) {
  char part[DM_SIBLING_PATH];
  DM_TRY(dm_file_sibling(at, ".part", part));
  DM_TRY(dm_output_leftover(at, part, true));
  return dm_output_forget_new(at);
}

dm_status dm_output_part(const dm_output_file *file, dm_dataset *dataset) {
  *dataset = (dm_dataset){.at = file->at,
                          .rows = file->rows,
                          .cols = file->cols,
                          .dtype = file->dtype,
                          .layout = DM_CONTIGUOUS,
                          .offset = file->offset};
  const size_t room = sizeof dataset->at.file;
  if ((size_t)snprintf(dataset->at.file, room, "%s", file->part) >= room)
    return dm_fail_at(DM_E_USAGE, &file->at, "the name is too long");
  DM_TRY(dm_bytes_of(file->rows, file->cols, dm_dtype_size(file->dtype), &dataset->stored_bytes));
  DM_TRY(dm_dataset_identify(dataset));
  if (dataset->inode == file->inode) return DM_OK;
  return dm_fail_at(DM_E_IO, &file->at, "'%s' is not the file that rank 0 made", file->part);
}

/* The first object in a file that damier must not replace. */
typedef struct output_search {
  const dm_location *at;
  const char *dataset; /* may be replaced, with its parent groups */
  bool is_group;       /* it is a group of arrays (arrays_file.h), with all that is in it */
  char other[200];
} output_search;

static bool is_below(const char *path, const char *group) {
  size_t length = strlen(group);
  return strncmp(path, group, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Whether the object PATH, a group, holds the arrays of a reduction. */
static bool holds_arrays(const output_search *found, hid_t file, const char *path) {
  DM_H5_HELD hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
  bool has = false;
  dm_status status = group < 0 ? DM_OK : dm_h5_has_attribute(found->at, group, DM_STATE, &has);
  if (status) has = false; /* then the group is not damier's to replace */
  dm_status_free(status);
  return has;
}

/* Visits all links, including dangling and external ones, but follows only hard links. < 0: the
 * file cannot be read, which says nothing about what it holds. */
static herr_t output_visit(hid_t file, const char *name, const H5L_info_t *info, void *data) {
  output_search *found = data;
  char path[DM_PATH + 2];
  if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) path[0] = '\0';
  bool hard = info->type == H5L_TYPE_HARD && path[0];
  if (hard && is_below(path, "/.damier")) return 0; /* of version 0.3.0 and before */
  if (hard && found->is_group && is_below(path, found->dataset)) return 0;
  if (hard && is_below(found->dataset, path)) {
    H5O_info_t object;
    if (H5Oget_info_by_name(file, path, &object, H5P_DEFAULT) < 0) return -1;
    const bool is_it = strcmp(path, found->dataset) == 0;
    if (is_it && object.type == H5O_TYPE_GROUP && object.num_attrs > 0)
      found->is_group = holds_arrays(found, file, path);
    const bool target = is_it && (object.type == H5O_TYPE_DATASET || found->is_group);
    if (target || (object.type != H5O_TYPE_DATASET && object.num_attrs == 0)) return 0;
  }
  snprintf(found->other, sizeof found->other, "%.150s", path[0] ? path : name);
  return 1;
}

/* *OWN: how many of the root's attributes are damier's. */
static dm_status count_own(const dm_location *at, hid_t file, hsize_t *own) {
  static const char *const names[] = {DM_ID_NAME, DM_MARK};
  *own = 0;
  for (int i = 0; i < 2; i++) {
    bool has;
    DM_TRY(dm_hint(dm_h5_has_attribute(at, file, names[i], &has),
                   "the file exists; nothing was touched"));
    *own += has;
  }
  return DM_OK;
}

dm_status dm_output_holds_only(const void *location, void *nothing) {
  const dm_location *at = location;
  output_search found = {.at = at, .dataset = at->dataset};
  hid_t file;
  *(char *)nothing = 0;
  DM_TRY(dm_h5_start(false));
  DM_TRY(dm_h5_open_file(at, &file));
  H5O_info_t root;
  hsize_t own;
  DM_TRY(count_own(at, file, &own));
  const herr_t read = H5Oget_info_by_name(file, "/", &root, H5P_DEFAULT);
  if (read >= 0 && root.num_attrs > own)
    snprintf(found.other, sizeof found.other, "attributes of its root");
  else if (read < 0 || H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, output_visit, &found) < 0)
    return dm_h5_fail(DM_E_USAGE, at, "exists and cannot be listed; nothing was touched");
  if (!found.other[0]) return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_USAGE, at, "exists and holds other objects: %s", found.other),
      "nothing was touched; --append --force replaces one dataset, by multiply, gram, cov and cor");
}

/* ---- reserves the space of an output on the disk ----
 *
 * A tmpfs makes all pages, one thread at a time, for each file: a thread does it while A and B are
 * read, and rows whose pages are there are written meanwhile. */

enum {
  OUTPUT_LEAST = 16 << 20, /* bytes that justify a thread */
  OUTPUT_PIECE =
      64 << 20 /* bytes of a tmpfs that are reserved at once; elsewhere it is all of them */
};

struct dm_reservation {
  dm_output_file file;
  int64_t bytes, piece;
  bool threaded;
  pthread_t thread;
  atomic_int_least64_t reserved; /* from the first byte on */
  atomic_bool stops, failed;
  dm_status status; /* valid once it has failed, or the thread has ended */
};

/* Detects a full disk now rather than after hours; statvfs was checked. */
static dm_status reserve_space(const dm_output_file *out, int64_t at, int64_t bytes) {
  const int failed = dm_batch_reserve(out->made, 0, at, bytes);
  if (!failed) return DM_OK;
  if (failed == EFBIG)
    return dm_hint(dm_fail_at(DM_E_FIT, &out->at, "a file of %lld bytes is not possible here",
                              (long long)(at + bytes)),
                   "see ulimit -f and the limits of the file system");
  if (failed != ENOSPC && failed != EDQUOT)
    return dm_fail_at(DM_E_IO, &out->at, "space cannot be reserved: %s", strerror(failed));
  char directory[DM_PATH];
  dm_path_directory(out->at.file, directory);
  dm_status status = dm_output_room(&out->at, bytes);
  return status ? status
                : dm_fail_at(DM_E_FIT, &out->at, "no space for %lld bytes: %s", (long long)bytes,
                             strerror(failed));
}

static void *output_reserve(void *argument) {
  dm_reservation *r = argument;
  for (int64_t at = 0; at < r->bytes && !r->status && !atomic_load(&r->stops); at += r->piece) {
    const int64_t part = dm_min(r->piece, r->bytes - at);
    r->status = reserve_space(&r->file, at, part);
    if (!r->status) atomic_store(&r->reserved, at + part);
  }
  atomic_store(&r->failed, r->status != DM_OK);
  return NULL;
}

static dm_status start_reserving(const dm_output_file *out, int64_t bytes,
                                 dm_reservation **reservation) {
  char kind[DM_FILE_SYSTEM];
  *reservation = NULL;
  if (bytes < OUTPUT_LEAST) return reserve_space(out, 0, bytes);
  dm_reservation *r = calloc(1, sizeof *r);
  if (!r) return dm_fail(DM_E_FIT, "no memory for a reservation");
  const bool in_pieces = strcmp(dm_file_file_system(out->part, kind), "tmpfs") == 0;
  *r = (dm_reservation){.file = *out, .bytes = bytes, .piece = in_pieces ? OUTPUT_PIECE : bytes};
  r->threaded = pthread_create(&r->thread, NULL, output_reserve, r) == 0;
  if (!r->threaded) output_reserve(r);
  *reservation = r;
  return DM_OK;
}

dm_status dm_reservation_has(const dm_reservation *r, int64_t rows, bool *has) {
  *has = true;
  if (!r) return DM_OK;
  const int64_t width = r->file.cols * dm_dtype_size(r->file.dtype);
  *has = atomic_load(&r->reserved) >= r->file.offset + rows * width;
  return !*has && atomic_load(&r->failed) ? dm_status_copy(r->status) : DM_OK;
}

dm_status dm_reservation_end(dm_reservation *r, bool all) {
  if (!r) return DM_OK;
  atomic_store(&r->stops, !all);
  if (r->threaded) (void)pthread_join(r->thread, NULL);
  dm_status status = r->status;
  free(r);
  return status;
}

/* ---- taking up a file of an earlier run ---- */

static dm_status output_failed(const dm_output_file *file, const char *what) {
  return dm_file_failed(&file->at, file->part, what);
}

static dm_status restore_structure(dm_output_file *file, int64_t offset) {
  int model;
  int64_t length;
  DM_TRY(dm_output_model(file, NULL, &model));
  dm_status status = DM_OK;
  if (file->offset != offset)
    status = dm_hint(
        dm_fail_at(DM_E_IO, &file->at, "this HDF5 library would place its data at another offset"),
        "resume with the library of the first run, or start over with --force");
  if (!status) status = dm_output_copy_model(file, model, file->made, &length);
  close(model);
  DM_TRY(status);
  DM_TRY(reserve_space(file, 0, length));
  return fsync(file->made) < 0 ? output_failed(file, "synced") : DM_OK;
}

/* Checks that the file belongs to the run that wrote the journal, not to another one that took its
 * name. */
static dm_status check_id(const dm_output_file *file) {
  bool found;
  DM_TRY(dm_output_find(&file->at, file->part, file->made, file->id, &found));
  if (found) return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_IO, &file->at, "'%s' is not the file that its journal describes", file->part),
      "start over with --force, or name another output");
}

static dm_status output_take_up(dm_output_file *file, int64_t offset) {
  struct stat info;
  if (fstat(file->made, &info) < 0 || !S_ISREG(info.st_mode))
    return dm_fail_at(DM_E_IO, &file->at, "'%s' is not a file", file->part);
  DM_TRY(dm_output_lock(&file->at, file->part, file->made, LOCK_EX));
  DM_TRY(check_id(file));
  DM_TRY(restore_structure(file, offset));
  DM_TRY(dm_output_name_again(file));
  return dm_output_share(file);
}

dm_status dm_output_reopen(dm_output_file *file, int64_t offset, bool *there) {
  file->made = -1;
  DM_TRY(dm_file_sibling(&file->at, ".part", file->part));
  const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  file->made = open(file->part, flags);
  if (file->made < 0 && errno == ENOENT) { /* its commit was interrupted */
    DM_TRY(dm_output_new_name(&file->at, file->part));
    file->made = open(file->part, flags);
  }
  *there = file->made >= 0;
  if (file->made < 0) return errno == ENOENT ? DM_OK : output_failed(file, "opened");
  dm_status status = output_take_up(file, offset);
  if (status) dm_output_release(file);
  return status;
}

/* ---- creating the file ---- */

enum { OUTPUT_HEAD_BYTES = 1 << 20 };

static dm_status create_locked(dm_output_file *out, dm_reservation **reservation) {
  int model;
  int64_t length;
  DM_TRY(dm_output_lock(&out->at, out->part, out->made, LOCK_EX));
  DM_TRY(dm_output_make_id(out));
  DM_TRY(dm_output_model(out, NULL, &model));
  dm_status status = dm_output_copy_model(out, model, out->made, &length);
  close(model);
  DM_TRY(status);
  /* The name appears after the mark is on the disk, so no loss of power leaves a stranger. */
  if (fsync(out->made) < 0) return dm_file_failed(&out->at, out->part, "synced");
  DM_TRY(dm_output_name(out));
  DM_TRY(dm_output_share(out));
  return start_reserving(out, length, reservation);
}

dm_status dm_output_create_early(const dm_location *location, dm_dtype dtype, int64_t rows,
                                 int64_t cols, const dm_leads *leads, dm_output_file *file,
                                 dm_reservation **reservation) {
  int64_t bytes = 0;
  *reservation = NULL;
  *file = (dm_output_file){.at = *location, .rows = rows, .cols = cols, .dtype = dtype, .made = -1};
  if (leads) file->leads = *leads;
  DM_TRY(dm_bytes_of(rows, cols, dm_dtype_size(dtype), &bytes));
  if (bytes <= 0 || bytes > INT64_MAX - OUTPUT_HEAD_BYTES)
    return dm_fail_at(DM_E_FIT, location, "a matrix of %lld bytes cannot be written",
                      (long long)bytes);
  DM_TRY(dm_output_forget(location));
  DM_TRY(dm_output_room(location, bytes + OUTPUT_HEAD_BYTES / 64));
  DM_TRY(dm_output_make_unnamed(file));
  dm_status status = create_locked(file, reservation);
  if (!status) return DM_OK;
  dm_output_give_up(file);
  return status;
}
