/* usage: team_tests MOST LARGEST [NAME...]   tests of ranks (all, or those named), their ranks
 * being threads of this process: each on each of its rank counts up to MOST, and on the largest one
 * up to LARGEST. The linker turns dm_comm_start and dm_comm_adopt into the functions below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm_mpi.h"
#include "comm/team.h"
#include "lib/test_program.h"

dm_status __wrap_dm_comm_start(dm_comm **world);
dm_status __wrap_dm_comm_adopt(MPI_Comm mpi, dm_comm **world);

static _Thread_local dm_comm *team;

dm_status __wrap_dm_comm_start(dm_comm **world) {
  return dm_comm_split(team, 0, dm_comm_rank(team), world);
}

dm_status __wrap_dm_comm_adopt(MPI_Comm mpi, dm_comm **world) {
  (void)mpi;
  return __wrap_dm_comm_start(world);
}

typedef struct attempt {
  const test_program *test;
  int code;
} attempt;

static void play(dm_comm *world, void *context) {
  attempt *a = context;
  team = world;
  int64_t code = a->test->run(1, (char *[]){NULL, NULL});
  dm_status status = dm_comm_max_i64(world, &code, 1);
  if (dm_comm_rank(world) == 0) a->code = status ? 1 : (int)code;
  dm_status_free(status);
  dm_comm_free(world);
}

static int run(const test_program *test, int ranks) {
  attempt a = {.test = test};
  fprintf(stderr, "%s on %d\n", test->name, ranks);
  dm_status status = dm_team_run(ranks, play, &a);
  if (status) a.code = 1;
  dm_status_free(status);
  if (a.code != 0)
    fprintf(stderr, "%s %s on %d\n", a.code == SKIPPED ? "SKIPPED" : "FAILED", test->name, ranks);
  return a.code;
}

static int is_named(const char *name, int count, char **words) {
  for (int i = 3; i < count; i++)
    if (strcmp(words[i], name) == 0) return 1;
  return count <= 3;
}

int main(int count, char **words) {
  const long most = count > 1 ? strtol(words[1], NULL, 10) : 4;
  const long largest = count > 2 ? strtol(words[2], NULL, 10) : most;
  int ran = 0, failed = 0;
  for (int i = 0; i < test_program_count; i++) {
    const test_program *test = &test_programs[i];
    if (!is_named(test->name, count, words)) continue;
    char *end;
    long last = 0;
    for (const char *at = test->ranks; *at; at = end) {
      const long ranks = strtol(at, &end, 10);
      if (end == at) break;
      if (ranks > most && ranks <= largest) last = ranks;
      if (ranks > most) continue;
      const int code = run(test, (int)ranks);
      ran++, failed += code != 0 && code != SKIPPED;
    }
    if (last == 0) continue;
    const int code = run(test, (int)last);
    ran++, failed += code != 0 && code != SKIPPED;
  }
  printf("%d runs of tests, %d failed\n", ran, failed);
  return failed || ran == 0;
}
