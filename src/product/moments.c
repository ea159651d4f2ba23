#include "product/moments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "plan/partition.h"
#include "product/file_stream.h"

enum {
  GROUPS = 16,  /* of rows: their moments are joined in order, by whatever ranks they were made */
  BLOCK = 256,  /* rows whose mean is taken first, while they are in cache, */
  WIDTH = 128,  /* and columns */
  FEW_ROWS = 16 /* that a thread takes at a time */
};

/* The moments of a number of columns of real numbers; complex ones are two. Means are relative to
 * an element of the column: so they keep the digits that large means with small deviations would
 * lose, and equal elements have exactly their mean. */
typedef struct moments {
  int64_t count;
  double *from, *mean, *squares; /* squares: sums of those of the differences from the mean */
} moments;

/* Moments of one group of rows while they are read. */
typedef struct taking {
  dm_crew *crew;
  bool by_rows;
  int64_t parts; /* real numbers in an element */
  moments group;
  dm_view strip; /* being added */
  int64_t row;   /* its first one */
} taking;

/* ---- columns ---- */

/* Joins COUNT elements with these moments, relative to TO->from[J], to column J. */
static void join(const moments *to, int64_t j, double mean, double squares, int64_t count) {
  const double before = (double)to->count, more = (double)count, all = before + more;
  const double delta = mean - to->mean[j];
  to->mean[j] += delta * (more / all);
  to->squares[j] += squares + delta * delta * (before / all * more);
}

/* Adds ROWS rows of WIDTH columns from column J; TO->count is the number of rows before them. */
static void add_block(const moments *to, int64_t j, const double *x, int64_t stride, int64_t rows,
                      int64_t width) {
  double mean[WIDTH] = {0}, squares[WIDTH] = {0};
  const double *from = to->from + j;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < width; c++) mean[c] += x[i * stride + c] - from[c];
  for (int64_t c = 0; c < width; c++) mean[c] /= (double)rows;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < width; c++) {
      const double difference = x[i * stride + c] - from[c] - mean[c];
      squares[c] += difference * difference;
    }
  for (int64_t c = 0; c < width; c++) join(to, j + c, mean[c], squares[c], rows);
}

/* A few columns of the whole strip. */
static void add_columns(void *context, int64_t piece) {
  const taking *t = context;
  const int64_t all = t->strip.cols * t->parts, first = piece * WIDTH;
  const int64_t width = dm_min(WIDTH, all - first);
  moments to = t->group;
  if (to.count == 0)
    memcpy(to.from + first, (const double *)t->strip.base + first, (size_t)width * sizeof(double));
  for (int64_t at = 0; at < t->strip.rows; at += BLOCK) {
    const int64_t rows = dm_min(BLOCK, t->strip.rows - at);
    const double *x = (const double *)t->strip.base + at * all + first;
    add_block(&to, first, x, all, rows, width);
    to.count += rows;
  }
}

/* ---- rows ---- */

static void add_row(const moments *to, int64_t line, const double *x, int64_t parts,
                    int64_t count) {
  for (int64_t p = 0; p < parts; p++) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; i++) sum += x[i * parts + p] - x[p];
    const double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
      const double difference = x[i * parts + p] - x[p] - mean;
      squares += difference * difference;
    }
    to->from[line * parts + p] = x[p];
    to->mean[line * parts + p] = mean;
    to->squares[line * parts + p] = squares;
  }
}

static void add_rows(void *context, int64_t piece) {
  const taking *t = context;
  const int64_t all = t->strip.cols * t->parts, end = dm_min(t->strip.rows, (piece + 1) * FEW_ROWS);
  for (int64_t i = piece * FEW_ROWS; i < end; i++)
    add_row(&t->group, t->row + i, (const double *)t->strip.base + i * all, t->parts,
            t->strip.cols);
}

/* ---- all ---- */

static dm_status take_strip(void *context, dm_view strip, int64_t row, int64_t col) {
  taking *t = context;
  (void)col;
  t->strip = strip;
  t->row = row;
  if (t->by_rows) {
    dm_crew_run(t->crew, add_rows, t, dm_ceil_div(strip.rows, FEW_ROWS));
    return DM_OK;
  }
  dm_crew_run(t->crew, add_columns, t, dm_ceil_div(strip.cols * t->parts, WIDTH));
  t->group.count += strip.rows;
  return DM_OK;
}

/* The moments of all groups: of all rows, or of the columns in each group. */
typedef struct table {
  double *numbers;
  int64_t width; /* real numbers whose moments are one group's */
  bool by_rows;
} table;

static moments group_of(const table *t, int group) {
  double *first = t->numbers + (t->by_rows ? 0 : group * 3 * t->width);
  return (moments){.from = first, .mean = first + t->width, .squares = first + 2 * t->width};
}

/* Fills ALL with the moments of this rank's groups. */
static dm_status take_groups(dm_run *run, int io_threads, const dm_dataset *dataset,
                             bool is_complex, const table *all) {
  taking t = {.by_rows = all->by_rows, .parts = is_complex ? 2 : 1};
  const dm_reading how = {.as = DM_DTYPE_NONE, .work = is_complex ? DM_C128 : DM_F64};
  const dm_range mine = dm_split(GROUPS, run->ranks, run->rank, 1);
  DM_TRY(dm_crew_new(run->cores.threads, &t.crew));
  dm_status status = DM_OK;
  for (int64_t g = mine.begin; g < mine.end && !status; g++) {
    t.group = group_of(all, (int)g);
    status = dm_file_stream(run, io_threads, dataset, dm_split(dataset->rows, GROUPS, g, 1),
                            (dm_range){0, dataset->cols}, &how, take_strip, &t, NULL);
  }
  dm_crew_free(t.crew);
  return status;
}

/* Joins the groups of columns in the first one. */
static moments join_groups(const table *t, const dm_dataset *dataset) {
  moments all = group_of(t, 0);
  all.count = t->by_rows ? dataset->cols : dm_range_size(dm_split(dataset->rows, GROUPS, 0, 1));
  for (int g = 1; g < GROUPS && !t->by_rows; g++) {
    const moments one = group_of(t, g);
    const int64_t count = dm_range_size(dm_split(dataset->rows, GROUPS, g, 1));
    if (count == 0) continue;
    for (int64_t j = 0; j < t->width; j++)
      join(&all, j, one.from[j] - all.from[j] + one.mean[j], one.squares[j], count);
    all.count += count;
  }
  return all;
}

static dm_status make(const moments *all, int64_t lines, bool is_complex,
                      const dm_standard *standard, dm_centering **centering) {
  const int64_t parts = is_complex ? 2 : 1;
  char *memory;
  DM_TRY(dm_buffer_zeroed((parts + 1) * lines + 1 + (int64_t)(sizeof **centering / sizeof(double)),
                          sizeof(double), (void **)&memory));
  dm_centering *c = (dm_centering *)memory;
  double *shift = (double *)(c + 1), *factor = shift + parts * lines;
  for (int64_t i = 0; i < parts * lines; i++) shift[i] = all->from[i] + all->mean[i];
  int64_t constant = 0;
  for (int64_t i = 0; i < lines; i++) {
    const double squares = all->squares[parts * i] + (is_complex ? all->squares[2 * i + 1] : 0.0);
    constant += squares == 0.0;
    factor[i] = squares == 0.0 ? (double)NAN : 1.0 / sqrt(squares / (double)(all->count - 1));
  }
  const bool scales = standard->scale != DM_NO_LINES;
  *c = (dm_centering){.lines = dm_standard_lines(standard),
                      .count = lines,
                      .constant = scales ? constant : 0,
                      .shift = standard->center != DM_NO_LINES ? shift : NULL,
                      .factor = scales ? factor : NULL};
  *centering = c;
  return DM_OK;
}

dm_status dm_moments_of(dm_run *run, int io_threads, const dm_dataset *dataset,
                        const dm_standard *standard, dm_centering **centering) {
  const bool is_complex = dm_dtype_is_complex(dm_dataset_type(dataset));
  const bool by_rows = dm_standard_lines(standard) == DM_ROW_LINES;
  const int64_t lines = by_rows ? dataset->rows : dataset->cols;
  table t = {.width = (is_complex ? 2 : 1) * lines, .by_rows = by_rows};
  const int64_t numbers = (by_rows ? 3 : 3 * GROUPS) * t.width;
  *centering = NULL;
  dm_status status = dm_buffer_zeroed(numbers, sizeof(double), (void **)&t.numbers);
  DM_TRY(dm_comm_agree(run->world, status));
  status = dm_comm_agree(run->world, take_groups(run, io_threads, dataset, is_complex, &t));
  if (!status) status = dm_comm_sum_f64(run->world, t.numbers, numbers);
  if (!status) {
    const moments all = join_groups(&t, dataset);
    status = dm_comm_agree(run->world, make(&all, lines, is_complex, standard, centering));
  }
  free(t.numbers);
  return status;
}

static void warn(const dm_run *run, const dm_dataset *set) {
  const dm_centering *c = set->centering;
  char name[DM_NAME];
  if (c->constant > 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: %lld of %lld %s are constant: they cannot be scaled and become NaN",
                dm_location_name(&set->at, name), (long long)c->constant, (long long)c->count,
                dm_lines_name(c->lines));
}

dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_standard standard[2],
                           dm_dataset *a, dm_dataset *b, dm_centering *made[2]) {
  dm_dataset *const sets[2] = {a, b};
  made[0] = made[1] = NULL;
  for (int x = 0; x < 2; x++) {
    if (dm_standard_lines(&standard[x]) == DM_NO_LINES) continue;
    if (x == 1 && made[0] && dm_dataset_is_same(a, b) &&
        memcmp(&standard[0], &standard[1], sizeof standard[0]) == 0) {
      b->centering = made[0];
      continue;
    }
    DM_TRY(dm_moments_of(run, io_threads, sets[x], &standard[x], &made[x]));
    sets[x]->centering = made[x];
    warn(run, sets[x]);
  }
  return DM_OK;
}

void dm_centering_record(const dm_dataset *const sets[2], dm_record *record) {
  static const char *const paths[] = {"files.a_centering", "files.b_centering"};
  static const char *const labels[] = {"  centering of A", "  centering of B"};
  for (int x = 0; x < 2; x++) {
    const dm_centering *c = sets[x]->centering;
    char constant[48] = "";
    if (!c) continue;
    if (c->constant > 0)
      snprintf(constant, sizeof constant, "; %lld are constant", (long long)c->constant);
    dm_record_text(record, paths[x], labels[x], "%s %s%s%s%s", dm_lines_name(c->lines),
                   c->shift ? "centered" : "", c->shift && c->factor ? ", " : "",
                   c->factor ? "scaled" : "", constant);
  }
}
