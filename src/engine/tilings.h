/* tilings: the tile sizes of jit, the same on all ranks of a job. */
#ifndef DM_ENGINE_TILINGS_H
#define DM_ENGINE_TILINGS_H

#include "backend/backend.h"
#include "core/dtype.h"
#include "run/record.h"
#include "run/run.h"

/* Collective.  Where KERNEL is jit, rank 0 looks for the file of `damier tune` and all ranks use
 * what it says, or all what is built in.  NAME becomes what the recipe calls the kernel: "jit:" and
 * the hash of the tilings, or KERNEL itself. */
dm_status dm_tilings_agree(dm_run *run, dm_backend *backend, const char *kernel, dm_dtype work,
                           char name[32]);

/* For `damier info`: where the file of BACKEND's GPU is, and whether jit uses it. */
void dm_tilings_describe(dm_backend *backend, const char *path, dm_record *record);

#endif
