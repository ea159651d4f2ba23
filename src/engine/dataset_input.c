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

/* ---- all of it once, in runs of rows: one is passed on while the next one is read ---- */

enum { STRIPS = DM_BUFFER_PASS_PIECES, STRIP = 32 << 20 /* bytes of each in memory, at most */ };

typedef struct stream {
  dm_reader *reader;
  dm_file_queue *ahead;
  const dm_reading *how;
  dm_range rows, cols;           /* of the file */
  int64_t height, width, across; /* of a strip; strips in a row of them */
  int64_t count;
  char *memory;
  dm_transfer *reading[STRIPS];
} stream;

/* In strips of at most MOST bytes: rows, or columns of a column-major file, or parts of one. */
static void cut(stream *s, int64_t most) {
  const bool by_columns = dm_reader_is_by_columns(s->reader);
  const int64_t elements = dm_max(1, most / dm_dtype_size(s->how->work));
  const int64_t rows = dm_range_size(s->rows), cols = dm_range_size(s->cols);
  const int64_t line = dm_max(1, dm_min(by_columns ? rows : cols, elements));
  const int64_t lines = dm_max(1, dm_min(by_columns ? cols : rows, elements / line));
  s->height = by_columns ? line : lines;
  s->width = by_columns ? lines : line;
  s->across = dm_ceil_div(cols, s->width);
  s->count = dm_ceil_div(rows, s->height) * s->across;
}

static int64_t strip_bytes(const stream *s) {
  return s->height * s->width * dm_dtype_size(s->how->work);
}

/* Strip NUMBER, as a part of op(X), and its first element in the file, less the first column. */
static dm_view strip_at(const stream *s, int64_t number, int64_t *row, int64_t *col) {
  void *const at = s->memory + number % STRIPS * strip_bytes(s);
  *row = s->rows.begin + number / s->across * s->height;
  *col = number % s->across * s->width;
  const int64_t rows = dm_min(s->height, s->rows.end - *row);
  const int64_t cols = dm_min(s->width, dm_range_size(s->cols) - *col);
  return s->how->op == DM_OP_N ? dm_view_row_major(at, s->how->work, rows, cols)
                               : dm_view_row_major(at, s->how->work, cols, rows);
}

static dm_status read_strip(stream *s, int64_t number) {
  int64_t row, col;
  if (number >= s->count) return DM_OK;
  const dm_view part = strip_at(s, number, &row, &col);
  const dm_view target = s->how->op == DM_OP_N ? part : dm_view_transpose(part);
  return dm_file_queue_read(s->ahead, s->reader, row, s->cols.begin + col, &target, 1,
                            s->how->op == DM_OP_C, &s->reading[number % STRIPS]);
}

static dm_status pass_strips(dm_run *run, stream *s, dm_part_taker *take, void *context) {
  const bool turned = s->how->op != DM_OP_N;
  DM_TRY(read_strip(s, 0));
  for (int64_t i = 0; i < s->count; i++) {
    int64_t row, col;
    DM_TRY(read_strip(s, i + 1));
    DM_TRY(dm_transfer_wait(s->reading[i % STRIPS], &run->keepalive));
    const dm_view part = strip_at(s, i, &row, &col);
    DM_TRY(take(context, part, turned ? col : row, turned ? row : col));
  }
  return DM_OK;
}

static dm_status pass_all(dm_run *run, stream *s, dm_part_taker *take, void *context) {
  if (s->count == 0) return DM_OK;
  DM_TRY(dm_buffer_alloc(dm_min(STRIPS, s->count) * strip_bytes(s), (void **)&s->memory));
  dm_status status = pass_strips(run, s, take, context);
  if (status) dm_file_queue_cancel(s->ahead); /* no thread reads into the memory any more */
  free(s->memory);
  return status;
}

dm_status dm_file_stream(dm_run *run, const dm_dataset *dataset, dm_range rows, dm_range cols,
                         const dm_reading *how, dm_part_taker *take, void *context) {
  if (dm_dataset_is_empty(dataset)) return DM_OK; /* it adds nothing to any sum */
  stream s = {.how = how, .rows = rows, .cols = cols};
  DM_TRY(dm_reader_open(dataset, how->as, &s.reader));
  cut(&s, STRIP);
  dm_reader_keepalive(s.reader, &run->keepalive);
  dm_run_phase(run, "reading", 1);
  const int64_t chunk = dataset->chunk_rows * dataset->chunk_cols * dm_dtype_size(dataset->dtype);
  const int64_t of_file = dataset->rows * dataset->cols * dm_dtype_size(dataset->dtype);
  const int64_t kept = dm_max(DM_READ_MEMORY, dm_chunks_kept(chunk, of_file));
  dm_status status = dm_file_queue_open(dm_run_io_threads(run, how->threads), kept, &s.ahead);
  if (!status) status = pass_all(run, &s, take, context);
  dm_file_queue_close(s.ahead);
  if (how->missing) dm_reader_missing(s.reader, how->missing);
  dm_reader_close(s.reader);
  return status;
}

/* ---- the same of op(A) or op(B), for the plan ---- */

/* Whether rows of the dataset lie along k. */
static bool is_along(const dm_dataset_input *input, dm_matrix matrix) {
  return (matrix == DM_A) == (input->op == DM_OP_N);
}

bool dm_file_pass_has_lines(const dm_dataset_input *input, const dm_rank_state *local,
                            dm_matrix matrix) {
  const dm_problem *p = &local->plan->problem;
  return is_along(input, matrix) && !dm_reader_is_by_columns(input->reader) &&
         p->k <= dm_plan_pass_bytes(local->plan, matrix) / dm_dtype_size(p->work);
}

/* A taker of pieces, as one of parts. */
typedef struct piece_taker {
  dm_rank_state *local;
  dm_piece_taker *take;
  void *context;
} piece_taker;

static dm_status take_piece(void *context, dm_view part, int64_t row, int64_t col) {
  const piece_taker *to = context;
  DM_TRY(to->take(to->context, to->local->backend, part, 0, row, col));
  return dm_run_beat(to->local->run);
}

dm_status dm_file_pass(dm_dataset_input *input, dm_rank_state *local, dm_matrix matrix,
                       dm_piece_taker *take, void *context) {
  const dm_run *run = local->run;
  const dm_problem *p = &local->plan->problem;
  const bool along = is_along(input, matrix);
  const int64_t lines = matrix == DM_A ? p->m : p->n;
  const dm_reading how = {.op = input->op, .work = p->work};
  piece_taker to = {local, take, context};
  stream s = {.reader = input->reader,
              .ahead = input->ahead,
              .how = &how,
              .rows = dm_split(along ? lines : p->k, run->ranks, run->rank, 1),
              .cols = {0, along ? p->k : lines}};
  cut(&s, dm_plan_pass_bytes(local->plan, matrix));
  return pass_all(local->run, &s, take_piece, &to);
}
