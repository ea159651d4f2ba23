#include "api/library.h"

#include <stdint.h>
#include <string.h>

#include "comm/comm.h"
#include "core/checked.h"

/* Bytes: no processor gives a program more addresses. */
static const int64_t LARGEST = INT64_C(1) << 57;

/* ---- this rank's part of a matrix ---- */

/* A part in memory as equally spaced lines: COUNT lines of BYTES each, STEP bytes apart. */
typedef struct call_lines {
  uintptr_t begin, end; /* of all; equal if this rank has nothing */
  int64_t count, step, bytes;
} call_lines;

/* Rows or columns of process number TURN after the one with the first block (ScaLAPACK's
 * numroc). */
static int64_t dealt(int64_t size, int64_t block, int64_t parts, int64_t turn) {
  const int64_t blocks = size / block, left = blocks % parts;
  const int64_t most = blocks / parts * block;
  return most + (turn < left ? block : turn == left ? size % block : 0);
}

/* Nothing if the division is invalid, which is found later. */
static void part_of_cycle(const damier_matrix *m, int rank, int64_t *rows, int64_t *cols) {
  *rows = *cols = 0;
  if (m->grid_rows < 1 || m->grid_cols < 1 || m->row_block < 1 || m->col_block < 1 ||
      m->first_row < 0 || m->first_col < 0 || m->first_row >= m->grid_rows ||
      m->first_col >= m->grid_cols || rank >= (int64_t)m->grid_rows * m->grid_cols)
    return;
  const int64_t row = m->column_major ? rank % m->grid_rows : rank / m->grid_cols;
  const int64_t col = m->column_major ? rank / m->grid_rows : rank % m->grid_cols;
  const int64_t down = (row - m->first_row + m->grid_rows) % m->grid_rows;
  const int64_t right = (col - m->first_col + m->grid_cols) % m->grid_cols;
  *rows = dealt(m->rows, m->row_block, m->grid_rows, down);
  *cols = dealt(m->cols, m->col_block, m->grid_cols, right);
}

static void call_part_of(const damier_matrix *m, int rank, int64_t *rows, int64_t *cols) {
  *rows = *cols = 0;
  if (m->division == DAMIER_BLOCK_CYCLIC)
    part_of_cycle(m, rank, rows, cols);
  else if (m->division == DAMIER_BY_ROWS || m->division == DAMIER_REPLICATED ||
           (m->division == DAMIER_ON_ONE && m->rank == rank)) {
    *rows = m->division == DAMIER_BY_ROWS ? m->own_rows : m->rows;
    *cols = m->cols;
  }
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b > 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Whether two elements of a part with these strides have the same place. */
static bool meets_itself(int64_t rows, int64_t cols, int64_t down, int64_t right) {
  if (rows < 2 || cols < 2) return false;
  const int64_t divisor = common_divisor(down, right);
  return right / divisor < rows && down / divisor < cols;
}

static dm_status refuse_strides(const damier_matrix *m, int64_t rows, int64_t cols,
                                const char *why) {
  return dm_hint(
      dm_fail(DM_E_USAGE, "strides of %lld and %lld elements %s: this rank's part is %lld x %lld",
              (long long)m->row_stride, (long long)m->col_stride, why, (long long)rows,
              (long long)cols),
      "by rows the row stride is at least the number of columns; lld of ScaLAPACK is at least the "
      "number of local rows");
}

/* LINES of this rank's part of M. */
static dm_status call_measure(const damier_matrix *m, int rank, call_lines *l) {
  int64_t rows, cols, down, right, bytes;
  const int64_t size = dm_dtype_size((dm_dtype)m->type);
  call_part_of(m, rank, &rows, &cols);
  *l = (call_lines){0};
  if (rows < 1 || cols < 1 || !m->data) return DM_OK;
  if ((rows > 1 && m->row_stride < 1) || (cols > 1 && m->col_stride < 1))
    return refuse_strides(m, rows, cols, "are not positive");
  const int64_t row_stride = rows > 1 ? m->row_stride : 1,
                col_stride = cols > 1 ? m->col_stride : 1;
  if (meets_itself(rows, cols, row_stride, col_stride))
    return refuse_strides(m, rows, cols, "put several elements in one place");
  if (dm_mul_overflows(rows - 1, row_stride, &down) ||
      dm_mul_overflows(cols - 1, col_stride, &right) || dm_add_overflows(down, right, &bytes) ||
      dm_add_overflows(bytes, 1, &bytes) || dm_mul_overflows(bytes, size, &bytes) ||
      bytes > LARGEST || (uint64_t)bytes > UINTPTR_MAX - (uintptr_t)m->data)
    return refuse_strides(m, rows, cols, "exceed the address space");
  const bool by_rows = cols == 1 || (rows > 1 && row_stride > col_stride);
  l->begin = (uintptr_t)m->data;
  l->end = l->begin + (uintptr_t)bytes;
  l->count = by_rows ? rows : cols;
  l->step = (by_rows ? row_stride : col_stride) * size;
  l->bytes = ((by_rows ? right : down) + 1) * size;
  if (l->step == l->bytes) *l = (call_lines){l->begin, l->end, 1, bytes, bytes}; /* without gaps */
  return DM_OK;
}

/* ---- overlap ---- */

/* Whether one of the lines of L has a byte of [BEGIN, BEGIN + BYTES). */
static bool is_touched(const call_lines *l, int64_t begin, int64_t bytes) {
  /* Line i begins at i * step: the first one that ends after BEGIN. */
  const int64_t i = begin < l->bytes ? 0 : (begin - l->bytes) / l->step + 1;
  return i < l->count && i * l->step < begin + bytes;
}

/* Whether they share bytes. Sub-matrices of one array may interleave without that. */
static bool do_overlap(const call_lines *a, const call_lines *b) {
  if (a->begin == a->end || b->begin == b->end || a->begin >= b->end || b->begin >= a->end)
    return false;
  const call_lines *few = a->count <= b->count ? a : b, *many = few == a ? b : a;
  const int64_t apart = (int64_t)(few->begin - many->begin); /* the ranges meet: it fits */
  for (int64_t i = 0; i < few->count; i++)
    if (is_touched(many, apart + i * few->step, few->bytes)) return true;
  return false;
}

static dm_status check_overlap(const call_lines *c, const call_lines *other, const char *name) {
  if (!do_overlap(c, other)) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "C overlaps %s in memory", name),
                 "the product would overwrite what it still reads: pass a copy");
}

bool dm_checks_is_same(const damier_matrix *old, const damier_matrix *c) {
  return old->division != DAMIER_IN_FILE && old->division == c->division && old->type == c->type &&
         old->rows == c->rows && old->cols == c->cols && old->data == c->data &&
         old->row_stride == c->row_stride && old->col_stride == c->col_stride &&
         old->own_rows == c->own_rows && old->rank == c->rank && old->grid_rows == c->grid_rows &&
         old->grid_cols == c->grid_cols && old->column_major == c->column_major &&
         old->row_block == c->row_block && old->col_block == c->col_block &&
         old->first_row == c->first_row && old->first_col == c->first_col &&
         old->memory == c->memory;
}

/* ---- one call ---- */

static dm_status check_stated(const damier_matrix *m) {
  const dm_memory_matrix memory = dm_memory_of(m);
  if (m->memory != DAMIER_HOST_MEMORY && m->memory != DAMIER_GPU_MEMORY)
    return dm_fail(DM_E_USAGE, "%d is not a kind of memory", (int)m->memory);
  return dm_memory_matrix_check(&memory);
}

static dm_status check_matrix(const damier_matrix *m, int which, int rank, call_lines *l) {
  const char *name = dm_matrix_name(which);
  if (!m) return dm_fail(DM_E_USAGE, "matrix %s is NULL", name);
  if (m->division == DAMIER_IN_FILE)
    return m->file && m->file[0]
               ? DM_OK
               : dm_fail(DM_E_USAGE, "matrix %s is in a file without a name", name);
  if (m->division == DAMIER_KEPT)
    return which == DM_C ? DM_OK : dm_fail(DM_E_USAGE, "%s is not kept: only C is", name);
  dm_status status = check_stated(m);
  if (!status && m->parts)
    status = dm_hint(dm_fail(DM_E_USAGE, "a matrix in parts, in a context of one GPU"),
                     "damier_open_gpus opens one of several");
  if (!status) status = call_measure(m, rank, l);
  return dm_context(status, "%s", name);
}

static dm_status check_matrices(const damier_context *context, const dm_call_facts *checked) {
  const bool reads_old = context->has_old && dm_request_reads_c(&context->settings);
  const damier_matrix *const *m = checked->matrices;
  call_lines l[4] = {0};
  for (int i = 0; i < 3; i++) DM_TRY(check_matrix(m[i], i, context->run.rank, &l[i]));
  if (m[DM_C]->division == DAMIER_REPLICATED ||
      (reads_old && context->old.division == DAMIER_REPLICATED))
    return dm_hint(dm_fail(DM_E_USAGE, "C cannot be replicated"),
                   "divide it among the ranks, and gather it after the call");
  for (int i = 0; i < DM_C && checked->writes; i++)
    DM_TRY(check_overlap(&l[DM_C], &l[i], dm_matrix_name(i)));
  if (!reads_old) return DM_OK;
  DM_TRY(check_matrix(&context->old, DM_OLD, context->run.rank, &l[DM_OLD]));
  return !checked->writes || dm_checks_is_same(&context->old, m[DM_C])
             ? DM_OK
             : check_overlap(&l[DM_C], &l[DM_OLD], dm_matrix_name(DM_OLD));
}

/* Where a matrix is, and its file, or its type and shape; its division is compared when it is
 * opened. */
static void add_place(dm_alike *alike, const char *name, const damier_matrix *m) {
  if (m && m->division != DAMIER_IN_FILE) {
    const int64_t stated[] = {m->type, m->rows, m->cols};
    dm_alike_add(alike, name, stated, sizeof stated);
  } else {
    dm_alike_add_text(alike, name, m ? m->file : NULL);
  }
}

static dm_status call_check_alike(const damier_context *context, const dm_call_facts *checked) {
  dm_alike alike = {0};
  dm_alike_add_text(&alike, "the function called", checked->call);
  dm_alike_add(&alike, "whether rows are multiplied", &checked->of_rows, sizeof checked->of_rows);
  for (int i = 0; i < 3; i++) add_place(&alike, dm_matrix_name(i), checked->matrices[i]);
  add_place(&alike, dm_matrix_name(DM_OLD), context->has_old ? &context->old : NULL);
  dm_alike_add_text(&alike, "the location", checked->location);
  dm_request_add_alike(&alike, &context->settings);
  return dm_hint(dm_alike_check(context->run.world, &alike),
                 "all ranks make the same calls, with the same options and files");
}

dm_status dm_checks(const damier_context *context, const dm_call_facts *checked) {
  const bool has_matrices = strcmp(checked->call, "info") != 0;
  DM_TRY(
      dm_comm_agree(context->run.world, has_matrices ? check_matrices(context, checked) : DM_OK));
  return context->run.ranks > 1 ? call_check_alike(context, checked) : DM_OK;
}

dm_memory_matrix dm_memory_of(const damier_matrix *m) {
  return (dm_memory_matrix){.division = (dm_division)m->division,
                            .dtype = (dm_dtype)m->type,
                            .rows = m->rows,
                            .cols = m->cols,
                            .rank = m->rank,
                            .grid_rows = m->grid_rows,
                            .grid_cols = m->grid_cols,
                            .column_major = m->column_major != 0,
                            .row_block = m->row_block,
                            .col_block = m->col_block,
                            .first_row = m->first_row,
                            .first_col = m->first_col,
                            .data = m->data,
                            .row_stride = m->row_stride,
                            .col_stride = m->col_stride,
                            .own_rows = m->own_rows,
                            .on_gpu = m->memory == DAMIER_GPU_MEMORY,
                            .stream = m->stream};
}
