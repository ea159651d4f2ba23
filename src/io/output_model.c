/* The structure of an output: HDF5 creates it in a file in memory, which is copied. So a part file
 * starts with a complete structure, and no file that others may use is truncated. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/codec.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "io/batch.h"
#include "io/output_form.h"
#include "io/output_impl.h"

enum { ALIGN_FROM = 1 << 16, OUTPUT_ALIGNMENT = 4096, LOOKED_AT = 1 << 16 };

/* Contiguous: allocates the dataset's space at once, without filling. In chunks: all will be
 * written. */
static bool set_layout(hid_t creation, const dm_output_form *form) {
  if (H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) < 0) return false;
  if (!form)
    return H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 &&
           H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0;
  hsize_t chunk[DM_AXES];
  const unsigned level = (unsigned)form->zstd;
  const int rank = dm_h5_dims(&form->leads, 1, form->chunk_rows, form->chunk_cols, chunk);
  return H5Pset_chunk(creation, rank, chunk) >= 0 &&
         (!form->shuffle || H5Pset_shuffle(creation) >= 0) &&
         (form->deflate == 0 || H5Pset_deflate(creation, (unsigned)form->deflate) >= 0) &&
         (form->zstd == 0 || /* optional: this program's HDF5 need not have it */
          H5Pset_filter(creation, DM_ZSTD_FILTER, H5Z_FLAG_OPTIONAL, 1, &level) >= 0);
}

static hid_t create_dataset(hid_t file, const dm_output_file *out, const dm_output_form *form) {
  hsize_t dims[DM_AXES];
  const int64_t rows = out->rows / dm_leads_entries(&out->leads);
  const int rank = dm_h5_dims(&out->leads, 0, rows, out->cols, dims);
  DM_H5_HELD hid_t space = H5Screate_simple(rank, dims, NULL),
                   type = dm_h5_make_named_type(out->dtype, out->at.names);
  DM_H5_HELD hid_t creation = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
  const bool ready = space >= 0 && type >= 0 && creation >= 0 && links >= 0 &&
                     set_layout(creation, form) && H5Pset_create_intermediate_group(links, 1) >= 0;
  return ready ? H5Dcreate2(file, out->at.dataset, type, space, links, creation, H5P_DEFAULT) : -1;
}

dm_status dm_output_add(int64_t file, dm_output_file *out, const dm_output_form *form) {
  hid_t set = create_dataset(file, out, form);
  if (set < 0) return dm_h5_fail(DM_E_IO, &out->at, "the dataset cannot be created");
  dm_status status = dm_h5_write_text(&out->at, set, DM_STATE, "incomplete");
  if (!status && out->dtype == DM_BF16)
    status = dm_h5_write_text(&out->at, set, "dtype", "bfloat16");
  haddr_t offset = form ? 0 : H5Dget_offset(set);
  if (!status && offset > INT64_MAX)
    status = dm_h5_fail(DM_E_IO, &out->at, "the dataset was created without space");
  out->offset = (int64_t)offset;
  if (H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &out->at, "the dataset cannot be closed");
  return status;
}

enum { MARK_LENGTH = 20 };

/* Of fixed length, at the root, so that it keeps its place whatever a commit adds to the dataset.
 */
static dm_status write_fixed(hid_t root, const dm_output_file *out, const char *name,
                             const char *text, size_t length) {
  char padded[DM_ID] = "";
  DM_H5_HELD hid_t attribute = -1;
  DM_H5_HELD hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
  DM_TRY(dm_h5_open_attribute(&out->at, root, name, &attribute));
  memcpy(padded, text, strlen(text));
  const bool ready = space >= 0 && type >= 0 && H5Tset_size(type, length) >= 0 &&
                     H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0;
  if (ready && attribute < 0)
    attribute = H5Acreate2(root, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (ready && attribute >= 0 && H5Awrite(attribute, type, padded) >= 0) return DM_OK;
  return dm_h5_fail(DM_E_IO, &out->at, "its attribute '%s' cannot be written", name);
}

static dm_status write_id(hid_t file, const dm_output_file *out) {
  DM_H5_HELD hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
  DM_TRY(write_fixed(root, out, DM_ID_NAME, out->id, DM_ID_LENGTH));
  return write_fixed(root, out, DM_MARK, DM_UNFINISHED, MARK_LENGTH);
}

dm_status dm_output_mark_finished(int64_t file, const dm_output_file *out) {
  bool marked;
  DM_TRY(dm_h5_has_attribute(&out->at, file, DM_MARK, &marked));
  if (!marked) return DM_OK; /* a file of the user, to which C was added */
  return write_fixed(file, out, DM_MARK, DM_FINISHED, MARK_LENGTH);
}

dm_status dm_output_make_id(dm_output_file *out) {
  uint64_t bits[2];
  if (getrandom(bits, sizeof bits, 0) != sizeof bits)
    return dm_fail_at(DM_E_IO, &out->at, "no random number: %s", strerror(errno));
  snprintf(out->id, sizeof out->id, "%016llx%016llx", (unsigned long long)bits[0],
           (unsigned long long)bits[1]);
  return DM_OK;
}

const char *dm_output_by_descriptor(int fd, char path[DM_DESCRIPTOR]) {
  snprintf(path, DM_DESCRIPTOR, "/proc/self/fd/%d", fd);
  return path;
}

static dm_status build(dm_output_file *out, const dm_output_form *form, int model) {
  DM_H5_ALONE;
  char path[DM_DESCRIPTOR];
  DM_TRY(dm_h5_start(false));
  hid_t file = -1;
  DM_H5_HELD hid_t access = dm_h5_unlocked();
  /* The default driver opens nothing that has no name. */
  if (access >= 0 && H5Pset_alignment(access, ALIGN_FROM, OUTPUT_ALIGNMENT) >= 0 &&
      H5Pset_fapl_stdio(access) >= 0)
    file = H5Fcreate(dm_output_by_descriptor(model, path), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  dm_status status = file < 0 ? dm_h5_fail(DM_E_IO, &out->at, "its structure cannot be made")
                              : write_id(file, out);
  if (!status) status = dm_output_add(file, out, form);
  if (file >= 0 && H5Fclose(file) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &out->at, "its structure cannot be closed");
  return status;
}

dm_status dm_output_model(dm_output_file *out, const dm_output_form *form, int *model) {
  *model = memfd_create("damier", MFD_CLOEXEC);
  if (*model < 0) return dm_file_failed(&out->at, "a file in memory", "created");
  dm_status status = build(out, form, *model);
  if (!status) return DM_OK;
  close(*model);
  *model = -1;
  return status;
}

static dm_status output_copy_bytes(const dm_output_file *out, int model, int fd, int64_t begin,
                                   int64_t end) {
  DM_FREED void *bytes = NULL;
  if (begin >= end) return DM_OK;
  DM_TRY(dm_buffer_alloc(end - begin, &bytes));
  DM_TRY(dm_batch_move(model, false, out->part, bytes, end - begin, begin));
  return dm_batch_move(fd, true, out->part, bytes, end - begin, begin);
}

dm_status dm_output_copy_model(const dm_output_file *out, int model, int fd, int64_t *length) {
  struct stat info;
  int64_t data = 0;
  if (fstat(model, &info) < 0) return dm_file_failed(&out->at, out->part, "compared");
  *length = (int64_t)info.st_size;
  if (out->offset > 0) DM_TRY(dm_bytes_of(out->rows, out->cols, dm_dtype_size(out->dtype), &data));
  /* HDF5 would consider a longer file damaged. */
  if (*length < out->offset + data)
    return dm_fail_at(DM_E_IO, &out->at, "'%s' is too short after its creation", out->part);
  DM_TRY(output_copy_bytes(out, model, fd, 0, out->offset > 0 ? out->offset : *length));
  if (out->offset > 0) DM_TRY(output_copy_bytes(out, model, fd, out->offset + data, *length));
  return ftruncate(fd, (off_t)*length) < 0
             ? dm_file_failed(&out->at, out->part, "cut to its length")
             : DM_OK;
}

dm_status dm_output_find(const dm_location *at, const char *path, int fd, const char *text,
                         bool *found) {
  struct stat info;
  DM_FREED void *head = NULL;
  *found = false;
  if (fstat(fd, &info) < 0) return dm_file_failed(at, path, "read");
  const int64_t bytes = dm_min((int64_t)info.st_size, LOOKED_AT);
  if (bytes <= 0 || !text[0]) return DM_OK;
  DM_TRY(dm_buffer_alloc(bytes, &head));
  DM_TRY(dm_batch_move(fd, false, path, head, bytes, 0));
  *found = memmem(head, (size_t)bytes, text, strlen(text)) != NULL;
  return DM_OK;
}

/* ---- the form ---- */

/* The reader rejects larger chunks. HDF5's own limit is 4 GiB. */
enum { OUTPUT_CHUNK_LIMIT = 1 << 30, USUAL_CHUNK = 1 << 20, USUAL_ROWS = 256 };
enum {
  OUTPUT_MODEL_HEAD_BYTES = 1 << 20,
  INDEX_ENTRY = 128
}; /* bytes of the file's head; bytes of a chunk in HDF5's index */

bool dm_output_is_chunked(const dm_output_form *form) {
  return form->zarr || form->chunk_rows > 0 || form->deflate > 0 || form->zstd > 0 || form->shuffle;
}

bool dm_output_is_recast(const dm_output_form *form) {
  return form->npy || form->existing.at.file[0];
}

static bool ends_with(const dm_location *at, const char *ending) {
  const size_t length = strlen(at->file), end = strlen(ending);
  return length > end && strcasecmp(at->file + length - end, ending) == 0;
}

bool dm_output_is_npy(const dm_location *at) {
  return ends_with(at, ".npy");
}

bool dm_output_is_npz(const dm_location *at) {
  return ends_with(at, ".npz");
}

bool dm_output_is_zarr(const dm_location *at) {
  return ends_with(at, ".zarr");
}

bool dm_output_is_alone(const dm_location *at) {
  return dm_output_is_npy(at) || dm_output_is_zarr(at);
}

static dm_status check_recast(const dm_output_form *form, dm_dtype dtype) {
  if (dm_output_is_chunked(form))
    return dm_fail(DM_E_USAGE, form->npy ? "a .npy file has no chunks"
                                         : "--append adds contiguous datasets, without chunks");
  if (form->npy && dtype == DM_BF16)
    return dm_hint(dm_fail(DM_E_USAGE, "a .npy file has no name for bf16"),
                   "--type-c f32 holds every bf16 exactly; or write an HDF5 file");
  return DM_OK;
}

static dm_status check_codec(const dm_output_form *form) {
  int64_t none = 0;
  bool gained;
  if (form->zstd == 0) return DM_OK;
  if (form->zstd > 22)
    return dm_fail(DM_E_USAGE, "zstd has levels from 1 to 22, not %d", form->zstd);
  if (form->deflate > 0) return dm_fail(DM_E_USAGE, "--deflate and --zstd cannot be combined");
  return dm_codec_pack("", &none, form->zstd, &gained, &gained);
}

/* Zarr has a file for each chunk: of a large C they are larger, so that there are not too many. */
static void choose_zarr_chunks(dm_output_form *form, int64_t size, int64_t rows, int64_t cols) {
  enum { ZARR_FILES = 4096, ZARR_CHUNK = 1 << 26 };
  if (form->zstd == 0) form->zstd = 1;
  if (form->chunk_rows > 0) return;
  form->chunk_rows = USUAL_ROWS;
  form->chunk_cols = USUAL_CHUNK / USUAL_ROWS / size;
  while (form->chunk_rows * form->chunk_cols * size < ZARR_CHUNK &&
         (double)rows / (double)form->chunk_rows * ((double)cols / (double)form->chunk_cols) >
             ZARR_FILES) {
    form->chunk_rows *= 2;
    form->chunk_cols *= 2;
  }
}

static dm_status check_zarr(const dm_output_form *form) {
  if (form->deflate > 0 || form->shuffle)
    return dm_hint(dm_fail(DM_E_USAGE, "C is written to Zarr with zstd"),
                   "leave out --deflate and --shuffle; --zstd LEVEL states the level");
  if (form->existing.at.file[0])
    return dm_fail(DM_E_USAGE, "--append adds a dataset to an HDF5 file, not to Zarr");
  return DM_OK;
}

dm_status dm_output_form_complete(dm_output_form *form, dm_dtype dtype, int64_t rows,
                                  int64_t cols) {
  const int64_t size = dm_dtype_size(dtype);
  int64_t bytes;
  if (form->zarr) DM_TRY(check_zarr(form));
  if (dm_output_is_recast(form)) return check_recast(form, dtype);
  if (!dm_output_is_chunked(form)) return DM_OK;
  if (form->zarr) choose_zarr_chunks(form, size, rows, cols);
  DM_TRY(check_codec(form));
  if (form->chunk_rows == 0) {
    form->chunk_rows = USUAL_ROWS;
    form->chunk_cols = USUAL_CHUNK / USUAL_ROWS / size;
  }
  form->chunk_rows = dm_min(form->chunk_rows, rows / dm_leads_entries(&form->leads));
  form->chunk_cols = dm_min(form->chunk_cols, cols);
  dm_status status = dm_bytes_of(form->chunk_rows, form->chunk_cols, size, &bytes);
  if (!status && bytes <= OUTPUT_CHUNK_LIMIT) return DM_OK;
  dm_status_free(status);
  return dm_hint(dm_fail(DM_E_USAGE, "chunks of %lld x %lld elements are larger than 1 GiB",
                         (long long)form->chunk_rows, (long long)form->chunk_cols),
                 "damier reads no larger chunks; 1 MiB is a common size");
}

dm_status dm_output_form_bytes(const dm_output_form *form, dm_dtype dtype, int64_t rows,
                               int64_t cols, int64_t *bytes) {
  const int64_t entries = dm_leads_entries(&form->leads);
  const int64_t down = entries * dm_ceil_div(rows / entries, form->chunk_rows);
  int64_t chunks, chunk = form->chunk_rows * form->chunk_cols * dm_dtype_size(dtype);
  if (dm_mul_overflows(down, dm_ceil_div(cols, form->chunk_cols), &chunks) ||
      dm_mul_overflows(chunks, chunk + INDEX_ENTRY, bytes) ||
      dm_add_overflows(*bytes, OUTPUT_MODEL_HEAD_BYTES, bytes))
    return dm_fail(DM_E_FIT, "the size of chunks of %lld x %lld elements overflows 64 bits",
                   (long long)form->chunk_rows, (long long)form->chunk_cols);
  return DM_OK;
}

void dm_output_form_text(const dm_output_form *form, char *text, int64_t size) {
  char level[24] = "";
  if (form->deflate > 0) snprintf(level, sizeof level, ", deflate %d", form->deflate);
  if (form->zstd > 0) snprintf(level, sizeof level, ", zstd %d", form->zstd);
  if (!dm_output_is_chunked(form))
    snprintf(text, (size_t)size, "contiguous%s",
             form->npy                   ? " in a file of NumPy"
             : form->replaces            ? ", in a copy of the file, in place of its dataset"
             : form->existing.at.file[0] ? ", in a copy of the file"
                                         : "");
  else
    snprintf(text, (size_t)size, "chunked %lld x %lld%s%s%s", (long long)form->chunk_rows,
             (long long)form->chunk_cols, form->shuffle ? ", shuffle" : "", level,
             form->zarr ? ", Zarr" : "");
}
