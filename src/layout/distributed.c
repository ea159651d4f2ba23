#include "layout/distributed.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/pairs.h"
#include "layout/redistribute.h"

dm_status dm_memory_matrix_check(const dm_memory_matrix *m) {
  int64_t bytes;
  if ((int)m->division < (int)DM_BY_ROWS || (int)m->division > (int)DM_REPLICATED)
    return dm_hint(dm_fail(DM_E_USAGE, "%d is not a way to divide a matrix", (int)m->division),
                   "damier_file, damier_by_rows, damier_on_one, damier_on_all and damier_scalapack "
                   "fill matrices in; damier_scalapack needs a descriptor");
  if (!dm_dtype_is_known(m->dtype)) return dm_fail(DM_E_USAGE, "%d is not a type", (int)m->dtype);
  if (m->rows < 0 || m->cols < 0 || (m->rows == 0 && m->cols == 0))
    return dm_fail(DM_E_USAGE, "it has %lld x %lld elements", (long long)m->rows,
                   (long long)m->cols);
  if (dm_mul_overflows(m->rows, m->cols, &bytes) ||
      dm_mul_overflows(bytes, dm_dtype_size(m->dtype), &bytes))
    return dm_fail(DM_E_USAGE, "the size of %lld x %lld elements overflows 64 bits",
                   (long long)m->rows, (long long)m->cols);
  return DM_OK;
}

/* What all ranks state alike. */
enum { DISTRIBUTED_COUNT = 12 };

static void distributed_list(const dm_memory_matrix *m, int64_t stated[DISTRIBUTED_COUNT]) {
  const int64_t all[] = {m->division,  m->dtype,        m->rows,      m->cols,
                         m->rank,      m->grid_rows,    m->grid_cols, m->row_block,
                         m->col_block, m->column_major, m->first_row, m->first_col};
  memcpy(stated, all, sizeof all);
}

bool dm_memory_matrix_is_like(const dm_memory_matrix *one, const dm_memory_matrix *other) {
  const uintptr_t aligned = 255, a = (uintptr_t)one->data, b = (uintptr_t)other->data;
  int64_t of_one[DISTRIBUTED_COUNT], of_other[DISTRIBUTED_COUNT];
  distributed_list(one, of_one);
  distributed_list(other, of_other);
  return memcmp(of_one, of_other, sizeof of_one) == 0 && one->row_stride == other->row_stride &&
         one->col_stride == other->col_stride && one->own_rows == other->own_rows &&
         one->on_gpu == other->on_gpu && !a == !b && (a & aligned) == (b & aligned);
}

/* Ranks must agree on the whole matrix, but not on the memory of their parts. */
static dm_status distributed_check_alike(const dm_comm *comm, const dm_memory_matrix *m,
                                         bool *on_gpus) {
  int64_t stated[DISTRIBUTED_COUNT];
  distributed_list(m, stated);
  int64_t extremes[2 * DISTRIBUTED_COUNT + 1];
  for (int i = 0; i < DISTRIBUTED_COUNT; i++) {
    extremes[2 * i] = stated[i];
    extremes[2 * i + 1] = ~stated[i]; /* its largest is the complement of the least */
  }
  extremes[2 * DISTRIBUTED_COUNT] = m->on_gpu;
  DM_TRY(dm_comm_max_i64(comm, extremes, 2 * DISTRIBUTED_COUNT + 1));
  *on_gpus = extremes[2 * DISTRIBUTED_COUNT];
  for (int i = 0; i < DISTRIBUTED_COUNT; i++)
    if (extremes[2 * i] != ~extremes[2 * i + 1])
      return dm_hint(dm_fail(DM_E_USAGE, "the ranks describe it differently"),
                     "type, shape and division are those of the whole matrix, on every rank");
  return DM_OK;
}

/* ---- divisions ---- */

static dm_status distributed_by_rows(const dm_comm *comm, const dm_memory_matrix *m,
                                     dm_distribution *of) {
  const int ranks = dm_comm_size(comm);
  const int64_t cols[] = {m->cols};
  DM_FREED int64_t *sizes = NULL;
  DM_TRY(dm_comm_agree(comm, dm_buffer_table(ranks, &sizes)));
  DM_TRY(dm_comm_allgather(comm, &m->own_rows, sizeof m->own_rows, sizes));
  DM_TRY(dm_axis_of_sizes(sizes, ranks, &of->rows));
  if (of->rows.total != m->rows)
    return dm_hint(dm_fail(DM_E_USAGE, "it has %lld rows, but the ranks have %lld together",
                           (long long)m->rows, (long long)of->rows.total),
                   "own_rows counts the rows of this rank, rows those of the whole matrix");
  DM_TRY(dm_axis_of_sizes(cols, 1, &of->cols));
  DM_TRY(dm_distribution_ranks(of));
  for (int r = 0; r < ranks; r++) of->ranks[r] = r;
  return DM_OK;
}

static dm_status on_all(const dm_comm *comm, const dm_memory_matrix *m, dm_distribution *of) {
  const int ranks = dm_comm_size(comm);
  DM_TRY(dm_axis_even(m->rows, ranks, &of->rows));
  DM_TRY(dm_axis_of_sizes(&m->cols, 1, &of->cols));
  DM_TRY(dm_distribution_ranks(of));
  for (int r = 0; r < ranks; r++) of->ranks[r] = r;
  return DM_OK;
}

static dm_status on_one(const dm_comm *comm, const dm_memory_matrix *m, dm_distribution *of) {
  const int64_t rows[] = {m->rows}, cols[] = {m->cols};
  if (m->rank < 0 || m->rank >= dm_comm_size(comm))
    return dm_fail(DM_E_USAGE, "there is no rank %d", m->rank);
  DM_TRY(dm_axis_of_sizes(rows, 1, &of->rows));
  DM_TRY(dm_axis_of_sizes(cols, 1, &of->cols));
  DM_TRY(dm_distribution_ranks(of));
  of->ranks[0] = m->rank;
  return DM_OK;
}

static dm_status cyclic(const dm_comm *comm, const dm_memory_matrix *m, dm_distribution *of) {
  if (m->grid_rows < 1 || m->grid_cols < 1 ||
      (int64_t)m->grid_rows * m->grid_cols > dm_comm_size(comm))
    return dm_fail(DM_E_USAGE, "a process grid of %d x %d does not fit %d ranks", m->grid_rows,
                   m->grid_cols, dm_comm_size(comm));
  if (m->row_block < 1 || m->col_block < 1 || m->first_row < 0 || m->first_row >= m->grid_rows ||
      m->first_col < 0 || m->first_col >= m->grid_cols)
    return dm_fail(DM_E_USAGE, "blocks of %lld x %lld from (%d, %d) on do not divide it",
                   (long long)m->row_block, (long long)m->col_block, m->first_row, m->first_col);
  DM_TRY(dm_axis_cyclic(m->rows, m->row_block, m->grid_rows, m->first_row, &of->rows));
  DM_TRY(dm_axis_cyclic(m->cols, m->col_block, m->grid_cols, m->first_col, &of->cols));
  DM_TRY(dm_distribution_ranks(of));
  for (int r = 0; r < m->grid_rows; r++)
    for (int c = 0; c < m->grid_cols; c++)
      of->ranks[r * m->grid_cols + c] =
          m->column_major ? c * m->grid_rows + r : r * m->grid_cols + c;
  return DM_OK;
}

static dm_status distributed_divide(const dm_comm *comm, const dm_memory_matrix *m,
                                    dm_distribution *of) {
  switch (m->division) {
  case DM_BY_ROWS:
    return distributed_by_rows(comm, m, of);
  case DM_ON_ONE:
    return on_one(comm, m, of);
  case DM_BLOCK_CYCLIC:
    return cyclic(comm, m, of);
  case DM_REPLICATED:
    return on_all(comm, m, of);
  default:
    return dm_fail(DM_E_USAGE, "%d is not a way to divide a matrix in memory", m->division);
  }
}

/* ---- this rank's part ---- */

/* Checks strides that copies to and from GPUs support. */
static dm_status check_lines(const dm_view *v) {
  const bool by_rows = v->col_stride == 1 && (v->rows == 1 || v->row_stride >= v->cols);
  const bool by_columns = v->row_stride == 1 && (v->cols == 1 || v->col_stride >= v->rows);
  if (by_rows || by_columns) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "its strides in GPU memory are %lld and %lld elements",
                         (long long)v->row_stride, (long long)v->col_stride),
                 "the elements of its rows, or of its columns, must be contiguous there");
}

/* Of a replicated matrix. */
static void take_own_rows(int rank, dm_distributed *matrix) {
  const dm_view whole = matrix->local;
  dm_extent own;
  (void)dm_distribution_extent(&matrix->of, rank, &own);
  matrix->replica = whole;
  matrix->local = dm_view_sub(whole, own.rows.begin, 0, dm_range_size(own.rows), whole.cols);
  matrix->ahead = own.rows.begin * whole.row_stride * dm_dtype_size(whole.dtype);
}

static dm_status local_part(const dm_comm *comm, const dm_memory_matrix *m,
                            dm_distributed *matrix) {
  int row, col;
  matrix->local = (dm_view){.dtype = m->dtype};
  if (!dm_distribution_parts(&matrix->of, dm_comm_rank(comm), &row, &col)) return DM_OK;
  dm_view *v = &matrix->local;
  const bool replicated = m->division == DM_REPLICATED;
  v->rows = replicated ? m->rows : dm_axis_size(&matrix->of.rows, row);
  v->cols = dm_axis_size(&matrix->of.cols, col);
  v->base = m->data;
  v->row_stride = m->row_stride;
  v->col_stride = m->col_stride;
  if (dm_view_is_empty(*v)) return DM_OK;
  if (!v->base) return dm_fail(DM_E_USAGE, "this rank has elements of it, but no data");
  if ((v->rows > 1 && v->row_stride < 1) || (v->cols > 1 && v->col_stride < 1))
    return dm_fail(DM_E_USAGE, "its strides are %lld and %lld elements; they must be positive",
                   (long long)v->row_stride, (long long)v->col_stride);
  if (v->rows == 1) v->row_stride = 1; /* not needed */
  if (v->cols == 1) v->col_stride = 1;
  if (m->on_gpu) {
    v->space = DM_DEVICE;
    matrix->stream = m->stream;
    DM_TRY(check_lines(v));
  }
  if (replicated) take_own_rows(dm_comm_rank(comm), matrix);
  return DM_OK;
}

dm_status dm_part_layout_of(const dm_comm *comm, dm_view part, dm_part_layout *lying) {
  const bool has = !dm_view_is_empty(part);
  int64_t found[] = {has && part.col_stride != 1, has && part.row_stride != 1,
                     has && part.space == DM_HOST};
  DM_TRY(dm_comm_max_i64(comm, found, 3));
  *lying = (dm_part_layout){found[0] != 0, found[1] != 0, found[2] != 0};
  return DM_OK;
}

void dm_distributed_move(const dm_memory_matrix *stated, dm_distributed *matrix) {
  matrix->replica.base = stated->data;
  if (dm_view_is_empty(matrix->local)) return;
  matrix->local.base = (char *)stated->data + matrix->ahead;
  matrix->stream = stated->on_gpu ? stated->stream : NULL;
}

dm_status dm_distributed_open(const dm_comm *comm, const dm_memory_matrix *stated, const char *name,
                              dm_distributed *matrix) {
  *matrix = (dm_distributed){0};
  dm_status status = dm_comm_agree(comm, dm_memory_matrix_check(stated));
  if (!status) status = distributed_check_alike(comm, stated, &matrix->on_gpus);
  if (status) return dm_context(status, "%s", name);
  status = distributed_divide(comm, stated, &matrix->of);
  if (!status) status = local_part(comm, stated, matrix);
  return dm_comm_agree(comm, dm_context(status, "%s", name));
}

/* ---- GPU memory ---- */

static dm_status refuse_backend(const dm_backend *backend) {
  const dm_backend_ops *cuda;
  dm_status missing = dm_backend_find("cuda", &cuda);
  dm_status status = dm_fail(
      DM_E_DEVICE, "it is in GPU memory, but backend %s uses only host memory", backend->ops->name);
  status = dm_hint(status, "%s",
                   missing ? missing->message
                           : "set the option \"backend\" to \"cuda\"; "
                             "every rank needs a GPU for it");
  dm_status_free(missing);
  return status;
}

static dm_status check_kind(const dm_view *local, dm_backend *backend, bool *pageable) {
  dm_memory_kind kind;
  dm_device device;
  DM_TRY(dm_backend_memory_kind(backend, local->base, &kind));
  *pageable = kind.host && !kind.gpu && !kind.pinned;
  if (local->space == DM_HOST && !kind.host)
    return dm_hint(dm_fail(DM_E_USAGE, "it is stated as host memory, but is GPU memory"),
                   "use damier_in_gpu");
  if (local->space == DM_HOST) return DM_OK;
  if (!kind.gpu)
    return dm_hint(dm_fail(DM_E_USAGE, "it is stated as GPU memory, but is host memory"),
                   "do not use damier_in_gpu for matrices in host memory");
  if (!kind.foreign) return DM_OK;
  DM_TRY(dm_backend_device(backend, &device));
  return dm_hint(dm_fail(DM_E_DEVICE, "it is in memory of GPU %d, but this rank uses GPU %d",
                         kind.index, device.index),
                 "the ranks of a node use its GPUs in turn; CUDA_VISIBLE_DEVICES chooses them");
}

static dm_status distributed_reach(dm_distributed *matrix, dm_backend *backend) {
  const bool on_gpu = matrix->local.space == DM_DEVICE;
  if (dm_view_is_empty(matrix->local)) return DM_OK;
  if (on_gpu && !backend->ops->device_memory) return refuse_backend(backend);
  DM_TRY(check_kind(&matrix->local, backend, &matrix->pageable));
  if (on_gpu) matrix->backend = backend;
  return matrix->stream ? dm_backend_await(backend, matrix->stream) : DM_OK;
}

dm_status dm_distributed_reach(dm_distributed *matrix, dm_backend *backend, const char *name) {
  return dm_context(distributed_reach(matrix, backend), "%s", name);
}

dm_status dm_distributed_open_backend(const dm_run *run, const dm_engine_options *engine,
                                      dm_distributed *matrix, const char *name,
                                      dm_backend **backend) {
  const dm_backend_ops *ops;
  const bool automatic = strcmp(engine->backend, "auto") == 0;
  const dm_backend_config config = {.local_rank = run->gpu,
                                    .local_ranks = run->local_ranks,
                                    .threads = run->cores.threads,
                                    .kernel = "auto",
                                    .whole = true};
  *backend = NULL;
  if (matrix->local.space != DM_DEVICE) return DM_OK;
  DM_TRY(dm_backend_find(automatic ? "cuda" : engine->backend, &ops));
  DM_TRY(dm_backend_open(ops, &config, backend));
  return dm_distributed_reach(matrix, *backend, name);
}

/* ---- all elements ---- */

static const int64_t distributed_piece_bytes = 32 << 20;

/* Some rows and columns of this rank's part, which start at (row, col) of the matrix. */
typedef struct distributed_piece {
  dm_range rows, cols;
  int64_t row, col;
} distributed_piece;

typedef dm_status distributed_piece_taker(const dm_distributed *matrix,
                                          const distributed_piece *piece, void *context);

static dm_status distributed_each_piece(const dm_distributed *matrix, int rank,
                                        distributed_piece_taker *take, void *context) {
  const dm_axis *rows = &matrix->of.rows, *cols = &matrix->of.cols;
  int row_part, col_part;
  if (!dm_distribution_parts(&matrix->of, rank, &row_part, &col_part)) return DM_OK;
  const int64_t line = dm_max(1, matrix->local.cols) * dm_dtype_size(matrix->local.dtype);
  const int64_t height = dm_max(1, distributed_piece_bytes / line);
  for (int64_t r = 0; r < rows->count; r++) {
    if (rows->runs[r].part != row_part) continue;
    const int64_t begin = rows->runs[r].begin, end = dm_axis_end(rows, r);
    for (int64_t row = begin; row < end; row += height) {
      const int64_t local = rows->runs[r].local + row - begin;
      const dm_range these = {local, local + dm_min(height, end - row)};
      for (int64_t c = 0; c < cols->count; c++) {
        const dm_axis_run *run = &cols->runs[c];
        const dm_range wide = {run->local, run->local + dm_axis_end(cols, c) - run->begin};
        if (run->part == col_part)
          DM_TRY(take(matrix, &(distributed_piece){these, wide, row, run->begin}, context));
      }
    }
  }
  return DM_OK;
}

static dm_view distributed_view_of(const dm_distributed *matrix, const distributed_piece *p) {
  return dm_view_sub(matrix->local, p->rows.begin, p->cols.begin, dm_range_size(p->rows),
                     dm_range_size(p->cols));
}

typedef struct taking {
  dm_part_taker *take;
  void *context;
} taking;

/* From GPU memory through a band. */
static dm_status distributed_take_piece(const dm_distributed *matrix, const distributed_piece *p,
                                        void *context) {
  const taking *t = context;
  if (!matrix->backend) return t->take(t->context, distributed_view_of(matrix, p), p->row, p->col);
  const int64_t count = dm_range_size(p->rows), width = dm_range_size(p->cols);
  dm_band *band = NULL;
  DM_TRY(dm_band_open(matrix->backend, matrix->local, p->cols, count, &band));
  dm_status status = dm_band_move(band, p->rows, true);
  if (!status)
    status = t->take(t->context, dm_band_part(band, p->rows.begin, p->cols.begin, count, width),
                     p->row, p->col);
  dm_band_close(band);
  return status;
}

dm_status dm_distributed_each(const dm_distributed *matrix, int rank, dm_part_taker *take,
                              void *context) {
  taking t = {take, context};
  return distributed_each_piece(matrix, rank, distributed_take_piece, &t);
}

static dm_status distributed_correlate(const dm_distributed *matrix, const distributed_piece *p,
                                       void *context) {
  const dm_problem *problem = context;
  const bool diagonal = problem->symmetry != DM_NO_SYMMETRY;
  const dm_view part = distributed_view_of(matrix, p);
  if (matrix->backend)
    return dm_backend_correlate(matrix->backend, part, p->row, p->col, problem->correlates,
                                diagonal);
  dm_correlate(part, p->row, p->col, problem->correlates, diagonal);
  return DM_OK;
}

dm_status dm_distributed_correlate(const dm_run *run, const dm_distributed *c,
                                   const dm_problem *problem) {
  if (problem->correlates == 0.0) return DM_OK;
  return dm_comm_agree(
      run->world, distributed_each_piece(c, run->rank, distributed_correlate, (void *)problem));
}

/* ---- ends of moves ---- */

void dm_distributed_close(dm_distributed *matrix) {
  dm_distribution_free(&matrix->of);
}

dm_status dm_distributed_part(const dm_distributed *matrix, dm_extent extent,
                              dm_distributed *part) {
  *part = *matrix;
  return dm_distribution_part(&matrix->of, extent, &part->of);
}

void dm_distributed_transpose(dm_distributed *matrix) {
  dm_distribution_transpose(&matrix->of);
  matrix->local = dm_view_transpose(matrix->local);
  matrix->replica = dm_view_transpose(matrix->replica);
}

static dm_view distributed_at(void *context, int64_t row, int64_t col) {
  const dm_distributed *matrix = context;
  const dm_axis *rows = &matrix->of.rows, *cols = &matrix->of.cols;
  return dm_view_sub(matrix->local, rows->runs[row].local, cols->runs[col].local,
                     dm_axis_end(rows, row) - rows->runs[row].begin,
                     dm_axis_end(cols, col) - cols->runs[col].begin);
}

dm_end dm_distributed_end(dm_distributed *matrix) {
  return (dm_end){.of = &matrix->of,
                  .at = distributed_at,
                  .context = matrix,
                  .on_gpus = matrix->on_gpus,
                  .backend = matrix->backend,
                  .local = &matrix->local};
}
