/* cuda_lab: what the files of the lab share. */
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
  cudaStream_t stream; /* that of products */
  cudaEvent_t begin, end;
  dm_cuda_area scratch, expected, errors;
  dm_reference reference; /* in the memory of expected */
  int64_t judged;         /* elements of it */
};

/* Posts WORK. */
dm_status dm_cuda_lab_post(dm_lab *lab, const dm_lab_work *work);

/* Posts SERIES as single calls. */
dm_status dm_cuda_lab_post_series(dm_lab *lab, dm_lab_series *series);

/* Records what SERIES posts in *graph, which the caller destroys; NULL where that is not possible,
 * which is no error. */
dm_status dm_cuda_lab_record(dm_lab *lab, dm_lab_series *series, cudaGraph_t *graph);

#endif
