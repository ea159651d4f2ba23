/* A product of whole matrices with its verification: everything is posted at once, and only the
 * findings reach the host. */
#include "backend/verify_sums.h"

#include "backend/cuda_state.h"
#include "core/checked.h"
#include "kernels/verify_kernels.h"

/* One product: its vectors and scratch are in gpu->checking. */
typedef struct cuda_checking {
  dm_cuda *gpu;
  const dm_whole_product *whole;
  const dm_verified_ranks *ranks; /* NULL: one process */
  const dm_verified_product *product;
  dm_view sample; /* the rows of op(B) from which the weights follow */
  dm_judge_work work;
  double *col_squares, *t, *y; /* sums over the ranks: n; k numbers of the wide type, then k sizes;
                                * as many for the rows of C if op(A) is divided */
  double *part, *part_sizes; /* this rank's parts of w and its sizes, and of those of t, aligned */
  bool early;                /* products may run before the sums of A and B are complete; ... */
  bool overlaps;             /* these are taken beside products, ... */
  int64_t few;               /* ... by so many blocks at once, or with 0 any number */
  int64_t most;              /* of the next sums */
  int64_t gram;              /* parts of the sums of X^T X, for which X is read once; else 0 */
} cuda_checking;

/* ---- memory ---- */

/* What a verification found, in memory that the GPU writes and the host reads; and in GPU memory
 * the counter of blocks, which is 0 between launches. */
static dm_status need_judged(dm_cuda *gpu) {
  if (!gpu->judged)
    DM_TRY(dm_cuda_alloc(&gpu->base, DM_HOST, sizeof(dm_verified_found), (void **)&gpu->judged));
  if (gpu->turn) return DM_OK;
  DM_TRY(dm_cuda_alloc(&gpu->base, DM_DEVICE, sizeof *gpu->turn, (void **)&gpu->turn));
  DM_CUDA(gpu, cudaMemset(gpu->turn, 0, sizeof *gpu->turn));
  DM_CUDA(gpu, cudaStreamSynchronize(NULL)); /* which our streams do not wait for */
  return DM_OK;
}

/* Places in an area, or with BASE NULL only their bytes. */
typedef struct cuda_layout {
  char *base;
  int64_t used;
} cuda_layout;

static void *cuda_place(cuda_layout *l, int64_t bytes) {
  char *at = l->base ? l->base + l->used : NULL;
  l->used += dm_round_up(bytes, 256);
  return at;
}

/* Room for PARTS sums of M's rows. */
static void place_parts(const cuda_checking *c, cuda_layout *l, dm_view m, int64_t parts,
                        dm_part_sums *s) {
  s->parts = parts;
  const int64_t count = s->parts * m.rows, wide = 8 * c->work.width;
  char *at = cuda_place(l, count * (wide + 16));
  s->sums = at;
  s->squares = at ? (double *)(void *)(at + count * wide) : NULL;
  s->norms = at ? s->squares + count : NULL;
}

static void place_sums(const cuda_checking *c, cuda_layout *l, dm_view m, dm_part_sums *s) {
  const int64_t parts = dm_view_is_empty(m) ? 0 : dm_kernels_probe_parts(m, c->gpu->processors);
  place_parts(c, l, m, parts, s);
}

static void place_all(cuda_checking *c, cuda_layout *l) {
  const dm_whole_product *w = c->whole;
  dm_judge_work *k = &c->work;
  k->found = cuda_place(l, dm_kernels_judge_parts(k->rows) * (int64_t)sizeof *k->found);
  k->columns = cuda_place(l, dm_kernels_judge_parts(k->cols) * (int64_t)sizeof *k->columns);
  k->w = cuda_place(l, 8 * k->width * k->cols);
  k->sizes_w = cuda_place(l, 8 * k->cols);
  const int64_t entries = k->depth / k->entry_depth;
  k->t = cuda_place(l, 8 * k->width * k->t_step * entries);
  k->sizes_t = cuda_place(l, 8 * k->t_step * entries);
  k->columns_of_b.parts =
      dm_view_is_empty(c->sample) ? 0 : dm_kernels_scan_parts(c->sample, c->gpu->processors);
  k->columns_of_b.squares = cuda_place(l, 8 * k->columns_of_b.parts * k->cols);
  if (c->gram > 0) {
    place_parts(c, l, w->a, c->gram, &k->a);
  } else {
    place_sums(c, l, w->b, &k->b);
    place_sums(c, l, w->a, &k->a);
  }
  place_sums(c, l, w->c, &k->c);
  if (k->factors.reads_c) place_sums(c, l, w->c, &k->old);
  if (!c->ranks) return;
  c->col_squares = cuda_place(l, 8 * k->cols);
  if (c->gram == 0) c->t = cuda_place(l, 8 * (k->width + 1) * k->depth);
  c->part = cuda_place(l, 8 * k->width * dm_max(w->b.cols, w->a.cols));
  c->part_sizes = cuda_place(l, 8 * dm_max(w->b.cols, w->a.cols));
  if (c->ranks->part) c->y = cuda_place(l, 8 * (k->width + 1) * c->ranks->rows);
}

static dm_status cuda_open_memory(cuda_checking *c) {
  cuda_layout needed = {0};
  place_all(c, &needed);
  DM_TRY(dm_cuda_grow(c->gpu, &c->gpu->checking, needed.used));
  place_all(c, &(cuda_layout){.base = c->gpu->checking.memory});
  return DM_OK;
}

/* ---- sums ---- */

static dm_status probe_entries(const cuda_checking *c, dm_view m, int64_t entries, const double *x,
                               const double *sizes, const dm_part_sums *to, bool norms) {
  const dm_probe_work work = {.matrix = m,
                              .x = x,
                              .entries = entries,
                              .x_step = c->work.t_step,
                              .parts = to->parts,
                              .scratch = (void *)(uintptr_t)to->sums,
                              .squares = (double *)(uintptr_t)to->squares,
                              .sizes = sizes,
                              .norms = norms ? (double *)(uintptr_t)to->norms : NULL,
                              .most = norms ? 0 : c->most,
                              .stream = c->work.stream};
  DM_CUDA(c->gpu, dm_kernels_probe(&work));
  return DM_OK;
}

/* NORMS: of C, which no product runs beside. */
static dm_status cuda_probe(const cuda_checking *c, dm_view m, const double *x, const double *sizes,
                            const dm_part_sums *to, bool norms) {
  return probe_entries(c, m, 1, x, sizes, to, norms);
}

static dm_status cuda_weigh(cuda_checking *c) {
  dm_cuda *gpu = c->gpu;
  const dm_judge_work *k = &c->work;
  if (!k->exact)
    DM_CUDA(gpu, dm_kernels_scan(c->sample, k->columns_of_b.parts, c->most,
                                 (double *)(uintptr_t)k->columns_of_b.squares, NULL, k->stream));
  DM_CUDA(gpu, dm_kernels_weigh(k));
  if (c->overlaps) DM_TRY(dm_cuda_order(gpu, k->stream, gpu->lanes[DM_COMPUTE].stream));
  return DM_OK;
}

/* A (B w). */
static dm_status cuda_add_a(const cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  DM_CUDA(c->gpu, dm_kernels_take_t(k));
  return probe_entries(c, c->whole->a, c->whole->entries, k->t, k->sizes_t, &k->a, false);
}

/* B w, and A (B w). */
static dm_status cuda_add_both(cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  const dm_whole_product *w = c->whole;
  DM_TRY(cuda_weigh(c));
  if (c->gram > 0) {
    DM_CUDA(c->gpu, dm_kernels_probe_gram(k, w->b, NULL, NULL));
    return DM_OK;
  }
  DM_TRY(cuda_probe(c, w->b, k->w, k->sizes_w, &k->b, false));
  return cuda_add_a(c);
}

/* ---- several ranks ---- */

/* Room for vectors on the host, and one number more. */
static dm_status need_summed(const cuda_checking *c) {
  dm_cuda *gpu = c->gpu;
  const dm_judge_work *k = &c->work;
  const int64_t lines = c->ranks->part ? dm_max(k->depth, c->ranks->rows) : k->depth;
  const int64_t bytes = 8 * (dm_max(k->cols, (k->width + 1) * lines) + 1);
  if (!gpu->brought) DM_CUDA(gpu, cudaEventCreateWithFlags(&gpu->brought, cudaEventDisableTiming));
  if (gpu->summed_bytes >= bytes) return DM_OK;
  dm_cuda_release(&gpu->base, DM_HOST, gpu->summed);
  gpu->summed = NULL;
  gpu->summed_bytes = 0;
  DM_TRY(dm_cuda_alloc(&gpu->base, DM_HOST, bytes, &gpu->summed));
  gpu->summed_bytes = bytes;
  return DM_OK;
}

static dm_status bring_vector(const cuda_checking *c, const double *vector, int64_t bytes) {
  dm_cuda *gpu = c->gpu;
  DM_CUDA(gpu, cudaMemcpyAsync(gpu->summed, vector, (size_t)bytes, cudaMemcpyDeviceToHost,
                               c->work.stream));
  DM_CUDA(gpu, cudaEventRecord(gpu->brought, c->work.stream));
  cudaError_t state;
  while ((state = cudaEventQuery(gpu->brought)) == cudaErrorNotReady) {
    (void)cudaGetLastError(); /* else the next launch would report it */
    c->ranks->advance(c->ranks->context);
  }
  DM_CUDA(gpu, state);
  return DM_OK;
}

/* Sums VECTOR, which this rank has unless it comes with an error, over the ranks. */
static dm_status sum_vector(const cuda_checking *c, dm_status mine, double *vector, int64_t count) {
  dm_cuda *gpu = c->gpu;
  if (!mine) mine = bring_vector(c, vector, 8 * count);
  DM_TRY(c->ranks->sum(c->ranks->context, mine, gpu->summed, count, c->work.exact));
  DM_CUDA(gpu, cudaMemcpyAsync(vector, gpu->summed, (size_t)(8 * count), cudaMemcpyHostToDevice,
                               c->work.stream));
  return DM_OK;
}

static dm_status scan_part(const cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  const dm_part_sums *of = &k->columns_of_b;
  DM_CUDA(c->gpu, cudaMemsetAsync(c->col_squares, 0, (size_t)(8 * k->cols), k->stream));
  if (dm_view_is_empty(c->sample)) return DM_OK;
  DM_CUDA(c->gpu, dm_kernels_scan(c->sample, of->parts, c->most, (double *)(uintptr_t)of->squares,
                                  c->col_squares + c->ranks->col, k->stream));
  return DM_OK;
}

/* Kernels load vectors 16 bytes at a time: *x becomes COPY if it does not begin at a multiple. */
static dm_status cuda_align(const cuda_checking *c, const double **x, int64_t count, double *copy) {
  if ((uintptr_t)*x % 16 == 0) return DM_OK;
  DM_CUDA(c->gpu,
          cudaMemcpyAsync(copy, *x, (size_t)(8 * count), cudaMemcpyDeviceToDevice, c->work.stream));
  *x = copy;
  return DM_OK;
}

/* Numbers from ROW on, of ROWS, and behind them their sizes, unless integers: PART, which begins at
 * (ROW, COL) of its matrix, times X with SIZES. */
static dm_status probe_part(const cuda_checking *c, dm_view part, int64_t row, int64_t col,
                            const double *x, const double *sizes, const dm_part_sums *scratch,
                            int64_t rows, double *sums) {
  const dm_judge_work *k = &c->work;
  const int64_t numbers = k->width * rows;
  DM_CUDA(c->gpu, cudaMemsetAsync(sums, 0, (size_t)(8 * (numbers + rows)), k->stream));
  if (dm_view_is_empty(part)) return DM_OK;
  x += col * k->width;
  sizes = k->exact ? NULL : sizes + col;
  DM_TRY(cuda_align(c, &x, k->width * part.cols, c->part));
  DM_TRY(cuda_align(c, &sizes, part.cols, c->part_sizes));
  const dm_probe_work work = {.matrix = part,
                              .x = x,
                              .parts = scratch->parts,
                              .scratch = (void *)(uintptr_t)scratch->sums,
                              .sums = sums + row * k->width,
                              .squares = k->exact ? NULL : sums + numbers + row,
                              .sizes = sizes,
                              .most = c->most,
                              .stream = k->stream};
  DM_CUDA(c->gpu, dm_kernels_probe(&work));
  return DM_OK;
}

static dm_status probe_b(const cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  DM_CUDA(c->gpu, dm_kernels_weigh(k));
  return probe_part(c, c->whole->b, c->ranks->row, c->ranks->col, k->w, k->sizes_w, &k->b, k->depth,
                    c->t);
}

static dm_status probe_a(const cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  DM_CUDA(c->gpu, dm_kernels_take_t(k));
  return probe_part(c, c->whole->a, c->ranks->row_of_a, c->ranks->col_of_a, k->t, k->sizes_t, &k->a,
                    c->ranks->rows, c->y);
}

/* The squares of op(B)'s columns, a sum of all ranks' parts. */
static dm_status add_squares(cuda_checking *c) {
  dm_judge_work *k = &c->work;
  const dm_status scanned = k->exact ? DM_OK : scan_part(c);
  c->most = c->ranks->begin(c->ranks->context, c->early) ? c->few : 0;
  if (!k->exact) DM_TRY(sum_vector(c, scanned, c->col_squares, k->cols));
  k->columns_of_b = (dm_part_sums){.parts = 1, .squares = c->col_squares};
  return DM_OK;
}

/* B w is, too. */
static dm_status add_part_of_b(cuda_checking *c) {
  dm_judge_work *k = &c->work;
  const int64_t numbers = k->width * k->depth;
  DM_TRY(sum_vector(c, probe_b(c), c->t, k->exact ? numbers : numbers + k->depth));
  k->b = (dm_part_sums){.parts = 1, .sums = c->t, .squares = c->t + numbers};
  return DM_OK;
}

/* This rank's part of X^T (X w), to which B w of other ranks adds nothing. */
static dm_status probe_part_of_gram(const cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  const int64_t rows = c->ranks->rows, numbers = k->width * rows;
  DM_CUDA(c->gpu, dm_kernels_weigh(k));
  DM_CUDA(c->gpu, cudaMemsetAsync(c->y, 0, (size_t)(8 * (numbers + rows)), k->stream));
  DM_CUDA(c->gpu, dm_kernels_probe_gram(k, c->whole->b, c->y, c->y + numbers));
  return DM_OK;
}

/* The others may sum up their parts of B w meanwhile. */
static dm_status agree_on_b(const cuda_checking *c, dm_status mine) {
  return c->ranks->sum(c->ranks->context, mine, NULL, 0, false);
}

/* The same of A t, of which this rank compares the rows that it has of C; in Y already if B w is
 * not needed. */
static dm_status add_part_of_a(cuda_checking *c) {
  dm_judge_work *k = &c->work;
  const dm_verified_ranks *ranks = c->ranks;
  const int64_t numbers = k->width * ranks->rows;
  DM_TRY(sum_vector(c, c->gram > 0 ? DM_OK : probe_a(c), c->y,
                    k->exact ? numbers : numbers + ranks->rows));
  k->a = (dm_part_sums){
      .parts = 1, .sums = c->y + ranks->first * k->width, .squares = c->y + numbers + ranks->first};
  return DM_OK;
}

/* ---- the product ---- */

static dm_status cuda_add_operands(cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  if (!c->ranks) {
    DM_TRY(cuda_add_both(c));
  } else {
    DM_TRY(add_squares(c));
    DM_TRY(c->gram > 0 ? agree_on_b(c, probe_part_of_gram(c)) : add_part_of_b(c));
    DM_TRY(c->ranks->part ? add_part_of_a(c) : cuda_add_a(c));
  }
  return k->factors.reads_c ? cuda_probe(c, c->whole->c, k->w, k->sizes_w, &k->old, false) : DM_OK;
}

/* C w, in STREAM: beside A (B w) if that is not taken before the product. */
static dm_status cuda_add_product(cuda_checking *c, cudaStream_t stream) {
  const cudaStream_t others = c->work.stream;
  c->work.stream = stream;
  dm_status status = cuda_probe(c, c->whole->c, c->work.w, c->work.sizes_w, &c->work.c, true);
  c->work.stream = others;
  return status;
}

static dm_status cuda_multiply(cuda_checking *c) {
  dm_cuda *gpu = c->gpu;
  dm_judge_work *k = &c->work;
  cudaStream_t products = gpu->lanes[DM_COMPUTE].stream;
  dm_event done;
  const bool first = c->ranks || !c->overlaps;
  k->stream = c->overlaps ? gpu->side : products;
  if (first) DM_TRY(cuda_add_operands(c));
  if (c->ranks)
    DM_TRY(c->ranks->multiply(c->ranks->context));
  else if (!c->product->multiplied)
    DM_TRY(c->product->multiply(&gpu->base, c->whole, NULL, &done));
  if (!first) DM_TRY(cuda_add_operands(c));
  if (first) {
    DM_TRY(dm_cuda_order(gpu, products, k->stream));
    DM_TRY(cuda_add_product(c, k->stream));
  } else {
    DM_TRY(cuda_add_product(c, products));
    DM_TRY(dm_cuda_order(gpu, products, k->stream));
  }
  DM_CUDA(gpu, dm_kernels_judge(k));
  return DM_OK;
}

static dm_status cuda_fetch(const cuda_checking *c, dm_verified_found *found) {
  DM_CUDA(c->gpu, cudaStreamSynchronize(c->work.stream));
  *found = *c->gpu->judged;
  return DM_OK;
}

/* ---- small matrices ---- */

/* Elements of A, B and C of an entry, which one block reads in a few microseconds. */
enum { CUDA_ENTRY_ELEMENTS = 1 << 14 };

/* Of many entries with longer rows, probes read all sooner (1000 of 64 x 64 in f64 on an H200: 121
 * microseconds, by blocks 215). */
static bool cuda_has_small_entries(const cuda_checking *c) {
  const dm_judge_work *k = &c->work;
  const int64_t entries = dm_max(1, c->whole->entries), rows = k->rows / entries;
  const int64_t columns = dm_max(k->cols, k->entry_depth);
  const dm_dtype in = c->whole->a.dtype, out = c->whole->c.dtype; /* as launched there */
  if (out != in && out != dm_compute_sum(in)) return false;
  return !c->ranks && !k->factors.reads_c && !c->product->multiplied && columns <= DM_ENTRY_MOST &&
         rows <= DM_ENTRY_ROWS && (columns <= DM_ENTRY_SHORT || entries <= c->gpu->processors) &&
         rows * k->entry_depth + k->entry_depth * k->cols + rows * k->cols <= CUDA_ENTRY_ELEMENTS;
}

/* Multiplies, and verifies each entry by itself. *SETTLED: that tells all; else columns have NaN or
 * numbers whose squares overflow or vanish, which the other way counts. */
static dm_status cuda_multiply_small(cuda_checking *c, dm_verified_found *found, bool *settled) {
  dm_cuda *gpu = c->gpu;
  const dm_whole_product *whole = c->whole;
  dm_judge_work *k = &c->work;
  dm_event done;
  cuda_layout room = {0};
  const int64_t columns = DM_JUDGED_PARTS * (int64_t)sizeof *k->columns;
  (void)cuda_place(&room, columns);
  (void)cuda_place(&room, DM_JUDGED_PARTS * (int64_t)sizeof *k->found);
  DM_TRY(dm_cuda_grow(gpu, &gpu->checking, room.used));
  room = (cuda_layout){.base = gpu->checking.memory};
  k->columns = cuda_place(&room, columns);
  k->found = (dm_rows_found *)(void *)(room.base + room.used);
  k->stream = gpu->lanes[DM_COMPUTE].stream;
  DM_TRY(c->product->multiply(&gpu->base, whole, NULL, &done));
  DM_CUDA(gpu, dm_kernels_judge_entries(k, whole->a, whole->b, whole->c, dm_max(1, whole->entries),
                                        gpu->processors));
  DM_TRY(cuda_fetch(c, found));
  *settled = !found->columns.strained && found->columns.left_out == 0;
  return DM_OK;
}

/* Products use all registers of the multiprocessors. Those of 8 and 16 bits have one block on each,
 * to the end: sums begin as these end. Blocks of the others come and go, and a few for sums, which
 * have priority, take the places of some: a block for every second multiprocessor is enough for the
 * sums to end long before the product of a large C, and delays that by little (f64 8192 on an H100:
 * sums before the product take 0.51 ms, beside it 0.2 with all blocks and none with these). But
 * blocks that begin late do not read the same lines of A and B as the others: with long lines the
 * product takes longer (f64 16384: by 6 %). Sums between the batches of half a product gain
 * nothing, and those of f64 cost time (8192 on an H200: 6 %).
 *
 * With several ranks products come strip by strip. Where sums find no room beside one, or would
 * delay it, they are queued between two, and the host goes on meanwhile. The scan of a part of B
 * leaves room for the copies that begin with it. */
static void cuda_choose_order(cuda_checking *c) {
  enum { CUDA_LARGE = 4096, CUDA_LONG = 1 << 16 };
  const dm_judge_work *k = &c->work;
  const int64_t size = dm_dtype_size(c->whole->a.dtype), processors = c->gpu->processors;
  const bool large = dm_min(k->rows, k->cols) >= CUDA_LARGE, fits = k->depth * size <= CUDA_LONG;
  const bool alone = (c->whole->symmetric && !c->ranks) || c->product->alone;
  c->early = !k->factors.reads_c;
  c->overlaps = c->early && !alone && (c->ranks ? size > 2 && fits : size <= 2 || (fits && large));
  c->few = c->overlaps && size > 2 && large ? dm_max(1, processors / 2) : 0;
  c->most = c->ranks ? 4 * processors : c->few;
}

/* Of X^T X, or this rank's rows of X, that suit; else 0. */
static int64_t parts_of_gram(const cuda_checking *c) {
  const dm_verified_ranks *ranks = c->ranks;
  const dm_view a = dm_view_transpose(c->whole->a), b = c->whole->b;
  const bool same = a.base == b.base && a.dtype == b.dtype && a.rows == b.rows &&
                    a.cols == b.cols && a.row_stride == b.row_stride &&
                    a.col_stride == b.col_stride;
  const bool has_all_columns = !ranks || (ranks->part && ranks->parts_of_k > 0 && ranks->col == 0 &&
                                          ranks->row_of_a == 0 && ranks->rows == b.cols);
  if (!same || !has_all_columns || b.cols != c->work.cols || c->whole->entries > 1 || c->work.exact)
    return 0;
  return dm_kernels_probe_gram_parts(b, c->gpu->processors);
}

dm_status dm_cuda_multiply_verified(dm_backend *backend, const dm_verified_product *product,
                                    dm_verified_found *found) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const dm_whole_product *whole = &product->whole;
  const dm_dtype type = whole->a.dtype;
  const int64_t entries = dm_max(1, whole->entries), step = dm_max(1, product->step);
  const int64_t depth = product->ranks ? product->ranks->depth : whole->a.cols;
  cuda_checking c = {.gpu = gpu,
                     .whole = whole,
                     .ranks = product->ranks,
                     .product = product,
                     .sample = dm_sample(whole->b, product->ranks ? product->ranks->row : 0, step),
                     .work = {.rows = whole->c.rows,
                              .cols = whole->c.cols,
                              .depth = depth * entries,
                              .entry_depth = depth,
                              .t_step = dm_round_up(depth, 2), /* for loads of 16 bytes */
                              .width = dm_dtype_is_complex(type) ? 2 : 1,
                              .exact = dm_dtype_is_integer(type),
                              .turns_t = whole->conjugate_a != whole->conjugate_b,
                              .turns_y = whole->conjugate_a,
                              .seed = product->seed,
                              .step = step,
                              .factors = product->factors}};
  dm_verified_product again = *product;
  bool settled = false;
  dm_status status = dm_cuda_enter(gpu);
  if (!status) status = need_judged(gpu);
  c.work.turn = gpu->turn;
  c.work.judged = gpu->judged;
  if (!status && cuda_has_small_entries(&c)) {
    status = cuda_multiply_small(&c, found, &settled);
    if (settled) return DM_OK;
    again.multiplied = true;
    c.product = &again;
  }
  cuda_choose_order(&c);
  c.gram = parts_of_gram(&c);
  if (!status && c.ranks) status = need_summed(&c);
  if (!status) status = cuda_open_memory(&c);
  if (status && c.ranks) {
    (void)c.ranks->begin(c.ranks->context, c.early);
    return c.ranks->sum(c.ranks->context, status, NULL,
                        c.work.exact ? c.work.width * c.work.depth : c.work.cols, c.work.exact);
  }
  if (!status) status = cuda_multiply(&c);
  if (!status) return cuda_fetch(&c, found);
  (void)cudaStreamSynchronize(gpu->side); /* the caller's matrices are not read any more */
  (void)cudaStreamSynchronize(gpu->lanes[DM_COMPUTE].stream);
  return status;
}
