/* double_buffer_async: C (+)= A B with a ring of four stages, filled by asynchronous copies.
 *
 * The idea: cp.async copies data from global to shared memory without registers, while the thread
 * computes.  Tiles can therefore be loaded three steps ahead: one stage is multiplied while three
 * are being filled.  Each step commits one group of copies and waits until only the two most recent
 * are pending.  (NVIDIA A100 Tensor Core GPU Architecture, "Asynchronous Copy", 2020)
 *
 * Adds to double_buffer: more stages, and fewer registers.
 *
 * What limits it: data does not pass registers, so A can only be transposed by copying single
 * elements, four times as many copies as vectors (twice in f64); and shared memory: a thread loads
 * 16 numbers for 64 multiply-adds. */
#include "kernels/ladder/vectors.cuh"

namespace {

constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/* Two blocks for each multiprocessor hide each other's barriers; with 64 sums of f64 a thread has
 * registers for only one. */
template <class T> constexpr int BLOCKS = sizeof(T) == 4 ? 2 : 1;

constexpr int STAGES = 4;

/* ---- asynchronous copies ---- */

/* Copies BYTES (4 or 8, aligned) to TO without registers (cp.async, since Ampere) if INSIDE;
 * otherwise reads nothing and sets TO to 0. */
template <int BYTES>
__device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool inside) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  const int valid = inside ? BYTES : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES),
               "r"(valid)
               : "memory");
}
/* Copies 16 bytes past the L1 cache; reads only the first VALID, the others become 0. */
__device__ __forceinline__ void copy_vector_async(void *to, const void *from, int valid) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(valid)
               : "memory");
}

/* Copies are committed and awaited in groups, oldest first: waits until all but the last PENDING
 * groups of this thread are complete. */
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int PENDING> __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* A stage of the ring: a BK x BM tile of A, transposed and padded, and a BK x BN tile of B. */
template <class T> struct Stage {
  alignas(16) T a[BK][BM + Vector<T>::LENGTH];
  alignas(16) T b[BK][BN];
};

/* The copies of one thread: A_COUNT elements of A and B_COUNT vectors of B per stage. */
template <class T> class Copier {
public:
  __device__ __forceinline__ Copier(const Product<T> &p, Corner corner, bool wide_b)
      : a_from(&p.a.at(corner.row, a_k())), k_left(p.a.cols), b_stride(p.b.stride), wide(wide_b) {
#pragma unroll
    for (int i = 0; i < A_COUNT; i++) {
      /* Rows beyond the last repeat it: their results are not stored. */
      const int64_t row = min((int64_t)a_row(i), p.a.rows - 1 - corner.row);
      a_offset[i] = row * p.a.stride;
    }
    const int64_t rest = p.b.cols - corner.col - b_col();
    b_bytes = (int)sizeof(T) * (int)(rest < 0 ? 0 : rest < LENGTH ? rest : LENGTH);
    b_from = &p.b.at(b_k(), b_bytes > 0 ? corner.col + b_col() : 0);
  }

  /* Issues the copies of a tile to STAGE, then moves to the next tile along k.  Elements beyond the
   * last k become 0. */
  __device__ __forceinline__ void copy(Stage<T> &stage) {
#pragma unroll
    for (int i = 0; i < A_COUNT; i++)
      copy_async_or_zero<sizeof(T)>(&stage.a[a_k()][a_row(i)], a_from + a_offset[i],
                                    a_k() < k_left);
#pragma unroll
    for (int i = 0; i < B_COUNT; i++) {
      T *to = &stage.b[b_k() + i * B_STEP][b_col()];
      const T *from = b_from + i * B_STEP * b_stride;
      const int valid = b_k() + i * B_STEP < k_left ? b_bytes : 0;
      if (wide) {
        copy_vector_async(to, from, valid);
      } else {
#pragma unroll
        for (int e = 0; e < LENGTH; e++)
          copy_async_or_zero<sizeof(T)>(to + e, from + e, valid > e * (int)sizeof(T));
      }
    }
    a_from += BK;
    b_from += BK * b_stride;
    k_left -= BK;
  }

private:
  static constexpr int LENGTH = Vector<T>::LENGTH, B_ACROSS = BN / LENGTH;
  static constexpr int A_COUNT = BM * BK / THREADS, A_STEP = THREADS / BK; /* rows of A */
  static constexpr int B_COUNT = BK * B_ACROSS / THREADS, B_STEP = THREADS / B_ACROSS; /* of B */
  const T *a_from, *b_from; /* this thread's first elements in the tile */
  int64_t a_offset[A_COUNT];
  int64_t k_left; /* from the current tile on */
  int64_t b_stride;
  int b_bytes; /* bytes of each vector of B inside the matrix */
  bool wide;

  /* Threads run along k in A, so that a warp reads whole sectors, and along rows of B. */
  static __device__ __forceinline__ int a_k() {
    return threadIdx.x % BK;
  }
  static __device__ __forceinline__ int a_row(int i) {
    return threadIdx.x / BK + i * A_STEP;
  }
  static __device__ __forceinline__ int b_k() {
    return threadIdx.x / B_ACROSS;
  }
  static __device__ __forceinline__ int b_col() {
    return threadIdx.x % B_ACROSS * LENGTH;
  }
};

/* ---- products, as in outer_product ---- */

/* The position of element I of a fragment in a row of a tile, for thread WHICH of OF.  Vectors of
 * different threads are interleaved: threads that load at once access adjacent vectors. */
template <class T, int OF> __device__ __forceinline__ int fragment_index(int which, int i) {
  constexpr int LENGTH = Vector<T>::LENGTH;
  return (i / LENGTH * OF + which) * LENGTH + i % LENGTH;
}

template <int OF, class T, int COUNT>
__device__ __forceinline__ void load_fragment(T (&fragment)[COUNT], const T *row, int which) {
#pragma unroll
  for (int i = 0; i < COUNT; i += Vector<T>::LENGTH) {
    const Vector<T> v = vector_at(row + fragment_index<T, OF>(which, i));
#pragma unroll
    for (int e = 0; e < v.LENGTH; e++) fragment[i + e] = v.at[e];
  }
}

/* Adds the product of two tiles, for thread (x, y): A(r, k) is a[k][r], B(k, c) is b[k][c].  The
 * outer products go back and forth: consecutive multiply-adds share an element of A or B, which
 * leaves few whose three registers are in the same bank of the register file. */
template <class T, int A_STRIDE, int B_STRIDE>
__device__ __forceinline__ void multiply_tiles(T (&sums)[TM][TN], const T (&a)[BK][A_STRIDE],
                                               const T (&b)[BK][B_STRIDE], int x, int y) {
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
  for (int k = 0; k < BK; k++) {
    T a_fragment[TM], b_fragment[TN];
    load_fragment<BM / TM>(a_fragment, a[k], y);
    load_fragment<BN / TN>(b_fragment, b[k], x);
#pragma unroll
    for (int j = 0; j < TN; j++)
#pragma unroll
      for (int n = 0; n < TM; n++) {
        const int i = j % 2 ? TM - 1 - n : n;
        sums[i][j] = mad(a_fragment[i], b_fragment[j], sums[i][j]);
      }
  }
}

/* ---- both ---- */

template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) double_buffer_async(Product<T> p, Wide wide) {
  extern __shared__ char memory[];
  Stage<T> *stages = reinterpret_cast<Stage<T> *>(memory);

  const Corner corner = block_corner(p.c, BM, BN);
  const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
  const auto row = [=](int i) { return corner.row + fragment_index<T, BM / TM>(y, i); };
  const auto col = [=](int j) { return corner.col + fragment_index<T, BN / TN>(x, j); };

  Copier<T> copier(p, corner, wide.b);
  for (int s = 0; s < STAGES - 1; s++) {
    copier.copy(stages[s]);
    commit_copies();
  }
  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);

  int now = 0, free_stage = STAGES - 1;
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    wait_for_copies<STAGES - 2>();
    __syncthreads(); /* the copies of all threads are complete, and all have read the free stage */
    copier.copy(stages[free_stage]);
    commit_copies();
    multiply_tiles(sums, stages[now].a, stages[now].b, x, y);
    now = (now + 1) % STAGES;
    free_stage = (free_stage + 1) % STAGES;
  }
  wait_for_copies<0>(); /* beyond the last k, copies only store zeros */
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

extern "C" cudaError_t dm_kernels_double_buffer_async(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    typedef typename decltype(p)::Number T;
    const auto kernel = double_buffer_async<T>;
    const int bytes = STAGES * (int)sizeof(Stage<T>);
    const cudaError_t refused =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (refused != cudaSuccess) return refused;
    kernel<<<blocks, THREADS, bytes, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
