/* When a run reports progress, and how long it may stall. */
#include "checks.h"

#include "core/clock.h"
#include "run/run.h"

TEST(lines_come_less_and_less_often) {
  static const double wanted[] = {1, 2, 5, 10, 30, 60, 90, 120};
  double shown = 0;
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    shown = dm_run_next_line(shown);
    assert_true(shown == wanted[i]);
  }
  assert_true(dm_run_next_line(3.7) == 5 && dm_run_next_line(75) == 90);
}

/* Whether RUN, SECONDS after its start and with the last line at SHOWN, prints a line beginning
 * with START, or nothing (NULL). */
static bool says(dm_run run, double seconds, double shown, const char *start) {
  char text[200] = "";
  run.log.out = fmemopen(text, sizeof text, "w");
  assert_non_null(run.log.out);
  run.born = dm_now() - seconds;
  run.shown = shown;
  dm_run_phase(&run, "reading", 1);
  ok(dm_run_beat(&run));
  fclose(run.log.out);
  const char *end = strchr(text, '\n');
  return start ? strncmp(text, start, strlen(start)) == 0 && end && !end[1] : !text[0];
}

TEST(phases_are_named_when_a_line_is_due) {
  const dm_run run = {.log = {.level = DM_LOG_NOTE}};
  assert_true(says(run, 0.0, 0, NULL));
  assert_true(says(run, 5000, 1.0, "damier: reading, 1.4 h after the start"));
  assert_true(says(run, 5000, 5000, NULL));
  dm_run other = run;
  other.log.level = DM_LOG_WARNING; /* -q */
  assert_true(says(other, 5000, 1.0, NULL));
  other = run;
  other.progress = DM_PROGRESS_NEVER;
  assert_true(says(other, 5000, 1.0, NULL));
  other = run;
  other.rank = 1;
  assert_true(says(other, 5000, 1.0, NULL));
}

TEST(a_stated_timeout_holds_in_every_phase) {
  dm_run run = {.rank = 1};
  assert_int_equal(dm_run_patience(&run, DM_SYNC_PATIENCE), DM_SYNC_PATIENCE);
  run.strict = true;
  assert_int_equal(dm_run_patience(&run, DM_SYNC_PATIENCE), 1);
}

TEST_PROGRAM(test_run_progress) {
  return run_all(NULL);
}
