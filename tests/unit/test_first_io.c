/* First example of src/io: a C is written to C.h5.part, which its name replaces in the end. */
#include "file_cases.h"

TEST(first_written_matrix) {
  const dm_location c = at(*state, "C.h5:/c");
  int32_t numbers[2][3] = {{1, 2, 3}, {4, 5, 6}};
  dm_output_file file;
  dm_output *output;
  bool named;
  static dm_attributes none;
  ok(create_output(&c, DM_I32, 2, 3, &file));
  ok(dm_output_open(&file, &output));
  ok(dm_output_write(output, 0, 0, dm_view_row_major(numbers, DM_I32, 2, 3)));
  ok(dm_output_close(output));
  assert_int_equal(access(c.file, F_OK), -1);
  ok(dm_output_commit(&file, &(dm_output_completion){.provenance = &none}, NULL, &named));
  dm_output_release(&file);
  expect_data(&c, DM_I32, 2, 3, numbers);
}

RUN_ALL_IN_FOLDER(test_first_io)
