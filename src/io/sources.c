/* Reads datasets that are made of others. Each source has a reader of its own; how many files are
 * open at a time is limited. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "io/read_impl.h"

enum {
  MOST_AWAKE = 64, /* sources that HDF5 has open */
  SOURCES_MOST_FILES = 4096,
  LEAST_FILES = 8,
  OTHER_FILES = 64,   /* descriptors for everything else */
  SOURCES_READERS = 6 /* datasets that may be read at the same time */
};

/* The file of a source, as threads read it. */
typedef struct lent {
  int fd; /* -1: closed */
  int users;
} lent;

struct dm_sources {
  dm_dtype dtype; /* of the matrix */
  const dm_composite *composite;
  dm_reader **reader; /* of each source, NULL until it is needed */
  dm_reader *awake[MOST_AWAKE];
  int64_t awake_limit, next_awake;

  pthread_mutex_t lock; /* guards what follows */
  lent *file;
  int64_t open, limit;
};

/* Descriptors that the sources of one dataset may use. */
static int64_t files_allowed(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT32_MAX) return SOURCES_MOST_FILES;
  const int64_t share = ((int64_t)limit.rlim_cur - OTHER_FILES) / SOURCES_READERS;
  return dm_max(LEAST_FILES, dm_min(share, SOURCES_MOST_FILES));
}

dm_status dm_sources_open(dm_reader *reader) {
  const dm_composite *composite = reader->dataset.composite;
  struct dm_sources *s;
  if (!composite) return dm_fail_at(DM_E_BUG, &reader->dataset.at, "its sources are not known");
  DM_TRY(dm_buffer_table(1, &s));
  const int64_t allowed = files_allowed();
  *s = (struct dm_sources){.dtype = reader->dataset.dtype,
                           .composite = composite,
                           .awake_limit = dm_min(MOST_AWAKE, allowed / 2)};
  s->limit = allowed - s->awake_limit;
  dm_status status = dm_buffer_table(dm_max(1, composite->sources), &s->reader);
  if (!status) status = dm_buffer_table(dm_max(1, composite->sources), &s->file);
  for (int64_t i = 0; i < composite->sources && !status; i++) s->file[i].fd = -1;
  if (!status && pthread_mutex_init(&s->lock, NULL)) status = dm_fail(DM_E_FIT, "no lock");
  if (!status) {
    reader->sources = s;
    return DM_OK;
  }
  free(s->file);
  free(s->reader);
  free(s);
  return status;
}

void dm_sources_close(struct dm_sources *s) {
  if (!s) return;
  for (int64_t i = 0; i < s->composite->sources; i++) {
    dm_reader_release(s->reader[i]);
    if (s->file[i].fd >= 0) close(s->file[i].fd);
  }
  pthread_mutex_destroy(&s->lock);
  free(s->file);
  free(s->reader);
  free(s);
}

/* ---- the list of patches ---- */

bool dm_sources_next(const dm_reader *reader, const dm_rectangle *part, int64_t *index,
                     dm_patch *patch) {
  const dm_composite *c = reader->sources->composite;
  const dm_patch *list = dm_composite_patches(c);
  const int64_t bottom = part->row + part->rows, right = part->col + part->cols;
  for (int64_t i = dm_max(*index, dm_composite_first(c, part->row));
       i < c->patches && list[i].row < bottom; i++) {
    const dm_patch *p = &list[i];
    const int64_t row = dm_max(p->row, part->row), col = dm_max(p->col, part->col);
    const int64_t rows = dm_min(p->row + p->rows, bottom) - row;
    const int64_t cols = dm_min(p->col + p->cols, right) - col;
    if (rows <= 0 || cols <= 0) continue;
    *index = i;
    *patch = dm_patch_at(p, row, col, rows, cols);
    return true;
  }
  return false;
}

void dm_sources_fill(const dm_reader *reader, const dm_read_request *request) {
  const dm_composite *c = reader->sources->composite;
  if (c->missing == 0) return;
  unsigned char one[sizeof c->fill];
  memcpy(one, c->fill, sizeof one);
  const dm_rectangle *part = &request->part;
  const dm_view same = {.base = one, /* strides 0: everywhere the same element */
                        .dtype = reader->dataset.dtype,
                        .space = DM_HOST,
                        .rows = part->rows,
                        .cols = part->cols};
  dm_reader_spread(reader, request, same, part->row, part->col);
}

/* ---- readers of the sources ---- */

/* Lets HDF5 open READER, and close another one if there are many. */
static dm_status wake(struct dm_sources *s, dm_reader *reader) {
  dm_reader **slot = &s->awake[s->next_awake];
  s->next_awake = (s->next_awake + 1) % s->awake_limit;
  if (*slot) dm_reader_close_hdf5(*slot);
  *slot = NULL;
  DM_TRY(dm_reader_open_hdf5(reader));
  *slot = reader;
  return DM_OK;
}

dm_status dm_reader_wake(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  if (!reader->owner || d->offset >= 0 || d->few.chunks > 0 || d->zarr || reader->set >= 0 ||
      reader->reals)
    return DM_OK;
  return wake(reader->owner, reader);
}

static dm_status open_source(struct dm_sources *s, const dm_reader *whole, int64_t number,
                             dm_reader *r) {
  dm_dataset dataset;
  dm_composite_source(s->composite, number, &dataset);
  dataset.meaning.missing = whole->dataset.meaning.missing;
  dm_reader_prepare(r, &dataset, whole->as);
  r->owner = s;
  r->number = number;
  r->dataset.centering = whole->dataset.centering;
  r->through = dm_dataset_type(&dataset) == s->dtype ? DM_DTYPE_NONE : s->dtype;
  DM_TRY(dm_reader_prepare_meaning(r));
  if (r->dataset.parts > DM_PARTS_PAIRED) return dm_reader_open_parts(r);
  if (r->dataset.few.chunks > 0 || r->dataset.zarr) return dm_reader_open_chunks(r);
  return r->dataset.offset >= 0 ? dm_reader_open_direct(r) : wake(s, r);
}

dm_status dm_sources_reader(dm_reader *reader, int64_t number, dm_reader **source) {
  struct dm_sources *s = reader->sources;
  *source = s->reader[number];
  if (!*source) {
    DM_TRY(dm_buffer_table(1, source));
    dm_status status = open_source(s, reader, number, *source);
    if (status) {
      dm_reader_release(*source);
      return status;
    }
    s->reader[number] = *source;
  }
  (*source)->keepalive = reader->keepalive;
  return DM_OK;
}

void dm_sources_missing(const struct dm_sources *s, dm_missing_found *found) {
  for (int64_t i = 0; i < s->composite->sources; i++) {
    dm_missing_found one;
    if (!s->reader[i]) continue;
    dm_reader_missing(s->reader[i], &one);
    if (one.count > 0 && found->count == 0) {
      found->source = i;
      found->first = one.first;
    }
    found->count += one.count;
  }
}

int64_t dm_sources_calls(const struct dm_sources *s) {
  int64_t calls = 0;
  for (int64_t i = 0; i < s->composite->sources; i++)
    if (s->reader[i]) calls += dm_reader_calls(s->reader[i]);
  return calls;
}

/* ---- files ---- */

/* Closes the files without users; with the lock held. */
static void close_idle(struct dm_sources *s) {
  for (int64_t i = 0; i < s->composite->sources; i++) {
    lent *file = &s->file[i];
    if (file->fd < 0 || file->users > 0) continue;
    close(file->fd);
    file->fd = -1;
    s->open--;
  }
}

/* The system may allow fewer files than the limit. */
static dm_status open_lent(struct dm_sources *s, const dm_dataset *dataset, int *fd) {
  dm_status status = dm_reader_open_file(dataset, fd);
  if (!status) return DM_OK;
  dm_status_free(status);
  pthread_mutex_lock(&s->lock);
  close_idle(s);
  pthread_mutex_unlock(&s->lock);
  return dm_reader_open_file(dataset, fd);
}

dm_status dm_sources_take(struct dm_sources *s, const dm_reader *reader, int *fd) {
  lent *file = &s->file[reader->number];
  int new = -1;
  pthread_mutex_lock(&s->lock);
  if (file->fd < 0) {
    if (s->open >= s->limit) close_idle(s);
    pthread_mutex_unlock(&s->lock); /* storage may be slow */
    DM_TRY(open_lent(s, &reader->dataset, &new));
    pthread_mutex_lock(&s->lock);
  }
  if (file->fd < 0) {
    file->fd = new;
    new = -1;
    s->open++;
  }
  file->users++;
  *fd = file->fd;
  pthread_mutex_unlock(&s->lock);
  if (new >= 0) close(new); /* another thread was faster */
  return DM_OK;
}

void dm_sources_give(struct dm_sources *s, int64_t number) {
  pthread_mutex_lock(&s->lock);
  s->file[number].users--;
  pthread_mutex_unlock(&s->lock);
}
