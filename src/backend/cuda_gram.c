/* X^T X of f32 with many rows, from f16: k is divided among lanes, and X is split once for both
 * operands. */
#include <stddef.h>

#include "backend/cuda_gemm.h"
#include "backend/whole_product.h"
#include "kernels/kernels.h"
#include "kernels/split_kernels.h"

enum { SPLIT_LANES = 32, SPLIT_BYTES = 1 << 30 /* of parts of X at once */ };

/* How X is divided: in rounds, each into lanes. */
typedef struct split_gram {
  dm_cuda *gpu;
  const dm_whole_product *whole; /* C by rows */
  dm_split_lanes lanes;
  int64_t stride, step; /* elements from row to row of parts, and of C */
  int64_t of_all;       /* lanes of all rounds */
  cudaStream_t stream;
  /* in gpu->scratch: */
  dm_split_line *lines; /* of all lanes */
  int32_t *exponents;   /* of one round, as are the following */
  char *high, *low;
  float *sums;
} split_gram;

bool dm_cuda_splits_gram(const dm_cuda *gpu, const dm_whole_product *p) {
  const dm_view x = p->b, turned = dm_view_transpose(p->a);
  const bool same = turned.base == x.base && turned.rows == x.rows && turned.cols == x.cols &&
                    turned.row_stride == x.row_stride && turned.col_stride == x.col_stride;
  return gpu->splits && !gpu->kernel && gpu->tile == 0 && p->symmetric && p->entries <= 1 && same &&
         x.dtype == DM_F32 && p->c.dtype == DM_F32 && x.col_stride == 1 &&
         dm_whole_is_deep(x.cols, x.rows);
}

static split_gram divide_split_rows(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t stream) {
  const int64_t n = p->b.cols, k = p->b.rows;
  split_gram g = {.gpu = gpu,
                  .whole = p,
                  .stride = dm_round_up(n, DM_SPLIT_ROW),
                  .step = dm_round_up(n, 32),
                  .stream = stream};
  const int64_t most = dm_min(SPLIT_LANES, dm_ceil_div(k, DM_SPLIT_BLOCK));
  g.lanes.count = dm_kernels_split_lanes(n, (int)most, gpu->processors);
  g.lanes.rows = dm_round_up(n, DM_SPLIT_LANE_ROWS);
  const int64_t row = 2 * g.stride * (int64_t)sizeof(uint16_t);
  const int64_t at_once = dm_min(SPLIT_BYTES / row, (int64_t)g.lanes.count * DM_SPLIT_DEPTH);
  const int64_t rounds = dm_ceil_div(k, at_once / DM_SPLIT_BLOCK * DM_SPLIT_BLOCK);
  g.lanes.depth = dm_round_up(dm_ceil_div(k, rounds * g.lanes.count), DM_SPLIT_BLOCK);
  g.of_all = dm_ceil_div(k, g.lanes.depth);
  return g;
}

static dm_status need_split_room(split_gram *g) {
  const int64_t aligned = 128;
  const int64_t lines = dm_round_up(g->of_all * g->lanes.rows * (int64_t)sizeof *g->lines, aligned);
  const int64_t of_round = g->lanes.count * g->lanes.rows;
  const int64_t exponents = dm_round_up(of_round * (int64_t)sizeof *g->exponents, aligned);
  const int64_t part = g->lanes.count * g->lanes.depth * g->stride * (int64_t)sizeof(uint16_t);
  const int64_t sums = of_round * g->step * (int64_t)sizeof *g->sums;
  DM_TRY(dm_cuda_grow(g->gpu, &g->gpu->scratch, lines + exponents + 2 * part + sums));
  char *at = g->gpu->scratch.memory;
  g->lines = (dm_split_line *)(void *)at;
  g->exponents = (int32_t *)(void *)(at += lines);
  g->high = at += exponents;
  g->low = at += part;
  g->sums = (float *)(void *)(at + part);
  return DM_OK;
}

/* The columns of ROWS rows of X from FIRST on. */
static dm_split split_of(const split_gram *g, int64_t first, int64_t rows) {
  const int64_t n = g->whole->b.cols;
  return (dm_split){.to = {.high = g->high,
                           .low = g->low,
                           .rows = rows,
                           .cols = n,
                           .stride = g->stride,
                           .exponents = g->exponents},
                    .from = dm_view_sub(g->whole->b, first, 0, rows, n),
                    .lines = g->lines + first / g->lanes.depth * g->lanes.rows,
                    .depth = g->lanes.depth,
                    .step = g->lanes.rows,
                    .stream = g->stream};
}

/* *SUITS: each column has an exponent in each lane. Else all lines are counted as native. */
static dm_status look_at_columns(const split_gram *g, bool *suits) {
  dm_cuda *gpu = g->gpu;
  dm_split_count *count = gpu->natively.memory, found;
  const int64_t lines = g->of_all * g->lanes.rows;
  const dm_split all = split_of(g, 0, g->whole->b.rows);
  DM_CUDA(gpu, cudaMemsetAsync(g->lines, 0, (size_t)lines * sizeof *g->lines, g->stream));
  DM_CUDA(gpu, cudaMemsetAsync(count, 0, offsetof(dm_split_count, all), g->stream));
  DM_CUDA(gpu, dm_kernels_split_look(&all));
  DM_CUDA(gpu, dm_kernels_split_count(g->lines, lines, count, g->stream));
  DM_CUDA(gpu, cudaMemcpyAsync(&found, count, sizeof found, cudaMemcpyDeviceToHost, g->stream));
  DM_CUDA(gpu, cudaStreamSynchronize(g->stream));
  *suits = found.now == 0;
  if (*suits) return DM_OK;
  found.all += (unsigned long long)(g->of_all * g->whole->b.cols) - found.now;
  DM_CUDA(gpu, cudaMemcpyAsync(count, &found, sizeof found, cudaMemcpyHostToDevice, g->stream));
  DM_CUDA(gpu, cudaStreamSynchronize(g->stream));
  return DM_OK;
}

static dm_status multiply_rounds(const split_gram *g) {
  dm_cuda *gpu = g->gpu;
  const int64_t k = g->whole->b.rows, round = g->lanes.count * g->lanes.depth;
  const int64_t rows = g->lanes.count * g->lanes.rows;
  const dm_view sums = dm_view_strided(g->sums, DM_F32, DM_DEVICE, rows, g->whole->b.cols, g->step);
  for (int64_t first = 0; first < k; first += round) {
    const dm_split split = split_of(g, first, dm_min(round, k - first));
    const dm_split_product product = {.c = sums,
                                      .b = split.to,
                                      .lanes = g->lanes,
                                      .accumulate = first > 0,
                                      .processors = gpu->processors,
                                      .stream = g->stream};
    DM_CUDA(gpu, cudaMemsetAsync(g->exponents, 0, (size_t)rows * sizeof *g->exponents, g->stream));
    DM_CUDA(gpu, dm_kernels_split_columns(&split));
    DM_CUDA(gpu, dm_kernels_split_product(&product));
  }
  return DM_OK;
}

dm_status dm_cuda_post_split_gram(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t stream,
                                  bool *taken) {
  const dm_whole_product by_rows = dm_whole_by_rows(p);
  const int64_t n = p->c.rows;
  *taken = false;
  if (!dm_cuda_splits_gram(gpu, &by_rows)) return DM_OK;
  split_gram g = divide_split_rows(gpu, &by_rows, stream);
  DM_TRY(need_split_room(&g));
  DM_TRY(look_at_columns(&g, taken));
  if (!*taken) return DM_OK;
  DM_TRY(multiply_rounds(&g));
  const dm_epilogue work = {.c = by_rows.c,
                            .sums = dm_view_strided(g.sums, DM_F32, DM_DEVICE, n, n, g.step),
                            .old = by_rows.c,
                            .count = g.lanes.count,
                            .step = g.lanes.rows * g.step,
                            .lower = true,
                            .alpha = {p->alpha[0], p->alpha[1]},
                            .beta = {p->beta[0], p->beta[1]},
                            .stream = stream};
  DM_CUDA(gpu, dm_kernels_epilogue(&work));
  DM_CUDA(gpu, dm_kernels_mirror(by_rows.c, 0, false, stream));
  return DM_OK;
}
