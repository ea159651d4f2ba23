#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/comm_impl.h"
#include "core/checked.h"

dm_status dm_comm_test_all(dm_request *requests, int count, bool *done) {
  *done = false;
  for (int i = 0; i < count; i++) {
    if (requests[i].ops) DM_TRY(requests[i].ops->test(&requests[i], NULL));
    if (requests[i].ops) return DM_OK;
  }
  *done = true;
  return DM_OK;
}

dm_status dm_comm_wait_all(dm_request *requests, int count) {
  for (int i = 0; i < count; i++)
    if (requests[i].ops) DM_TRY(requests[i].ops->wait(&requests[i]));
  return DM_OK;
}

dm_status dm_comm_finish(const dm_comm *comm, dm_request *requests, int count) {
  if (!comm->waiting) return dm_comm_wait_all(requests, count);
  for (;;) {
    bool done;
    DM_TRY(dm_comm_test_all(requests, count, &done));
    if (done) return DM_OK;
    comm->waiting(comm->context);
    sched_yield();
  }
}

/* A single rank already has the result: nothing is sent, and MPI may not have been started. */
static bool is_alone(const dm_comm *comm) {
  return comm->size == 1;
}

/* Where collectives store their request: nowhere if they may block. Plain collectives are fast in
 * every MPI, but waiting ranks cannot send heartbeats in them. */
static dm_request *place_of(const dm_comm *comm, dm_request *request) {
  *request = (dm_request){0};
  return comm->waiting ? request : NULL;
}

dm_status dm_comm_barrier(const dm_comm *comm) {
  dm_request request;
  if (is_alone(comm)) return DM_OK;
  DM_TRY(comm->ops->barrier(comm, place_of(comm, &request)));
  return dm_comm_finish(comm, &request, 1);
}

dm_status dm_comm_rest(const dm_comm *comm) {
  const struct timespec nap = {.tv_nsec = 200000};
  dm_request request = {0};
  if (is_alone(comm)) return DM_OK;
  DM_TRY(comm->ops->barrier(comm, &request));
  for (;;) {
    bool done;
    DM_TRY(dm_comm_test_all(&request, 1, &done));
    if (done) return DM_OK;
    if (comm->waiting) comm->waiting(comm->context);
    nanosleep(&nap, NULL);
  }
}

dm_status dm_comm_broadcast(const dm_comm *comm, void *data, int64_t bytes, int root) {
  if (is_alone(comm)) return DM_OK;
  for (int64_t at = 0; at < bytes; at += DM_MESSAGE_MAX) {
    int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    dm_request request;
    DM_TRY(comm->ops->broadcast(comm, (char *)data + at, count, root, place_of(comm, &request)));
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
  dm_request request;
  DM_TRY(comm->ops->gather(comm, data, (int)bytes, all, root, place_of(comm, &request)));
  return dm_comm_finish(comm, &request, 1);
}

/* VALUES = FOLD over the ranks, in pieces of at most 1 GiB; all types have 8 bytes. */
static dm_status combine(const dm_comm *comm, void *values, int64_t count, dm_fold fold) {
  const int64_t most = DM_MESSAGE_MAX / 8;
  if (is_alone(comm)) return DM_OK;
  for (int64_t at = 0; at < count; at += most) {
    char *part = (char *)values + at * 8;
    const int length = (int)dm_min(most, count - at);
    dm_request request;
    DM_TRY(comm->ops->combine(comm, part, length, fold, place_of(comm, &request)));
    DM_TRY(dm_comm_finish(comm, &request, 1));
  }
  return DM_OK;
}

dm_status dm_comm_sum_f64(const dm_comm *comm, double *values, int64_t count) {
  return combine(comm, values, count, DM_SUM_F64);
}

dm_status dm_comm_sum_i64(const dm_comm *comm, int64_t *values, int64_t count) {
  /* Unsigned, so that a sum that wraps is defined. */
  return combine(comm, values, count, DM_SUM_U64);
}

dm_status dm_comm_max_f64(const dm_comm *comm, double *values, int64_t count) {
  return combine(comm, values, count, DM_MAX_F64);
}

dm_status dm_comm_max_i64(const dm_comm *comm, int64_t *values, int64_t count) {
  return combine(comm, values, count, DM_MAX_I64);
}

/* A single rank's request stays empty. */
static dm_status start(const dm_comm *comm, void *values, int count, dm_fold fold,
                       dm_request *request) {
  *request = (dm_request){0};
  return is_alone(comm) ? DM_OK : comm->ops->combine(comm, values, count, fold, request);
}

struct dm_round {
  dm_request request;
  int64_t values[DM_ROUND];
};

dm_status dm_comm_max_start(const dm_comm *comm, const int64_t values[DM_ROUND], dm_round **out) {
  dm_round *round = malloc(sizeof *round);
  if (!round) return dm_fail(DM_E_FIT, "no memory for a round");
  memcpy(round->values, values, sizeof round->values);
  dm_status status = start(comm, round->values, DM_ROUND, DM_MAX_I64, &round->request);
  if (status)
    free(round);
  else
    *out = round;
  return status;
}

dm_status dm_comm_max_test(dm_round *round, bool *done, int64_t values[DM_ROUND]) {
  DM_TRY(dm_comm_test_all(&round->request, 1, done));
  if (!*done) return DM_OK;
  for (int i = 0; i < DM_ROUND; i++) values[i] = round->values[i];
  free(round);
  return DM_OK;
}

struct dm_sum {
  dm_request request;
};

dm_status dm_comm_sum_start(const dm_comm *comm, double *values, int64_t count, bool whole,
                            dm_sum **out) {
  if (count > INT_MAX) return dm_fail(DM_E_BUG, "a sum of %lld values", (long long)count);
  dm_sum *sum = malloc(sizeof *sum);
  if (!sum) return dm_fail(DM_E_FIT, "no memory for a sum");
  dm_status status =
      start(comm, values, (int)count, whole ? DM_SUM_U64 : DM_SUM_F64, &sum->request);
  if (status)
    free(sum);
  else
    *out = sum;
  return status;
}

dm_status dm_comm_sum_test(dm_sum *sum, bool *done) {
  DM_TRY(dm_comm_test_all(&sum->request, 1, done));
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
