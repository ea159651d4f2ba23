/* staging: copies between a GPU and pageable memory of the caller. The runtime copies that through
 * a small buffer with one thread; here several threads copy to and from pinned memory, of which one
 * half is filled while the other one is on its way. */
#ifndef DM_LAYOUT_STAGING_H
#define DM_LAYOUT_STAGING_H

#include "backend/backend.h"
#include "core/crew.h"

enum { DM_STAGES = 2 };

/* Initially zero; stays open from copy to copy. */
typedef struct dm_staging {
  dm_backend *backend;
  dm_crew *crew;
  void *memory[DM_STAGES];
  dm_event busy[DM_STAGES]; /* the copy from it to the GPU */
} dm_staging;

/* As dm_backend_copy_runs, between host memory and that of BACKEND's GPU; what goes to the host is
 * there on return, and *done is 0. */
dm_status dm_staging_copy_runs(dm_staging *staging, dm_backend *backend, dm_view dst, dm_view src,
                               const dm_copy_runs *of, dm_event *done);

/* Waits for what was posted. */
void dm_staging_close(dm_staging *staging);

#endif
