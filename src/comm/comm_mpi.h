/* comm_mpi: wraps a caller's communicator, for the library; only in builds with MPI. */
#ifndef DM_COMM_COMM_MPI_H
#define DM_COMM_COMM_MPI_H

#include <mpi.h>

#include "comm/comm.h"

/* Collective: duplicates MPI; free the copy with dm_comm_free. The caller remains responsible for
 * ending MPI. MPI_COMM_NULL: a single process; MPI need not be started. DM_E_USAGE, DM_E_MPI: MPI
 * cannot be used. */
dm_status dm_comm_adopt(MPI_Comm mpi, dm_comm **world);

#endif
