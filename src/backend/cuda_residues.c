/* Products made of exact products of residues, on the GPU: parts of A and B are split and
 * multiplied into the accumulators, which are combined at the end. All steps are queued in the
 * compute lane. */
#include "backend/cuda_state.h"

#include "backend/probe.h"
#include "core/checked.h"
#include "kernels/kernels.h"
#include "kernels/residue_kernels.h"

_Static_assert((int)DM_RESIDUES_ROWS == (int)DM_RESIDUE_GROUP &&
                   (int)DM_RESIDUES_PLANES == (int)DM_RESIDUE_PLANES,
               "what the planner counts");
_Static_assert(DM_RESIDUES_PLANES *(DM_RESIDUES_SPLIT / 2) <= DM_RESIDUES_DEPTH,
               "sums of complex products fit int32");

enum { ONLY = 90 }; /* compute capability, times 10, of the product kernel */

bool dm_cuda_is_hopper(const dm_cuda *gpu) {
  return gpu->capability == ONLY;
}

dm_status dm_cuda_open_residues(dm_cuda *gpu) {
  const dm_compute *compute = &gpu->mode;
  const bool own = compute->own_kernels;
  gpu->moduli = (dm_moduli){0};
  if (compute->finish == DM_NO_FINISH && !own) return DM_OK;
  if (!own) return dm_fail(DM_E_USAGE, "products of %.15s are not done on GPUs", compute->name);
  if (!dm_cuda_is_hopper(gpu))
    return dm_hint(dm_fail(DM_E_USAGE,
                           "products of %.15s run on GPUs of compute capability %d.%d: %s has "
                           "%d.%d",
                           compute->name, ONLY / 10, ONLY % 10, gpu->name, gpu->capability / 10,
                           gpu->capability % 10),
                   "--compute %s runs on every GPU", dm_dtype_name(compute->work));
  if (compute->moduli > 0) dm_moduli_make(compute->moduli, &gpu->moduli);
  return DM_OK;
}

/* ---- products ---- */

typedef struct cuda_parts {
  dm_cuda *gpu;
  cudaStream_t stream;
  dm_residue_product product; /* without panels */
  int planes;                 /* of the panels */
  dm_exponents exponents;
} cuda_parts;

/* Multiplies A(., k to k + depth) B(k to k + depth, .): both views cover these k. */
static dm_status cuda_multiply_part(const cuda_parts *p, dm_view a, dm_view b, bool accumulate) {
  char *room = p->gpu->residues.memory;
  dm_residue_product product = p->product;
  product.a = dm_residue_panel_at(room, p->planes, a.rows, a.cols);
  product.b = dm_residue_panel_at(room + dm_residue_panel_bytes(p->planes, a.rows, a.cols),
                                  p->planes, b.cols, a.cols);
  product.accumulate = accumulate;
  const dm_residue_split of_a = {
      .to = product.a, .from = a, .exponents = p->exponents.rows, .stream = p->stream};
  const dm_residue_split of_b = {.to = product.b,
                                 .from = dm_view_transpose(b),
                                 .exponents = p->exponents.cols,
                                 .columns = true,
                                 .stream = p->stream};
  DM_CUDA(p->gpu, dm_kernels_residue_split(&of_a));
  DM_CUDA(p->gpu, dm_kernels_residue_split(&of_b));
  DM_CUDA(p->gpu, dm_kernels_residue_product(&product));
  return DM_OK;
}

/* Parts of k, as equal as cache lines allow. */
static int64_t cuda_depth_of(int64_t k, int parts) {
  const int64_t most = DM_RESIDUES_SPLIT / parts;
  return dm_round_up(dm_ceil_div(k, dm_ceil_div(k, most)), DM_RESIDUES_ROW);
}

static dm_status cuda_residues_multiply(const cuda_parts *p, dm_view a, dm_view b,
                                        bool accumulate) {
  const int64_t k = a.cols, depth = cuda_depth_of(k, p->product.parts);
  DM_TRY(dm_cuda_grow(p->gpu, &p->gpu->residues,
                      dm_residue_panel_bytes(p->planes, a.rows, dm_min(k, depth)) +
                          dm_residue_panel_bytes(p->planes, b.cols, dm_min(k, depth))));
  for (int64_t at = 0; at < k; at += depth) {
    const int64_t deep = dm_min(depth, k - at);
    DM_TRY(cuda_multiply_part(p, dm_view_sub(a, 0, at, a.rows, deep),
                              dm_view_sub(b, at, 0, deep, b.cols), accumulate || at > 0));
  }
  return DM_OK;
}

/* A view of all accumulators of C, including gaps. */
static dm_view cuda_all_of(const dm_cuda *gpu, dm_view c, int64_t plane) {
  c.cols += (gpu->moduli.count - 1) * plane;
  return c;
}

dm_status dm_cuda_multiply_residues(dm_backend *backend, dm_view c, int64_t plane, dm_view a,
                                    dm_view b, bool accumulate, dm_exponents exponents,
                                    dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const bool is_complex = dm_dtype_is_complex(b.dtype);
  const cuda_parts p = {.gpu = gpu,
                        .stream = gpu->lanes[DM_COMPUTE].stream,
                        .product = {.c = c.base,
                                    .parts = is_complex ? 2 : 1,
                                    .row_stride = c.row_stride,
                                    .plane = plane,
                                    .processors = gpu->processors,
                                    .stream = gpu->lanes[DM_COMPUTE].stream},
                        .planes = gpu->moduli.count * (is_complex ? DM_RESIDUE_PLANES : 1),
                        .exponents = exponents};
  DM_TRY(dm_cuda_enter(gpu));
  if (gpu->moduli.count == 0) return dm_fail(DM_E_BUG, "a product of residues without moduli");
  if (a.cols > 0)
    DM_TRY(dm_context(cuda_residues_multiply(&p, a, b, accumulate),
                      "product of %lld x %lld x %lld (m, n, k) by residues", (long long)c.rows,
                      (long long)c.cols, (long long)a.cols));
  else if (!accumulate)
    DM_TRY(dm_cuda_zero_on(gpu, p.stream, cuda_all_of(gpu, c, plane)));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

/* ---- sums ---- */

/* Copies sums, rounding those of f32 once more, as on the CPU. */
static dm_status move_sums(dm_cuda *gpu, cudaStream_t stream, dm_view to, dm_view from) {
  if (to.dtype == from.dtype) return dm_cuda_copy_on(gpu, stream, to, from);
  DM_CUDA(gpu, dm_kernels_convert(to, from, stream));
  return DM_OK;
}

/* SUMS = the numbers whose residues are at C. */
static dm_status combine_residues(dm_cuda *gpu, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents) {
  const dm_residue_combination part = {.to = sums,
                                       .c = c.base,
                                       .row_stride = c.row_stride,
                                       .plane = plane,
                                       .of_rows = exponents.rows,
                                       .of_cols = exponents.cols,
                                       .moduli = &gpu->moduli,
                                       .stream = gpu->lanes[DM_COMPUTE].stream};
  DM_CUDA(gpu, dm_kernels_residue_combine(&part));
  return DM_OK;
}

/* Sums that overwrite the accumulators of their rows, all of which must be read first, or are of
 * another type, are computed elsewhere some rows at a time, few enough to be in cache when they are
 * copied. */
dm_status dm_cuda_finish_residues(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents, dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  if (c.space == DM_HOST) return dm_host_finish_residues(&gpu->moduli, sums, c, plane, exponents);
  sums = dm_view_parts(sums);
  const int64_t stride = dm_device_stride(c.cols, DM_F64);
  const int64_t row = stride * dm_dtype_size(DM_F64);
  const int64_t chunk = dm_min(c.rows, dm_max(1, DM_RESIDUES_SUMS / row));
  DM_TRY(dm_cuda_enter(gpu));
  if (sums.base != c.base && sums.dtype == DM_F64) {
    DM_TRY(combine_residues(gpu, sums, c, plane, exponents));
    return dm_cuda_post(gpu, DM_COMPUTE, done);
  }
  DM_TRY(dm_cuda_grow(gpu, &gpu->residues, chunk * row));
  for (int64_t i = 0; i < c.rows; i += chunk) {
    const int64_t rows = dm_min(chunk, c.rows - i);
    const dm_view some =
        dm_view_strided(gpu->residues.memory, DM_F64, DM_DEVICE, rows, c.cols, stride);
    DM_TRY(combine_residues(gpu, some, dm_view_sub(c, i, 0, rows, c.cols), plane,
                            (dm_exponents){exponents.rows + i, exponents.cols}));
    DM_TRY(move_sums(gpu, stream, dm_view_sub(sums, i, 0, rows, sums.cols), some));
  }
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

/* Synchronous, and ahead of waiting products, as in cuda_verify.c. */
dm_status dm_cuda_join_residues(dm_backend *backend, dm_view c, dm_view more, int64_t plane) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (c.space == DM_HOST) {
    dm_host_join_residues(&gpu->moduli, c, more, plane);
    return DM_OK;
  }
  DM_TRY(dm_cuda_enter(gpu));
  const dm_residue_sum sum = {
      .c = c, .more = more, .plane = plane, .moduli = &gpu->moduli, .stream = gpu->side};
  DM_CUDA(gpu, dm_kernels_residue_join(&sum));
  DM_CUDA(gpu, cudaStreamSynchronize(gpu->side));
  return DM_OK;
}
