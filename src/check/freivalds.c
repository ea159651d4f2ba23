#include "check/freivalds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backend/backend.h"
#include "check/freivalds_impl.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "plan/buffers.h"
#include "plan/partition.h"

_Static_assert((int)DM_CHECK_GROUPS == (int)DM_BUFFER_CHECK_GROUPS, "the plan's");

static dm_status freivalds_allocate(dm_freivalds *check) {
  const dm_problem *p = &check->problem;
  const int64_t n = p->n, k = check->groups * check->room, m = check->groups * p->m,
                parts = check->parts;
  double *at;
  check->count = (parts + 1) * n + (parts + 1) * k + (3 * parts + 3) * m + (parts + 1) * p->m;
  DM_TRY(dm_buffer_table(check->count, &at));
  check->memory = at;
  double **const vectors[] = {&check->col_squares, &check->w,          &check->t,
                              &check->sizes,       &check->y,          &check->z,
                              &check->z0,          &check->scratch,    &check->row_squares,
                              &check->z_squares,   &check->z0_squares, &check->c_squares};
  const int64_t counts[] = {n,         parts * n,    parts * k, k, parts * m, parts * m,
                            parts * m, parts * p->m, m,         m, m,         p->m};
  for (int i = 0; i < 12; at += counts[i++]) *vectors[i] = at;
  return DM_OK;
}

/* Groups start at the same columns of C in a check of a part: an error above the bound of the whole
 * group is also above that of the part. */
static void make_groups(dm_freivalds *check, const dm_problem *whole) {
  const int64_t most = dm_check_groups(whole->n);
  const int64_t n = dm_max(1, whole->n), first = check->cols.begin, end = check->cols.end;
  check->group_cols = dm_ceil_div(n, check->exact ? 1 : most);
  check->groups =
      end > first ? (int)((end - 1) / check->group_cols - first / check->group_cols + 1) : 1;
}

void dm_freivalds_join_groups(dm_freivalds *check) {
  check->group_cols = dm_max(1, check->cols.end);
  check->groups = 1;
}

/* A check of that part, of which nothing was added, but for its memory. */
static void freivalds_begin(dm_freivalds *check, const dm_problem *problem, const double alpha[2],
                            const double beta[2], bool from_gpu, dm_range rows, dm_range cols) {
  check->problem = *problem;
  check->problem.m = rows.end - rows.begin;
  check->problem.n = cols.end - cols.begin;
  check->rows = rows;
  check->cols = cols;
  check->depth = dm_problem_b_rows(problem);
  check->window = (dm_range){0, check->room};
  check->spread = 0.0;
  check->entry_rows = dm_problem_entry_rows(problem);
  check->exact = dm_problem_is_exact(problem);
  check->parts = dm_dtype_is_complex(problem->work) ? 2 : 1;
  check->from_gpu = from_gpu;
  check->step = 1;
  check->strained = check->stated = false;
  check->conjugate_a = check->conjugate_b = false;
  check->cols_left_out = 0;
  check->seed = 0;
  check->marks = NULL;
  check->nan_rows = check->nan_cols = NULL;
  make_groups(check, problem);
  memcpy(check->alpha, alpha, sizeof check->alpha);
  memcpy(check->beta, beta, sizeof check->beta);
}

dm_status dm_freivalds_new_part(const dm_problem *problem, const double alpha[2],
                                const double beta[2], bool from_gpu, dm_extent part, int64_t room,
                                dm_freivalds **out) {
  dm_freivalds *check = calloc(1, sizeof *check);
  if (!check) return dm_fail(DM_E_FIT, "no memory for the verification");
  check->room = room;
  freivalds_begin(check, problem, alpha, beta, from_gpu, part.rows, part.cols);
  dm_status status = freivalds_allocate(check);
  if (status)
    dm_freivalds_free(check);
  else
    *out = check;
  return status;
}

dm_status dm_freivalds_new(const dm_problem *problem, const double alpha[2], const double beta[2],
                           bool from_gpu, int64_t room, dm_freivalds **out) {
  const dm_extent all = {{0, problem->m}, {0, problem->n}};
  return dm_freivalds_new_part(problem, alpha, beta, from_gpu, all, room, out);
}

dm_status dm_freivalds_reuse(const dm_problem *problem, const double alpha[2], const double beta[2],
                             bool from_gpu, dm_freivalds **out) {
  dm_freivalds *check = *out;
  const int64_t room = dm_check_room(dm_problem_b_rows(problem), 0);
  const bool fits = check && check->problem.m == problem->m && check->problem.n == problem->n &&
                    check->problem.k == problem->k && check->problem.work == problem->work &&
                    check->depth == dm_problem_b_rows(problem) && check->room == room;
  if (!fits) {
    *out = NULL;
    dm_freivalds_free(check);
    return dm_freivalds_new(problem, alpha, beta, from_gpu, room, out);
  }
  DM_TRY(dm_freivalds_arrive(check));
  freivalds_begin(check, problem, alpha, beta, from_gpu, (dm_range){0, problem->m},
                  (dm_range){0, problem->n});
  memset(check->memory, 0, (size_t)check->count * sizeof *check->memory);
  return DM_OK;
}

void dm_freivalds_turn_to_rows(dm_freivalds *check, dm_range rows) {
  const dm_problem problem = check->problem;
  const int64_t entry_rows = check->entry_rows;
  const double alpha[2] = {check->alpha[0], check->alpha[1]};
  const double beta[2] = {check->beta[0], check->beta[1]};
  freivalds_begin(check, &problem, alpha, beta, check->from_gpu, rows, check->cols);
  check->entry_rows = entry_rows;
  memset(check->memory, 0, (size_t)check->count * sizeof *check->memory);
}

int64_t dm_freivalds_bytes(const dm_freivalds *check) {
  const int64_t parts = check->parts, rows = check->groups * check->problem.m;
  const int64_t sums = (3 * parts + 3) * rows; /* and the same again for the judge */
  return (int64_t)sizeof(double) *
         ((parts + 1) * (check->problem.n + check->groups * check->room + check->problem.m) +
          2 * sums);
}

void dm_freivalds_conjugate(dm_freivalds *check, bool a, bool b) {
  check->conjugate_a = a && check->parts == 2;
  check->conjugate_b = b && check->parts == 2;
}

void dm_freivalds_repeat(dm_freivalds *check, dm_check_seed seed, int draw) {
  check->stated = seed.stated;
  check->seed = seed.stated ? seed.value + (uint64_t)draw : 0;
}

void dm_freivalds_expect_nan(dm_freivalds *check, const dm_centering *rows,
                             const dm_centering *cols) {
  check->nan_rows = rows;
  check->nan_cols = cols;
}

dm_status dm_freivalds_draw_seed(uint64_t *seed) {
  ssize_t got;
  do got = getrandom(seed, sizeof *seed, 0);
  while (got < 0 && errno == EINTR);
  if (got == (ssize_t)sizeof *seed) return DM_OK;
  return dm_hint(dm_fail(DM_E_IO, "the system's random source failed: %s", strerror(errno)),
                 "--verify-seed states the seed of the verification instead");
}

dm_status dm_freivalds_draw(dm_freivalds *check, const dm_comm *comm) {
  uint64_t drawn[2] = {check->seed, 0}; /* and whether that failed */
  dm_status status = DM_OK;
  if (!check->stated && dm_comm_rank(comm) == 0) status = dm_freivalds_draw_seed(&drawn[0]);
  drawn[1] = status != DM_OK;
  dm_status sent = dm_comm_broadcast(comm, drawn, sizeof drawn, 0);
  if (sent) return dm_status_first(status, sent);
  if (drawn[1]) return dm_comm_agree(comm, status);
  check->seed = drawn[0];
  return DM_OK;
}

void dm_freivalds_mark(dm_freivalds *check, uint8_t *rows) {
  check->marks = rows;
}

void dm_freivalds_free(dm_freivalds *check) {
  if (!check) return;
  dm_status_free(dm_freivalds_arrive(check)); /* pending sums would be added to freed memory */
  free(check->memory);
  free(check);
}

/* The part of COUNT rows or columns, starting at *FROM, that is in PART; *from becomes relative to
 * PART. */
static dm_range clip(dm_range part, int64_t *from, int64_t count) {
  const int64_t begin = dm_min(dm_max(part.begin, *from), *from + count);
  const int64_t end = dm_min(part.end, *from + count);
  const dm_range clipped = {begin - *from, dm_max(begin, end) - *from};
  *from = begin - part.begin;
  return clipped;
}

/* The part of a view at (*row, *col) of a matrix that is checked. The part limits rows of op(A) and
 * C, and columns of op(B) and C; of k it has K. */
static dm_view freivalds_part_of(const dm_freivalds *check, dm_view view, int64_t *row,
                                 int64_t *col, const dm_range *k, bool by_rows, bool by_cols) {
  const dm_range rows = clip(by_rows ? check->rows : *k, row, view.rows);
  const dm_range cols = clip(by_cols ? check->cols : *k, col, view.cols);
  return dm_view_sub(view, rows.begin, cols.begin, rows.end - rows.begin, cols.end - cols.begin);
}

dm_status dm_freivalds_arrive(dm_freivalds *check) {
  dm_backend *backend = check->adds;
  check->adds = NULL;
  return backend ? dm_backend_settle(backend) : DM_OK;
}

static dm_status freivalds_probe(dm_freivalds *check, dm_backend *backend, dm_view view,
                                 const double *x, double *y, double *squares) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (backend) check->adds = backend;
  if (check->exact && (view.dtype == DM_F64 || view.dtype == DM_I64)) {
    if (view.space == DM_HOST)
      return dm_host_probe_integers(view, (const uint64_t *)x, (uint64_t *)y);
    return dm_fail(DM_E_BUG, "integers in f64 are checked in host memory");
  }
  if (backend) return dm_backend_probe(backend, view, x, y, squares);
  return dm_host_probe(NULL, view, x, y, squares);
}

/* The group of column COL of the part, relative to the part's first group. */
static int freivalds_group_of(const dm_freivalds *check, int64_t col) {
  const int64_t first = check->cols.begin;
  return (int)((first + col) / check->group_cols - first / check->group_cols);
}

/* Number of columns from COL to END of the part that are in COL's group. */
static int64_t cols_of_group(const dm_freivalds *check, int64_t col, int64_t end) {
  const int64_t at = check->cols.begin + col;
  return dm_min(end - col, dm_round_up(at + 1, check->group_cols) - at);
}

/* Whether the sums of all groups, and the norms of the rows, take a single pass over VIEW. */
static bool takes_one_pass(const dm_freivalds *check, const dm_backend *backend, dm_view view) {
  return !check->exact && view.space == DM_HOST && !(backend && backend->ops->device_memory);
}

/* Vectors of LENGTH elements for each group of columns: weighted sums of rows, the squares of their
 * terms (or NULL), and one vector of the norms of rows (NULL unless the view takes one pass). */
typedef struct group_sums {
  int64_t length;
  double *sums, *squares, *norms;
} group_sums;

/* Adds the columns of VIEW, which starts at (row, col) of the part, to the sums of their groups. */
static dm_status freivalds_probe_groups(dm_freivalds *check, dm_backend *backend, dm_view view,
                                        int64_t row, int64_t col, group_sums to) {
  const int parts = check->parts;
  for (int64_t done = 0; done < view.cols;) {
    const int64_t cols = cols_of_group(check, col + done, col + view.cols);
    const int64_t at = freivalds_group_of(check, col + done) * to.length + row;
    const double *w = check->w + (col + done) * parts;
    double *squares = to.squares ? to.squares + at : NULL;
    if (takes_one_pass(check, backend, view)) {
      dm_host_probe_groups_parallel(view,
                                    &(dm_probe_groups){.x = w,
                                                       .y = to.sums + at * parts,
                                                       .squares = squares,
                                                       .norms = to.norms ? to.norms + row : NULL,
                                                       .first = cols,
                                                       .each = check->group_cols,
                                                       .step = to.length});
      return DM_OK;
    }
    DM_TRY(freivalds_probe(check, backend, dm_view_sub(view, 0, done, view.rows, cols), w,
                           to.sums + at * parts, squares));
    done += cols;
  }
  return DM_OK;
}

int64_t dm_freivalds_room(const dm_freivalds *check) {
  return check->room;
}

bool dm_freivalds_holds_all(const dm_freivalds *check) {
  return check->room == check->depth;
}

/* Only what the last window had is not zero. */
void dm_freivalds_turn_to(dm_freivalds *check, dm_range rows) {
  const size_t bytes = (size_t)dm_range_size(check->window) * sizeof(double);
  for (int g = 0; g < check->groups; g++) {
    memset(check->t + g * check->room * check->parts, 0, bytes * (size_t)check->parts);
    memset(check->sizes + g * check->room, 0, bytes);
  }
  check->window = rows;
}

bool dm_freivalds_turn_to_row(dm_freivalds *check, int64_t first) {
  if (first >= check->depth) return false;
  dm_freivalds_turn_to(check, (dm_range){first, dm_min(check->depth, first + check->room)});
  return true;
}

void dm_freivalds_sample(dm_freivalds *check, int64_t step) {
  const size_t m = (size_t)(check->groups * check->problem.m);
  check->step = step;
  check->strained = false;
  check->cols_left_out = 0;
  check->spread = 0.0;
  memset(check->col_squares, 0, (size_t)check->problem.n * sizeof(double));
  memset(check->y, 0, m * (size_t)check->parts * sizeof(double));
  memset(check->row_squares, 0, m * sizeof(double));
  dm_freivalds_turn_to(check, (dm_range){0, check->room});
}

bool dm_freivalds_is_sound(const dm_freivalds *check) {
  return check->step == 1 || (!check->strained && check->cols_left_out == 0 &&
                              dm_sample_is_sound(check->spread, check->problem.n));
}

dm_status dm_freivalds_scan_b(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                              int64_t col) {
  const dm_range all = {0, check->depth};
  view = freivalds_part_of(check, view, &row, &col, &all, false, true);
  if (check->exact || dm_view_is_empty(view)) return DM_OK;
  double *squares = check->col_squares + col;
  if (backend) check->adds = backend;
  return backend ? dm_backend_scan(backend, view, squares) : dm_host_scan(NULL, view, squares);
}

/* Integers get weights of 64 random bits: a wrong element is missed once in 2^64 cases. */
static void freivalds_weigh_exactly(dm_freivalds *check) {
  for (int64_t j = 0; j < check->problem.n; j++) {
    uint64_t bits = dm_random_bits(check->seed, 0, check->cols.begin + j, 0) | 1u;
    memcpy(&check->w[j], &bits, sizeof bits);
  }
}

dm_status dm_freivalds_weigh(dm_freivalds *check, const dm_comm *comm) {
  DM_TRY(dm_freivalds_arrive(check));
  DM_TRY(dm_freivalds_draw(check, comm));
  if (check->exact) {
    freivalds_weigh_exactly(check);
    return DM_OK;
  }
  DM_TRY(dm_comm_sum_f64(comm, check->col_squares, check->problem.n));
  for (int64_t j = 0; j < check->problem.n; j++) {
    const double squares = check->col_squares[j] * (double)check->step, norm = sqrt(squares);
    double factor = dm_row_weight(check->seed, check->cols.begin + j), weight = factor;
    if (!isfinite(norm)) {
      weight = 0.0;
      check->cols_left_out++;
      check->strained |= !dm_freivalds_expects(check->nan_cols, check->cols.begin + j);
    } else if (squares > DM_LEAST_SQUARES) {
      weight = factor / norm;
    } else if (norm > 0.0 || check->step > 1) { /* nearly zero; this and a column of zeros keep
                                                   their weight */
      check->strained = true;
    }
    check->w[j * check->parts] = weight;
  }
  return DM_OK;
}

dm_status dm_freivalds_add_b(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  view = freivalds_part_of(check, view, &row, &col, &check->window, false, true);
  if (dm_view_is_empty(view)) return DM_OK;
  return freivalds_probe_groups(
      check, backend, view, row, col,
      (group_sums){check->room, check->t, check->exact ? NULL : check->sizes, NULL});
}

dm_status dm_freivalds_sum_wide(const dm_freivalds *check, const dm_comm *comm, double *vector,
                                int64_t count) {
  if (check->exact) return dm_comm_sum_i64(comm, (int64_t *)vector, count);
  return dm_comm_sum_f64(comm, vector, count * check->parts);
}

dm_status dm_freivalds_project(dm_freivalds *check, const dm_comm *comm) {
  const int64_t k = check->room;
  DM_TRY(dm_freivalds_arrive(check));
  DM_TRY(dm_freivalds_sum_wide(check, comm, check->t, check->groups * k));
  if (check->exact) return DM_OK;
  DM_TRY(dm_comm_sum_f64(comm, check->sizes, check->groups * k));
  DM_TRY(dm_freivalds_take_roots(check, check->window.begin, dm_range_size(check->window)));
  /* w is real: conj(B) w is conj(B w), and A conj(t) is conj(conj(A) t). */
  for (int64_t i = 0; check->conjugate_a != check->conjugate_b && i < check->groups * k; i++)
    check->t[2 * i + 1] = -check->t[2 * i + 1];
  return DM_OK;
}

/* Adds squares of |A(i,k) sizes_k| if they need a second pass over VIEW. */
static dm_status add_sizes(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                           const double *sizes, double *squares) {
  double *unused = check->scratch + row * check->parts;
  DM_FREED double *wide = NULL;
  if (check->parts == 1) return freivalds_probe(check, backend, view, sizes, unused, squares);
  DM_TRY(dm_buffer_table(2 * view.cols, &wide));
  for (int64_t j = 0; j < view.cols; j++) wide[2 * j] = sizes[j];
  return freivalds_probe(check, backend, view, wide, unused, squares);
}

static dm_status add_group_of_a(dm_freivalds *check, dm_backend *backend, dm_view view, int g,
                                int64_t row, int64_t col) {
  const dm_problem *p = &check->problem;
  const int64_t at = dm_freivalds_at(check, g, col);
  const double *t = check->t + at * check->parts, *sizes = check->sizes + at;
  double *y = check->y + (g * p->m + row) * check->parts,
         *norms = check->row_squares + g * p->m + row;
  if (takes_one_pass(check, backend, view)) {
    dm_host_probe_groups_parallel(
        view, &(dm_probe_groups){.x = t, .y = y, .sizes = sizes, .norms = norms});
    return DM_OK;
  }
  DM_TRY(freivalds_probe(check, backend, view, t, y, NULL));
  return check->exact ? DM_OK : add_sizes(check, backend, view, row, sizes, norms);
}

/* Adds all groups in one pass over VIEW. */
static void add_groups_of_a(const dm_freivalds *check, dm_view view, int64_t row, int64_t col) {
  const dm_problem *p = &check->problem;
  const int64_t at = dm_freivalds_at(check, 0, col);
  dm_host_probe_vectors_parallel(view, &(dm_probe_vectors){.count = check->groups,
                                                           .x = check->t + at,
                                                           .sizes = check->sizes + at,
                                                           .x_step = check->room,
                                                           .y = check->y + row,
                                                           .norms = check->row_squares + row,
                                                           .y_step = p->m});
}

/* Adds rows of op(A) that meet the rows of op(B) from COL on, as far as they are in the window. */
static dm_status add_rows_of_a(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                               int64_t col) {
  const dm_range met = dm_range_common((dm_range){col, col + view.cols}, check->window);
  if (dm_range_size(met) == 0) return DM_OK;
  view = dm_view_sub(view, 0, met.begin - col, view.rows, dm_range_size(met));
  col = met.begin;
  if (check->parts == 1 && takes_one_pass(check, backend, view)) {
    add_groups_of_a(check, view, row, col);
    return DM_OK;
  }
  for (int g = 0; g < check->groups; g++) DM_TRY(add_group_of_a(check, backend, view, g, row, col));
  return DM_OK;
}

dm_status dm_freivalds_add_a(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  const dm_range k = {0, check->problem.k};
  view = freivalds_part_of(check, view, &row, &col, &k, true, false);
  if (dm_view_is_empty(view)) return DM_OK;
  for (int64_t done = 0, count; done < view.rows; done += count) {
    const int64_t at = check->rows.begin + row + done, entry = at / check->entry_rows;
    count = dm_min(view.rows - done, (entry + 1) * check->entry_rows - at);
    DM_TRY(add_rows_of_a(check, backend, dm_view_sub(view, done, 0, count, view.cols), row + done,
                         entry * check->problem.k + col));
  }
  return DM_OK;
}

/* Adds squares of the elements of C if they need a second pass over VIEW. */
static dm_status add_norms(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row) {
  double squares = 0.0;
  DM_FREED double *ones = NULL;
  if (check->exact || !backend || view.space == DM_HOST) {
    if (view.col_stride != 1) view = dm_view_transpose(view); /* the sum is the same */
    DM_TRY(backend ? dm_backend_dot(backend, view, view, &squares)
                   : dm_host_dot(NULL, view, view, &squares));
    check->c_squares[row] += squares;
    return DM_OK;
  }
  DM_TRY(dm_buffer_table(view.cols, &ones));
  for (int64_t j = 0; j < view.cols; j++) ones[j] = 1.0;
  return add_sizes(check, backend, view, row, ones, check->c_squares + row);
}

/* Adds the elements of C in VIEW as they are. */
static dm_status add_stored(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                            int64_t col) {
  view = freivalds_part_of(check, view, &row, &col, NULL, true, true);
  if (dm_view_is_empty(view)) return DM_OK;
  const bool once = takes_one_pass(check, backend, view);
  const group_sums to = {check->problem.m, check->z, check->z_squares,
                         once ? check->c_squares : NULL};
  DM_TRY(freivalds_probe_groups(check, backend, view, row, col, to));
  return once ? DM_OK : add_norms(check, backend, view, row);
}

/* ---- a symmetric C of which one half is at hand: the other one is its mirror image ---- */

enum { FREIVALDS_PIECE = 4 << 20 }; /* bytes of a mirror image */

/* PART's columns AT to AT + COUNT, as the rows of an image in MEMORY: without what is on the
 * diagonal, or in the other half, of a stored half. */
static dm_view image_of(const dm_freivalds *check, dm_view part, int64_t row, int64_t col,
                        int64_t at, int64_t count, void *memory) {
  const dm_view image = dm_view_row_major(memory, part.dtype, count, part.rows);
  const dm_half half = check->problem.half;
  dm_copy(image, dm_view_transpose(dm_view_sub(part, 0, at, part.rows, count)),
          check->problem.symmetry == DM_HERMITIAN);
  if (half == DM_LOWER_HALF) dm_clear_triangle(image, col + at, row - 1, true);
  if (half == DM_UPPER_HALF) dm_clear_triangle(image, col + at, row + 1, false);
  return image;
}

dm_status dm_freivalds_add_image(dm_freivalds *check, dm_view part, int64_t row, int64_t col) {
  const int64_t line = dm_max(1, part.rows * dm_dtype_size(part.dtype));
  const int64_t most = dm_max(1, FREIVALDS_PIECE / line);
  DM_FREED void *memory = NULL;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_buffer_alloc(dm_min(most, part.cols) * line, &memory));
  for (int64_t at = 0; at < part.cols; at += most) {
    const int64_t count = dm_min(most, part.cols - at);
    DM_TRY(
        add_stored(check, NULL, image_of(check, part, row, col, at, count, memory), col + at, row));
  }
  return DM_OK;
}

dm_status dm_freivalds_add_c(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  if (check->problem.half != DM_BOTH_HALVES) DM_TRY(dm_freivalds_add_image(check, view, row, col));
  return add_stored(check, backend, view, row, col);
}

dm_status dm_freivalds_add_c0(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                              int64_t col) {
  view = freivalds_part_of(check, view, &row, &col, NULL, true, true);
  if (dm_view_is_empty(view)) return DM_OK;
  return freivalds_probe_groups(check, backend, view, row, col,
                                (group_sums){check->problem.m, check->z0, check->z0_squares, NULL});
}

void dm_freivalds_scaled(dm_freivalds *check, const int64_t *rows, const int64_t *cols, int alpha) {
  check->row_exponents = rows;
  check->col_exponents = cols;
  check->alpha_exponent = alpha;
  /* A row is scaled by its largest element: squares of the others underflow, and would leave groups
   * without a bound. */
  dm_freivalds_join_groups(check);
}

void dm_freivalds_reset_c(dm_freivalds *check) {
  const size_t m = (size_t)check->problem.m, rows = (size_t)check->groups * m;
  memset(check->z, 0, rows * (size_t)check->parts * sizeof(double));
  memset(check->z_squares, 0, rows * sizeof(double));
  memset(check->c_squares, 0, m * sizeof(double));
}
