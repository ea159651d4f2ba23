/* Adds the residues of another layer to those of C.  Limited by memory bandwidth: a thread
 * processes 16 bytes of a plane, and neighbouring threads access neighbouring addresses. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/residue_kernels.h"

namespace {

constexpr int THREADS = 256, RUN = 16; /* bytes per thread */

struct JoinWork {
  int8_t *c;
  const int8_t *more;
  int64_t row_stride, more_stride, plane;
  unsigned across; /* blocks per row */
  int count;
  int number[DM_MODULI_MOST];
};

/* Adds four residues each. */
__device__ __forceinline__ unsigned add_four(unsigned x, unsigned y, int number) {
  unsigned sums = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int sum = (int8_t)(x >> 8 * i) + (int8_t)(y >> 8 * i);
    if (2 * sum >= number) sum -= number;
    if (2 * sum < -number) sum += number;
    sums |= (unsigned)(uint8_t)sum << 8 * i;
  }
  return sums;
}

__global__ void __launch_bounds__(THREADS) join(const __grid_constant__ JoinWork work) {
  const int64_t row = blockIdx.x / work.across;
  const int64_t at = ((int64_t)(blockIdx.x % work.across) * THREADS + threadIdx.x) * RUN;
  if (at >= work.count * work.plane) return;
  const int number = work.number[at / work.plane];
  uint4 *to = reinterpret_cast<uint4 *>(work.c + row * work.row_stride + at);
  const uint4 x = *to;
  const uint4 y = __ldcs(reinterpret_cast<const uint4 *>(work.more + row * work.more_stride + at));
  *to = {add_four(x.x, y.x, number), add_four(x.y, y.y, number), add_four(x.z, y.z, number),
         add_four(x.w, y.w, number)};
}

bool is_aligned(dm_view view, int64_t plane) {
  return (uintptr_t)view.base % RUN == 0 && plane % RUN == 0 &&
         (view.rows == 1 || view.row_stride % RUN == 0);
}

} // namespace

cudaError_t dm_kernels_residue_join(const dm_residue_sum *sum) {
  JoinWork work = {};
  work.c = static_cast<int8_t *>(sum->c.base);
  work.more = static_cast<const int8_t *>(sum->more.base);
  work.plane = sum->plane;
  work.row_stride = sum->c.row_stride, work.more_stride = sum->more.row_stride;
  work.count = sum->moduli->count;
  for (int x = 0; x < work.count; x++) work.number[x] = (int)sum->moduli->number[x];
  const int64_t across = divide_up(work.count * work.plane, (int64_t)THREADS * RUN);
  const int64_t blocks = across * sum->c.rows;
  if (!is_aligned(sum->c, sum->plane) || !is_aligned(sum->more, sum->plane) || blocks > INT32_MAX)
    return cudaErrorInvalidValue;
  if (blocks == 0) return cudaSuccess;
  work.across = (unsigned)across;
  join<<<(unsigned)blocks, THREADS, 0, sum->stream>>>(work);
  return cudaGetLastError();
}
