/* spill: memory that the system may move to a disk: a mapped file without a name, in a folder. */
#ifndef DM_CORE_SPILL_H
#define DM_CORE_SPILL_H

#include <stdint.h>

#include "core/status.h"

/* All zero: nothing. */
typedef struct dm_spill {
  void *base;
  int64_t bytes; /* reserved on the disk */
  int file;      /* descriptor + 1 */
} dm_spill;

/* At least BYTES; what is there stays. DM_E_FIT: FOLDER's disk has no space; DM_E_IO. */
dm_status dm_spill_grow(const char *folder, int64_t bytes, dm_spill *spill);
void dm_spill_free(dm_spill *spill);

#endif
