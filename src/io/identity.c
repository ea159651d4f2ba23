/* The identity of a file: whether it is the one that was inspected, and unchanged. */
#include <errno.h>
#include <string.h>

#include "core/buffer.h"
#include "dataset/file_system.h"
#include "dataset/members.h"
#include "io/read_impl.h"
#include "io/zarr_chunks.h"

static int64_t modified_of(const struct stat *info) {
  return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

dm_status dm_dataset_identify(dm_dataset *dataset) {
  struct stat info;
  if (dataset->members) return dm_members_look(&dataset->at, dataset);
  if (stat(dataset->at.file, &info) < 0)
    return dm_fail(DM_E_IO, "%s: %s", dataset->at.file, strerror(errno));
  dm_dataset_set_identity(&info, dataset);
  return DM_OK;
}

dm_status dm_reader_changed(const dm_dataset *dataset) {
  return dm_hint(dm_fail_at(DM_E_IO, &dataset->at, "changed since it was inspected"),
                 "is another program writing it, or do the nodes see different file systems?");
}

static dm_status identity_compare(const dm_dataset *dataset, const struct stat *info) {
  /* Not the device: every node of a cluster numbers its mounts itself. */
  const bool same = S_ISREG(info->st_mode) && (uint64_t)info->st_ino == dataset->inode;
  if (same && dataset->swmr && (int64_t)info->st_size >= dataset->file_bytes) return DM_OK;
  if (same && (int64_t)info->st_size == dataset->file_bytes &&
      modified_of(info) == dataset->modified_ns)
    return DM_OK;
  return dm_reader_changed(dataset);
}

/* The same for all of several files. */
static dm_status compare_members(const dm_dataset *d) {
  DM_FREED dm_dataset *now = NULL;
  DM_TRY(dm_buffer_table(1, &now));
  DM_TRY(dm_members_look(&d->at, now));
  return now->inode == d->inode && now->file_bytes == d->file_bytes &&
                 now->modified_ns == d->modified_ns
             ? DM_OK
             : dm_reader_changed(d);
}

/* The same for all files of an array of Zarr. */
static dm_status compare_zarr(const dm_dataset *d) {
  DM_FREED dm_dataset *now = NULL;
  dm_zarr zarr;
  dm_zarr_survey survey;
  struct stat info;
  DM_TRY(dm_buffer_table(1, &now));
  DM_TRY(dm_zarr_read_array(&d->at, d->elsewhere, &zarr, &info));
  DM_TRY(dm_zarr_look(&d->at, &zarr, d->elsewhere, false, &survey));
  dm_zarr_identify(&info, &survey, now);
  return now->inode == d->inode && now->file_bytes == d->file_bytes &&
                 now->modified_ns == d->modified_ns
             ? DM_OK
             : dm_reader_changed(d);
}

dm_status dm_reader_same_file(const dm_dataset *dataset, int fd) {
  struct stat info;
  if (dataset->members) return compare_members(dataset);
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &dataset->at, "fstat: %s", strerror(errno));
  return identity_compare(dataset, &info);
}

static dm_status unchanged(const dm_dataset *dataset) {
  struct stat info;
  if (dm_dataset_is_empty(dataset) || dataset->stack || dataset->memory.base)
    return DM_OK; /* nothing of a file was used */
  if (dataset->zarr) return compare_zarr(dataset);
  if (dataset->members) return compare_members(dataset);
  if (stat(dataset->at.file, &info) < 0)
    return dm_fail_at(DM_E_IO, &dataset->at, "cannot be found any more: %s", strerror(errno));
  return identity_compare(dataset, &info);
}

dm_status dm_dataset_unchanged(const dm_dataset *dataset) {
  const dm_composite *composite = dataset->composite;
  DM_TRY(unchanged(dataset));
  dm_dataset source;
  for (int64_t i = 0; composite && i < composite->sources; i++) {
    dm_composite_source(composite, i, &source);
    DM_TRY(unchanged(&source));
  }
  return DM_OK;
}
