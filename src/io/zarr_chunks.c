#include "io/zarr_chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/file_system.h"
#include "dataset/naming.h"
#include "dataset/zarr_impl.h"
#include "io/batch.h"

enum {
  ZARR_CHUNKS_MOST_FILES = 1 << 21, /* that are looked at within the time of an inspection */
  ZARR_CHUNKS_ENTRY = 16,           /* bytes of a chunk in the index of its shard */
  ZARR_CHUNKS_SUM = 4,
  WITH_KEY = DM_PATH + DM_ZARR_KEY + 2
};

static const uint64_t NO_CHUNK = UINT64_MAX;

struct dm_zarr_chunks {
  dm_location at;
  bool follow;
  dm_zarr zarr;
  /* The indices of shards that were read: of each its ZARR_CHUNKS_ENTRY bytes per chunk, or NULL.
   */
  int64_t files;
  unsigned char **index;
  bool *missing; /* there is no such file */
};

/* ---- numbers of files and chunks ---- */

static int64_t zarr_count_along(const dm_zarr *z, const int64_t *size, int axis) {
  return dm_ceil_div(z->extent[axis], size[axis]);
}

/* How many parts of SIZE the array has; -1: too many. */
static int64_t zarr_count_parts(const dm_zarr *z, const int64_t *size) {
  int64_t count = 1;
  for (int i = 0; i < z->rank; i++)
    if (dm_mul_overflows(count, zarr_count_along(z, size, i), &count)) return -1;
  return count;
}

static int64_t zarr_chunks_per_file(const dm_zarr *z) {
  int64_t count = 1;
  for (int i = 0; i < z->rank; i++) count *= z->file[i] / z->chunk[i];
  return count;
}

/* The number of the file that has the element FIRST, and of the chunk in it. */
static int64_t zarr_file_number(const dm_zarr *z, const int64_t *first) {
  int64_t number = 0;
  for (int i = 0; i < z->rank; i++)
    number = number * zarr_count_along(z, z->file, i) + first[i] / z->file[i];
  return number;
}

static int64_t zarr_number_in_file(const dm_zarr *z, const int64_t *first) {
  int64_t number = 0;
  for (int i = 0; i < z->rank; i++)
    number = number * (z->file[i] / z->chunk[i]) + first[i] % z->file[i] / z->chunk[i];
  return number;
}

/* The first element of file NUMBER. */
static void zarr_file_first(const dm_zarr *z, int64_t number, int64_t *first) {
  for (int i = z->rank - 1; i >= 0; i--) {
    const int64_t along = zarr_count_along(z, z->file, i);
    first[i] = number % along * z->file[i];
    number /= along;
  }
}

/* Whether chunk NUMBER of the file that begins at FIRST lies in the array, at least in part. */
static bool zarr_is_in_array(const dm_zarr *z, const int64_t *first, int64_t number) {
  bool is = true;
  for (int i = z->rank - 1; i >= 0; i--) {
    const int64_t along = z->file[i] / z->chunk[i];
    is = is && first[i] + number % along * z->chunk[i] < z->extent[i];
    number /= along;
  }
  return is;
}

/* "/c/0/1": the file that has element FIRST, below the array's folder. */
static void zarr_file_key(const dm_zarr *z, const int64_t *first, char key[DM_ZARR_KEY]) {
  int used = snprintf(key, DM_ZARR_KEY, "/%s", z->prefixed ? "c" : z->rank == 0 ? "0" : "");
  for (int i = 0; i < z->rank; i++) {
    const bool separated = i > 0 || z->prefixed;
    used += snprintf(key + used, (size_t)(DM_ZARR_KEY - used), "%.*s%lld", separated, &z->separator,
                     (long long)(first[i] / z->file[i]));
  }
}

/* ---- the index of a shard ---- */

static uint64_t zarr_index_word(const dm_zarr *z, const unsigned char *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return z->index_swapped ? __builtin_bswap64(word) : word;
}

static dm_status zarr_shard_damaged(const dm_location *at, const char *key, const char *why) {
  return dm_fail_at(DM_E_INPUT, at, "the shard '%s' %s", key + 1, why);
}

/* Reads the index of the open file FD of SIZE bytes to INDEX. */
static dm_status zarr_read_index(const dm_location *at, const dm_zarr *z, const char *key, int fd,
                                 int64_t size, unsigned char *index) {
  const int64_t length = zarr_chunks_per_file(z) * ZARR_CHUNKS_ENTRY,
                all = length + (z->index_summed ? ZARR_CHUNKS_SUM : 0);
  uint32_t sum;
  if (size < all) return zarr_shard_damaged(at, key, "is shorter than its index");
  if (dm_file_read_at(fd, index, all, z->index_first ? 0 : size - all) != all)
    return dm_fail_at(DM_E_IO, at, "the shard '%s' cannot be read", key + 1);
  memcpy(&sum, index + length, sizeof sum);
  if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) sum = __builtin_bswap32(sum);
  if (z->index_summed && sum != dm_crc32c(index, length))
    return zarr_shard_damaged(at, key, "has an index that does not match its checksum");
  for (int64_t i = 0; i < length; i += ZARR_CHUNKS_ENTRY) {
    const uint64_t offset = zarr_index_word(z, index + i),
                   bytes = zarr_index_word(z, index + i + 8);
    if (offset == NO_CHUNK && bytes == NO_CHUNK) continue;
    if (bytes == 0 || bytes > (uint64_t)size || offset > (uint64_t)size - bytes)
      return zarr_shard_damaged(at, key, "has an index that leads out of it");
  }
  return DM_OK;
}

/* Memory for an index, unless a hostile one is too large for any file. */
static dm_status zarr_new_index(const dm_location *at, const dm_zarr *z, unsigned char **index) {
  if (zarr_chunks_per_file(z) > ZARR_CHUNKS_MOST_FILES)
    return dm_fail_at(DM_E_INPUT, at, "has more than %d chunks in a shard", ZARR_CHUNKS_MOST_FILES);
  return dm_buffer_table(zarr_chunks_per_file(z) * ZARR_CHUNKS_ENTRY + ZARR_CHUNKS_SUM, index);
}

/* ---- looking at all files ---- */

/* The folder of the last file. */
typedef struct chunk_folder {
  int fd;
  bool open;
  char key[DM_ZARR_KEY];
} chunk_folder;

/* Opens the folder of KEY, if it is not that of the file before; *name follows it. */
static dm_status zarr_enter_folder(const dm_location *at, bool follow, const char *key,
                                   chunk_folder *folder, const char **name) {
  char path[WITH_KEY];
  const int length = (int)(strrchr(key, '/') - key);
  *name = key + length + 1;
  if (folder->open && strlen(folder->key) == (size_t)length &&
      memcmp(folder->key, key, (size_t)length) == 0)
    return DM_OK;
  if (folder->open && folder->fd >= 0) close(folder->fd);
  snprintf(folder->key, sizeof folder->key, "%.*s", length, key);
  snprintf(path, sizeof path, "%s%s", at->dataset, folder->key);
  folder->open = false;
  DM_TRY(dm_zarr_open(at, path, follow, true, &folder->fd));
  folder->open = true;
  return DM_OK;
}

/* Counts the chunks of the file KEY, which begins at FIRST, that are there. */
static dm_status zarr_count_in_file(const dm_location *at, const dm_zarr *z, bool follow,
                                    const char *key, const int64_t *first, int64_t size,
                                    unsigned char *index, int64_t *present) {
  char path[WITH_KEY];
  int fd;
  if (!z->sharded) {
    ++*present;
    return DM_OK;
  }
  snprintf(path, sizeof path, "%s%s", at->dataset, key);
  DM_TRY(dm_zarr_open(at, path, follow, false, &fd));
  if (fd < 0) return zarr_shard_damaged(at, key, "has disappeared");
  dm_status status = zarr_read_index(at, z, key, fd, size, index);
  close(fd);
  for (int64_t i = 0; i < zarr_chunks_per_file(z) && !status; i++)
    *present += zarr_index_word(z, index + i * ZARR_CHUNKS_ENTRY) != NO_CHUNK &&
                zarr_is_in_array(z, first, i);
  return status;
}

static dm_status zarr_look_at_file(const dm_location *at, const dm_zarr *z, bool follow,
                                   int64_t number, chunk_folder *folder, unsigned char *index,
                                   dm_zarr_survey *survey) {
  int64_t first[DM_AXES];
  char key[DM_ZARR_KEY];
  const char *name;
  struct stat info;
  zarr_file_first(z, number, first);
  zarr_file_key(z, first, key);
  DM_TRY(zarr_enter_folder(at, follow, key, folder, &name));
  if (folder->fd < 0) return DM_OK;
  if (fstatat(folder->fd, name, &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
    return errno == ENOENT ? DM_OK : dm_fail_at(DM_E_IO, at, "'%s': %s", key + 1, strerror(errno));
  if (S_ISLNK(info.st_mode))
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "refused: its chunk '%s' is a symbolic link", key + 1),
        "--allow-external follows it");
  if (!S_ISREG(info.st_mode))
    return dm_fail_at(DM_E_INPUT, at, "its chunk '%s' is no file", key + 1);
  if (info.st_size == 0) return dm_fail_at(DM_E_INPUT, at, "its chunk '%s' is empty", key + 1);
  const int64_t changed = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  survey->newest = dm_max(survey->newest, changed);
  survey->bytes += (int64_t)info.st_size;
  return index || !z->sharded ? zarr_count_in_file(at, z, follow, key, first, (int64_t)info.st_size,
                                                   index, &survey->present)
                              : DM_OK;
}

dm_status dm_zarr_look(const dm_location *at, const dm_zarr *z, bool follow, bool count,
                       dm_zarr_survey *survey) {
  DM_FREED unsigned char *index = NULL;
  chunk_folder folder = {.open = false};
  const int64_t files = zarr_count_parts(z, z->file);
  *survey = (dm_zarr_survey){.chunks = zarr_count_parts(z, z->chunk)};
  if (files < 0 || files > ZARR_CHUNKS_MOST_FILES || survey->chunks < 0)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "has more than %d files of chunks", ZARR_CHUNKS_MOST_FILES),
        "zarr.create_array(..., shards=...) puts many chunks in one file");
  if (z->sharded && count) DM_TRY(zarr_new_index(at, z, &index));
  dm_status status = DM_OK;
  for (int64_t i = 0; i < files && !status; i++)
    status = zarr_look_at_file(at, z, follow, i, &folder, index, survey);
  if (folder.open && folder.fd >= 0) close(folder.fd);
  return status;
}

dm_status dm_zarr_open_part(const dm_location *at, const dm_zarr *z, bool follow, int64_t i,
                            int64_t places, int *fd) {
  const int64_t last = zarr_count_parts(z, z->file) - 1;
  int64_t first[DM_AXES];
  char key[DM_ZARR_KEY], path[WITH_KEY];
  *fd = -1;
  if (last < 0 || last >= ZARR_CHUNKS_MOST_FILES) return DM_OK;
  zarr_file_first(z, last * i / dm_max(1, places - 1), first);
  zarr_file_key(z, first, key);
  snprintf(path, sizeof path, "%s%s", at->dataset, key);
  return dm_zarr_open(at, path, follow, false, fd);
}

void dm_zarr_identify(const struct stat *info, const dm_zarr_survey *survey, dm_dataset *d) {
  const int64_t changed = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
  d->device = (uint64_t)info->st_dev;
  d->inode = (uint64_t)info->st_ino;
  d->file_bytes = (int64_t)info->st_size + survey->bytes;
  d->modified_ns = dm_max(changed, survey->newest);
}

/* ---- reading ---- */

/* Whether the array is still as DATASET says. */
static bool zarr_is_as_inspected(const dm_dataset *d, const dm_zarr *z, const struct stat *info) {
  const bool paired = d->parts == DM_PARTS_PAIRED;
  const dm_axes axes = dm_dataset_axes(d);
  const dm_dtype type = paired ? dm_dtype_real(d->dtype) : d->dtype;
  const int last = axes.count - 1;
  bool same = (uint64_t)info->st_ino == d->inode && z->dtype == type && z->swapped == d->swapped &&
              dm_max(1, z->rank) == axes.count;
  for (int i = 0; i < z->rank && same; i++) {
    const int64_t wide = paired && i == last ? 2 : 1;
    same = z->extent[i] == axes.extent[i] * wide && z->chunk[i] == axes.chunk[i] * wide;
  }
  return same;
}

dm_status dm_zarr_chunks_open(const dm_dataset *d, dm_zarr_chunks **chunks) {
  dm_zarr_chunks *c;
  struct stat info;
  DM_TRY(dm_buffer_table(1, &c));
  c->at = d->at;
  c->follow = d->elsewhere;
  dm_status status = dm_zarr_read_array(&d->at, c->follow, &c->zarr, &info);
  if (status || !zarr_is_as_inspected(d, &c->zarr, &info)) {
    dm_status_free(status);
    free(c);
    return dm_fail_at(DM_E_IO, &d->at, "changed since it was inspected");
  }
  c->files = c->zarr.sharded ? zarr_count_parts(&c->zarr, c->zarr.file) : 0;
  status = dm_buffer_table(dm_max(1, c->files), &c->index);
  if (!status) status = dm_buffer_table(dm_max(1, c->files), &c->missing);
  if (status)
    dm_zarr_chunks_close(c);
  else
    *chunks = c;
  return status;
}

void dm_zarr_chunks_close(dm_zarr_chunks *c) {
  if (!c) return;
  for (int64_t i = 0; i < c->files && c->index; i++) free(c->index[i]);
  free(c->index);
  free(c->missing);
  free(c);
}

const dm_zarr *dm_zarr_of(const dm_zarr_chunks *c) {
  return &c->zarr;
}

/* Opens the file that has the element FIRST; *fd -1: there is none. */
static dm_status zarr_open_chunk(const dm_zarr_chunks *c, const int64_t *first,
                                 char key[DM_ZARR_KEY], int *fd, int64_t *size) {
  char path[WITH_KEY];
  struct stat info;
  zarr_file_key(&c->zarr, first, key);
  snprintf(path, sizeof path, "%s%s", c->at.dataset, key);
  DM_TRY(dm_zarr_open(&c->at, path, c->follow, false, fd));
  if (*fd < 0) return DM_OK;
  *size = 0;
  const bool is = fstat(*fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  if (is) *size = (int64_t)info.st_size;
  if (is) return DM_OK;
  close(*fd);
  *fd = -1;
  return dm_fail_at(DM_E_INPUT, &c->at, "its chunk '%s' is empty, or no file", key + 1);
}

/* Reads the index of file NUMBER, of the element FIRST, unless it was read. */
static dm_status zarr_want_index(dm_zarr_chunks *c, const int64_t *first, int64_t number) {
  char key[DM_ZARR_KEY];
  int fd;
  int64_t size;
  if (c->index[number] || c->missing[number]) return DM_OK;
  DM_TRY(zarr_open_chunk(c, first, key, &fd, &size));
  c->missing[number] = fd < 0;
  if (fd < 0) return DM_OK;
  unsigned char *index = NULL;
  dm_status status = zarr_new_index(&c->at, &c->zarr, &index);
  if (!status) status = zarr_read_index(&c->at, &c->zarr, key, fd, size, index);
  close(fd);
  if (status)
    free(index);
  else
    c->index[number] = index;
  return status;
}

dm_status dm_zarr_find(dm_zarr_chunks *c, const int64_t *first, int64_t *offset, int64_t *bytes) {
  const dm_zarr *z = &c->zarr;
  *offset = *bytes = 0;
  if (!z->sharded) {
    char key[DM_ZARR_KEY];
    int fd;
    DM_TRY(zarr_open_chunk(c, first, key, &fd, bytes));
    if (fd >= 0) close(fd);
    return DM_OK;
  }
  const int64_t number = zarr_file_number(z, first);
  DM_TRY(zarr_want_index(c, first, number));
  if (c->missing[number]) return DM_OK;
  const unsigned char *entry = c->index[number] + zarr_number_in_file(z, first) * ZARR_CHUNKS_ENTRY;
  if (zarr_index_word(z, entry) == NO_CHUNK) return DM_OK;
  *offset = (int64_t)zarr_index_word(z, entry);
  *bytes = (int64_t)zarr_index_word(z, entry + 8);
  return DM_OK;
}

dm_status dm_zarr_load(const dm_zarr_chunks *c, const int64_t *first, int64_t offset, int64_t bytes,
                       void *data) {
  char key[DM_ZARR_KEY];
  int fd;
  int64_t size = 0;
  DM_TRY(zarr_open_chunk(c, first, key, &fd, &size));
  if (fd >= 0 && offset <= size - bytes && (c->zarr.sharded || size == bytes)) {
    dm_status status = dm_batch_move(fd, false, c->at.file, data, bytes, offset);
    close(fd);
    return status;
  }
  if (fd >= 0) close(fd);
  return dm_fail_at(DM_E_IO, &c->at, "its chunk '%s' changed while it was read", key + 1);
}
