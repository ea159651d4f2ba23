/* C as an additional dataset of an existing file: the file does not change until the commit, and if
 * somebody else changes it meanwhile, those changes are kept. */
#include <sys/file.h>

#include "pack_files.h"

static bool named;

typedef struct setting {
  dm_location existing, added;
  dm_output_form form;
  dm_output_file part, made;
  void *data;
  int held;
} setting;

/* A file with /c, and a finished part file for its new dataset /g/d. */
static setting begin(const char *folder) {
  setting s = {.existing = at(folder, "all.h5:/c"), .added = at(folder, "all.h5:/g/d")};
  unlink(s.existing.file);
  s.data = elements(DM_F32, ROWS, COLS);
  dm_output_file first = contiguous(&s.existing, DM_F32, s.data);
  ok(dm_output_commit(&first,
                      &(dm_output_completion){.provenance = &(dm_attributes){0}, .force = true},
                      NULL, &named));
  dm_output_release(&first);
  ok(dm_recast_check(&s.added, false, &s.form));
  s.part = contiguous(&s.added, DM_F32, s.data);
  return s;
}

static void end(setting *s) {
  dm_output_discard(&s->part);
  dm_output_release(&s->part);
  assert_false(exists(s->part.part));
  char packing[DM_SIBLING_PATH];
  snprintf(packing, sizeof packing, "%s.damier-new", s->existing.file);
  assert_false(exists(packing));
  assert_int_equal(inspected(&s->existing).rows, ROWS);
  free(s->data);
}

static void change(const setting *s) {
  int fd = open(s->existing.file, O_WRONLY | O_APPEND);
  assert_true(fd >= 0 && write(fd, "x", 1) == 1);
  close(fd);
}

TEST(test_added) {
  setting s = begin(*state);
  ok(dm_recast_room(&s.part, &s.form));
  ok(dm_recast(&s.part, &s.form, NULL, NULL, &s.made, &s.held));
  fails(dm_file_inspect(&s.added, &(dm_trust){0}, &(dm_dataset){0}, NULL), DM_E_INPUT, "no '/g'");
  ok(dm_recast_unchanged(&s.part, &s.form));
  ok(dm_output_commit(&s.made,
                      &(dm_output_completion){.provenance = &(dm_attributes){0}, .force = true},
                      NULL, &named));
  dm_output_release(&s.made);
  close(s.held);
  assert_int_equal(inspected(&s.added).cols, COLS);
  fails(dm_recast_check(&s.added, false, &s.form), DM_E_USAGE, "already exists in the file");
  end(&s);
}

TEST(test_changed_before) {
  setting s = begin(*state);
  change(&s);
  fails(dm_recast(&s.part, &s.form, NULL, NULL, &s.made, &s.held), DM_E_IO,
        "was changed during the run");
  end(&s);
}

TEST(test_changed_while_copied) {
  setting s = begin(*state);
  ok(dm_recast(&s.part, &s.form, NULL, NULL, &s.made, &s.held));
  change(&s);
  fails(dm_recast_unchanged(&s.part, &s.form), DM_E_IO, "was changed during the run");
  dm_output_discard(&s.made);
  dm_output_release(&s.made);
  close(s.held);
  end(&s);
}

TEST(test_being_written) {
  setting s = begin(*state);
  int writer = open(s.existing.file, O_RDONLY);
  assert_int_equal(flock(writer, LOCK_EX | LOCK_NB), 0);
  fails(dm_recast(&s.part, &s.form, NULL, NULL, &s.made, &s.held), DM_E_IO,
        "another run is writing");
  close(writer);
  end(&s);
}

TEST_PROGRAM(test_io_recast) {
  return run_all_in_folder();
}
