/* fill: the generator of core/element.h on the device.  Compiled with -fmad=false, as on the host,
 * and rounded by the same functions: the results are bit-identical. */
#include "kernels/helpers/rounding.cuh"
#include "kernels/kernels.h"

namespace {

constexpr int THREADS = 256, PER_THREAD = 4;

template <class T> __device__ void write(T *to, const dm_generator &g, int64_t row, int64_t col) {
  round_to(to, dm_element(&g, row, col, 0));
}
template <class Part>
__device__ void write(Complex<Part> *to, const dm_generator &g, int64_t row, int64_t col) {
  round_to(&to->re, dm_element(&g, row, col, 0));
  round_to(&to->im, dm_element(&g, row, col, 1));
}

/* A block writes a run of THREADS * PER_THREAD elements of one row. */
template <class Element>
__global__ void __launch_bounds__(THREADS)
    fill(dm_view view, dm_generator generator, int64_t row, int64_t col, int64_t runs) {
  Element *base = static_cast<Element *>(view.base);
  const int64_t i = blockIdx.x / runs;
  const int64_t first = blockIdx.x % runs * (THREADS * PER_THREAD) + threadIdx.x;
#pragma unroll 1
  for (int n = 0; n < PER_THREAD; n++) {
    const int64_t j = first + n * THREADS;
    if (j < view.cols)
      write(base + i * view.row_stride + j * view.col_stride, generator, row + i, col + j);
  }
}

template <class Element>
cudaError_t launch(dm_view view, const dm_generator *generator, int64_t row, int64_t col,
                   cudaStream_t stream) {
  const int64_t runs = (view.cols + THREADS * PER_THREAD - 1) / (THREADS * PER_THREAD);
  const int64_t rows_at_once = INT32_MAX / runs; /* limits the blocks of a launch */
  for (int64_t done = 0; done < view.rows; done += rows_at_once) {
    dm_view some = view;
    some.base = static_cast<Element *>(view.base) + done * view.row_stride;
    some.rows = view.rows - done < rows_at_once ? view.rows - done : rows_at_once;
    fill<Element><<<(unsigned)(some.rows * runs), THREADS, 0, stream>>>(some, *generator,
                                                                        row + done, col, runs);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

} // namespace

cudaError_t dm_kernels_fill(dm_view view, const dm_generator *generator, int64_t row, int64_t col,
                            cudaStream_t stream) {
  return with_type(view.dtype, [&](auto element) {
    return launch<decltype(element)>(view, generator, row, col, stream);
  });
}
