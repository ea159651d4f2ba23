/* wgmma: C (+)= A B with Hopper's warpgroup instructions, fed by TMA.
 *
 * The idea: a warpgroup (four warps) multiplies a tile of 64 x 192 with one instruction that reads
 * both operands from shared memory and runs asynchronously.  Loading must not cost these warps
 * time, so one thread of a separate warpgroup issues loads of tiles of A and B by the tensor memory
 * accelerator (TMA), a ring of stages ahead; barriers count the bytes that have arrived and the
 * warps that have read them.  Two warpgroups multiply 128 x 192 elements of C, with two sets of
 * sums in registers that the loading warpgroup released.  Two neighbouring blocks form a cluster:
 * each loads half of their common columns of B for both.  Blocks are persistent and process tiles
 * in an order that suits the L2 cache; TMA also stores a tile of C through shared memory while the
 * next one is multiplied.  For C += A B the L2 cache, into which C was prefetched, performs the
 * additions.
 *
 * Adds to mma: operands never pass registers, the multiplying warps issue no loads, and borders
 * need no conditions, because TMA reads zeros beyond them.  Limits: TMA needs 16-byte aligned rows;
 * other operands are copied to scratch memory first, an unaligned C is stored by elements; for
 * TF32 and i8 the instruction accepts B only by columns, so a B by rows is transposed first;
 * extents must be below 2^31.  TMA rounds f32 to TF32 on loading, to nearest even, as cuBLAS does
 * (numbers above the largest TF32 become infinite, subnormal ones 0).
 *
 * Measured on an H200, median of the ratio to cuBLAS, alternating: bf16 and f16 1.05 at N =
 * 8192, 1.02 at 16384; C += A B of bf16 at m = n = 8192 1.17 (k = 2048) and 1.06 (4096), at
 * 16384 1.08 and 1.04; B by columns: TF32 1.02, i8 1.00; B by rows: TF32 0.99, i8 0.94 (of cuBLAS
 * with B by columns, as it has no other); in a graph 1.01 at 512, 0.92 at 1024.  Large sizes are
 * limited by power: moving less data makes them faster, waiting less does not. */
#include "kernels/helpers/repack.cuh"
#include "kernels/product/wgmma_kernel.cuh"
#include "kernels/product/wgmma_launch.cuh"

namespace {

constexpr int GROUP = 8; /* rows of clusters, see TileOrder */

/* ---- operands for TMA ---- */

/* An operand: rows of consecutive elements along k, or along n. */
struct Operand {
  dm_view from;             /* col_stride 1 */
  bool transposed, n_major; /* copied transposed; rows along n */
  bool direct;              /* no copy */

  int64_t rows() const {
    return transposed ? from.cols : from.rows;
  }
  int64_t cols() const {
    return transposed ? from.rows : from.cols;
  }
  int64_t bytes(int64_t size) const {
    return direct ? 0 : packed_bytes(rows(), cols(), size);
  }
};

Operand operand(dm_view from, bool transposed, bool n_major, int64_t size) {
  const bool direct = !transposed && rows_are_aligned(from, size);
  return {from, transposed, n_major, direct};
}

Operand operand_b(dm_view b, int64_t size) {
  const bool by_columns = b.row_stride == 1 && (b.col_stride != 1 || b.cols == 1);
  if (by_columns) {
    const dm_view rows = {b.base, b.dtype, b.space, b.cols, b.rows, b.col_stride, 1};
    return operand(rows, false, false, size);
  }
  return operand(b, size != 2, size == 2, size);
}

/* ---- element types ---- */

template <class Element> struct TmaElement;
template <> struct TmaElement<__half> {
  static constexpr CUtensorMapDataType TYPE = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
};
template <> struct TmaElement<__nv_bfloat16> {
  static constexpr CUtensorMapDataType TYPE = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
};
template <> struct TmaElement<float> { /* rounds */
  static constexpr CUtensorMapDataType TYPE = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
};
template <> struct TmaElement<int8_t> {
  static constexpr CUtensorMapDataType TYPE = CU_TENSOR_MAP_DATA_TYPE_UINT8;
};

/* The map of an operand, which is first copied to *FREE if TMA needs it. */
template <class Element>
cudaError_t map_operand(CUtensorMap *map, const Operand &o, int box_rows, char **free,
                        cudaStream_t stream) {
  constexpr int SIZE = sizeof(Element);
  if (o.direct)
    return encode_tensor_map(map, TmaElement<Element>::TYPE, SIZE, o.from.base, o.rows(), o.cols(),
                             o.from.row_stride, box_rows);
  const cudaError_t error = o.transposed ? dm_pack_transposed(o.from, *free, stream)
                                         : dm_pack(o.from, *free, PACKED_ROW, stream);
  if (error != cudaSuccess) return error;
  char *const at = *free;
  *free += o.bytes(SIZE);
  return encode_tensor_map(map, TmaElement<Element>::TYPE, SIZE, at, o.rows(), o.cols(),
                           packed_stride(o.cols(), SIZE), box_rows);
}

template <class Sum> cudaError_t map_c(WgmmaWork *work, dm_view c) {
  work->c_base = c.base, work->c_stride = c.row_stride;
  work->c_boxes = rows_are_aligned(c, sizeof(Sum));
  if (!work->c_boxes) return cudaSuccess;
  const CUtensorMapDataType type = std::is_same<Sum, float>::value ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                                                   : CU_TENSOR_MAP_DATA_TYPE_INT32;
  return encode_tensor_map(&work->c, type, sizeof(Sum), c.base, c.rows, c.cols, c.row_stride,
                           C_BOX_ROWS);
}

/* ---- launching ---- */

template <class Element, bool N_MAJOR, class Shape>
cudaError_t start(const WgmmaWork &work, int processors, cudaStream_t stream) {
  return launch_clusters<Shape>(wgmma<Element, N_MAJOR, Shape>, work, work.order.count(),
                                (int)sizeof(WgmmaMemory<Shape>), processors, stream);
}

template <class Element, class Shape> cudaError_t launch(const dm_product *product) {
  constexpr int SIZE = sizeof(Element);
  const dm_view c = product->c, a = product->a;
  if (c.rows > INT32_MAX || c.cols > INT32_MAX || a.cols > INT32_MAX) return cudaErrorInvalidValue;
  const Operand left = operand(a, false, false, SIZE), right = operand_b(product->b, SIZE);
  WgmmaWork work;
  work.m = (int)c.rows, work.n = (int)c.cols;
  work.steps = (int)divide_up(a.cols * SIZE, BOX_ROW);
  work.accumulate = product->accumulate;
  work.order = {(int)divide_up(c.rows, Shape::BM * Shape::DOWN),
                (int)divide_up(c.cols, Shape::BN * Shape::ACROSS), GROUP};
  char *free = static_cast<char *>(product->scratch);
  cudaError_t error =
      map_operand<Element>(&work.a, left, Shape::BM / Shape::ACROSS, &free, product->stream);
  if (error != cudaSuccess) return error;
  const int b_rows = (right.n_major ? BOX_ROW / SIZE : Shape::BN) / Shape::DOWN;
  error = map_operand<Element>(&work.b, right, b_rows, &free, product->stream);
  if (error != cudaSuccess) return error;
  error = map_c<typename Types<Element>::Sum>(&work, c);
  if (error != cudaSuccess) return error;
  if constexpr (SIZE == 2)
    if (right.n_major)
      return start<Element, true, Shape>(work, product->processors, product->stream);
  return start<Element, false, Shape>(work, product->processors, product->stream);
}

/* ---- which tiles ---- */

typedef WgmmaShape<2, 192, 5, 2, 1, 1, 1, true> Steady;  /* stores C during the next tile */
typedef WgmmaShape<2, 256, 4, 2, 1, 2, 1, false> Widest; /* least traffic */
typedef WgmmaShape<2, 128, 4, 1, 1, 4, 4, false> Medium;
typedef WgmmaShape<1, 128, 8, 1, 1, 4, 4, false> Small;
typedef WgmmaShape<1, 64, 8, 1, 1, 2, 2, false> Smallest;

/* Time for all tiles, if one of Widest takes 100: a partial last round counts as full. */
template <class Shape> int64_t time_of(const dm_product *product, int one) {
  const int64_t tiles = divide_up(product->c.rows, Shape::BM * Shape::DOWN) *
                        divide_up(product->c.cols, Shape::BN * Shape::ACROSS);
  const int at_once = product->processors / Shape::CLUSTER;
  return divide_up(tiles, at_once < 1 ? 1 : at_once) * one;
}

/* Launches the shape with the least total time, from measured times of a step along k.  The sums of
 * an element are the same with all shapes. */
template <class Element> cudaError_t launch_fitting(const dm_product *product) {
  const struct {
    int64_t time;
    cudaError_t (*launch)(const dm_product *);
  } choices[] = {{time_of<Steady>(product, 74), launch<Element, Steady>},
                 {time_of<Widest>(product, 100), launch<Element, Widest>},
                 {time_of<Medium>(product, 52), launch<Element, Medium>},
                 {time_of<Small>(product, 35), launch<Element, Small>},
                 {time_of<Smallest>(product, 26), launch<Element, Smallest>}};
  int best = 0;
  for (int i = 1; i < 5; i++)
    if (choices[i].time < choices[best].time) best = i;
  return choices[best].launch(product);
}

} // namespace

int64_t dm_kernels_wgmma_scratch(const dm_product *product) {
  const dm_dtype dtype = product->a.dtype;
  const int64_t size = dtype == DM_F32 ? 4 : dtype == DM_I8 ? 1 : 2;
  return operand(product->a, false, false, size).bytes(size) +
         operand_b(product->b, size).bytes(size);
}

cudaError_t dm_kernels_wgmma(const dm_product *product) {
  switch (product->a.dtype) {
  case DM_F16:
    return launch_fitting<__half>(product);
  case DM_BF16:
    return launch_fitting<__nv_bfloat16>(product);
  case DM_F32:
    return product->operand == DM_TF32 ? launch_fitting<float>(product) : cudaErrorInvalidValue;
  case DM_I8:
    return launch_fitting<int8_t>(product);
  default:
    return cudaErrorInvalidValue;
  }
}
