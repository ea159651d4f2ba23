/* comm_impl: shared by the files of src/comm. */
#ifndef DM_COMM_COMM_IMPL_H
#define DM_COMM_COMM_IMPL_H

#include <mpi.h>

#include "comm/comm.h"

struct dm_comm {
  MPI_Comm mpi; /* MPI_COMM_NULL: a single rank, MPI was not started */
  int rank, size;
  char host[MPI_MAX_PROCESSOR_NAME];
  void (*waiting)(void *context); /* or NULL */
  void *context;
};

/* Maximum bytes of one MPI message; tests also build this layer with a smaller value. */
#ifndef DM_MESSAGE_MAX
#define DM_MESSAGE_MAX (1 << 30)
#endif

/* DM_OK, or an error with MPI's text for CODE. */
dm_status dm_comm_check(int code, const char *what);

/* Waits for all of REQUESTS. No other function of src/comm may wait for messages that ranks send
 * late: a waiting rank must continue to send its heartbeat. */
dm_status dm_comm_finish(const dm_comm *comm, MPI_Request *requests, int count);

/* Returns from the calling function if an MPI call fails. */
#define DM_MPI(call) DM_TRY(dm_comm_check((call), #call))

#endif
