/* dot: *result = sum of X(i, j) Y(i, j) in f64: several ways to reduce the sums of threads.
 *
 * The idea: each thread accumulates its part of the matrices in registers (walk.cuh), 16 bytes of
 * each at once.  The sums are then reduced within each block, and finally across blocks.
 *
 * In a block, a tree in shared memory: dot_interleaved adds neighbours first, so every warp stays
 * active with fewer and fewer threads; dot_sequential adds the upper half to the lower, so whole
 * warps retire; dot_unrolled needs no barrier once a single warp is left; dot_shuffle uses shared
 * memory only for one number per warp, and shuffles between the registers of a warp.
 *
 * Across blocks, which cannot wait for each other: a second launch of one block; dot_two_stage adds
 * on the CPU; in dot_counter the block that finishes last, as an atomic counter shows, runs the
 * second stage; dot_atomic adds to the result in the order in which the blocks happen to finish.
 * All but dot_atomic add in a fixed order: the same bits in every run.
 *
 * Limits: for large matrices all variants run at memory speed, and only small ones show the
 * differences; sums are as accurate as f64.  Measured on an H200, on 1 GiB of each matrix:
 * dot_shuffle reads at 0.98 of the speed of a kernel that only reads, in f32 and f64. */
#include <type_traits>
#include <vector>

#include "kernels/helpers/walk.cuh"

namespace {

constexpr int THREADS = 256, UNROLLED = 4, BLOCKS_PER_PROCESSOR = 6, RESIDENT = 3;

template <class T> struct Dot {
  typedef T Number;
  Matrix<const T> x, y;
  bool same; /* X is Y: read once */
};

/* The sum of this thread's elements, in UNROLLED independent chains of additions. */
template <class T, bool WIDE> __device__ double sum_of_thread(const Dot<T> &d) {
  Walk<T, WIDE, UNROLLED> walk(d.x);
  double sums[UNROLLED] = {};
  while (walk.inside()) {
    const Batch<T, WIDE, UNROLLED> batch = walk.next();
    Run<T, WIDE> x[UNROLLED], y[UNROLLED];
    batch.load(d.x, x);
    if (!d.same) batch.load(d.y, y);
#pragma unroll
    for (int u = 0; u < UNROLLED; u++)
#pragma unroll
      for (int v = 0; v < Run<T, WIDE>::LENGTH; v++) {
        const double xs = (double)x[u].at[v], ys = d.same ? xs : (double)y[u].at[v];
        sums[u] = fma(xs, ys, sums[u]);
      }
  }
  double sum = sums[0];
#pragma unroll
  for (int u = 1; u < UNROLLED; u++) sum += sums[u];
  return sum;
}

/* ---- reduction in a block: the sum, in thread 0 ---- */

struct Interleaved {
  static __device__ double sum(double mine) {
    __shared__ double sums[THREADS];
    const int t = threadIdx.x;
    sums[t] = mine;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance *= 2) {
      if (t % (2 * distance) == 0) sums[t] += sums[t + distance];
      __syncthreads();
    }
    return sums[0];
  }
};

struct Sequential {
  static __device__ double sum(double mine) {
    __shared__ double sums[THREADS];
    const int t = threadIdx.x;
    sums[t] = mine;
    __syncthreads();
    for (int distance = THREADS / 2; distance > 0; distance /= 2) {
      if (t < distance) sums[t] += sums[t + distance];
      __syncthreads();
    }
    return sums[0];
  }
};

struct Unrolled {
  static __device__ double sum(double mine) {
    __shared__ double sums[THREADS];
    const int t = threadIdx.x;
    sums[t] = mine;
    __syncthreads();
#pragma unroll
    for (int distance = THREADS / 2; distance >= 32; distance /= 2) {
      if (t < distance) sums[t] += sums[t + distance];
      __syncthreads();
    }
    if (t >= 32) return 0.0;
    double total = sums[t];
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      if (t < distance) sums[t] = total += sums[t + distance];
      __syncwarp(); /* threads of a warp need not run in lockstep */
    }
    return total;
  }
};

struct Shuffled {
  static __device__ double sum_of_warp(double v) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(~0u, v, distance);
    return v;
  }
  static __device__ double sum(double mine) {
    __shared__ double sums[THREADS / 32];
    const int t = threadIdx.x;
    mine = sum_of_warp(mine);
    if (t % 32 == 0) sums[t / 32] = mine;
    __syncthreads();
    return t < 32 ? sum_of_warp(t < THREADS / 32 ? sums[t] : 0.0) : 0.0;
  }
};

/* ---- reduction across blocks ---- */

template <class T, bool WIDE, class Tree>
__global__ void __launch_bounds__(THREADS, RESIDENT) sum_of_blocks(Dot<T> d, double *parts) {
  const double sum = Tree::sum(sum_of_thread<T, WIDE>(d));
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

/* The sum of COUNT numbers, in thread 0 of one block. */
template <class Tree> __device__ double sum_of_parts(const double *parts, int count) {
  double sum = 0.0;
  for (int i = threadIdx.x; i < count; i += THREADS) sum += parts[i];
  return Tree::sum(sum);
}

template <class Tree>
__global__ void __launch_bounds__(THREADS)
    add_parts(const double *parts, int count, double *result) {
  const double sum = sum_of_parts<Tree>(parts, count);
  if (threadIdx.x == 0) *result = sum;
}

template <class T, bool WIDE>
__global__ void __launch_bounds__(THREADS, RESIDENT) sum_atomically(Dot<T> d, double *result) {
  const double sum = Sequential::sum(sum_of_thread<T, WIDE>(d));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

/* COUNTER must be 0 at launch. */
template <class T, bool WIDE>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    sum_by_last_block(Dot<T> d, double *parts, unsigned *counter, double *result) {
  __shared__ bool last;
  const double sum = Sequential::sum(sum_of_thread<T, WIDE>(d));
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence(); /* the part is visible before the count */
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const double total = sum_of_parts<Sequential>(parts, (int)gridDim.x);
  if (threadIdx.x == 0) *result = total;
}

/* ---- launching ---- */

constexpr int COUNTER_ROOM = 256; /* bytes of scratch memory before the parts */

struct Launch {
  dm_dot_product p;
  bool wide;
  unsigned blocks;
  unsigned *counter;
  double *parts;

  explicit Launch(const dm_dot_product *product) : p(*product) {
    if (rows_join(p.x) && rows_join(p.y)) p.x = joined(p.x), p.y = joined(p.y);
    const int64_t size = size_of(p.x.dtype);
    wide = rows_are_wide(p.x, size) && rows_are_wide(p.y, size);
    const int64_t runs = p.x.rows * divide_up(p.x.cols, wide ? 16 / size : 1);
    blocks = blocks_for(divide_up(runs, THREADS * UNROLLED),
                        (int64_t)p.processors * BLOCKS_PER_PROCESSOR);
    counter = static_cast<unsigned *>(p.scratch);
    parts = reinterpret_cast<double *>(static_cast<char *>(p.scratch) + COUNTER_ROOM);
  }

  /* Calls FUNCTION with the typed dot product and whether its rows are wide. */
  template <class Function> cudaError_t with(Function function) const {
    return with_sum(p.x.dtype, [&](auto number) {
      typedef decltype(number) T;
      const bool same = p.x.base == p.y.base && p.x.row_stride == p.y.row_stride;
      const Dot<T> d = {matrix_of<const T>(p.x), matrix_of<const T>(p.y), same};
      if (wide)
        function(d, std::true_type());
      else
        function(d, std::false_type());
      return cudaGetLastError();
    });
  }

  template <class Tree> cudaError_t first_stage() const {
    return with([&](auto d, auto is_wide) {
      sum_of_blocks<typename decltype(d)::Number, decltype(is_wide)::value, Tree>
          <<<blocks, THREADS, 0, p.stream>>>(d, parts);
    });
  }

  template <class Tree> cudaError_t both_stages() const {
    const cudaError_t error = first_stage<Tree>();
    if (error != cudaSuccess) return error;
    add_parts<Tree><<<1, THREADS, 0, p.stream>>>(parts, (int)blocks, p.result);
    return cudaGetLastError();
  }
};

} // namespace

int64_t dm_kernels_dot_scratch(const dm_dot_product *product) {
  return COUNTER_ROOM +
         (int64_t)product->processors * BLOCKS_PER_PROCESSOR * (int64_t)sizeof(double);
}

cudaError_t dm_kernels_dot_interleaved(const dm_dot_product *product) {
  return Launch(product).both_stages<Interleaved>();
}

cudaError_t dm_kernels_dot_sequential(const dm_dot_product *product) {
  return Launch(product).both_stages<Sequential>();
}

cudaError_t dm_kernels_dot_unrolled(const dm_dot_product *product) {
  return Launch(product).both_stages<Unrolled>();
}

cudaError_t dm_kernels_dot_shuffle(const dm_dot_product *product) {
  return Launch(product).both_stages<Shuffled>();
}

/* The parts are few: the round trip to the CPU costs latency, not bandwidth. */
cudaError_t dm_kernels_dot_two_stage(const dm_dot_product *product) {
  const Launch l(product);
  std::vector<double> parts(l.blocks);
  cudaError_t error = l.first_stage<Sequential>();
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(parts.data(), l.parts, l.blocks * sizeof(double),
                            cudaMemcpyDeviceToHost, l.p.stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(l.p.stream);
  if (error != cudaSuccess) return error;
  double sum = 0.0;
  for (double part : parts) sum += part;
  /* The call copies pageable memory before it returns. */
  return cudaMemcpyAsync(l.p.result, &sum, sizeof sum, cudaMemcpyHostToDevice, l.p.stream);
}

cudaError_t dm_kernels_dot_counter(const dm_dot_product *product) {
  const Launch l(product);
  const cudaError_t error = cudaMemsetAsync(l.counter, 0, sizeof *l.counter, l.p.stream);
  if (error != cudaSuccess) return error;
  return l.with([&](auto d, auto is_wide) {
    sum_by_last_block<typename decltype(d)::Number, decltype(is_wide)::value>
        <<<l.blocks, THREADS, 0, l.p.stream>>>(d, l.parts, l.counter, l.p.result);
  });
}

cudaError_t dm_kernels_dot_atomic(const dm_dot_product *product) {
  const Launch l(product);
  const cudaError_t error = cudaMemsetAsync(l.p.result, 0, sizeof(double), l.p.stream);
  if (error != cudaSuccess) return error;
  return l.with([&](auto d, auto is_wide) {
    sum_atomically<typename decltype(d)::Number, decltype(is_wide)::value>
        <<<l.blocks, THREADS, 0, l.p.stream>>>(d, l.p.result);
  });
}
