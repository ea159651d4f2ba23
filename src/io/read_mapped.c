/* Datasets that are multiplied directly from the page cache, without a copy and its memory: also
 * members of a table, whose rows are a record apart, and files of a family, which are mapped one
 * behind the other. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "dataset/file_system.h"
#include "io/read_impl.h"

enum {
  MOST_BANDS = 1 << 14, /* Linux allows a process 65530 mappings */
  POPULATED = 64 << 20  /* bytes of a thread's turn */
};

/* Where the rows of a dataset lie in its file, in bytes. */
typedef struct mapped_rows {
  int64_t first, apart;
} mapped_rows;

/* Whether rows of the file can be used as they are. */
static bool is_usable(const dm_dataset *d, dm_dtype dtype, mapped_rows *rows) {
  const int64_t size = dm_dtype_size(d->dtype), width = d->cols * size;
  const dm_field *f = &d->compound.field[0];
  *rows = (mapped_rows){d->offset, width};
  if (d->compound.apart) {
    const int64_t real = dm_dtype_size(dm_dtype_real(d->dtype));
    *rows = (mapped_rows){d->offset + f->offset, d->compound.bytes};
    if (d->compound.count != 1 || f->type != (int16_t)dm_dtype_real(d->dtype) || f->swapped ||
        f->count * real != width || (f->stride != real && f->count > 1))
      return false; /* an element of the file is no row */
  }
  return d->offset >= 0 && !d->memory.base && !d->by_columns && !d->genotypes && !d->swapped &&
         d->dtype == dtype && !d->meaning.active && rows->first % size == 0 &&
         rows->apart % size == 0 &&
         rows->first + (d->rows - 1) * rows->apart + width <= d->file_bytes;
}

/* Whether the patches are bands of whole rows, which then cover the matrix. */
static bool has_usable_sources(const dm_dataset *d, dm_dtype dtype, int64_t least) {
  const dm_composite *c = d->composite;
  const dm_patch *patch = dm_composite_patches(c);
  if (c->missing > 0 || c->patches > MOST_BANDS || c->patches * least > d->rows) return false;
  for (int64_t i = 0; i < c->patches; i++) {
    dm_dataset source;
    mapped_rows rows;
    dm_composite_source(c, patch[i].source, &source);
    const bool steps = patch[i].row_step != 1 || patch[i].col_step != 1 || patch[i].folded;
    if (patch[i].cols != d->cols || steps || !is_usable(&source, dtype, &rows)) return false;
  }
  return true;
}

bool dm_reader_may_map(const dm_reader *reader, dm_dtype dtype, int64_t least) {
  const dm_dataset *d = &reader->dataset;
  mapped_rows rows;
  if (reader->owner || reader->missed || d->centering || reader->as != dtype || d->dtype != dtype)
    return false;
  return reader->sources ? has_usable_sources(d, dtype, least) : is_usable(d, dtype, &rows);
}

/* The dataset in file I of READER. */
static void read_dataset_of(const dm_reader *reader, int64_t i, dm_dataset *dataset) {
  if (reader->sources)
    dm_composite_source(reader->dataset.composite, i, dataset);
  else
    *dataset = reader->dataset;
}

/* Maps all files of a family, where BASE has room for them. */
static dm_status map_family(const dm_dataset *d, const dm_member_files *files, char *base) {
  int fd;
  for (int64_t at = 0, place, bytes; at < d->file_bytes; at += bytes)
    if (!dm_members_place(files, (uint64_t)at, &fd, &place, &bytes) ||
        mmap(base + at, (size_t)bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
      return dm_fail_at(DM_E_IO, &d->at, "cannot be mapped"); /* a piece is no number of pages */
  return DM_OK;
}

/* No reader of a source is needed for this. */
static dm_status read_map_file(void *context, int64_t i) {
  const dm_reader *reader = context;
  dm_dataset d;
  int fd = -1;
  dm_member_files *files = NULL;
  if (reader->map[i].base) return DM_OK;
  read_dataset_of(reader, i, &d);
  const bool family = d.members == DM_MEMBERS_FAMILY;
  dm_status status = family ? dm_reader_open_family(&d, &files) : dm_reader_open_file(&d, &fd);
  void *base = MAP_FAILED;
  if (!status)
    base = mmap(NULL, (size_t)d.file_bytes, family ? PROT_NONE : PROT_READ,
                family ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);
  if (!status && base == MAP_FAILED) status = dm_fail_at(DM_E_IO, &d.at, "cannot be mapped");
  if (!status && family) status = map_family(&d, files, base);
  if (!status) reader->map[i] = (dm_map){base, d.file_bytes};
  if (status && base != MAP_FAILED) (void)munmap(base, (size_t)d.file_bytes);
  dm_members_close(files);
  if (fd >= 0) close(fd);
  return status;
}

/* Of a mapped file. */
typedef struct read_pages {
  char *base;
  int64_t bytes;
} read_pages;

static dm_status populate(void *context, int64_t i) {
  const read_pages *of = context;
  const int64_t at = i * POPULATED;
  (void)dm_populate(of->base + at, dm_min(POPULATED, of->bytes - at), false);
  return DM_OK;
}

static dm_status map_band(void *context, int64_t i) {
  const dm_reader *reader = context;
  const int64_t page = sysconf(_SC_PAGESIZE), cols = reader->dataset.cols;
  dm_patch patch = {.rows = reader->dataset.rows, .cols = cols};
  if (reader->sources) patch = dm_composite_patches(reader->dataset.composite)[i];
  dm_dataset d;
  read_dataset_of(reader, patch.source, &d);
  mapped_rows lie;
  (void)is_usable(&d, d.dtype, &lie);
  const int64_t first = lie.first + patch.source_row * lie.apart, start = first / page * page;
  char *base = reader->map[patch.source].base;
  const dm_view rows = dm_view_strided(base + first, d.dtype, DM_HOST, patch.rows, d.cols,
                                       lie.apart / dm_dtype_size(d.dtype));
  reader->bands[i] =
      (dm_read_band){patch.row, dm_view_sub(rows, 0, patch.source_col, patch.rows, cols)};
  /* Otherwise products wait for pages. */
  const int64_t end = first + (patch.rows - 1) * lie.apart + d.cols * dm_dtype_size(d.dtype);
  read_pages of = {base + start, dm_round_up(end - start, page)};
  return dm_fork_each(dm_ceil_div(of.bytes, POPULATED), reader->sources ? 1 : 0, populate, &of);
}

void dm_reader_unmap(dm_reader *reader) {
  for (int64_t i = 0; i < reader->maps; i++)
    if (reader->map[i].base) (void)munmap(reader->map[i].base, (size_t)reader->map[i].bytes);
  free(reader->map);
  free(reader->bands);
}

void dm_reader_map(dm_reader *reader, const dm_read_band **bands, int64_t *count) {
  const dm_composite *c = reader->sources ? reader->dataset.composite : NULL;
  const int64_t files = c ? c->sources : 1, wanted = c ? c->patches : 1;
  dm_status status = reader->map ? DM_OK : dm_buffer_table(files, &reader->map);
  if (!status) reader->maps = files;
  if (!status && !reader->bands) status = dm_buffer_table(wanted, &reader->bands);
  if (!status) status = dm_fork_each(files, 0, read_map_file, reader);
  if (!status) status = dm_fork_each(wanted, 0, map_band, reader);
  *bands = reader->bands;
  *count = status ? 0 : wanted;
  dm_status_free(status); /* it is read instead, and whoever reads it meets the same error */
}
