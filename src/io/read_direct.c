#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/file_system.h"
#include "io/batch.h"
#include "io/read_impl.h"
#include "io/zarr_chunks.h"

dm_status dm_reader_open_file(const dm_dataset *dataset, int *fd) {
  dm_members members;
  const bool split = dataset->members && dm_members_find(dataset->at.file, &members);
  *fd = open(split ? members.pattern : dataset->at.file,
             O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (*fd < 0) return dm_fail_at(DM_E_IO, &dataset->at, "cannot be opened: %s", strerror(errno));
  dm_status status = dm_reader_same_file(dataset, *fd);
  if (!status) return DM_OK;
  close(*fd);
  *fd = -1;
  return status;
}

dm_status dm_reader_open_family(const dm_dataset *d, dm_member_files **files) {
  dm_members members;
  if (!dm_members_find(d->at.file, &members) || members.kind != d->members)
    return dm_reader_changed(d);
  DM_TRY(dm_members_open(&d->at, &members, files));
  return dm_reader_same_file(d, -1);
}

dm_status dm_reader_open_direct(dm_reader *reader) {
  reader->raw = true;
  if (reader->dataset.members == DM_MEMBERS_FAMILY)
    return dm_reader_open_family(&reader->dataset, &reader->members);
  return reader->owner || reader->dataset.memory.base
             ? DM_OK
             : dm_reader_open_file(&reader->dataset, &reader->fd);
}

dm_status dm_reader_take_file(const dm_reader *reader, int *fd) {
  *fd = reader->members ? dm_members_data(reader->members) : reader->fd;
  if (reader->members) return DM_OK;
  return reader->fd >= 0 ? DM_OK : dm_sources_take(reader->owner, reader, fd);
}

void dm_reader_give_file(const dm_reader *reader) {
  if (reader->fd < 0 && !reader->members) dm_sources_give(reader->owner, reader->number);
}

static int64_t read_offset_of(const dm_dataset *d, int64_t row, int64_t col) {
  return d->offset + (row * d->cols + col) * dm_dtype_size(d->dtype);
}

/* Whether all rows of PIECE are one run of the file and of the only view that has them. */
static bool reads_one_run(const dm_dataset *d, const dm_read_request *request,
                          const dm_rectangle *piece) {
  if (request->count != 1 || piece->cols != d->cols || request->rows.step != 1) return false;
  const dm_view view = dm_request_view(request, 0);
  return view.cols == d->cols && dm_view_is_packed(view);
}

/* Adds BYTES of MEMORY for OFFSET, which may be in several files of a family. */
static dm_status read_add(dm_batch *batch, const dm_reader *reader, char *memory, int64_t bytes,
                          int64_t offset) {
  if (!reader->members) return dm_batch_add(batch, memory, bytes, offset);
  for (int64_t done = 0, room; done < bytes; done += room) {
    int fd;
    int64_t place;
    if (!dm_members_place(reader->members, (uint64_t)(offset + done), &fd, &place, &room))
      return dm_fail_at(DM_E_IO, &reader->dataset.at, "its files end at byte %lld",
                        (long long)(offset + done));
    room = dm_min(room, bytes - done);
    if (fd != batch->fd) DM_TRY(dm_batch_flush(batch));
    batch->fd = fd;
    DM_TRY(dm_batch_add(batch, memory + done, room, place));
  }
  return DM_OK;
}

dm_status dm_reader_load(const dm_reader *reader, void *memory, int64_t bytes, int64_t offset) {
  dm_batch batch;
  int fd;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_batch_start(&batch, fd, false, reader->dataset.at.file, NULL);
  dm_status status = read_add(&batch, reader, memory, bytes, offset);
  if (!status) status = dm_batch_flush(&batch);
  dm_reader_give_file(reader);
  dm_reader_count_calls(reader, batch.calls);
  return status;
}

/* Adds LINES's part in each view: a row, or all rows of one run; columns that are apart one by
 * one. */
static dm_status read_add_lines(dm_batch *batch, const dm_reader *reader,
                                const dm_read_request *request, const dm_rectangle *lines) {
  const dm_dataset *d = &reader->dataset;
  int64_t before = 0, at, col;
  dm_view part;
  for (int64_t i = 0; i < request->count; i++)
    if (dm_request_common(request, i, lines, &before, &part, &at, &col)) {
      const int64_t width = request->cols.step == 1 ? part.cols : 1;
      for (int64_t j = 0; j < part.cols; j += width)
        DM_TRY(read_add(
            batch, reader, dm_view_at(part, 0, j), part.rows * width * dm_dtype_size(d->dtype),
            read_offset_of(d, dm_line_at(request->rows, at), dm_line_at(request->cols, col + j))));
    }
  return DM_OK;
}

static dm_status scatter(const dm_reader *reader, const dm_read_request *request,
                         dm_rectangle piece, int fd, const dm_keepalive *keepalive) {
  const dm_dataset *d = &reader->dataset;
  dm_batch batch;
  dm_batch_start(&batch, fd, false, d->at.file, keepalive);
  const int64_t height = reads_one_run(d, request, &piece) ? piece.rows : 1;
  for (int64_t row = piece.row; row < piece.row + piece.rows; row += height) {
    const dm_rectangle lines = {row, piece.col, height, piece.cols};
    DM_TRY(read_add_lines(&batch, reader, request, &lines));
  }
  DM_TRY(dm_batch_flush(&batch));
  dm_reader_count_calls(reader, batch.calls);
  return DM_OK;
}

dm_status dm_reader_scatter(const dm_reader *reader, const dm_read_request *request,
                            dm_rectangle piece, const dm_keepalive *keepalive) {
  int fd;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_status status = scatter(reader, request, piece, fd, keepalive);
  dm_reader_give_file(reader);
  return status;
}

dm_status dm_reader_fetch_run(const dm_reader *reader, int64_t row, int64_t col, int64_t count,
                              void *memory) {
  const dm_dataset *d = &reader->dataset;
  return dm_reader_load(reader, memory, count * dm_dtype_size(d->dtype),
                        read_offset_of(d, row, col));
}

void dm_reader_note(dm_reader *reader, int64_t bytes) {
  reader->bytes += bytes;
}
