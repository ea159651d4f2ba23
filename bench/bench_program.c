#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cli/program.h"

static const dm_cli_work bench_works[] = {
    {DM_VERB_BENCH_MULTIPLY, dm_bench_verb_multiply}, {DM_VERB_BENCH_SCALE, dm_bench_verb_scale},
    {DM_VERB_BENCH_LINKS, dm_bench_verb_links},       {DM_VERB_BENCH_RATES, dm_bench_verb_rates},
    {DM_VERB_BENCH_KERNELS, dm_bench_verb_kernels},   {0, NULL}};

/* The verbs' names, records and messages are those of "damier bench"; "damier-bench --version" is
 * "damier --version". */
int dm_bench_program(int argc, char **argv) {
  static char bench[] = "bench";
  if (argc > 1 && argv[1][0] == '-') return dm_cli_program(argc, argv, bench_works);
  char **words = calloc((size_t)argc + 2, sizeof *words);
  if (!words) return DM_E_FIT;
  words[0] = argv[0];
  words[1] = bench;
  for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
  const int code = dm_cli_program(argc + 1, words, bench_works);
  free(words);
  return code;
}
