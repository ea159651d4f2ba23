/* Reads packed genotypes: what travels from the file are their bytes. */
#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "core/copy.h"
#include "dataset/genotypes.h"
#include "io/batch.h"
#include "io/read_impl.h"

/* Bytes read with one call, but for longer lines. */
enum { PACKED = 1 << 20 };

/* What is read of the file: WIDTH bytes of each line, from byte LEFT on; so many LINES at a time,
 * in a single run if they are whole or close to each other. */
typedef struct packed_part {
  int64_t left, width, lines;
  int64_t apart; /* bytes from one line to the next in memory */
  bool run;
} packed_part;

static packed_part packed_part_of(const dm_dataset *d, dm_crossings of) {
  const int64_t line = dm_genotype_bytes(d->cols), last = dm_line_at(of.right, of.cols - 1);
  packed_part p = {.left = of.right.first / 4};
  p.width = last / 4 + 1 - p.left;
  p.run = of.down.step * line <= dm_max(p.width, DM_READ_BETWEEN);
  p.apart = p.run ? of.down.step * line : p.width;
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

static dm_status packed_each(const dm_reader *reader, dm_crossings of, int fd, dm_scratch *scratch,
                             dm_packed_take *take, void *context) {
  const packed_part p = packed_part_of(&reader->dataset, of);
  DM_TRY(dm_scratch_grow(scratch, 1, dm_min(p.lines, of.rows) * p.apart));
  const uint8_t *packed = scratch->memory[1];
  for (int64_t row = 0; row < of.rows; row += p.lines) {
    const int64_t count = dm_min(p.lines, of.rows - row);
    DM_TRY(packed_read(reader, &p, dm_line_at(of.down, row), of.down.step, count, fd,
                       scratch->memory[1]));
    for (int64_t i = 0; i < count; i++)
      take(context, row + i, packed + i * p.apart, of.right.first - 4 * p.left);
  }
  return DM_OK;
}

dm_status dm_reader_each_packed(const dm_reader *reader, dm_crossings of, dm_scratch *scratch,
                                dm_packed_take *take, void *context) {
  int fd;
  if (of.rows == 0 || of.cols == 0) return DM_OK;
  DM_TRY(dm_reader_take_file(reader, &fd));
  dm_status status = packed_each(reader, of, fd, scratch, take, context);
  dm_reader_give_file(reader);
  return status;
}

/* ---- as numbers ---- */

/* Where they go. */
typedef struct unpacking {
  int8_t *memory;
  int64_t step, cols;
} unpacking;

static void unpack_line(void *context, int64_t row, const uint8_t *line, int64_t first) {
  const unpacking *u = context;
  dm_genotypes_unpack(line, first, u->step, u->cols, u->memory + row * u->cols);
}

dm_status dm_reader_fetch_genotypes(const dm_reader *reader, dm_crossings of, dm_scratch *scratch,
                                    void *memory) {
  unpacking u = {memory, of.right.step, of.cols};
  return dm_reader_each_packed(reader, of, scratch, unpack_line, &u);
}

/* ---- as values of which each row has four: these are centered, not all of its elements ---- */

typedef struct lookup {
  const dm_reader *reader;
  const dm_read_request *request;
  dm_rectangle piece;
} lookup;

bool dm_reader_looks_up(const dm_reader *reader, const dm_read_request *request) {
  const dm_centering *c = reader->dataset.centering;
  const dm_missing missing = reader->dataset.meaning.missing;
  for (int64_t i = 0; i < request->count && !request->picks; i++)
    if (dm_dtype_is_complex(request->views[i].dtype)) return false;
  return reader->dataset.genotypes && c && c->lines == DM_ROW_LINES &&
         (!c->weight || c->weight_lines == DM_ROW_LINES) && !request->turned && !request->picks &&
         reader->through == DM_DTYPE_NONE &&
         (missing == DM_MISSING_MEAN || missing == DM_MISSING_PAIRWISE);
}

/* What the four codes are in row ROW of the matrix, as elements of TYPE. */
static void lookup_values(const dm_reader *reader, int64_t row, dm_dtype type, char elements[64]) {
  double values[4], rounded[4];
  for (int i = 0; i < 4; i++) {
    const int8_t number = dm_genotype_of(i);
    values[i] = number == DM_GENOTYPE_MISSING ? (double)NAN : number;
  }
  dm_centering_apply(reader->dataset.centering, row, 0, false, values, false, 4);
  if (reader->as != type) {
    dm_store_wide(rounded, reader->as, 1, values, 4);
    dm_load_wide(values, rounded, reader->as, 1, 4);
  }
  dm_store_wide(elements, type, 1, values, 4);
}

/* The same for elements of each size. */
#define LOOKUP(name, type)                                                                         \
  static void name(const uint8_t *line, int64_t first, int64_t step, const void *elements,         \
                   dm_view to) {                                                                   \
    const type *of = elements;                                                                     \
    type *at = to.base;                                                                            \
    int64_t i = 0;                                                                                 \
    if (step == 1 && to.col_stride == 1) {                                                         \
      for (; i < to.cols && (first + i) % 4 != 0; i++)                                             \
        at[i] = of[dm_genotype_code(line, first + i)];                                             \
      for (const uint8_t *byte = line + (first + i) / 4; i + 4 <= to.cols; i += 4, byte++) {       \
        at[i] = of[*byte & 3];                                                                     \
        at[i + 1] = of[*byte >> 2 & 3];                                                            \
        at[i + 2] = of[*byte >> 4 & 3];                                                            \
        at[i + 3] = of[*byte >> 6];                                                                \
      }                                                                                            \
    }                                                                                              \
    for (; i < to.cols; i++) at[i * to.col_stride] = of[dm_genotype_code(line, first + i * step)]; \
  }

LOOKUP(lookup_64, uint64_t)
LOOKUP(lookup_32, uint32_t)
LOOKUP(lookup_16, uint16_t)

static void lookup_line(void *context, int64_t row, const uint8_t *line, int64_t first) {
  const lookup *l = context;
  const dm_read_request *request = l->request;
  const dm_rectangle one = {l->piece.row + row, l->piece.col, 1, l->piece.cols};
  const int64_t place = request->row + one.row - request->part.row;
  dm_dtype type = DM_DTYPE_NONE;
  _Alignas(16) char elements[64];
  int64_t before = 0, top, left;
  dm_view view;
  for (int64_t i = 0; i < request->count; i++) {
    if (!dm_request_common(request, i, &one, &before, &view, &top, &left)) continue;
    if (view.dtype != type) lookup_values(l->reader, place, view.dtype, elements);
    type = view.dtype;
    const int64_t step = request->cols.step, from = first + (left - one.col) * step;
    const int64_t size = dm_dtype_size(type);
    (size == 8 ? lookup_64 : size == 4 ? lookup_32 : lookup_16)(line, from, step, elements, view);
  }
}

dm_status dm_reader_look_up(const dm_reader *reader, const dm_read_request *request,
                            dm_rectangle piece, dm_scratch *scratch) {
  lookup l = {reader, request, piece};
  return dm_reader_each_packed(reader, dm_request_crossings(request, &piece), scratch, lookup_line,
                               &l);
}
