/* centered_copy: copies of matrices in the ranks' memory, whose missing values are marked and whose
 * lines are centered as readers do with matrices in files. */
#ifndef DM_TRANSFORM_CENTERED_COPY_H
#define DM_TRANSFORM_CENTERED_COPY_H

#include "dataset/meaning.h"
#include "engine/setup.h"
#include "layout/distributed.h"
#include "run/run.h"
#include "transform/marks.h"
#include "transform/moments.h"

/* What is copied. */
typedef struct dm_centered_source {
  const dm_memory_matrix *stated;
  const char *name;      /* for errors */
  const dm_dataset *set; /* what its meaning says is missing becomes NaN, or 0 */
  dm_dtype type;         /* of the copy */
} dm_centered_source;

/* GPU memory for a copy, which serves later ones, too; initially zero but for an open BACKEND. */
typedef struct dm_centered_room {
  dm_backend *backend;
  void *memory;
  int64_t bytes;
} dm_centered_room;

void dm_centered_room_release(dm_centered_room *room);

/* A copy, where the original is: in the memory of hosts or GPUs, divided over the ranks as it; a
 * replicated one by rows. Of a matrix in GPU memory a large one may be in host memory. */
typedef struct dm_centered_copy {
  dm_memory_matrix stated;
  dm_distributed from; /* the original */
  dm_gaps gaps;
  dm_view part;           /* this rank's part of the copy */
  dm_centered_room *room; /* GPU memory for that, or for strips of it: the caller's, or OWN */
  dm_centered_room own;
} dm_centered_copy;

/* Collective: opens a copy of SOURCE, without elements yet where they are in GPU memory: ROOM has
 * them; NULL: a backend is opened as ENGINE states, and a large copy is in host memory. Errors are
 * agreed; DM_E_FIT: ROOM has no room. Free it also after an error.
 * It must not move meanwhile. */
dm_status dm_centered_copy_open(dm_run *run, const dm_engine_options *engine,
                                dm_centered_room *room, const dm_centered_source *source,
                                dm_centered_copy *copy);
void dm_centered_copy_free(dm_centered_copy *copy);

/* Adds this rank's elements, not yet centered, to MOMENTS, as the group of its number. */
dm_status dm_centered_copy_take(const dm_run *run, const dm_centered_copy *copy,
                                dm_moments *moments);

/* Marks the terms that this rank's elements, not yet centered, lack a value of. */
dm_status dm_centered_copy_mark(const dm_run *run, const dm_centered_copy *copy,
                                dm_marking *marking);

/* Collective, once: gives the copy its elements, centered. Then the original may change. */
dm_status dm_centered_copy_change(dm_run *run, const dm_centered_copy *copy,
                                  const dm_centering *centering);

#endif
