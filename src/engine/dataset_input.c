#include "engine/dataset_input.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/composite.h"
#include "file/file_queue.h"
#include "plan/buffers.h"
#include "plan/partition.h"
#include "plan/volume.h"

dm_status dm_dataset_input_read(dm_dataset_input *input, int64_t row, int64_t col, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (input->op == DM_OP_N) return dm_reader_read(input->reader, row, col, &view, 1, false);
  dm_view transposed = dm_view_transpose(view);
  return dm_reader_read(input->reader, col, row, &transposed, 1, input->op == DM_OP_C);
}

void dm_dataset_input_note(dm_dataset_input *input, dm_view view) {
  if (view.dtype != DM_I8) return;
  int largest = 0;
  for (int64_t i = 0; i < view.rows; i++) {
    const int8_t *row = dm_view_at(view, i, 0);
    for (int64_t j = 0; j < view.cols; j++) {
      int magnitude = row[j] < 0 ? -row[j] : row[j];
      if (magnitude > largest) largest = magnitude;
    }
  }
  if (largest > input->largest) input->largest = largest;
}

static dm_status share(const dm_comm *world, int rank, dm_dataset *dataset) {
  int64_t bytes = dataset->composite ? dataset->composite->bytes : 0;
  dm_status status = DM_OK;
  DM_TRY(dm_comm_broadcast(world, &bytes, sizeof bytes, 0));
  if (bytes == 0) return DM_OK;
  if (rank > 0) {
    void *memory;
    status = dm_buffer_zeroed(bytes, 1, &memory);
    if (!status) dataset->composite = memory;
  }
  DM_TRY(dm_comm_agree(world, status));
  return dm_comm_broadcast(world, dataset->composite, bytes, 0);
}

dm_status dm_datasets_share(const dm_comm *world, int rank, dm_dataset *const *datasets,
                            int count) {
  for (int i = 0; i < count && rank > 0; i++) datasets[i]->composite = NULL; /* rank 0's address */
  for (int i = 0; i < count; i++) DM_TRY(share(world, rank, datasets[i]));
  return DM_OK;
}

/* ---- all of it, once ---- */

enum { PIECES = DM_BUFFER_PASS_PIECES };

/* Size along k and across it; across means rows of op(A), or columns of op(B), called lines
 * here. */
typedef struct extent {
  int64_t depth, lines;
} extent;

static extent extent_of(int64_t rows, int64_t cols, dm_matrix matrix) {
  return matrix == DM_A ? (extent){cols, rows} : (extent){rows, cols};
}

static extent whole_of(const dm_rank_state *local, dm_matrix matrix) {
  const dm_problem *p = &local->plan->problem;
  return (extent){p->k, matrix == DM_A ? p->m : p->n};
}

/* The size of a piece: part of a contiguous unit of the file if that is too large, else several
 * units, along k first, such that every rank has something to read. */
static extent piece_of(const dm_dataset_input *input, const dm_rank_state *local,
                       dm_matrix matrix) {
  const extent whole = whole_of(local, matrix);
  const int64_t room =
      dm_plan_pass_bytes(local->plan, matrix) / dm_dtype_size(local->plan->problem.work);
  int64_t rows, cols;
  dm_reader_grain(input->reader, &rows, &cols);
  const bool turned = input->op != DM_OP_N;
  const extent grain = extent_of(turned ? cols : rows, turned ? rows : cols, matrix);
  const extent part = {dm_min(grain.depth, room),
                       dm_max(1, dm_min(grain.lines, room / grain.depth))};
  if (part.depth < grain.depth || part.lines < grain.lines) return part;
  const int64_t deep = dm_ceil_div(whole.depth, grain.depth);
  const int64_t wide = dm_ceil_div(whole.lines, grain.lines);
  const int64_t count = dm_max(
      1, dm_min(room / (grain.depth * grain.lines), dm_ceil_div(deep * wide, local->run->ranks)));
  return (extent){dm_min(whole.depth, dm_min(count, deep) * grain.depth),
                  dm_min(whole.lines, dm_max(1, count / deep) * grain.lines)};
}

bool dm_file_pass_has_lines(const dm_dataset_input *input, const dm_rank_state *local,
                            dm_matrix matrix) {
  return piece_of(input, local, matrix).depth == whole_of(local, matrix).depth;
}

typedef struct pass {
  dm_dataset_input *input;
  dm_rank_state *local;
  dm_matrix matrix;
  extent whole, piece;
  dm_range mine; /* this rank's pieces */
  char *memory;
  dm_transfer *reading[PIECES];
} pass;

static int64_t slot_of(const pass *p, int64_t number) {
  return (number - p->mine.begin) % PIECES;
}

/* Piece NUMBER, counted along k and then across it: its place in op(A) or op(B), and its memory. */
static dm_view view_of(const pass *p, int64_t number, int64_t *row, int64_t *col) {
  const int64_t deep = dm_ceil_div(p->whole.depth, p->piece.depth);
  const int64_t k = number % deep * p->piece.depth, line = number / deep * p->piece.lines;
  const extent e = {dm_min(p->piece.depth, p->whole.depth - k),
                    dm_min(p->piece.lines, p->whole.lines - line)};
  const bool a = p->matrix == DM_A;
  const dm_dtype work = p->local->plan->problem.work;
  const int64_t bytes = p->piece.depth * p->piece.lines * dm_dtype_size(work);
  *row = a ? line : k;
  *col = a ? k : line;
  return dm_view_row_major(p->memory + slot_of(p, number) * bytes, work, a ? e.lines : e.depth,
                           a ? e.depth : e.lines);
}

static dm_status begin(pass *p, int64_t number) {
  int64_t row, col;
  const dm_view view = view_of(p, number, &row, &col), turned = dm_view_transpose(view);
  const dm_dataset_input *in = p->input;
  dm_transfer **reading = &p->reading[slot_of(p, number)];
  return in->op == DM_OP_N
             ? dm_file_queue_read(in->ahead, in->reader, row, col, &view, 1, false, reading)
             : dm_file_queue_read(in->ahead, in->reader, col, row, &turned, 1, in->op == DM_OP_C,
                                  reading);
}

/* Passes this rank's pieces to TAKE; reads the next one meanwhile. */
static dm_status take_all(pass *p, dm_piece_taker *take, void *context) {
  dm_rank_state *local = p->local;
  const dm_range mine = p->mine;
  for (int64_t i = mine.begin; i < dm_min(mine.begin + PIECES, mine.end); i++) DM_TRY(begin(p, i));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    int64_t row, col;
    DM_TRY(dm_transfer_wait(p->reading[slot_of(p, i)], &local->run->keepalive));
    const dm_view view = view_of(p, i, &row, &col);
    DM_TRY(take(context, local->backend, view, 0, row, col));
    DM_TRY(dm_run_beat(local->run));
    if (i + PIECES < mine.end) DM_TRY(begin(p, i + PIECES));
  }
  return DM_OK;
}

dm_status dm_file_pass(dm_dataset_input *input, dm_rank_state *local, dm_matrix matrix,
                       dm_piece_taker *take, void *context) {
  pass p = {.input = input,
            .local = local,
            .matrix = matrix,
            .whole = whole_of(local, matrix),
            .piece = piece_of(input, local, matrix)};
  const int64_t pieces =
      dm_ceil_div(p.whole.depth, p.piece.depth) * dm_ceil_div(p.whole.lines, p.piece.lines);
  p.mine = dm_split(pieces, local->run->ranks, local->run->rank, 1);
  const int64_t bytes = p.piece.depth * p.piece.lines * dm_dtype_size(local->plan->problem.work);
  void *memory;
  if (dm_range_size(p.mine) == 0) return DM_OK;
  DM_TRY(dm_buffer_alloc(dm_min(PIECES, dm_range_size(p.mine)) * bytes, &memory));
  p.memory = memory;
  dm_status status = take_all(&p, take, context);
  if (status) dm_file_queue_cancel(input->ahead); /* no thread reads into the memory any more */
  free(memory);
  return status;
}

/* ---- all of it once, in runs of rows: one is passed on while the next one is read ---- */

enum { STRIPS = 2, STRIP = 32 << 20 }; /* bytes of each in memory */

typedef struct stream {
  dm_reader *reader;
  dm_file_queue *ahead;
  const dm_reading *how;
  dm_range rows, cols;
  int64_t height, bytes; /* of a strip */
  char *memory;
  dm_transfer *reading[STRIPS];
} stream;

static int place_of(const stream *s, int64_t row) {
  return (int)((row - s->rows.begin) / s->height % STRIPS);
}

/* The strip from ROW on, as a part of op(X). */
static dm_view strip_at(const stream *s, int64_t row) {
  const int64_t count = dm_min(s->height, s->rows.end - row), width = dm_range_size(s->cols);
  void *const at = s->memory + place_of(s, row) * s->bytes;
  return s->how->op == DM_OP_N ? dm_view_row_major(at, s->how->work, count, width)
                               : dm_view_row_major(at, s->how->work, width, count);
}

static dm_status read_strip(stream *s, int64_t row) {
  const dm_view part = strip_at(s, row);
  const dm_view target = s->how->op == DM_OP_N ? part : dm_view_transpose(part);
  if (row >= s->rows.end) return DM_OK;
  return dm_file_queue_read(s->ahead, s->reader, row, s->cols.begin, &target, 1,
                            s->how->op == DM_OP_C, &s->reading[place_of(s, row)]);
}

static dm_status pass_strips(dm_run *run, stream *s, dm_part_taker *take, void *context) {
  const bool turned = s->how->op != DM_OP_N;
  DM_TRY(read_strip(s, s->rows.begin));
  for (int64_t row = s->rows.begin; row < s->rows.end; row += s->height) {
    DM_TRY(read_strip(s, row + s->height));
    DM_TRY(dm_transfer_wait(s->reading[place_of(s, row)], &run->keepalive));
    DM_TRY(take(context, strip_at(s, row), turned ? 0 : row, turned ? row : 0));
  }
  return DM_OK;
}

dm_status dm_file_stream(dm_run *run, int threads, const dm_dataset *dataset, dm_range rows,
                         dm_range cols, const dm_reading *how, dm_part_taker *take, void *context,
                         dm_missing_found *missing) {
  if (dm_dataset_is_empty(dataset)) return DM_OK; /* it adds nothing to any sum */
  stream s = {.how = how, .rows = rows, .cols = cols};
  int64_t row_bytes;
  DM_TRY(dm_bytes_of(dm_range_size(cols), 1, dm_dtype_size(how->work), &row_bytes));
  s.height = dm_min(dm_max(1, STRIP / row_bytes), dm_max(1, dm_range_size(rows)));
  DM_TRY(dm_bytes_of(s.height, 1, row_bytes, &s.bytes));
  DM_TRY(dm_reader_open(dataset, how->as, &s.reader));
  dm_reader_keepalive(s.reader, &run->keepalive);
  dm_run_phase(run, "reading", 1);
  const int64_t chunk = dataset->chunk_rows * dataset->chunk_cols * dm_dtype_size(dataset->dtype);
  const int64_t of_file = dataset->rows * dataset->cols * dm_dtype_size(dataset->dtype);
  const int64_t kept = dm_max(DM_READ_MEMORY, dm_chunks_kept(chunk, of_file));
  dm_status status = dm_file_queue_open(dm_run_io_threads(run, threads), kept, &s.ahead);
  const int64_t strips = s.height < dm_range_size(rows) ? STRIPS : 1;
  if (!status) status = dm_buffer_alloc(strips * s.bytes, (void **)&s.memory);
  if (!status) status = pass_strips(run, &s, take, context);
  dm_file_queue_close(s.ahead);
  free(s.memory);
  if (missing) dm_reader_missing(s.reader, missing);
  dm_reader_close(s.reader);
  return status;
}
