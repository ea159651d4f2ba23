#include "file/output_form.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/checked.h"
#include "file/codec.h"

/* The reader rejects larger chunks. HDF5's own limit is 4 GiB. */
enum { CHUNK_LIMIT = 1 << 30, USUAL_CHUNK = 1 << 20, USUAL_ROWS = 256 };
enum {
  HEAD_BYTES = 1 << 20,
  INDEX_ENTRY = 128
}; /* bytes of the file's head; bytes of a chunk in HDF5's index */

bool dm_output_is_chunked(const dm_output_form *form) {
  return form->chunk_rows > 0 || form->deflate > 0 || form->zstd > 0 || form->shuffle;
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

dm_status dm_output_form_complete(dm_output_form *form, dm_dtype dtype, int64_t rows,
                                  int64_t cols) {
  const int64_t size = dm_dtype_size(dtype);
  int64_t bytes;
  if (dm_output_is_recast(form)) return check_recast(form, dtype);
  if (!dm_output_is_chunked(form)) return DM_OK;
  DM_TRY(check_codec(form));
  if (form->chunk_rows == 0) {
    form->chunk_rows = USUAL_ROWS;
    form->chunk_cols = USUAL_CHUNK / USUAL_ROWS / size;
  }
  form->chunk_rows = dm_min(form->chunk_rows, rows / dm_leads_entries(&form->leads));
  form->chunk_cols = dm_min(form->chunk_cols, cols);
  dm_status status = dm_bytes_of(form->chunk_rows, form->chunk_cols, size, &bytes);
  if (!status && bytes <= CHUNK_LIMIT) return DM_OK;
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
      dm_add_overflows(*bytes, HEAD_BYTES, bytes))
    return dm_fail(DM_E_FIT, "chunks of %lld x %lld elements have no 64-bit size",
                   (long long)form->chunk_rows, (long long)form->chunk_cols);
  return DM_OK;
}

void dm_output_form_text(const dm_output_form *form, char *text, int64_t size) {
  char level[24] = "";
  if (form->deflate > 0) snprintf(level, sizeof level, ", deflate %d", form->deflate);
  if (form->zstd > 0) snprintf(level, sizeof level, ", zstd %d", form->zstd);
  if (!dm_output_is_chunked(form))
    snprintf(text, (size_t)size, "contiguous%s", form->npy ? " in a file of NumPy" : "");
  else
    snprintf(text, (size_t)size, "chunked %lld x %lld%s%s", (long long)form->chunk_rows,
             (long long)form->chunk_cols, form->shuffle ? ", shuffle" : "", level);
}
