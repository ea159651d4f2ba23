/* ranks: 1 2 3 4 5 6 7 8.  However a product by residues is cut, and wherever A and B lie, C has
 * the bits of the exact sum: sixty-four cuts at random on CPUs. */
#include "residue_cuts.h"

enum { CUTS = 8 };

TEST_PROGRAM(test_residues_cuts) {
  static rank_test test; /* a run that waits for files must not be moved */
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  for (uint64_t turn = 0; turn < CUTS; turn++) {
    const bool shared = turn % 4 == 0; /* what is gathered then stays, so that there are strips */
    const dm_machine machine = one_node(&test, NULL, shared);
    cut_at_random(&test, &machine, &dm_backend_cpu, shared ? dm_transport_find("shared") : NULL,
                  turn);
  }
  return rank_test_end(&test);
}
