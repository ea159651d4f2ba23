#include "programs/distances.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "engine/dataset_input.h"
#include "io/read.h"
#include "plan/partition.h"
#include "transform/centered.h"

enum { DISTANCES_ROWS = 16, DISTANCES_PAIRS = 1 << 20, PIECE_OF_PAIRS = 64 };

/* ---- the centre, and the squares of lines ---- */

static dm_lines distances_across(dm_lines lines) {
  return lines == DM_ROW_LINES ? DM_COLUMN_LINES : DM_ROW_LINES;
}

/* Any centre is right: the closer to the lines, the fewer pairs are taken again. */
static void distances_set_centre(const dm_centering *means, dm_distances *d) {
  for (int64_t i = 0; i < d->k; i++) {
    const double mean = means->shift[i] / (means->power ? means->power[i] : 1.0);
    d->centre[i] = isfinite(mean) ? mean : 0.0;
  }
}

/* The means of elements of A that are numbers; also tells whether values are missing. */
static dm_status distances_find_centre(dm_run *run, const dm_multiply *m, dm_distances *d) {
  DM_FREED dm_vectors *none = NULL;
  dm_centered made = {.made = {NULL, NULL}};
  dm_equation e = m->equation;
  dm_dataset sets[2] = {m->a, m->b};
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &none)));
  for (int x = 0; x < 2; x++)
    e.standard[x] = (dm_standard){.center = distances_across(d->lines[x]), .fills = true};
  dm_status status =
      dm_center_inputs(run, m->engine.io_threads, none, &e, &sets[0], &sets[1], &made);
  if (!status) distances_set_centre(made.made[0], d);
  dm_centered_free(&made);
  return status;
}

/* Squares of lines of which parts come. */
typedef struct squaring {
  bool by_rows;
  int64_t first_col;
  double *squares;
} squaring;

static dm_status distances_square(void *context, dm_view part, int64_t row, int64_t col) {
  const squaring *s = context;
  double *to = s->squares + (s->by_rows ? row : col + s->first_col);
  for (int64_t i = 0; i < part.rows; i++) {
    const double *x = dm_view_at(part, i, 0);
    double sum[4] = {0.0};
    if (s->by_rows)
      for (int64_t j = 0; j < part.cols; j++) sum[j & 3] += x[j] * x[j];
    else
      for (int64_t j = 0; j < part.cols; j++) to[j] += x[j] * x[j];
    if (s->by_rows) to[i] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  return DM_OK;
}

/* Collective: those of SET, of which each rank passes a part. */
static dm_status distances_find_squares(dm_run *run, int io_threads, const dm_dataset *set,
                                        dm_lines lines, double *squares) {
  const bool columns = dm_file_divides_columns(set);
  const dm_range all[2] = {{0, set->rows}, {0, set->cols}};
  const dm_range own = dm_file_part(set, all[columns], run->ranks, run->rank);
  const dm_range rows = columns ? all[0] : own, cols = columns ? own : all[1];
  const dm_reading how = {.as = DM_F64, .work = DM_F64, .threads = io_threads};
  squaring s = {.by_rows = lines == DM_ROW_LINES, .first_col = cols.begin, .squares = squares};
  dm_status status = dm_range_size(own) > 0
                         ? dm_file_stream(run, set, rows, cols, &how, distances_square, &s)
                         : DM_OK;
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_comm_sum_f64(run->world, squares, lines == DM_ROW_LINES ? set->rows : set->cols);
}

static int64_t distances_lines_of(const dm_distances *d, const dm_dataset *set, int x) {
  return d->lines[x] == DM_ROW_LINES ? set->rows : set->cols;
}

static dm_status distances_allocate(const dm_multiply *m, dm_distances *d) {
  const dm_dataset *const sets[2] = {&m->a, &m->b};
  DM_TRY(dm_buffer_table(dm_max(1, d->k), &d->centre));
  for (int x = 0; x < 2; x++)
    if (x == 0 || !d->one)
      DM_TRY(dm_buffer_table(dm_max(1, distances_lines_of(d, sets[x], x)), &d->squares[x]));
  if (d->one) d->squares[1] = d->squares[0];
  return DM_OK;
}

/* Shifts the lines of SETS, and takes their squares. */
static dm_status distances_shift(dm_run *run, int io_threads, dm_dataset *const sets[2],
                                 dm_distances *d) {
  for (int x = 0; x < 2; x++) {
    d->centering[x] = (dm_centering){.lines = distances_across(d->lines[x]),
                                     .count = d->k,
                                     .parts = 1,
                                     .complete = -1,
                                     .shift = d->centre,
                                     .weight_lines = distances_across(d->lines[x])};
    sets[x]->centering = &d->centering[d->one ? 0 : x];
    if (x == 1 && d->one) continue;
    DM_TRY(distances_find_squares(run, io_threads, sets[x], d->lines[x], d->squares[x]));
  }
  return DM_OK;
}

dm_status dm_distances_open(dm_run *run, dm_multiply *m, int64_t room, dm_distances *d) {
  dm_dataset *const sets[2] = {&m->a, &m->b};
  dm_equation *e = &m->equation;
  *d = (dm_distances){.run = run,
                      .what = e->distance,
                      .type = e->type_c,
                      .lines = {e->op_a == DM_OP_N ? DM_ROW_LINES : DM_COLUMN_LINES,
                                e->op_b == DM_OP_N ? DM_COLUMN_LINES : DM_ROW_LINES},
                      .one = e->symmetric,
                      .room = room};
  d->k = d->lines[0] == DM_ROW_LINES ? m->a.cols : m->a.rows;
  e->distance = (dm_line_distance){.kind = DM_NO_DISTANCE};
  e->type = e->type_c = DM_F64;
  DM_TRY(dm_comm_agree(run->world, distances_allocate(m, d)));
  if (d->k == 0) return DM_OK;
  DM_TRY(distances_find_centre(run, m, d));
  return distances_shift(run, m->engine.io_threads, sets, d);
}

void dm_distances_close(dm_distances *d) {
  free(d->centre);
  free(d->squares[0]);
  if (!d->one) free(d->squares[1]);
  *d = (dm_distances){.run = NULL};
}

/* ---- a tile ---- */

/* A pair that is taken again, and the sum so far. */
typedef struct near_pair {
  int64_t row, col; /* in the part */
  double squares;
} near_pair;

typedef struct distances_finishing {
  dm_distances *d;
  dm_view part;
  int64_t first, row, col;
  const dm_dataset *sets[2]; /* as stored */
  dm_reader *readers[2];
  int64_t *near; /* pairs to be taken again in each row */
  near_pair *pairs;
  int64_t count;
  int64_t width; /* elements of each line that are in memory at a time, */
  dm_range held; /* and which these are */
  double *lines[2];
} distances_finishing;

static double *distances_row(const distances_finishing *f, int64_t i) {
  return dm_view_at(f->part, i, 0);
}

/* The rows of a piece; those without a close pair become what they shall be. */
static dm_status distances_finish_rows(void *context, int64_t piece) {
  const distances_finishing *f = context;
  dm_distances *d = f->d;
  const int64_t end = dm_min(f->part.rows, (piece + 1) * DISTANCES_ROWS), cols = f->part.cols;
  for (int64_t i = piece * DISTANCES_ROWS; i < end; i++) {
    double *x = distances_row(f, i);
    const int64_t self = f->row + i - f->col;
    f->near[i] = dm_distance_squares(x, d->squares[0][f->row + i], d->squares[1] + f->col, cols);
    if (d->one && self >= 0 && self < cols && isfinite(d->squares[0][f->row + i])) {
      f->near[i] -= x[self] == -1.0;
      x[self] = 0.0;
    }
    if (f->near[i] == 0) dm_distance_finish(&d->what, d->type, x, cols);
  }
  return DM_OK;
}

/* Elements HELD of the lines of the part. */
static dm_status distances_hold(distances_finishing *f, dm_range held) {
  if (f->held.begin == held.begin && f->held.end == held.end) return DM_OK;
  for (int x = 0; x < 2; x++) {
    const bool rows = f->d->lines[x] == DM_ROW_LINES;
    const int64_t first = x == 0 ? f->first : 0, count = x == 0 ? f->part.rows : f->part.cols;
    if (!f->readers[x]) DM_TRY(dm_reader_open(f->sets[x], DM_DTYPE_NONE, &f->readers[x]));
    dm_view view = dm_view_row_major(f->lines[x], DM_F64, count, dm_range_size(held));
    if (!rows) view = dm_view_transpose(view);
    DM_TRY(dm_reader_read(f->readers[x], rows ? first : held.begin, rows ? held.begin : first,
                          &view, 1, false));
  }
  f->held = held;
  return DM_OK;
}

static dm_status distances_add_pairs(void *context, int64_t piece) {
  const distances_finishing *f = context;
  const int64_t end = dm_min(f->count, (piece + 1) * PIECE_OF_PAIRS);
  const int64_t size = dm_range_size(f->held);
  for (int64_t i = piece * PIECE_OF_PAIRS; i < end; i++) {
    near_pair *one = &f->pairs[i];
    one->squares +=
        dm_distance_between(f->lines[0] + one->row * size, f->lines[1] + one->col * size, size);
  }
  return DM_OK;
}

/* The pairs in the list, of whole rows. */
static dm_status distances_take_again(distances_finishing *f, int64_t first, int64_t end) {
  dm_distances *d = f->d;
  const int threads = d->run->cores.threads;
  for (int64_t at = 0; at < d->k; at += f->width) {
    DM_TRY(distances_hold(f, (dm_range){at, dm_min(d->k, at + f->width)}));
    DM_TRY(dm_fork_each(dm_ceil_div(f->count, PIECE_OF_PAIRS), threads, distances_add_pairs, f));
    DM_TRY(dm_run_beat(d->run));
  }
  for (int64_t i = 0; i < f->count; i++)
    distances_row(f, f->pairs[i].row)[f->pairs[i].col] = f->pairs[i].squares;
  for (int64_t i = first; i < end; i++)
    if (f->near[i] > 0) dm_distance_finish(&d->what, d->type, distances_row(f, i), f->part.cols);
  d->again += f->count;
  f->count = 0;
  return DM_OK;
}

static void distances_list_row(distances_finishing *f, int64_t i) {
  const double *x = distances_row(f, i);
  for (int64_t j = 0; j < f->part.cols; j++)
    if (x[j] == -1.0) f->pairs[f->count++] = (near_pair){.row = i, .col = j};
}

static dm_status distances_take_all_again(distances_finishing *f, int64_t most) {
  const int64_t lines = f->part.rows + f->part.cols;
  const int64_t fits = f->d->room / (lines * (int64_t)sizeof(double));
  f->width = dm_max(1, dm_min(f->d->k, fits));
  DM_TRY(dm_buffer_table(most, &f->pairs));
  DM_TRY(dm_buffer_table(f->part.rows * f->width, &f->lines[0]));
  DM_TRY(dm_buffer_table(f->part.cols * f->width, &f->lines[1]));
  int64_t first = 0;
  for (int64_t i = 0; i < f->part.rows; i++) {
    if (f->count + f->near[i] > most) {
      DM_TRY(distances_take_again(f, first, i));
      first = i;
    }
    if (f->near[i] > 0) distances_list_row(f, i);
  }
  return f->count > 0 ? distances_take_again(f, first, f->part.rows) : DM_OK;
}

static dm_status distances_work(distances_finishing *f) {
  const int threads = f->d->run->cores.threads;
  int64_t all = 0;
  DM_TRY(dm_buffer_table(dm_max(1, f->part.rows), &f->near));
  DM_TRY(
      dm_fork_each(dm_ceil_div(f->part.rows, DISTANCES_ROWS), threads, distances_finish_rows, f));
  for (int64_t i = 0; i < f->part.rows; i++) all += f->near[i];
  return all > 0 ? distances_take_all_again(f, dm_max(f->part.cols, dm_min(all, DISTANCES_PAIRS)))
                 : DM_OK;
}

dm_status dm_distances_finish(dm_distances *d, const dm_dataset *a, const dm_dataset *b,
                              dm_view part, int64_t first, int64_t row, int64_t col) {
  DM_FREED dm_dataset *stored = NULL;
  DM_TRY(dm_buffer_table(2, &stored));
  stored[0] = *a;
  stored[1] = *b;
  for (int x = 0; x < 2; x++) stored[x].centering = NULL;
  distances_finishing f = {.d = d,
                           .part = part,
                           .first = first,
                           .row = row,
                           .col = col,
                           .sets = {&stored[0], &stored[1]}};
  dm_status status = distances_work(&f);
  for (int x = 0; x < 2; x++) {
    dm_reader_close(f.readers[x]);
    free(f.lines[x]);
  }
  free(f.pairs);
  free(f.near);
  return status;
}
