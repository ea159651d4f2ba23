/* host_copy: a matrix that ranks have in their memory, in GPU memory or in parts, as a matrix in
 * host memory that each rank sees whole. */
#ifndef DM_LAYOUT_HOST_COPY_H
#define DM_LAYOUT_HOST_COPY_H

#include "dataset/dataset.h"
#include "engine/setup.h"
#include "layout/distributed.h"
#include "run/run.h"

/* Collective: SET, whose elements are STATED, is read from *COPY from now on. NAME is for messages.
 * DM_E_FIT: ROOM, bytes of this rank, are too few. The caller frees *COPY, also after an error. */
dm_status dm_host_copy(dm_run *run, const dm_engine_options *engine, const dm_memory_matrix *stated,
                       const char *name, int64_t room, dm_dataset *set, void **copy);

#endif
