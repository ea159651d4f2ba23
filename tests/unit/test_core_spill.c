/* Tests spill: elements stay when it grows, and nothing stays in the folder. */
#include "checks.h"

#include <dirent.h>

#include "core/spill.h"

static int files_in(const char *folder) {
  int count = 0;
  DIR *list = opendir(folder);
  assert_non_null(list);
  for (struct dirent *one = readdir(list); one; one = readdir(list)) count += one->d_name[0] != '.';
  closedir(list);
  return count;
}

TEST(elements_stay_when_it_grows) {
  char folder[64];
  dm_spill spill = {.base = NULL};
  new_folder(folder);
  for (int64_t count = 100; count < 1000000; count *= 10) {
    assert_null(dm_spill_grow(folder, count * 8, &spill));
    assert_true(spill.bytes >= count * 8);
    int64_t *list = spill.base;
    for (int64_t i = 0; i < count / 10; i++) assert_true(count == 100 || list[i] == i);
    for (int64_t i = 0; i < count; i++) list[i] = i;
  }
  const int64_t before = spill.bytes;
  assert_null(dm_spill_grow(folder, 8, &spill));
  assert_int_equal(spill.bytes, before);
  assert_int_equal(files_in(folder), 0);
  dm_spill_free(&spill);
  dm_spill_free(&spill);
  assert_int_equal(rmdir(folder), 0);
}

TEST(no_space_and_no_folder) {
  dm_spill spill = {.base = NULL};
  dm_status status = dm_spill_grow("/tmp", INT64_C(1) << 60, &spill);
  assert_non_null(status);
  assert_int_equal(status->code, DM_E_FIT);
  dm_status_free(status);
  dm_spill_free(&spill);
  status = dm_spill_grow("/nowhere/at all", 8, &spill);
  assert_non_null(status);
  assert_int_equal(status->code, DM_E_IO);
  dm_status_free(status);
  dm_spill_free(&spill);
}

RUN_ALL(test_core_spill)
