#include "io/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/hdf5_attribute.h"
#include "io/hdf5_type.h"
#include "io/hdf5_use.h"

static dm_status not_opened(const dm_location *at) {
  dm_status status = dm_fail_at(DM_E_IO, at, "cannot be opened: %s", strerror(errno));
  return errno == ENOENT && strchr(at->file, ':')
             ? dm_hint(status, "a matrix is named FILE.h5:/path/to/dataset")
             : status;
}

/* Nothing but a regular file is ever opened for reading: the others may block or act. */
static dm_status check_file(const dm_location *at) {
  struct stat info;
  if (stat(at->file, &info) < 0) return not_opened(at);
  if (!S_ISREG(info.st_mode))
    return dm_fail_at(DM_E_INPUT, at, "is %s, not a file",
                      S_ISDIR(info.st_mode)    ? "a directory"
                      : S_ISFIFO(info.st_mode) ? "a pipe"
                                               : "a device or socket");
  int fd = open(at->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return not_opened(at);
  char byte;
  ssize_t got;
  do got = pread(fd, &byte, 1, 0);
  while (got < 0 && errno == EINTR);
  dm_status status = DM_OK;
  if (got < 0)
    status = dm_fail_at(DM_E_IO, at, "cannot be read: %s", strerror(errno));
  else if (got == 0)
    status = dm_fail_at(DM_E_INPUT, at, "is an empty file");
  close(fd);
  return status;
}

/* The file that HDF5 itself holds open. */
static dm_status identify(hid_t file, dm_dataset *find) {
  void *handle = NULL;
  struct stat info;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || !handle ||
      fstat(*(int *)handle, &info) < 0 || !S_ISREG(info.st_mode))
    return dm_h5_fail(DM_E_INPUT, &find->at, "the open file cannot be identified");
  find->device = (uint64_t)info.st_dev;
  find->inode = (uint64_t)info.st_ino;
  find->file_bytes = (int64_t)info.st_size;
  find->modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  return DM_OK;
}

/* Why the path could not be followed: names the first part of it that does not exist. */
static dm_status not_found(const dm_location *at, hid_t file, hid_t access,
                           const dm_h5_exit *leave) {
  if (leave->met)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "refused: it is a link into another file ('%.200s')",
                              leave->file),
                   "--allow-external follows it");
  dm_status status =
      dm_h5_fail(DM_E_INPUT, at, "no such dataset: its path leads nowhere or in a circle");
  char path[DM_PATH];
  for (size_t end = 1; at->dataset[end - 1]; end++) {
    if (at->dataset[end] != '/' && at->dataset[end] != '\0') continue;
    memcpy(path, at->dataset, end);
    path[end] = '\0';
    htri_t exists = H5Lexists(file, path, access);
    if (exists > 0) continue;
    dm_status_free(status);
    if (exists == 0) return dm_fail_at(DM_E_INPUT, at, "there is no '%.300s' in the file", path);
    return dm_fail_at(DM_E_INPUT, at, "'%.300s' cannot exist: what it lies in is no group", path);
  }
  return status;
}

static dm_status read_type(const dm_location *at, hid_t set, dm_dataset *find) {
  char text[DM_TYPE_TEXT];
  hid_t type = H5Dget_type(set);
  if (type < 0) return dm_h5_fail(DM_E_INPUT, at, "its element type cannot be read");
  bool known = dm_h5_read_type(type, dm_h5_is_bfloat16(set), &find->dtype, &find->swapped, text);
  H5Tclose(type);
  if (!known)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "its elements are %s", text),
                   "read are floats of 64, 32 and 16 bits, bfloat16, complex numbers and signed "
                   "integers of 8 and 32 bits");
  return DM_OK;
}

static dm_status examine_dataset(const dm_question *question, hid_t file, hid_t set,
                                 dm_finding *find) {
  dm_dataset *dataset = &find->dataset;
  const dm_location *at = &dataset->at;
  if (H5Iget_type(set) != H5I_DATASET)
    return dm_fail_at(DM_E_INPUT, at, "is a %s, not a dataset",
                      H5Iget_type(set) == H5I_GROUP ? "group" : "type");
  DM_TRY(read_type(at, set, dataset));
  DM_TRY(dm_examine_storage(file, set, &question->trust, dataset));
  return question->provenance ? dm_h5_read_attributes(at, set, &find->provenance) : DM_OK;
}

dm_status dm_examine(const void *argument, void *result) {
  const dm_question *question = argument;
  dm_finding *find = result;
  memset(find, 0, sizeof *find);
  find->dataset.at = question->at;
  const dm_location *at = &find->dataset.at;
  find->dataset.elsewhere = question->trust.external || question->trust.virtual;
  find->dataset.no_data = question->trust.no_data;
  DM_TRY(check_file(at));
  DM_TRY(dm_h5_start(question->trust.filters));
  hid_t file;
  DM_TRY(dm_h5_open_file(at, &file));
  DM_TRY(identify(file, &find->dataset));
  if (!at->dataset[0]) DM_TRY(dm_find_dataset(file, &find->dataset.at));
  dm_h5_exit leave;
  hid_t access = dm_h5_access(question->trust.external, &leave);
  if (access < 0) return dm_h5_fail(DM_E_IO, at, "no access list");
  hid_t set = H5Oopen(file, at->dataset, access);
  if (set < 0) return not_found(at, file, access, &leave);
  dm_status status = examine_dataset(question, file, set, find);
  /* This process ends here: what else is open ends with it. */
  H5Oclose(set);
  H5Pclose(access);
  H5Fclose(file);
  return status;
}
