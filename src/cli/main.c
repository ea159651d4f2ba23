/* damier: multiplies matrices in HDF5 files over MPI ranks and GPUs. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/session.h"
#include "comm/comm.h"

static const dm_cli_work main_works[] = {
    {DM_VERB_MULTIPLY, dm_cli_multiply}, {DM_VERB_GRAM, dm_cli_gram},
    {DM_VERB_COV, dm_cli_cov},           {DM_VERB_COR, dm_cli_cor},
    {DM_VERB_PCA, dm_cli_pca},           {DM_VERB_SVD, dm_cli_svd},
    {DM_VERB_PLAN, dm_cli_plan},         {DM_VERB_GENERATE, dm_cli_generate},
    {DM_VERB_VERIFY, dm_cli_verify},     {DM_VERB_INFO, dm_cli_info},
    {DM_VERB_COMPARE, dm_cli_compare},   {DM_VERB_RUN, dm_cli_run_list},
    {DM_VERB_CLEAN, dm_cli_clean},       {0, NULL}};

/* "damier bench ..." is a program of its own, beside this one, or in it. Returns the exit code,
 * of the other one only if it cannot be started. */
static int start_bench(int argc, char **argv) {
  static char name[] = "damier-bench";
  char path[PATH_MAX];
  argv[1] = name;
  if (dm_bench_program) return dm_bench_program(argc - 1, argv + 1);
  const dm_call call = {.rank = dm_comm_rank_before_start()};
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  char *file = strrchr(path, '/');
  file = file ? file + 1 : path;
  snprintf(file, sizeof path - (size_t)(file - path), "%s", name);
  dm_cli_restore_environment();
  execv(path, argv + 1);
  return dm_cli_end(&call, dm_hint(dm_fail(DM_E_IO, "%s cannot be started: %m", path),
                                   "'damier bench' is the program damier-bench, which is installed "
                                   "beside damier"));
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "bench") == 0) return start_bench(argc, argv);
  return dm_cli_program(argc, argv, main_works);
}
