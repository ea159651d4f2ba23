#include "backend/cuda_jit.h"

#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_state.h"
#include "backend/nvrtc.h"
#include "core/buffer.h"
#include "core/checked.h"

/* ---- machine code compiled at run time, through the driver API ---- */

/* Driver functions in use; found through the runtime, so that nothing links against libcuda. */
typedef struct dm_cuda_driver {
  CUresult (*load)(CUmodule *module, const void *image);
  CUresult (*unload)(CUmodule module);
  CUresult (*find)(CUfunction *function, CUmodule module, const char *name);
  CUresult (*set_attribute)(CUfunction function, CUfunction_attribute attribute, int value);
  CUresult (*launch)(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                     unsigned threads_y, unsigned threads_z, unsigned shared, CUstream stream,
                     void **arguments, void **extra);
  CUresult (*error)(CUresult result, const char **text);
} dm_cuda_driver;

typedef struct dm_cuda_module {
  CUmodule handle;
  CUfunction function;
  int threads;    /* per block */
  int64_t shared; /* bytes per block */
} dm_cuda_module;

static dm_status driver_error(const dm_cuda *gpu, const dm_cuda_driver *driver, CUresult answer,
                              const char *call) {
  const char *text = NULL;
  if (driver->error(answer, &text) != CUDA_SUCCESS || !text) text = "unknown error";
  return dm_fail(answer == CUDA_ERROR_OUT_OF_MEMORY ? DM_E_FIT : DM_E_DEVICE,
                 "GPU %d (%s, %s): %.*s: %s (%d)", gpu->index, gpu->name, gpu->id,
                 (int)strcspn(call, "("), call, text, (int)answer);
}

#define DRIVER(gpu, driver, call)                                                                  \
  do {                                                                                             \
    const CUresult driver_result_ = (driver)->call;                                                \
    if (driver_result_ != CUDA_SUCCESS) return driver_error(gpu, driver, driver_result_, #call);   \
  } while (0)

/* Sets *FUNCTION, a pointer to a function, to NAME of the driver, which the program does not link;
 * false: not found. */
static bool driver_symbol(const char *name, void *function) {
  enum cudaDriverEntryPointQueryResult answer;
  void **symbol = function;
  *symbol = NULL;
#if CUDART_VERSION >= 12050
  cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, symbol, 12000, cudaEnableDefault, &answer);
#else
  cudaError_t error = cudaGetDriverEntryPoint(name, symbol, cudaEnableDefault, &answer);
#endif
  if (error == cudaSuccess && answer == cudaDriverEntryPointSuccess && *symbol) return true;
  (void)cudaGetLastError();
  return false;
}

static dm_status driver_find(dm_cuda_driver *driver) {
  if (driver_symbol("cuModuleLoadData", &driver->load) &&
      driver_symbol("cuModuleUnload", &driver->unload) &&
      driver_symbol("cuModuleGetFunction", &driver->find) &&
      driver_symbol("cuFuncSetAttribute", &driver->set_attribute) &&
      driver_symbol("cuLaunchKernel", &driver->launch) &&
      driver_symbol("cuGetErrorString", &driver->error))
    return DM_OK;
  return dm_fail(DM_E_DEVICE, "kernel jit is not available: the driver lacks functions for it");
}

static void module_unload(const dm_cuda_driver *driver, dm_cuda_module *module) {
  if (module->handle) (void)driver->unload(module->handle);
  module->handle = NULL;
}

static dm_status find_function(const dm_cuda *gpu, const dm_cuda_driver *driver, const char *name,
                               dm_cuda_module *m) {
  DRIVER(gpu, driver, find(&m->function, m->handle, name));
  DRIVER(
      gpu, driver,
      set_attribute(m->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)m->shared));
  return DM_OK;
}

static dm_status module_load(const dm_cuda *gpu, const dm_cuda_driver *driver, const char *image,
                             const char *name, dm_cuda_module *module) {
  DRIVER(gpu, driver, load(&module->handle, image));
  dm_status status = find_function(gpu, driver, name, module);
  if (status) module_unload(driver, module);
  return status;
}

static dm_status module_launch(const dm_cuda *gpu, const dm_cuda_driver *driver,
                               const dm_cuda_module *m, int64_t blocks, void **arguments) {
  if (blocks > INT32_MAX) return dm_fail(DM_E_FIT, "C has too many tiles for one launch");
  DRIVER(gpu, driver,
         launch(m->function, (unsigned)blocks, 1, 1, (unsigned)m->threads, 1, 1,
                (unsigned)m->shared, gpu->lanes[DM_COMPUTE].stream, arguments, NULL));
  return DM_OK;
}

/* ---- tilings ---- */

/* A compiled tiling. */
typedef struct compiled compiled;
struct compiled {
  dm_dtype dtype;
  dm_tiling tiling;
  dm_cuda_module module;
  compiled *next;
};

/* The tiling in use for a type, and the size of C for which it was chosen. */
typedef struct choice {
  const compiled *kernel; /* NULL: none yet */
  int64_t rows, cols;
} choice;

struct dm_cuda_jit {
  dm_nvrtc nvrtc;
  dm_cuda_driver driver;
  int64_t shared; /* bytes available to a block */
  compiled *list;
  choice f32, f64;
};

static dm_status open_parts(const dm_cuda *gpu, dm_cuda_jit *jit) {
  int shared;
  if (gpu->capability < DM_AMPERE)
    return dm_fail(DM_E_USAGE, "kernel jit runs on compute capability 8.0 and later: %s has %d.%d",
                   gpu->name, gpu->capability / 10, gpu->capability % 10);
  DM_TRY(dm_nvrtc_load(&jit->nvrtc));
  DM_TRY(driver_find(&jit->driver));
  DM_CUDA(gpu,
          cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu->index));
  jit->shared = shared;
  return DM_OK;
}

dm_status dm_cuda_jit_open(dm_cuda *gpu) {
  if (gpu->jit) return DM_OK;
  DM_TRY(dm_buffer_table(1, &gpu->jit));
  dm_status status = open_parts(gpu, gpu->jit);
  if (status) dm_cuda_jit_close(gpu);
  return status;
}

void dm_cuda_jit_close(dm_cuda *gpu) {
  dm_cuda_jit *jit = gpu->jit;
  while (jit && jit->list) {
    compiled *first = jit->list;
    jit->list = first->next;
    module_unload(&jit->driver, &first->module);
    free(first);
  }
  free(jit);
  gpu->jit = NULL;
}

/* ---- compiling ---- */

static void write_source(dm_dtype dtype, const dm_tiling *t, char text[600]) {
  snprintf(text, 600,
           "#include \"kernels/ladder/17_warp_tile.cu\"\n"
           "struct Tuned : Tiling<%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d> {};\n"
           "extern \"C\" __global__ void __launch_bounds__(Tuned::THREADS, Tuned::BLOCKS)\n"
           "    jit(Product<%s> p, Wide wide) {\n"
           "  multiply_warp_tiles<Tuned>(p, wide);\n"
           "}\n",
           t->bm, t->bn, t->bk, t->stages, t->wm, t->wn, t->down, t->blocks, t->group, t->parts,
           t->by_rows, dtype == DM_F32 ? "float" : "double");
}

static compiled *look_up(const dm_cuda *gpu, dm_dtype dtype, const dm_tiling *tiling) {
  for (compiled *c = gpu->jit->list; c; c = c->next)
    if (c->dtype == dtype && memcmp(&c->tiling, tiling, sizeof *tiling) == 0) return c;
  return NULL;
}

/* Loads IMAGE and keeps it. */
static dm_status keep(dm_cuda *gpu, dm_dtype dtype, const dm_tiling *tiling, const char *image,
                      compiled **kept) {
  const dm_tiling_need need = dm_tiling_need_of(tiling, dtype);
  compiled *made;
  DM_TRY(dm_buffer_table(1, &made));
  *made = (compiled){.dtype = dtype,
                     .tiling = *tiling,
                     .module = {.threads = need.threads, .shared = need.shared},
                     .next = gpu->jit->list};
  dm_status status = module_load(gpu, &gpu->jit->driver, image, "jit", &made->module);
  if (status) {
    free(made);
    return status;
  }
  gpu->jit->list = *kept = made;
  return DM_OK;
}

static dm_status add(dm_cuda *gpu, dm_dtype dtype, const dm_tiling *tiling, compiled **made) {
  char source[600], *image;
  size_t size;
  if (dm_tiling_need_of(tiling, dtype).shared > gpu->jit->shared)
    return dm_fail(DM_E_DEVICE, "the stages do not fit into shared memory");
  write_source(dtype, tiling, source);
  DM_TRY(dm_nvrtc_compile(&gpu->jit->nvrtc, source, gpu->capability, &image, &size));
  dm_status status = keep(gpu, dtype, tiling, image, made);
  free(image);
  return status;
}

static dm_status find(dm_cuda *gpu, dm_dtype dtype, const dm_tiling *tiling, compiled **found) {
  char text[128];
  *found = look_up(gpu, dtype, tiling);
  if (*found) return DM_OK;
  return dm_context(add(gpu, dtype, tiling, found), "jit, %s, tiling %s", dm_dtype_name(dtype),
                    dm_tiling_format(tiling, text));
}

/* ---- launching ---- */

/* Matrix and Product of kernels/gemm.h and Wide of kernels/ladder/vectors.cuh, in C. */
typedef struct matrix {
  void *base;
  int64_t rows, cols, stride;
} matrix;

typedef struct product {
  matrix c, a, b;
  bool accumulate;
} product;

typedef struct wide {
  bool a, b, c;
} wide;

static matrix matrix_of(dm_view view) {
  return (matrix){view.base, view.rows, view.cols, view.row_stride};
}

static bool is_wide(dm_view view) {
  return (uintptr_t)view.base % 16 == 0 && view.row_stride * dm_dtype_size(view.dtype) % 16 == 0;
}

static dm_status launch(dm_cuda *gpu, const compiled *of, dm_view c, dm_view a, dm_view b,
                        bool accumulate) {
  product p = {matrix_of(c), matrix_of(a), matrix_of(b), accumulate};
  wide w = {is_wide(a), is_wide(b), is_wide(c)};
  void *arguments[] = {&p, &w};
  const int64_t blocks = dm_ceil_div(c.rows, of->tiling.bm) * dm_ceil_div(c.cols, of->tiling.bn);
  return module_launch(gpu, &gpu->jit->driver, &of->module, blocks, arguments);
}

/* ---- choosing ---- */

enum { LAUNCHES = 10, RUNS = 3, DEPTH = 1024 };
enum { LARGEST = 8192, LITTLE = 1024 }; /* rows and columns of a trial, and if memory is short */

/* A trial's matrices, all zero, and events around its launches. */
typedef struct trial {
  void *memory;
  dm_view c, a, b;
  cudaEvent_t begin, end;
} trial;

static dm_view place(char **at, dm_dtype dtype, int64_t rows, int64_t cols) {
  const dm_view view = dm_view_strided(*at, dtype, DM_DEVICE, rows, cols, cols);
  *at += dm_round_up(rows * cols * dm_dtype_size(dtype), 256);
  return view;
}

/* For a C of ROWS x COLS, or of MOST. */
static dm_status open_trial(dm_cuda *gpu, dm_dtype dtype, int64_t rows, int64_t cols, int64_t most,
                            trial *t) {
  rows = dm_max(1, dm_min(rows, most)); /* a rank may have an empty block */
  cols = dm_max(1, dm_min(cols, most));
  const int64_t elements = rows * cols + DEPTH * (rows + cols);
  const size_t bytes = (size_t)(elements * dm_dtype_size(dtype) + 3 * 256);
  DM_CUDA(gpu, cudaMalloc(&t->memory, bytes));
  DM_CUDA(gpu, cudaMemset(t->memory, 0, bytes));
  DM_CUDA(gpu, cudaDeviceSynchronize());
  char *at = t->memory;
  t->c = place(&at, dtype, rows, cols);
  t->a = place(&at, dtype, rows, DEPTH);
  t->b = place(&at, dtype, DEPTH, cols);
  DM_CUDA(gpu, cudaEventCreate(&t->begin));
  DM_CUDA(gpu, cudaEventCreate(&t->end));
  return DM_OK;
}

static void close_trial(trial *t) {
  if (t->begin) (void)cudaEventDestroy(t->begin);
  if (t->end) (void)cudaEventDestroy(t->end);
  if (t->memory) (void)cudaFree(t->memory);
}

/* The best of a few runs; the first launch, which loads the kernel, does not count. */
static dm_status time_kernel(dm_cuda *gpu, const trial *t, const compiled *of, float *best) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  DM_TRY(launch(gpu, of, t->c, t->a, t->b, false));
  for (int run = 0; run < RUNS; run++) {
    float took = 0.0f;
    DM_CUDA(gpu, cudaEventRecord(t->begin, stream));
    for (int i = 0; i < LAUNCHES; i++) DM_TRY(launch(gpu, of, t->c, t->a, t->b, false));
    DM_CUDA(gpu, cudaEventRecord(t->end, stream));
    DM_CUDA(gpu, cudaEventSynchronize(t->end));
    DM_CUDA(gpu, cudaEventElapsedTime(&took, t->begin, t->end));
    *best = run == 0 ? took : fminf(took, *best);
  }
  return DM_OK;
}

/* An error if no candidate can be used. */
static dm_status try_all(dm_cuda *gpu, const trial *t, choice *chosen) {
  const dm_dtype dtype = t->c.dtype;
  int count;
  const dm_tiling *list = dm_tiling_candidates(dtype, &count);
  float least = INFINITY, now = 0.0f;
  dm_status failed = DM_OK;
  for (int i = 0; i < count; i++) {
    compiled *kernel;
    dm_status status = find(gpu, dtype, &list[i], &kernel);
    if (!status) status = time_kernel(gpu, t, kernel, &now);
    if (!status && now < least) least = now, chosen->kernel = kernel;
    failed = dm_status_first(failed, status);
  }
  if (!chosen->kernel) return failed;
  dm_status_free(failed);
  return DM_OK;
}

static dm_status choose(dm_cuda *gpu, dm_dtype dtype, int64_t rows, int64_t cols, choice *chosen) {
  choice made = {.rows = rows, .cols = cols};
  trial t = {.memory = NULL};
  dm_status status = open_trial(gpu, dtype, rows, cols, LARGEST, &t);
  if (status && status->code == DM_E_FIT) {
    dm_status_free(status);
    close_trial(&t);
    t = (trial){.memory = NULL};
    status = open_trial(gpu, dtype, rows, cols, LITTLE, &t);
  }
  if (!status) status = try_all(gpu, &t, &made);
  close_trial(&t);
  if (!status) *chosen = made;
  return status;
}

static dm_status choice_of(dm_cuda *gpu, dm_dtype dtype, choice **found) {
  *found = dtype == DM_F32 ? &gpu->jit->f32 : dtype == DM_F64 ? &gpu->jit->f64 : NULL;
  return *found ? DM_OK : dm_fail(DM_E_BUG, "kernel jit was given %s", dm_dtype_name(dtype));
}

dm_status dm_cuda_jit_multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  DM_TRY(dm_cuda_jit_open(gpu));
  choice *chosen;
  DM_TRY(choice_of(gpu, a.dtype, &chosen));
  if (!chosen->kernel) DM_TRY(choose(gpu, a.dtype, c.rows, c.cols, chosen));
  return launch(gpu, chosen->kernel, c, a, b, accumulate);
}

/* ---- the table ---- */

static dm_status open_jit(dm_backend *backend) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  return dm_cuda_jit_open(gpu);
}

static dm_status use(dm_backend *backend, dm_dtype dtype, const dm_tiling *tiling) {
  dm_cuda *gpu = dm_cuda_of(backend);
  compiled *found;
  choice *chosen;
  DM_TRY(open_jit(backend));
  DM_TRY(choice_of(gpu, dtype, &chosen));
  DM_TRY(find(gpu, dtype, tiling, &found));
  *chosen = (choice){.kernel = found};
  return DM_OK;
}

static dm_status prepare(dm_backend *backend, dm_dtype dtype, int64_t rows, int64_t cols) {
  dm_cuda *gpu = dm_cuda_of(backend);
  choice *chosen;
  DM_TRY(open_jit(backend));
  DM_TRY(choice_of(gpu, dtype, &chosen));
  const bool same = chosen->rows == rows && chosen->cols == cols;
  return chosen->kernel && same ? DM_OK : choose(gpu, dtype, rows, cols, chosen);
}

const dm_jit_ops dm_cuda_jit_ops = {.open = open_jit, .use = use, .prepare = prepare};
