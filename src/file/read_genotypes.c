/* Reads packed genotypes: what travels from the file are their bytes. */
#include <string.h>

#include "core/checked.h"
#include "file/batch.h"
#include "file/genotypes.h"
#include "file/read_impl.h"

/* Bytes read with one call, but for longer lines. */
enum { PACKED = 1 << 20 };

/* What is read of the file: WIDTH bytes of each line, from byte LEFT on; so many LINES at a time,
 * in a single run if they are whole or close to each other. */
typedef struct packed_part {
  int64_t left, width, lines;
  int64_t apart; /* bytes from one line to the next in memory */
  bool run;
} packed_part;

static packed_part packed_part_of(const dm_dataset *d, dm_line down, dm_line right, int64_t cols) {
  const int64_t line = dm_genotype_bytes(d->cols), last = dm_line_at(right, cols - 1);
  packed_part p = {.left = right.first / 4};
  p.width = last / 4 + 1 - p.left;
  p.run = down.step * line <= dm_max(p.width, DM_READ_BETWEEN);
  p.apart = p.run ? down.step * line : p.width;
  p.lines = dm_max(1, PACKED / p.apart);
  return p;
}

/* Reads ROWS lines from number ROW on, STEP apart. */
static dm_status packed_read(const dm_reader *reader, const packed_part *p, int64_t row,
                             int64_t step, int64_t rows, int fd, char *memory) {
  const dm_dataset *d = &reader->dataset;
  const int64_t line = dm_genotype_bytes(d->cols), first = d->offset + row * line + p->left;
  const int64_t calls = p->run ? 1 : rows;
  const int64_t bytes = p->run ? (rows - 1) * p->apart + p->width : p->width;
  for (int64_t i = 0; i < calls; i++)
    DM_TRY(dm_batch_move(fd, false, d->at.file, memory + i * p->apart, bytes,
                         first + i * step * line));
  dm_reader_count_calls(reader, calls);
  return DM_OK;
}

static dm_status packed_fetch(const dm_reader *reader, dm_line down, int64_t rows, dm_line right,
                              int64_t cols, int fd, dm_scratch *scratch, int8_t *memory) {
  const packed_part p = packed_part_of(&reader->dataset, down, right, cols);
  DM_TRY(dm_scratch_grow(scratch, 1, dm_min(p.lines, rows) * p.apart));
  const uint8_t *packed = scratch->memory[1];
  for (int64_t row = 0; row < rows; row += p.lines) {
    const int64_t count = dm_min(p.lines, rows - row);
    DM_TRY(
        packed_read(reader, &p, dm_line_at(down, row), down.step, count, fd, scratch->memory[1]));
    for (int64_t i = 0; i < count; i++)
      dm_genotypes_unpack(packed + i * p.apart, right.first - 4 * p.left, right.step, cols,
                          memory + (row + i) * cols);
  }
  return DM_OK;
}

dm_status dm_reader_fetch_genotypes(const dm_reader *reader, dm_line down, int64_t rows,
                                    dm_line right, int64_t cols, dm_scratch *scratch,
                                    void *memory) {
  int fd;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_status status = packed_fetch(reader, down, rows, right, cols, fd, scratch, memory);
  dm_reader_give_file(reader);
  return status;
}
