#include "io/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/hdf5_attribute.h"
#include "io/hdf5_type.h"
#include "io/hdf5_use.h"
#include "io/npy.h"
#include "io/read.h"

static dm_status not_opened(const dm_location *at) {
  dm_status status = dm_fail_at(DM_E_IO, at, "cannot be opened: %s", strerror(errno));
  return (errno == ENOENT && strchr(at->file, ':')) || errno == ENOTDIR
             ? dm_hint(status, "a matrix is named FILE.h5:/path/to/dataset")
             : status;
}

/* Only regular files are opened: others may block or have side effects. */
static dm_status check_file(const dm_location *at, dm_npy_kind *kind) {
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
  *kind = dm_npy_kind_of(fd);
  if (!status && *kind == DM_NPY_ARCHIVE)
    status = dm_hint(dm_fail_at(DM_E_INPUT, at, "is a zip archive, as .npz files of NumPy are"),
                     "numpy.save writes each array to a .npy file, which is read");
  close(fd);
  return status;
}

/* Identifies the file that HDF5 has open. */
static dm_status identify(hid_t file, dm_dataset *find) {
  void *handle = NULL;
  struct stat info;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || !handle ||
      fstat(*(int *)handle, &info) < 0 || !S_ISREG(info.st_mode))
    return dm_h5_fail(DM_E_INPUT, &find->at, "the open file cannot be identified");
  dm_io_identify(&info, find);
  return DM_OK;
}

/* Why the path could not be followed: names its first part that does not exist. */
static dm_status not_found(const dm_location *at, hid_t file, hid_t access,
                           const dm_h5_exit *leave) {
  if (leave->met)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "refused: it is a link into another file ('%.200s')",
                              leave->file),
                   "--allow-external follows it");
  dm_status status = dm_h5_fail(
      DM_E_INPUT, at, "cannot be opened: its path leads nowhere or in a circle, or it is damaged");
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

/* A hint for elements of an unsupported TYPE. */
static dm_status hint_at_type(dm_status status, hid_t set, hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_OPAQUE && H5Tget_size(type) == 2)
    return dm_hint(status, "if they are bfloat16 (ml_dtypes), an attribute must say so; in h5py: "
                           "dataset.attrs['dtype'] = 'bfloat16'");
  if (kind == H5T_COMPOUND && H5Aexists(set, "FIELD_0_NAME") > 0)
    return dm_hint(status, "it is a table of pandas or PyTables: write its numbers as a matrix, as "
                           "with h5py and frame.to_numpy()");
  return dm_hint(status, "supported: floats of 64, 32 and 16 bits, bfloat16, complex numbers, "
                         "integers and booleans");
}

static dm_status read_type(const dm_location *at, hid_t set, dm_dataset *find) {
  char text[DM_TYPE_TEXT];
  hid_t type = H5Dget_type(set);
  if (type < 0) return dm_h5_fail(DM_E_INPUT, at, "its element type cannot be read");
  dm_status status = DM_OK;
  if (!dm_h5_read_type(type, dm_h5_is_bfloat16(set), &find->dtype, &find->swapped, text))
    status = hint_at_type(dm_fail_at(DM_E_INPUT, at, "its elements are %s", text), set, type);
  H5Tclose(type);
  return status;
}

dm_status dm_examine_dataset(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find) {
  find->elsewhere = trust->external || trust->virtual;
  find->no_data = trust->no_data;
  if (H5Iget_type(set) != H5I_DATASET)
    return dm_fail_at(DM_E_INPUT, &find->at, "is a %s, not a dataset",
                      H5Iget_type(set) == H5I_GROUP ? "group" : "type");
  DM_TRY(read_type(&find->at, set, find));
  return dm_examine_storage(file, set, trust, find);
}

/* Examines a NumPy file. */
static dm_status examine_array(const dm_trust *trust, dm_dataset *find) {
  struct stat info;
  int fd = open(find->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return not_opened(&find->at);
  dm_status status =
      fstat(fd, &info) < 0 ? dm_fail_at(DM_E_IO, &find->at, "fstat: %s", strerror(errno)) : DM_OK;
  if (!status) dm_io_identify(&info, find);
  if (!status) status = dm_npy_examine(fd, trust, find);
  close(fd);
  return status;
}

dm_status dm_examine_open(const dm_location *at, const dm_trust *trust, dm_dataset *find,
                          int64_t *file) {
  dm_npy_kind kind = DM_NPY_NONE;
  *file = DM_UNOPENED;
  DM_TRY(check_file(at, &kind));
  if (kind == DM_NPY_ARRAY) return examine_array(trust, find);
  DM_TRY(dm_h5_start(trust->filters));
  DM_TRY(dm_h5_open_file(at, 0, file));
  return identify(*file, find);
}

dm_status dm_examine(const void *argument, void *result) {
  const dm_question *question = argument;
  dm_finding *find = result;
  memset(find, 0, sizeof *find);
  find->dataset.at = question->at;
  const dm_location *at = &find->dataset.at;
  hid_t file;
  DM_TRY(dm_examine_open(at, &question->trust, &find->dataset, &file));
  if (file == DM_UNOPENED) return DM_OK;
  if (!at->dataset[0]) DM_TRY(dm_find_dataset(file, &question->trust, &find->dataset.at));
  dm_h5_exit leave;
  hid_t access = dm_h5_access(question->trust.external, &leave);
  if (access < 0) return dm_h5_fail(DM_E_IO, at, "no access list");
  hid_t set = H5Oopen(file, at->dataset, access);
  if (set < 0) return not_found(at, file, access, &leave);
  dm_status status = dm_examine_dataset(&question->trust, file, set, &find->dataset);
  if (!status && question->provenance) status = dm_h5_read_attributes(at, set, &find->provenance);
  /* The process ends here, which closes everything else. */
  H5Oclose(set);
  H5Pclose(access);
  H5Fclose(file);
  return status;
}
