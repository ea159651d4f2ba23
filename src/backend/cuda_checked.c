/* A product of whole matrices with its verification: everything is posted at once, and only the
 * findings reach the host. Sums of A and B are taken while a product runs that is not of f64. */
#ifdef DM_HAVE_CUDA

#include "backend/checked_product.h"
#include "backend/cuda_state.h"
#include "backend/cuda_verify.h"
#include "core/checked.h"
#include "kernels/verify_kernels.h"

/* One product: its vectors and scratch are in gpu->checking. */
typedef struct checking {
  dm_cuda *gpu;
  const dm_whole_product *whole;
  dm_judge_work work;
  double *col_squares, *y, *a_squares, *z, *z_squares, *z0, *z0_squares, *c_squares;
  int64_t zeroed; /* bytes at the beginning that must be 0 */
  void *memory, *scratch;
} checking;

static int64_t scratch_of(const checking *c, dm_view m) {
  const int64_t parts = dm_kernels_probe_parts(m, c->gpu->processors);
  return parts * m.rows * (c->work.parts + 2) * 8;
}

static int64_t most_scratch(const checking *c) {
  const dm_whole_product *w = c->whole;
  const int64_t scan = dm_kernels_scan_parts(w->b, c->gpu->processors) * w->b.cols * 8;
  return dm_max(dm_max(scan, scratch_of(c, w->a)),
                dm_max(scratch_of(c, w->b), scratch_of(c, w->c)));
}

static dm_status open_vectors(checking *c) {
  dm_judge_work *k = &c->work;
  const int64_t m = k->rows, n = k->cols, depth = k->depth, p = k->parts;
  double **const vectors[] = {&c->col_squares, &k->t,          &k->sizes_t,   &c->y,
                              &c->a_squares,   &c->z,          &c->z_squares, &c->c_squares,
                              &c->z0,          &c->z0_squares, &k->w,         &k->sizes_w};
  const int64_t counts[] = {n, p * depth, depth, p * m, m, p * m, m, m, p * m, m, p * n, n};
  enum { ALL = 12, ZEROED = 10 };
  const int64_t head =
      dm_round_up(sizeof(dm_checked_found) + DM_JUDGED_PARTS * sizeof *k->found, 256);
  int64_t bytes = head;
  for (int i = 0; i < ALL; i++) {
    bytes += dm_round_up(8 * counts[i], 256);
    if (i + 1 == ZEROED) c->zeroed = bytes;
  }
  DM_TRY(dm_cuda_grow(c->gpu, &c->gpu->checking, bytes + most_scratch(c)));
  char *at = c->gpu->checking.memory;
  c->memory = at;
  k->columns = c->memory;
  k->found = (dm_rows_found *)(void *)(at + sizeof(dm_checked_found));
  at += head;
  for (int i = 0; i < ALL; at += dm_round_up(8 * counts[i++], 256))
    *vectors[i] = (double *)(void *)at;
  c->scratch = at;
  k->col_squares = c->col_squares;
  k->y = c->y, k->a_squares = c->a_squares;
  k->z = c->z, k->z_squares = c->z_squares, k->c_squares = c->c_squares;
  k->z0 = c->z0, k->z0_squares = c->z0_squares;
  return DM_OK;
}

static dm_status probe(const checking *c, dm_view m, const double *x, const double *sizes,
                       double *sums, double *squares, double *norms) {
  const dm_probe_work work = {.matrix = m,
                              .x = x,
                              .parts = dm_kernels_probe_parts(m, c->gpu->processors),
                              .scratch = c->scratch,
                              .sums = sums,
                              .squares = squares,
                              .sizes = sizes,
                              .norms = norms,
                              .stream = c->gpu->side};
  DM_CUDA(c->gpu, dm_kernels_probe(&work));
  return DM_OK;
}

static dm_status add_operands(const checking *c) {
  dm_cuda *gpu = c->gpu;
  const dm_judge_work *k = &c->work;
  const dm_view b = c->whole->b;
  DM_CUDA(gpu, cudaMemsetAsync(c->memory, 0, (size_t)c->zeroed, gpu->side));
  DM_CUDA(gpu, dm_kernels_scan(b, dm_kernels_scan_parts(b, gpu->processors), c->scratch,
                               c->col_squares, gpu->side));
  DM_CUDA(gpu, dm_kernels_weigh(k));
  DM_TRY(probe(c, b, k->w, k->sizes_w, k->t, k->sizes_t, NULL));
  DM_CUDA(gpu, dm_kernels_take_roots(k));
  DM_TRY(probe(c, c->whole->a, k->t, k->sizes_t, c->y, c->a_squares, NULL));
  if (!k->factors.reads_c) return DM_OK;
  return probe(c, c->whole->c, k->w, k->sizes_w, c->z0, c->z0_squares, NULL);
}

/* Work of TO waits for what FROM has so far. */
static dm_status order(dm_cuda *gpu, cudaStream_t from, cudaStream_t to) {
  if (!gpu->ordered) DM_CUDA(gpu, cudaEventCreateWithFlags(&gpu->ordered, cudaEventDisableTiming));
  DM_CUDA(gpu, cudaEventRecord(gpu->ordered, from));
  DM_CUDA(gpu, cudaStreamWaitEvent(to, gpu->ordered, 0));
  return DM_OK;
}

static dm_status multiply(const checking *c) {
  dm_cuda *gpu = c->gpu;
  /* The sums are f64: beside a product of f64 they would take longer than before it. */
  const bool first = c->work.factors.reads_c || dm_compute_sum(c->whole->a.dtype) == DM_F64 ||
                     c->whole->a.dtype == DM_C128;
  cudaStream_t products = gpu->lanes[DM_COMPUTE].stream;
  dm_event done;
  if (first) DM_TRY(add_operands(c));
  if (first) DM_TRY(order(gpu, gpu->side, products));
  DM_TRY(dm_cuda_multiply_whole(&gpu->base, c->whole, NULL, &done));
  if (!first) DM_TRY(add_operands(c));
  DM_TRY(order(gpu, products, gpu->side));
  DM_TRY(probe(c, c->whole->c, c->work.w, c->work.sizes_w, c->z, c->z_squares, c->c_squares));
  DM_CUDA(gpu, dm_kernels_judge(&c->work));
  return DM_OK;
}

static dm_status fetch(const checking *c, dm_checked_found *found) {
  dm_cuda *gpu = c->gpu;
  const int64_t parts = dm_kernels_judge_parts(c->work.rows);
  const int64_t bytes = (int64_t)sizeof *found + DM_JUDGED_PARTS * (int64_t)sizeof(dm_rows_found);
  if (!gpu->found) DM_TRY(dm_cuda_alloc(&gpu->base, DM_HOST, bytes, &gpu->found));
  DM_CUDA(gpu,
          cudaMemcpyAsync(gpu->found, c->memory, (size_t)bytes, cudaMemcpyDeviceToHost, gpu->side));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  const dm_rows_found *of = (const dm_rows_found *)(void *)((char *)gpu->found + sizeof *found);
  found->columns = *(const dm_columns_found *)gpu->found;
  found->rows = of[0];
  for (int64_t i = 1; i < parts; i++) dm_rows_join(&found->rows, &of[i]);
  return DM_OK;
}

bool dm_cuda_can_check(const dm_whole_product *p) {
  const dm_view *const views[] = {&p->a, &p->b, &p->c};
  for (int i = 0; i < 3; i++)
    if (views[i]->col_stride != 1 || dm_dtype_is_integer(views[i]->dtype)) return false;
  return !p->conjugate_a && !p->conjugate_b;
}

dm_status dm_cuda_multiply_checked(dm_backend *backend, const dm_checked_product *product,
                                   dm_checked_found *found) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const dm_whole_product *whole = &product->whole;
  checking c = {.gpu = gpu,
                .whole = whole,
                .work = {.rows = whole->c.rows,
                         .cols = whole->c.cols,
                         .depth = whole->a.cols,
                         .parts = dm_dtype_is_complex(whole->a.dtype) ? 2 : 1,
                         .seed = product->seed,
                         .factors = product->factors,
                         .stream = gpu->side}};
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(open_vectors(&c));
  dm_status status = multiply(&c);
  if (!status) return fetch(&c, found);
  (void)cudaStreamSynchronize(gpu->side); /* the caller's matrices are not read any more */
  (void)cudaStreamSynchronize(gpu->lanes[DM_COMPUTE].stream);
  return status;
}

#endif
