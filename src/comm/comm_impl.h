/* comm_impl: what the files of src/comm share. */
#ifndef DM_COMM_COMM_IMPL_H
#define DM_COMM_COMM_IMPL_H

#include <mpi.h>

#include "comm/comm.h"

struct dm_comm {
  MPI_Comm mpi;
  int rank, size;
  char host[MPI_MAX_PROCESSOR_NAME];
};

enum { DM_MESSAGE_MAX = 1 << 30 }; /* bytes of one MPI message */

/* DM_OK, or the words of MPI for CODE. */
dm_status dm_comm_check(int code, const char *what);

/* Leaves the calling function where an MPI call fails. */
#define DM_MPI(call) DM_TRY(dm_comm_check((call), #call))

#endif
