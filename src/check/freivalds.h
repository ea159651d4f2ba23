/* freivalds: checks C = alpha A B + beta C0 in O(mk + kn + mn) (Freivalds 1979).
 *
 * With a random vector w, C w is compared row by row with alpha A (B w) + beta C0 w.  The signs of
 * w are random, and its sizes are 1/||B(:,j)|| times 1 to 2: no badly scaled column hides another,
 * and equal errors in two columns do not cancel.  Whole
 * numbers are compared exactly, modulo 2^64.
 *
 * The bound of row i follows from the rounding of each step:
 *   8 [ u (P + T + sqrt(k) S) + v (P / sqrt(k) + S) + r S + e ||w|| ],
 *   P^2 = |alpha|^2 k sum_l |A(i,l)|^2 v_l^2,  v_l^2 = sum_j |B(l,j) w_j|^2,
 *   S^2 = sum_j |C(i,j) w_j|^2,  T = P + |beta| sqrt(sum_j |C0(i,j) w_j|^2),
 * u the roundoff of the accumulation, v of the inputs where they are shortened, r of C's type.  A
 * large column of A that meets a small row of B counts no more than their products do.  S never
 * counts for more than T (Cauchy-Schwarz), so that a corrupted C cannot widen its own bound.
 *
 * e is what subnormal numbers lose, whose distance does not shrink with them: half of it where C is
 * rounded, and half of it for each of the k products and sums of an element, and for alpha and
 * beta.
 *
 * The columns are compared in up to 4 groups, each with a bound of its own: an error is seen where
 * it is larger than what its group of the row sums.
 *
 * Any part of A, B and C may be added on any rank; parts of one matrix must tile it. */
#ifndef DM_CHECK_FREIVALDS_H
#define DM_CHECK_FREIVALDS_H

#include "backend/probe.h"
#include "comm/comm.h"
#include "plan/plan.h"

typedef struct dm_freivalds dm_freivalds;

enum { DM_CHECK_GROUPS = DM_PROBE_VECTORS };

typedef struct dm_verdict {
  bool pass;
  bool exact;            /* whole numbers: no bound was needed */
  double residual;       /* largest |r_i| / bound_i; at most 1 where it passes */
  double relative;       /* largest |r_i| / (||A(i,:)|| q): for people */
  int64_t worst_row;     /* where; -1: none */
  int64_t rows_left_out; /* with NaN or Inf in A, in the old C, or overflowed */
  int64_t cols_left_out; /* with NaN or Inf in B */
  int64_t rows_checked, cols_checked;
  int64_t rows_by_pattern, cols_by_pattern; /* of these: NaN or Inf, as they have to be */
  bool strained;    /* squares overflowed or vanished: scaled by powers of two all can be checked */
  double norm;      /* of C: sqrt(sum |C(i,j)|^2) */
  int64_t repaired; /* tiles that were wrong and were computed again */
} dm_verdict;

/* TENSOR: products may run on tensor cores, which truncate their sums. */
dm_status dm_freivalds_new(const dm_problem *problem, const double alpha[2], const double beta[2],
                           bool tensor, dm_freivalds **check);
void dm_freivalds_free(dm_freivalds *check); /* NULL is allowed */

/* A check of rows ROWS x columns COLS of C alone, with weights, sums and norms of its own.  Parts
 * are given in the same way, as those of the whole matrices: elements outside are ignored. */
dm_status dm_freivalds_new_part(const dm_problem *problem, const double alpha[2],
                                const double beta[2], bool tensor, dm_range rows, dm_range cols,
                                dm_freivalds **check);

/* Of its vectors, with those that the verdict takes. */
int64_t dm_freivalds_bytes(const dm_freivalds *check);

/* Before anything is added: one group of all columns.  GPUs read A once for each group. */
void dm_freivalds_join_groups(dm_freivalds *check);

/* Before anything is added: another random vector.  0 is that of a new check. */
void dm_freivalds_draw(dm_freivalds *check, int draw);

/* Judging sets ROWS[i], an array of the caller's, to 1 for each row that is above its bound. */
void dm_freivalds_mark(dm_freivalds *check, uint8_t *rows);

/* Takes a part of a matrix; VIEW begins at (row, col) of it and may lie in device memory of BACKEND
 * (NULL: host memory): there it stays as it is until dm_backend_settle.  Parts of C and C0
 * in host memory that share no row may be added by several threads at a time. */
typedef dm_status dm_freivalds_part(dm_freivalds *check, dm_backend *backend, dm_view view,
                                    int64_t row, int64_t col);

/* In this order, each over all parts; weigh and project are collective. */
dm_freivalds_part dm_freivalds_scan_b;
dm_status dm_freivalds_weigh(dm_freivalds *check, const dm_comm *comm);
dm_freivalds_part dm_freivalds_add_b;
dm_status dm_freivalds_project(dm_freivalds *check, const dm_comm *comm);
dm_freivalds_part dm_freivalds_add_a, dm_freivalds_add_c, dm_freivalds_add_c0;

/* ---- where the parts of A and B are not kept (freivalds_panels.c) ----
 *
 * Weights come from a sample: scan_b over ROWS rows of op(B), all columns of them, then estimate
 * (collective).  Then for each panel of k: all pieces of op(B) are scanned and added, then ROWS
 * elements of B w from ROW are summed over the ranks of COMM (sum_panel), then all pieces of op(A)
 * are added.
 *
 * The bound takes the norms that were seen in the end, so it holds whatever the sample said; a
 * column that the sample overrates is weighed down, at most by sqrt(k / ROWS). */
dm_status dm_freivalds_estimate(dm_freivalds *check, const dm_comm *comm, int64_t rows);
typedef struct dm_panel_sum {
  int64_t row, rows; /* rows is 0 where no sum is under way */
  dm_sum *t[DM_CHECK_GROUPS], *sizes[DM_CHECK_GROUPS];
} dm_panel_sum;
dm_status dm_freivalds_sum_panel(dm_freivalds *check, const dm_comm *comm, int64_t row,
                                 int64_t rows, dm_panel_sum *sum);
dm_status dm_freivalds_test_panel(dm_freivalds *check, dm_panel_sum *sum, bool *done);

/* Collective, before judge.  *sound is false where these weights can tell nothing: columns of B
 * with NaN or Inf, or a sample that B does not resemble.  Then only the files can. */
dm_status dm_freivalds_settle(dm_freivalds *check, const dm_comm *comm, bool *sound);

/* Rows of C and C0 were multiplied by 2^-ROWS[i], their columns by 2^-COLS[j], and alpha by
 * 2^-ALPHA, before they were given: what types lose to underflow, and their largest numbers, are
 * scaled alike. The arrays stay the caller's. */
void dm_freivalds_scaled(dm_freivalds *check, const int64_t *rows, const int64_t *cols, int alpha);

/* Forgets C, for another result of the same A and B. */
void dm_freivalds_reset_c(dm_freivalds *check);

/* Collective; every rank gets the verdict. */
dm_status dm_freivalds_judge(dm_freivalds *check, const dm_comm *comm, dm_verdict *verdict);

#endif
