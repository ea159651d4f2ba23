#include "engine/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/verify_sums.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "core/residues.h"
#include "engine/share_check.h"

/* f of a native product is at most k, 2 k for complex numbers; for small k a little more is
 * allowed. */
static const double least_granted = 64.0;

/* Statistics of all rows of op(A), or all columns of op(B); for complex numbers of columns of their
 * parts. */
typedef struct scaling_lines {
  int64_t count, parts; /* parts: lines that make up one column */
  bool by_row;
  double *extremes; /* see dm_backend_extremes */
  int64_t *sums;
} scaling_lines;

static dm_status lines_open(scaling_lines *l, int64_t count, int64_t parts, bool by_row) {
  *l = (scaling_lines){.count = count * parts, .parts = parts, .by_row = by_row};
  count = l->count;
  DM_TRY(dm_buffer_table(2 * count, &l->extremes));
  DM_TRY(dm_buffer_table(DM_LINE_SUMS * count, &l->sums));
  for (int64_t i = 0; i < count; i++) l->extremes[2 * i + 1] = -INFINITY;
  return DM_OK;
}

static void lines_close(scaling_lines *l) {
  free(l->extremes);
  free(l->sums);
}

/* Index of the first line of a piece that starts at (ROW, COL). */
static int64_t scaling_line_at(const scaling_lines *l, int64_t row, int64_t col) {
  return l->by_row ? row : l->parts * col;
}

/* A piece as rows of real numbers; BY_ROW: lines are these. If rows of complex numbers are lines, a
 * line has both parts of each element; if columns are, each line has one. */
typedef struct real_piece {
  dm_view rows;
  bool by_row;
  int64_t count, parts; /* lines of the matrix, of which each is so many here */
} real_piece;

static real_piece seen(const scaling_lines *l, dm_view piece) {
  const bool rows = piece.col_stride == 1;
  real_piece r = {.by_row = l->by_row == rows, .count = l->by_row ? piece.rows : piece.cols};
  r.parts = dm_dtype_is_complex(piece.dtype) && !r.by_row ? 2 : 1;
  r.rows = dm_view_parts(rows ? piece : dm_view_transpose(piece));
  return r;
}

/* The extremes of COUNT lines, of FROM_PARTS each, for lines of TO_PARTS: each has those of all. */
static void spread_extremes(double *to, int64_t to_parts, const double *from, int64_t from_parts,
                            int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int e = 0; e < 2; e++) {
      double most = from[2 * from_parts * i + e];
      for (int64_t p = 1; p < from_parts; p++)
        most = fmax(most, from[2 * (from_parts * i + p) + e]);
      for (int64_t p = 0; p < to_parts; p++) to[2 * (to_parts * i + p) + e] = most;
    }
}

static dm_status scaling_take_extremes(void *context, dm_backend *backend, dm_view piece,
                                       int64_t panel, int64_t row, int64_t col) {
  const scaling_lines *l = context;
  const real_piece r = seen(l, piece);
  double *extremes = l->extremes + 2 * scaling_line_at(l, row, col);
  DM_FREED double *found = NULL;
  (void)panel;
  if (r.parts == l->parts) return dm_backend_extremes(backend, r.rows, r.by_row, extremes);
  DM_TRY(dm_buffer_table(2 * r.parts * r.count, &found));
  spread_extremes(found, r.parts, extremes, l->parts, r.count);
  DM_TRY(dm_backend_extremes(backend, r.rows, r.by_row, found));
  spread_extremes(extremes, l->parts, found, r.parts, r.count);
  return DM_OK;
}

/* Sums of a line go to its first part: those of all parts are added in the end. */
static dm_status scaling_take_sums(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                   int64_t row, int64_t col) {
  const scaling_lines *l = context;
  const real_piece r = seen(l, piece);
  const int64_t first = scaling_line_at(l, row, col);
  const double *extremes = l->extremes + 2 * first;
  int64_t *sums = l->sums + DM_LINE_SUMS * first;
  DM_FREED double *of_parts = NULL;
  DM_FREED int64_t *found = NULL;
  (void)panel;
  if (r.parts == l->parts) return dm_backend_line_sums(backend, r.rows, r.by_row, extremes, sums);
  DM_TRY(dm_buffer_table(2 * r.parts * r.count, &of_parts));
  DM_TRY(dm_buffer_table(DM_LINE_SUMS * r.parts * r.count, &found));
  spread_extremes(of_parts, r.parts, extremes, l->parts, r.count);
  DM_TRY(dm_backend_line_sums(backend, r.rows, r.by_row, of_parts, found));
  for (int64_t i = 0; i < r.count * r.parts; i++)
    for (int x = 0; x < DM_LINE_SUMS; x++)
      sums[i / r.parts * l->parts * DM_LINE_SUMS + x] += found[DM_LINE_SUMS * i + x];
  return DM_OK;
}

/* Every part of C sums all parts of a column of B: both lines get the extremes of both. */
static void scaling_join_extremes(const scaling_lines *l, int64_t first, int64_t count) {
  for (int64_t i = first; i + 1 < first + count && l->parts == 2; i += 2)
    for (int e = 0; e < 2; e++) {
      double *of = l->extremes + 2 * i + e;
      of[0] = of[2] = fmax(of[0], of[2]);
    }
}

static void scaling_join_sums(const scaling_lines *l) {
  for (int64_t i = 0; i + 1 < l->count && l->parts == 2; i += 2)
    for (int x = 0; x < DM_LINE_SUMS; x++) {
      int64_t *of = l->sums + DM_LINE_SUMS * i + x;
      of[0] = of[DM_LINE_SUMS] = of[0] + of[DM_LINE_SUMS];
    }
}

static bool all_finite(const scaling_lines *l, int64_t first, int64_t count) {
  for (int64_t i = first; i < first + count; i++)
    if (!isfinite(l->extremes[2 * i])) return false;
  return true;
}

/* For whole lines: no other piece has a part of them. */
static dm_status take_both(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                           int64_t row, int64_t col) {
  const scaling_lines *l = context;
  const int64_t first = scaling_line_at(l, row, col);
  const int64_t count = l->by_row ? piece.rows : l->parts * piece.cols;
  DM_TRY(scaling_take_extremes(context, backend, piece, panel, row, col));
  scaling_join_extremes(l, first, count);
  return all_finite(l, first, count) ? scaling_take_sums(context, backend, piece, panel, row, col)
                                     : DM_OK;
}

/* Scans PART, in the memory of BACKEND, or, if it is NULL, pieces of the shares or, if SOURCE is
 * not NULL, of the file. */
typedef struct matrix_scan {
  const dm_comm *world;
  dm_backend *backend;
  const dm_scaled_part *part;
  dm_rank_state *local;
  const dm_source *source;
  dm_matrix matrix;
} matrix_scan;

static dm_status scaling_each_piece(const matrix_scan *at, dm_piece_taker *take, scaling_lines *l) {
  const dm_source *from = at->source;
  const dm_scaled_part *p = at->part;
  return dm_comm_agree(at->world, p ? take(l, at->backend, p->view, 0, p->row, p->col)
                                  : from
                                      ? from->ops->pass(from->state, at->local, at->matrix, take, l)
                                      : dm_each_piece(at->local, at->matrix, take, l));
}

/* Maxima and sums of whole numbers: the order of ranks or panels does not matter. */
static dm_status scan_lines(const matrix_scan *at, scaling_lines *l, bool *finite) {
  const dm_comm *world = at->world;
  const dm_source *from = at->source;
  const bool once = at->part ? dm_comm_size(world) == 1
                             : from && from->ops->has_lines(from->state, at->local, at->matrix);
  DM_TRY(scaling_each_piece(at, once ? take_both : scaling_take_extremes, l));
  DM_TRY(dm_comm_max_f64(world, l->extremes, 2 * l->count));
  *finite = *finite && all_finite(l, 0, l->count);
  if (!*finite) return DM_OK;
  scaling_join_extremes(l, 0, l->count);
  if (!once) DM_TRY(scaling_each_piece(at, scaling_take_sums, l));
  DM_TRY(dm_comm_sum_i64(world, l->sums, DM_LINE_SUMS * l->count));
  scaling_join_sums(l);
  return DM_OK;
}

static void scaling_set_exponents(const scaling_lines *l, const dm_moduli *moduli, int64_t k,
                                  int32_t *exponents) {
  for (int64_t i = 0; i < l->count; i++)
    exponents[i] = dm_exponent(moduli, l->extremes[2 * i], l->sums[DM_LINE_SUMS * i], k);
}

/* ---- truncation errors ---- */

/* Truncation removes less than 2^-s from each element of a row, so that C loses less than
 *   2^-s sum |b| + 2^-t sum |a| <= sqrt(k) (2^-s |b| + 2^-t |a|),  |.| the norm of a line.
 * |A||B| is at least k/2 alpha beta if three quarters of the elements of every row are at least its
 * alpha, and of every column its beta. The largest values over all lines: */
typedef struct losses {
  double cut;  /* 2^-s / alpha */
  double norm; /* |a| / alpha */
  double each; /* largest relative error of an element: 2^-s / min |a|; 0: nothing is truncated */
} losses;

/* alpha = 2^(top - q), q at most 12; negative: too many elements are smaller. */
static int scaling_depth_of(const int64_t counts[DM_LINE_DEPTHS], int64_t k) {
  for (int d = 0; d < DM_LINE_DEPTHS; d++)
    if (counts[d] >= k - k / 4) return dm_line_depths[d];
  return -1;
}

/* U: roundoff of the elements; those of at least 1 / U lose nothing. Powers and roots are taken of
 * the largest values alone: there are as many lines as C has rows and columns. */
static losses losses_of(const scaling_lines *l, const int32_t *exponents, int64_t k, double u) {
  double cut = -INFINITY, norm = 0.0, least = INFINITY; /* log2, squared, 1 / each */
  bool bounded = true;
  for (int64_t i = 0; i < l->count; i++) {
    const int64_t *sums = l->sums + DM_LINE_SUMS * i;
    int top;
    if (!(l->extremes[2 * i] > 0.0)) continue; /* zeros lose nothing */
    frexp(l->extremes[2 * i], &top);
    const int depth = scaling_depth_of(sums + 1, k);
    bounded &= depth >= 0;
    cut = fmax(cut, (double)(depth - exponents[i] - top));
    norm = fmax(norm, (double)(1 << 2 * dm_max(0, depth)) * (double)(sums[0] + k));
    least = fmin(least, dm_times_two_to(-l->extremes[2 * i + 1], exponents[i]));
  }
  return (losses){.cut = bounded ? exp2(cut) : INFINITY,
                  .norm = bounded ? sqrt(ldexp(norm, -DM_SQUARE_BITS)) : INFINITY,
                  .each = least < 1.0 / u ? 1.0 / least : 0.0};
}

/* f, from the lines' norms or element by element, whichever is less. */
static double scaling_factor_of(const losses *a, const losses *b, int64_t k, double u) {
  const double by_norms = 2.0 / sqrt((double)k) * (a->cut * b->norm + b->cut * a->norm);
  const double by_each = a->each + b->each;
  return 1.0 + (by_norms < by_each ? by_norms : by_each) / u;
}

/* ---- */

/* Number of real products in a sum. */
static int64_t depth_of_sums(const dm_problem *p) {
  return dm_compute_parts(&p->compute, p->work) * p->k;
}

static double granted(const dm_problem *p) {
  return fmax(least_granted, (double)depth_of_sums(p));
}

/* Number of exponents of columns. */
static int64_t cols_of(const dm_problem *p) {
  return dm_compute_parts(&p->compute, p->work) * p->n;
}

/* Puts the exponents where products read them; the planner counts them with the vectors. */
static dm_status scaling_give(dm_scaling *s, const dm_problem *p, dm_backend *backend) {
  s->passed = (dm_exponents){s->rows, s->cols};
  if (!backend->ops->device_memory) return DM_OK;
  const int64_t count = p->m + cols_of(p), bytes = count * (int64_t)sizeof *s->rows;
  if (s->bytes < bytes) {
    dm_backend_release(backend, DM_DEVICE, s->on_device);
    s->on_device = NULL, s->bytes = 0;
    DM_TRY(dm_backend_alloc(backend, DM_DEVICE, bytes, &s->on_device));
    s->bytes = bytes;
  }
  const int32_t *rows = s->on_device;
  s->passed = (dm_exponents){rows, rows + p->m};
  return dm_backend_copy_now(backend,
                             dm_view_strided(s->on_device, DM_I32, DM_DEVICE, 1, count, count),
                             dm_view_strided(s->rows, DM_I32, DM_HOST, 1, count, count));
}

/* Sets the exponents for COUNT moduli; returns f. */
static double scale_by(dm_scaling *s, const dm_problem *p, const scaling_lines *rows,
                       const scaling_lines *cols, int count) {
  const int64_t depth = depth_of_sums(p);
  const double u = dm_dtype_roundoff(p->accumulator);
  dm_moduli moduli;
  dm_moduli_make(count, &moduli);
  scaling_set_exponents(rows, &moduli, depth, s->rows);
  scaling_set_exponents(cols, &moduli, depth, s->cols);
  const losses of_a = losses_of(rows, s->rows, depth, u), of_b = losses_of(cols, s->cols, depth, u);
  return depth > 0 ? scaling_factor_of(&of_a, &of_b, depth, u) : 1.0;
}

/* The smallest number of moduli above P's that makes f small enough; 0: none. Exponents change. */
static int more_moduli(dm_scaling *s, const dm_problem *p, const scaling_lines *rows,
                       const scaling_lines *cols) {
  int low = p->compute.moduli + 1, high = DM_MODULI_MOST;
  if (low > high || !(scale_by(s, p, rows, cols, high) <= granted(p))) return 0;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (scale_by(s, p, rows, cols, middle) <= granted(p))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

/* Where to scan MATRIX: in its file, if it may stay there, else in the shares. */
static const dm_source *scanned(const dm_rank_state *local, const dm_source *sources,
                                dm_matrix matrix) {
  const bool passes = sources && dm_plan_streams(local->plan) && sources[matrix].ops->pass;
  return passes ? &sources[matrix] : NULL;
}

/* ---- the first lines ----
 *
 * f grows with every line, so a few lines that need too many moduli refuse all. With a fifth more
 * than usual, products of residues take as long as native ones. Of a large product that saves the
 * scan: 3 ms of 23 for 8192 x 8192 x 8192 on an H200. */

enum { SCALING_TRIED = 32 };
static const double least_tried = 0x1p38; /* operations of products that take milliseconds */

static dm_scaled_part first_lines(const dm_scaled_part *of, bool by_row) {
  dm_scaled_part some = *of;
  const int64_t rows = by_row ? dm_min(of->view.rows, SCALING_TRIED) : of->view.rows;
  const int64_t cols = by_row ? of->view.cols : dm_min(of->view.cols, SCALING_TRIED);
  some.view = dm_view_sub(of->view, 0, 0, rows, cols);
  return some;
}

/* ROWS and COLS are opened for as many lines. */
static dm_status try_lines(const matrix_scan of[2], const dm_problem *p, dm_scaling *s,
                           scaling_lines *rows, scaling_lines *cols, bool *hopeless) {
  const dm_scaled_part a = first_lines(of[DM_A].part, true), b = first_lines(of[DM_B].part, false);
  const matrix_scan of_a = {.world = of->world, .backend = of->backend, .part = &a},
                    of_b = {.world = of->world, .backend = of->backend, .part = &b};
  bool finite = true;
  DM_TRY(lines_open(rows, a.view.rows, 1, true));
  DM_TRY(lines_open(cols, b.view.cols, dm_compute_parts(&p->compute, p->work), false));
  DM_TRY(scan_lines(&of_a, rows, &finite));
  DM_TRY(scan_lines(&of_b, cols, &finite));
  if (!finite) return DM_OK; /* the others tell more */
  const int usual = p->compute.moduli, more = usual + usual / 5;
  const int worth = more < DM_MODULI_MOST ? more : DM_MODULI_MOST;
  *hopeless = !(scale_by(s, p, rows, cols, worth) <= granted(p));
  if (*hopeless) s->factor = scale_by(s, p, rows, cols, usual);
  return DM_OK;
}

/* Whether the first lines of whole matrices do not suit residues. */
static dm_status scaling_is_hopeless(const matrix_scan of[2], const dm_problem *p, dm_scaling *s,
                                     bool *hopeless) {
  scaling_lines rows = {0}, cols = {0};
  *hopeless = false;
  if (!of->part || dm_comm_size(of->world) > 1 ||
      2.0 * (double)p->m * (double)p->n * (double)p->k < least_tried ||
      dm_min(p->m, p->n) < 2 * SCALING_TRIED)
    return DM_OK;
  dm_status status = try_lines(of, p, s, &rows, &cols, hopeless);
  lines_close(&rows);
  lines_close(&cols);
  return status;
}

/* USES: this rank multiplies. */
static dm_status scaling_scale(const matrix_scan of[2], const dm_problem *p, dm_scaling *s,
                               bool uses, scaling_lines *rows, scaling_lines *cols) {
  bool finite = true, hopeless;
  s->factor = INFINITY;
  s->unfit = true;
  s->moduli = 0;
  DM_TRY(scaling_is_hopeless(of, p, s, &hopeless));
  if (hopeless) return DM_OK;
  DM_TRY(scan_lines(&of[DM_A], rows, &finite));
  DM_TRY(scan_lines(&of[DM_B], cols, &finite));
  if (!finite) return DM_OK;
  s->factor = scale_by(s, p, rows, cols, p->compute.moduli);
  s->unfit = !(s->factor <= granted(p));
  if (s->unfit) {
    s->moduli = more_moduli(s, p, rows, cols);
    (void)scale_by(s, p, rows, cols, p->compute.moduli);
  }
  return dm_comm_agree(of->world, uses ? scaling_give(s, p, of->backend) : DM_OK);
}

static dm_status exponents_open(dm_scaling *s, const dm_problem *p) {
  free(s->rows);
  s->rows = s->cols = NULL;
  DM_TRY(dm_buffer_table(p->m + cols_of(p), &s->rows));
  s->cols = s->rows + p->m;
  return DM_OK;
}

static dm_status scale_all(const matrix_scan of[2], const dm_problem *p, dm_scaling *s, bool uses) {
  scaling_lines rows = {0}, cols = {0};
  dm_status status = exponents_open(s, p);
  if (!status) status = lines_open(&rows, p->m, 1, true);
  if (!status) status = lines_open(&cols, p->n, dm_compute_parts(&p->compute, p->work), false);
  status = dm_comm_agree(of->world, status);
  if (!status) status = scaling_scale(of, p, s, uses, &rows, &cols);
  lines_close(&rows);
  lines_close(&cols);
  return status;
}

dm_status dm_rank_scale(dm_rank_state *local, const dm_source *sources) {
  const double start = dm_now();
  matrix_scan of[2];
  for (int x = 0; x < 2; x++)
    of[x] = (matrix_scan){.world = local->run->world,
                          .backend = local->backend,
                          .local = local,
                          .source = scanned(local, sources, (dm_matrix)x),
                          .matrix = (dm_matrix)x};
  dm_status status = scale_all(of, &local->plan->problem, &local->scaling, !local->coords.idle);
  local->phases.read += dm_now() - start; /* counts as reading: products wait for it */
  return status;
}

dm_status dm_scale_parts(dm_backend *backend, const dm_comm *world, const dm_problem *p,
                         const dm_scaled_part ab[2], dm_scaling *scaling) {
  matrix_scan of[2];
  for (int x = 0; x < 2; x++)
    of[x] =
        (matrix_scan){.world = world, .backend = backend, .part = &ab[x], .matrix = (dm_matrix)x};
  return scale_all(of, p, scaling, true);
}

dm_status dm_scaling_refused(const dm_scaling *scaling, const dm_compute *mode) {
  dm_status status =
      isfinite(scaling->factor)
          ? dm_fail(DM_E_INPUT, "elements of A or B differ too much in size for %s: f = %.2g",
                    mode->name, scaling->factor)
          : dm_fail(DM_E_INPUT, "A or B holds NaN or Inf, or elements differ too much for %s",
                    mode->name);
  if (scaling->moduli > 0)
    dm_hint(status, "--compute %s:%d multiplies them", mode->option, scaling->moduli);
  else
    dm_hint(status, "--compute auto multiplies them");
  if (status) status->agreed = true;
  return status;
}
