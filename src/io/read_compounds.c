/* Reads numbers inside of larger elements: whole elements are read, and the numbers taken out of
 * them. */
#include "core/checked.h"
#include "io/read_impl.h"

/* Bytes read with one call, but for longer rows. */
enum { RECORDS_READ = 1 << 20 };

/* Numbers FIRST, FIRST + STEP, ... of a row, COUNT of them. */
typedef struct read_taken {
  int64_t first, step, count;
} read_taken;

typedef struct records {
  const dm_dataset *d;
  int64_t each; /* numbers in a record */
  int parts;    /* reals in a number */
  dm_dtype real;
  bool exact;
} records;

/* The numbers of ROWS rows, AWAY records apart, from those records on that begin at MEMORY with
 * record number FIRST: their first one is number PLACE of all. */
static void read_take_rows(records *r, const char *memory, int64_t first, int64_t place,
                           int64_t rows, int64_t away, read_taken t, char *to) {
  const int64_t bytes = r->d->compound.bytes, size = dm_dtype_size(r->d->dtype);
  for (int64_t i = 0, some; i < t.count; i += some) {
    const int64_t at = place + i * t.step, inside = at % r->each;
    some = t.step == 1 ? dm_min(t.count - i, r->each - inside) : 1;
    const dm_records alike = {rows, memory + (at / r->each - first) * bytes, away * bytes,
                              to + i * size, t.count * size};
    r->exact &=
        dm_compound_gather(&r->d->compound, r->real, &alike, inside * r->parts, some * r->parts);
  }
}

static dm_status load_records(const dm_reader *reader, int64_t first, int64_t count, void *memory) {
  const dm_dataset *d = &reader->dataset;
  if (d->offset < 0) return dm_reader_load_elements(reader, first, count, memory);
  return dm_reader_load(reader, memory, count * d->compound.bytes,
                        d->offset + first * d->compound.bytes);
}

dm_status dm_reader_fetch_compounds(const dm_reader *reader, dm_crossings of, dm_scratch *scratch,
                                    void *memory) {
  const dm_dataset *d = &reader->dataset;
  records r = {d, dm_dataset_each(d), dm_dtype_is_complex(d->dtype) ? 2 : 1,
               dm_dtype_real(d->dtype), true};
  if (of.rows == 0 || of.cols == 0) return DM_OK;
  const read_taken t = {of.right.first, of.right.step, of.cols};
  const int64_t last = dm_line_at(of.right, of.cols - 1), apart = of.down.step * d->cols;
  const int64_t width = ((last - of.right.first) / r.each + 2) * d->compound.bytes;
  const int64_t row = (apart / r.each + 1) * d->compound.bytes;
  /* Of neighbouring of.rows all is read with one call. */
  const bool run = row <= dm_max(2 * width, DM_READ_BETWEEN);
  const int64_t lines = run ? dm_max(1, (RECORDS_READ - width) / row) : 1;
  /* Then each row takes the same places of its records. */
  const int64_t alike = apart % r.each == 0 ? apart / r.each : 0;
  for (int64_t i = 0; i < of.rows; i += lines) {
    const int64_t some = dm_min(lines, of.rows - i), place = dm_line_at(of.down, i) * d->cols;
    const int64_t from = (place + of.right.first) / r.each;
    const int64_t end = (dm_line_at(of.down, i + some - 1) * d->cols + last) / r.each + 1;
    char *to = (char *)memory + i * of.cols * dm_dtype_size(d->dtype);
    DM_TRY(dm_scratch_grow(scratch, 1, (end - from) * d->compound.bytes));
    DM_TRY(load_records(reader, from, end - from, scratch->memory[1]));
    if (alike > 0)
      read_take_rows(&r, scratch->memory[1], from, place + of.right.first, some, alike, t, to);
    for (int64_t j = 0; j < some && alike == 0; j++)
      read_take_rows(&r, scratch->memory[1], from, place + j * apart + of.right.first, 1, 1, t,
                     to + j * of.cols * dm_dtype_size(d->dtype));
  }
  return r.exact ? DM_OK : dm_reader_inexact(reader);
}
