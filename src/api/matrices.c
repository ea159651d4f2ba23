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

damier_matrix damier_on_all(damier_type type, int64_t rows, int64_t cols, void *data,
                            int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_REPLICATED;
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

damier_matrix damier_in_parts(const damier_matrix *parts, int count) {
  damier_matrix matrix = {.division = (damier_division)-1}; /* without parts calls refuse it */
  if (parts && count > 0) matrix = parts[0];
  matrix.parts = parts;
  matrix.part_count = count;
  return matrix;
}

/* ---- files ---- */
