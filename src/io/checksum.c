#include "io/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#ifdef DAMIER_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include "core/checked.h"
#include "core/wide_vectors.h"
#include "io/batch.h"
#include "io/naming.h"

enum { PIECE = 4096, PLACES = 64 };

static const uint64_t STEP = 0x9e3779b97f4a7c15; /* odd, with mixed bits: 2^64 / golden ratio */

/* The product of NH (Black et al., UMAC, CRYPTO 1999) as XXH3 uses it, plus WORD. Any single
 * changed bit changes the result: a low bit by at least 2^31 - 1 times its value, a high one by at
 * least its value, since the low factor is less than 2^32. */
static inline uint64_t hash_word(uint64_t word, uint64_t key) {
  const uint64_t mixed = (word ^ key) | 1ULL << 63;
  return (mixed & 0xffffffff) * (mixed >> 32) + word;
}

/* The compiler vectorises these loops if STRIDE is 1. */
#define SUM(type)                                                                                  \
  DM_INLINE uint64_t sum_##type(const void *at, int64_t count, int64_t stride, uint64_t key) {     \
    const type *word = at;                                                                         \
    uint64_t sum = 0;                                                                              \
    for (int64_t i = 0; i < count; i++, key += STEP) sum += hash_word(word[i * stride], key);      \
    return sum;                                                                                    \
  }
SUM(uint8_t)
SUM(uint16_t)
SUM(uint32_t)
SUM(uint64_t)

/* Elements of 16 bytes count as two words at twice the place. */
DM_INLINE uint64_t sum_pairs(const void *at, int64_t count, int64_t stride, uint64_t place) {
  const uint64_t *word = at;
  if (stride == 1) return sum_uint64_t(word, 2 * count, 1, (2 * place + 1) * STEP);
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += sum_uint64_t(word + 2 * i * stride, 2, 1, (2 * (place + (uint64_t)i) + 1) * STEP);
  return sum;
}

DM_INLINE uint64_t sum_elements(const void *at, int64_t size, int64_t count, int64_t stride,
                                uint64_t place) {
  const uint64_t key = (place + 1) * STEP;
  switch (size) {
  case 1:
    return sum_uint8_t(at, count, stride, key);
  case 2:
    return sum_uint16_t(at, count, stride, key);
  case 4:
    return sum_uint32_t(at, count, stride, key);
  case 8:
    return sum_uint64_t(at, count, stride, key);
  default:
    return sum_pairs(at, count, stride, place);
  }
}

static uint64_t sum_plain(const void *at, int64_t size, int64_t count, uint64_t place) {
  return sum_elements(at, size, count, 1, place);
}

/* Three times as fast as SSE2, which has half the width, and for which GCC 12 multiplies all 64
 * bits. */
DM_WIDE_VECTORS static uint64_t sum_wide(const void *at, int64_t size, int64_t count,
                                         uint64_t place) {
  return sum_elements(at, size, count, 1, place);
}

static uint64_t row_sum(dm_view row, uint64_t place) {
  const int64_t size = dm_dtype_size(row.dtype);
  if (row.col_stride != 1 && row.cols > 1)
    return sum_elements(row.base, size, row.cols, row.col_stride, place);
  return (dm_has_wide_vectors() ? sum_wide : sum_plain)(row.base, size, row.cols, place);
}

uint64_t dm_checksum_view(dm_view view, int64_t row, int64_t col, int64_t cols) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < view.rows && view.cols > 0; i++)
    sum += row_sum(dm_view_sub(view, i, 0, 1, view.cols), (uint64_t)((row + i) * cols + col));
  return sum;
}

uint64_t dm_checksum_bytes(const void *data, int64_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, (size_t)bytes, seed);
}

/* Checksum of the BYTES at OFFSET of FILE, open as FD; continues from SEED. */
static dm_status checksum_range(int fd, const char *file, int64_t offset, int64_t bytes,
                                uint64_t seed, uint64_t *sum) {
  char piece[PIECE];
  *sum = seed;
  for (int64_t at = 0; at < bytes; at += PIECE) {
    int64_t length = dm_min(PIECE, bytes - at);
    DM_TRY(dm_batch_move(fd, false, file, piece, length, offset + at));
    *sum = dm_checksum_bytes(piece, length, *sum);
  }
  return DM_OK;
}

static dm_status sample(int fd, const dm_dataset *dataset, uint64_t *sum) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &dataset->at, "fstat: %s", strerror(errno));
  const int64_t last = dm_max(0, (int64_t)info.st_size - PIECE);
  *sum = (uint64_t)info.st_size;
  for (int64_t i = 0; i < PLACES; i++) {
    int64_t offset = last / (PLACES - 1) * i + last % (PLACES - 1) * i / (PLACES - 1);
    int64_t length = dm_min(PIECE, (int64_t)info.st_size - offset);
    DM_TRY(checksum_range(fd, dataset->at.file, offset, length, *sum, sum));
  }
  return DM_OK;
}

dm_status dm_checksum_sample(const dm_dataset *dataset, uint64_t *sum) {
  int fd = open(dataset->at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return dm_fail_at(DM_E_IO, &dataset->at, "cannot be opened: %s", strerror(errno));
  dm_status status = sample(fd, dataset, sum);
  close(fd);
  return status;
}
