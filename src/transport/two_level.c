
#include <stdlib.h>

#include "core/buffer.h"
#include "transport/transport.h"
#include "transport/transport_list.h"

enum {
  TWO_LEVEL_LISTS = 9
}; /* lists of a gather: four per member of the group, five per rank of the node */

/* The position of a member of a share's group. */
typedef struct two_level_standing {
  int64_t node, rank; /* among the group's ranks on that node */
} two_level_standing;

typedef struct level_share {
  const dm_comm *group; /* NULL: not exposed */
  dm_comm *near;        /* its ranks on this node */
  bool crosses;         /* the group spans nodes */
  two_level_standing *members;
  char *memory;
  int64_t *lists;
} level_share;

typedef struct joint {
  bool near_done, far_done;
  int near, far; /* tickets */
} joint;

typedef struct two_level {
  dm_transport base;
  dm_transport_ops table; /* with the name of the composed transport */
  dm_transport *inside, *between;
  const dm_comm *group;
  int64_t node; /* rank in GROUP of the first rank on this node: identifies the node */
  level_share shares[DM_SHARES];
  joint gathers[DM_GATHERS];
} two_level;

/* ---- opening and closing ---- */

static dm_status open_inside(two_level *t, const dm_transport_ops *ops,
                             const dm_transport_config *config) {
  dm_transport_config own = *config;
  own.group = own.node = config->node ? config->node : config->group;
  t->node = dm_comm_rank(config->group);
  DM_TRY(dm_comm_broadcast(own.group, &t->node, sizeof t->node, 0));
  return dm_transport_open(ops, &own, &t->inside);
}

static void two_level_close(dm_transport *transport) {
  two_level *t = (two_level *)transport;
  dm_transport_close(t->between);
  dm_transport_close(t->inside);
  for (int s = 0; s < DM_SHARES; s++) {
    dm_comm_free(t->shares[s].near);
    free(t->shares[s].members);
    free(t->shares[s].lists);
  }
  free(t);
}

static void two_level_abandon(dm_transport *transport) {
  two_level *t = (two_level *)transport;
  dm_transport_abandon(t->between);
  dm_transport_abandon(t->inside);
}

/* ---- shares ---- */

static dm_status find_members(two_level *t, level_share *share) {
  const int ranks = dm_comm_size(share->group);
  DM_TRY(dm_comm_split(share->group, (int)t->node, dm_comm_rank(share->group), &share->near));
  share->crosses = dm_comm_size(share->near) < ranks;
  dm_status status = dm_buffer_table(ranks, &share->members);
  if (!status)
    status =
        dm_buffer_zeroed(TWO_LEVEL_LISTS * (int64_t)ranks, sizeof(int64_t), (void **)&share->lists);
  DM_TRY(dm_comm_agree(share->group, status));
  const two_level_standing own = {t->node, dm_comm_rank(share->near)};
  return dm_comm_allgather(share->group, &own, sizeof own, share->members);
}

static dm_status two_level_expose(dm_transport *transport, int s, const dm_comm *group,
                                  void *memory, int64_t bytes) {
  two_level *t = (two_level *)transport;
  level_share *share = &t->shares[s];
  share->group = group;
  share->memory = memory;
  DM_TRY(find_members(t, share));
  DM_TRY(dm_comm_agree(group, dm_transport_expose(t->inside, s, share->near, memory, bytes)));
  if (!share->crosses) return DM_OK;
  return dm_comm_agree(group, dm_transport_expose(t->between, s, group, memory, bytes));
}

static void two_level_refilled(dm_transport *transport, int share, uint64_t times) {
  two_level *t = (two_level *)transport;
  dm_transport_refilled(t->inside, share, times);
  dm_transport_refilled(t->between, share, times);
}

static bool two_level_drained(const dm_transport *transport, int share, uint64_t times) {
  const two_level *t = (const two_level *)transport;
  return dm_transport_drained(t->inside, share, times) &&
         dm_transport_drained(t->between, share, times);
}

/* ---- gathers ---- */

static bool is_near(const two_level *t, const level_share *share, int member) {
  return share->members[member].node == t->node;
}

/* Excludes the ranks of this node as sources and as takers. */
static dm_status post_far(two_level *t, const level_share *share, const dm_gather *wanted,
                          int *ticket) {
  const int ranks = dm_comm_size(share->group), me = dm_comm_rank(share->group);
  int64_t *bytes = share->lists, *sent = bytes + ranks, *sent_bytes = sent + ranks;
  for (int r = 0; r < ranks; r++) {
    const bool near = is_near(t, share, r);
    bytes[r] = near ? 0 : wanted->bytes[r];
    sent[r] = wanted->sent ? wanted->sent[r] : (const char *)wanted->own - share->memory;
    sent_bytes[r] = near ? 0 : wanted->sent ? wanted->sent_bytes[r] : wanted->bytes[me];
  }
  dm_gather far = *wanted;
  far.bytes = bytes;
  far.sent = sent;
  far.sent_bytes = sent_bytes;
  return dm_transport_post(t->between, &far, ticket);
}

static dm_status post_near(two_level *t, const level_share *share, const dm_gather *wanted,
                           int *ticket) {
  const int ranks = dm_comm_size(share->group), count = dm_comm_size(share->near);
  int64_t *list = share->lists + 4 * (int64_t)ranks;
  int64_t *offset = list, *bytes = offset + count, *source = bytes + count;
  int64_t *sent = source + count, *sent_bytes = sent + count;
  for (int r = 0; r < ranks; r++) {
    if (!is_near(t, share, r)) continue;
    const int64_t at = share->members[r].rank;
    offset[at] = wanted->offset[r];
    bytes[at] = wanted->bytes[r];
    source[at] = wanted->source ? wanted->source[r] : 0;
    if (!wanted->sent) continue;
    sent[at] = wanted->sent[r];
    sent_bytes[at] = wanted->sent_bytes[r];
  }
  dm_gather near = *wanted;
  near.group = share->near;
  near.offset = offset;
  near.bytes = bytes;
  near.source = source;
  near.sent = wanted->sent ? sent : NULL;
  near.sent_bytes = wanted->sent ? sent_bytes : NULL;
  return dm_transport_post(t->inside, &near, ticket);
}

/* Posts the slower part first. */
static dm_status two_level_post(dm_transport *transport, const dm_gather *wanted, int *ticket) {
  two_level *t = (two_level *)transport;
  DM_TRY(dm_transport_ticket(transport, ticket));
  const level_share *share = &t->shares[wanted->share];
  joint *both = &t->gathers[*ticket];
  *both = (joint){.far_done = !share->crosses};
  if (share->crosses) DM_TRY(post_far(t, share, wanted, &both->far));
  return post_near(t, share, wanted, &both->near);
}

static dm_status two_level_test(dm_transport *transport, int ticket, bool *done) {
  two_level *t = (two_level *)transport;
  joint *both = &t->gathers[ticket];
  if (!both->far_done) DM_TRY(dm_transport_test(t->between, both->far, &both->far_done));
  if (!both->near_done) DM_TRY(dm_transport_test(t->inside, both->near, &both->near_done));
  *done = both->far_done && both->near_done;
  if (*done) transport->busy[ticket] = false;
  return DM_OK;
}

static int64_t two_level_received(const dm_transport *transport) {
  const two_level *t = (const two_level *)transport;
  return dm_transport_received(t->inside) + dm_transport_received(t->between);
}

dm_status dm_two_level_open(const dm_transport_ops *ops, const dm_transport_ops *inside,
                            const dm_transport_ops *between, const dm_transport_config *config,
                            dm_transport **transport) {
  two_level *t = NULL;
  DM_TRY(dm_comm_agree(config->group, dm_buffer_table(1, &t)));
  t->table = (dm_transport_ops){.name = ops->name,
                                .about = ops->about,
                                .device_memory = ops->device_memory,
                                .close = two_level_close,
                                .abandon = two_level_abandon,
                                .expose = two_level_expose,
                                .refilled = two_level_refilled,
                                .drained = two_level_drained,
                                .post = two_level_post,
                                .test = two_level_test,
                                .received = two_level_received};
  t->base.ops = &t->table;
  t->group = config->group;
  dm_status status = dm_comm_agree(t->group, open_inside(t, inside, config));
  if (!status) status = dm_comm_agree(t->group, dm_transport_open(between, config, &t->between));
  if (status) {
    dm_transport_close(t->inside); /* same result on all ranks of a node */
    free(t);
  } else {
    *transport = &t->base;
  }
  return status;
}

/* ---- the composed transport ---- */

#ifdef DM_HAVE_CUDA
static dm_status open_ipc_nccl(const dm_transport_config *config, dm_transport **transport) {
  return dm_two_level_open(&dm_transport_ipc_nccl, &dm_transport_ipc, &dm_transport_nccl, config,
                           transport);
}

const dm_transport_ops dm_transport_ipc_nccl = {
    .name = "ipc+nccl",
    .about = "ipc inside a node, NCCL between nodes",
#ifndef DM_HAVE_NCCL
    .not_built = "this program was built without NCCL (configure with -DDAMIER_NCCL=ON)",
#endif
    .device_memory = true,
    .several_nodes = true,
    .open = open_ipc_nccl,
};
#endif
