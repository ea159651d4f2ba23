/* rank_test: checks for tests under mpirun. After a failed check the test continues, so that no
 * rank waits for one that left; the counts are summed at the end. */
#ifndef DM_TESTS_RANK_TEST_H
#define DM_TESTS_RANK_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/element.h"
#include "core/log.h"
#include "lib/test_program.h"
#include "run/run.h"

typedef struct rank_test {
  dm_run run;
  int64_t checks, failures;
} rank_test;

#define CHECK(test, condition, ...)                                                                \
  do {                                                                                             \
    (test)->checks++;                                                                              \
    if (condition) break;                                                                          \
    if ((test)->failures++ >= 5) break;                                                            \
    fprintf(stderr, "%s:%d: rank %d of %d: ", __FILE__, __LINE__, (test)->run.rank,                \
            (test)->run.ranks);                                                                    \
    fprintf(stderr, __VA_ARGS__);                                                                  \
    fputc('\n', stderr);                                                                           \
  } while (0)

/* An unexpected error ends the job. */
static inline void must(rank_test *test, dm_status status) {
  if (!status) return;
  fprintf(stderr, "rank %d: %s (%s)\n", test->run.rank, status->message, status->place);
  dm_comm_abort(test->run.world, 1);
}

static inline rank_test rank_test_start(void) {
  rank_test test = {0};
  must(&test, dm_run_start(&test.run, NULL, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  return test;
}

/* The exit code of the test, the same on all ranks. */
static inline int rank_test_end(rank_test *test) {
  int64_t counts[2] = {test->checks, test->failures};
  must(test, dm_comm_sum_i64(test->run.world, counts, 2));
  if (test->run.rank == 0)
    printf("%lld checks, %lld failed\n", (long long)counts[0], (long long)counts[1]);
  dm_run_stop(&test->run);
  return counts[0] > 0 && counts[1] == 0 ? 0 : 1;
}

static inline void *memory_of(rank_test *test, int64_t bytes) {
  void *memory = malloc((size_t)dm_max(1, bytes));
  if (!memory) must(test, dm_fail(DM_E_FIT, "no memory for the test"));
  return memory;
}

/* Bytes that identify sender and message. */
static inline void put_pattern(unsigned char *data, int64_t bytes, int rank, int tag) {
  for (int64_t i = 0; i < bytes; i++)
    data[i] = (unsigned char)(dm_mix((uint64_t)(rank * 1000 + tag)) + (uint64_t)(i * 131));
}

static inline bool has_pattern(const unsigned char *data, int64_t bytes, int rank, int tag) {
  for (int64_t i = 0; i < bytes; i++)
    if (data[i] != (unsigned char)(dm_mix((uint64_t)(rank * 1000 + tag)) + (uint64_t)(i * 131)))
      return false;
  return true;
}

#endif
