/* host_residues: residues of C in host memory. The CPU adds layers here, and so do GPUs that cannot
 * access each other's memory. */
#ifndef DM_BACKEND_HOST_RESIDUES_H
#define DM_BACKEND_HOST_RESIDUES_H

#include "backend/backend_table.h"
#include "core/residues.h"

/* dm_backend_join and dm_backend_finish for views in host memory; synchronous, on all cores of this
 * rank. */
void dm_host_join_residues(const dm_moduli *moduli, dm_view c, dm_view more, int64_t plane);
dm_status dm_host_finish_residues(const dm_moduli *moduli, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents);

#endif
