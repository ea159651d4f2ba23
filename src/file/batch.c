#include "file/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"

enum { CALL_LIMIT = 1 << 30 }; /* bytes; Linux moves at most 2 GiB - 4 KiB per call */

void dm_batch_start(dm_batch *batch, int fd, bool writing, const char *file,
                    const dm_keepalive *keepalive) {
  batch->fd = fd;
  batch->writing = writing;
  batch->file = file;
  batch->keepalive = keepalive;
  batch->offset = batch->bytes = 0;
  batch->count = 0;
}

dm_status dm_batch_refused(const char *file, bool writing, int64_t offset, int number) {
  dm_status status = dm_fail(DM_E_IO, "%s: %s at byte %lld failed: %s", file,
                             writing ? "writing" : "reading", (long long)offset, strerror(number));
  if (number == ENOSPC || number == EDQUOT)
    dm_hint(status, "make room on its file system, then run again");
  if (number == EFBIG) dm_hint(status, "the limit on file sizes (ulimit -f) is too low");
  return status;
}

static dm_status refused(const dm_batch *batch, int number) {
  return dm_batch_refused(batch->file, batch->writing, batch->offset, number);
}

/* Removes MOVED bytes from the front; *first is the first piece left. */
static void advance(dm_batch *batch, int *first, int64_t moved) {
  batch->offset += moved;
  batch->bytes -= moved;
  while (moved > 0) {
    struct iovec *piece = &batch->list[*first];
    int64_t part = dm_min(moved, (int64_t)piece->iov_len);
    piece->iov_base = (char *)piece->iov_base + part;
    piece->iov_len -= (size_t)part;
    moved -= part;
    if (piece->iov_len == 0) ++*first;
  }
}

dm_status dm_batch_flush(dm_batch *batch) {
  int first = 0;
  while (batch->bytes > 0) {
    struct iovec *list = &batch->list[first];
    int count = batch->count - first;
    ssize_t moved = batch->writing ? pwritev(batch->fd, list, count, batch->offset)
                                   : preadv(batch->fd, list, count, batch->offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return refused(batch, errno);
    if (moved == 0 && batch->writing) return refused(batch, ENOSPC);
    if (moved == 0)
      return dm_fail(DM_E_IO, "%s: the file ends at byte %lld: it was truncated during the run",
                     batch->file, (long long)batch->offset);
    advance(batch, &first, moved);
    DM_TRY(dm_keepalive_beat(batch->keepalive));
  }
  batch->count = 0;
  return DM_OK;
}

static dm_status add_piece(dm_batch *batch, char *memory, int64_t bytes, int64_t offset) {
  bool follows = batch->count > 0 && offset == batch->offset + batch->bytes;
  if (!follows || batch->bytes + bytes > CALL_LIMIT) {
    DM_TRY(dm_batch_flush(batch));
    batch->offset = offset;
    follows = false;
  }
  struct iovec *last = follows ? &batch->list[batch->count - 1] : NULL;
  if (last && (char *)last->iov_base + last->iov_len == memory) {
    last->iov_len += (size_t)bytes;
  } else {
    if (batch->count == DM_BATCH_PIECES) {
      DM_TRY(dm_batch_flush(batch));
      batch->offset = offset;
    }
    batch->list[batch->count++] = (struct iovec){.iov_base = memory, .iov_len = (size_t)bytes};
  }
  batch->bytes += bytes;
  return DM_OK;
}

dm_status dm_batch_add(dm_batch *batch, void *memory, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    int64_t part = dm_min(bytes - done, CALL_LIMIT);
    DM_TRY(add_piece(batch, (char *)memory + done, part, offset + done));
    done += part;
  }
  return DM_OK;
}

dm_status dm_batch_move(int fd, bool writing, const char *file, void *memory, int64_t bytes,
                        int64_t offset) {
  dm_batch batch;
  dm_batch_start(&batch, fd, writing, file, NULL);
  DM_TRY(dm_batch_add(&batch, memory, bytes, offset));
  return dm_batch_flush(&batch);
}

enum { PIECE = 1 << 20 };

/* Pages without data are not read. */
static dm_status is_zero(const char *file, int fd, char *piece, bool *zero) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_batch_refused(file, false, 0, errno);
  for (int64_t place = 0, part = 0; place < info.st_size && *zero; place += part) {
    const off_t data = lseek(fd, place, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return DM_OK;
    if (data > place) place = data;
    part = dm_min((int64_t)info.st_size - place, PIECE);
    DM_TRY(dm_batch_move(fd, false, file, piece, part, place));
    *zero = piece[0] == 0 && memcmp(piece, piece + 1, (size_t)part - 1) == 0;
  }
  return DM_OK;
}

dm_status dm_batch_is_zero(const char *file, int fd, bool *zero) {
  char *piece;
  *zero = true;
  DM_TRY(dm_buffer_alloc(PIECE, (void **)&piece));
  dm_status status = is_zero(file, fd, piece, zero);
  free(piece);
  return status;
}
