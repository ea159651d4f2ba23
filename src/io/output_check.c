#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/child.h"
#include "io/output_file.h"

static bool is_file_of(const struct stat *info, const dm_dataset *dataset) {
  return (uint64_t)info->st_dev == dataset->device && (uint64_t)info->st_ino == dataset->inode;
}

static dm_status check_inputs(const dm_location *at, const struct stat *info,
                              const dm_dataset *inputs, int count) {
  for (int i = 0; i < count; i++)
    if (is_file_of(info, &inputs[i]))
      return dm_hint(
          dm_fail_at(DM_E_USAGE, at, "the output is also an input ('%s')", inputs[i].at.file),
          "name another output file");
  return DM_OK;
}

static dm_status check_directory(const dm_location *at) {
  char directory[DM_PATH];
  struct stat info;
  dm_output_directory(at->file, directory);
  if (stat(directory, &info) < 0)
    return dm_fail_at(DM_E_IO, at, "its directory '%s': %s", directory, strerror(errno));
  if (!S_ISDIR(info.st_mode)) return dm_fail_at(DM_E_IO, at, "'%s' is not a directory", directory);
  if (access(directory, W_OK | X_OK) < 0)
    return dm_fail_at(DM_E_IO, at, "its directory '%s' cannot be written: %s", directory,
                      strerror(errno));
  return DM_OK;
}

/* Whatever makes an existing file unfit to be replaced is an answer to what the user asked for. */
static dm_status as_usage(const dm_location *at, dm_status status) {
  if (!status || status->code == DM_E_USAGE || status->code == DM_E_IO) return status;
  dm_status usage =
      dm_fail_at(DM_E_USAGE, at, "exists and is no HDF5 file that damier could replace");
  dm_hint(usage, "nothing was touched; remove it or name another output");
  dm_status_free(status);
  return usage;
}

static dm_status check_existing(const dm_location *at, const struct stat *info, bool force,
                                const dm_dataset *inputs, int count) {
  if (S_ISLNK(info->st_mode))
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "is a symbolic link"),
                   "name the file that it leads to");
  if (S_ISDIR(info->st_mode)) return dm_fail_at(DM_E_USAGE, at, "is a directory");
  if (!S_ISREG(info->st_mode)) return dm_fail_at(DM_E_USAGE, at, "is not a regular file");
  DM_TRY(check_inputs(at, info, inputs, count));
  if (!force)
    return dm_hint(dm_fail_at(DM_E_USAGE, at, "the file exists"),
                   "--force replaces it if it holds nothing but that dataset");
  char nothing = 0;
  return as_usage(at, dm_child_run(at, dm_output_holds_only, at, &nothing, sizeof nothing));
}

/* An output may have the name NAME.part of another one's part file: then it is an input in use. */
static dm_status check_part(const dm_location *at, bool force, const dm_dataset *inputs, int count,
                            const dm_dataset *replaced) {
  char part[DM_PATH + 8];
  struct stat info;
  DM_TRY(dm_output_part_name(at, part));
  if (lstat(part, &info) == 0) {
    DM_TRY(check_inputs(at, &info, inputs, count));
    if (replaced) DM_TRY(check_inputs(at, &info, replaced, 1));
  }
  bool resumable;
  DM_TRY(dm_journal_look(at, &resumable));
  return resumable ? DM_OK : dm_output_leftover(at, part, force, false);
}

dm_status dm_output_check(dm_location *location, const char *default_name, bool force,
                          const dm_dataset *inputs, int count, const dm_dataset *replaced) {
  struct stat info;
  if (!location->dataset[0])
    snprintf(location->dataset, sizeof location->dataset, "%s%s", *default_name == '/' ? "" : "/",
             default_name);
  if (strcmp(location->dataset, "/") == 0 || strncmp(location->dataset, "/.damier", 8) == 0)
    return dm_fail_at(DM_E_USAGE, location, "is no name for a dataset of the user");
  if (strlen(location->file) > 0 && location->file[strlen(location->file) - 1] == '/')
    return dm_fail_at(DM_E_USAGE, location, "is a directory");
  if (lstat(location->file, &info) == 0)
    DM_TRY(check_existing(location, &info, force, inputs, count));
  else if (errno != ENOENT && errno != ENOTDIR)
    return dm_fail_at(DM_E_IO, location, "%s", strerror(errno));
  DM_TRY(check_directory(location));
  return check_part(location, force, inputs, count, replaced);
}
