/* backend: checks common to all backends, then a call of the table's function. */
#include "backend/backend.h"

#include <stdlib.h>

#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "core/buffer.h"
#include "core/checked.h"

/* ---- inheritance ---- */

/* From here on BACKEND, or a table, is the one that has ENTRY; NULL in all: the last. */
#define DM_INHERIT(backend, entry)                                                                 \
  while (!(backend)->ops->entry && (backend)->base) (backend) = (backend)->base
#define DM_INHERIT_TABLE(ops, entry)                                                               \
  while (!(ops)->entry && (ops)->base) (ops) = (ops)->base

static dm_status open_own(const dm_backend_ops *ops, const dm_backend_config *config,
                          dm_backend **backend) {
  void *memory;
  if (ops->open) return ops->open(backend, config);
  if (!ops->base) return dm_fail(DM_E_BUG, "backend %s does not open", ops->name);
  DM_TRY(dm_buffer_zeroed(1, sizeof **backend, &memory));
  *backend = memory;
  (*backend)->ops = ops;
  return DM_OK;
}

dm_status dm_backend_open(const dm_backend_ops *ops, const dm_backend_config *config,
                          dm_backend **backend) {
  dm_backend *base = NULL;
  if (ops->not_built)
    return dm_fail(DM_E_DEVICE, "backend %s is not built: %s", ops->name, ops->not_built);
  if (ops->base && ops->base->device_memory != ops->device_memory)
    return dm_fail(DM_E_BUG, "backend %s has other memory than its base %s", ops->name,
                   ops->base->name);
  if (ops->base) DM_TRY(dm_backend_open(ops->base, config, &base));
  dm_status status = open_own(ops, config, backend);
  if (status)
    dm_backend_close(base);
  else
    (*backend)->base = base;
  return status;
}

void dm_backend_leave(dm_backend *backend) {
  for (; backend; backend = backend->base)
    if (backend->ops->leave) backend->ops->leave(backend);
}

static void release_tiles(dm_backend *backend) {
  const dm_tiles *t = &backend->tiles;
  dm_backend_release(backend, DM_DEVICE, t->sums.memory);
  dm_backend_release(backend, DM_DEVICE, t->between.memory);
  for (int x = 0; x < 2; x++) dm_backend_release(backend, DM_DEVICE, t->operands[x].memory);
  for (int x = 0; x < 2; x++) dm_backend_release(backend, DM_DEVICE, t->widened[x].memory);
}

void dm_backend_close(dm_backend *backend) {
  while (backend) {
    dm_backend *base = backend->base;
    release_tiles(backend);
    if (backend->ops->close)
      backend->ops->close(backend);
    else
      free(backend);
    backend = base;
  }
}

const char *const *dm_backend_kernel_names(const dm_backend_ops *ops) {
  static const char *const only[] = {"auto", NULL};
  DM_INHERIT_TABLE(ops, gemm);
  return ops->kernel_names ? ops->kernel_names() : only;
}

bool dm_backend_kernel_multiplies(const dm_backend_ops *ops, const char *kernel, dm_dtype work,
                                  const dm_compute *compute, const char **why) {
  DM_INHERIT_TABLE(ops, gemm);
  if (ops->kernel_multiplies) return ops->kernel_multiplies(kernel, work, compute, why);
  if (why) *why = "it has only products of each type by itself";
  return dm_compute_is_plain(compute);
}

void dm_backend_kernel_copies(const dm_backend_ops *ops, const char *kernel, dm_dtype work,
                              const dm_compute *compute, int *of_a, int *of_b) {
  DM_INHERIT_TABLE(ops, gemm);
  if (ops->kernel_copies) ops->kernel_copies(kernel, work, compute, of_a, of_b);
}

dm_status dm_backend_device(dm_backend *backend, dm_device *device) {
  DM_INHERIT(backend, device);
  return backend->ops->device(backend, device);
}

dm_status dm_backend_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  DM_INHERIT(backend, alloc);
  return backend->ops->alloc(backend, space, bytes, memory);
}

void dm_backend_release(dm_backend *backend, dm_space space, void *memory) {
  if (!memory) return;
  DM_INHERIT(backend, release);
  backend->ops->release(backend, space, memory);
}

dm_status dm_backend_memory_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind) {
  DM_INHERIT(backend, memory_kind);
  *kind = (dm_memory_kind){.host = true, .index = -1};
  return backend->ops->memory_kind ? backend->ops->memory_kind(backend, memory, kind) : DM_OK;
}

dm_status dm_backend_await(dm_backend *backend, void *stream) {
  DM_INHERIT(backend, await);
  if (!backend->ops->await)
    return dm_fail(DM_E_BUG, "backend %s has no streams", backend->ops->name);
  return backend->ops->await(backend, stream);
}

static bool may_round(dm_view dst, dm_view src) {
  return dst.space == src.space && !dm_dtype_is_integer(dst.dtype) &&
         !dm_dtype_is_integer(src.dtype) &&
         dm_dtype_is_complex(dst.dtype) == dm_dtype_is_complex(src.dtype);
}

dm_status dm_backend_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  DM_INHERIT(backend, copy);
  *done = 0;
  if (dst.rows != src.rows || dst.cols != src.cols)
    return dm_fail(DM_E_BUG, "a copy between matrices of different shape");
  if (dst.dtype != src.dtype && !may_round(dst, src))
    return dm_fail(DM_E_BUG, "a copy of %s to %s", dm_dtype_name(src.dtype),
                   dm_dtype_name(dst.dtype));
  if (dst.col_stride != 1 || src.col_stride != 1)
    return dm_fail(DM_E_BUG, "a copy of a matrix whose rows are not contiguous");
  if (dm_view_is_empty(src)) return DM_OK;
  return backend->ops->copy(backend, dst, src, done);
}

/* Pieces that take less time one by one. */
enum { BACKEND_FEW = 8 };

dm_status dm_backend_copy_runs(dm_backend *backend, dm_view dst, dm_view src,
                               const dm_copy_runs *of, dm_event *done) {
  DM_INHERIT(backend, copy);
  *done = 0;
  if (dst.dtype != src.dtype || dst.col_stride != 1 || src.col_stride != 1)
    return dm_fail(DM_E_BUG, "a copy of pieces between matrices of different order or type");
  const bool inside = dst.space == DM_DEVICE && src.space == DM_DEVICE;
  if (inside && backend->ops->copy_runs && of->row_count * of->col_count > BACKEND_FEW)
    return backend->ops->copy_runs(backend, dst, src, of, done);
  for (const dm_copy_run *r = of->rows; r < of->rows + of->row_count; r++)
    for (const dm_copy_run *c = of->cols; c < of->cols + of->col_count; c++)
      DM_TRY(dm_backend_copy(backend, dm_view_sub(dst, r->to, c->to, r->size, c->size),
                             dm_view_sub(src, r->from, c->from, r->size, c->size), done));
  return DM_OK;
}

static dm_status check_transposed(dm_view to, dm_view from) {
  if (to.rows == from.cols && to.cols == from.rows && to.dtype == from.dtype &&
      to.space == from.space && to.col_stride == 1 && from.col_stride == 1)
    return DM_OK;
  return dm_fail(DM_E_BUG, "a transposition between matrices that do not match");
}

dm_status dm_backend_transpose(dm_backend *backend, dm_view to, dm_view from, bool conjugate,
                               dm_event *done) {
  DM_INHERIT(backend, transpose);
  *done = 0;
  DM_TRY(check_transposed(to, from));
  if (dm_view_is_empty(from)) return DM_OK;
  if (to.space == DM_DEVICE)
    return backend->ops->transpose(backend, to, from, conjugate, false, done);
  dm_host_transpose_parallel(to, from, conjugate);
  return DM_OK;
}

dm_status dm_backend_transpose_in_order(dm_backend *backend, dm_view to, dm_view from,
                                        bool conjugate, dm_event *done) {
  DM_INHERIT(backend, transpose);
  DM_TRY(check_transposed(to, from));
  if (dm_view_is_empty(from)) return DM_OK;
  return backend->ops->transpose(backend, to, from, conjugate, true, done);
}

dm_status dm_backend_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                          dm_event *done) {
  DM_INHERIT(backend, gemm);
  *done = 0;
  if (a.rows != c.rows || b.cols != c.cols || a.cols != b.rows)
    return dm_fail(DM_E_BUG, "a product of matrices whose shapes do not match");
  if (a.dtype != b.dtype || c.dtype != dm_compute_sum(a.dtype))
    return dm_fail(DM_E_BUG, "a product of %s and %s into %s", dm_dtype_name(a.dtype),
                   dm_dtype_name(b.dtype), dm_dtype_name(c.dtype));
  if (!dm_view_has_lines(a) || !dm_view_has_lines(b) || c.col_stride != 1)
    return dm_fail(DM_E_BUG, "a product of matrices whose lines are not contiguous");
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->gemm(backend, c, a, b, accumulate, done);
}

dm_status dm_backend_syrk(dm_backend *backend, dm_view c, dm_view a, bool accumulate,
                          dm_event *done) {
  DM_INHERIT(backend, gemm);
  const bool checked = c.rows == c.cols && a.rows == c.rows && a.cols > 0 &&
                       c.dtype == dm_compute_sum(a.dtype) && c.col_stride == 1 &&
                       dm_view_has_lines(a) && !dm_view_is_empty(c);
  if (!checked || !backend->ops->syrk)
    return dm_backend_gemm(backend, c, a, dm_view_transpose(a), accumulate, done);
  return backend->ops->syrk(backend, c, a, accumulate, done);
}

bool dm_backend_halves(dm_backend *backend, dm_dtype dtype, int64_t size) {
  DM_INHERIT(backend, gemm);
  return backend->ops->halves && backend->ops->halves(backend, dtype, size);
}

/* Columns of the accumulators C per column of ELEMENTS: see dm_compute_parts. */
static int64_t backend_parts_of(dm_view c, dm_view elements) {
  return dm_dtype_is_complex(elements.dtype) && !dm_dtype_is_complex(c.dtype) ? 2 : 1;
}

dm_status dm_backend_gemm_parts(dm_backend *backend, dm_view c, int64_t plane, dm_view a, dm_view b,
                                bool accumulate, dm_exponents exponents, dm_event *done) {
  DM_INHERIT(backend, gemm);
  *done = 0;
  if (!backend->ops->gemm_parts)
    return dm_fail(DM_E_BUG, "backend %s does not support products with a FINISH step",
                   backend->ops->name);
  if (a.rows != c.rows || backend_parts_of(c, b) * b.cols != c.cols || a.cols != b.rows ||
      plane < c.cols)
    return dm_fail(DM_E_BUG, "a product of matrices whose shapes do not match");
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->gemm_parts(backend, c, plane, a, b, accumulate, exponents, done);
}

dm_status dm_backend_finish(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                            dm_exponents exponents, dm_event *done) {
  DM_INHERIT(backend, gemm);
  *done = 0;
  if (!backend->ops->finish)
    return dm_fail(DM_E_BUG, "backend %s does not support products with a FINISH step",
                   backend->ops->name);
  if (sums.rows != c.rows || backend_parts_of(c, sums) * sums.cols != c.cols ||
      sums.space != c.space)
    return dm_fail(DM_E_BUG, "sums in another place than their accumulators");
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->finish(backend, sums, c, plane, exponents, done);
}

dm_status dm_backend_mirror(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                            dm_event *done) {
  DM_INHERIT(backend, mirror);
  if (square.rows != square.cols || square.col_stride != 1 || first < 0 || first > square.rows)
    return dm_fail(DM_E_BUG, "a mirror image of a matrix that is no square of rows");
  if (dm_view_is_empty(square)) return DM_OK;
  return backend->ops->mirror(backend, square, first, conjugate, done);
}

dm_status dm_backend_join(dm_backend *backend, dm_view c, dm_view more, int64_t plane) {
  DM_INHERIT(backend, gemm);
  if (!backend->ops->join)
    return dm_fail(DM_E_BUG, "backend %s does not add accumulators", backend->ops->name);
  if (c.rows != more.rows || c.cols != more.cols || c.dtype != more.dtype || plane < c.cols ||
      c.space != more.space)
    return dm_fail(DM_E_BUG, "a sum of accumulators of different shape, type or place");
  return dm_view_is_empty(c) ? DM_OK : backend->ops->join(backend, c, more, plane);
}

bool dm_backend_has_library(const dm_backend *backend) {
  DM_INHERIT(backend, gemm);
  return backend->ops->library_gemm != NULL;
}

dm_status dm_backend_library_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                                  double *seconds) {
  DM_INHERIT(backend, gemm);
  if (!backend->ops->library_gemm)
    return dm_fail(DM_E_USAGE, "backend %s has no library call to compare with",
                   backend->ops->name);
  return backend->ops->library_gemm(backend, c, a, b, seconds);
}

dm_status dm_backend_native_lines(dm_backend *backend, int64_t *lines) {
  DM_INHERIT(backend, gemm);
  *lines = 0;
  return backend->ops->native_lines ? backend->ops->native_lines(backend, lines) : DM_OK;
}

/* ---- lines ---- */

static bool backend_has_lines(dm_dtype dtype) {
  return dtype == DM_F64 || dtype == DM_F32;
}

dm_status dm_backend_extremes(dm_backend *backend, dm_view matrix, bool by_row, double *extremes) {
  DM_INHERIT(backend, extremes);
  if (!backend->ops->extremes || !backend_has_lines(matrix.dtype))
    return dm_fail(DM_E_BUG, "backend %s cannot find the extremes of lines", backend->ops->name);
  return dm_view_is_empty(matrix) ? DM_OK
                                  : backend->ops->extremes(backend, matrix, by_row, extremes);
}

dm_status dm_backend_line_sums(dm_backend *backend, dm_view matrix, bool by_row,
                               const double *extremes, int64_t *sums) {
  DM_INHERIT(backend, line_sums);
  if (!backend->ops->line_sums || !backend_has_lines(matrix.dtype))
    return dm_fail(DM_E_BUG, "backend %s cannot sum lines", backend->ops->name);
  return dm_view_is_empty(matrix)
             ? DM_OK
             : backend->ops->line_sums(backend, matrix, by_row, extremes, sums);
}

dm_status dm_backend_test(dm_backend *backend, dm_event event, bool *done) {
  *done = true;
  if (!event) return DM_OK;
  DM_INHERIT(backend, test);
  return backend->ops->test(backend, event, done);
}

dm_status dm_backend_wait(dm_backend *backend, dm_event event) {
  if (!event) return DM_OK;
  DM_INHERIT(backend, wait);
  return backend->ops->wait(backend, event);
}

dm_status dm_backend_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                           double *squares) {
  DM_INHERIT(backend, probe);
  if (dm_view_is_empty(matrix)) return DM_OK;
  return backend->ops->probe(backend, matrix, x, y, squares);
}

dm_status dm_backend_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  DM_INHERIT(backend, scan);
  if (dm_view_is_empty(matrix)) return DM_OK;
  return backend->ops->scan(backend, matrix, col_squares);
}

dm_status dm_backend_checksum(dm_backend *backend, dm_view matrix, dm_element_place place,
                              bool subtract, uint64_t *sum) {
  DM_INHERIT(backend, checksum);
  if (!backend->ops->checksum || matrix.space != DM_DEVICE || matrix.col_stride != 1)
    return dm_fail(DM_E_BUG, "backend %s has no checksums of such matrices", backend->ops->name);
  if (dm_view_is_empty(matrix)) return DM_OK;
  return backend->ops->checksum(backend, matrix, place, subtract, sum);
}

dm_status dm_backend_expect_sums(dm_backend *backend, dm_dtype operands, dm_dtype c) {
  DM_INHERIT(backend, expect_sums);
  return backend->ops->expect_sums ? backend->ops->expect_sums(backend, operands, c) : DM_OK;
}

dm_status dm_backend_settle(dm_backend *backend) {
  DM_INHERIT(backend, settle);
  return backend->ops->settle ? backend->ops->settle(backend) : DM_OK;
}

dm_status dm_backend_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                          int64_t row, int64_t col) {
  DM_INHERIT(backend, fill);
  if (dm_view_is_empty(view)) return DM_OK;
  return backend->ops->fill(backend, view, generator, row, col);
}

static bool alike(dm_view a, dm_view b) {
  return a.rows == b.rows && a.cols == b.cols && a.dtype == b.dtype && a.space == b.space &&
         b.col_stride == 1;
}

static bool is_type_of_sums(dm_dtype dtype) {
  return dtype == DM_I32 || (dm_compute_sum(dtype) == dtype && !dm_dtype_is_integer(dtype));
}

dm_status dm_backend_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                         double beta) {
  DM_INHERIT(backend, add);
  if (alpha == 0.0) x = z;
  if (beta == 0.0) y = z;
  if (!alike(z, z) || !alike(z, x) || !alike(z, y))
    return dm_fail(DM_E_BUG, "a sum of matrices of different shape, type or place");
  if (!is_type_of_sums(z.dtype))
    return dm_fail(DM_E_BUG, "a sum of matrices of %s", dm_dtype_name(z.dtype));
  if (dm_view_is_empty(z)) return DM_OK;
  return backend->ops->add(backend, z, x, y, alpha, beta);
}

bool dm_backend_has_epilogue(dm_dtype c, dm_dtype sums) {
  return is_type_of_sums(sums) && sums != DM_I32 && !dm_dtype_is_integer(c) &&
         dm_dtype_is_complex(c) == dm_dtype_is_complex(sums);
}

bool dm_backend_finishes(dm_dtype c, dm_dtype sums, const double alpha[2], bool reads_c) {
  const bool copies = c == DM_I32 && sums == DM_I32 && alpha[0] == 1.0 && !reads_c;
  return copies || dm_backend_has_epilogue(c, sums);
}

dm_status dm_backend_epilogue(dm_backend *backend, dm_view c, dm_view sums, const dm_view *old,
                              const double alpha[2], const double beta[2], dm_event *done) {
  static const double none[2] = {0.0, 0.0};
  DM_INHERIT(backend, epilogue);
  *done = 0;
  if (!backend->ops->epilogue || !dm_backend_finishes(c.dtype, sums.dtype, alpha, old != NULL) ||
      c.space != DM_DEVICE || !alike(sums, sums) || sums.space != DM_DEVICE ||
      c.rows != sums.rows || c.cols != sums.cols ||
      (old && (old->dtype != c.dtype || old->space != DM_DEVICE || old->rows != c.rows ||
               old->cols != c.cols)))
    return dm_fail(DM_E_BUG, "backend %s does not finish such sums", backend->ops->name);
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->epilogue(backend, c, sums, old ? *old : c, alpha, old ? beta : none, done);
}

dm_status dm_backend_dot(dm_backend *backend, dm_view x, dm_view y, double *sum) {
  DM_INHERIT(backend, dot);
  *sum = 0.0;
  if (!alike(x, x) || !alike(x, y))
    return dm_fail(DM_E_BUG, "a dot product of matrices of different shape, type or place");
  if (x.space == DM_DEVICE && !is_type_of_sums(x.dtype))
    return dm_fail(DM_E_BUG, "a dot product of matrices of %s on the device",
                   dm_dtype_name(x.dtype));
  if (dm_view_is_empty(x)) return DM_OK;
  return backend->ops->dot(backend, x, y, sum);
}

dm_status dm_backend_moments(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                             double *numbers, int64_t *first) {
  DM_INHERIT(backend, moments);
  if (!backend->ops->moments || matrix.space != DM_DEVICE || dm_view_is_empty(matrix))
    return dm_fail(DM_E_BUG, "backend %s has no moments of such matrices", backend->ops->name);
  return backend->ops->moments(backend, matrix, how, numbers, first);
}

dm_status dm_backend_center(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                            const dm_centering *centering) {
  DM_INHERIT(backend, center);
  if (!backend->ops->center || to.space != DM_DEVICE || from.space != DM_DEVICE ||
      to.rows != from.rows || to.cols != from.cols ||
      dm_dtype_is_complex(to.dtype) != dm_dtype_is_complex(from.dtype))
    return dm_fail(DM_E_BUG, "backend %s does not center such matrices", backend->ops->name);
  if (dm_view_is_empty(from)) return DM_OK;
  return backend->ops->center(backend, to, from, gaps, centering);
}

dm_status dm_backend_pairs(dm_backend *backend, dm_view c, const dm_pairs *of,
                           const dm_pair_form *form, bool *doubtful) {
  DM_INHERIT(backend, pairs);
  if (!backend->ops->pairs || c.space != DM_DEVICE || of->counts.space != DM_DEVICE ||
      c.rows != of->counts.rows || c.cols != of->counts.cols)
    return dm_fail(DM_E_BUG, "backend %s has no pairs of such matrices", backend->ops->name);
  *doubtful = false;
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->pairs(backend, c, of, form, doubtful);
}

dm_status dm_backend_correlate(dm_backend *backend, dm_view c, int64_t row, int64_t col,
                               double factor, bool diagonal) {
  DM_INHERIT(backend, correlate);
  if (!backend->ops->correlate || c.space != DM_DEVICE || dm_dtype_is_integer(c.dtype))
    return dm_fail(DM_E_BUG, "backend %s has no correlations of such matrices", backend->ops->name);
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->correlate(backend, c, row, col, factor, diagonal);
}

bool dm_backend_can_sift(const dm_backend *backend) {
  DM_INHERIT(backend, sift);
  return backend->ops->sift && backend->ops->raise;
}

static bool can_be_sifted(const dm_backend *backend, dm_view c) {
  return dm_backend_can_sift(backend) && c.space == DM_DEVICE && c.col_stride == 1 &&
         !dm_dtype_is_integer(c.dtype) && !dm_dtype_is_complex(c.dtype) && c.rows < UINT32_MAX &&
         c.cols < UINT32_MAX;
}

dm_status dm_backend_sift(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                          int64_t room, int64_t *count, int64_t *nans) {
  DM_INHERIT(backend, sift);
  *count = *nans = 0;
  if (!can_be_sifted(backend, c))
    return dm_fail(DM_E_BUG, "backend %s does not sift such matrices", backend->ops->name);
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->sift(backend, c, sieve, list, room, count, nans);
}

dm_status dm_backend_raise(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                           bool by_row, int64_t best, float *limits) {
  DM_INHERIT(backend, raise);
  if (!can_be_sifted(backend, c))
    return dm_fail(DM_E_BUG, "backend %s has no limits of such matrices", backend->ops->name);
  if (dm_view_is_empty(c)) return DM_OK;
  return backend->ops->raise(backend, c, score, left_out, by_row, best, limits);
}
