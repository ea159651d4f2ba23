/* jit: C (+)= A B by the kernel of tiled_32, compiled when the product is known.
 *
 * The idea: what is the same for all threads need not be a variable.  The program contains the text
 * of a kernel.  NVIDIA's run-time compiler, NVRTC, receives it with the type, m, n, k and the
 * strides as constants, and makes a kernel for just this product, which is kept for the next one of
 * its shape.  (CUDA Toolkit, "NVRTC")
 *
 * Adds to tiled_32 only what the compiler knows: borders are conditions only where there are some,
 * the last step along k has as many multiply-adds as are left, not 32 whose operands may be zeros,
 * and offsets have 32 bits where these suffice.  Types need no template and no switch.
 *
 * What limits it: shared memory, as tiled_32, if the product is large: no constant removes the two
 * loads of each multiply-add.  Compiling takes a few hundredths of a second for each shape. */
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>

#include "core/dtype.h"
#include "kernels/gemm.h"

/* ELEMENT, SUM, M, N, K, A_STRIDE, B_STRIDE and C_STRIDE are options of the compiler. */
static const char *const text = R"(
typedef long long int64;
template <class Part> struct Complex { Part re, im; };
struct Half { unsigned short bits; };  /* f16 */
struct Brain { unsigned short bits; }; /* bf16 */

template <class T> __device__ T widen(T v) { return v; }
__device__ float widen(Brain v) { return __uint_as_float((unsigned)v.bits << 16); }
__device__ float widen(Half v) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(v.bits));
  return wide;
}

/* a * b + c, rounded once; integers wrap. */
__device__ double mad(double a, double b, double c) { return fma(a, b, c); }
__device__ float mad(float a, float b, float c) { return fmaf(a, b, c); }
__device__ int mad(int a, int b, int c) { return (int)((unsigned)a * (unsigned)b + (unsigned)c); }
template <class Part>
__device__ Complex<Part> mad(Complex<Part> a, Complex<Part> b, Complex<Part> c) {
  return {mad(-a.im, b.im, mad(a.re, b.re, c.re)), mad(a.im, b.re, mad(a.re, b.im, c.im))};
}

constexpr int TILE = 32;
template <bool SMALL> struct Offset { typedef int64 Type; };
template <> struct Offset<true> { typedef int Type; };
constexpr int64 MOST = 1LL << 31;
typedef Offset<(M + TILE) * C_STRIDE < MOST && (M + TILE) * A_STRIDE < MOST &&
               (K + TILE) * B_STRIDE < MOST>::Type offset;

/* Adds the products of DEPTH values of k, from K0 on. */
template <int DEPTH>
__device__ void step(SUM (&a_tile)[TILE][TILE], SUM (&b_tile)[TILE][TILE], const ELEMENT *a,
                     const ELEMENT *b, offset row, offset col, offset k0, SUM &sum) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (DEPTH == TILE || x < DEPTH)
    a_tile[y][x] = M % TILE == 0 || row < M ? widen(a[row * A_STRIDE + k0 + x]) : SUM();
  if (DEPTH == TILE || y < DEPTH)
    b_tile[y][x] = N % TILE == 0 || col < N ? widen(b[(k0 + y) * B_STRIDE + col]) : SUM();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < DEPTH; i++) sum = mad(a_tile[y][i], b_tile[i][x], sum);
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    multiply(SUM *c, const ELEMENT *a, const ELEMENT *b, bool accumulate) {
  __shared__ SUM a_tile[TILE][TILE], b_tile[TILE][TILE];
  constexpr unsigned ACROSS = (N + TILE - 1) / TILE;
  const offset row = blockIdx.x / ACROSS * (offset)TILE + threadIdx.y;
  const offset col = blockIdx.x % ACROSS * (offset)TILE + threadIdx.x;
  const bool inside = (M % TILE == 0 || row < M) && (N % TILE == 0 || col < N);

  SUM sum = accumulate && inside ? c[row * C_STRIDE + col] : SUM();
  for (offset k = 0; k < K / TILE * TILE; k += TILE)
    step<TILE>(a_tile, b_tile, a, b, row, col, k, sum);
  if (K % TILE > 0) step<K % TILE>(a_tile, b_tile, a, b, row, col, K / TILE * TILE, sum);
  if (inside) c[row * C_STRIDE + col] = sum;
}
)";

/* ---- on the host ---- */

/* The compiler's options. */
enum { OPTIONS = 10, LENGTH = 48 };
struct Options {
  char at[OPTIONS][LENGTH];
};

/* A compiled kernel, in a list. */
struct dm_jit {
  Options options;
  cudaLibrary_t library;
  cudaKernel_t kernel;
  dm_jit *next;
};

namespace {

constexpr struct {
  int dtype;
  const char *element, *sum; /* in the text */
} types[] = {{DM_F64, "double", "double"},
             {DM_F32, "float", "float"},
             {DM_F16, "Half", "float"},
             {DM_BF16, "Brain", "float"},
             {DM_I8, "signed char", "int"},
             {DM_C64, "Complex<float>", "Complex<float>"},
             {DM_C128, "Complex<double>", "Complex<double>"}};

cudaError_t describe(const dm_gemm *p, Options *options) {
  int device, major, minor, count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error != cudaSuccess) return error;
  const auto stride = [](const dm_gemm_matrix &m) { return m.rows > 1 ? m.row_stride : m.cols; };
  const auto add = [&](const char *format, auto... values) {
    snprintf(options->at[count++], LENGTH, format, values...);
  };
  *options = {}; /* options are compared as bytes */
  for (const auto &type : types)
    if (type.dtype == p->dtype) add("-DELEMENT=%s", type.element), add("-DSUM=%s", type.sum);
  add("-DM=%lldLL", (long long)p->c.rows);
  add("-DN=%lldLL", (long long)p->c.cols);
  add("-DK=%lldLL", (long long)p->a.cols);
  add("-DA_STRIDE=%lldLL", (long long)stride(p->a));
  add("-DB_STRIDE=%lldLL", (long long)stride(p->b));
  add("-DC_STRIDE=%lldLL", (long long)stride(p->c));
  add("--std=c++17");
  add("--gpu-architecture=sm_%d%d", major, minor);
  return count == OPTIONS ? cudaSuccess : cudaErrorInvalidValue; /* of no type above */
}

/* A function of the library, which is not linked: the program also runs where it is absent. */
#define DM_NVRTC(name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))

/* Machine code, which the caller frees; NULL: the text cannot be compiled. */
char *compile(void *library, const Options &options) {
  nvrtcProgram program;
  size_t bytes;
  char *code = nullptr;
  const char *at[OPTIONS];
  for (int i = 0; i < OPTIONS; i++) at[i] = options.at[i];
  if (DM_NVRTC(nvrtcCreateProgram)(&program, text, "jit.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    return nullptr;
  if (DM_NVRTC(nvrtcCompileProgram)(program, OPTIONS, at) == NVRTC_SUCCESS &&
      DM_NVRTC(nvrtcGetCUBINSize)(program, &bytes) == NVRTC_SUCCESS)
    code = static_cast<char *>(malloc(bytes));
  if (code && DM_NVRTC(nvrtcGetCUBIN)(program, code) != NVRTC_SUCCESS) free(code), code = nullptr;
  (void)DM_NVRTC(nvrtcDestroyProgram)(&program);
  return code;
}

/* The kernel for P, from its list or a new one. */
cudaError_t find(const dm_gemm *p, dm_jit **found) {
  dm_jit made = {};
  cudaError_t error = describe(p, &made.options);
  if (error != cudaSuccess) return error;
  for (*found = *p->compiled; *found; *found = (*found)->next)
    if (memcmp(&(*found)->options, &made.options, sizeof made.options) == 0) return cudaSuccess;
  char *code = compile(p->nvrtc, made.options);
  if (!code) return cudaErrorInvalidSource;
  error = cudaLibraryLoadData(&made.library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error == cudaSuccess) error = cudaLibraryGetKernel(&made.kernel, made.library, "multiply");
  free(code);
  if (error != cudaSuccess) return error;
  made.next = *p->compiled;
  *found = *p->compiled = new dm_jit(made);
  return cudaSuccess;
}

} // namespace

extern "C" cudaError_t dm_kernels_jit(const dm_gemm *product) {
  dm_gemm p = *product;
  dm_jit *compiled;
  if (!p.nvrtc) return cudaErrorNotSupported;
  const cudaError_t error = find(&p, &compiled);
  if (error != cudaSuccess) return error;
  void *arguments[] = {&p.c.base, &p.a.base, &p.b.base, &p.accumulate};
  const dim3 blocks(blocks_for_tiles(p.c, 32, 32)), threads(32, 32);
  return cudaLaunchKernel((const void *)compiled->kernel, blocks, threads, arguments, 0, p.stream);
}

extern "C" void dm_kernels_forget(dm_jit *compiled) {
  while (compiled) {
    dm_jit *next = compiled->next;
    (void)cudaLibraryUnload(compiled->library);
    delete compiled;
    compiled = next;
  }
}
