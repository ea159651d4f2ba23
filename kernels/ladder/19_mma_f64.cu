/* mma_f64: C (+)= A B with mma.sync for f64: the f64 part of the rung mma.
 *
 * The idea: at the rate of this instruction, shared memory is no bottleneck (a warp's tile of
 * 64 x 32 reads 48 of 128 bytes per clock); the instruction must only never wait for operands.  A
 * warp loads the fragments of the next step while it multiplies those of the current one, across
 * stages too, and copies part of a later stage between steps.  Barriers that count arrivals guard
 * the stages (ring.cuh); a warp tests them half a stage before it needs the result, so all warps
 * never wait at once, unlike with __syncthreads.
 *
 * Adds to warp_tile: the instruction and its register layout.  16-byte pieces in shared memory are
 * swizzled instead of padded, and rows and columns of C are assigned to fragments such that there
 * are no bank conflicts (mma_f64_tile.cuh).  Rows not aligned to 16 bytes are copied in pieces of 8
 * bytes.  Sums form the same chains as on CUDA cores, bit for bit.
 *
 * Limits: the peak of the tensor cores is 67 TFLOP/s on an H200, which cuBLAS nearly reaches: only
 * other arithmetic could make f64 much faster.  k is never split, so products with few tiles leave
 * multiprocessors idle: 64 x 64 x 8192 takes ten times as long as with cuBLAS, which splits k.
 *
 * Measured on an H200 at its limit of 700 W, alternating with cuBLAS, medians: 0.98 of its speed at
 * 8192 x 8192 x 8192 (56 TFLOP/s), 1.0 at 16384; 0.96 for C += with k of 1024 or 2048; 0.87 at 512,
 * 0.92 at 1024.  With rows not aligned to 16 bytes (8191) it reaches 0.96 of its own speed, and 1.3
 * times that of cuBLAS. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/mma.cuh"
#include "kernels/product/mma_f64_tile.cuh"

namespace {

/* Large tiles need the least bandwidth, but registers suffice for only one block; two smaller
 * blocks hide each other's prologue and epilogue, which matter if k is short. */
struct Large : DoubleTiling<128, 128, 64, 32, 1> {};
struct Medium : DoubleTiling<128, 64, 64, 32, 2> {};
struct Small : DoubleTiling<32, 64, 16, 32, 3> {};
struct Quarter : DoubleTiling<64, 64, 32, 16, 1> {}; /* a quarter of a large tile */

constexpr int LAG = 2;              /* maximum distance between warps, in stages */
constexpr int LEAST = 3;            /* minimum of stages: one read, one awaited, one filled */
constexpr int MOST = 7;             /* maximum of stages */
constexpr double PIECE_ROUND = 0.3; /* time of a quarter tile relative to a whole one */
constexpr double BUSY = 0.85;       /* share of busy multiprocessors below which tiles are small */
constexpr int SHORT = 2048;         /* k below which tiles are medium */
constexpr int RESERVED = 1024;      /* bytes of shared memory that CUDA reserves per block */

/* Pieces per tile. */
template <class Shape, class Piece>
constexpr unsigned PIECES = (Shape::BM / Piece::BM) * (Shape::BN / Piece::BN);

/* A thread's part of the work on a tile. */
template <class Shape> class Tile {
public:
  __device__ __forceinline__ Tile(const Product<double> &p_, Wide wide_, const Ring &ring_,
                                  Corner corner_)
      : p(p_), wide(wide_), ring(ring_), corner(corner_), copier(p_, wide_, corner_),
        stages((int)((p_.a.cols + Shape::BK - 1) / Shape::BK)) {
  }

  __device__ __forceinline__ void multiply() {
    for (; copied < max(LEAST - 1, ring.count - LAG) && copied < stages; finish_copies())
      copier.template copy<1, DOUBLE_CHECKED>(ring.stage(writing.slot), 0);
    for_vectors([&](double *at, int count, double &first, double &second) {
      first = second = 0;
      if (p.accumulate) load_two(at, count, first, second);
    });
    await_phase(ring.filled(0), 0);
    fragments.load_a(ring.stage(0), 0);
#pragma unroll
    for (int n = 0; n < Shape::N; n++) fragments.load_b(ring.stage(0), 0, n);

    const DoubleCare care = copier.care(p, corner);
    if (care == DOUBLE_PIECES) multiply_inside<DOUBLE_PIECES>();
    if (care == DOUBLE_HALVES) multiply_inside<DOUBLE_HALVES>();
    while (multiplied < stages) multiply_stage<DOUBLE_CHECKED>();
    for_vectors([&](double *at, int count, double first, double second) {
      store_two(at, count, first, second);
    });
  }

private:
  static constexpr int STEPS = Shape::STEPS, M = Shape::M, N = Shape::N;
  const Product<double> &p;
  const Wide wide;
  const Ring &ring;
  const Corner corner;
  DoubleCopier<Shape> copier;
  DoubleFragments<Shape> fragments;
  double sums[M][N][4];
  RingPlace reading = {0, 0}, writing = {0, 1};
  const int stages; /* stages along k */
  int copied = 0, multiplied = 0;

  __device__ __forceinline__ void finish_copies() {
    arrive_after_copies(ring.filled(writing.slot));
    copier.advance();
    writing = writing.next(ring.count);
    copied++;
  }

  /* While complete stages are left to copy. */
  template <DoubleCare CARE> __device__ __forceinline__ void multiply_inside() {
    for (const int whole = (int)(p.a.cols / Shape::BK); copied < whole;) multiply_stage<CARE>();
  }

  template <DoubleCare CARE> __device__ __forceinline__ void multiply_stage() {
    const bool copies = CARE != DOUBLE_CHECKED || copied < stages;
    const bool more = CARE != DOUBLE_CHECKED || multiplied + 1 < stages;
    const RingPlace coming = reading.next(ring.count);
    const unsigned stage = ring.stage(reading.slot), next_stage = ring.stage(coming.slot);
    const unsigned free_stage = ring.stage(writing.slot);
    bool arrived = false;
    if (copies) await_phase(ring.read(writing.slot), writing.parity);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      if (copies) copier.template copy<STEPS, CARE>(free_stage, s);
      if (s == STEPS / 2 - 1 && more) arrived = phase_over(ring.filled(coming.slot), coming.parity);
      if (s == STEPS - 1 && more) await_phase(ring.filled(coming.slot), coming.parity, arrived);
      load_next(s, s < STEPS - 1 ? stage : next_stage);
#pragma unroll
      for (int n = 0; n < N; n++)
        multiply_fragments(sums[s % M][n], fragments.a[s % 2], fragments.b[s / M][n]);
    }
    arrive_as_warp(ring.read(reading.slot));
    if (copies) finish_copies();
    reading = coming;
    multiplied++;
  }

  /* Loads the fragments of the step after S from FROM.  Those of B last for M steps. */
  __device__ __forceinline__ void load_next(int s, unsigned from) {
    fragments.load_a(from, (s + 1) % STEPS);
    if ((s + 1) % M == 0)
#pragma unroll
      for (int n = 0; n < N; n++) fragments.load_b(from, (s + 1) % STEPS, n);
  }

  /* Calls FUNCTION for each pair of sums adjacent in C, with its address, the number of sums inside
   * C (1 or 2), and the sums. */
  template <class Function> __device__ __forceinline__ void for_vectors(Function function) {
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int64_t row = corner.row + warp / Shape::ACROSS * Shape::WM + 2 * g;
    const int64_t col = corner.col + warp % Shape::ACROSS * Shape::WN + t % 2 * 8 + t / 2 * 2;
#pragma unroll
    for (int i = 0; i < 2 * M; i++) {
      const int64_t r = row + i / 2 * 16 + i % 2;
      if (r >= p.c.rows) continue;
#pragma unroll
      for (int n = 0; n < N; n++) {
        const int64_t c = col + n / 2 * 16 + n % 2 * 4;
        if (c < p.c.cols)
          function(&p.c.at(r, c), p.c.cols - c > 1 ? 2 : 1, sums[i / 2][n][i % 2 * 2],
                   sums[i / 2][n][i % 2 * 2 + 1]);
      }
    }
  }

  __device__ __forceinline__ void load_two(const double *at, int count, double &first,
                                           double &second) const {
    if (wide.c && count == 2) {
      const Vector<double> v = vector_at(at);
      first = v.at[0], second = v.at[1];
    } else {
      first = at[0];
      if (count == 2) second = at[1];
    }
  }
  __device__ __forceinline__ void store_two(double *at, int count, double first,
                                            double second) const {
    if (wide.c && count == 2) {
      vector_at(at) = {{first, second}};
    } else {
      at[0] = first;
      if (count == 2) at[1] = second;
    }
  }
};

/* WHOLE blocks compute a tile each.  The remaining tiles, too few for all multiprocessors, are cut
 * into pieces, one per block. */
template <class Shape, class Piece>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS)
    mma_f64(const Product<double> p, const Wide wide, const int stages, const unsigned whole) {
  static_assert(Piece::THREADS == Shape::THREADS && Piece::BYTES <= Shape::BYTES, "either fits");
  extern __shared__ __align__(128) char memory[];
  if (PIECES<Shape, Piece> == 1 || blockIdx.x < whole) {
    const Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
    const Ring ring = make_ring(memory, stages, Shape::BYTES);
    Tile<Shape>(p, wide, ring, corner).multiply();
  } else {
    constexpr unsigned ACROSS = Shape::BN / Piece::BN, COUNT = PIECES<Shape, Piece>;
    const unsigned piece = (blockIdx.x - whole) % COUNT;
    Corner corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN,
                                                 whole + (blockIdx.x - whole) / COUNT);
    corner.row += piece / ACROSS * Piece::BM, corner.col += piece % ACROSS * Piece::BN;
    if (corner.row >= p.c.rows || corner.col >= p.c.cols) return;
    const Ring ring = make_ring(memory, stages, Piece::BYTES);
    Tile<Piece>(p, wide, ring, corner).multiply();
  }
}

/* Properties of the device that determine the tiling. */
struct Device {
  int processors, memory, memory_of_block; /* memory: shared memory in bytes */
};

cudaError_t look_at_device(Device *device) {
  int id = 0;
  cudaError_t error = cudaGetDevice(&id);
  const struct {
    int *to;
    cudaDeviceAttr what;
  } wanted[] = {{&device->processors, cudaDevAttrMultiProcessorCount},
                {&device->memory, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
                {&device->memory_of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin}};
  for (int i = 0; i < 3 && error == cudaSuccess; i++)
    error = cudaDeviceGetAttribute(wanted[i].to, wanted[i].what, id);
  return error;
}

/* The partition of a product into tiles. */
template <class Shape, class Piece> struct Cut {
  int64_t tiles, rest; /* rest: tiles that are cut into pieces */
  double rounds;       /* total time, in times of a tile */

  Cut(const dm_product *product, const Device &device) {
    const int64_t at_once = device.processors * Shape::BLOCKS;
    tiles = divide_up(product->c.rows, Shape::BM) * divide_up(product->c.cols, Shape::BN);
    rest = tiles % at_once;
    rounds = (double)divide_up(tiles, at_once);
    const int64_t piece_rounds = divide_up(rest * PIECES<Shape, Piece>, device.processors);
    if (PIECES<Shape, Piece> == 1 || piece_rounds > 2)
      rest = 0;
    else
      rounds = (double)(tiles / at_once) + PIECE_ROUND * (double)piece_rounds;
  }
};

template <class Shape, class Piece = Shape>
cudaError_t launch(const dm_product *product, const Device &device) {
  const auto kernel = mma_f64<Shape, Piece>;
  int room = min(device.memory / Shape::BLOCKS - RESERVED, device.memory_of_block);
  if (room < LEAST * (Shape::BYTES + RING_BARRIERS)) room = device.memory_of_block;
  const int stages = min(MOST, room / (Shape::BYTES + RING_BARRIERS));
  if (stages < LEAST) return cudaErrorNotSupported;
  const int bytes = stages * (Shape::BYTES + RING_BARRIERS);
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const Cut<Shape, Piece> cut(product, device);
  const int64_t blocks = cut.tiles + cut.rest * (PIECES<Shape, Piece> - 1);
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration; /* C of more than 35 TB */
  const Product<double> p = product_of<double>(product);
  kernel<<<(unsigned)blocks, Shape::THREADS, bytes, product->stream>>>(
      p, wide_of(p), stages, (unsigned)(cut.tiles - cut.rest));
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_mma_f64(const dm_product *product) {
  Device device = {};
  const cudaError_t error = look_at_device(&device);
  if (error != cudaSuccess) return error;
  const Cut<Large, Quarter> cut(product, device);
  const double tiles = (double)product->c.rows / Large::BM * (double)product->c.cols / Large::BN;
  if (tiles < BUSY * cut.rounds * device.processors) return launch<Small>(product, device);
  return product->a.cols < SHORT ? launch<Medium>(product, device)
                                 : launch<Large, Quarter>(product, device);
}
