/* Statistics of rows and columns for exponents, in host memory: maxima, and sums of integers, in
 * any order. Lanes are columns, or every 64th element of a row, so that compilers vectorize the
 * loops. */
#include <string.h>

#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/residues.h"
#include "core/wide_vectors.h"

enum {
  HOST_LINES_RUN = 256,  /* columns at a time */
  HOST_LINES_LANES = 64, /* lanes of a row */
  SUMMED = 1 << 20       /* most numbers per lane whose sum f64 holds exactly: each is below 2^30 */
};

/* Integer sums of each lane. */
typedef struct lane_sums {
  double of[DM_LINE_SUMS][HOST_LINES_RUN];
} lane_sums;

/* COUNT elements of a row as f64: in place, or converted in BUFFER. */
static const double *host_lines_run_of(dm_view matrix, int64_t row, int64_t col, int64_t count,
                                       double buffer[HOST_LINES_RUN]) {
  const void *at = dm_view_at(matrix, row, col);
  if (matrix.dtype == DM_F64 && matrix.col_stride == 1) return at;
  dm_load_wide(buffer, at, matrix.dtype, matrix.col_stride, count);
  return buffer;
}

/* ---- extremes ---- */

/* NaN counts as infinite; zeros and infinities are excluded from LEAST. */
DM_INLINE void host_lines_take_extremes_loop(const double *restrict values, int64_t count,
                                             double *restrict most, double *restrict least) {
  const double infinity = (double)INFINITY;
  for (int64_t j = 0; j < count; j++) {
    const double absolute = fabs(values[j]);
    const double size = absolute <= infinity ? absolute : infinity;
    const double above = size > 0.0 ? size : infinity;
    most[j] = size > most[j] ? size : most[j];
    least[j] = above < least[j] ? above : least[j];
  }
}

DM_BOTH_WIDTHS(host_lines_take_extremes,
               (const double *values, int64_t count, double *most, double *least),
               (values, count, most, least))

static void host_lines_join_extremes(double most, double least, double extremes[2]) {
  if (most > extremes[0]) extremes[0] = most;
  if (-least > extremes[1]) extremes[1] = -least;
}

static void clear_extremes(double most[HOST_LINES_RUN], double least[HOST_LINES_RUN]) {
  for (int64_t j = 0; j < HOST_LINES_RUN; j++) {
    most[j] = 0.0;
    least[j] = (double)INFINITY;
  }
}

static void extremes_of_row(dm_view matrix, int64_t row, double extremes[2]) {
  double values[HOST_LINES_RUN], most[HOST_LINES_RUN], least[HOST_LINES_RUN];
  clear_extremes(most, least);
  for (int64_t j = 0; j < matrix.cols; j += HOST_LINES_RUN) {
    const int64_t count = dm_min(HOST_LINES_RUN, matrix.cols - j);
    const double *run = host_lines_run_of(matrix, row, j, count, values);
    for (int64_t at = 0; at < count; at += HOST_LINES_LANES)
      host_lines_take_extremes(run + at, dm_min(HOST_LINES_LANES, count - at), most, least);
  }
  for (int64_t l = 0; l < HOST_LINES_LANES; l++)
    host_lines_join_extremes(most[l], least[l], extremes);
}

/* At most HOST_LINES_RUN columns. */
static void extremes_of_cols(dm_view part, double *extremes) {
  double values[HOST_LINES_RUN], most[HOST_LINES_RUN], least[HOST_LINES_RUN];
  clear_extremes(most, least);
  for (int64_t i = 0; i < part.rows; i++) {
    const double *run = host_lines_run_of(part, i, 0, part.cols, values);
    host_lines_take_extremes(run, part.cols, most, least);
  }
  for (int64_t j = 0; j < part.cols; j++)
    host_lines_join_extremes(most[j], least[j], extremes + 2 * j);
}

void dm_host_extremes(dm_view matrix, bool by_row, double *extremes) {
  for (int64_t i = 0; i < matrix.rows && by_row; i++) extremes_of_row(matrix, i, extremes + 2 * i);
  for (int64_t j = 0; j < matrix.cols && !by_row; j += HOST_LINES_RUN)
    extremes_of_cols(
        dm_view_sub(matrix, 0, j, matrix.rows, dm_min(HOST_LINES_RUN, matrix.cols - j)),
        extremes + 2 * j);
}

/* ---- sums ---- */

static dm_power host_lines_power_of(const double extremes[2]) {
  return extremes[0] > 0.0 ? dm_square_power(extremes[0]) : (dm_power){0.0, 0.0};
}

/* Adds dm_square, which is below 2^30, and counts large values; BY and THEN scale each lane. */
DM_INLINE void host_lines_take_sums_loop(const double *restrict values, int64_t count,
                                         const double *restrict by, const double *restrict then,
                                         lane_sums *restrict sums) {
  double limit[DM_LINE_DEPTHS];
  for (int d = 0; d < DM_LINE_DEPTHS; d++)
    limit[d] = dm_two_to(DM_SQUARE_BITS / 2 - dm_line_depths[d]);
  for (int64_t j = 0; j < count; j++) {
    const double size = fabs(values[j]) * by[j] * then[j];
    sums->of[0][j] += (double)(int32_t)(size * size);
    for (int d = 0; d < DM_LINE_DEPTHS; d++) sums->of[1 + d][j] += size >= limit[d] ? 1.0 : 0.0;
  }
}

DM_BOTH_WIDTHS(host_lines_take_sums,
               (const double *values, int64_t count, const double *by, const double *then,
                lane_sums *sums),
               (values, count, by, then, sums))

/* Adds lane J's sums and clears them. */
static void host_lines_join_sums(lane_sums *lanes, int64_t j, int64_t sums[DM_LINE_SUMS]) {
  for (int x = 0; x < DM_LINE_SUMS; x++) {
    sums[x] += (int64_t)lanes->of[x][j];
    lanes->of[x][j] = 0.0;
  }
}

static void sums_of_row(dm_view matrix, int64_t row, dm_power power, lane_sums *lanes,
                        int64_t *sums) {
  double values[HOST_LINES_RUN], by[HOST_LINES_LANES], then[HOST_LINES_LANES];
  for (int64_t l = 0; l < HOST_LINES_LANES; l++) by[l] = power.by, then[l] = power.then;
  for (int64_t j = 0; j < matrix.cols; j += HOST_LINES_RUN) {
    const int64_t count = dm_min(HOST_LINES_RUN, matrix.cols - j);
    const double *run = host_lines_run_of(matrix, row, j, count, values);
    for (int64_t at = 0; at < count; at += HOST_LINES_LANES)
      host_lines_take_sums(run + at, dm_min(HOST_LINES_LANES, count - at), by, then, lanes);
    if ((j / HOST_LINES_RUN + 1) % (SUMMED / HOST_LINES_RUN) == 0 ||
        j + HOST_LINES_RUN >= matrix.cols)
      for (int64_t l = 0; l < HOST_LINES_LANES; l++) host_lines_join_sums(lanes, l, sums);
  }
}

/* At most HOST_LINES_RUN columns. */
static void sums_of_cols(dm_view part, const double *extremes, lane_sums *lanes, int64_t *sums) {
  double values[HOST_LINES_RUN], by[HOST_LINES_RUN], then[HOST_LINES_RUN];
  for (int64_t j = 0; j < part.cols; j++) {
    const dm_power power = host_lines_power_of(extremes + 2 * j);
    by[j] = power.by, then[j] = power.then;
  }
  for (int64_t i = 0; i < part.rows; i++) {
    const double *run = host_lines_run_of(part, i, 0, part.cols, values);
    host_lines_take_sums(run, part.cols, by, then, lanes);
    if ((i + 1) % SUMMED == 0 || i + 1 == part.rows)
      for (int64_t j = 0; j < part.cols; j++)
        host_lines_join_sums(lanes, j, sums + DM_LINE_SUMS * j);
  }
}

void dm_host_line_sums(dm_view matrix, bool by_row, const double *extremes, int64_t *sums) {
  lane_sums lanes;
  memset(&lanes, 0, sizeof lanes);
  for (int64_t i = 0; i < matrix.rows && by_row; i++)
    sums_of_row(matrix, i, host_lines_power_of(extremes + 2 * i), &lanes, sums + DM_LINE_SUMS * i);
  for (int64_t j = 0; j < matrix.cols && !by_row; j += HOST_LINES_RUN)
    sums_of_cols(dm_view_sub(matrix, 0, j, matrix.rows, dm_min(HOST_LINES_RUN, matrix.cols - j)),
                 extremes + 2 * j, &lanes, sums + DM_LINE_SUMS * j);
}

/* ---- sums and generated elements of matrices in host memory, on all cores of this rank ---- */

enum {
  GRAIN = 4 << 20,            /* bytes per strip of a thread, about; */
  HOST_LINES_LINES = 1 << 20, /* the same for line statistics, whose strips are smaller, */
  HOST_LINES_COLUMNS = 64,    /* and at least so many columns, to keep runs long, */
  HOST_LINES_ROWS = 512,      /* or so many rows of contiguous columns */
  HOST_LINES_STRIPS = 64,     /* most strips with sums of their own, ... */
  STRIP_SUMS = 16 << 20,      /* ... and bytes of all these */
};

typedef struct host_lines_loop host_lines_loop;

/* A matrix that threads process strip by strip, of rows or, if UPRIGHT, of columns. */
struct host_lines_loop {
  dm_view view;
  bool upright;
  int64_t each; /* rows or columns per strip; 0: about GRAIN */
  void (*part)(const host_lines_loop *s, dm_view part, int64_t first);
  const void *x;
  const double *sizes;
  double *y, *squares;
  const dm_probe_groups *groups;
  const dm_probe_vectors *vectors;
  const dm_generator *generator;
  int64_t row, col; /* origin in the generated matrix; or the first row that is mirrored, */
  bool conjugate;   /* and how */
  double *extremes;
  int64_t *sums;
  bool lines; /* line statistics */
};

static dm_status host_lines_take(void *context, int64_t turn) {
  const host_lines_loop *s = context;
  const dm_view v = s->view;
  const int64_t first = turn * s->each;
  const int64_t count = dm_min(s->each, (s->upright ? v.cols : v.rows) - first);
  s->part(s,
          s->upright ? dm_view_sub(v, 0, first, v.rows, count)
                     : dm_view_sub(v, first, 0, count, v.cols),
          first);
  return DM_OK;
}

/* Rows, or columns. */
static int64_t lines_of_strip(const host_lines_loop *s) {
  const dm_view v = s->view;
  const int64_t line = dm_max(1, (s->upright ? v.rows : v.cols) * dm_dtype_size(v.dtype));
  return s->lines ? dm_max(s->upright ? HOST_LINES_COLUMNS : 1, HOST_LINES_LINES / line)
                  : dm_max(1, GRAIN / line);
}

static void host_lines_run(host_lines_loop *s) {
  const dm_view v = s->view;
  if (s->each == 0) s->each = lines_of_strip(s);
  (void)dm_fork_each(dm_ceil_div(s->upright ? v.cols : v.rows, s->each), 0, host_lines_take, s);
}

/* The host's functions cannot fail. */
static void host_lines_probe(const host_lines_loop *s, dm_view part, int64_t first) {
  const int64_t values = dm_dtype_is_complex(part.dtype) ? 2 : 1;
  dm_status_free(dm_host_probe(NULL, part, s->x, s->y + first * values,
                               s->squares ? s->squares + first : NULL));
}

dm_status dm_host_probe_parallel(dm_view matrix, const void *x, void *y, double *squares) {
  host_lines_run(&(host_lines_loop){
      .view = matrix, .part = host_lines_probe, .x = x, .y = y, .squares = squares});
  return DM_OK;
}

static void host_lines_probe_groups(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_probe_groups g = *s->groups;
  g.y += first * (dm_dtype_is_complex(part.dtype) ? 2 : 1);
  if (g.squares) g.squares += first;
  if (g.norms) g.norms += first;
  dm_host_probe_groups(part, &g);
}

void dm_host_probe_groups_parallel(dm_view matrix, const dm_probe_groups *groups) {
  host_lines_run(
      &(host_lines_loop){.view = matrix, .part = host_lines_probe_groups, .groups = groups});
}

static void host_lines_probe_vectors(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_probe_vectors v = *s->vectors;
  v.y += first;
  v.norms += first;
  dm_host_probe_vectors(part, &v);
}

/* Strips of columns have sums of their own, one after the other in Y: those of each vector, and its
 * norms. */
static void probe_vectors_of_columns(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_probe_vectors v = *s->vectors;
  v.x += first;
  v.sizes += first;
  v.y = s->y + first / s->each * 2 * v.count * part.rows;
  v.norms = v.y + part.rows;
  v.y_step = 2 * part.rows;
  dm_host_probe_vectors(part, &v);
}

/* The sums of each strip are added in their order. */
static void join_strips(const host_lines_loop *s, int64_t strips) {
  const dm_probe_vectors *v = s->vectors;
  const int64_t rows = s->view.rows;
  const double *sums = s->y;
  for (int64_t strip = 0; strip < strips; strip++)
    for (int g = 0; g < v->count; g++, sums += 2 * rows)
      for (int64_t i = 0; i < rows; i++) {
        v->y[g * v->y_step + i] += sums[i];
        v->norms[g * v->y_step + i] += sums[rows + i];
      }
}

/* Few long rows whose columns are contiguous: rows apart would be read in short pieces. */
static bool probe_columns(dm_view matrix, const dm_probe_vectors *vectors) {
  host_lines_loop s = {
      .view = matrix, .upright = true, .part = probe_vectors_of_columns, .vectors = vectors};
  const int64_t each = 2 * vectors->count * matrix.rows, bytes = each * (int64_t)sizeof(double);
  const int64_t most = dm_min(HOST_LINES_STRIPS, STRIP_SUMS / dm_max(1, bytes));
  DM_FREED double *sums = NULL;
  if (matrix.row_stride != 1 || matrix.cols <= matrix.rows || most < 2) return false;
  s.each = dm_max(dm_ceil_div(matrix.cols, most), lines_of_strip(&s));
  const int64_t strips = dm_ceil_div(matrix.cols, s.each);
  dm_status status = strips > 1 ? dm_buffer_table(strips * each, &sums) : DM_OK;
  dm_status_free(status); /* without memory for the sums, by rows */
  if (!sums) return false;
  s.y = sums;
  host_lines_run(&s);
  join_strips(&s, strips);
  return true;
}

void dm_host_probe_vectors_parallel(dm_view matrix, const dm_probe_vectors *vectors) {
  host_lines_loop s = {.view = matrix, .part = host_lines_probe_vectors, .vectors = vectors};
  if (probe_columns(matrix, vectors)) return;
  if (matrix.row_stride == 1) s.each = dm_max(HOST_LINES_ROWS, lines_of_strip(&s));
  host_lines_run(&s);
}

static void host_lines_scan(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_status_free(dm_host_scan(NULL, part, s->squares + first));
}

/* Each strip of rows has sums of its own. */
static void host_lines_scan_rows(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_status_free(dm_host_scan(NULL, part, s->squares + first / s->each * part.cols));
}

/* Columns apart would be read in short pieces. */
static dm_status scan_tall(dm_view matrix, double *col_squares) {
  host_lines_loop s = {.view = matrix, .part = host_lines_scan_rows};
  const int64_t cols = matrix.cols;
  DM_FREED double *sums = NULL;
  s.each = dm_max(dm_ceil_div(matrix.rows, HOST_LINES_STRIPS), lines_of_strip(&s));
  const int64_t strips = dm_ceil_div(matrix.rows, s.each);
  DM_TRY(dm_buffer_table(strips * cols, &sums));
  s.squares = sums;
  host_lines_run(&s);
  for (int64_t i = 0; i < strips * cols; i++) col_squares[i % cols] += sums[i];
  return DM_OK;
}

dm_status dm_host_scan_parallel(dm_view matrix, double *col_squares) {
  if (matrix.rows > matrix.cols && matrix.col_stride == 1) return scan_tall(matrix, col_squares);
  host_lines_run(&(host_lines_loop){
      .view = matrix, .upright = true, .part = host_lines_scan, .squares = col_squares});
  return DM_OK;
}

static void host_lines_fill(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_status_free(dm_host_fill(NULL, part, s->generator, s->row + first, s->col));
}

dm_status dm_host_fill_parallel(dm_view view, const dm_generator *generator, int64_t row,
                                int64_t col) {
  host_lines_run(&(host_lines_loop){
      .view = view, .part = host_lines_fill, .generator = generator, .row = row, .col = col});
  return DM_OK;
}

static void host_lines_mirror(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_mirror(s->view, s->row, first, part.rows, s->conjugate);
}

void dm_host_mirror_parallel(dm_view square, int64_t first, bool conjugate) {
  host_lines_run(&(host_lines_loop){
      .view = square, .part = host_lines_mirror, .row = first, .conjugate = conjugate});
}

static void host_lines_transpose(const host_lines_loop *s, dm_view part, int64_t first) {
  const dm_view from = dm_view_transpose(*(const dm_view *)s->x);
  dm_copy(part, dm_view_sub(from, first, 0, part.rows, from.cols), s->conjugate);
}

void dm_host_transpose_parallel(dm_view to, dm_view from, bool conjugate) {
  host_lines_run(&(host_lines_loop){
      .view = to, .part = host_lines_transpose, .x = &from, .conjugate = conjugate});
}

static void extremes_of(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_host_extremes(part, !s->upright, s->extremes + 2 * first);
}

dm_status dm_host_extremes_parallel(dm_backend *backend, dm_view matrix, bool by_row,
                                    double *extremes) {
  (void)backend;
  host_lines_run(&(host_lines_loop){.view = matrix,
                                    .upright = !by_row,
                                    .part = extremes_of,
                                    .extremes = extremes,
                                    .lines = true});
  return DM_OK;
}

static void line_sums(const host_lines_loop *s, dm_view part, int64_t first) {
  dm_host_line_sums(part, !s->upright, s->sizes + 2 * first, s->sums + DM_LINE_SUMS * first);
}

dm_status dm_host_line_sums_parallel(dm_backend *backend, dm_view matrix, bool by_row,
                                     const double *extremes, int64_t *sums) {
  (void)backend;
  host_lines_run(&(host_lines_loop){.view = matrix,
                                    .upright = !by_row,
                                    .part = line_sums,
                                    .sizes = extremes,
                                    .sums = sums,
                                    .lines = true});
  return DM_OK;
}

const int dm_line_depths[DM_LINE_DEPTHS] = {4, 5, 6, 7, 9, 12};
