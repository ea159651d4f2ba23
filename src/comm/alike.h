/* alike: what all ranks must state alike. Ranks that differ would compute different products, or
 * wait for each other. */
#ifndef DM_COMM_ALIKE_H
#define DM_COMM_ALIKE_H

#include <stddef.h>
#include <stdint.h>

#include "comm/comm.h"

enum { DM_ALIKE = 176 };

/* A list of statements; all ranks have the same names in the same order. */
typedef struct dm_alike {
  int count;
  const char *name[DM_ALIKE];
  uint64_t hash[DM_ALIKE];
} dm_alike;

/* Adds BYTES of DATA, at most DM_ALIKE times; NAME is kept. */
void dm_alike_add(dm_alike *alike, const char *name, const void *data, size_t bytes);
void dm_alike_add_text(dm_alike *alike, const char *name, const char *text); /* or NULL */

/* Collective: DM_E_USAGE on all ranks, with the names, if something differs. */
dm_status dm_alike_check(const dm_comm *comm, const dm_alike *alike);

#endif
