/* Copies between views of host and device memory, in every direction, by the copy engines. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_state.h"
#include "core/copy.h"
#include "kernels/kernels.h"

/* A matrix as the runtime handles it: rows of bytes. */
typedef struct band {
  char *base;
  int64_t width, rows, pitch;
} band;

static band band_of(dm_view view) {
  const int64_t size = dm_dtype_size(view.dtype);
  band b = {.base = view.base,
            .width = view.cols * size,
            .rows = view.rows,
            .pitch = view.row_stride * size};
  if (dm_view_is_packed(view)) { /* one long row */
    b.width *= b.rows;
    b.rows = 1;
  }
  if (b.rows <= 1) b.pitch = b.width;
  return b;
}

/* Cuts B, whose rows hold whole rows of WIDTH bytes, into these. */
static band band_cut(band b, int64_t width) {
  if (b.rows > 1 || b.width == width) return b;
  b.rows = b.width / width;
  b.width = b.pitch = width;
  return b;
}

dm_status dm_cuda_copy_on(dm_cuda *gpu, cudaStream_t stream, dm_view dst, dm_view src) {
  static const enum cudaMemcpyKind kinds[2][2] = {
      [DM_HOST] = {[DM_HOST] = cudaMemcpyHostToHost, [DM_DEVICE] = cudaMemcpyHostToDevice},
      [DM_DEVICE] = {[DM_HOST] = cudaMemcpyDeviceToHost, [DM_DEVICE] = cudaMemcpyDeviceToDevice}};
  if (dm_view_is_empty(src)) return DM_OK;
  const enum cudaMemcpyKind kind = kinds[src.space][dst.space];

  band to = band_of(dst), from = band_of(src);
  if (to.rows != from.rows) { /* one side is packed, the other is not */
    const int64_t width = to.rows > from.rows ? to.width : from.width;
    to = band_cut(to, width);
    from = band_cut(from, width);
  }
  if (to.rows > 1 && to.pitch <= gpu->pitch_limit && from.pitch <= gpu->pitch_limit) {
    DM_CUDA(gpu, cudaMemcpy2DAsync(to.base, (size_t)to.pitch, from.base, (size_t)from.pitch,
                                   (size_t)to.width, (size_t)to.rows, kind, stream));
    return DM_OK;
  }
  for (int64_t i = 0; i < to.rows; i++) /* a single row, or few with a large pitch */
    DM_CUDA(gpu, cudaMemcpyAsync(to.base + i * to.pitch, from.base + i * from.pitch,
                                 (size_t)to.width, kind, stream));
  return DM_OK;
}

/* Copies within one space to another type. */
static dm_status convert(dm_cuda *gpu, cudaStream_t stream, dm_view dst, dm_view src) {
  if (src.space == DM_HOST)
    dm_copy(dst, src, false);
  else
    DM_CUDA(gpu, dm_kernels_convert(dm_view_parts(dst), dm_view_parts(src), stream));
  return DM_OK;
}

dm_status dm_cuda_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  const bool outward = src.space == DM_DEVICE && dst.space == DM_HOST;
  const dm_cuda_lane_name lane = outward ? DM_OUTWARD : DM_INWARD;
  if (dst.dtype != src.dtype)
    DM_TRY(convert(gpu, gpu->lanes[lane].stream, dst, src));
  else
    DM_TRY(dm_cuda_copy_on(gpu, gpu->lanes[lane].stream, dst, src));
  return dm_cuda_post(gpu, lane, done);
}

dm_status dm_cuda_zero_on(dm_cuda *gpu, cudaStream_t stream, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  const band b = band_of(view);
  if (b.rows > 1 && b.pitch <= gpu->pitch_limit) {
    DM_CUDA(gpu,
            cudaMemset2DAsync(b.base, (size_t)b.pitch, 0, (size_t)b.width, (size_t)b.rows, stream));
    return DM_OK;
  }
  for (int64_t i = 0; i < b.rows; i++)
    DM_CUDA(gpu, cudaMemsetAsync(b.base + i * b.pitch, 0, (size_t)b.width, stream));
  return DM_OK;
}

#endif
