/* mma_f64_tile: the parts of mma_f64: its tilings, the instruction, a thread's copies to a stage of
 * the ring, and its fragments.
 *
 * A stage holds 16 of k: the rows of A, and B in panels of 16 columns; each row of either has 128
 * bytes in 8 pieces.  Piece p of row r is stored at p ^ r % 8.  The lane with g = lane / 4 and t =
 * lane % 4 supplies A(g, t) and B(t, g) to the instruction.  To let 16 lanes access 16 different
 * banks, fragment row g of A is row 2g of 16, and the odd rows form the second half; fragment
 * columns 2t and 2t + 1 of B are the columns of piece t / 2 + 4 (t % 2), or two pieces further in
 * the second fragment of a panel.  C is stored accordingly; the order of k is unchanged. */
#ifndef DM_KERNELS_MMA_F64_TILE_CUH
#define DM_KERNELS_MMA_F64_TILE_CUH

#include "kernels/product/async_copy.cuh"
#include "kernels/product/grouped.cuh"
#include "kernels/product/ring.cuh"
#include "kernels/product/vector.cuh"

/* The block's tile of C, the warp's tile, and the resident blocks per multiprocessor. */
template <int BM_, int BN_, int WM_, int WN_, int BLOCKS_> struct DoubleTiling {
  static constexpr int BM = BM_, BN = BN_, BK = 16, WM = WM_, WN = WN_, BLOCKS = BLOCKS_;
  static constexpr int ACROSS = BN / WN, THREADS = BM / WM * ACROSS * 32;
  static constexpr int GROUP = 8; /* rows of tiles that run together */
  static constexpr int ROW = BK * 8, A_BYTES = BM * ROW, BYTES = A_BYTES + BN * ROW;
  static constexpr int M = WM / 16, N = WN / 8; /* instructions per 8 of k and warp's tile */
  static constexpr int STEPS = BK / 8 * M;      /* steps of N instructions each */
  static_assert(N % 2 == 0, "columns come in panels of 16");
  static_assert(THREADS % 128 == 0, "a thread's copies lie in the same place of their rows");
};

/* c += a b, 16 x 8 with 8 of k; on Ampere in pieces of 8 x 8 x 4 of the same fragments.  In both
 * cases each sum is a chain of fused multiply-adds over ascending k (tested on an H200 with both
 * instructions). */
static __device__ __forceinline__ void multiply_fragments(double (&c)[4], const double (&a)[4],
                                                          const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[i % 2 * 2]), "+d"(c[i % 2 * 2 + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#endif
}

/* How to copy: complete tiles in pieces of 16 bytes or in halves of pieces; otherwise with checks,
 * and elements outside of the matrices become 0. */
enum DoubleCare { DOUBLE_PIECES, DOUBLE_HALVES, DOUBLE_CHECKED };

/* The copies of one thread: the same piece in every A_STEP-th row of A, and in one row of every
 * B_STEP / 16-th panel of B. */
template <class Shape> class DoubleCopier {
public:
  static constexpr int A_STEP = Shape::THREADS / 8, A_COUNT = Shape::BM / A_STEP;
  static constexpr int B_STEP = Shape::THREADS / 8, B_COUNT = Shape::BN / B_STEP; /* columns */
  static constexpr int COUNT = A_COUNT + B_COUNT;

  __device__ __forceinline__ DoubleCopier(const Product<double> &p, Wide wide_, Corner corner)
      : nothing(p.a.base), a_stride(p.a.stride), b_stride(p.b.stride), k_left(p.a.cols),
        wide(wide_) {
    const int piece = threadIdx.x % 8, row = threadIdx.x / 8, panel = row / 16 * 16;
    const int64_t b_col = corner.col + panel + piece * 2;
    a_left = (int)max((int64_t)0, min(p.a.rows - corner.row - row, (int64_t)Shape::BM));
    b_left = (int)max((int64_t)0, min(p.b.cols - b_col, (int64_t)Shape::BN));
    a_next = a_from = &p.a.at(a_left > 0 ? corner.row + row : 0, piece * 2);
    b_from = &p.b.at(row % 16, b_left > 0 ? b_col : 0);
    a_to = row * Shape::ROW + (piece ^ (row % 8)) * 16;
    b_to = Shape::A_BYTES + panel * Shape::ROW + row % 16 * Shape::ROW + (piece ^ (row % 8)) * 16;
  }

  /* Issues part PART of PARTS of the copies to STAGE; the parts must be issued in order. */
  template <int PARTS, DoubleCare CARE>
  __device__ __forceinline__ void copy(unsigned stage, int part) {
    const int piece = threadIdx.x % 8, b_row = threadIdx.x / 8 % 16;
#pragma unroll
    for (int i = COUNT * part / PARTS; i < COUNT * (part + 1) / PARTS; i++) {
      if (i < A_COUNT) {
        const int valid = i * A_STEP < a_left ? here() - piece * 2 : 0;
        move<CARE>(stage + a_to + i * A_STEP * Shape::ROW, a_next, valid, wide.a);
        a_next += A_STEP * a_stride;
      } else {
        const int col = (i - A_COUNT) * B_STEP;
        const int valid = b_row < here() ? b_left - col : 0;
        move<CARE>(stage + b_to + col * Shape::ROW, b_from + col, valid, wide.b);
      }
    }
  }

  /* Moves to the next 16 of k. */
  __device__ __forceinline__ void advance() {
    a_next = a_from += Shape::BK;
    b_from += Shape::BK * b_stride;
    k_left -= Shape::BK;
  }

  /* The cheapest way that is correct for complete stages. */
  __device__ __forceinline__ DoubleCare care(const Product<double> &p, Corner corner) const {
    if (corner.row + Shape::BM > p.a.rows || corner.col + Shape::BN > p.b.cols)
      return DOUBLE_CHECKED;
    return wide.a && wide.b ? DOUBLE_PIECES : DOUBLE_HALVES;
  }

private:
  const double *nothing; /* a valid address for copies that read nothing */
  const double *a_from, *a_next, *b_from;
  int64_t a_stride, b_stride, k_left;
  unsigned a_to, b_to;
  int a_left, b_left; /* rows of A, columns of B from this thread's first on */
  Wide wide;

  __device__ __forceinline__ int here() const {
    return (int)min(k_left, (int64_t)Shape::BK);
  }

  /* Copies the first VALID of two elements. */
  template <DoubleCare CARE>
  __device__ __forceinline__ void move(unsigned to, const double *from, int valid, bool whole) {
    if (CARE == DOUBLE_PIECES) {
      copy_vector_async(to, from, 16);
    } else if (CARE == DOUBLE_HALVES) {
      copy_async_or_zero<8>(to, from, true);
      copy_async_or_zero<8>(to + 8, from + 1, true);
    } else if (whole) {
      copy_vector_async(to, valid > 0 ? from : nothing, 8 * max(0, min(valid, 2)));
    } else {
      copy_async_or_zero<8>(to, valid > 0 ? from : nothing, valid > 0);
      copy_async_or_zero<8>(to + 8, valid > 1 ? from + 1 : nothing, valid > 1);
    }
  }
};

/* The fragments of a step and of the next. */
template <class Shape> struct DoubleFragments {
  double a[2][4];
  double b[2][Shape::N][2]; /* for M steps each */

  __device__ __forceinline__ DoubleFragments() {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int row = warp / Shape::ACROSS * Shape::WM + 2 * g;
    const int col = warp % Shape::ACROSS * Shape::WN, piece = g / 4 + g / 2 % 2 * 4;
    a_at = row * Shape::ROW + ((t / 2) ^ (row % 8)) * 16 + t % 2 * 8;
    b_at = Shape::A_BYTES + (col + t) * Shape::ROW + (piece ^ t) * 16 + g % 2 * 8;
  }

  /* Load the fragments of step STEP from STAGE: 16 rows of A, 8 columns of B; k and k + 4. */
  __device__ __forceinline__ void load_a(unsigned stage, int step) {
    const int i = step % Shape::M, half = step / Shape::M; /* half of k */
#pragma unroll
    for (int e = 0; e < 4; e++) { /* odd e: odd rows */
      const unsigned turned = a_at ^ (half * 64 + e / 2 * 32 + e % 2 * 16);
      a[step % 2][e] = load(stage + turned + (i * 16 + e % 2) * Shape::ROW);
    }
  }
  __device__ __forceinline__ void load_b(unsigned stage, int step, int n) {
    const int half = step / Shape::M;
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const unsigned turned = b_at ^ (e * 64 + n % 2 * 32);
      b[half][n][e] = load(stage + turned + (n / 2 * 16 + half * 8 + e * 4) * Shape::ROW);
    }
  }

private:
  unsigned a_at, b_at; /* this lane's offsets in a stage */

  static __device__ __forceinline__ double load(unsigned from) {
    double value;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(from));
    return value;
  }
};

#endif
