/* ranks: 1 2 3 4 5 6 7 8. For any division of a product by residues, and any place of A and B, C
 * has the bits of the exact sum: 64 random divisions on GPUs, whose panels and layers travel by
 * their links or through host memory. */
#include "gpu_ranks.h"
#include "residue_cuts.h"

enum { CUTS = 8 };

TEST_PROGRAM(test_residues_cuts_gpu) {
  static gpu_test test; /* a run that waits for files must not move */
  if (!gpu_test_start(&test, false)) return SKIPPED;
  if (!test.device.own_kernels && !strstr(test.device.name, "emulated"))
    return gpu_test_end(&test) ? 1 : SKIPPED;
  rank_test *base = &test.base;
  for (uint64_t turn = 0; turn < CUTS; turn++) {
    dm_machine machine = one_node(base, "h200", false);
    const bool links = (turn + (uint64_t)base->run.ranks) % 2;
    machine.device_links = links;
    cut_at_random(base, &machine, &dm_backend_cuda, links ? dm_transport_find("ipc") : NULL, turn);
  }
  return gpu_test_end(&test);
}
