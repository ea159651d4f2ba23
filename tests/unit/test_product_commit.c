/* What rank 0 does with the file that it made when a run fails. */
#include <sys/stat.h>

#include "file_cases.h"
#include "product/commit.h"

static dm_output_file created(const char *folder) {
  const dm_location location = at(folder, "C.h5:/c");
  dm_output_file file;
  dm_reservation *reservation;
  ok(dm_output_create_early(&location, DM_F64, 4, 4, NULL, &file, &reservation));
  ok(dm_reservation_end(reservation, true));
  return file;
}

static bool is_there(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

TEST(test_all_know_of_the_error) {
  for (int ranks = 1; ranks <= 2; ranks++) {
    dm_output_file file = created(*state);
    dm_error why = {.code = DM_E_FIT, .agreed = ranks > 1};
    dm_run run = {.ranks = ranks, .ends = true};
    dm_commit_give_up(&run, &file, &why);
    assert_false(is_there(file.part));
    assert_null(run.at_end);
    assert_int_equal(file.made, -1);
  }
}

/* The others would say that the file is not there, in place of the reason. */
TEST(test_this_rank_fails_alone) {
  dm_output_file file = created(*state);
  const dm_error why = {.code = DM_E_FIT};
  dm_output *other;
  dm_run run = {.ranks = 2, .ends = true};
  dm_commit_give_up(&run, &file, &why);
  ok(dm_output_open(&file, &other));
  ok(dm_output_close(other));
  assert_non_null(run.at_end);
  ok(run.at_end(run.what));
  assert_false(is_there(file.part));
}

/* A library may not return to its caller with work left. */
TEST(test_alone_in_a_library) {
  dm_output_file file = created(*state);
  const dm_error why = {.code = DM_E_FIT};
  dm_run run = {.ranks = 2};
  dm_commit_give_up(&run, &file, &why);
  assert_false(is_there(file.part));
  assert_null(run.at_end);
}

RUN_ALL_IN_FOLDER(test_product_commit)
