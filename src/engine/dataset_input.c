#include "engine/dataset_input.h"

#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/composite.h"
#include "io/file_queue.h"
#include "plan/buffers.h"
#include "plan/partition.h"
#include "plan/volume.h"

dm_status dm_dataset_input_read(dm_dataset_input *input, int64_t row, int64_t col, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (input->op == DM_OP_N) return dm_reader_read(input->reader, row, col, &view, 1, false);
  dm_view transposed = dm_view_transpose(view);
  return dm_reader_read(input->reader, col, row, &transposed, 1, input->op == DM_OP_C);
}

static void note_integers(dm_dataset_input *input, dm_view view) {
  double largest = input->largest;
  if (view.row_stride == 1 || (view.col_stride != 1 && view.rows > view.cols))
    view = dm_view_transpose(view);
  for (int64_t i = 0; i < view.rows; i++) {
    const double *row = dm_view_at(view, i, 0);
    for (int64_t j = 0; j < view.cols; j++) largest = fmax(largest, fabs(row[j * view.col_stride]));
  }
  input->largest = largest;
}

void dm_dataset_input_note(dm_dataset_input *input, dm_view view) {
  if (input->integral && view.dtype == DM_F64) note_integers(input, view);
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

static dm_status dataset_input_share(const dm_comm *world, int rank, dm_dataset *dataset) {
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
  for (int i = 0; i < count; i++) DM_TRY(dataset_input_share(world, rank, datasets[i]));
  return DM_OK;
}

/* ---- all of it once, in runs of rows: one is passed on while the next one is read ---- */

enum {
  DATASET_INPUT_STRIPS = DM_BUFFER_PASS_PIECES,
  DATASET_INPUT_STRIP = 32 << 20 /* bytes of each in memory, at most */
};

typedef struct stream {
  dm_reader *reader;
  dm_file_queue *ahead;
  const dm_reading *how;
  dm_range rows, cols;   /* of the file */
  int64_t all_rows;      /* of the file, which groups divide */
  int64_t band;          /* columns that are passed before those beside them, from column 0 on */
  int64_t height, width; /* of a strip, at most */
  char *memory;
  dm_transfer *reading[DATASET_INPUT_STRIPS];
} stream;

/* In strips of at most MOST bytes: rows, or columns of a column-major file, or parts of one. They
 * do not depend on the part of the file that this rank passes. */
static void dataset_input_cut(stream *s, int64_t rows, int64_t cols, int64_t most) {
  const bool by_columns = dm_reader_is_by_columns(s->reader);
  const int64_t elements = dm_max(1, most / dm_dtype_size(s->how->work));
  const int64_t wide = dm_min(cols, s->band);
  const int64_t line = dm_max(1, dm_min(by_columns ? rows : wide, elements));
  const int64_t lines = dm_max(1, dm_min(by_columns ? wide : rows, elements / line));
  s->height = by_columns ? line : lines;
  s->width = by_columns ? lines : line;
}

static int64_t dataset_input_strip_bytes(const stream *s) {
  const int64_t height = dm_min(s->height, dm_range_size(s->rows));
  return height * dm_min(s->width, dm_range_size(s->cols)) * dm_dtype_size(s->how->work);
}

/* The first row after ROW that no strip crosses. */
static int64_t border_after(const stream *s, int64_t row) {
  const int64_t groups = s->how->groups;
  if (groups <= 1) return s->rows.end;
  int64_t g = (int64_t)((double)row / (double)s->all_rows * (double)groups);
  g = dm_max(0, dm_min(g, groups - 1));
  while (g > 0 && dm_split(s->all_rows, groups, g, 1).begin > row) g--;
  while (dm_split(s->all_rows, groups, g, 1).end <= row) g++;
  return dm_min(s->rows.end, dm_split(s->all_rows, groups, g, 1).end);
}

/* The strip at (ROW, COL). */
static dm_extent strip_from(const stream *s, int64_t row, int64_t col) {
  const int64_t right = dm_min(s->cols.end, dm_sat_add(col / s->band * s->band, s->band));
  return (dm_extent){{row, dm_min(row + s->height, border_after(s, row))},
                     {col, dm_min(col + s->width, right)}};
}

/* Turns *STRIP into the next one; false: it was the last. Bands of columns come one after the
 * other, in each of them rows. */
static bool next_strip(const stream *s, dm_extent *strip) {
  const int64_t left = dm_max(s->cols.begin, strip->cols.begin / s->band * s->band);
  const int64_t right = dm_min(s->cols.end, dm_sat_add(left / s->band * s->band, s->band));
  int64_t row = strip->rows.begin, col = strip->cols.end;
  if (col == right) {
    row = strip->rows.end;
    col = left;
  }
  if (row == s->rows.end) {
    row = s->rows.begin;
    col = right;
  }
  if (col == s->cols.end) return false;
  *strip = strip_from(s, row, col);
  return true;
}

/* STRIP, number NUMBER, as a part of op(X). */
static dm_view strip_view(const stream *s, const dm_extent *strip, int64_t number) {
  void *const at = s->memory + number % DATASET_INPUT_STRIPS * dataset_input_strip_bytes(s);
  const int64_t rows = dm_range_size(strip->rows), cols = dm_range_size(strip->cols);
  return s->how->op == DM_OP_N ? dm_view_row_major(at, s->how->work, rows, cols)
                               : dm_view_row_major(at, s->how->work, cols, rows);
}

static dm_status dataset_input_read_strip(stream *s, const dm_extent *strip, int64_t number) {
  const dm_view part = strip_view(s, strip, number);
  const dm_view target = s->how->op == DM_OP_N ? part : dm_view_transpose(part);
  return dm_file_queue_read(s->ahead, s->reader, strip->rows.begin, strip->cols.begin, &target, 1,
                            s->how->op == DM_OP_C, &s->reading[number % DATASET_INPUT_STRIPS]);
}

static dm_status pass_strips(dm_run *run, stream *s, dm_part_taker *take, void *context) {
  const bool turned = s->how->op != DM_OP_N;
  dm_extent strip = strip_from(s, s->rows.begin, s->cols.begin), next = strip;
  bool more = true;
  DM_TRY(dataset_input_read_strip(s, &strip, 0));
  for (int64_t i = 0; more; i++, strip = next) {
    more = next_strip(s, &next);
    if (more) DM_TRY(dataset_input_read_strip(s, &next, i + 1));
    DM_TRY(dm_transfer_wait(s->reading[i % DATASET_INPUT_STRIPS], &run->keepalive));
    const int64_t row = strip.rows.begin, col = strip.cols.begin - s->cols.begin;
    DM_TRY(take(context, strip_view(s, &strip, i), turned ? col : row, turned ? row : col));
  }
  return DM_OK;
}

static dm_status dataset_input_pass_all(dm_run *run, stream *s, dm_part_taker *take,
                                        void *context) {
  if (dm_range_size(s->rows) == 0 || dm_range_size(s->cols) == 0) return DM_OK;
  const int64_t bytes = DATASET_INPUT_STRIPS * dataset_input_strip_bytes(s);
  s->memory = dm_cached_take(&run->cached, bytes);
  if (!s->memory) DM_TRY(dm_buffer_alloc(bytes, (void **)&s->memory));
  dm_status status = pass_strips(run, s, take, context);
  if (status) dm_file_queue_cancel(s->ahead); /* no thread reads into the memory any more */
  dm_cached_give(&run->cached, s->memory, bytes);
  return status;
}

/* Bytes of the chunks that a pass over SET keeps. */
static int64_t chunks_cached(const dm_dataset *set) {
  const int64_t size = dm_dtype_size(set->dtype);
  return dm_max(DM_READ_MEMORY, dm_chunks_cached(set->chunk_rows * set->chunk_cols * size,
                                                 set->rows * set->cols * size));
}

/* Columns whose chunks beside each other fit twice into the memory for chunks: strips of them
 * unpack each once, if chunks are higher than strips. */
static int64_t dataset_input_band_of(const dm_dataset *set) {
  const int64_t chunk = set->chunk_rows * set->chunk_cols * dm_dtype_size(set->dtype);
  if (chunk == 0) return dm_max(1, set->cols);
  return dm_max(1, chunks_cached(set) / 2 / chunk) * set->chunk_cols;
}

bool dm_file_divides_columns(const dm_dataset *set) {
  const double tall = (double)dm_min(set->chunk_rows, set->rows) / (double)set->rows;
  const double wide = (double)dm_min(set->chunk_cols, set->cols) / (double)set->cols;
  return set->by_columns || tall > wide;
}

dm_range dm_file_part(const dm_dataset *set, dm_range all, int64_t parts, int64_t index) {
  const bool chunks = dm_file_divides_columns(set) && set->chunk_cols > 0;
  dm_range part = dm_split(dm_range_size(all), parts, index, chunks ? set->chunk_cols : 1);
  part.begin += all.begin;
  part.end += all.begin;
  return part;
}

dm_status dm_file_stream(dm_run *run, const dm_dataset *dataset, dm_range rows, dm_range cols,
                         const dm_reading *how, dm_part_taker *take, void *context) {
  if (dm_dataset_is_empty(dataset)) return DM_OK; /* it adds nothing to any sum */
  stream s = {.how = how,
              .rows = rows,
              .cols = cols,
              .all_rows = dataset->rows,
              .band = dataset_input_band_of(dataset)};
  DM_TRY(dm_reader_open(dataset, how->as, &s.reader));
  dataset_input_cut(&s, dataset->rows, dataset->cols,
                    how->strip > 0 ? dm_min(how->strip, DATASET_INPUT_STRIP) : DATASET_INPUT_STRIP);
  dm_reader_keepalive(s.reader, &run->keepalive);
  dm_run_phase(run, "reading", 1);
  dm_status status =
      dm_file_queue_open(dm_run_io_threads(run, how->threads), chunks_cached(dataset), &s.ahead);
  if (!status) status = dataset_input_pass_all(run, &s, take, context);
  if (!status && how->unpacked) *how->unpacked += dm_file_queue_unpacked(s.ahead);
  dm_file_queue_close(s.ahead);
  if (how->missing) dm_reader_missing(s.reader, how->missing);
  dm_reader_close(s.reader);
  return status;
}

/* ---- the same of op(A) or op(B), for the plan ---- */

/* Whether rows of the dataset lie along k. */
static bool dataset_input_is_along(const dm_dataset_input *input, dm_matrix matrix) {
  return (matrix == DM_A) == (input->op == DM_OP_N);
}

bool dm_file_pass_has_lines(const dm_dataset_input *input, const dm_rank_state *local,
                            dm_matrix matrix) {
  const dm_problem *p = &local->plan->problem;
  return dataset_input_is_along(input, matrix) && !dm_reader_is_by_columns(input->reader) &&
         p->k <= dm_plan_pass_bytes(local->plan, matrix) / dm_dtype_size(p->work);
}

/* A taker of pieces, as one of parts. */
typedef struct dataset_input_piece_taker {
  dm_rank_state *local;
  dm_piece_taker *take;
  void *context;
} dataset_input_piece_taker;

static dm_status dataset_input_take_piece(void *context, dm_view part, int64_t row, int64_t col) {
  const dataset_input_piece_taker *to = context;
  DM_TRY(to->take(to->context, to->local->backend, part, 0, row, col));
  return dm_run_beat(to->local->run);
}

dm_status dm_file_pass(dm_dataset_input *input, dm_rank_state *local, dm_matrix matrix,
                       dm_piece_taker *take, void *context) {
  const dm_run *run = local->run;
  const dm_problem *p = &local->plan->problem;
  const bool along = dataset_input_is_along(input, matrix);
  const int64_t lines = matrix == DM_A ? p->m : p->n;
  const dm_reading how = {.op = input->op, .work = p->work};
  dataset_input_piece_taker to = {local, take, context};
  stream s = {.reader = input->reader,
              .ahead = input->ahead,
              .how = &how,
              .rows = dm_split(along ? lines : p->k, run->ranks, run->rank, 1),
              .cols = {0, along ? p->k : lines}};
  s.band = dm_max(1, s.cols.end);
  dataset_input_cut(&s, dm_range_size(s.rows), s.cols.end, dm_plan_pass_bytes(local->plan, matrix));
  return dataset_input_pass_all(local->run, &s, dataset_input_take_piece, &to);
}
