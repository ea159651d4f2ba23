/* copy_runs: copies many pieces of a matrix, all pairs of runs of rows and of columns, in one
 * launch. Blocks of threads take a pair each, or some rows of one; a warp copies a row, in the
 * largest units at which everything starts. */
#include "kernels/kernels.h"

namespace {

constexpr int LANES = 32, LINES = 8, BLOCKS = 4096;

/* Pitches count units; columns are scaled to units of SIZE / UNIT. */
struct Side {
  char *base;
  int64_t pitch;
};

template <class Unit>
__global__ void __launch_bounds__(LANES *LINES)
    copy_runs(Side to, Side from, const dm_copy_run *rows, const dm_copy_run *cols, int64_t size,
              int64_t row_count) {
  const dm_copy_run c = cols[blockIdx.x];
  const int64_t unit = (int64_t)sizeof(Unit), count = c.size * size / unit;
  for (int64_t i = blockIdx.y; i < row_count; i += gridDim.y) {
    const dm_copy_run r = rows[i];
    for (int64_t row = (int64_t)blockIdx.z * LINES + threadIdx.y; row < r.size;
         row += (int64_t)gridDim.z * LINES) {
      Unit *out = reinterpret_cast<Unit *>(to.base + (r.to + row) * to.pitch + c.to * size);
      const Unit *in =
          reinterpret_cast<const Unit *>(from.base + (r.from + row) * from.pitch + c.from * size);
#pragma unroll 4
      for (int64_t j = threadIdx.x; j < count; j += LANES) out[j] = in[j];
    }
  }
}

template <class Unit> cudaError_t launch(const dm_runs_copy &w, Side to, Side from, int64_t size) {
  int64_t most = 1;
  for (int64_t i = 0; i < w.of.row_count; i++)
    if (w.of.rows[i].size > most) most = w.of.rows[i].size;
  const int64_t down = w.of.row_count < 65535 ? w.of.row_count : 65535;
  int64_t deep = BLOCKS / (w.of.col_count * down);
  if (deep > (most + LINES - 1) / LINES) deep = (most + LINES - 1) / LINES;
  if (deep < 1) deep = 1;
  const dim3 grid((unsigned)w.of.col_count, (unsigned)down, (unsigned)deep);
  copy_runs<Unit>
      <<<grid, dim3(LANES, LINES), 0, w.stream>>>(to, from, w.rows, w.cols, size, w.of.row_count);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_copy_runs(const dm_runs_copy *work) {
  const dm_runs_copy &w = *work;
  const int64_t size = w.size;
  const Side to = {(char *)w.to.base, w.to.row_stride * size};
  const Side from = {(char *)w.from.base, w.from.row_stride * size};
  uint64_t bits = (uint64_t)(uintptr_t)to.base | (uint64_t)(uintptr_t)from.base |
                  (uint64_t)to.pitch | (uint64_t)from.pitch;
  for (int64_t j = 0; j < w.of.col_count; j++)
    bits |= (uint64_t)((w.of.cols[j].to | w.of.cols[j].from | w.of.cols[j].size) * size);
  if (bits % 16 == 0) return launch<uint4>(w, to, from, size);
  if (bits % 8 == 0) return launch<uint2>(w, to, from, size);
  if (bits % 4 == 0) return launch<uint32_t>(w, to, from, size);
  return bits % 2 == 0 ? launch<uint16_t>(w, to, from, size) : launch<uint8_t>(w, to, from, size);
}
