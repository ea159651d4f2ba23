/* The check without keeping A and B: weights from a sample of B, and B w panel by panel. */
#include <math.h>
#include <string.h>

#include "check/freivalds_impl.h"
#include "core/row_bound.h"

/* Mean square of ||B(:,j)|| |w_j| above which the sample does not represent B. */
static const double most_spread = 64.0;

/* Mean of the positive norms; 1 if there is none. */
static double typical_norm(const double *squares, int64_t count) {
  double sum = 0.0, counted = 0.0;
  for (int64_t j = 0; j < count; j++) {
    double norm = sqrt(squares[j]);
    if (!(norm > 0.0) || !isfinite(norm)) continue;
    sum += norm;
    counted += 1.0;
  }
  double mean = sum / counted;
  return counted > 0.0 && isfinite(mean) ? mean : 1.0;
}

dm_status dm_freivalds_estimate(dm_freivalds *check, const dm_comm *comm, int64_t rows) {
  const int64_t n = check->problem.n;
  if (check->exact) return dm_freivalds_weigh(check, comm);
  DM_TRY(dm_freivalds_draw(check, comm));
  DM_TRY(dm_comm_sum_f64(comm, check->col_squares, n));
  const double scale = sqrt((double)check->depth / (double)rows);
  const double typical = typical_norm(check->col_squares, n);
  for (int64_t j = 0; j < n; j++) {
    double norm = sqrt(check->col_squares[j]);
    if (!(norm > 0.0) || !isfinite(norm)) norm = typical;
    check->w[j * check->parts] = dm_row_weight(check->seed, check->cols.begin + j) / (norm * scale);
  }
  memset(check->col_squares, 0, (size_t)n * sizeof(double));
  return DM_OK;
}

dm_status dm_freivalds_sum_panel(dm_freivalds *check, const dm_comm *comm, int64_t row,
                                 int64_t rows, dm_panel_sum *sum) {
  *sum = (dm_panel_sum){.row = row, .rows = rows};
  DM_TRY(dm_freivalds_arrive(check));
  for (int g = 0; g < check->groups; g++) {
    const int64_t at = dm_freivalds_at(check, g, row);
    DM_TRY(dm_comm_sum_start(comm, check->t + at * check->parts, rows * check->parts, check->exact,
                             &sum->t[g]));
    if (!check->exact)
      DM_TRY(dm_comm_sum_start(comm, check->sizes + at, rows, false, &sum->sizes[g]));
  }
  return DM_OK;
}

static dm_status test_one(dm_sum **sum, bool *done) {
  if (!*sum) return DM_OK;
  bool is_done;
  DM_TRY(dm_comm_sum_test(*sum, &is_done));
  if (is_done)
    *sum = NULL;
  else
    *done = false;
  return DM_OK;
}

dm_status dm_freivalds_test_panel(dm_freivalds *check, dm_panel_sum *sum, bool *done) {
  *done = true;
  for (int g = 0; g < check->groups; g++) {
    DM_TRY(test_one(&sum->t[g], done));
    DM_TRY(test_one(&sum->sizes[g], done));
  }
  if (*done && !check->exact) DM_TRY(dm_freivalds_take_roots(check, sum->row, sum->rows));
  if (*done) sum->rows = 0;
  return DM_OK;
}

/* The sums now cover all panels, and so all columns in full. */
dm_status dm_freivalds_settle(dm_freivalds *check, const dm_comm *comm, bool *sound) {
  *sound = true;
  DM_TRY(dm_freivalds_arrive(check));
  if (check->exact) return DM_OK;
  const int64_t n = check->problem.n;
  double squares = 0.0, counted = 0.0;
  DM_TRY(dm_comm_sum_f64(comm, check->col_squares, n));
  for (int64_t j = 0; j < n; j++) {
    const double norm = sqrt(check->col_squares[j]), part = norm * check->w[j * check->parts];
    if (!isfinite(part)) {
      *sound = false;
    } else if (check->col_squares[j] > DM_LEAST_SQUARES) {
      squares += part * part;
      counted += 1.0;
    } else if (norm > 0.0) {
      *sound = false;
    }
  }
  *sound = *sound && !(squares > most_spread * counted);
  return DM_OK;
}
