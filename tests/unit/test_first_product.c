/* First example of src/product: a run that fails leaves no file behind. */
#include "file_cases.h"
#include "product/commit.h"

TEST(first_failed_product) {
  const dm_location c = at(*state, "C.h5:/c");
  const dm_error why = {.code = DM_E_FIT};
  dm_output_file file;
  dm_run run = {.ranks = 1};
  ok(create_output(&c, DM_F64, 4, 4, &file));
  assert_int_equal(access(file.part, F_OK), 0);
  dm_commit_give_up(&run, &file, &why);
  assert_int_equal(access(file.part, F_OK), -1);
}

RUN_ALL_IN_FOLDER(test_first_product)
