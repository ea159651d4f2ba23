/* A child that stays: its process answers again, and is replaced after whatever goes wrong. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks.h"
#include "dataset/child.h"

typedef enum child_order { SAY, FAIL, CRASH, CRASH_IF_OLD, LABOUR } child_order;

typedef struct child_said {
  pid_t pid;
  int asked; /* of this process */
} child_said;

static dm_status child_obeys(const void *argument, void *result) {
  static int asked;
  const child_order order = *(const child_order *)argument;
  struct rusage usage = {0};
  asked++;
  if (order == FAIL) return dm_fail(DM_E_INPUT, "rejected");
  if (order == CRASH || (order == CRASH_IF_OLD && asked > 1)) raise(SIGSEGV);
  while (order == LABOUR &&
         usage.ru_utime.tv_sec == 0) { /* seldom asks: that is the system's time */
    for (volatile int i = 0; i < 1000000; i++) continue;
    getrusage(RUSAGE_SELF, &usage);
  }
  *(child_said *)result = (child_said){getpid(), asked};
  return DM_OK;
}

static const void *child_adds(const void *result, int64_t *bytes) {
  static char text[100000];
  snprintf(text, sizeof text, "%d", ((const child_said *)result)->asked);
  *bytes = sizeof text;
  return text;
}

static void child_forgets(void *result) {
  (void)result;
}

static dm_status tell(dm_kept_child *child, child_order order, child_said *said) {
  const dm_location at = {.file = "x.h5"};
  dm_child_tail tail = {.of = child_adds, .release = child_forgets, .limit = 1 << 20};
  char wanted[16];
  const dm_child_task task = {.at = &at,
                              .work = child_obeys,
                              .argument = &order,
                              .argument_bytes = sizeof order,
                              .result = said,
                              .bytes = sizeof *said,
                              .tail = &tail};
  dm_status status = dm_child_do_by(child, &task);
  if (!status) {
    snprintf(wanted, sizeof wanted, "%d", said->asked);
    assert_int_equal(tail.bytes, 100000);
    assert_string_equal(tail.memory, wanted);
  }
  free(tail.memory);
  return status;
}

TEST(a_child_answers_again) {
  (void)state;
  dm_kept_child child = {0};
  child_said said, again;
  ok(tell(&child, SAY, &said));
  assert_int_equal(said.pid, child.pid);
  assert_int_not_equal(said.pid, getpid());
  for (int i = 2; i < 100; i++) {
    ok(tell(&child, SAY, &again));
    assert_int_equal(again.pid, said.pid);
    assert_int_equal(again.asked, i);
  }
  ok(tell(&child, LABOUR, &again)); /* its processor time is limited */
  assert_int_equal(again.pid, said.pid);
  ok(tell(&child, SAY, &again));
  assert_int_not_equal(again.pid, said.pid);
  dm_child_dismiss(&child);
  assert_int_equal(child.pid, 0);
  dm_child_dismiss(&child);
}

TEST(what_goes_wrong_has_a_new_process) {
  (void)state;
  dm_kept_child child = {0};
  child_said said, again;
  ok(tell(&child, SAY, &said));
  fails(tell(&child, FAIL, &again), DM_E_INPUT, "rejected");
  assert_int_equal(child.pid, 0);
  ok(tell(&child, SAY, &said));
  fails(tell(&child, CRASH, &again), DM_E_INPUT, "crashed while reading it");
  ok(tell(&child, SAY, &said));
  ok(tell(&child, CRASH_IF_OLD, &again));
  assert_int_not_equal(again.pid, said.pid);
  ok(tell(&child, SAY, &said));
  kill(said.pid, SIGKILL);
  ok(tell(&child, SAY, &again));
  assert_int_equal(again.asked, 1);
  dm_child_dismiss(&child);
}

RUN_ALL(test_dataset_child)
