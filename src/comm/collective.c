#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/comm_impl.h"
#include "core/checked.h"

dm_status dm_comm_finish(const dm_comm *comm, MPI_Request *requests, int count) {
  if (!comm->waiting) {
    DM_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    return DM_OK;
  }
  for (;;) {
    int done = 0;
    DM_MPI(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE));
    if (done) return DM_OK;
    comm->waiting(comm->context);
    sched_yield();
  }
}

/* A single rank already has the result: nothing is sent, and MPI may not have been started. */
static bool is_alone(const dm_comm *comm) {
  return comm->size == 1;
}

/* Plain collectives are fast in every MPI, but waiting ranks cannot send heartbeats in them. */
static bool may_block(const dm_comm *comm) {
  return !comm->waiting;
}

dm_status dm_comm_barrier(const dm_comm *comm) {
  MPI_Request request;
  if (is_alone(comm)) return DM_OK;
  if (may_block(comm)) return dm_comm_check(MPI_Barrier(comm->mpi), "MPI_Barrier(");
  DM_MPI(MPI_Ibarrier(comm->mpi, &request));
  return dm_comm_finish(comm, &request, 1);
}

dm_status dm_comm_rest(const dm_comm *comm) {
  const struct timespec nap = {.tv_nsec = 200000};
  MPI_Request request;
  if (is_alone(comm)) return DM_OK;
  DM_MPI(MPI_Ibarrier(comm->mpi, &request));
  for (;;) {
    int done = 0;
    DM_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done) return DM_OK;
    if (comm->waiting) comm->waiting(comm->context);
    nanosleep(&nap, NULL);
  }
}

dm_status dm_comm_broadcast(const dm_comm *comm, void *data, int64_t bytes, int root) {
  if (is_alone(comm)) return DM_OK;
  for (int64_t at = 0; at < bytes; at += DM_MESSAGE_MAX) {
    int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    MPI_Request request;
    if (may_block(comm)) {
      DM_MPI(MPI_Bcast((char *)data + at, count, MPI_BYTE, root, comm->mpi));
      continue;
    }
    DM_MPI(MPI_Ibcast((char *)data + at, count, MPI_BYTE, root, comm->mpi, &request));
    DM_TRY(dm_comm_finish(comm, &request, 1));
  }
  return DM_OK;
}

dm_status dm_comm_gather(const dm_comm *comm, const void *data, int64_t bytes, void *all,
                         int root) {
  if (bytes > DM_MESSAGE_MAX) return dm_fail(DM_E_BUG, "a gather of more than 1 GiB a rank");
  if (is_alone(comm)) {
    if (bytes > 0) memmove(all, data, (size_t)bytes);
    return DM_OK;
  }
  MPI_Request request;
  if (may_block(comm))
    return dm_comm_check(
        MPI_Gather(data, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, root, comm->mpi),
        "MPI_Gather(");
  DM_MPI(MPI_Igather(data, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, root, comm->mpi,
                     &request));
  return dm_comm_finish(comm, &request, 1);
}

/* VALUES = op over the ranks, in pieces of at most 1 GiB; both types have 8 bytes. */
static dm_status combine(const dm_comm *comm, void *values, int64_t count, MPI_Datatype type,
                         MPI_Op op) {
  const int64_t most = DM_MESSAGE_MAX / 8;
  if (is_alone(comm)) return DM_OK;
  for (int64_t at = 0; at < count; at += most) {
    char *part = (char *)values + at * 8;
    const int length = (int)dm_min(most, count - at);
    MPI_Request request;
    if (may_block(comm)) {
      DM_MPI(MPI_Allreduce(MPI_IN_PLACE, part, length, type, op, comm->mpi));
      continue;
    }
    DM_MPI(MPI_Iallreduce(MPI_IN_PLACE, part, length, type, op, comm->mpi, &request));
    DM_TRY(dm_comm_finish(comm, &request, 1));
  }
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

/* A null request means a single rank. */
static dm_status has_arrived(MPI_Request *request, bool *done) {
  int arrived = *request == MPI_REQUEST_NULL;
  if (!arrived) DM_MPI(MPI_Test(request, &arrived, MPI_STATUS_IGNORE));
  *done = arrived;
  return DM_OK;
}

/* A single rank's request stays null. */
static dm_status start(const dm_comm *comm, void *values, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  if (is_alone(comm)) return DM_OK;
  DM_MPI(MPI_Iallreduce(MPI_IN_PLACE, values, count, type, op, comm->mpi, request));
  return DM_OK;
}

struct dm_round {
  MPI_Request request;
  int64_t values[DM_ROUND];
};

dm_status dm_comm_max_start(const dm_comm *comm, const int64_t values[DM_ROUND], dm_round **out) {
  dm_round *round = malloc(sizeof *round);
  if (!round) return dm_fail(DM_E_FIT, "no memory for a round");
  memcpy(round->values, values, sizeof round->values);
  dm_status status = start(comm, round->values, DM_ROUND, MPI_INT64_T, MPI_MAX, &round->request);
  if (status)
    free(round);
  else
    *out = round;
  return status;
}

dm_status dm_comm_max_test(dm_round *round, bool *done, int64_t values[DM_ROUND]) {
  DM_TRY(has_arrived(&round->request, done));
  if (!*done) return DM_OK;
  for (int i = 0; i < DM_ROUND; i++) values[i] = round->values[i];
  free(round);
  return DM_OK;
}

struct dm_sum {
  MPI_Request request;
};

dm_status dm_comm_sum_start(const dm_comm *comm, double *values, int64_t count, bool whole,
                            dm_sum **out) {
  if (count > INT_MAX) return dm_fail(DM_E_BUG, "a sum of %lld values", (long long)count);
  dm_sum *sum = malloc(sizeof *sum);
  if (!sum) return dm_fail(DM_E_FIT, "no memory for a sum");
  dm_status status =
      start(comm, values, (int)count, whole ? MPI_UINT64_T : MPI_DOUBLE, MPI_SUM, &sum->request);
  if (status)
    free(sum);
  else
    *out = sum;
  return status;
}

dm_status dm_comm_sum_test(dm_sum *sum, bool *done) {
  DM_TRY(has_arrived(&sum->request, done));
  if (*done) free(sum);
  return DM_OK;
}

dm_status dm_comm_agree(const dm_comm *comm, dm_status mine) {
  if (is_alone(comm) && !mine) return DM_OK;
  int64_t failures = mine != DM_OK, first = failures ? -comm->rank : -comm->size;
  dm_status status = dm_comm_sum_i64(comm, &failures, 1);
  if (!status && failures == 0) return DM_OK;
  if (!status) status = dm_comm_max_i64(comm, &first, 1);
  if (status) return dm_status_first(mine, status);

  dm_error error = {0};
  if (comm->rank == -first) {
    error = *mine;
    if (error.rank < 0) error.rank = comm->rank;
    error.others = (int)failures - 1;
    error.agreed = true;
  }
  dm_status_free(mine);
  DM_TRY(dm_comm_broadcast(comm, &error, sizeof error, (int)-first));
  return dm_status_copy(&error);
}
