/* Products of f32 and c64 from f16, on the GPU: parts of k are split and multiplied, then completed
 * for lines that cannot be split. All steps are queued in the compute lane; the host makes no
 * decision. */
#include "backend/cuda_state.h"

#include <stddef.h>

#include "core/checked.h"
#include "kernels/split_kernels.h"

enum { CUDA_ALIGNED = 128, HALF = 2 /* bytes of f16 */ };

_Static_assert(DM_SPLIT_ROW *HALF == CUDA_ALIGNED, "rows of parts begin aligned");

dm_status dm_cuda_open_split(dm_cuda *gpu) {
  gpu->splits = gpu->mode.splits;
  if (!gpu->splits) return DM_OK;
  DM_TRY(dm_cuda_grow(gpu, &gpu->natively, sizeof(dm_split_count)));
  DM_CUDA(gpu, cudaMemset(gpu->natively.memory, 0, sizeof(dm_split_count)));
  return DM_OK;
}

/* Layout of the scratch memory for products of one depth of k. */
typedef struct cuda_split_room {
  int64_t lines, rows, cols;       /* offsets: ranges of the columns of B, exponents, ... */
  int64_t few_rows, few_cols;      /* ... lists of rows and columns, ... */
  int64_t a, a_bytes, b, b_bytes;  /* ... and parts, with the bytes of each */
  int64_t a_stride, b_stride, all; /* elements from row to row; bytes in all */
} cuda_split_room;

static cuda_split_room room_of(int64_t m, int64_t n, int64_t k) {
  cuda_split_room r = {.a_stride = dm_round_up(k, DM_SPLIT_ROW),
                       .b_stride = dm_round_up(n, DM_SPLIT_ROW)};
  r.rows = r.lines + n * (int64_t)sizeof(dm_split_line);
  r.cols = r.rows + m * (int64_t)sizeof(int32_t);
  r.few_rows = r.cols + n * (int64_t)sizeof(int32_t);
  r.few_cols = r.few_rows + m * (int64_t)sizeof(int32_t);
  r.a = dm_round_up(r.few_cols + n * (int64_t)sizeof(int32_t), CUDA_ALIGNED);
  r.a_bytes = m * r.a_stride * HALF;
  r.b = r.a + 2 * r.a_bytes;
  r.b_bytes = k * r.b_stride * HALF;
  r.all = r.b + 2 * r.b_bytes;
  return r;
}

static dm_split_parts parts_at(char *memory, int64_t at, int64_t bytes, int64_t stride,
                               int64_t exponents, int64_t rows, int64_t cols) {
  return (dm_split_parts){.high = memory + at,
                          .low = memory + at + bytes,
                          .rows = rows,
                          .cols = cols,
                          .stride = stride,
                          .exponents = (int32_t *)(void *)(memory + exponents)};
}

/* C and A are real; complex B has half the columns. */
static dm_status cuda_split_multiply_part(dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                          bool accumulate) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  const cuda_split_room r = room_of(c.rows, c.cols, a.cols);
  char *memory = gpu->scratch.memory;
  dm_split_count *count = gpu->natively.memory;
  dm_split_line *lines = (dm_split_line *)(void *)(memory + r.lines);
  const dm_split of_a = {.to = parts_at(memory, r.a, r.a_bytes, r.a_stride, r.rows, c.rows, a.cols),
                         .from = a,
                         .count = count,
                         .stream = stream};
  const dm_split of_b = {.to = parts_at(memory, r.b, r.b_bytes, r.b_stride, r.cols, a.cols, c.cols),
                         .from = b,
                         .lines = lines,
                         .count = count,
                         .stream = stream};
  const dm_split_product product = {.c = c,
                                    .a = of_a.to,
                                    .b = of_b.to,
                                    .accumulate = accumulate,
                                    .processors = gpu->processors,
                                    .stream = stream};
  const dm_split_native native = {.c = c,
                                  .a = a,
                                  .b = b,
                                  .rows = of_a.to.exponents,
                                  .cols = of_b.to.exponents,
                                  .few_rows = (int32_t *)(void *)(memory + r.few_rows),
                                  .few_cols = (int32_t *)(void *)(memory + r.few_cols),
                                  .count = count,
                                  .stream = stream};
  DM_CUDA(gpu, cudaMemsetAsync(count, 0, offsetof(dm_split_count, all), stream));
  DM_CUDA(gpu, cudaMemsetAsync(lines, 0, (size_t)c.cols * sizeof *lines, stream));
  DM_CUDA(gpu, dm_kernels_split_rows(&of_a));
  DM_CUDA(gpu, dm_kernels_split_look(&of_b));
  DM_CUDA(gpu, dm_kernels_split_columns(&of_b));
  DM_CUDA(gpu, dm_kernels_split_product(&product));
  DM_CUDA(gpu, dm_kernels_split_native(&native));
  return DM_OK;
}

dm_status dm_cuda_multiply_split(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  const int64_t each = dm_dtype_is_complex(b.dtype) ? 2 : 1; /* real rows per row of B */
  c = dm_view_parts(c);
  a = dm_view_parts(a);
  const int64_t k = a.cols, parts = dm_ceil_div(k, DM_SPLIT_DEPTH);
  const int64_t depth = dm_min(k, dm_round_up(dm_ceil_div(k, parts), DM_SPLIT_ROW));
  DM_TRY(dm_cuda_grow(gpu, &gpu->scratch, room_of(c.rows, c.cols, depth).all));
  for (int64_t at = 0; at < k; at += depth) {
    const int64_t deep = dm_min(depth, k - at);
    DM_TRY(cuda_split_multiply_part(gpu, c, dm_view_sub(a, 0, at, a.rows, deep),
                                    dm_view_sub(b, at / each, 0, deep / each, b.cols),
                                    accumulate || at > 0));
  }
  return DM_OK;
}

dm_status dm_cuda_natively(dm_backend *backend, int64_t *lines) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_split_count count = {0};
  if (!gpu->splits) return DM_OK;
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->lanes[DM_COMPUTE].stream));
  DM_CUDA(gpu, cudaMemcpy(&count, gpu->natively.memory, sizeof count, cudaMemcpyDeviceToHost));
  *lines = (int64_t)count.all;
  return DM_OK;
}
