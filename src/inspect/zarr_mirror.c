#include "inspect/zarr_mirror.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "dataset/zarr.h"
#include "inspect/beside.h"
#include "inspect/conventions.h"
#include "inspect/zarr_attributes.h"
#include "io/read.h"

enum {
  MOST_NODES = 20000,
  MOST_GROUPS = 32,    /* in each other */
  MOST_DATA = 1 << 27, /* elements of masks and factors that are mirrored */
  MEMORY_STEP = 1 << 20
};

typedef struct zarr_mirror {
  dm_location at; /* of the folder */
  bool follow;
  const char *wanted; /* "/group/array": nothing else is needed; NULL: everything is */
  int64_t nodes;
  int depth;
} zarr_mirror;

/* ---- arrays ---- */

/* Whether the elements of an array called NAME may say something about others. */
static bool mirror_may_tell(const char *name) {
  const size_t length = strlen(name);
  for (const dm_convention *row = dm_conventions; row < dm_conventions + dm_conventions_count;
       row++) {
    const dm_mark *const marks[] = {&row->mark, &row->also};
    for (int i = 0; i < 2; i++) {
      if (marks[i]->place != DM_BESIDE) continue;
      for (const char *at = marks[i]->names; at; at = strchr(at, '|')) {
        at += *at == '|';
        const bool star = *at == '*';
        const size_t wanted = strcspn(at, "|") - star;
        if (star ? length > wanted && memcmp(name + length - wanted, at + 1, wanted) == 0
                 : length == wanted && memcmp(name, at, wanted) == 0)
          return true;
      }
    }
  }
  return false;
}

/* The type of the mirrored array; < 0: HDF5 failed. */
static hid_t mirror_type(dm_dtype dtype, bool text) {
  static const char *const names[] = {"FALSE", "TRUE"};
  if (text) return H5Tcopy(H5T_C_S1);
  if (dtype == DM_DTYPE_NONE) {
    const hid_t opaque = H5Tcreate(H5T_OPAQUE, 1);
    if (opaque >= 0 && H5Tset_tag(opaque, "Zarr") < 0) H5Eclear2(H5E_DEFAULT);
    return opaque;
  }
  if (dtype != DM_BOOL) return dm_h5_make_type(dtype);
  const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
  for (int8_t i = 0; i < 2 && type >= 0; i++)
    if (H5Tenum_insert(type, names[i], &i) < 0) H5Eclear2(H5E_DEFAULT);
  return type;
}

/* A space with the shape of ZARR, or of a single value if that is not known. */
static hid_t mirror_space(const dm_zarr *zarr) {
  hsize_t dims[DM_AXES];
  for (int i = 0; i < zarr->rank; i++) dims[i] = (hsize_t)zarr->extent[i];
  return zarr->rank > 0 ? H5Screate_simple(zarr->rank, dims, NULL) : H5Screate(H5S_SCALAR);
}

/* Copies the elements of the array AT to SET. */
static dm_status mirror_copy(const zarr_mirror *m, const dm_location *at, const dm_zarr *zarr,
                             const struct stat *info, hid_t set) {
  DM_FREED dm_dataset *d = NULL;
  DM_FREED void *memory = NULL;
  dm_reader *reader;
  DM_TRY(dm_buffer_table(1, &d));
  d->at = *at;
  d->elsewhere = m->follow;
  d->no_data = true; /* writers leave out chunks that hold nothing but the fill value */
  d->inode = (uint64_t)info->st_ino;
  if (!dm_zarr_dataset(zarr, (int)dm_max(1, zarr->rank - 1), d))
    return dm_fail_at(DM_E_INPUT, at, "declares more elements than 64 bits can count");
  if (dm_dataset_is_empty(d)) return DM_OK;
  DM_TRY(dm_buffer_alloc(d->rows * d->cols * dm_dtype_size(d->dtype), &memory));
  DM_TRY(dm_reader_open(d, DM_DTYPE_NONE, &reader));
  const dm_view view = dm_view_row_major(memory, d->dtype, d->rows, d->cols);
  dm_status status = dm_reader_read(reader, 0, 0, &view, 1, false);
  dm_reader_close(reader);
  DM_TRY(status);
  DM_H5_HELD hid_t type = H5Dget_type(set);
  return type >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory) >= 0
             ? DM_OK
             : dm_h5_fail(DM_E_INPUT, at, "it cannot be mirrored");
}

/* Makes NAME of GROUP an array whose elements HDF5 cannot read, as those of the store cannot be: a
 * chunk of it does not match its checksum. */
static dm_status mirror_unreadable(const dm_location *at, hid_t group, const char *name, hid_t type,
                                   hid_t space) {
  static const unsigned char wrong[] = {1, 2, 3, 4, 5, 6, 7, 8};
  hsize_t chunk[DM_AXES], origin[DM_AXES] = {0};
  const hsize_t one = 1;
  const int rank = H5Sget_simple_extent_ndims(space);
  for (int i = 0; i < DM_AXES; i++) chunk[i] = 1;
  DM_H5_HELD hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  DM_H5_HELD hid_t line = H5Screate_simple(1, &one, NULL);
  const bool ready = rank >= 0 && creation >= 0 && line >= 0 &&
                     H5Pset_chunk(creation, (int)dm_max(1, rank), chunk) >= 0 &&
                     H5Pset_fletcher32(creation) >= 0;
  DM_H5_HELD hid_t set = ready ? H5Dcreate2(group, name, type, rank > 0 ? space : line, H5P_DEFAULT,
                                            creation, H5P_DEFAULT)
                               : -1;
  return set >= 0 && H5Dwrite_chunk(set, H5P_DEFAULT, 0, origin, sizeof wrong, wrong) >= 0
             ? DM_OK
             : dm_h5_fail(DM_E_INPUT, at, "it cannot be mirrored");
}

/* Creates the array NAME of GROUP, and *set, for its attributes. */
static dm_status mirror_create(const dm_location *at, hid_t group, const char *name,
                               const dm_zarr *zarr, hid_t *set) {
  DM_H5_HELD hid_t type = mirror_type(zarr->dtype, zarr->text), space = mirror_space(zarr);
  *set = type < 0 || space < 0
             ? -1
             : H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  return *set >= 0 ? DM_OK : dm_h5_fail(DM_E_INPUT, at, "it cannot be mirrored");
}

/* Replaces the array NAME of GROUP by one that cannot be read. */
static dm_status mirror_break(const dm_location *at, hid_t group, const char *name,
                              const dm_zarr *zarr) {
  DM_H5_HELD hid_t type = mirror_type(zarr->dtype == DM_DTYPE_NONE ? DM_U8 : zarr->dtype, false);
  DM_H5_HELD hid_t space = mirror_space(zarr);
  return type < 0 || space < 0 || H5Ldelete(group, name, H5P_DEFAULT) < 0
             ? dm_h5_fail(DM_E_INPUT, at, "it cannot be mirrored")
             : mirror_unreadable(at, group, name, type, space);
}

static bool mirror_is_small(const dm_zarr *zarr) {
  int64_t elements = 1;
  for (int i = 0; i < zarr->rank; i++)
    if (dm_mul_overflows(elements, zarr->extent[i], &elements)) return false;
  return elements <= MOST_DATA;
}

static dm_status mirror_array(const zarr_mirror *m, const dm_location *at, hid_t group,
                              const char *name, const dm_zarr_node *node) {
  dm_zarr zarr;
  hid_t created;
  dm_status bad = dm_zarr_parse(at, node, &zarr); /* who examines the array meets it again */
  DM_TRY(mirror_create(at, group, name, &zarr, &created));
  DM_H5_HELD hid_t set = created;
  DM_TRY(dm_zarr_attributes(at, node, &zarr, set));
  if (!mirror_may_tell(name) || zarr.dtype == DM_DTYPE_NONE) {
    dm_status_free(bad);
    return DM_OK;
  }
  if (!bad && !mirror_is_small(&zarr)) bad = dm_fail(DM_E_INPUT, "it is too large");
  if (!bad) bad = mirror_copy(m, at, &zarr, &node->info, set);
  if (!bad) return DM_OK;
  dm_status_free(bad);
  H5Eclear2(H5E_DEFAULT);
  return mirror_break(at, group, name, &zarr);
}

/* ---- groups ---- */

static dm_status zarr_mirror_members(zarr_mirror *m, const char *path, hid_t group);

/* Whether PATH leads to what is wanted, or is it. */
static bool mirror_is_on_way(const zarr_mirror *m, const char *path) {
  const size_t length = strlen(path);
  return m->wanted && strncmp(m->wanted, path, length) == 0 &&
         (m->wanted[length] == '/' || m->wanted[length] == '\0');
}

/* Mirrors the node at PATH, which is NODE, as NAME of GROUP. */
static dm_status mirror_node(zarr_mirror *m, const char *path, const dm_zarr_node *node, hid_t into,
                             const char *name) {
  dm_location at = m->at;
  snprintf(at.dataset, sizeof at.dataset, "%s", path);
  if (++m->nodes > MOST_NODES)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, &m->at, "holds more than %d arrays and groups", MOST_NODES),
        "name one of them");
  if (node->is_array) return mirror_array(m, &at, into, name, node);
  DM_H5_HELD hid_t group = H5Gcreate2(into, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) return dm_h5_fail(DM_E_INPUT, &at, "it cannot be mirrored");
  DM_TRY(dm_zarr_attributes(&at, node, NULL, group));
  return m->wanted && !mirror_is_on_way(m, path) ? DM_OK : zarr_mirror_members(m, path, group);
}

static dm_status mirror_member(zarr_mirror *m, const char *above, const char *name, hid_t group) {
  static const dm_zarr nothing = {.dtype = DM_DTYPE_NONE};
  char path[DM_PATH];
  dm_zarr_node node;
  if (snprintf(path, sizeof path, "%s/%s", above, name) >= DM_PATH) return DM_OK;
  const bool on_way = mirror_is_on_way(m, path);
  dm_status status = dm_zarr_read_node(&m->at, path, m->follow, &node);
  if (!status && (node.is || on_way))
    status = mirror_node(m, path, &node, group, name);
  else if (status && status->code == DM_E_INPUT && !on_way) { /* it may stand beside something */
    hid_t set;
    dm_status_free(status);
    status = mirror_create(&m->at, group, name, &nothing, &set);
    const DM_H5_HELD hid_t held = status ? -1 : set;
    (void)held;
    if (!status) status = mirror_break(&m->at, group, name, &nothing);
  }
  dm_zarr_node_free(&node);
  return status;
}

/* Whether ENTRY of the open folder may be a node. */
static bool mirror_is_folder(const zarr_mirror *m, int folder, const struct dirent *entry) {
  struct stat info;
  if (entry->d_name[0] == '.') return false; /* also those of version 2, and "." and ".." */
  if (entry->d_type == DT_REG) return false;
  return fstatat(folder, entry->d_name, &info, m->follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
         (S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode));
}

static dm_status zarr_mirror_members(zarr_mirror *m, const char *path, hid_t group) {
  int fd;
  if (m->depth == MOST_GROUPS)
    return dm_fail_at(DM_E_INPUT, &m->at, "has more than %d groups in each other", MOST_GROUPS);
  DM_TRY(dm_zarr_open(&m->at, path, m->follow, true, &fd));
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder) {
    if (fd >= 0) close(fd);
    return dm_fail_at(DM_E_IO, &m->at, "its folder '%.200s' cannot be read", path);
  }
  m->depth++;
  dm_status status = DM_OK;
  for (const struct dirent *entry; !status && (entry = readdir(folder)) != NULL;)
    if (mirror_is_folder(m, fd, entry)) status = mirror_member(m, path, entry->d_name, group);
  m->depth--;
  closedir(folder);
  return status;
}

/* ---- the store ---- */

static dm_status mirror_file(const dm_location *at, int64_t *file) {
  DM_H5_HELD hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const bool ready = access >= 0 && H5Pset_fapl_core(access, MEMORY_STEP, 0) >= 0 &&
                     H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0;
  /* No such file can exist: nothing is opened. */
  *file = ready ? H5Fcreate("/dev/null/zarr", H5F_ACC_TRUNC, H5P_DEFAULT, access) : -1;
  H5Eclear2(H5E_DEFAULT);
  return *file >= 0 ? DM_OK : dm_h5_fail(DM_E_IO, at, "it cannot be mirrored");
}

/* The folder is an array: mirrors the group around it, if there is one. */
static dm_status mirror_around(zarr_mirror *m, const dm_zarr_node *node, hid_t root,
                               char name[DM_PATH]) {
  char whole[PATH_MAX];
  dm_zarr_node above = {.is = false};
  char *slash = realpath(m->at.file, whole) ? strrchr(whole, '/') : NULL;
  if (!slash || slash[1] == '\0' || strlen(whole) >= DM_PATH)
    snprintf(name, DM_PATH, "/array");
  else
    snprintf(name, DM_PATH, "%.*s", DM_PATH - 1, slash);
  if (slash) {
    slash[slash == whole] = '\0';
    dm_location around = {.file = ""};
    snprintf(around.file, sizeof around.file, "%.*s", DM_PATH - 1, whole);
    if (strlen(whole) < DM_PATH && dm_zarr_is(&around))
      DM_TRY(dm_zarr_read_node(&around, "", m->follow, &above));
    if (above.is && !above.is_array) m->at = around;
  }
  dm_status status = DM_OK;
  if (above.is && !above.is_array) {
    m->wanted = name;
    status = dm_zarr_attributes(&m->at, &above, NULL, root);
    if (!status) status = zarr_mirror_members(m, "", root);
  } else {
    status = mirror_array(m, &m->at, root, name + 1, node);
  }
  dm_zarr_node_free(&above);
  return status;
}

static dm_status mirror_all(zarr_mirror *m, const dm_zarr_node *node, hid_t root,
                            char name[DM_PATH]) {
  dm_zarr_node target = {.is = false};
  if (node->is_array) return mirror_around(m, node, root, name);
  const char *dataset = m->at.dataset;
  dm_status wrong = dataset[0] ? dm_zarr_read_node(&m->at, dataset, m->follow, &target) : DM_OK;
  m->wanted = target.is_array || wrong ? dataset : NULL;
  dm_zarr_node_free(&target);
  DM_TRY(wrong);
  DM_TRY(dm_zarr_attributes(&m->at, node, NULL, root));
  return zarr_mirror_members(m, "", root);
}

dm_status dm_zarr_mirror(const dm_location *at, const dm_trust *trust, int64_t *file,
                         char name[DM_PATH]) {
  zarr_mirror m = {.at = *at, .follow = trust->external};
  dm_zarr_node node;
  name[0] = '\0';
  *file = -1;
  dm_status status = dm_zarr_read_node(at, "", m.follow, &node);
  if (!status) status = mirror_file(at, file);
  if (!status) status = mirror_all(&m, &node, *file, name);
  dm_zarr_node_free(&node);
  if (status && *file >= 0) H5Fclose(*file);
  return status;
}
