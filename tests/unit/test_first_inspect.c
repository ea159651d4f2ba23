/* First example of src/inspect: what a file says of its matrix, found in a child process. */
#include "file_cases.h"

TEST(first_inspected_file) {
  const dm_location x = at(*state, "x.npy"), text = at(*state, "text.npy");
  double numbers[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const char head[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
  FILE *file = fopen(x.file, "wb");
  assert_non_null(file);
  fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0, head);
  fwrite(numbers, sizeof numbers, 1, file);
  fclose(file);
  const dm_dataset found = inspected(&x);
  assert_true(found.rows == 2 && found.cols == 3 && found.dtype == DM_F64 && found.offset == 128);
  dm_dataset none;
  write_text(text.file, "no matrix");
  fails(dm_file_inspect(&text, &(dm_trust){0}, &none, NULL), DM_E_INPUT, "text.npy");
}

RUN_ALL_IN_FOLDER(test_first_inspect)
