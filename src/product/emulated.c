#include "product/emulated.h"

#include "core/checked.h"

enum { TILE = 8192 };

static bool by_rows(const dm_whole_product *w) {
  return w->a.col_stride == 1 && w->b.col_stride == 1 && w->c.col_stride == 1;
}

/* C^T = B^T A^T. */
static dm_whole_product turned(const dm_whole_product *w) {
  dm_whole_product t = *w;
  t.a = dm_view_transpose(w->b);
  t.b = dm_view_transpose(w->a);
  t.c = dm_view_transpose(w->c);
  return t;
}

bool dm_emulated_suits(const dm_problem *p, const dm_whole_product *w) {
  const dm_whole_product t = turned(w);
  return p->compute.own_kernels && !dm_dtype_is_complex(p->work) && w->c.dtype == p->accumulator &&
         (by_rows(w) || by_rows(&t));
}

/* One product, row-major. */
typedef struct product {
  dm_emulated *kept;
  dm_backend *backend;
  const dm_problem *problem;
  dm_whole_product whole;
} product;

static int64_t stride_of(const product *p, int64_t cols) {
  const dm_problem *q = p->problem;
  return dm_device_stride(dm_compute_width(&q->compute, q->accumulator, cols), q->accumulator);
}

static dm_status open_tile(const product *p) {
  dm_emulated *kept = p->kept;
  const dm_view c = p->whole.c;
  const int64_t bytes = dm_min(TILE, c.rows) * stride_of(p, dm_min(TILE, c.cols)) *
                        dm_dtype_size(p->problem->accumulator);
  if (bytes <= kept->bytes) return DM_OK;
  dm_backend_release(p->backend, DM_DEVICE, kept->tile);
  kept->tile = NULL, kept->bytes = 0;
  DM_TRY(dm_backend_alloc(p->backend, DM_DEVICE, bytes, &kept->tile));
  kept->bytes = bytes;
  return DM_OK;
}

/* SUMS = A B for the tile at (ROW, COL) of C. */
static dm_status post(const product *p, dm_view sums, dm_view a, dm_view b, int64_t row,
                      int64_t col, dm_event *done) {
  const dm_compute *compute = &p->problem->compute;
  if (compute->finish == DM_NO_FINISH) return dm_backend_gemm(p->backend, sums, a, b, false, done);
  const dm_exponents *all = &p->kept->scaling.passed;
  const dm_exponents exponents = {all->rows + row, all->cols + col};
  const dm_view first = dm_compute_first(compute, sums);
  const int64_t plane = dm_compute_plane(compute, first.cols);
  DM_TRY(dm_backend_product(p->backend, first, plane, a, b, false, exponents, done));
  return dm_backend_finish(p->backend, sums, first, plane, exponents, done);
}

static dm_status multiply_tile(const product *p, int64_t row, int64_t col) {
  const dm_whole_product *w = &p->whole;
  const int64_t rows = dm_min(TILE, w->c.rows - row), cols = dm_min(TILE, w->c.cols - col);
  const dm_view c = dm_view_sub(w->c, row, col, rows, cols);
  const dm_view sums = dm_view_strided(p->kept->tile, p->problem->accumulator, DM_DEVICE, rows,
                                       cols, stride_of(p, cols));
  dm_event done;
  DM_TRY(post(p, sums, dm_view_sub(w->a, row, 0, rows, w->a.cols),
              dm_view_sub(w->b, 0, col, w->b.rows, cols), row, col, &done));
  DM_TRY(dm_backend_wait(p->backend, done));
  return dm_backend_add(p->backend, c, sums, c, w->alpha[0], w->beta[0]);
}

/* As a row-major product. */
static dm_whole_product as_rows(const dm_whole_product *w) {
  return by_rows(w) ? *w : turned(w);
}

dm_status dm_emulated_scan(dm_emulated *kept, dm_backend *backend, const dm_comm *world,
                           const dm_problem *problem, const dm_whole_product *whole, bool *fits) {
  const dm_whole_product w = as_rows(whole);
  const dm_view ab[2] = {w.a, w.b};
  dm_problem p = *problem;
  p.m = w.c.rows;
  p.n = w.c.cols;
  *fits = true;
  if (!p.compute.scans) return DM_OK;
  if (p.m != kept->m || p.n != kept->n) dm_scaling_close(&kept->scaling, backend);
  kept->m = p.m, kept->n = p.n;
  DM_TRY(dm_scale_whole(backend, world, &p, ab, &kept->scaling));
  *fits = !kept->scaling.unfit;
  return DM_OK;
}

dm_status dm_emulated_multiply(dm_emulated *kept, dm_backend *backend, const dm_problem *problem,
                               const dm_whole_product *whole) {
  const product p = {kept, backend, problem, as_rows(whole)};
  const dm_view c = p.whole.c;
  DM_TRY(open_tile(&p));
  for (int64_t i = 0; i < c.rows; i += TILE)
    for (int64_t j = 0; j < c.cols; j += TILE) DM_TRY(multiply_tile(&p, i, j));
  return DM_OK;
}

void dm_emulated_close(dm_emulated *kept, dm_backend *backend) {
  if (!backend) return;
  dm_scaling_close(&kept->scaling, backend);
  dm_backend_release(backend, DM_DEVICE, kept->tile);
  *kept = (dm_emulated){0};
}
