/* Prints the sizes and offsets of structures and fields of damier.h that the Python package
 * declares. */
#include <damier.h>
#include <stddef.h>
#include <stdio.h>

#define STRUCTURE(s) printf("%s %zu\n", #s, sizeof(s))
#define FIELD(s, f) printf("%s.%s %zu %zu\n", #s, #f, offsetof(s, f), sizeof(((s *)0)->f))
#define CONSTANT(c) printf("%s %d\n", #c, (int)(c))

int main(void) {
  STRUCTURE(damier_error);
  FIELD(damier_error, code);
  FIELD(damier_error, agreed);
  FIELD(damier_error, rank);
  FIELD(damier_error, message);
  FIELD(damier_error, hint);
  STRUCTURE(damier_matrix);
  FIELD(damier_matrix, division);
  FIELD(damier_matrix, file);
  FIELD(damier_matrix, type);
  FIELD(damier_matrix, rows);
  FIELD(damier_matrix, cols);
  FIELD(damier_matrix, data);
  FIELD(damier_matrix, row_stride);
  FIELD(damier_matrix, col_stride);
  FIELD(damier_matrix, own_rows);
  FIELD(damier_matrix, rank);
  FIELD(damier_matrix, grid_rows);
  FIELD(damier_matrix, grid_cols);
  FIELD(damier_matrix, column_major);
  FIELD(damier_matrix, row_block);
  FIELD(damier_matrix, col_block);
  FIELD(damier_matrix, first_row);
  FIELD(damier_matrix, first_col);
  FIELD(damier_matrix, memory);
  FIELD(damier_matrix, stream);
  FIELD(damier_matrix, parts);
  FIELD(damier_matrix, part_count);
  STRUCTURE(damier_array);
  FIELD(damier_array, of);
  FIELD(damier_array, name);
  FIELD(damier_array, whole);
  FIELD(damier_array, type);
  FIELD(damier_array, rows);
  FIELD(damier_array, cols);
  FIELD(damier_array, data);
  CONSTANT(DAMIER_F64), CONSTANT(DAMIER_F32), CONSTANT(DAMIER_F16), CONSTANT(DAMIER_BF16);
  CONSTANT(DAMIER_C64), CONSTANT(DAMIER_C128), CONSTANT(DAMIER_I8), CONSTANT(DAMIER_I32);
  CONSTANT(DAMIER_IN_FILE), CONSTANT(DAMIER_BY_ROWS), CONSTANT(DAMIER_ON_ONE);
  CONSTANT(DAMIER_BLOCK_CYCLIC), CONSTANT(DAMIER_REPLICATED), CONSTANT(DAMIER_KEPT);
  CONSTANT(DAMIER_HOST_MEMORY), CONSTANT(DAMIER_GPU_MEMORY);
  CONSTANT(DAMIER_E_VERIFY), CONSTANT(DAMIER_E_USAGE), CONSTANT(DAMIER_E_INPUT);
  CONSTANT(DAMIER_E_IO), CONSTANT(DAMIER_E_FIT), CONSTANT(DAMIER_E_DEVICE);
  CONSTANT(DAMIER_E_CORRUPT), CONSTANT(DAMIER_E_MPI), CONSTANT(DAMIER_E_UNCHECKED);
  CONSTANT(DAMIER_E_BUG), CONSTANT(DAMIER_E_STOPPED);
  return 0;
}
