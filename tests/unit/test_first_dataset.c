/* First example of src/dataset: what users type names a file and a dataset. */
#include "checks.h"
#include "dataset/dataset.h"
#include "dataset/naming.h"

TEST(first_location) {
  dm_location at;
  char beside[DM_SIBLING_PATH];
  ok(dm_location_parse("results/C.h5:/run/c", &at));
  assert_string_equal(at.file, "results/C.h5");
  assert_string_equal(at.dataset, "/run/c");
  ok(dm_file_sibling(&at, ".part", beside));
  assert_string_equal(beside, "results/C.h5.part");
  fails(dm_location_parse("", &at), DM_E_USAGE, "names no file");
}

RUN_ALL(test_first_dataset)
