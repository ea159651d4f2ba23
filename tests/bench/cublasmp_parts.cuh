/* cublasmp_parts: the layouts and matrices of cublasmp.cu, and its cuBLASMp session. */
#ifndef DM_BENCH_CUBLASMP_CUH
#define DM_BENCH_CUBLASMP_CUH

#include <cublasmp.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/rival.cuh"

#if CUBLASMP_VERSION < 800
/* NVSHMEM: memory that all GPUs can address.  The first grid initializes it. */
extern "C" void *nvshmem_malloc(size_t bytes);
extern "C" void nvshmem_free(void *p);
#endif

/* ---- layouts ---- */

/* Blocks of HIGH x WIDE elements, distributed cyclically over a grid of ROWS x COLUMNS ranks. */
struct Spread {
  int rows, columns;
  int64_t high, wide;
};

struct Layout {
  std::string name;
  Spread a, b, c;
};

static std::vector<Layout> layouts_of(int64_t n, int ranks) {
  std::vector<Layout> all;
  for (int rows = 1; rows <= ranks; rows++) {
    const int columns = ranks / rows;
    if (rows * columns != ranks) continue;
    std::vector<int64_t> blocks = {n / std::max(rows, columns)};
    for (const int64_t block : {1024, 4096})
      if (block < blocks[0]) blocks.push_back(block);
    for (const int64_t block : blocks) {
      const Spread s = {rows, columns, block, block};
      const std::string grid = std::to_string(rows) + "x" + std::to_string(columns);
      all.push_back({grid + ":" + std::to_string(block), s, s, s});
    }
  }
  if (ranks == 1 || n % ranks != 0) return all;
  const int64_t part = n / ranks;
  all.push_back({"all-gather", {ranks, 1, part, n}, {1, ranks, n, part}, {ranks, 1, part, part}});
  all.push_back(
      {"reduce-scatter", {1, ranks, n, part}, {ranks, 1, part, part}, {1, ranks, n, part}});
  return all;
}

/* This rank's elements of a spread matrix. */
struct Place {
  Spread s;
  int row, column;       /* in the grid, whose ranks are in column-major order */
  int64_t rows, columns; /* local */
  __host__ __device__ int64_t global_row(int64_t i) const {
    return (i / s.high * s.rows + row) * s.high + i % s.high;
  }
  __host__ __device__ int64_t global_column(int64_t j) const {
    return (j / s.wide * s.columns + column) * s.wide + j % s.wide;
  }
};

static Place place_of(int64_t n, const Spread &s, int rank) {
  Place p = {s, rank % s.rows, rank / s.rows, 0, 0};
  p.rows = cublasMpNumroc(n, s.high, p.row, 0, s.rows);
  p.columns = cublasMpNumroc(n, s.wide, p.column, 0, s.columns);
  return p;
}

/* ---- session ---- */

struct Session {
  int ranks, rank;
  ncclComm_t nccl;
  cudaStream_t stream;
  cublasMpHandle_t handle;
  std::map<std::pair<int, int>, cublasMpGrid_t> grids;

  Session() {
    MPI_Comm node;
    int here, gpus;
    ncclUniqueId id;
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_rank(node, &here));
    OK(MPI_Comm_free(&node));
    OK(cudaGetDeviceCount(&gpus));
    if (here >= gpus) {
      fprintf(stderr, "cublasmp: rank %d has no GPU of its own\n", rank);
      exit(1);
    }
    OK(cudaSetDevice(here));
    OK(cudaFree(nullptr));
    if (rank == 0) OK(ncclGetUniqueId(&id));
    OK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
    OK(ncclCommInitRank(&nccl, ranks, id, rank));
    OK(cudaStreamCreate(&stream));
    OK(cublasMpCreate(&handle, stream));
  }
  ~Session() {
    for (auto &g : grids) cublasMpGridDestroy(g.second);
    cublasMpDestroy(handle);
    cudaStreamDestroy(stream);
    ncclCommDestroy(nccl);
  }
  Session(const Session &) = delete;

  cublasMpGrid_t grid(int rows, int columns) {
    cublasMpGrid_t &g = grids[{rows, columns}];
    const auto order = rows == 1 ? CUBLASMP_GRID_LAYOUT_ROW_MAJOR : CUBLASMP_GRID_LAYOUT_COL_MAJOR;
    if (!g) OK(cublasMpGridCreate(rows, columns, order, nccl, &g));
    return g;
  }
};

/* Memory of equal size on every rank, addressable by the other GPUs if the library can do that. */
struct Shared {
  void *p = nullptr;
  cublasMpGrid_t grid;
  bool addressable;

  Shared(cublasMpGrid_t grid, int64_t bytes) : grid(grid) {
    OK(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    bytes = std::max<int64_t>(bytes, 256);
#if CUBLASMP_VERSION < 800
    const char *without = getenv("CUBLASMP_DISABLE_NVSHMEM");
    if (!without || strcmp(without, "1")) p = nvshmem_malloc(bytes);
#else
    if (cublasMpMalloc(grid, &p, bytes)) p = nullptr;
#endif
    addressable = p != nullptr;
    if (!addressable) OK(cudaMalloc(&p, bytes));
  }
  ~Shared() {
    if (!addressable) {
      cudaFree(p);
      return;
    }
#if CUBLASMP_VERSION < 800
    nvshmem_free(p);
#else
    cublasMpFree(grid, p);
#endif
  }
  Shared(const Shared &) = delete;
};

/* ---- matrices ---- */

template <class T> struct Kind;
template <> struct Kind<double> {
  using Sum = double;
  static constexpr cudaDataType_t type = CUDA_R_64F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
};
template <> struct Kind<float> {
  using Sum = float;
  static constexpr cudaDataType_t type = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
template <> struct Kind<__nv_bfloat16> {
  using Sum = float;
  static constexpr cudaDataType_t type = CUDA_R_16BF;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

__device__ static double widened(double x) {
  return x;
}
__device__ static double widened(float x) {
  return x;
}
__device__ static double widened(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T> __global__ void fill_place(T *to, Place p, uint64_t seed) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows * p.columns;
       i += (int64_t)gridDim.x * blockDim.x)
    to[i] = (T)random_element(seed, p.global_row(i % p.rows), p.global_column(i / p.rows));
}

/* Adds this rank's part of M x, or of |M| x, to Y. */
template <class T>
__global__ void apply_place(const T *m, Place p, const double *x, double *y, bool absolute) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0.0;
  if (i >= p.rows) return;
  for (int64_t j = blockIdx.y; j < p.columns; j += gridDim.y) {
    const double element = widened(m[j * p.rows + i]);
    sum += (absolute ? fabs(element) : element) * x[p.global_column(j)];
  }
  atomicAdd(&y[p.global_row(i)], sum);
}

/* This rank's part of a matrix, column-major. */
template <class T> struct Part {
  int64_t n;
  Place place;
  Shared memory;
  T *p;
  cublasMpMatrixDescriptor_t form;

  Part(Session &s, int64_t n, const Spread &spread)
      : n(n), place(place_of(n, spread, s.rank)),
        memory(s.grid(spread.rows, spread.columns),
               place.rows * place.columns * (int64_t)sizeof(T)),
        p((T *)memory.p) {
    OK(cublasMpMatrixDescriptorCreate(n, n, spread.high, spread.wide, 0, 0,
                                      std::max<int64_t>(place.rows, 1), Kind<T>::type, memory.grid,
                                      &form));
  }
  ~Part() {
    cublasMpMatrixDescriptorDestroy(form);
  }
  void fill(uint64_t seed) {
    fill_place<<<1024, 256>>>(p, place, seed);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
  }
};

template <class T>
static std::vector<double> apply(const Part<T> &m, const std::vector<double> &x, bool absolute) {
  Device<double> from(m.n), to(m.n);
  const dim3 blocks((unsigned)((m.place.rows + 255) / 256), 64);
  OK(cudaMemcpy(from.p, x.data(), m.n * sizeof(double), cudaMemcpyHostToDevice));
  if (m.place.rows > 0) apply_place<<<blocks, 256>>>(m.p, m.place, from.p, to.p, absolute);
  OK(cudaGetLastError());
  std::vector<double> y = fetch(to.p, m.n);
  OK(MPI_Allreduce(MPI_IN_PLACE, y.data(), (int)m.n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  return y;
}

#endif
