/* gpu_memory: matrices that programs keep in the memory of a GPU, where their products are
 * multiplied (product/in_place.h). */
#ifndef DM_PROGRAMS_GPU_MEMORY_H
#define DM_PROGRAMS_GPU_MEMORY_H

#include "backend/backend.h"
#include "engine/setup.h"
#include "product/in_place.h"

/* The table of the backend that has a GPU for FLOPS in type WORK; NULL: none is used. */
const dm_backend_ops *dm_gpu_ops(const dm_run *run, const dm_engine_options *engine, double flops,
                                 dm_dtype work);

/* Opens PLACE's backend of a GPU. dm_in_place_close closes it. */
dm_status dm_gpu_open(dm_run *run, const dm_backend_ops *ops, dm_in_place *place);

/* Reads SET, in a file or host memory, into *MEMORY of the GPU, which dm_backend_release frees,
 * also after an error, by strips of at most HOST_BYTES. *TO describes it there, in SET's type. */
dm_status dm_gpu_load(dm_run *run, const dm_engine_options *engine, dm_backend *backend,
                      const dm_dataset *set, int64_t host_bytes, dm_memory_matrix *to,
                      void **memory);

/* *TO = STATED, the caller's matrix NAME, once its pending work is done; *on_gpu: it is in GPU
 * memory that BACKEND reaches. */
dm_status dm_gpu_find(dm_run *run, dm_backend *backend, const dm_memory_matrix *stated,
                      const char *name, dm_memory_matrix *to, bool *on_gpu);

/* A matrix in GPU memory. */
static inline dm_view dm_gpu_view(const dm_memory_matrix *m) {
  return (dm_view){m->data, m->dtype, DM_DEVICE, m->rows, m->cols, m->row_stride, m->col_stride};
}

#endif
