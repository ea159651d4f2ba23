/* centered_copy: copies of matrices in the ranks' memory, whose missing values are marked and whose
 * lines are centered as readers do with matrices in files. */
#ifndef DM_PRODUCT_CENTERED_COPY_H
#define DM_PRODUCT_CENTERED_COPY_H

#include "engine/setup.h"
#include "file/meaning.h"
#include "product/distributed.h"
#include "run/run.h"

/* In host memory, divided over the ranks as the original; a replicated one by rows. */
typedef struct dm_centered_copy {
  dm_memory_matrix stated;
  void *memory; /* this rank's part, to be freed; NULL: it has none */
} dm_centered_copy;

/* Collective: copies STATED as elements of TYPE; what MEANING says is missing becomes NaN, or 0.
 * Elements in GPU memory are read through ENGINE's backend, which is open only meanwhile: they may
 * change once the call returns. Errors are agreed and use NAME. */
dm_status dm_centered_copy_make(dm_run *run, const dm_engine *engine,
                                const dm_memory_matrix *stated, const char *name,
                                const dm_meaning *meaning, dm_dtype type, dm_centered_copy *copy);
void dm_centered_copy_free(dm_centered_copy *copy);

/* Collective: changes the elements of MATRIX, an opened copy, by CENTERING. */
dm_status dm_centered_copy_change(dm_run *run, const dm_distributed *matrix,
                                  const dm_centering *centering);

#endif
