/* cuda_lab: shared declarations of the lab. */
#ifndef DM_BACKEND_CUDA_LAB_H
#define DM_BACKEND_CUDA_LAB_H

#include "backend/cuda_gemm.h"
#include "backend/lab.h"
#include "backend/nvml.h"
#include "kernels/kernels.h"
#include "kernels/reference.h"

struct dm_lab {
  dm_cuda *gpu;
  dm_nvml nvml;
  cudaStream_t stream; /* stream of products */
  cudaEvent_t begin, end;
  dm_cuda_area scratch, expected, errors;
  dm_reference reference; /* in the memory of EXPECTED */
  int64_t judged;         /* elements of REFERENCE */
};

/* Posts WORK. */
dm_status dm_cuda_lab_post(dm_lab *lab, const dm_lab_work *work);

/* Posts SERIES as single calls. */
dm_status dm_cuda_lab_post_series(dm_lab *lab, dm_lab_series *series);

/* Records the calls of SERIES in *graph, which the caller destroys; NULL: cannot be recorded, no
 * error. */
dm_status dm_cuda_lab_record(dm_lab *lab, dm_lab_series *series, cudaGraph_t *graph);

#endif
