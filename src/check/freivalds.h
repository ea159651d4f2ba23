/* freivalds: checks C = alpha A B + beta C0 in O(mk + kn + mn) (Freivalds 1979).
 *
 * For a random vector w, C w is compared row by row with alpha A (B w) + beta C0 w. The signs of w
 * are random, and |w_j| is 1/||B(:,j)|| times 1 to 2: a badly scaled column hides no other, and
 * equal errors in two columns do not cancel. Integers are compared exactly, modulo 2^64.
 *
 * The bound of row i follows from the rounding of each step:
 *   8 [ u (P + T + sqrt(k) S) + v (P / sqrt(k) + S) + r S + e ||w|| ],
 * where a CPU multiplies with S^2/T for the first S, as errors cancel where terms do, and with a
 * smaller u if k is long, as it is summed in blocks:
 *   P^2 = |alpha|^2 k sum_l |A(i,l)|^2 v_l^2,  v_l^2 = sum_j |B(l,j) w_j|^2,
 *   S^2 = sum_j |C(i,j) w_j|^2,  T = P + |beta| sqrt(sum_j |C0(i,j) w_j|^2),
 * u is the roundoff of the accumulation, v that of shortened inputs, r that of C's type. A large
 * column of A that meets a small row of B counts only as much as their products. S is capped at T
 * (Cauchy-Schwarz), so that a corrupted C cannot widen its own bound.
 *
 * e bounds the loss to underflow: half the spacing of subnormal numbers when C is rounded, and for
 * each of the k products and sums of an element, alpha and beta.
 *
 * A C whose errors are orthogonal to w passes, so nobody may know w before A, B and C are fixed:
 * rank 0 draws its seed from the system's random source once op(B), or its sample, has been
 * scanned.
 *
 * The columns are compared in up to 4 groups, each with its own bound: an error is found if it
 * exceeds the bound of its group of the row.
 *
 * The entries of a batch share w, whose |w_j| follows from the columns of all op(B)s together; a
 * row of A meets the op(B) of its entry. Rows are counted over all entries.
 *
 * The norms may come from a sample of op(B)'s rows: the bounds hold for any w. A column whose norm
 * the sample overestimates has less weight, by at most the root of all rows to those in the sample.
 *
 * Any rank may add any part of A, B and C; the parts of a matrix must tile it.
 *
 * B w takes memory for every row of op(B), and of these a product with few columns has millions: so
 * the check holds a window of them, and A and B are added window by window. */
#ifndef DM_CHECK_FREIVALDS_H
#define DM_CHECK_FREIVALDS_H

#include "backend/probe.h"
#include "comm/comm.h"
#include "core/row_bound.h"
#include "dataset/meaning.h"
#include "plan/plan.h"

typedef struct dm_freivalds dm_freivalds;

enum { DM_CHECK_GROUPS = DM_PROBE_VECTORS };

/* A seed of w that the user stated, to repeat a verification. */
typedef struct dm_check_seed {
  bool stated;
  uint64_t value;
} dm_check_seed;

typedef struct dm_verdict {
  bool pass;
  bool exact;            /* integers: no bound was needed */
  double residual;       /* largest |r_i| / bound_i; at most 1 if the check passes */
  double relative;       /* largest |r_i| / T, for reports */
  int64_t worst_row;     /* row of RESIDUAL; -1: none */
  bool of_columns;       /* C^T was verified: it is a column of C */
  int64_t rows_left_out; /* with NaN or Inf in A or the old C, or overflowed */
  int64_t cols_left_out; /* with NaN or Inf in B */
  int64_t rows_checked, cols_checked;
  int64_t rows_by_pattern, cols_by_pattern; /* of these: with NaN or Inf, as expected */
  bool strained; /* squares overflowed or vanished: scaling by powers of two allows a full check */
  double norm;   /* norm of C: sqrt(sum |C(i,j)|^2) */
  dm_row_bias bias;
  double unbiased;     /* largest mean signed residual of a C whose sums are not cut off */
  bool suspect;        /* a row is within its bound, but its residual stands out, ... */
  int64_t suspect_row; /* ... this one: dm_verify_doubts looks at it */
  bool doubted;        /* rows were above the bound, and are right (product/verify_doubts.c) */
  int64_t repaired;    /* wrong tiles that were computed again */
  bool drawn;          /* C was compared with a random vector, ... */
  uint64_t seed;       /* ... which has this seed */
} dm_verdict;

/* FROM_GPU: products may come from a GPU, whose sums have errors that do not cancel. ROOM: rows of
 * the longest window, at most those of op(B) (dm_check_room of plan/buffers.h). */
dm_status dm_freivalds_new(const dm_problem *problem, const double alpha[2], const double beta[2],
                           bool from_gpu, int64_t room, dm_freivalds **check);
void dm_freivalds_free(dm_freivalds *check); /* NULL is allowed */

/* The same with the usual room, in the memory of *CHECK, an earlier check or NULL, if it fits. */
dm_status dm_freivalds_reuse(const dm_problem *problem, const double alpha[2], const double beta[2],
                             bool from_gpu, dm_freivalds **check);

/* A check of PART of C alone, with its own weights, sums and norms. Add parts as for the whole
 * matrices: elements outside are ignored. */
dm_status dm_freivalds_new_part(const dm_problem *problem, const double alpha[2],
                                const double beta[2], bool from_gpu, dm_extent part, int64_t room,
                                dm_freivalds **check);

/* The same of ROWS, at most as many as CHECK had before, in its memory. */
void dm_freivalds_turn_to_rows(dm_freivalds *check, dm_range rows);

/* Bytes of the check's vectors, including those of the verdict. */
int64_t dm_freivalds_bytes(const dm_freivalds *check);

/* ---- the window: rows of op(B), among those of all entries, that are added and projected, and
 * with them the columns of op(A) that they meet; elements outside are ignored ---- */

/* Rows that it can have; if these are all rows, it has all of them from the start. */
int64_t dm_freivalds_room(const dm_freivalds *check);
bool dm_freivalds_holds_all(const dm_freivalds *check);

/* Moves it to ROWS, of which nothing has been added yet. */
void dm_freivalds_turn_to(dm_freivalds *check, dm_range rows);

/* Moves it to the rows from FIRST on, as many as it can have; false: there are none. */
bool dm_freivalds_turn_to_row(dm_freivalds *check, int64_t first);

/* Merges all columns into one group; call before adding parts. GPUs read A once per group. */
void dm_freivalds_join_groups(dm_freivalds *check);

/* Parts of A or B will be added as they are stored, but conjugated in op(A) or op(B). */
void dm_freivalds_conjugate(dm_freivalds *check, bool a, bool b);

/* Draws a seed from the system's random source. */
dm_status dm_freivalds_draw_seed(uint64_t *seed);

/* Repeats a random vector, the DRAW-th of a stated seed; call before adding parts. If SEED is not
 * stated, w stays random. */
void dm_freivalds_repeat(dm_freivalds *check, dm_check_seed seed, int draw);

/* Rows of op(A) and columns of op(B) were centered by ROWS and COLS (NULL: they were not). What
 * these turn into NaN is left out without straining the check. Call before adding parts; the caller
 * keeps both. */
void dm_freivalds_expect_nan(dm_freivalds *check, const dm_centering *rows,
                             const dm_centering *cols);

/* Judging will set ROWS[i], an array of the caller's, to 1 for each row above its bound. */
void dm_freivalds_mark(dm_freivalds *check, uint8_t *rows);

/* Adds a part of a matrix. VIEW starts at (row, col) of it and may be in device memory of BACKEND
 * (NULL: host memory); there it must not change until dm_backend_settle. Several threads may add
 * parts of C and C0 in host memory at once if these share no row. */
typedef dm_status dm_freivalds_part(dm_freivalds *check, dm_backend *backend, dm_view view,
                                    int64_t row, int64_t col);

/* Weights will follow from every STEP-th row of op(B) alone (dm_sample), which scan_b gets;
 * discards what was added of op(B). Call before that. */
void dm_freivalds_sample(dm_freivalds *check, int64_t step);

/* After project: whether these weights are useful; else op(B) must be scanned in full (STEP 1). */
bool dm_freivalds_is_sound(const dm_freivalds *check);

/* Call in this order, each over all parts; weigh and project are collective. From add_b to add_a
 * once for each window, with any ranks that have parts of it. */
dm_freivalds_part dm_freivalds_scan_b;
dm_status dm_freivalds_weigh(dm_freivalds *check, const dm_comm *comm);
dm_freivalds_part dm_freivalds_add_b;
dm_status dm_freivalds_project(dm_freivalds *check, const dm_comm *comm);
dm_freivalds_part dm_freivalds_add_a, dm_freivalds_add_c, dm_freivalds_add_c0;

/* Adds the mirror image of PART, in host memory, at (ROW, COL) of a symmetric C. If the problem has
 * one half of C, dm_freivalds_add_c does so itself. */
dm_status dm_freivalds_add_image(dm_freivalds *check, dm_view part, int64_t row, int64_t col);

/* ---- if the parts of A and B are not kept (freivalds_streamed.c) ----
 *
 * Weights come from a sample: scan_b all columns of ROWS rows of op(B), then estimate (collective).
 * Then, for each panel of k: scan and add all pieces of op(B), sum ROWS elements of B w from ROW,
 * in the window, over the ranks of COMM (sum_panel), then add all pieces of op(A).
 *
 * The bound uses the norms of the full matrices, so it holds for any sample. A column whose norm
 * the sample overestimates has less weight, by at most sqrt(k / ROWS). */
dm_status dm_freivalds_estimate(dm_freivalds *check, const dm_comm *comm, int64_t rows);
typedef struct dm_panel_sum {
  int64_t row, rows; /* rows is 0 if no sum is under way */
  dm_sum *t[DM_CHECK_GROUPS], *sizes[DM_CHECK_GROUPS];
} dm_panel_sum;
dm_status dm_freivalds_sum_panel(dm_freivalds *check, const dm_comm *comm, int64_t row,
                                 int64_t rows, dm_panel_sum *sum);
dm_status dm_freivalds_test_panel(dm_freivalds *check, dm_panel_sum *sum, bool *done);

/* Collective, before judge. *sound is false if these weights cannot give a verdict: columns of B
 * have NaN or Inf, or the sample does not represent B. Then C must be checked from the files. */
dm_status dm_freivalds_settle(dm_freivalds *check, const dm_comm *comm, bool *sound);

/* Before they were added, rows of C and C0 were multiplied by 2^-ROWS[i], their columns by
 * 2^-COLS[j], and alpha by 2^-ALPHA: the check scales the types' underflow and largest numbers
 * alike. The caller keeps the arrays. */
void dm_freivalds_scaled(dm_freivalds *check, const int64_t *rows, const int64_t *cols, int alpha);

/* Discards the sums of C, for another result of the same A and B. */
void dm_freivalds_reset_c(dm_freivalds *check);

/* Multiplies WHOLE, a product that BACKEND checks (backend/verify_sums.h), and judges it;
 * COMM has one rank. (freivalds_whole.c) */
dm_status dm_freivalds_multiply(const dm_problem *problem, dm_check_seed seed, int draw,
                                const dm_comm *comm, dm_backend *backend,
                                const dm_whole_product *whole, dm_verdict *verdict);

/* The same, collective in COMM, each rank with its rows of C; ranks->multiply must allow a second
 * call. */
dm_status dm_freivalds_multiply_rows(const dm_problem *problem, dm_check_seed seed, int draw,
                                     const dm_comm *comm, dm_backend *backend,
                                     const dm_whole_product *whole, const dm_verified_ranks *ranks,
                                     dm_verdict *verdict);

/* Multiplies and judges WHOLE, several entries in host memory, each as a product of its own, by the
 * backend's threads; PROBLEM is that of all. COMM has one rank. STRAINED, unless NULL: an array for
 * the entries; those with NaN, Inf or extreme exponents are set to 1 there, and VERDICT is that of
 * the others. (freivalds_entries.c) */
dm_status dm_freivalds_multiply_entries(const dm_problem *problem, dm_check_seed seed, int draw,
                                        const dm_comm *comm, dm_backend *backend,
                                        const dm_whole_product *whole, uint8_t *strained,
                                        dm_verdict *verdict);

/* ALL becomes the verdict of its rows of C and of those of ONE, which begin with FIRST_ROW. */
void dm_verdict_join(dm_verdict *all, const dm_verdict *one, int64_t first_row);

/* The mean signed residual, in proportion to C: negative if its elements are too small. *CUT_OFF:
 * it is no accident, and more than rounding explains. */
double dm_verdict_signed(const dm_verdict *verdict, bool *cut_off);

/* Collective; every rank gets the verdict. */
dm_status dm_freivalds_judge(dm_freivalds *check, const dm_comm *comm, dm_verdict *verdict);

#endif
