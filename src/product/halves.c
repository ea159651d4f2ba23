#include "product/halves.h"

#include "plan/triangle.h"

/* Least rows of a square that is computed in full; squares are cut at multiples of STEP. On an H100
 * cuBLAS multiplies 1024 x 1024 x 16384 at 0.8 (f64), 0.9 (f32) and 0.5 (bf16) of its rate. */
enum { LEAST = 512, LEAST_ON_GPU = 1024, LEAST_OF_NARROW = 2048, STEP = 64 };

static int64_t least_square(const dm_backend *backend, dm_dtype type) {
  if (!backend->ops->device_memory) return LEAST;
  return dm_dtype_size(type) < 4 ? LEAST_OF_NARROW : LEAST_ON_GPU;
}

typedef struct posting {
  dm_backend *backend;
  const dm_whole_product *whole;
  bool above; /* the half above the diagonal is multiplied: C has contiguous columns */
  dm_event *done;
} posting;

static dm_status post_part(void *context, dm_extent part) {
  const posting *p = context;
  dm_whole_product of = *p->whole;
  const dm_range r = p->above ? part.cols : part.rows, c = p->above ? part.rows : part.cols;
  of.a = dm_view_sub(of.a, r.begin, 0, dm_range_size(r), of.a.cols);
  of.b = dm_view_sub(of.b, 0, c.begin, of.b.rows, dm_range_size(c));
  of.c = dm_view_sub(of.c, r.begin, c.begin, dm_range_size(r), dm_range_size(c));
  return dm_backend_multiply(p->backend, &of, NULL, p->done);
}

dm_status dm_halves_multiply(dm_backend *backend, const dm_problem *problem,
                             const dm_whole_product *whole, dm_event *done) {
  const bool above = whole->c.col_stride != 1;
  posting p = {backend, whole, above, done};
  DM_TRY(dm_triangle_each_of_square((dm_range){0, whole->c.rows},
                                    least_square(backend, whole->a.dtype), STEP, post_part, &p));
  return dm_backend_mirror(backend, above ? dm_view_transpose(whole->c) : whole->c, 0,
                           problem->symmetry == DM_HERMITIAN, done);
}
