/* Whole products, also batches and symmetric ones, by cuBLAS. */
#include "backend/cuda_gemm.h"
#include "backend/kernel_list.h"
#include "backend/whole_product.h"
#include "core/checked.h"

/* Elements from entry to entry of MATRIX. */
static int64_t entry_step(dm_view matrix, const dm_whole_product *p) {
  return matrix.rows / dm_max(1, p->entries) * matrix.row_stride;
}

bool dm_cuda_suits(const dm_backend *backend, const dm_whole_product *p) {
  const dm_cuda *gpu = (const dm_cuda *)backend;
  const dm_dtype in = p->a.dtype, out = p->c.dtype;
  const dm_whole_product one = dm_whole_entry(p, 0);
  const dm_blas_product g = dm_blas_product_of(&one);
  if (p->c.space != DM_DEVICE || !dm_cuda_types_of(in) || gpu->tile > 0 || gpu->kernel ||
      gpu->splits || gpu->moduli.count > 0 || g.left.op == DM_BLAS_NONE ||
      g.right.op == DM_BLAS_NONE)
    return false;
  if (in != DM_I8) return out == dm_compute_sum(in) || out == in;
  /* cuBLAS multiplies int8 only if k runs along the lines of both operands, and lines start at
   * multiples of four bytes. */
  if (g.left.op != DM_BLAS_T || g.right.op != DM_BLAS_N) return false;
  uint64_t at = (uint64_t)(uintptr_t)g.left.base | (uint64_t)(uintptr_t)g.right.base |
                (uint64_t)g.left.leading | (uint64_t)g.right.leading | (uint64_t)g.rows;
  if (p->entries > 1) at |= (uint64_t)entry_step(p->a, p) | (uint64_t)entry_step(p->b, p);
  return out == DM_I32 && at % 4 == 0 && g.depth % 4 == 0;
}

bool dm_cuda_has_in_mode(const dm_backend *backend, const dm_whole_product *p) {
  const dm_whole_product by_rows = dm_whole_by_rows(p);
  return dm_cuda_splits_gram((const dm_cuda *)backend, &by_rows);
}

/* cuBLAS multiplies 16-bit matrices at a fifth of its speed unless their lines are aligned (bf16
 * 4099 on an H200: 1.04 ms), and wgmma packs them first. That does not pay for small products; and
 * wgmma does not divide k. */
bool dm_cuda_prefers_panels(const dm_backend *backend, const dm_whole_product *p) {
  const dm_cuda *gpu = (const dm_cuda *)backend;
  const double least = 0x1p31; /* multiplications */
  if (dm_dtype_size(p->a.dtype) != 2) return false;
  const dm_whole_product one = dm_whole_entry(p, 0);
  const bool deep = p->symmetric && dm_whole_is_deep(p->c.rows, p->a.cols);
  if (deep || (double)one.c.rows * (double)one.c.cols * (double)one.a.cols < least ||
      !dm_cuda_runs(gpu, &dm_cuda_registry()[DM_KERNEL_wgmma]))
    return false;
  const dm_view of[] = {one.a, one.b, one.c};
  bool aligned = true;
  for (int x = 0; x < 3; x++)
    aligned &= dm_cuda_is_aligned(dm_blas_by_rows(of[x]) ? of[x] : dm_view_transpose(of[x]));
  return !aligned;
}

enum { MOST_ENTRIES = 65535 }; /* of a call: kernels number them in a dimension of the grid */

static dm_status post_entries(dm_cuda *gpu, const dm_whole_product *p) {
  const dm_product_steps step = {entry_step(p->a, p), entry_step(p->b, p), entry_step(p->c, p)};
  for (int64_t e = 0; e < p->entries; e += MOST_ENTRIES) {
    const dm_whole_product first = dm_whole_entry(p, e);
    DM_TRY(
        dm_cuda_post_products(gpu, gpu->whole, &first, dm_min(MOST_ENTRIES, p->entries - e), step));
  }
  return DM_OK;
}

static dm_status post_by_library(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t in) {
  bool split = false;
  DM_TRY(dm_cuda_post_split_gram(gpu, p, in, &split));
  if (split) return DM_OK;
  DM_TRY(dm_cuda_need_handle(gpu, &gpu->whole, in));
  if (p->symmetric) return dm_cuda_post_symmetric(gpu, p, in);
  if (p->entries > 1) return post_entries(gpu, p);
  return dm_cuda_post_products(gpu, gpu->whole, p, 1, (dm_product_steps){0});
}

dm_status dm_cuda_multiply_whole(dm_backend *backend, const dm_whole_product *p, void *stream,
                                 dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  cudaStream_t in = stream ? (cudaStream_t)stream : gpu->lanes[DM_COMPUTE].stream;
  *done = 0;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(post_by_library(gpu, p, in));
  return stream ? DM_OK : dm_cuda_post(gpu, DM_COMPUTE, done);
}
