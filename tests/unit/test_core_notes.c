/* Tests notes: each text once, printed as the level says, and kept whatever it says. */
#include "checks.h"

#include "core/buffer.h"
#include "core/log.h"
#include "core/notes.h"
#include "core/status.h"

TEST(a_warning_is_printed_and_kept_once) {
  DM_FREED char *printed = NULL;
  size_t size = 0;
  dm_note_kind kind;
  dm_log log = {open_memstream(&printed, &size), DM_LOG_NOTE, 0, dm_notes_new()};
  for (int i = 0; i < 3; i++) dm_log_line(&log, DM_LOG_WARNING, "number %d", i / 2);
  dm_log_line(&log, DM_LOG_NOTE, "not kept");
  dm_log_applied(&log, DM_LOG_NOTE, "applied");
  dm_log_applied(&log, DM_LOG_DETAIL, "kept only");
  fclose(log.out);
  assert_string_equal(printed, "damier: warning: number 0\ndamier: warning: number 1\n"
                               "damier: not kept\ndamier: applied\n");
  assert_int_equal(dm_notes_count(log.notes), 4);
  assert_string_equal(dm_notes_text(log.notes, 1, &kind), "number 1");
  assert_int_equal(kind, DM_NOTE_WARNING);
  assert_string_equal(dm_notes_text(log.notes, 3, &kind), "kept only");
  assert_int_equal(kind, DM_NOTE_APPLIED);
  DM_FREED char *all = dm_notes_join(log.notes, "|");
  assert_string_equal(all, "number 0|number 1|applied|kept only");
  dm_notes_clear(log.notes);
  assert_int_equal(dm_notes_count(log.notes), 0);
  assert_null(dm_notes_join(log.notes, "|"));
  dm_notes_free(log.notes);
}

TEST(only_rank_0_keeps_and_too_many_are_left_out) {
  DM_FREED char *printed = NULL;
  size_t size = 0;
  dm_log log = {open_memstream(&printed, &size), DM_LOG_ERROR, 1, dm_notes_new()};
  dm_log_line(&log, DM_LOG_WARNING, "of rank 1");
  assert_int_equal(dm_notes_count(log.notes), 0);
  log.rank = 0;
  for (int i = 0; i < 1000; i++) dm_log_line(&log, DM_LOG_WARNING, "number %d", i);
  const int kept = dm_notes_count(log.notes);
  assert_true(kept > 10 && kept < 1000);
  fclose(log.out);
  assert_string_equal(printed, "");
  dm_notes_free(log.notes);
}

TEST(without_notes_every_line_is_printed) {
  DM_FREED char *printed = NULL;
  size_t size = 0;
  const dm_log log = {open_memstream(&printed, &size), DM_LOG_NOTE, 0, NULL};
  for (int i = 0; i < 2; i++) dm_log_line(&log, DM_LOG_WARNING, "again");
  fclose(log.out);
  assert_string_equal(printed, "damier: warning: again\ndamier: warning: again\n");
  assert_int_equal(dm_notes_count(NULL), 0);
  dm_notes_clear(NULL);
  dm_notes_free(NULL);
}

RUN_ALL(test_core_notes)
