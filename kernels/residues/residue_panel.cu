/* The layout of panels of residues. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/residue_kernels.h"

constexpr int64_t ROW = 128; /* bytes: a cache line */

int64_t dm_residue_panel_bytes(int count, int64_t rows, int64_t depth) {
  const dm_residue_panel panel = dm_residue_panel_at(nullptr, count, rows, depth);
  return count * panel.plane_rows * panel.stride;
}

dm_residue_panel dm_residue_panel_at(void *base, int count, int64_t rows, int64_t depth) {
  dm_residue_panel panel = {};
  panel.base = static_cast<int8_t *>(base);
  panel.count = count, panel.rows = rows, panel.depth = depth;
  panel.stride = divide_up(depth, ROW) * ROW;
  panel.plane_rows = divide_up(rows, DM_RESIDUE_GROUP) * DM_RESIDUE_GROUP;
  return panel;
}
