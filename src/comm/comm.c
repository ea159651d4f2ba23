#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm_impl.h"

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
  return comm->ops ? comm->ops->usable() : DM_OK;
}

void dm_comm_stop(dm_comm *world) {
  const dm_comm_ops *ops = world ? world->ops : NULL;
  dm_comm_free(world);
  if (ops) ops->stop();
}

void dm_comm_abort(dm_comm *world, int code) {
  if (world->ops) world->ops->abort(world, code);
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

static dm_status split_off(const dm_comm *comm, dm_comm *new, bool member, dm_status status,
                           dm_comm **out) {
  if (status || !member) {
    free(new);
    return status;
  }
  dm_comm_on_wait(new, comm->waiting, comm->context);
  *out = new;
  return DM_OK;
}

dm_status dm_comm_split(const dm_comm *comm, int color, int key, dm_comm **out) {
  dm_comm *new;
  bool member = false;
  *out = NULL;
  if (dm_comm_is_alone(comm)) return color < 0 ? DM_OK : split_alone(comm, out);
  DM_TRY(allocate_together(comm, &new));
  dm_status status = comm->ops->split(comm, color, key, new, &member);
  return split_off(comm, new, member, status, out);
}

dm_status dm_comm_split_node(const dm_comm *comm, dm_comm **out) {
  dm_comm *new;
  if (dm_comm_is_alone(comm)) return split_alone(comm, out);
  DM_TRY(allocate_together(comm, &new));
  return split_off(comm, new, true, comm->ops->split_node(comm, new), out);
}

void dm_comm_free(dm_comm *comm) {
  if (!comm) return;
  if (comm->ops) comm->ops->release(comm);
  free(comm);
}
