/* How callers describe matrices. */
#include <damier.h>

damier_matrix damier_file(const char *location) {
  return (damier_matrix){.division = DAMIER_IN_FILE, .file = location};
}

static damier_matrix in_rows(damier_type type, int64_t rows, int64_t cols, void *data,
                             int64_t stride) {
  return (damier_matrix){.type = type,
                         .rows = rows,
                         .cols = cols,
                         .data = data,
                         .row_stride = stride ? stride : cols,
                         .col_stride = 1};
}

damier_matrix damier_by_rows(damier_type type, int64_t rows, int64_t cols, int64_t own_rows,
                             void *data, int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_BY_ROWS;
  matrix.own_rows = own_rows;
  return matrix;
}

damier_matrix damier_on_one(damier_type type, int64_t rows, int64_t cols, int rank, void *data,
                            int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_ON_ONE;
  matrix.rank = rank;
  return matrix;
}

/* desc: type, context, m, n, mb, nb, rsrc, csrc, lld (ScaLAPACK Users' Guide, section 4.3.3). */
damier_matrix damier_scalapack(damier_type type, const int desc[9], int grid_rows, int grid_cols,
                               int column_major, void *data) {
  if (!desc) return (damier_matrix){.division = (damier_division)-1}; /* calls refuse it */
  return (damier_matrix){.division = DAMIER_BLOCK_CYCLIC,
                         .type = type,
                         .rows = desc[2],
                         .cols = desc[3],
                         .data = data,
                         .row_stride = 1,
                         .col_stride = desc[8],
                         .grid_rows = grid_rows,
                         .grid_cols = grid_cols,
                         .column_major = column_major,
                         .row_block = desc[4],
                         .col_block = desc[5],
                         .first_row = desc[6],
                         .first_col = desc[7]};
}

damier_matrix damier_in_gpu(damier_matrix matrix, void *stream) {
  matrix.memory = DAMIER_GPU_MEMORY;
  matrix.stream = stream;
  return matrix;
}

/* ---- files ---- */

/* Inspects or verifies files like `damier info` and `damier verify`, with the options of the
 * context. */

dm_status dm_verify_in_files(damier_context *context, const damier_matrix *const matrices[3],
                             dm_record *record) {
  const dm_run *run = &context->run;
  const char *const operands[] = {matrices[0]->file, matrices[1]->file, matrices[2]->file};
  dm_verify verify = {.has_c0 = false};
  dm_status status = DM_OK;
  if (run->rank == 0) status = dm_request_verify(&context->settings, &run->log, operands, &verify);
  dm_tile_record *tiles = verify.tiles; /* only valid on rank 0 */
  status = dm_comm_agree(run->world, status);
  if (!status) status = dm_comm_broadcast(run->world, &verify, sizeof verify, 0);
  if (!status) status = dm_verify_run(&context->run, &verify, record);
  free(tiles);
  return status;
}

dm_status dm_describe_location(damier_context *context, const char *location, dm_record *record,
                               bool *found) {
  const dm_run *run = &context->run;
  dm_status status = DM_OK;
  if (run->rank == 0)
    status = location ? dm_request_describe(&context->settings, &run->log, location, record, found)
                      : dm_info_program(record);
  return dm_comm_agree(run->world, status);
}
