#include "transform/centered_copy.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "io/read.h"
#include "plan/partition.h"

enum {
  CENTERED_COPY_RUN = 256, /* elements that are changed at once */
  CENTERED_COPY_ROWS = 16, /* of a thread's turn */
  CENTERED_COPY_SPARE =
      4, /* copies that a GPU must have room for to hold one beside a product's shares */
  CENTERED_COPY_STRIP =
      32 << 20, /* bytes that are centered on a GPU at once for a copy in host memory */
};

/* ---- elements ---- */

typedef struct copying {
  dm_view from, to;
} copying;

static void centered_copy_rows(void *context, int64_t turn) {
  const copying *c = context;
  const int64_t row = turn * CENTERED_COPY_ROWS,
                rows = dm_min(CENTERED_COPY_ROWS, c->to.rows - row);
  dm_copy(dm_view_sub(c->to, row, 0, rows, c->to.cols),
          dm_view_sub(c->from, row, 0, rows, c->to.cols), false);
}

/* TO = FROM, what the meaning of SET says is missing as NaN, or 0. */
static dm_status read_view(const dm_dataset *set, dm_view from, dm_view to) {
  dm_dataset read = {.at = set->at, .meaning = set->meaning};
  if (read.meaning.missing != DM_MISSING_ZERO) read.meaning.missing = DM_MISSING_NAN;
  return dm_read_memory(&read, from, DM_DTYPE_NONE, to, false);
}

/* FROM in host memory; on the threads of CREW if nothing is missing. */
static dm_status copy_view(dm_crew *crew, const dm_dataset *set, dm_view from, dm_view to) {
  copying c = {from, to};
  if (set->meaning.found || dm_dtype_largest(from.dtype) > dm_dtype_largest(to.dtype))
    return read_view(set, from, to);
  dm_crew_run(crew, centered_copy_rows, &c, dm_ceil_div(to.rows, CENTERED_COPY_ROWS));
  return DM_OK;
}

/* ---- this rank's part ---- */

static dm_gaps gaps_of(const dm_meaning *m) {
  dm_gaps gaps = {.nan = m->nan, .zero = m->missing == DM_MISSING_ZERO, .count = m->count};
  if (!m->found) return (dm_gaps){.count = 0};
  memcpy(gaps.values, m->real, sizeof gaps.values);
  return gaps;
}

void dm_centered_room_release(dm_centered_room *room) {
  if (room->memory) dm_backend_release(room->backend, DM_DEVICE, room->memory);
  room->memory = NULL;
  room->bytes = 0;
}

static dm_status take_room(dm_centered_room *room, int64_t bytes, void **memory) {
  if (room->bytes < bytes) {
    dm_centered_room_release(room);
    DM_TRY(dm_backend_alloc(room->backend, DM_DEVICE, bytes, &room->memory));
    room->bytes = bytes;
  }
  *memory = room->memory;
  return DM_OK;
}

/* Of a matrix in GPU memory, a copy in a room of its own is in host memory if it is large: beside
 * it there must be room for the shares of its product. */
static dm_status centered_copy_take_memory(int64_t bytes, dm_centered_copy *copy) {
  dm_centered_room *room = copy->room;
  dm_view *part = &copy->part;
  dm_device device;
  if (part->space == DM_DEVICE && room == &copy->own) {
    DM_TRY(dm_backend_device(room->backend, &device));
    if (bytes > device.memory_free / CENTERED_COPY_SPARE) part->space = DM_HOST;
  }
  return part->space == DM_DEVICE ? take_room(room, bytes, &part->base)
                                  : dm_buffer_alloc(bytes, &part->base);
}

/* By rows; of a matrix in GPU memory in its order, in lines of 16-byte pieces, which products and
 * sums prefer. */
static dm_status centered_copy_allocate(dm_dtype type, dm_centered_copy *copy) {
  const dm_view from = copy->from.local;
  dm_view *to = &copy->part;
  const bool on_gpu = from.space == DM_DEVICE, by_columns = on_gpu && from.col_stride != 1;
  const int64_t piece = on_gpu ? 16 / dm_dtype_size(type) : 1;
  const int64_t line = dm_round_up(by_columns ? from.rows : from.cols, piece);
  int64_t bytes;
  *to = from;
  to->base = NULL;
  to->dtype = type;
  to->row_stride = by_columns ? 1 : line;
  to->col_stride = by_columns ? line : 1;
  DM_TRY(dm_bytes_of(by_columns ? from.cols : from.rows, line, dm_dtype_size(type), &bytes));
  return centered_copy_take_memory(bytes, copy);
}

static dm_status centered_copy_check_type(const dm_centered_source *source, dm_view from) {
  if (from.space == DM_HOST || dm_dtype_is_complex(source->type) == dm_dtype_is_complex(from.dtype))
    return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE,
                         "%s is real, and GPU memory holds it: it cannot be centered as %s",
                         source->name, dm_dtype_name(source->type)),
                 "convert it first, or leave out the option \"type\"");
}

static dm_status centered_copy_open_part(dm_run *run, const dm_centered_source *source,
                                         dm_centered_copy *copy) {
  dm_memory_matrix *to = &copy->stated;
  const dm_view from = copy->from.local;
  copy->gaps = gaps_of(&source->set->meaning);
  *to = *source->stated;
  to->dtype = source->type;
  if (to->division == DM_REPLICATED) to->division = DM_BY_ROWS;
  to->own_rows = from.rows;
  to->data = to->stream = NULL;
  if (dm_view_is_empty(from)) return DM_OK;
  DM_TRY(centered_copy_check_type(source, from));
  DM_TRY(dm_context(centered_copy_allocate(source->type, copy), "a centered copy of %s",
                    source->name));
  to->on_gpu = copy->part.space == DM_DEVICE;
  to->data = copy->part.base;
  to->row_stride = copy->part.row_stride;
  to->col_stride = copy->part.col_stride;
  if (from.space == DM_DEVICE) return DM_OK;
  dm_crew *crew;
  DM_TRY(dm_crew_new(run->cores.threads, &crew));
  dm_status status = copy_view(crew, source->set, from, copy->part);
  dm_crew_free(crew);
  return status;
}

static dm_status centered_copy_reach(dm_run *run, const dm_engine_options *engine, const char *name,
                                     dm_centered_copy *copy) {
  if (copy->room != &copy->own) return dm_distributed_reach(&copy->from, copy->room->backend, name);
  return dm_distributed_open_backend(run, engine, &copy->from, name, &copy->own.backend);
}

dm_status dm_centered_copy_open(dm_run *run, const dm_engine_options *engine,
                                dm_centered_room *room, const dm_centered_source *source,
                                dm_centered_copy *copy) {
  *copy = (dm_centered_copy){.room = room ? room : &copy->own};
  DM_TRY(dm_distributed_open(run->world, source->stated, source->name, &copy->from));
  dm_status status = centered_copy_reach(run, engine, source->name, copy);
  if (!status) status = centered_copy_open_part(run, source, copy);
  return dm_comm_agree(run->world, status);
}

void dm_centered_copy_free(dm_centered_copy *copy) {
  if (copy->part.space == DM_HOST) free(copy->part.base);
  dm_distributed_close(&copy->from);
  dm_centered_room_release(&copy->own);
  dm_backend_close(copy->own.backend);
  *copy = (dm_centered_copy){.room = NULL};
}

/* ---- moments ---- */

/* The part of an axis that this rank has, whose runs lie one after the other in its memory. */
typedef struct portion {
  const dm_axis *axis;
  int part;
} portion;

static void portions_of(const dm_run *run, const dm_distributed *matrix, portion *rows,
                        portion *cols) {
  *rows = (portion){&matrix->of.rows, 0};
  *cols = (portion){&matrix->of.cols, 0};
  (void)dm_distribution_parts(&matrix->of, run->rank, &rows->part, &cols->part);
}

/* OWN = the numbers at these places of the WHOLE axis, WIDTH at each; put: the reverse. */
static void centered_copy_pick(const portion *p, int64_t width, const double *whole, double *own) {
  for (int64_t r = 0; r < p->axis->count; r++) {
    const dm_axis_run *run = &p->axis->runs[r];
    const int64_t count = dm_axis_end(p->axis, r) - run->begin;
    if (run->part == p->part)
      memcpy(own + run->local * width, whole + run->begin * width,
             (size_t)(count * width) * sizeof *own);
  }
}

static void centered_copy_put(const portion *p, int64_t width, double *whole, const double *own) {
  for (int64_t r = 0; r < p->axis->count; r++) {
    const dm_axis_run *run = &p->axis->runs[r];
    const int64_t count = dm_axis_end(p->axis, r) - run->begin;
    if (run->part == p->part)
      memcpy(whole + run->begin * width, own + run->local * width,
             (size_t)(count * width) * sizeof *own);
  }
}

/* The place in the whole axis of place OWN of the portion. */
static int64_t centered_copy_place_of(const portion *p, int64_t own) {
  for (int64_t r = 0; r < p->axis->count; r++) {
    const dm_axis_run *run = &p->axis->runs[r];
    const int64_t place = run->begin + own - run->local;
    if (run->part == p->part && place >= run->begin && place < dm_axis_end(p->axis, r))
      return place;
  }
  return 0;
}

static dm_status take_on_gpu(const dm_run *run, const dm_centered_copy *copy, dm_moments *m) {
  const dm_view part = copy->from.local;
  const int64_t lines = m->by_rows ? part.rows : part.cols, width = lines * m->parts;
  const int64_t length = m->by_rows ? part.cols : part.rows;
  portion rows, cols;
  double *numbers;
  int64_t first;
  portions_of(run, &copy->from, &rows, &cols);
  DM_TRY(dm_buffer_zeroed(DM_MOMENTS * width + lines + length, sizeof *numbers, (void **)&numbers));
  double *const powers = numbers + DM_MOMENTS * width, *const weights = powers + lines;
  if (m->powers) centered_copy_pick(m->by_rows ? &rows : &cols, 1, m->powers, powers);
  if (m->weights) centered_copy_pick(m->by_rows ? &cols : &rows, 1, m->weights, weights);
  const dm_moments_how how = {.by_rows = m->by_rows,
                              .gaps = &copy->gaps,
                              .powers = m->powers ? powers : NULL,
                              .weights = m->weights ? weights : NULL};
  dm_status status = dm_backend_moments(copy->room->backend, part, &how, numbers, &first);
  for (int what = 0; what < DM_MOMENTS && !status; what++)
    centered_copy_put(m->by_rows ? &rows : &cols, m->parts, dm_moments_of(m, run->rank, what),
                      numbers + what * width);
  free(numbers);
  if (status || first == INT64_MAX) return status;
  const int64_t row = centered_copy_place_of(&rows, first / part.cols),
                col = centered_copy_place_of(&cols, first % part.cols);
  dm_moments_note_missing(m, m->by_rows ? row : col, m->by_rows ? col : row);
  return DM_OK;
}

/* Passes this rank's part of the copy, which is in host memory. */
static dm_status centered_copy_each(const dm_run *run, const dm_centered_copy *copy,
                                    dm_part_taker *take, void *context) {
  dm_distributed there = copy->from; /* divided alike */
  there.local = copy->part;
  return dm_distributed_each(&there, run->rank, take, context);
}

dm_status dm_centered_copy_take(const dm_run *run, const dm_centered_copy *copy, dm_moments *m) {
  dm_moments_group t = {.moments = m, .group = run->rank};
  if (!copy->part.base) return DM_OK;
  if (copy->from.local.space == DM_DEVICE) return take_on_gpu(run, copy, m);
  DM_TRY(dm_crew_new(run->cores.threads, &t.crew));
  dm_status status = centered_copy_each(run, copy, dm_moments_take, &t);
  dm_crew_free(t.crew);
  return status;
}

/* Moments count what is present. */
static dm_status mark_on_gpu(const dm_run *run, const dm_centered_copy *copy, dm_marking *m) {
  const dm_view part = copy->from.local;
  const int64_t terms = m->by_rows ? part.rows : part.cols;
  const int64_t parts = dm_dtype_is_complex(part.dtype) ? 2 : 1;
  const double all = (double)(m->by_rows ? part.cols : part.rows);
  const dm_moments_how how = {.by_rows = m->by_rows, .gaps = &copy->gaps};
  portion rows, cols;
  double *numbers;
  int64_t first;
  portions_of(run, &copy->from, &rows, &cols);
  DM_TRY(dm_buffer_zeroed(DM_MOMENTS * parts * terms, (int64_t)sizeof *numbers, (void **)&numbers));
  const double *const present = numbers + DM_PRESENT * parts * terms;
  dm_status status = dm_backend_moments(copy->room->backend, part, &how, numbers, &first);
  for (int64_t i = 0; i < terms && !status; i++)
    if (present[i * parts] < all)
      m->marks[centered_copy_place_of(m->by_rows ? &rows : &cols, i)] = 1;
  free(numbers);
  return status;
}

dm_status dm_centered_copy_mark(const dm_run *run, const dm_centered_copy *copy, dm_marking *m) {
  if (!copy->part.base) return DM_OK;
  return copy->from.local.space == DM_DEVICE ? mark_on_gpu(run, copy, m)
                                             : centered_copy_each(run, copy, dm_mark_missing, m);
}

/* ---- centering ---- */

typedef struct changing {
  const dm_centering *centering;
  dm_crew *crew;
  dm_view part;
  int64_t row, col;
} changing;

static void change_row(void *context, int64_t i) {
  const changing *c = context;
  const dm_dtype type = c->part.dtype;
  double values[2 * CENTERED_COPY_RUN];
  for (int64_t j = 0; j < c->part.cols; j += CENTERED_COPY_RUN) {
    const int64_t count = dm_min(CENTERED_COPY_RUN, c->part.cols - j);
    void *at = dm_view_at(c->part, i, j);
    dm_load_wide(values, at, type, 1, count);
    dm_centering_apply(c->centering, c->row + i, c->col + j, false, values,
                       dm_dtype_is_complex(type), count);
    dm_store_wide(at, type, 1, values, count);
  }
}

static dm_status change_part(void *context, dm_view part, int64_t row, int64_t col) {
  changing *c = context;
  c->part = part;
  c->row = row;
  c->col = col;
  dm_crew_run(c->crew, change_row, c, part.rows);
  return DM_OK;
}

/* CENTERING for the part that begins at (ROW, COL). */
static dm_centering centering_from(const dm_centering *centering, int64_t row, int64_t col) {
  dm_centering part = *centering;
  const int64_t line = part.lines == DM_ROW_LINES ? row : col;
  if (part.shift) part.shift += line * part.parts;
  if (part.fill) part.fill += line * part.parts;
  if (part.factor) part.factor += line;
  if (part.power) part.power += line;
  if (part.weight) part.weight += part.weight_lines == DM_ROW_LINES ? row : col;
  return part;
}

/* A copy in host memory, rows of which, or columns, are made on the GPU one strip after the other.
 */
static dm_status center_strips(const dm_centered_copy *copy, const dm_centering *centering) {
  const dm_view from = copy->from.local, part = copy->part;
  const bool across = part.col_stride != 1;
  dm_backend *backend = copy->room->backend;
  const int64_t lines = across ? part.cols : part.rows;
  const int64_t line = (across ? part.col_stride : part.row_stride) * dm_dtype_size(part.dtype);
  const int64_t height = dm_min(lines, dm_max(1, CENTERED_COPY_STRIP / line));
  void *memory;
  DM_TRY(take_room(copy->room, height * line, &memory));
  for (int64_t first = 0; first < lines; first += height) {
    const int64_t row = across ? 0 : first, col = across ? first : 0;
    const int64_t count = dm_min(height, lines - first);
    const int64_t rows = across ? part.rows : count, cols = across ? count : part.cols;
    const dm_view to = dm_view_sub(part, row, col, rows, cols);
    const dm_centering own = centering_from(centering, row, col);
    dm_view strip = to;
    strip.base = memory;
    strip.space = DM_DEVICE;
    DM_TRY(dm_backend_center(backend, strip, dm_view_sub(from, row, col, rows, cols), &copy->gaps,
                             &own));
    DM_TRY(dm_backend_copy_now(backend, across ? dm_view_transpose(to) : to,
                               across ? dm_view_transpose(strip) : strip));
  }
  return DM_OK;
}

/* The numbers of the lines and weights that this rank has, in one block of memory. */
static dm_status change_on_gpu(const dm_run *run, const dm_centered_copy *copy,
                               const dm_centering *centering) {
  dm_centering own = *centering;
  portion rows, cols;
  double *memory;
  portions_of(run, &copy->from, &rows, &cols);
  const struct {
    const double **of;
    int64_t width;
    dm_lines lines;
  } lists[] = {{&own.power, 1, own.lines},
               {&own.shift, own.parts, own.lines},
               {&own.fill, own.parts, own.lines},
               {&own.factor, 1, own.lines},
               {&own.weight, 1, own.weight_lines}};
  enum { CENTERED_COPY_LISTS = sizeof lists / sizeof lists[0] };
  int64_t places[CENTERED_COPY_LISTS], room = 0;
  for (int i = 0; i < CENTERED_COPY_LISTS; i++) {
    places[i] = room;
    if (*lists[i].of)
      room += lists[i].width * (lists[i].lines == DM_ROW_LINES ? copy->part.rows : copy->part.cols);
  }
  DM_TRY(dm_buffer_zeroed(room, sizeof *memory, (void **)&memory));
  for (int i = 0; i < CENTERED_COPY_LISTS; i++) {
    if (!*lists[i].of) continue;
    centered_copy_pick(lists[i].lines == DM_ROW_LINES ? &rows : &cols, lists[i].width, *lists[i].of,
                       memory + places[i]);
    *lists[i].of = memory + places[i];
  }
  dm_status status =
      copy->part.space == DM_HOST
          ? center_strips(copy, &own)
          : dm_backend_center(copy->room->backend, copy->part, copy->from.local, &copy->gaps, &own);
  free(memory);
  return status;
}

static dm_status change_on_host(const dm_run *run, const dm_centered_copy *copy,
                                const dm_centering *centering) {
  changing c = {.centering = centering};
  DM_TRY(dm_crew_new(run->cores.threads, &c.crew));
  dm_status status = centered_copy_each(run, copy, change_part, &c);
  dm_crew_free(c.crew);
  return status;
}

dm_status dm_centered_copy_change(dm_run *run, const dm_centered_copy *copy,
                                  const dm_centering *centering) {
  const bool on_gpu = copy->from.local.space == DM_DEVICE;
  dm_status status = DM_OK;
  if (copy->part.base) status = (on_gpu ? change_on_gpu : change_on_host)(run, copy, centering);
  return dm_comm_agree(run->world, status);
}
