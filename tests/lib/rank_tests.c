/* usage: rank_tests LEAST   every test on each of its rank counts from LEAST to the job's
 *        rank_tests most [NAME...]   every test, or those named, on the largest of its rank
 *          counts, up to the job's
 *        rank_tests NAME [WORD...]   this test on all ranks of the job
 * Exits with 1 if a test failed, with 77 if all were skipped. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/one_job.h"
#include "lib/test_program.h"

extern char **environ;

typedef struct outcome {
  int ran, skipped, failed;
} outcome;

/* Restores the environment after each test. */
static char **copy_environment(void) {
  size_t count = 0;
  while (environ[count]) count++;
  char **copy = malloc((count + 1) * sizeof *copy);
  if (!copy) abort();
  memcpy(copy, environ, (count + 1) * sizeof *copy);
  return copy;
}

static void run(const test_program *test, int ranks, int count, char **words, outcome *all) {
  static char **restored; /* the environment since the first test */
  char **const before = copy_environment();
  int code = 0;
  if (one_job_rank() == 0) fprintf(stderr, "%s on %d\n", test->name, ranks);
  if (one_job_rank() < ranks) {
    one_job_part(ranks);
    code = test->run(count, words);
  }
  code = one_job_agree(code);
  environ = before;
  free(restored);
  restored = before;
  all->ran++, all->skipped += code == SKIPPED, all->failed += code != 0 && code != SKIPPED;
  if (one_job_rank() == 0 && code != 0)
    fprintf(stderr, "%s %s on %d\n", code == SKIPPED ? "SKIPPED" : "FAILED", test->name, ranks);
}

/* Runs TEST on its rank counts from LEAST to the job's, or on the largest of them. */
static void run_counts(const test_program *test, int least, bool most, outcome *all) {
  int largest = 0;
  for (const char *at = test->ranks; *at;) {
    char *end;
    const int ranks = (int)strtol(at, &end, 10);
    if (end == at) break;
    if (ranks >= least && ranks <= one_job_size()) {
      if (!most) run(test, ranks, 1, (char *[]){NULL, NULL}, all);
      largest = ranks;
    }
    at = end;
  }
  if (most && largest > 0) run(test, largest, 1, (char *[]){NULL, NULL}, all);
}

static bool is_among(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return true;
  return count == 0;
}

int main(int count, char **words) {
  const char *name = count > 1 ? words[1] : "1";
  const bool most = strcmp(name, "most") == 0;
  const int least = most ? 1 : atoi(name);
  outcome all = {0};
  one_job_start();
  for (int i = 0; i < test_program_count; i++) {
    if (most && !is_among(test_programs[i].name, count - 2, words + 2)) continue;
    if (least > 0)
      run_counts(&test_programs[i], least, most, &all);
    else if (strcmp(test_programs[i].name, name) == 0)
      run(&test_programs[i], one_job_size(), count - 1, words + 1, &all);
  }
  if (one_job_rank() == 0)
    printf("%d runs of tests, %d failed, %d skipped\n", all.ran, all.failed, all.skipped);
  one_job_stop();
  if (all.failed || all.ran == 0) return 1;
  return all.skipped == all.ran ? SKIPPED : 0;
}
