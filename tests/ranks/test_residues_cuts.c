/* ranks: 1 2 3 4 5 6 7 8. For any division of a product by residues, and any place of A and B, C
 * has the bits of the exact sum: 64 random divisions on CPUs. */
#include "residue_cuts.h"

enum { CUTS = 8 };

TEST_PROGRAM(test_residues_cuts) {
  static _Thread_local rank_test test; /* a run that waits for files must not move */
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, NULL, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  for (uint64_t turn = 0; turn < CUTS; turn++) {
    const bool shared = turn % 4 == 0; /* keeps gathered panels, which allows strips */
    const dm_machine machine = one_node(&test, NULL, shared);
    cut_at_random(&test, &machine, &dm_backend_cpu, shared ? dm_transport_find("shared") : NULL,
                  turn);
  }
  return rank_test_end(&test);
}
