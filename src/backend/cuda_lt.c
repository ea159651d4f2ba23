/* Products by cuBLASLt: the algorithm is queried once per shape and kept, so that a panel of a
 * known shape costs only a launch. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"

enum { SHAPES = 8 }; /* shapes remembered; panels of one job have at most four */

/* Key of a chosen algorithm. */
typedef struct shape {
  dm_dtype dtype;
  int64_t m, n, k, stride[3];
  uint32_t alignment[3]; /* of C, A, B in bytes, at most 256 */
  bool accumulate;
  dm_operand operand;
} shape;

typedef struct choice {
  shape of;
  cublasLtMatmulAlgo_t algorithm;
} choice;

struct dm_cuda_lt {
  cublasLtHandle_t handle;
  choice choices[SHAPES];
  int count, next;
};

/* The objects of one call, in column-major order: its first operand is our B. */
typedef struct call {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t c, a, b;
  cublasLtMatmulPreference_t preference;
} call;

static void call_close(call *x) {
  if (x->preference) (void)cublasLtMatmulPreferenceDestroy(x->preference);
  if (x->c) (void)cublasLtMatrixLayoutDestroy(x->c);
  if (x->a) (void)cublasLtMatrixLayoutDestroy(x->a);
  if (x->b) (void)cublasLtMatrixLayoutDestroy(x->b);
  if (x->operation) (void)cublasLtMatmulDescDestroy(x->operation);
}

static dm_status layout_of(dm_cuda *gpu, dm_view view, cudaDataType type,
                           cublasLtMatrixLayout_t *layout) {
  DM_CUBLAS(gpu, cublasLtMatrixLayoutCreate(layout, type, (uint64_t)view.cols, (uint64_t)view.rows,
                                            dm_cuda_leading(view)));
  return DM_OK;
}

static dm_status call_open(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, call *x) {
  const dm_cuda_types *t = dm_cuda_types_of(a.dtype);
  DM_CUBLAS(gpu, cublasLtMatmulDescCreate(&x->operation, dm_cuda_compute(gpu, t), t->scale));
  DM_TRY(layout_of(gpu, c, t->out, &x->c));
  DM_TRY(layout_of(gpu, a, t->in, &x->a));
  return layout_of(gpu, b, t->in, &x->b);
}

static uint32_t alignment_of(dm_view view) {
  uint32_t alignment = 256;
  while ((uintptr_t)view.base % alignment) alignment /= 2;
  return alignment;
}

static shape shape_of(const dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  shape s;
  memset(&s, 0, sizeof s); /* shapes are compared as bytes */
  s.dtype = a.dtype;
  s.m = c.rows, s.n = c.cols, s.k = a.cols;
  const dm_view views[3] = {c, a, b};
  for (int i = 0; i < 3; i++) {
    s.stride[i] = dm_cuda_leading(views[i]);
    s.alignment[i] = alignment_of(views[i]);
  }
  s.accumulate = accumulate, s.operand = gpu->operand;
  return s;
}

static dm_status prefer(dm_cuda *gpu, const shape *s, call *x) {
  DM_CUBLAS(gpu, cublasLtMatmulPreferenceCreate(&x->preference));
  const uint64_t workspace = (uint64_t)gpu->workspace_bytes;
  /* Partial sums of blocks are added in a fixed order, or k is not split. */
  const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const struct {
    cublasLtMatmulPreferenceAttributes_t name;
    const void *value;
    size_t bytes;
  } wishes[] = {
      {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
      {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &s->alignment[0], sizeof(uint32_t)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &s->alignment[0], sizeof(uint32_t)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &s->alignment[2], sizeof(uint32_t)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &s->alignment[1], sizeof(uint32_t)},
  };
  for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
    DM_CUBLAS(gpu, cublasLtMatmulPreferenceSetAttribute(x->preference, wishes[i].name,
                                                        wishes[i].value, wishes[i].bytes));
  return DM_OK;
}

/* Finds the library's first proposal for S. */
static dm_status choose(dm_cuda *gpu, const shape *s, call *x,
                        const cublasLtMatmulAlgo_t **algorithm) {
  dm_cuda_lt *lt = gpu->lt;
  for (int i = 0; i < lt->count; i++)
    if (memcmp(&lt->choices[i].of, s, sizeof *s) == 0) {
      *algorithm = &lt->choices[i].algorithm;
      return DM_OK;
    }
  DM_TRY(prefer(gpu, s, x));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  DM_CUBLAS(gpu, cublasLtMatmulAlgoGetHeuristic(lt->handle, x->operation, x->b, x->a, x->c, x->c,
                                                x->preference, 1, &result, &found));
  if (found == 0) return dm_fail(DM_E_DEVICE, "cuBLASLt has no algorithm for this product");
  choice *kept = &lt->choices[lt->next];
  lt->next = (lt->next + 1) % SHAPES;
  lt->count = (int)dm_min(lt->count + 1, SHAPES);
  *kept = (choice){.of = *s, .algorithm = result.algo};
  memcpy(&kept->of, s, sizeof *s);
  *algorithm = &kept->algorithm;
  return DM_OK;
}

static dm_status multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate, call *x) {
  const dm_cuda_types *t = dm_cuda_types_of(a.dtype);
  const shape s = shape_of(gpu, c, a, b, accumulate);
  const cublasLtMatmulAlgo_t *algorithm = NULL;
  DM_TRY(call_open(gpu, c, a, b, x));
  DM_TRY(choose(gpu, &s, x, &algorithm));
  DM_CUBLAS(gpu, cublasLtMatmul(gpu->lt->handle, x->operation, t->one, b.base, x->b, a.base, x->a,
                                accumulate ? t->one : t->zero, c.base, x->c, c.base, x->c,
                                algorithm, gpu->workspace, (size_t)gpu->workspace_bytes,
                                gpu->lanes[DM_COMPUTE].stream));
  return DM_OK;
}

static dm_status open(dm_cuda *gpu) {
  DM_TRY(dm_cuda_need_workspace(gpu));
  DM_TRY(dm_buffer_table(1, &gpu->lt));
  DM_CUBLAS(gpu, cublasLtCreate(&gpu->lt->handle));
  return DM_OK;
}

dm_status dm_cuda_product_lt(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  if (!gpu->lt) DM_TRY(open(gpu));
  call x = {0};
  dm_status status = multiply(gpu, c, a, b, accumulate, &x);
  call_close(&x);
  return status;
}

void dm_cuda_close_lt(dm_cuda *gpu) {
  if (gpu->lt && gpu->lt->handle) (void)cublasLtDestroy(gpu->lt->handle);
  free(gpu->lt);
  gpu->lt = NULL;
}

#endif
