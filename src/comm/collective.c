#include "comm/comm.h"

#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "comm/comm_impl.h"
#include "core/buffer.h"
#include "core/checked.h"

dm_status dm_comm_allocate(dm_comm **comm) {
  *comm = calloc(1, sizeof **comm);
  return *comm ? DM_OK : dm_fail(DM_E_FIT, "no memory for a communicator");
}

dm_status dm_comm_take_alone(dm_comm **world) {
  dm_comm *comm;
  DM_TRY(dm_comm_allocate(&comm));
  comm->size = 1;
  if (gethostname(comm->host, sizeof comm->host - 1) != 0)
    snprintf(comm->host, sizeof comm->host, "localhost");
  *world = comm;
  return DM_OK;
}

bool dm_comm_is_alone(const dm_comm *comm) {
  return !comm->ops;
}

bool dm_comm_is_one_process(const dm_comm *comm) {
  return !comm->ops || comm->ops->one_process;
}

dm_status dm_comm_usable(const dm_comm *comm) {
  return comm->ops && comm->ops->usable ? comm->ops->usable() : DM_OK;
}

void dm_comm_stop(dm_comm *world) {
  const dm_comm_ops *ops = world ? world->ops : NULL;
  dm_comm_free(world);
  if (ops && ops->stop) ops->stop();
}

void dm_comm_abort(dm_comm *world, int code) {
  if (world->ops && world->ops->abort) world->ops->abort(world, code);
  _Exit(code);
}

int dm_comm_rank(const dm_comm *comm) {
  return comm->rank;
}

int dm_comm_size(const dm_comm *comm) {
  return comm->size;
}

const char *dm_comm_host(const dm_comm *comm) {
  return comm->host;
}

void dm_comm_on_wait(dm_comm *comm, void (*waiting)(void *context), void *context) {
  comm->waiting = waiting;
  comm->context = context;
}

/* Fails on all members of COMM if one has no memory. */
static dm_status allocate_together(const dm_comm *comm, dm_comm **new) {
  dm_status status = dm_comm_agree(comm, dm_comm_allocate(new));
  if (!status) return DM_OK;
  status->agreed = false; /* COMM may be a part of the job */
  free(*new);
  return status;
}

static dm_status split_alone(const dm_comm *comm, dm_comm **out) {
  DM_TRY(dm_comm_allocate(out));
  **out = *comm;
  return DM_OK;
}

static dm_status collective_split(const dm_comm *comm, int color, int key, dm_comm **out) {
  dm_comm *new;
  bool member = false;
  DM_TRY(allocate_together(comm, &new));
  dm_status status = comm->ops->split(comm, color, key, new, &member);
  if (status || !member) {
    free(new);
    return status;
  }
  dm_comm_on_wait(new, comm->waiting, comm->context);
  *out = new;
  return DM_OK;
}

dm_status dm_comm_split(const dm_comm *comm, int color, int key, dm_comm **out) {
  *out = NULL;
  if (dm_comm_is_alone(comm)) return color < 0 ? DM_OK : split_alone(comm, out);
  return collective_split(comm, color < 0 ? DM_NO_COLOR : color, key, out);
}

dm_status dm_comm_split_node(const dm_comm *comm, dm_comm **out) {
  return dm_comm_is_alone(comm) ? split_alone(comm, out)
                                : collective_split(comm, DM_OF_NODE, comm->rank, out);
}

void dm_comm_free(dm_comm *comm) {
  if (!comm) return;
  if (comm->ops) comm->ops->release(comm);
  free(comm);
}

/* ---- requests ---- */

dm_status dm_comm_test_all(dm_comm_request *requests, int count, bool *done) {
  *done = false;
  for (int i = 0; i < count; i++) {
    if (requests[i].ops) DM_TRY(requests[i].ops->test(&requests[i]));
    if (requests[i].ops) return DM_OK;
  }
  *done = true;
  return DM_OK;
}

dm_status dm_comm_wait_all(dm_comm_request *requests, int count) {
  for (int i = 0; i < count; i++)
    if (requests[i].ops) DM_TRY(requests[i].ops->wait(&requests[i]));
  return DM_OK;
}

/* Waits for all of REQUESTS. No other function of src/comm may wait for messages that ranks send
 * late: a waiting rank must continue to send its heartbeat. */
static dm_status collective_finish(const dm_comm *comm, dm_comm_request *requests, int count) {
  if (!comm->waiting) return dm_comm_wait_all(requests, count);
  for (;;) {
    bool done;
    DM_TRY(dm_comm_test_all(requests, count, &done));
    if (done) return DM_OK;
    comm->waiting(comm->context);
    sched_yield();
  }
}

/* ---- messages ---- */

struct dm_messages {
  const dm_comm *comm; /* of the last message */
  dm_comm_request *requests;
  int count, room;
};

dm_status dm_messages_new(dm_messages **messages) {
  *messages = calloc(1, sizeof **messages);
  return *messages ? DM_OK : dm_fail(DM_E_FIT, "no memory for messages");
}

void dm_messages_free(dm_messages *messages) {
  if (!messages) return;
  free(messages->requests);
  free(messages);
}

static dm_status collective_reserve(dm_messages *messages, int64_t bytes) {
  int64_t needed = messages->count + dm_ceil_div(bytes, DM_MESSAGE_MAX);
  if (needed <= messages->room) return DM_OK;
  int room = (int)dm_max(needed, 2 * (int64_t)messages->room + 8);
  dm_comm_request *requests = realloc(messages->requests, (size_t)room * sizeof *requests);
  if (!requests) return dm_fail(DM_E_FIT, "no memory for %d messages", room);
  messages->requests = requests;
  messages->room = room;
  return DM_OK;
}

static dm_status collective_post(dm_messages *messages, const dm_comm *comm, dm_way way, char *data,
                                 int64_t bytes, int peer, int tag) {
  DM_TRY(collective_reserve(messages, bytes));
  messages->comm = comm;
  for (int64_t at = 0; at < bytes; at += DM_MESSAGE_MAX) {
    const int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    DM_TRY(comm->ops->post(comm, way, data + at, count, peer, tag,
                           &messages->requests[messages->count]));
    messages->count++;
  }
  return DM_OK;
}

dm_status dm_messages_send(dm_messages *messages, const dm_comm *comm, const void *data,
                           int64_t bytes, int peer, int tag) {
  return collective_post(messages, comm, DM_SEND, (char *)(uintptr_t)data, bytes, peer, tag);
}

dm_status dm_messages_receive(dm_messages *messages, const dm_comm *comm, void *data, int64_t bytes,
                              int peer, int tag) {
  return collective_post(messages, comm, DM_RECEIVE, data, bytes, peer, tag);
}

dm_status dm_messages_test(dm_messages *messages, bool *done) {
  DM_TRY(dm_comm_test_all(messages->requests, messages->count, done));
  if (*done) messages->count = 0;
  return DM_OK;
}

dm_status dm_messages_wait_idle(dm_messages *messages) {
  DM_TRY(dm_comm_wait_all(messages->requests, messages->count));
  messages->count = 0;
  return DM_OK;
}

dm_status dm_messages_wait(dm_messages *messages) {
  if (messages->count > 0)
    DM_TRY(collective_finish(messages->comm, messages->requests, messages->count));
  messages->count = 0;
  return DM_OK;
}

/* ---- collectives ---- */

/* A single rank already has the result: nothing is sent, and MPI may not have been started. */
static bool is_alone(const dm_comm *comm) {
  return comm->size == 1;
}

/* Plain collectives are fast in every MPI, but waiting ranks cannot send heartbeats in them. */
static dm_status collective_collect(const dm_comm *comm, const dm_collective *mine) {
  dm_comm_request request = {0};
  DM_TRY(comm->ops->collect(comm, mine, comm->waiting ? &request : NULL));
  return collective_finish(comm, &request, 1);
}

dm_status dm_comm_barrier(const dm_comm *comm) {
  return is_alone(comm) ? DM_OK : collective_collect(comm, &(dm_collective){.purpose = DM_BARRIER});
}

dm_status dm_comm_idle_barrier(const dm_comm *comm) {
  const struct timespec nap = {.tv_nsec = 200000};
  dm_comm_request request = {0};
  if (is_alone(comm)) return DM_OK;
  DM_TRY(comm->ops->collect(comm, &(dm_collective){.purpose = DM_BARRIER}, &request));
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
    char *part = (char *)data + at;
    const int count = (int)dm_min(DM_MESSAGE_MAX, bytes - at);
    DM_TRY(collective_collect(comm, &(dm_collective){DM_BROADCAST, count, root, part, part}));
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
  return collective_collect(comm, &(dm_collective){DM_GATHER, (int)bytes, root, data, all});
}

dm_status dm_comm_allgather(const dm_comm *comm, const void *data, int64_t bytes, void *all) {
  DM_TRY(dm_comm_gather(comm, data, bytes, all, 0));
  return dm_comm_broadcast(comm, all, bytes * comm->size, 0);
}

/* VALUES = FOLD over the ranks, in pieces of at most 1 GiB; all types have 8 bytes. */
static dm_status collective_combine(const dm_comm *comm, void *values, int64_t count,
                                    dm_comm_fold fold) {
  const int64_t most = DM_MESSAGE_MAX / 8;
  if (is_alone(comm)) return DM_OK;
  for (int64_t at = 0; at < count; at += most) {
    char *part = (char *)values + at * 8;
    const int length = (int)dm_min(most, count - at);
    DM_TRY(collective_collect(comm, &(dm_collective){DM_COMBINE, length, (int)fold, part, part}));
  }
  return DM_OK;
}

dm_status dm_comm_sum_f64(const dm_comm *comm, double *values, int64_t count) {
  return collective_combine(comm, values, count, DM_SUM_F64);
}

dm_status dm_comm_sum_i64(const dm_comm *comm, int64_t *values, int64_t count) {
  /* Unsigned, so that a sum that wraps is defined. */
  return collective_combine(comm, values, count, DM_SUM_U64);
}

dm_status dm_comm_max_f64(const dm_comm *comm, double *values, int64_t count) {
  return collective_combine(comm, values, count, DM_MAX_F64);
}

dm_status dm_comm_max_i64(const dm_comm *comm, int64_t *values, int64_t count) {
  return collective_combine(comm, values, count, DM_MAX_I64);
}

struct dm_sum {
  dm_comm_request request;
  int64_t values[DM_MAXIMA]; /* of a round */
};

/* Takes SUM, all zero, or NULL; a single rank's request stays empty. */
static dm_status collective_start(const dm_comm *comm, dm_sum *sum, void *values, int count,
                                  dm_comm_fold fold, dm_sum **out) {
  if (!sum) return dm_fail(DM_E_FIT, "no memory for a sum");
  *out = sum;
  const dm_collective mine = {DM_COMBINE, count, (int)fold, values, values};
  dm_status status = is_alone(comm) ? DM_OK : comm->ops->collect(comm, &mine, &sum->request);
  if (status) free(sum);
  return status;
}

dm_status dm_comm_max_start(const dm_comm *comm, const int64_t values[DM_MAXIMA],
                            dm_comm_pending **out) {
  dm_sum *round = calloc(1, sizeof *round);
  if (round) memcpy(round->values, values, sizeof round->values);
  return collective_start(comm, round, round ? round->values : NULL, DM_MAXIMA, DM_MAX_I64, out);
}

dm_status dm_comm_sum_start(const dm_comm *comm, double *values, int64_t count, bool integers,
                            dm_sum **out) {
  if (count > INT_MAX) return dm_fail(DM_E_BUG, "a sum of %lld values", (long long)count);
  return collective_start(comm, calloc(1, sizeof(dm_sum)), values, (int)count,
                          integers ? DM_SUM_U64 : DM_SUM_F64, out);
}

dm_status dm_comm_max_test(dm_comm_pending *round, bool *done, int64_t values[DM_MAXIMA]) {
  DM_TRY(dm_comm_test_all(&round->request, 1, done));
  if (!*done) return DM_OK;
  memcpy(values, round->values, sizeof round->values);
  free(round);
  return DM_OK;
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

/* The number behind VALUES counts the ranks that failed. */
dm_status dm_comm_agree_sum(const dm_comm *comm, dm_status mine, void *values, int64_t count,
                            bool integers) {
  void *own = NULL;
  dm_status status = values ? DM_OK : dm_buffer_zeroed(count + 1, 8, &own);
  if (status) return dm_status_first(mine, status);
  if (!values) values = own;
  int64_t *whole = (int64_t *)values + count;
  double *real = (double *)values + count;
  if (integers)
    *whole = mine != DM_OK;
  else
    *real = mine != DM_OK;
  status = integers ? dm_comm_sum_i64(comm, values, count + 1)
                    : dm_comm_sum_f64(comm, values, count + 1);
  const bool failed = integers ? *whole != 0 : *real != 0.0;
  free(own);
  if (status) return dm_status_first(mine, status);
  return failed ? dm_comm_agree(comm, mine) : DM_OK;
}

/* ---- what all ranks must state alike ---- */

void dm_alike_add(dm_alike *alike, const char *name, const void *data, size_t bytes) {
  if (alike->count >= DM_ALIKE) return;
  alike->name[alike->count] = name;
  alike->hash[alike->count++] = XXH3_64bits(data, bytes);
}

void dm_alike_add_text(dm_alike *alike, const char *name, const char *text) {
  dm_alike_add(alike, name, text ? text : "", text ? strlen(text) + 1 : 0);
}

/* As a number whose negative exists. */
static int64_t collective_number_of(uint64_t hash) {
  return (int64_t)(hash >> 1);
}

static bool collective_is_alike(const int64_t *extremes, int i) {
  return extremes[2 * i] == -extremes[2 * i + 1];
}

/* Some options have a row for each of several verbs. */
static bool collective_is_named(const dm_alike *alike, const int64_t *extremes, int i) {
  for (int j = 0; j < i; j++)
    if (!collective_is_alike(extremes, j) && strcmp(alike->name[j], alike->name[i]) == 0)
      return true;
  return false;
}

/* EXTREMES: the largest number of each statement, and of its negative. */
static dm_status differ(const dm_alike *alike, const int64_t *extremes) {
  char names[200] = "";
  int more = 0;
  for (int i = 0; i < alike->count; i++) {
    const size_t used = strlen(names), length = strlen(alike->name[i]);
    if (collective_is_alike(extremes, i) || collective_is_named(alike, extremes, i)) continue;
    if (used + length + 3 < sizeof names)
      snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", alike->name[i]);
    else
      more++;
  }
  if (more > 0) return dm_fail(DM_E_USAGE, "the ranks differ in %s and %d more", names, more);
  return dm_fail(DM_E_USAGE, "the ranks differ in %s", names);
}

dm_status dm_alike_check(const dm_comm *comm, const dm_alike *alike) {
  int64_t extremes[2 * DM_ALIKE];
  const uint64_t all = XXH3_64bits(alike->hash, (size_t)alike->count * sizeof *alike->hash);
  int64_t two[] = {collective_number_of(all), -collective_number_of(all)};
  DM_TRY(dm_comm_max_i64(comm, two, 2));
  if (two[0] == -two[1]) return DM_OK;
  for (int i = 0; i < alike->count; i++) {
    extremes[2 * i] = collective_number_of(alike->hash[i]);
    extremes[2 * i + 1] = -extremes[2 * i];
  }
  DM_TRY(dm_comm_max_i64(comm, extremes, 2 * (int64_t)alike->count));
  return dm_comm_agree(comm, differ(alike, extremes));
}
