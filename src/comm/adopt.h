/* adopt: a communicator of a program's own, for the library. */
#ifndef DM_COMM_ADOPT_H
#define DM_COMM_ADOPT_H

#include <mpi.h>

#include "comm/comm.h"

/* Collective: a copy of MPI, freed by dm_comm_free; MPI stays the caller's to end.  MPI_COMM_NULL:
 * a process alone, for which MPI need not be started.  DM_E_USAGE, DM_E_MPI: it cannot be used. */
dm_status dm_comm_adopt(MPI_Comm mpi, dm_comm **world);

#endif
