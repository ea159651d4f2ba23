#include <stddef.h>

#include "comm/comm_impl.h"
#include "core/checked.h"

dm_status dm_comm_barrier(const dm_comm *comm) {
  DM_MPI(MPI_Barrier(comm->mpi));
  return DM_OK;
}

dm_status dm_comm_broadcast(const dm_comm *comm, void *data, int64_t bytes, int root) {
  for (int64_t at = 0; at < bytes; at += DM_MESSAGE_MAX) {
    int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    DM_MPI(MPI_Bcast((char *)data + at, count, MPI_BYTE, root, comm->mpi));
  }
  return DM_OK;
}

dm_status dm_comm_gather(const dm_comm *comm, const void *data, int64_t bytes, void *all,
                         int root) {
  if (bytes > DM_MESSAGE_MAX) return dm_fail(DM_E_BUG, "a gather of more than 1 GiB a rank");
  DM_MPI(MPI_Gather(data, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, root, comm->mpi));
  return DM_OK;
}

/* VALUES = op over the ranks, in pieces of at most 1 GiB; both types have 8 bytes. */
static dm_status combine(const dm_comm *comm, void *values, int64_t count, MPI_Datatype type,
                         MPI_Op op) {
  const int64_t most = DM_MESSAGE_MAX / 8;
  for (int64_t at = 0; at < count; at += most)
    DM_MPI(MPI_Allreduce(MPI_IN_PLACE, (char *)values + at * 8, (int)dm_min(most, count - at), type,
                         op, comm->mpi));
  return DM_OK;
}

dm_status dm_comm_sum_f64(const dm_comm *comm, double *values, int64_t count) {
  return combine(comm, values, count, MPI_DOUBLE, MPI_SUM);
}

dm_status dm_comm_sum_i64(const dm_comm *comm, int64_t *values, int64_t count) {
  /* Unsigned, so that a sum that wraps is defined. */
  return combine(comm, values, count, MPI_UINT64_T, MPI_SUM);
}

dm_status dm_comm_max_f64(const dm_comm *comm, double *values, int64_t count) {
  return combine(comm, values, count, MPI_DOUBLE, MPI_MAX);
}

dm_status dm_comm_max_i64(const dm_comm *comm, int64_t *values, int64_t count) {
  return combine(comm, values, count, MPI_INT64_T, MPI_MAX);
}

dm_status dm_comm_agree(const dm_comm *comm, dm_status mine) {
  int failed = mine != DM_OK, failures = 0;
  int lowest = failed ? comm->rank : comm->size, first = comm->size;
  dm_status status = dm_comm_check(
      MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, comm->mpi), "MPI_Allreduce(");
  if (!status && failures == 0) return DM_OK;
  if (!status)
    status = dm_comm_check(MPI_Allreduce(&lowest, &first, 1, MPI_INT, MPI_MIN, comm->mpi),
                           "MPI_Allreduce(");
  if (status) return dm_status_first(mine, status);

  dm_error error = {0};
  if (comm->rank == first) {
    error = *mine;
    if (error.rank < 0) error.rank = comm->rank;
    error.others = failures - 1;
    error.agreed = true;
  }
  dm_status_free(mine);
  DM_MPI(MPI_Bcast(&error, (int)sizeof error, MPI_BYTE, first, comm->mpi));
  return dm_status_copy(&error);
}
