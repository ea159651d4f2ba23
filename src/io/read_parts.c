/* Reads complex numbers whose real and imaginary parts are apart in the file: a reader of the reals
 * puts each part in its place. */
#include "core/buffer.h"
#include "io/read_impl.h"

dm_status dm_reader_open_parts(dm_reader *reader) {
  DM_FREED dm_dataset *reals = NULL;
  DM_TRY(dm_buffer_table(1, &reals));
  dm_dataset_reals(&reader->dataset, reals);
  reader->dataset.swapped = false; /* the reader of the reals turns them */
  return dm_reader_open(reals, DM_DTYPE_NONE, &reader->reals);
}

dm_status dm_reader_fetch_parts(const dm_reader *reader, dm_crossings of, void *memory) {
  const dm_dataset *d = &reader->dataset;
  const dm_dtype real = dm_dtype_real(d->dtype);
  const bool last = d->parts == DM_PARTS_LAST;
  if (last && of.right.step == 1) /* the parts of neighbours follow each other */
    return dm_reader_read_lines(reader->reals, of.down, (dm_line){2 * of.right.first, 1},
                                dm_view_row_major(memory, real, of.rows, 2 * of.cols));
  for (int64_t part = 0; part < 2; part++) {
    const dm_line down = {of.down.first + (last ? 0 : part * d->rows), of.down.step};
    const dm_line right = {last ? 2 * of.right.first + part : of.right.first,
                           last ? 2 * of.right.step : of.right.step};
    dm_view to =
        dm_view_row_major((char *)memory + part * dm_dtype_size(real), real, of.rows, of.cols);
    to.row_stride = 2 * of.cols;
    to.col_stride = 2;
    DM_TRY(dm_reader_read_lines(reader->reals, down, right, to));
  }
  return DM_OK;
}
