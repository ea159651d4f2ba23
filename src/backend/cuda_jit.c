#ifdef DM_HAVE_CUDA

#include "backend/cuda_jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_gemm.h"
#include "backend/cuda_module.h"
#include "backend/nvrtc.h"
#include "core/buffer.h"

/* A compiled tiling. */
typedef struct compiled compiled;
struct compiled {
  dm_dtype dtype;
  dm_tiling tiling;
  dm_cuda_module module;
  compiled *next;
};

struct dm_cuda_jit {
  dm_nvrtc nvrtc;
  dm_cuda_driver driver;
  dm_jit_facts facts;
  dm_tilings tilings;
  compiled *list;
};

static dm_status find_facts(const dm_cuda *gpu, int compiler, dm_jit_facts *f) {
  struct cudaDeviceProp properties;
  DM_CUDA(gpu, cudaGetDeviceProperties(&properties, gpu->index));
  DM_CUDA(gpu, cudaDriverGetVersion(&f->driver));
  memcpy(f->gpu, gpu->name, sizeof f->gpu);
  f->capability = gpu->capability;
  f->processors = gpu->processors;
  f->compiler = compiler;
  f->shared = (int64_t)properties.sharedMemPerBlockOptin;
  return DM_OK;
}

static dm_status open_parts(const dm_cuda *gpu, dm_cuda_jit *jit) {
  jit->tilings = dm_tilings_built_in();
  if (gpu->capability < DM_AMPERE)
    return dm_fail(DM_E_USAGE, "kernel jit runs on compute capability 8.0 and later: %s has %d.%d",
                   gpu->name, gpu->capability / 10, gpu->capability % 10);
  DM_TRY(dm_nvrtc_load(&jit->nvrtc));
  DM_TRY(dm_cuda_driver_find(&jit->driver));
  return find_facts(gpu, jit->nvrtc.number, &jit->facts);
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
    dm_cuda_module_unload(&jit->driver, &first->module);
    free(first);
  }
  free(jit);
  gpu->jit = NULL;
}

/* ---- compiling ---- */

static void write_source(dm_dtype dtype, const dm_tiling *t, char text[600]) {
  snprintf(text, 600,
           "#include \"kernels/product/warp_tile.cuh\"\n"
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
    if (c->dtype == dtype && dm_tiling_equal(&c->tiling, tiling)) return c;
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
  dm_status status = dm_cuda_module_load(gpu, &gpu->jit->driver, image, "jit", &made->module);
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
  if (dm_tiling_need_of(tiling, dtype).shared > gpu->jit->facts.shared)
    return dm_fail(DM_E_DEVICE, "the stages do not fit into shared memory");
  write_source(dtype, tiling, source);
  DM_TRY(dm_nvrtc_compile(&gpu->jit->nvrtc, source, gpu->capability, &image, &size));
  dm_status status = keep(gpu, dtype, tiling, image, made);
  free(image);
  return status;
}

static dm_status find(dm_cuda *gpu, dm_dtype dtype, const dm_tiling *tiling, compiled **found) {
  char text[128];
  if (dm_tiling_type(dtype) < 0)
    return dm_fail(DM_E_BUG, "kernel jit was given %s", dm_dtype_name(dtype));
  *found = look_up(gpu, dtype, tiling);
  if (*found) return DM_OK;
  return dm_context(add(gpu, dtype, tiling, found), "jit, %s, tiling %s", dm_dtype_name(dtype),
                    dm_tiling_format(tiling, text));
}

static dm_status find_for(dm_cuda *gpu, dm_dtype dtype, int64_t rows, int64_t cols,
                          compiled **found) {
  const int type = dm_tiling_type(dtype);
  const dm_tiling_class kind = dm_tiling_class_of(rows, cols, gpu->processors);
  return find(gpu, dtype, &gpu->jit->tilings.of[type < 0 ? 0 : type][kind], found);
}

/* ---- launching ---- */

/* Matrix, Product and Wide of kernels/helpers/operand.cuh, in C. */
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
  return dm_cuda_module_launch(gpu, &gpu->jit->driver, &of->module, blocks, arguments);
}

dm_status dm_cuda_jit_multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  compiled *found;
  DM_TRY(dm_cuda_jit_open(gpu));
  DM_TRY(find_for(gpu, a.dtype, c.rows, c.cols, &found));
  return launch(gpu, found, c, a, b, accumulate);
}

/* ---- the table ---- */

static dm_status enter(dm_cuda *gpu) {
  DM_TRY(dm_cuda_enter(gpu));
  return dm_cuda_jit_open(gpu);
}

static dm_status facts(dm_backend *backend, dm_jit_facts *answer) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(enter(gpu));
  *answer = gpu->jit->facts;
  return DM_OK;
}

static dm_status use(dm_backend *backend, const dm_tilings *tilings) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(enter(gpu));
  dm_tilings *mine = &gpu->jit->tilings;
  *mine = dm_tilings_built_in();
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++) {
    const dm_tiling *f32 = &tilings->of[0][kind], *f64 = &tilings->of[1][kind];
    const int64_t room = gpu->jit->facts.shared;
    if (dm_tiling_need_of(f32, DM_F32).shared <= room) mine->of[0][kind] = *f32;
    if (dm_tiling_need_of(f64, DM_F64).shared <= room) mine->of[1][kind] = *f64;
  }
  return DM_OK;
}

static dm_status prepare(dm_backend *backend, dm_dtype dtype, int64_t rows, int64_t cols) {
  dm_cuda *gpu = dm_cuda_of(backend);
  compiled *found;
  DM_TRY(enter(gpu));
  return find_for(gpu, dtype, rows, cols, &found);
}

const dm_jit_ops dm_cuda_jit_ops = {.facts = facts, .use = use, .prepare = prepare};

#endif
