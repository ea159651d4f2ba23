#include "programs/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/view.h"
#include "dataset/dataset_text.h"
#include "io/read.h"
#include "plan/partition.h"

enum {
  COMPARE_PIECE = 1 << 21, /* elements of a piece, of which two are in memory */
  COMPARE_BAND = 1024      /* rows of a piece of matrices too wide for whole rows */
};

/* What a rank finds; plain data. */
typedef struct compare_found {
  int64_t elements, different, unequal; /* unequal: not the same number, close or not */
  int64_t nan_a, nan_b, nan_both;
  double most; /* the largest |a - b| of elements that are not the same; NaN counts as inf */
  /* The worst element: the one with the largest |a - b| / (atol + rtol |b|), and of equal ones the
   * one with the largest |a - b|, and the first. */
  double excess, apart, a[2], b[2];
  int64_t row, col;          /* -1: all are the same */
  double squares, squares_b; /* of differences, and of b, where both are finite */
} compare_found;

static const compare_found compare_nothing = {.row = -1, .col = -1};

/* ---- elements ---- */

static bool compare_is_finite(const double *x, int parts) {
  return isfinite(x[0]) && (parts == 1 || isfinite(x[1]));
}

static bool compare_is_nan(const double *x, int parts) {
  return isnan(x[0]) || (parts == 2 && isnan(x[1]));
}

static double compare_size(const double *x, int parts) {
  return parts == 1 ? fabs(x[0]) : hypot(x[0], x[1]);
}

/* Whether ONE's worst element is worse than F's, whatever the pieces are. */
static bool compare_is_worse(const compare_found *f, const compare_found *one) {
  if (f->row < 0 || one->row < 0) return f->row < one->row;
  if (one->excess != f->excess) return one->excess > f->excess;
  if (one->apart != f->apart) return one->apart > f->apart;
  return one->row < f->row || (one->row == f->row && one->col < f->col);
}

static void compare_take_worst(compare_found *f, const compare_found *one) {
  f->excess = one->excess;
  f->apart = one->apart;
  memcpy(f->a, one->a, sizeof f->a);
  memcpy(f->b, one->b, sizeof f->b);
  f->row = one->row;
  f->col = one->col;
}

static void compare_unequal(const dm_compare *job, const double *a, const double *b, int parts,
                            int64_t row, int64_t col, compare_found *f) {
  const double difference[2] = {a[0] - b[0], parts == 2 ? a[1] - b[1] : 0.0};
  const bool finite = compare_is_finite(a, parts) && compare_is_finite(b, parts);
  const double allowed = job->atol + job->rtol * compare_size(b, parts);
  const double apart = finite ? compare_size(difference, parts) : INFINITY;
  const bool close = finite && apart <= allowed;
  f->unequal++;
  f->different += !close;
  if (finite) f->squares += apart * apart;
  f->most = fmax(f->most, apart);
  compare_found one = {
      .excess = finite ? apart / allowed : INFINITY, .apart = apart, .row = row, .col = col};
  memcpy(one.a, a, (size_t)parts * sizeof *a);
  memcpy(one.b, b, (size_t)parts * sizeof *b);
  if (compare_is_worse(f, &one)) compare_take_worst(f, &one);
}

static void compare_elements(const dm_compare *job, const double *a, const double *b, int parts,
                             int64_t row, int64_t col, int64_t count, compare_found *f) {
  f->elements += count;
  for (int64_t i = 0; i < count; i++, a += parts, b += parts) {
    const bool nan_a = compare_is_nan(a, parts), nan_b = compare_is_nan(b, parts);
    f->nan_a += nan_a;
    f->nan_b += nan_b;
    f->nan_both += nan_a && nan_b;
    if (compare_is_finite(b, parts)) {
      const double size = compare_size(b, parts);
      f->squares_b += size * size;
    }
    if ((a[0] == b[0] && (parts == 1 || a[1] == b[1])) || (nan_a && nan_b && job->equal_nan))
      continue;
    compare_unequal(job, a, b, parts, row, col + i, f);
  }
}

/* ---- pieces ---- */

typedef struct compare_state {
  dm_run *run;
  const dm_compare *job;
  dm_reader *readers[2];
  double *pieces[2];
  dm_dtype type;      /* f64, or c128 */
  int64_t rows, cols; /* of a piece */
  compare_found found;
} compare_state;

/* Pieces are whole rows, or bands that are as high as chunks are. */
static void compare_cut(compare_state *c) {
  const dm_dataset *sets[2] = {&c->job->a, &c->job->b};
  const int64_t chunk_rows = dm_max(sets[0]->chunk_rows, sets[1]->chunk_rows);
  const int64_t chunk_cols = dm_max(sets[0]->chunk_cols, sets[1]->chunk_cols);
  const bool by_columns = sets[0]->by_columns || sets[1]->by_columns;
  const int64_t least = dm_min(dm_max(by_columns ? COMPARE_BAND : 1, chunk_rows), COMPARE_PIECE);
  c->cols = dm_min(sets[0]->cols, COMPARE_PIECE / least);
  if (c->cols < sets[0]->cols && chunk_cols > 0 && chunk_cols < c->cols)
    c->cols = c->cols / chunk_cols * chunk_cols;
  c->rows = dm_max(1, COMPARE_PIECE / dm_max(1, c->cols));
  if (chunk_rows > 0 && chunk_rows < c->rows) c->rows = c->rows / chunk_rows * chunk_rows;
}

static dm_status compare_piece(compare_state *c, int64_t row, int64_t rows, int64_t col,
                               int64_t cols) {
  const int parts = dm_dtype_is_complex(c->type) ? 2 : 1;
  for (int x = 0; x < 2; x++) {
    const dm_view view = dm_view_row_major(c->pieces[x], c->type, rows, cols);
    DM_TRY(dm_reader_read(c->readers[x], row, col, &view, 1, false));
  }
  for (int64_t i = 0; i < rows; i++)
    compare_elements(c->job, c->pieces[0] + parts * i * cols, c->pieces[1] + parts * i * cols,
                     parts, row + i, col, cols, &c->found);
  return dm_run_beat(c->run);
}

static dm_status compare_rows(compare_state *c, dm_range rows) {
  const int64_t all = c->job->a.cols;
  for (int64_t row = rows.begin; row < rows.end; row += c->rows)
    for (int64_t col = 0; col < all; col += c->cols)
      DM_TRY(
          compare_piece(c, row, dm_min(c->rows, rows.end - row), col, dm_min(c->cols, all - col)));
  return DM_OK;
}

/* This rank's part; bands of chunks are not divided. */
static dm_status compare_part(compare_state *c) {
  const dm_dataset *sets[2] = {&c->job->a, &c->job->b};
  const int64_t chunk = dm_max(1, dm_max(sets[0]->chunk_rows, sets[1]->chunk_rows));
  const dm_range mine = dm_split(sets[0]->rows, c->run->ranks, c->run->rank, chunk);
  void *piece;
  if (dm_dataset_is_empty(sets[0])) return DM_OK;
  compare_cut(c);
  dm_run_phase(c->run, "comparing", 1);
  for (int x = 0; x < 2; x++) {
    DM_TRY(dm_buffer_alloc(c->rows * c->cols * dm_dtype_size(c->type), &piece));
    c->pieces[x] = piece;
    DM_TRY(dm_reader_open(sets[x], DM_DTYPE_NONE, &c->readers[x]));
    dm_reader_keepalive(c->readers[x], &c->run->keepalive);
  }
  return compare_rows(c, mine);
}

/* ---- all ranks ---- */

static void compare_add(compare_found *all, const compare_found *one) {
  all->elements += one->elements;
  all->different += one->different;
  all->unequal += one->unequal;
  all->nan_a += one->nan_a;
  all->nan_b += one->nan_b;
  all->nan_both += one->nan_both;
  all->squares += one->squares;
  all->squares_b += one->squares_b;
  all->most = fmax(all->most, one->most);
  if (compare_is_worse(all, one)) compare_take_worst(all, one);
}

static dm_status compare_gather(const dm_run *run, compare_found *found) {
  DM_FREED compare_found *all = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(run->ranks, &all)));
  DM_TRY(dm_comm_allgather(run->world, found, sizeof *found, all));
  *found = compare_nothing;
  for (int r = 0; r < run->ranks; r++) compare_add(found, &all[r]);
  return DM_OK;
}

/* ---- the report ---- */

enum { COMPARE_PLACE = 24 * (DM_AXES + 2) };

/* "(3, 4)", with the indices of the leading dimensions first. */
static const char *compare_place(const dm_dataset *set, int64_t row, int64_t col,
                                 char text[COMPARE_PLACE]) {
  const int64_t entries = dm_leads_entries(&set->leads), each = set->rows / dm_max(1, entries);
  int64_t entry = each > 0 ? row / each : 0, index[DM_AXES] = {0};
  size_t used = 1;
  for (int i = set->leads.count - 1; i >= 0; i--) {
    index[i] = entry % set->leads.extent[i];
    entry /= set->leads.extent[i];
  }
  snprintf(text, COMPARE_PLACE, "(");
  for (int i = 0; i < set->leads.count; i++, used = strlen(text))
    snprintf(text + used, COMPARE_PLACE - used, "%lld, ", (long long)index[i]);
  snprintf(text + used, COMPARE_PLACE - used, "%lld, %lld)",
           (long long)(each > 0 ? row % each : row), (long long)col);
  return text;
}

static const char *compare_number(const double x[2], bool complex, char text[64]) {
  snprintf(text, 64, complex ? "%.17g%+.17gi" : "%.17g", x[0], x[1]);
  return text;
}

static void compare_record_sets(const dm_compare *job, dm_record *record) {
  static const char *const paths[] = {"files.a", "files.b"}, *const labels[] = {"first", "second"};
  const dm_dataset *sets[2] = {&job->a, &job->b};
  char name[DM_NAME], shape[DM_SHAPE_TEXT];
  for (int x = 0; x < 2; x++)
    dm_record_text(record, paths[x], labels[x], "%s, %s %s", dm_location_name(&sets[x]->at, name),
                   dm_dataset_text(sets[x], shape), dm_dtype_name(dm_dataset_type(sets[x])));
}

static void compare_record(const compare_state *c, double seconds, dm_record *record) {
  const dm_compare *job = c->job;
  const compare_found *f = &c->found;
  const bool complex = dm_dtype_is_complex(c->type);
  char place[COMPARE_PLACE], a[64], b[64];
  compare_record_sets(job, record);
  dm_record_text(record, "compare.close", "close if", "|a - b| <= %g + %g |b|%s", job->atol,
                 job->rtol, job->equal_nan ? ", or both are NaN" : "");
  dm_record_real(record, "compare.rtol", NULL, DM_SHOWN_PLAIN, job->rtol);
  dm_record_real(record, "compare.atol", NULL, DM_SHOWN_PLAIN, job->atol);
  dm_record_flag(record, "compare.equal_nan", NULL, job->equal_nan);
  dm_record_integer(record, "compare.elements", "elements", DM_SHOWN_PLAIN, f->elements);
  dm_record_integer(record, "compare.different", "not close", DM_SHOWN_PLAIN, f->different);
  dm_record_integer(record, "compare.unequal", "not the same number", DM_SHOWN_PLAIN, f->unequal);
  if (f->nan_a + f->nan_b > 0) {
    dm_record_integer(record, "compare.nan_a", "NaN in the first", DM_SHOWN_PLAIN, f->nan_a);
    dm_record_integer(record, "compare.nan_b", "NaN in the second", DM_SHOWN_PLAIN, f->nan_b);
    dm_record_integer(record, "compare.nan_both", "NaN in both", DM_SHOWN_PLAIN, f->nan_both);
  }
  if (f->row >= 0) {
    dm_record_text(record, "compare.most", "largest |a - b|", "%.3g", f->most);
    dm_record_text(record, "compare.worst", "worst", "%s: %s, %s",
                   compare_place(&job->a, f->row, f->col, place), compare_number(f->a, complex, a),
                   compare_number(f->b, complex, b));
    dm_record_text(record, "compare.worst_apart", "  |a - b| there", "%.3g, %.3g of the allowed",
                   f->apart, f->excess);
    dm_record_integer(record, "compare.worst_row", NULL, DM_SHOWN_PLAIN, f->row);
    dm_record_integer(record, "compare.worst_col", NULL, DM_SHOWN_PLAIN, f->col);
  }
  if (f->squares_b > 0.0)
    dm_record_real(record, "compare.norm", "|A - B| / |B|", DM_SHOWN_PLAIN,
                   sqrt(f->squares) / sqrt(f->squares_b));
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, c->run->ranks);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "elements=%lld different=%lld largest=%.3g %s", (long long)f->elements,
                    (long long)f->different, f->most, f->different ? "FAIL" : "PASS");
}

/* ---- shapes ---- */

static bool compare_same_shape(const dm_dataset *a, const dm_dataset *b) {
  bool same = a->rows == b->rows && a->cols == b->cols && a->leads.count == b->leads.count;
  for (int i = 0; same && i < a->leads.count; i++) same = a->leads.extent[i] == b->leads.extent[i];
  return same;
}

static dm_status compare_shapes_differ(const dm_compare *job) {
  char a[DM_SHAPE_TEXT], b[DM_SHAPE_TEXT];
  dm_status status =
      dm_hint(dm_fail(DM_E_VERIFY, "the shapes differ: %s and %s", dm_dataset_text(&job->a, a),
                      dm_dataset_text(&job->b, b)),
              "--row-axes-a, --shape-a and a part in the file's name, A.h5:/a[0:10], say what is "
              "compared");
  status->agreed = true;
  return status;
}

static dm_status compare_outcome(const compare_found *f) {
  if (f->different == 0) return DM_OK;
  dm_status status = dm_fail(DM_E_VERIFY, "%lld of %lld elements are not close",
                             (long long)f->different, (long long)f->elements);
  status->agreed = true;
  return status;
}

static void compare_close(compare_state *c) {
  for (int x = 0; x < 2; x++) {
    dm_reader_close(c->readers[x]);
    free(c->pieces[x]);
  }
}

dm_status dm_compare_run(dm_run *run, const dm_compare *job, dm_record *record) {
  const double start = dm_now();
  const bool complex = dm_dtype_is_complex(dm_dataset_type(&job->a)) ||
                       dm_dtype_is_complex(dm_dataset_type(&job->b));
  compare_state c = {
      .run = run, .job = job, .type = complex ? DM_C128 : DM_F64, .found = compare_nothing};
  if (!compare_same_shape(&job->a, &job->b)) {
    if (run->rank == 0) compare_record_sets(job, record);
    return compare_shapes_differ(job);
  }
  dm_status status = dm_comm_agree(run->world, compare_part(&c));
  compare_close(&c);
  DM_TRY(status);
  DM_TRY(compare_gather(run, &c.found));
  if (run->rank == 0) compare_record(&c, dm_now() - start, record);
  return compare_outcome(&c.found);
}
