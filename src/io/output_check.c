#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dataset/child.h"
#include "dataset/composite.h"
#include "dataset/file_system.h"
#include "io/output_impl.h"

static bool is_file_of(const struct stat *info, const dm_dataset *dataset) {
  const dm_composite *composite = dataset->composite;
  dm_dataset source = *dataset; /* then those of a composite, which are none */
  int64_t next = 0;
  while ((uint64_t)info->st_dev != source.device || (uint64_t)info->st_ino != source.inode) {
    if (!composite || next == composite->sources) return false;
    dm_composite_source(composite, next++, &source);
  }
  return true;
}

static dm_status check_inputs(const dm_location *at, const struct stat *info,
                              const dm_dataset *const *inputs, int count) {
  for (int i = 0; i < count; i++)
    if (is_file_of(info, inputs[i]))
      return dm_hint(
          dm_fail_at(DM_E_USAGE, at, "the output is also an input ('%s')", inputs[i]->at.file),
          "name another output file, or let --append add a dataset to this one");
  return DM_OK;
}

/* After an interruption the same command would compute from what it has replaced. */
static dm_status check_replaced(const dm_location *at, const struct stat *info,
                                const dm_dataset *const *inputs, int count) {
  for (int i = 0; i < count; i++)
    if (is_file_of(info, inputs[i]) &&
        (inputs[i]->composite || strcmp(inputs[i]->at.dataset, at->dataset) == 0))
      return dm_hint(
          dm_fail_at(DM_E_USAGE, at, "the dataset is also an input, or may be part of one"),
          "nothing was touched; name another dataset");
  return DM_OK;
}

static dm_status check_directory(const dm_location *at) {
  char directory[DM_PATH];
  struct stat info;
  dm_path_directory(at->file, directory);
  if (stat(directory, &info) < 0) {
    const int reason = errno;
    dm_status status =
        dm_fail_at(DM_E_IO, at, "its directory '%s': %s", directory, strerror(reason));
    if (directory[0] == '~') return dm_file_hint_home(status);
    return reason == ENOENT ? dm_hint(status, "mkdir -p '%s'", directory) : status;
  }
  if (!S_ISDIR(info.st_mode)) return dm_fail_at(DM_E_IO, at, "'%s' is not a directory", directory);
  if (access(directory, W_OK | X_OK) < 0)
    return dm_fail_at(DM_E_IO, at, "its directory '%s' cannot be written: %s", directory,
                      strerror(errno));
  return DM_OK;
}

/* In a folder with the sticky bit only the owner of the file, or of the folder, may replace it. */
static dm_status check_sticky(const dm_location *at, const struct stat *info) {
  char directory[DM_PATH];
  struct stat folder;
  dm_path_directory(at->file, directory);
  const uid_t me = geteuid();
  if (me == 0 || me == info->st_uid || stat(directory, &folder) < 0 ||
      !(folder.st_mode & S_ISVTX) || me == folder.st_uid)
    return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, at,
                            "belongs to another user, and its folder '%s' (sticky bit) lets only "
                            "that user replace it",
                            directory),
                 "nothing was touched; name another output");
}

/* Reports whatever makes an existing file unfit for replacement as a usage error. */
static dm_status as_usage(const dm_location *at, dm_status status) {
  if (!status || status->code == DM_E_USAGE || status->code == DM_E_IO) return status;
  dm_status usage =
      dm_fail_at(DM_E_USAGE, at, "exists and is not an HDF5 file that damier could replace");
  dm_hint(usage, "nothing was touched; remove it or name another output");
  dm_status_free(status);
  return usage;
}

/* An output of NumPy replaces only a file of its format, which begins with MAGIC. */
static dm_status check_begins(const dm_location *at, const char *magic, const char *format) {
  char start[8];
  const size_t length = strlen(magic);
  const int fd = open(at->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int64_t bytes = fd < 0 ? -1 : dm_file_read_at(fd, start, (int64_t)length, 0);
  dm_status status = bytes < 0 ? dm_file_failed(at, at->file, "read") : DM_OK;
  if (fd >= 0) close(fd);
  DM_TRY(status);
  if (bytes == (int64_t)length && memcmp(start, magic, length) == 0) return DM_OK;
  return dm_fail_at(DM_E_USAGE, at, "exists and is not a %s file; nothing was touched", format);
}

static dm_status is_directory(const dm_location *at) {
  const bool slash = at->file[strlen(at->file) - 1] == '/';
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "is a directory"), "name a file in it: %s%sC.h5",
                 at->file, slash ? "" : "/");
}

/* A folder of Zarr is replaced if it is a whole array that damier wrote. */
static dm_status check_store(const dm_location *at, bool force, const dm_dataset *const *inputs,
                             int count) {
  dm_location metadata = *at;
  struct stat info;
  if ((size_t)snprintf(metadata.file, sizeof metadata.file, "%.*s/zarr.json", DM_PATH - 16,
                       at->file) < sizeof metadata.file &&
      stat(metadata.file, &info) == 0)
    DM_TRY(check_inputs(at, &info, inputs, count));
  if (force) return dm_store_holds_only(at);
  return dm_hint(dm_fail_at(DM_E_USAGE, at, "the folder exists"),
                 "--force replaces it if it holds nothing but an array that damier wrote");
}

static dm_status check_existing(const dm_location *at, const struct stat *info, bool force,
                                const dm_dataset *const *inputs, int count,
                                dm_output_form *appended) {
  const bool of_numpy = dm_output_is_npy(at) || dm_output_is_npz(at);
  if (S_ISLNK(info->st_mode))
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "is a symbolic link"),
                   "name the file that it points to");
  if (S_ISDIR(info->st_mode) && dm_output_is_zarr(at)) return check_store(at, force, inputs, count);
  if (S_ISDIR(info->st_mode)) return is_directory(at);
  if (!S_ISREG(info->st_mode)) return dm_fail_at(DM_E_USAGE, at, "is not a regular file");
  if (appended || force) DM_TRY(check_sticky(at, info));
  if (appended) {
    DM_TRY(dm_recast_check(at, force, appended));
    return appended->replaces ? check_replaced(at, info, inputs, count) : DM_OK;
  }
  DM_TRY(check_inputs(at, info, inputs, count));
  if (!force)
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "the file exists"), "--force replaces it%s%s",
                   of_numpy ? "" : " if it holds nothing but that dataset",
                   of_numpy || count == 0 /* generate */ ? "" : "; --append adds another one");
  if (dm_output_is_npy(at)) return check_begins(at, "\x93NUMPY", ".npy");
  if (dm_output_is_npz(at)) return check_begins(at, "PK\3\4", ".npz");
  char nothing = 0;
  return as_usage(at, dm_child_run(at, dm_output_holds_only, at, &nothing, sizeof nothing));
}

/* An input may have the name of a temporary file of this run. */
static dm_status check_siblings(const dm_location *at, const dm_dataset *const *inputs, int count,
                                const dm_dataset *replaced) {
  for (int i = 0; dm_output_endings[i]; i++) {
    char path[DM_SIBLING_PATH];
    struct stat info;
    DM_TRY(dm_file_sibling(at, dm_output_endings[i], path));
    if (stat(path, &info) < 0) continue;
    bool used = replaced && is_file_of(&info, replaced);
    for (int j = 0; j < count; j++) used |= is_file_of(&info, inputs[j]);
    if (used)
      return dm_hint(dm_fail_at(DM_E_USAGE, at, "the temporary file '%s' is an input", path),
                     "name another output file");
  }
  return DM_OK;
}

static dm_status check_part(const dm_location *at, const dm_dataset *const *inputs, int count,
                            const dm_dataset *replaced) {
  char part[DM_SIBLING_PATH];
  bool resumable;
  DM_TRY(check_siblings(at, inputs, count, replaced));
  DM_TRY(dm_file_sibling(at, ".part", part));
  DM_TRY(dm_journal_inspect(at, &resumable));
  return resumable ? DM_OK : dm_output_leftover(at, part, false);
}

static void name_dataset(dm_location *location, const char *default_name) {
  if (location->dataset[0]) return;
  snprintf(location->dataset, sizeof location->dataset, "%s%s", *default_name == '/' ? "" : "/",
           default_name);
}

/* DM_E_USAGE: the name of AT ends like that of a file of another format. */
static dm_status check_ending(const dm_location *at) {
  static const char *const endings[] = {
      "csv",   "tsv",  "txt", "json",   "mat",     "nc",    "nc3",         "nc4",  "cdf",  "netcdf",
      "npz",   "n5",   "mtx", "mm",     "feather", "arrow", "parquet",     "orc",  "avro", "xls",
      "xlsx",  "ods",  "pkl", "pickle", "pt",      "pth",   "safetensors", "gguf", "rds",  "rda",
      "rdata", "fits", "fit", "tif",    "tiff",    "png",   "jpg",         "jpeg", "root", "bp",
      "grib",  "hdf4", "h4",  "zip",    "tar",     "gz",    "tgz",         "bz2",  "xz",   "dta",
      "sav",   "nii",  "dcm", "nrrd",   "mrc",     "vtk",   "sas7bdat",    "gif",  "svg",  "log",
      "toml",  "ini",  "tex", "doc",    "docx",    "odt",   "py",          "m",    "r",    "zst",
      "lz4",   "7z",   "db",  "sqlite", "html",    "xml",   "yaml",        "md",   "pdf"};
  const char *slash = strrchr(at->file, '/'), *name = slash ? slash + 1 : at->file;
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++)
    if (strcasecmp(dot + 1, endings[i]) == 0)
      return dm_hint(
          dm_fail_at(DM_E_USAGE, at, "'%s' files cannot be written", dot),
          "C is written as HDF5 (.h5, .hdf5), in NumPy's format (.npy) or as Zarr (.zarr); "
          "name such a file, and convert it");
  return DM_OK;
}

/* Whether a file may have that name, in its place. */
static dm_status check_output_place(const dm_location *at, bool force,
                                    const dm_dataset *const *inputs, int count,
                                    const dm_dataset *replaced, dm_output_form *appended) {
  struct stat info;
  dm_status status = DM_OK;
  if (strlen(at->file) > 0 && at->file[strlen(at->file) - 1] == '/') return is_directory(at);
  if (lstat(at->file, &info) == 0)
    status = check_existing(at, &info, force, inputs, count, appended);
  else if (errno != ENOENT && errno != ENOTDIR)
    status = dm_fail_at(DM_E_IO, at, "%s", strerror(errno));
  if (!status && appended && appended->replaces && replaced)
    status = check_replaced(at, &info, &replaced, 1);
  if (!status) status = check_directory(at);
  return status ? status : check_part(at, inputs, count, replaced);
}

static dm_status check_no_part(const dm_location *at) {
  return at->part[0] ? dm_fail_at(DM_E_USAGE, at, "an output is a whole dataset, not a part of one")
                     : DM_OK;
}

dm_status dm_output_check(dm_location *location, const char *default_name, bool force,
                          const dm_dataset *const *inputs, int count, const dm_dataset *replaced,
                          dm_output_form *appended) {
  struct stat info;
  DM_TRY(check_no_part(location));
  if (dm_output_is_alone(location) && (location->dataset[0] || appended))
    return dm_fail_at(DM_E_USAGE, location, "%s holds one array, without a name",
                      dm_output_is_npy(location) ? "a .npy file" : "a .zarr folder");
  /* A dataset may be added to an HDF5 file of any name. */
  const bool exists = lstat(location->file, &info) == 0;
  if (!appended || !exists) DM_TRY(check_ending(location));
  /* Only the part file of a .npy file has a dataset, which is not shown. */
  if (!dm_output_is_alone(location)) name_dataset(location, default_name);
  if (strcmp(location->dataset, "/") == 0 || strncmp(location->dataset, "/.damier", 8) == 0)
    return dm_fail_at(DM_E_USAGE, location, "is a name that damier keeps for itself");
  dm_status status = check_output_place(location, force, inputs, count, replaced, appended);
  name_dataset(location, default_name);
  return status;
}

dm_status dm_output_check_arrays(dm_location *location, const char *default_name, bool force,
                                 const dm_dataset *const *inputs, int count) {
  if (dm_output_is_zarr(location))
    return dm_hint(dm_fail_at(DM_E_USAGE, location, "several arrays are not written to Zarr"),
                   "name an HDF5 file (.h5), or an archive of NumPy (.npz)");
  if (!dm_output_is_npz(location))
    return dm_output_check(location, default_name, force, inputs, count, NULL, NULL);
  DM_TRY(check_no_part(location));
  if (location->dataset[0])
    return dm_fail_at(DM_E_USAGE, location, "a .npz file holds arrays, without a group");
  return check_output_place(location, force, inputs, count, NULL, NULL);
}
