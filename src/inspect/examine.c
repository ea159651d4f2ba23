#include "inspect/inspect_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/composite.h"
#include "dataset/file_system.h"
#include "dataset/hdf5_compound.h"
#include "dataset/hdf5_driver.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "dataset/members.h"
#include "dataset/zarr.h"
#include "inspect/foreign.h"
#include "inspect/known_files.h"
#include "inspect/zarr_mirror.h"
#include "io/read.h"

/* Whether AT was written as SCHEME://HOST/..., which is taken for a dataset of a file. */
static bool is_url(const dm_location *at) {
  static const char *const schemes[] = {"s3", "gs", "gcs", "http", "https", "az", "abfs", "file"};
  bool is = false;
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    is |= strcmp(at->file, schemes[i]) == 0;
  return is && at->dataset[0];
}

static dm_status not_opened(const dm_location *at) {
  const int reason = errno;
  if (is_url(at))
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "is a URL, and only files and folders are read"),
                   "copy it to a disk first; a file has no scheme before its path");
  dm_status status = dm_fail_at(DM_E_IO, at, "cannot be opened: %s", strerror(reason));
  if (at->file[0] == '~') return dm_file_hint_home(status);
  return (reason == ENOENT && strchr(at->file, ':')) || reason == ENOTDIR
             ? dm_hint(status, "a matrix is named FILE.h5:/path/to/dataset")
             : status;
}

dm_status dm_examine_open_regular(const dm_location *at, int *fd) {
  struct stat info;
  if (stat(at->file, &info) < 0) return not_opened(at);
  if (S_ISDIR(info.st_mode)) {
    DM_TRY(dm_foreign_folder(at));
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "is a directory, not a file"),
                   "name a file in it; '%s/*.h5' takes all of them as one matrix", at->file);
  }
  if (!S_ISREG(info.st_mode))
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "is %s, not a file",
                              S_ISFIFO(info.st_mode) ? "a pipe" : "a device or socket"),
                   "a matrix is read from a file: save it first");
  *fd = open(at->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  return *fd < 0 ? not_opened(at) : DM_OK;
}

/* Completes FIND if the open file FD has one of the other formats; *other. */
static dm_status examine_other(int fd, const dm_trust *trust, dm_dataset *find, bool *other) {
  const dm_location *at = &find->at;
  struct stat info;
  char byte;
  const int64_t got = dm_file_read_at(fd, &byte, 1, 0);
  if (got < 0 || fstat(fd, &info) < 0)
    return dm_fail_at(DM_E_IO, at, "cannot be read: %s", strerror(errno));
  if (got == 0) return dm_fail_at(DM_E_INPUT, at, "is an empty file");
  const dm_format *const *format = dm_formats;
  while (*format && !(*format)->is(fd)) format++;
  *other = *format != NULL;
  if (!*other) return DM_OK;
  dm_dataset_set_identity(&info, find);
  DM_TRY((*format)->examine(fd, trust, find));
  return dm_examine_stated(trust, find);
}

/* Identifies the file that HDF5 has open. */
static dm_status identify(hid_t file, dm_dataset *find) {
  void *handle = NULL;
  struct stat info;
  const bool known = H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle;
  if (known && find->members)
    return dm_members_identify(((const dm_h5_observer *)handle)->members, find);
  if (!known || fstat(*(int *)handle, &info) < 0 || !S_ISREG(info.st_mode))
    return dm_h5_fail(DM_E_INPUT, &find->at, "the open file cannot be identified");
  dm_dataset_set_identity(&info, find);
  return DM_OK;
}

/* A hint for elements of an unsupported TYPE. */
static dm_status hint_at_type(dm_status status, hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_OPAQUE && H5Tget_size(type) == 2)
    return dm_hint(status, "if they are bfloat16 (ml_dtypes), an attribute must say so; in h5py: "
                           "dataset.attrs['dtype'] = 'bfloat16'");
  return dm_hint(status, "supported: floats of 64, 32 and 16 bits, bfloat16, complex numbers, "
                         "integers and booleans");
}

static dm_status read_type(const dm_trust *trust, hid_t set, dm_dataset *find) {
  const dm_location *at = &find->at;
  char text[DM_TYPE_TEXT];
  DM_H5_HELD hid_t type = H5Dget_type(set);
  if (type < 0) return dm_h5_fail(DM_E_INPUT, at, "its element type cannot be read");
  find->bits = H5Tget_class(type) == H5T_BITFIELD;
  bool bfloat16;
  DM_TRY(dm_h5_is_bfloat16(at, set, type, &bfloat16));
  const H5T_class_t kind = H5Tget_class(type);
  if (!find->compound.path && dm_h5_read_type(type, bfloat16, &find->dtype, &find->swapped, text)) {
    find->names = dm_h5_complex_names(type);
    return DM_OK;
  }
  if (kind != H5T_COMPOUND && kind != H5T_ARRAY)
    return hint_at_type(dm_fail_at(DM_E_INPUT, at, "its elements are %s", text), type);
  DM_H5_HELD const hid_t space = H5Dget_space(set);
  const int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
  if (rank < 0) return dm_h5_fail(DM_E_INPUT, at, "its shape cannot be read");
  find->names = dm_h5_complex_names(type);
  return dm_h5_read_compound(trust, type, rank, find);
}

/* Attributes that cannot be read do not matter to who takes the stored numbers. */
static dm_status examine_origin(const dm_trust *trust, hid_t file, hid_t set, dm_dataset *find) {
  dm_status status = dm_examine_origin(trust, file, set, find);
  if (!trust->raw) return status;
  dm_status_free(status);
  return DM_OK;
}

dm_status dm_examine_dataset(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find) {
  find->elsewhere = trust->external;
  find->swmr = trust->swmr;
  find->no_data = trust->no_data;
  if (H5Iget_type(set) != H5I_DATASET) {
    bool is_constant = false;
    if (H5Iget_type(set) == H5I_GROUP && !find->zarr)
      DM_TRY(dm_examine_constant(trust, set, find, &is_constant));
    return is_constant ? DM_OK : dm_no_dataset(&find->at, trust, file, set);
  }
  if (find->zarr) {
    DM_TRY(dm_examine_zarr(trust, set, find));
  } else {
    DM_TRY(read_type(trust, set, find));
    DM_TRY(dm_examine_storage(file, set, trust, find));
  }
  DM_TRY(dm_examine_meaning(trust, file, set, find));
  if (find->origin == DM_ORIGIN_UNKNOWN) DM_TRY(examine_origin(trust, file, set, find));
  if (find->layout != DM_VIRTUAL) return DM_OK;
  if (!find->meaning.active) {
    dm_composite_sum_meanings(find);
    return DM_OK;
  }
  return dm_hint(
      dm_fail_at(DM_E_INPUT, &find->at,
                 "is a virtual dataset whose attributes say what its numbers mean (%.200s)",
                 find->meaning.text),
      "that is applied only to datasets that are stored: copy it (h5py: "
      "f['copy'] = f['name'][()], with its attributes); --raw takes the stored numbers");
}

/* STATUS, why HDF5 cannot open AT, unless it is a file of another format. */
static dm_status or_foreign(dm_status status, const dm_location *at) {
  if (!status || status->code != DM_E_INPUT) return status;
  dm_status foreign = dm_foreign_file(at);
  if (foreign) dm_status_free(status);
  return foreign ? foreign : status;
}

static dm_status open_examined(const dm_location *at, const dm_trust *trust, dm_members_kind kind,
                               int64_t *file) {
  dm_h5_log *log = trust->log;
  dm_h5_observer *observer;
  if (!log && !kind)
    return dm_h5_open_as(at, &(dm_h5_opening){.swmr = trust->swmr, .sparse = true}, file);
  dm_status status = dm_h5_open_observed(
      at, &(dm_h5_observed){kind != DM_MEMBERS_NONE, trust->swmr, true, log}, file, &observer);
  if (log) log->observer = observer;
  return status;
}

/* Makes *at, in whose place HDF5 finds no file, the first of several that were written as one, and
 * FIND all of them: *found. */
static dm_status examine_find_members(const dm_trust *trust, dm_location *at, dm_dataset *find,
                                      bool *found) {
  dm_members members;
  *found = dm_members_find(at->file, &members);
  if (!*found) return DM_OK;
  if (trust->known && !dm_members_is_name(&members, at->file))
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "is one of several files that HDF5 wrote as one"),
                   "name '%.200s' once", members.first);
  find->members = members.kind;
  memcpy(at->file, members.first, sizeof at->file);
  memcpy(find->at.file, members.first, sizeof at->file);
  return DM_OK;
}

/* Closes FILE and what errors left open. */
static void close_examined(const dm_trust *trust, bool observed, hid_t file) {
  dm_h5_close_observed(file, observed && trust->log ? trust->log->observer : NULL);
}

dm_status dm_examine_open(const dm_location *at, const dm_trust *trust, dm_dataset *find,
                          int64_t *file, char name[DM_PATH]) {
  int fd = -1;
  bool other = false;
  *file = -1;
  name[0] = '\0';
  find->zarr = !trust->nesting && dm_zarr_is(at);
  if (find->zarr) {
    DM_TRY(dm_h5_start(false));
    return dm_zarr_mirror(at, trust, file, name);
  }
  dm_location real = *at;
  bool several = false;
  if (access(at->file, F_OK) < 0 && errno == ENOENT)
    DM_TRY(examine_find_members(trust, &real, find, &several));
  DM_TRY(dm_examine_open_regular(&real, &fd));
  dm_status status = examine_other(fd, trust, find, &other);
  close(fd);
  if (status || other) return status;
  if (!trust->nesting) DM_TRY(dm_h5_start(trust->filters)); /* else HDF5 has it open */
  status = open_examined(&real, trust, find->members, file);
  if (status && status->code == DM_E_INPUT && !several) {
    dm_status failed = examine_find_members(trust, &real, find, &several);
    if (failed || several) dm_status_free(status);
    if (failed || several)
      status = failed ? failed : open_examined(&real, trust, find->members, file);
  }
  DM_TRY(several ? status : or_foreign(status, &real));
  status = identify(*file, find);
  if (status) close_examined(trust, true, *file);
  return status;
}

/* A dataset whose name ends like a part is meant by its name. */
static void take_literally(hid_t file, hid_t access, dm_location *at) {
  char name[2 * DM_PATH];
  bool exists = false;
  if (snprintf(name, sizeof name, "%s%s", at->dataset, at->part) >= DM_PATH || !at->dataset[0])
    return;
  /* Else what it would lie in is no group, and neither can be opened. */
  dm_status_free(dm_h5_has_link(at, file, name, access, &exists));
  if (!exists) return;
  memcpy(at->dataset, name, sizeof at->dataset);
  at->part[0] = '\0';
}

static dm_status examine_file(const dm_trust *trust, dm_dataset *find, dm_attributes *provenance) {
  const dm_location *at = &find->at;
  char own[DM_PATH]; /* of an array that is a folder, and has no name in it */
  hid_t file;
  DM_TRY(dm_examine_open(at, trust, find, &file, own));
  if (file < 0) return DM_OK;
  dm_status status = at->dataset[0] && own[0]
                         ? dm_fail_at(DM_E_INPUT, at, "is an array of Zarr, which has no name")
                     : at->dataset[0] || own[0] ? DM_OK
                                                : dm_find_dataset(file, trust, &find->at);
  dm_h5_exit leave;
  hid_t access = status ? -1 : dm_h5_access(trust->external, &leave);
  if (!status && access < 0) status = dm_h5_fail(DM_E_IO, at, "no access list");
  if (!status && at->part[0]) take_literally(file, access, &find->at);
  if (!status && !own[0]) status = dm_h5_split_member(file, access, find);
  char path[DM_PATH];
  hid_t set = status ? -1 : H5Oopen(file, own[0] ? own : dm_h5_set_name(find, path), access);
  if (!status && set < 0) status = dm_not_there(at, trust, file, access, &leave);
  if (!status) status = dm_examine_dataset(trust, file, set, find);
  if (!status && provenance) status = dm_h5_read_attributes(at, set, provenance);
  /* HDF5 would take long to free thousands of mappings: the process, which only inspects, ends. */
  if (!status && find->composite && !trust->known) return DM_OK;
  if (set >= 0) H5Oclose(set);
  if (access >= 0) H5Pclose(access);
  close_examined(trust, !find->zarr, file);
  return status;
}

/* The same, unless the file is like one that was examined before. */
static dm_status examine_whole(const dm_trust *trust, dm_dataset *find, dm_attributes *provenance) {
  const dm_location asked = find->at;
  dm_trust logged = *trust;
  if (!trust->known || provenance) return examine_file(trust, find, provenance);
  if (dm_known_find(trust->known, trust, find)) return DM_OK;
  logged.log = dm_known_start(trust->known);
  DM_TRY(examine_file(&logged, find, NULL));
  if (!find->zarr) dm_known_add(trust->known, trust, &asked, find);
  return DM_OK;
}

/* Whether the part of FIND, whose file says that it is complex along its last axis, states
 * something for that axis: then it is one of the stored numbers. */
static bool takes_reals(const dm_trust *trust, const dm_dataset *find) {
  const int count = dm_dataset_axes(find).count + (find->parts == DM_PARTS_LAST);
  return find->parts != DM_PARTS_TOGETHER && trust->complex_axis == DM_COMPLEX_AUTO &&
         dm_part_reaches(find->at.part, count);
}

/* *meaning: that of the whole dataset, which the caller frees. */
static dm_status examine_one(const dm_trust *trust, dm_dataset *find, dm_attributes *provenance,
                             dm_meaning *meaning) {
  dm_trust of_whole = *trust, of_part = *trust;
  const bool is_part = find->at.part[0] != '\0';
  of_whole.any_shape |= is_part;
  dm_status status = examine_whole(&of_whole, find, provenance);
  *meaning = find->meaning;
  DM_TRY(status);
  if (is_part && find->at.part[0] && takes_reals(trust, find)) {
    of_whole.complex_axis = DM_COMPLEX_NONE;
    *find = (dm_dataset){.at = find->at};
    DM_TRY(examine_whole(&of_whole, find, provenance));
  }
  find->meaning.missing = trust->missing;
  of_part.known = NULL; /* other files are read with other wishes */
  const dm_axes axes = dm_dataset_axes(find);
  if (find->at.part[0] && find->composite && axes.count > 2) {
    /* Its mappings were laid in another way than the part needs them. */
    of_whole.laid = 1 + dm_examine_part_rows(&of_part, find);
    if (of_whole.laid > 0 && of_whole.laid != 1 + axes.of_rows) {
      dm_dataset_free(find);
      *find = (dm_dataset){.at = find->at};
      DM_TRY(examine_whole(&of_whole, find, NULL));
      find->meaning.missing = trust->missing;
    }
  }
  if (find->at.part[0]) return dm_examine_part(&of_part, find);
  if (is_part) DM_TRY(dm_examine_lay(trust, &axes, find)); /* it was a name */
  return dm_meaning_points(&find->meaning) ? dm_composer_wrap(find) : DM_OK;
}

dm_status dm_examine_at(const dm_trust *trust, dm_dataset *find, dm_attributes *provenance) {
  dm_meaning meaning = {.active = false};
  dm_trust own = *trust;
  if (!trust->literal && dm_location_is_stack(&find->at)) return dm_examine_stack(trust, find);
  if (trust->fold.way != DM_NOT_FOLDED) {
    own.vectors = DM_AS_ROW;
    own.any_shape = true;
    own.row_axes = 0;
    own.batch = false;
  }
  dm_status status = examine_one(&own, find, provenance, &meaning);
  if (!status && trust->fold.way != DM_NOT_FOLDED) status = dm_examine_fold(&trust->fold, find);
  dm_meaning_free(&meaning);
  if (status) dm_dataset_free(find);
  return status;
}

dm_status dm_examine(const void *argument, void *result) {
  const dm_inspection *question = argument;
  dm_finding *find = result;
  memset(find, 0, sizeof *find);
  find->dataset.at = question->at;
  return dm_examine_at(&question->trust, &find->dataset,
                       question->provenance ? &find->provenance : NULL);
}
