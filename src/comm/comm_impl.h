/* comm_impl: what the files of src/comm share. */
#ifndef DM_COMM_COMM_IMPL_H
#define DM_COMM_COMM_IMPL_H

#include <mpi.h>

#include "comm/comm.h"

struct dm_comm {
  MPI_Comm mpi; /* MPI_COMM_NULL: a rank alone, for which MPI was not started */
  int rank, size;
  char host[MPI_MAX_PROCESSOR_NAME];
  void (*waiting)(void *context); /* or NULL */
  void *context;
};

/* Bytes of one MPI message; the tests build this layer with fewer, too. */
#ifndef DM_MESSAGE_MAX
#define DM_MESSAGE_MAX (1 << 30)
#endif

/* DM_OK, or the words of MPI for CODE. */
dm_status dm_comm_check(int code, const char *what);

/* Waits for all of REQUESTS.  In no other place of src/comm may a rank wait for what others do
 * late: a waiting rank must still send its heartbeat. */
dm_status dm_comm_finish(const dm_comm *comm, MPI_Request *requests, int count);

/* Leaves the calling function where an MPI call fails. */
#define DM_MPI(call) DM_TRY(dm_comm_check((call), #call))

#endif
