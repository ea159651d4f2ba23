/* The sums of all ranks, and the verdict. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/freivalds_impl.h"
#include "core/buffer.h"

static dm_status sum_copy(const dm_freivalds *check, const dm_comm *comm, const double *vector,
                          double *copy, bool wide) {
  const int64_t rows = check->groups * check->problem.m;
  memcpy(copy, vector, (size_t)(rows * (wide ? check->parts : 1)) * sizeof(double));
  return wide ? dm_freivalds_sum(check, comm, copy, rows) : dm_comm_sum_f64(comm, copy, rows);
}

/* Sums over ranks go to copies, so that judging can be repeated. */
static dm_status sum_rows(const dm_freivalds *check, const dm_comm *comm, double *sums,
                          dm_rows_checked *rows) {
  const int64_t m = check->groups * check->problem.m, wide = m * check->parts;
  *rows = (dm_rows_checked){.y = sums,
                            .z = sums + wide,
                            .z0 = sums + 2 * wide,
                            .a_squares = sums + 3 * wide,
                            .z_squares = sums + 3 * wide + m,
                            .z0_squares = sums + 3 * wide + 2 * m};
  DM_TRY(sum_copy(check, comm, check->y, rows->y, true));
  DM_TRY(sum_copy(check, comm, check->z, rows->z, true));
  DM_TRY(sum_copy(check, comm, check->row_squares, rows->a_squares, false));
  DM_TRY(sum_copy(check, comm, check->z_squares, rows->z_squares, false));
  if (!check->problem.reads_c) return DM_OK;
  DM_TRY(sum_copy(check, comm, check->z0, rows->z0, true));
  return sum_copy(check, comm, check->z0_squares, rows->z0_squares, false);
}

/* Sets ROWS. *SUMS is their memory; NULL: they are the check's own. */
static dm_status rows_of_all(const dm_freivalds *check, const dm_comm *comm, double **sums,
                             dm_rows_checked *rows) {
  const int64_t m = check->groups * check->problem.m;
  *sums = NULL;
  *rows = (dm_rows_checked){.y = check->y,
                            .z = check->z,
                            .z0 = check->z0,
                            .a_squares = check->row_squares,
                            .z_squares = check->z_squares,
                            .z0_squares = check->z0_squares};
  if (dm_comm_size(comm) == 1) return DM_OK;
  DM_TRY(dm_buffer_table(3 * m * check->parts + 3 * m, sums));
  return sum_rows(check, comm, *sums, rows);
}

dm_status dm_freivalds_judge(dm_freivalds *check, const dm_comm *comm, dm_verdict *verdict) {
  double *sums, squares = 0.0;
  dm_rows_checked rows;
  DM_TRY(dm_freivalds_arrive(check));
  dm_status status = rows_of_all(check, comm, &sums, &rows);
  for (int64_t i = 0; i < check->problem.m; i++) squares += check->c_squares[i];
  if (!status) status = dm_comm_sum_f64(comm, &squares, 1);
  if (!status) {
    dm_freivalds_compare(check, &rows, verdict);
    verdict->norm = sqrt(squares);
    verdict->drawn = true;
    verdict->seed = check->seed;
    if (verdict->worst_row >= 0) verdict->worst_row += check->rows.begin;
  }
  free(sums);
  return status;
}
