#include "layout/split_k.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "backend/whole_product.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

enum {
  SPLIT_K_ALIGNED = 256, /* bytes, at multiples of which matrices start */
  WORTH = 4              /* so many times less traffic: sums travel when all are multiplied */
};

/* ---- which products ---- */

static bool is_all_of(dm_range range, int64_t total) {
  return range.begin == 0 && range.end == total;
}

/* Each rank has the same part of the columns of A and of the rows of B, and all else of them. */
static bool splits_k(const dm_distribution *a, const dm_distribution *b, int ranks) {
  dm_extent of_a, of_b;
  int64_t covered = 0;
  for (int r = 0; r < ranks; r++) {
    if (!dm_distribution_extent(a, r, &of_a) || !dm_distribution_extent(b, r, &of_b)) return false;
    const int64_t depth = dm_range_size(of_a.cols);
    if (depth != dm_range_size(of_b.rows)) return false;
    if (depth > 0 && (of_a.cols.begin != of_b.rows.begin || !is_all_of(of_a.rows, a->rows.total) ||
                      !is_all_of(of_b.cols, b->cols.total)))
      return false;
    covered += depth;
  }
  return covered == a->cols.total && covered > 0;
}

static bool has_parts(const dm_distribution *c, int ranks) {
  dm_extent part;
  for (int r = 0; r < ranks; r++)
    if (!dm_distribution_extent(c, r, &part)) return false;
  return true;
}

bool dm_split_k_pays(const dm_distribution *a, const dm_distribution *b, const dm_distribution *c,
                     int ranks, const int64_t sizes[2]) {
  const double m = (double)a->rows.total, n = (double)b->cols.total, k = (double)a->cols.total;
  const double sums = m * n * (double)sizes[1], operands = k * (n + m / ranks) * (double)sizes[0];
  return sums * WORTH <= operands && splits_k(a, b, ranks) && has_parts(c, ranks);
}

/* ---- opening ---- */

static int64_t sums_stride(int64_t cols, dm_dtype dtype) {
  return dm_round_up(dm_max(1, cols), SPLIT_K_ALIGNED / dm_dtype_size(dtype));
}

/* In the workspace: messages, this rank's sums, and what it receives, a matrix from each rank. */
static dm_status split_places(const dm_distribution *c, dm_dtype sum, dm_split_k *s,
                              int64_t *bytes) {
  const int64_t m = c->rows.total, n = c->cols.total, size = dm_dtype_size(sum);
  int64_t rows = 0, cols = 0, own, received;
  for (int r = 0; r < s->ranks; r++) {
    rows = dm_max(rows, dm_range_size(s->parts[r].rows));
    cols = dm_max(cols, dm_range_size(s->parts[r].cols));
  }
  DM_TRY(dm_message_rounds_of(rows, cols * size, 0, s->ranks, &s->rounds));
  s->at = dm_round_up(s->rounds.bytes, SPLIT_K_ALIGNED);
  DM_TRY(dm_bytes_of(m, sums_stride(n, sum), size, &own));
  DM_TRY(dm_bytes_of(rows, sums_stride(cols, sum), size, &s->step));
  DM_TRY(dm_bytes_of(s->ranks, s->step, 1, &received));
  s->sums = dm_view_strided(NULL, sum, DM_DEVICE, m, n, sums_stride(n, sum));
  if (dm_add_overflows(s->at, own, bytes) || dm_add_overflows(*bytes, received, bytes))
    return dm_fail(DM_E_FIT, "the size of a workspace overflows 64 bits");
  return DM_OK;
}

dm_status dm_split_k_open(const dm_distribution *c, int ranks, dm_dtype sum, dm_split_k *s,
                          int64_t *bytes) {
  *s = (dm_split_k){.ranks = ranks};
  DM_TRY(dm_buffer_table(ranks, &s->parts));
  for (int r = 0; r < ranks; r++) (void)dm_distribution_extent(c, r, &s->parts[r]);
  return split_places(c, sum, s, bytes);
}

void dm_split_k_close(dm_split_k *s) {
  free(s->parts);
  *s = (dm_split_k){.parts = NULL};
}

/* ---- the product ---- */

static dm_view own_sums(const dm_split_k *s, const dm_workspace *space) {
  dm_view sums = s->sums;
  sums.base = (char *)space->memory + s->at;
  return sums;
}

/* Exponents are those of all of C. */
static void widen_exponents(dm_whole_product *p, dm_extent own) {
  const int64_t parts = dm_dtype_is_complex(p->a.dtype) ? 2 : 1;
  if (!p->exponents.rows) return;
  p->exponents.rows -= p->row_parts ? parts * own.rows.begin : own.rows.begin;
  p->exponents.cols -= p->row_parts ? own.cols.begin : parts * own.cols.begin;
}

dm_whole_product dm_split_k_product(const dm_split_k *s, const dm_workspace *space, int rank,
                                    const dm_whole_product *whole) {
  dm_whole_product p = *whole;
  p.c = own_sums(s, space);
  p.alpha[0] = 1.0, p.alpha[1] = 0.0;
  p.beta[0] = p.beta[1] = 0.0;
  if (dm_view_is_empty(whole->a)) { /* no part of k */
    p.a = dm_view_strided(NULL, whole->a.dtype, DM_DEVICE, p.c.rows, 0, 1);
    p.b = dm_view_strided(NULL, whole->a.dtype, DM_DEVICE, 0, p.c.cols, dm_max(1, p.c.cols));
  }
  widen_exponents(&p, s->parts[rank]);
  return p;
}

/* ---- the exchange ---- */

typedef struct split_k_summing {
  const dm_split_k *split;
  dm_backend *backend;
  const dm_workspace *space;
  int rank;
} split_k_summing;

/* The rows of the taker's part of C that travel in MESSAGE. */
static dm_extent rows_of_round(const dm_split_k *s, dm_exchange_message message) {
  dm_extent part = s->parts[message.taker];
  const int64_t begin = part.rows.begin + message.round * s->rounds.height;
  part.rows = dm_range_common(part.rows, (dm_range){begin, begin + s->rounds.height});
  return part;
}

static int64_t sums_bytes(const void *context, dm_exchange_message message) {
  const dm_split_k *s = ((const split_k_summing *)context)->split;
  const dm_extent part = rows_of_round(s, message);
  return dm_range_size(part.rows) * dm_range_size(part.cols) * dm_dtype_size(s->sums.dtype);
}

static dm_view sums_part(dm_view c, dm_extent part) {
  return dm_view_sub(c, part.rows.begin, part.cols.begin, dm_range_size(part.rows),
                     dm_range_size(part.cols));
}

/* What GIVER sent of the part of this rank. */
static dm_view received_of(const split_k_summing *x, int giver) {
  const dm_split_k *s = x->split;
  const dm_extent own = s->parts[x->rank];
  const int64_t rows = dm_range_size(own.rows), cols = dm_range_size(own.cols);
  const int64_t first = s->at + s->sums.rows * s->sums.row_stride * dm_dtype_size(s->sums.dtype);
  return dm_view_strided((char *)x->space->memory + first + giver * s->step, s->sums.dtype,
                         DM_DEVICE, rows, cols, sums_stride(cols, s->sums.dtype));
}

static dm_status copy_sums(const void *context, dm_exchange_message message, void *memory,
                           dm_event *done) {
  const split_k_summing *x = context;
  const dm_extent part = rows_of_round(x->split, message);
  const int64_t rows = dm_range_size(part.rows), cols = dm_range_size(part.cols);
  const dm_view dense =
      dm_view_strided(memory, x->split->sums.dtype, DM_DEVICE, rows, cols, dm_max(1, cols));
  if (message.giver == x->rank)
    return dm_backend_copy(x->backend, dense, sums_part(own_sums(x->split, x->space), part), done);
  const int64_t row = part.rows.begin - x->split->parts[message.taker].rows.begin;
  return dm_backend_copy(x->backend, dm_view_sub(received_of(x, message.giver), row, 0, rows, cols),
                         dense, done);
}

/* This rank's own part stays where it is. */
static dm_status keep_sums(const void *context, dm_event *done) {
  (void)context;
  *done = 0;
  return DM_OK;
}

static dm_view sums_from(const split_k_summing *x, int rank) {
  return rank == x->rank ? sums_part(own_sums(x->split, x->space), x->split->parts[rank])
                         : received_of(x, rank);
}

static dm_status split_k_add_sums(const split_k_summing *x, const dm_whole_product *whole) {
  const bool reads_c = !dm_is_zero(whole->beta);
  const dm_view all = sums_from(x, 0);
  dm_event done;
  if (dm_view_is_empty(whole->c)) return DM_OK;
  for (int r = 1; r < x->split->ranks; r++)
    DM_TRY(dm_backend_add(x->backend, all, all, sums_from(x, r), 1.0, 1.0));
  DM_TRY(dm_backend_epilogue(x->backend, whole->c, all, reads_c ? &whole->c : NULL, whole->alpha,
                             whole->beta, &done));
  return dm_backend_wait(x->backend, done);
}

dm_status dm_split_k_complete(const dm_split_k *s, const dm_run *run, dm_workspace *space,
                              const dm_whole_product *whole) {
  static const dm_exchange_ops ops = {.bytes = sums_bytes, .copy = copy_sums, .keep = keep_sums};
  const split_k_summing x = {s, space->backend, space, run->rank};
  DM_TRY(dm_exchange_run(&ops, &x, run, space, 0, &s->rounds));
  return dm_comm_agree(run->world, split_k_add_sums(&x, whole));
}
