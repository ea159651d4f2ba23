/* Samples of a file's bytes, by which a later run recognises its inputs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/checksum.h"
#include "dataset/composite.h"
#include "dataset/naming.h"
#include "io/batch.h"
#include "io/journal.h"
#include "io/zarr_chunks.h"

/* Of many sources, every n-th is sampled: about as many bytes as of one file. */
enum { JOURNAL_PIECE = 4096, PLACES = 64, SOURCE_PLACES = 2, JOURNAL_SAMPLED = 64 };

/* Checksum of the BYTES at OFFSET of FILE, open as FD; continues from SEED. */
static dm_status checksum_range(int fd, const char *file, int64_t offset, int64_t bytes,
                                uint64_t seed, uint64_t *sum) {
  char piece[JOURNAL_PIECE];
  *sum = seed;
  for (int64_t at = 0; at < bytes; at += JOURNAL_PIECE) {
    int64_t length = dm_min(JOURNAL_PIECE, bytes - at);
    DM_TRY(dm_batch_move(fd, false, file, piece, length, offset + at));
    *sum = dm_checksum_bytes(piece, length, *sum);
  }
  return DM_OK;
}

static dm_status sample_places(int fd, const dm_dataset *dataset, int64_t places, uint64_t *sum) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &dataset->at, "fstat: %s", strerror(errno));
  const int64_t last = dm_max(0, (int64_t)info.st_size - JOURNAL_PIECE);
  *sum = (uint64_t)info.st_size;
  for (int64_t i = 0; i < places; i++) {
    int64_t offset = last / (places - 1) * i + last % (places - 1) * i / (places - 1);
    int64_t length = dm_min(JOURNAL_PIECE, (int64_t)info.st_size - offset);
    DM_TRY(checksum_range(fd, dataset->at.file, offset, length, *sum, sum));
  }
  return DM_OK;
}

/* Of Zarr: a few bytes of as many files. */
static dm_status sample_zarr(const dm_dataset *d, int64_t places, uint64_t *sum) {
  dm_zarr zarr;
  DM_TRY(dm_zarr_read_array(&d->at, d->elsewhere, &zarr, NULL));
  for (int64_t i = 0; i < places; i++) {
    uint64_t one = (uint64_t)i; /* there is no such file */
    int fd;
    DM_TRY(dm_zarr_open_part(&d->at, &zarr, d->elsewhere, i, places, &fd));
    dm_status status = fd < 0 ? DM_OK : sample_places(fd, d, SOURCE_PLACES, &one);
    if (fd >= 0) close(fd);
    DM_TRY(status);
    *sum = dm_checksum_bytes(&one, sizeof one, *sum);
  }
  return DM_OK;
}

static dm_status sample_file(const dm_dataset *dataset, int64_t places, uint64_t *sum) {
  if (dataset->zarr) return sample_zarr(dataset, places, sum);
  int fd = open(dataset->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return dm_fail_at(DM_E_IO, &dataset->at, "cannot be opened: %s", strerror(errno));
  dm_status status = sample_places(fd, dataset, places, sum);
  close(fd);
  return status;
}

/* Goes on from *SUM with what SOURCE is, but not where, and with some of its bytes if SAMPLED. */
static dm_status add_source(const dm_dataset *source, bool sampled, uint64_t *sum) {
  const char *name = source->at.dataset;
  const char *meaning = source->meaning.text;
  const int64_t facts[] = {source->rows, source->cols, (int64_t)source->dtype, source->file_bytes,
                           source->modified_ns};
  uint64_t data = 0;
  if (sampled) DM_TRY(sample_file(source, SOURCE_PLACES, &data));
  *sum = dm_checksum_bytes(name, (int64_t)strlen(name), *sum);
  *sum = dm_checksum_bytes(facts, sizeof facts, *sum);
  *sum = dm_checksum_bytes(meaning, (int64_t)strlen(meaning), *sum);
  *sum = dm_checksum_bytes(&data, sizeof data, *sum);
  return DM_OK;
}

dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum) {
  const dm_composite *composite = dataset->composite;
  *sum = 0;
  if (!dataset->stack) DM_TRY(sample_file(dataset, PLACES, sum));
  if (!composite) return DM_OK;
  *sum = dm_checksum_bytes(dm_composite_patches(composite),
                           composite->patches * (int64_t)sizeof(dm_patch), *sum);
  const int64_t step = dm_max(1, composite->sources / JOURNAL_SAMPLED);
  for (int64_t i = 0; i < composite->sources; i++) {
    dm_dataset source;
    dm_composite_source(composite, i, &source);
    DM_TRY(add_source(&source, i % step == 0, sum));
  }
  return DM_OK;
}
