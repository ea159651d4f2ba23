#include "product/symmetric.h"

#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "plan/partition.h"

enum { SYMMETRIC_SIDE = 512 };

/* The old C, and room for two blocks that are each other's mirror images. */
typedef struct comparison {
  const dm_problem *problem;
  dm_reader *old; /* NULL: it is VIEW, */
  dm_view view;   /* which BACKEND copies */
  dm_backend *backend;
  dm_dtype type;
  char *blocks[2];
  double lines[2][2 * SYMMETRIC_SIDE];
} comparison;

static dm_status block_at(comparison *c, int which, int64_t row, int64_t col, dm_view *block) {
  const int64_t n = c->problem->n;
  *block = dm_view_row_major(c->blocks[which], c->type, dm_min(SYMMETRIC_SIDE, n - row),
                             dm_min(SYMMETRIC_SIDE, n - col));
  if (c->old) return dm_reader_read(c->old, row, col, block, 1, false);
  const dm_view from = dm_view_sub(c->view, row, col, block->rows, block->cols);
  return dm_backend_copy_now(c->backend, *block, from);
}

/* The first of COUNT numbers at which they differ; COUNT: none. */
static int64_t first_difference(const comparison *c, int64_t count) {
  const int parts = dm_dtype_is_complex(c->type) ? 2 : 1;
  for (int64_t i = 0; i < count * parts; i++) {
    const bool turned = i % parts == 1 && c->problem->symmetry == DM_HERMITIAN;
    const double x = c->lines[0][i], y = turned ? -c->lines[1][i] : c->lines[1][i];
    if (x != y && !(isnan(x) && isnan(y))) return i / parts;
  }
  return count;
}

/* The block at (row, col) and its mirror image. */
static dm_status symmetric_compare(comparison *c, int64_t row, int64_t col) {
  const char *kind = c->problem->symmetry == DM_HERMITIAN ? "Hermitian" : "symmetric";
  dm_view one, other;
  DM_TRY(block_at(c, 0, row, col, &one));
  DM_TRY(block_at(c, 1, col, row, &other));
  for (int64_t i = 0; i < one.rows; i++) {
    dm_load_wide(c->lines[0], dm_view_at(one, i, 0), c->type, one.col_stride, one.cols);
    dm_load_wide(c->lines[1], dm_view_at(other, 0, i), c->type, other.row_stride, one.cols);
    const int64_t j = first_difference(c, one.cols);
    if (j == one.cols) continue;
    return dm_hint(dm_fail(DM_E_INPUT,
                           "the old C is not %s: see its elements (%lld, %lld) and (%lld, %lld)",
                           kind, (long long)(row + i), (long long)(col + j), (long long)(col + j),
                           (long long)(row + i)),
                   "damier multiply X X --op-a c (of rows: --op-b c) adds any old C");
  }
  return DM_OK;
}

/* This rank's part of the blocks on and below the diagonal. */
static dm_status symmetric_compare_all(dm_run *run, comparison *c) {
  int64_t turn = 0;
  for (int64_t row = 0; row < c->problem->n; row += SYMMETRIC_SIDE)
    for (int64_t col = 0; col <= row; col += SYMMETRIC_SIDE) {
      if (turn++ % run->ranks != run->rank) continue;
      DM_TRY(symmetric_compare(c, row, col));
      DM_TRY(dm_run_beat(run));
    }
  return DM_OK;
}

static dm_status symmetric_begin(dm_run *run, const comparison *of) {
  comparison *c;
  dm_status status = dm_buffer_table(1, &c);
  if (!status) {
    *c = *of;
    const int64_t bytes = SYMMETRIC_SIDE * SYMMETRIC_SIDE * dm_dtype_size(c->type);
    for (int i = 0; i < 2 && !status; i++) status = dm_buffer_alloc(bytes, (void **)&c->blocks[i]);
    if (!status) status = symmetric_compare_all(run, c);
    free(c->blocks[0]);
    free(c->blocks[1]);
    free(c);
  }
  return dm_comm_agree(run->world, status);
}

dm_status dm_old_is_symmetric(dm_run *run, const dm_problem *problem, dm_reader *old) {
  const comparison of = {.problem = problem, .old = old, .type = dm_dtype_widest(problem->work)};
  return symmetric_begin(run, &of);
}

dm_status dm_old_is_symmetric_there(dm_run *run, const dm_problem *problem, dm_view old,
                                    dm_backend *backend) {
  const comparison of = {.problem = problem, .view = old, .backend = backend, .type = old.dtype};
  return symmetric_begin(run, &of);
}
