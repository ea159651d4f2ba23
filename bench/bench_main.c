/* damier-bench: measures products, scaling, links, rates and kernels. "damier bench multiply"
 * starts "damier-bench multiply". */
#include "cli/program.h"

int main(int argc, char **argv) {
  return dm_bench_program(argc, argv);
}
