/* Products of whole matrices whose C is symmetric: half of C is computed, the rest is its image. */
#include "backend/cuda_gemm.h"
#include "backend/whole_product.h"
#include "kernels/kernels.h"

/* ---- a large C ----
 *
 * Squares on the diagonal are one batch. Below them are blocks as high as one square, two, four,
 * ...: those of one height are a batch, too, which fills the multiprocessors as one product of
 * their size does. The last block of each height may be lower.
 *
 * Batches of a large C are posted in turn in two streams, the largest first: one begins where
 * another leaves multiprocessors idle, and so its squares may be small (f32 8192 on an H200: 5 %
 * less time). With few blocks a batch would be too small for the GPU: a small C is multiplied in
 * full, or k is divided. */

enum {
  CUDA_SYMMETRIC_LARGE = 8192,
  CUDA_SIDE = 512, /* of squares, which are computed in full */
  SIDE_OF_LARGE = 256,
  SMALL = 2 * CUDA_SIDE
};

typedef struct half_product {
  dm_cuda *gpu;
  const dm_whole_product *whole; /* C by rows */
  int64_t side;                  /* of squares */
  cublasHandle_t handles[2];     /* of the streams */
} half_product;

/* COUNT blocks of C, of HEIGHT rows and WIDTH columns, the first one at (ROW, COL); each is STEP
 * rows and columns of C further on. */
static dm_status post_blocks(const half_product *h, int turn, int64_t row, int64_t col,
                             int64_t height, int64_t width, int64_t count, int64_t step) {
  const dm_whole_product *p = h->whole;
  dm_whole_product first = *p;
  if (height <= 0 || count <= 0) return DM_OK;
  first.a = dm_view_sub(p->a, row, 0, height, p->a.cols);
  first.b = dm_view_sub(p->b, 0, col, p->b.rows, width);
  first.c = dm_view_sub(p->c, row, col, height, width);
  return dm_cuda_post_products(h->gpu, h->handles[turn % 2], &first, count,
                               (dm_product_steps){step * p->a.row_stride, step * p->b.col_stride,
                                                  step * (p->c.row_stride + p->c.col_stride)});
}

static dm_status post_batches(const half_product *h) {
  const int64_t n = h->whole->c.rows, side = h->side, squares = n / side, rest = squares * side;
  int64_t height = side;
  int turn = 0;
  while (2 * height < n) height *= 2;
  for (; height >= side && height < n; height /= 2, turn++) {
    const int64_t count = n / (2 * height), col = count * 2 * height;
    DM_TRY(post_blocks(h, turn, height, 0, height, height, count, 2 * height));
    DM_TRY(post_blocks(h, turn, col + height, col, n - col - height, height, 1, 0));
  }
  DM_TRY(post_blocks(h, turn, 0, 0, side, side, squares, side));
  return post_blocks(h, turn + 1, rest, rest, n - rest, n - rest, 1, 0);
}

/* gpu->beside goes on from where IN is. */
static dm_status need_beside(dm_cuda *gpu, cudaStream_t in) {
  if (!gpu->beside) DM_CUDA(gpu, cudaStreamCreateWithFlags(&gpu->beside, cudaStreamNonBlocking));
  DM_TRY(dm_cuda_need_handle(gpu, &gpu->whole_beside, gpu->beside));
  return dm_cuda_order(gpu, in, gpu->beside);
}

static dm_status post_half(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t in) {
  half_product h = {gpu, p, CUDA_SIDE, {gpu->whole, gpu->whole}};
  if (p->c.rows < CUDA_SYMMETRIC_LARGE) return post_batches(&h);
  DM_TRY(need_beside(gpu, in));
  h.side = SIDE_OF_LARGE;
  h.handles[1] = gpu->whole_beside;
  dm_status status = post_batches(&h);
  return dm_status_first(status, dm_cuda_order(gpu, gpu->beside, in));
}

/* ---- few columns, and many rows ----
 *
 * Strips of C, each as wide as its triangle, are too few for the GPU, so k is divided into as many
 * lanes as fill it, each with a C of its own; lanes of one strip are a batch. Their sums are added
 * in f64 in the order of k.
 *
 * Sums that would be cut off (dm_compute.piece) go in rounds of short pieces, whose sums are added
 * up in f32.
 *
 * cuBLAS multiplies 16-bit elements at less than half of its speed if their rows are not aligned,
 * or have a number of columns that is not: such rows are copied with columns of zeros, as many at
 * once as PADDED_BYTES hold (bf16 65536 x 1001 on an H200: 1.3 ms without that, 1000 columns 0.5).
 */

enum {
  LANE_BYTES = 64 << 20, /* of all lanes together, or ... */
  LANES_OF_X = 2,        /* ... so large a part of X, but ... */
  MOST_LANE_BYTES = 256 << 20,
  MOST_LANES = 64,
  CUDA_WAVES = 16,   /* tiles for each multiprocessor */
  LEAST_PIECE = 512, /* of k */
  PADDED = 8,        /* columns */
  PADDED_BYTES = 1 << 30
};

/* Multiplications of C: with fewer, calls for strips cost more than half of C. */
static const int64_t LEAST_HALF = 1ll << 30, LEAST_HALF_OF_SHORT = 1ll << 36;

typedef struct deep_product {
  dm_cuda *gpu;
  const dm_whole_product *whole; /* C by rows, or what is read of A and B in its place */
  bool adds;                     /* to the lanes */
  int64_t rows;                  /* of k that are padded at once; 0: none */
  int64_t strip;                 /* rows of C */
  int64_t lanes, lane_step;
  int64_t piece; /* of k, for each lane in one round */
  dm_view sums;  /* of lane 0; the others follow */
  cublasHandle_t handles[2];
} deep_product;

/* Strips are low, for the sake of C's half; of 16-bit elements as high as cuBLAS's kernels for
 * these want them. From sweeps on an H200. */
static int64_t cuda_strip_of(const dm_whole_product *p) {
  const int64_t n = p->c.rows, size = dm_dtype_size(p->a.dtype);
  const bool of_short = size < 4;
  if (n * n < (of_short ? LEAST_HALF_OF_SHORT : LEAST_HALF) / p->a.cols) return n;
  if (of_short) return n <= 1024 ? CUDA_SIDE / 2 : CUDA_SIDE;
  return size <= 4 || (n > 512 && n <= 1024) ? CUDA_SIDE / 4 : CUDA_SIDE / 2;
}

/* Bytes for lanes: X is much larger if they are many. */
static int64_t lane_bytes(const dm_whole_product *p) {
  const int64_t of_x = p->a.rows * p->a.cols / LANES_OF_X * dm_dtype_size(p->a.dtype);
  return dm_max(LANE_BYTES, dm_min(of_x, MOST_LANE_BYTES));
}

/* Powers of two fill the GPU evenly: 24 lanes take as long as 16. */
static int64_t whole_power(int64_t lanes) {
  int64_t power = 1;
  while (2 * power <= lanes) power *= 2;
  return power;
}

/* Tiles of cuBLAS's kernels in one lane. */
static int64_t cuda_tiles_of(int64_t n, int64_t strip) {
  enum { CUDA_TILE = 128 };
  int64_t tiles = 0;
  for (int64_t i = 0; i < n; i += strip)
    tiles +=
        dm_ceil_div(dm_min(strip, n - i), CUDA_TILE) * dm_ceil_div(dm_min(n, i + strip), CUDA_TILE);
  return tiles;
}

/* Whether P is such a product; then how it is divided. */
static bool divide_depth(dm_cuda *gpu, const dm_whole_product *p, deep_product *d) {
  const int64_t n = p->c.rows, k = p->a.cols, row = dm_round_up(n, 32);
  const dm_dtype sum = dm_compute_sum(p->a.dtype);
  const int64_t longest = p->piece, strip = cuda_strip_of(p);
  if (n > DM_DEEP_COLUMNS || dm_dtype_is_integer(p->a.dtype)) return false;
  if (longest > 0 ? k <= longest : strip >= n || !dm_whole_is_deep(n, k) || k < 2 * LEAST_PIECE)
    return false;
  const int64_t fit = lane_bytes(p) / (n * row * dm_dtype_size(sum));
  const int64_t filled = dm_ceil_div(CUDA_WAVES * gpu->processors, cuda_tiles_of(n, strip));
  const int64_t lanes =
      whole_power(dm_min(dm_min(fit, dm_min(MOST_LANES, filled)), k / LEAST_PIECE));
  if (lanes < (longest > 0 ? 1 : 2)) return false;
  const int64_t rounds = longest > 0 ? dm_ceil_div(k, lanes * longest) : 1;
  *d = (deep_product){.gpu = gpu,
                      .whole = p,
                      .strip = strip,
                      .lanes = lanes,
                      .lane_step = n * row,
                      .piece = k / (lanes * rounds) / 8 * 8,
                      .sums = dm_view_strided(NULL, sum, DM_DEVICE, n, n, row),
                      .handles = {gpu->whole, gpu->whole_beside}};
  return true;
}

/* COUNT lanes' parts of k, of LENGTH each, from FIRST on, of strip I. */
static dm_status post_strip(const deep_product *d, int64_t i, int64_t first, int64_t length,
                            int64_t count, bool adds) {
  const dm_whole_product *p = d->whole;
  const int64_t height = dm_min(d->strip, p->c.rows - i), width = i + height;
  dm_whole_product strip = *p;
  strip.a = dm_view_sub(p->a, i, first, height, length);
  strip.b = dm_view_sub(p->b, first, 0, length, width);
  strip.c = dm_view_sub(d->sums, i, 0, height, width);
  strip.alpha[0] = 1.0, strip.alpha[1] = 0.0;
  strip.beta[0] = adds ? 1.0 : 0.0, strip.beta[1] = 0.0;
  return dm_cuda_post_products(
      d->gpu, d->handles[i / d->strip % 2], &strip, count,
      (dm_product_steps){length * p->a.col_stride, length * p->b.row_stride, d->lane_step});
}

/* What is left of k is added in part of a round, and then in lane 0. */
static dm_status post_lanes(const deep_product *d) {
  const int64_t k = d->whole->a.cols;
  for (int64_t first = 0; first < k;) {
    const int64_t whole = dm_min(d->lanes, (k - first) / d->piece), count = dm_max(1, whole);
    const int64_t length = whole > 0 ? d->piece : k - first;
    for (int64_t i = 0; i < d->whole->c.rows; i += d->strip)
      DM_TRY(post_strip(d, i, first, length, count, d->adds || first > 0));
    first += count * length;
  }
  return DM_OK;
}

/* Every second strip in the other stream. */
static dm_status post_lanes_beside(deep_product *d, cudaStream_t in) {
  dm_cuda *gpu = d->gpu;
  DM_TRY(need_beside(gpu, in));
  d->handles[1] = gpu->whole_beside;
  dm_status status = post_lanes(d);
  return dm_status_first(status, dm_cuda_order(gpu, gpu->beside, in));
}

static dm_status post_all_lanes(deep_product *d, cudaStream_t in) {
  return d->strip < d->whole->c.rows ? post_lanes_beside(d, in) : post_lanes(d);
}

/* A and B are the same rows. */
static bool wants_padding(const dm_whole_product *p) {
  const dm_view rows = p->b, lines = dm_view_transpose(p->a);
  return dm_dtype_size(rows.dtype) == 2 && rows.col_stride == 1 && lines.base == rows.base &&
         lines.row_stride == rows.row_stride && lines.col_stride == rows.col_stride &&
         !dm_cuda_is_aligned(rows);
}

/* P with as many columns as cuBLAS prefers. Neither A and B nor C are there. */
static dm_whole_product cuda_padded(const dm_whole_product *p) {
  dm_whole_product padded = *p;
  const int64_t n = dm_round_up(p->c.rows, PADDED);
  padded.a.rows = padded.b.cols = padded.c.rows = padded.c.cols = n;
  return padded;
}

/* Whether P, of which PADDED is the padded form, is divided, and the GPU has room for its rows. */
static bool divide_padded(dm_cuda *gpu, const dm_whole_product *p, const dm_whole_product *padded,
                          deep_product *d) {
  if (!wants_padding(p) || !divide_depth(gpu, padded, d)) return false;
  const int64_t row = dm_kernels_padded_stride(p->b) * dm_dtype_size(p->b.dtype);
  const int64_t round = d->lanes * d->piece;
  d->rows = dm_min(p->b.rows, dm_max(1, PADDED_BYTES / row / round) * round);
  dm_status status = dm_cuda_grow(gpu, &gpu->padded, d->rows * row);
  const bool fits = !status;
  dm_status_free(status);
  return fits;
}

/* The lanes of P, which D has in padded form. */
static dm_status post_padded(deep_product *d, const dm_whole_product *p, cudaStream_t in) {
  dm_cuda *gpu = d->gpu;
  dm_whole_product part = *d->whole;
  const int64_t n = part.c.rows, stride = dm_kernels_padded_stride(p->b), k = p->b.rows;
  for (int64_t first = 0; first < k; first += d->rows) {
    const dm_view from = dm_view_sub(p->b, first, 0, dm_min(d->rows, k - first), p->b.cols);
    DM_CUDA(gpu, dm_kernels_pad(from, n, gpu->padded.memory, in));
    part.b = dm_view_strided(gpu->padded.memory, p->b.dtype, DM_DEVICE, from.rows, n, stride);
    part.a = dm_view_transpose(part.b);
    d->whole = &part;
    d->adds = first > 0;
    DM_TRY(post_all_lanes(d, in));
  }
  return DM_OK;
}

/* Calls in different streams of the caller share the lanes, one after another. */
static dm_status post_deep(deep_product *d, const dm_whole_product *p, cudaStream_t in) {
  dm_cuda *gpu = d->gpu;
  const int64_t bytes = d->lanes * d->lane_step * dm_dtype_size(d->sums.dtype);
  DM_TRY(dm_cuda_grow(gpu, &gpu->lanes_of_k, bytes));
  if (!gpu->summed_lanes)
    DM_CUDA(gpu, cudaEventCreateWithFlags(&gpu->summed_lanes, cudaEventDisableTiming));
  DM_CUDA(gpu, cudaStreamWaitEvent(in, gpu->summed_lanes, 0));
  d->sums.base = gpu->lanes_of_k.memory;
  DM_TRY(d->rows > 0 ? post_padded(d, p, in) : post_all_lanes(d, in));
  const dm_epilogue work = {.c = p->c,
                            .sums = dm_view_sub(d->sums, 0, 0, p->c.rows, p->c.cols),
                            .old = p->c,
                            .count = d->lanes,
                            .step = d->lane_step,
                            .lower = true,
                            .alpha = {p->alpha[0], p->alpha[1]},
                            .beta = {p->beta[0], p->beta[1]},
                            .stream = in};
  DM_CUDA(gpu, dm_kernels_epilogue(&work));
  DM_CUDA(gpu, cudaEventRecord(gpu->summed_lanes, in));
  return DM_OK;
}

dm_status dm_cuda_post_symmetric(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t stream) {
  const dm_whole_product by_rows = dm_whole_by_rows(p);
  const dm_whole_product padded = cuda_padded(&by_rows);
  deep_product deep;
  if (divide_padded(gpu, &by_rows, &padded, &deep) || divide_depth(gpu, &by_rows, &deep))
    DM_TRY(post_deep(&deep, &by_rows, stream));
  else if (by_rows.c.rows > SMALL)
    DM_TRY(post_half(gpu, &by_rows, stream));
  else
    DM_TRY(dm_cuda_post_products(gpu, gpu->whole, &by_rows, 1, (dm_product_steps){0}));
  DM_CUDA(gpu, dm_kernels_mirror(by_rows.c, 0, dm_whole_is_hermitian(p), stream));
  return DM_OK;
}
