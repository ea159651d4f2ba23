/* emulated_ipc: transport between emulated devices of one node. Like the real one, ranks map their
 * peers' shares, pull pieces once those are filled (late, here), and report finished reads. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "emulated/emulated_memory.h"
#include "transport/shared_memory.h"
#include "transport/transport_list.h"

enum { PEERS = 64, FILLED = 0, DRAINED = DM_SHARES, LATEST = 5 };

typedef struct offer {
  int64_t bytes;
  int process, file, line;
} offer;

typedef struct share {
  const dm_comm *group; /* NULL: not exposed */
  uint64_t latest;
  offer offers[PEERS];
  char *peer[PEERS]; /* mapped; NULL: not mapped */
} share;

typedef struct pull {
  int line;
  int64_t bytes;
  const char *from;
  void *to;
} pull;

typedef struct gathering {
  bool busy;
  int share, pulls, pulled, looks;
  uint64_t filling;
  pull pull[PEERS];
} gathering;

typedef struct ipc {
  dm_transport base;
  const dm_comm *group;
  dm_shared_memory page;
  share shares[DM_SHARES];
  gathering gathers[DM_GATHERS];
  uint32_t noise;
} ipc;

static dm_status ipc_open(const dm_transport_config *config, dm_transport **transport) {
  void *memory = NULL;
  const bool apart = config->node && dm_comm_size(config->node) < dm_comm_size(config->group);
  DM_TRY(dm_comm_agree(config->group,
                       apart || config->device < 0
                           ? dm_fail(DM_E_DEVICE, "these ranks are on several nodes, or on CPUs")
                           : DM_OK));
  DM_TRY(dm_comm_agree(config->group, dm_buffer_zeroed(1, sizeof(ipc), &memory)));
  ipc *t = memory;
  t->base.ops = &dm_transport_ipc;
  t->group = config->group;
  t->noise = 88172645u + (uint32_t)dm_comm_rank(config->group);
  dm_status status = dm_shared_memory_open(t->group, dm_shared_lines_bytes(t->group), &t->page);
  if (status)
    free(t);
  else
    *transport = &t->base;
  return status;
}

static void ipc_close(dm_transport *transport) {
  ipc *t = (ipc *)transport;
  dm_status_free(dm_comm_barrier(t->group));
  for (int s = 0; s < DM_SHARES; s++)
    for (int r = 0; r < PEERS; r++)
      if (t->shares[s].peer[r])
        (void)munmap(t->shares[s].peer[r], (size_t)t->shares[s].offers[r].bytes);
  dm_shared_memory_close(&t->page);
  free(t);
}

static dm_status map_peer(share *mine, int r) {
  const offer *theirs = &mine->offers[r];
  char path[64];
  if (theirs->bytes == 0) return DM_OK;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", theirs->process, theirs->file);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return dm_fail(DM_E_DEVICE, "%s cannot be opened", path);
  void *memory = mmap(NULL, (size_t)theirs->bytes, PROT_READ, MAP_SHARED, file, 0);
  (void)close(file);
  if (memory == MAP_FAILED) return dm_fail(DM_E_DEVICE, "%s cannot be mapped", path);
  mine->peer[r] = memory;
  return DM_OK;
}

static dm_status ipc_expose(dm_transport *transport, int s, const dm_comm *group, void *memory,
                            int64_t bytes) {
  ipc *t = (ipc *)transport;
  share *mine = &t->shares[s];
  const int ranks = dm_comm_size(group);
  if (mine->group || ranks > PEERS) return dm_fail(DM_E_BUG, "share %d cannot be exposed", s);
  mine->group = group;
  const offer own = {bytes, getpid(), emulated_file(memory), dm_comm_rank(t->group)};
  DM_TRY(dm_comm_gather(group, &own, sizeof own, mine->offers, 0));
  DM_TRY(dm_comm_broadcast(group, mine->offers, ranks * (int64_t)sizeof own, 0));
  dm_status status = DM_OK;
  for (int r = 0; r < ranks && !status; r++) status = map_peer(mine, r);
  return dm_comm_agree(group, status);
}

static _Atomic uint64_t *counter(const ipc *t, int line, int which) {
  return &dm_shared_lines(&t->page)[line].counter[which];
}

static void advance(ipc *t, int which, uint64_t times) {
  _Atomic uint64_t *mine = counter(t, dm_comm_rank(t->group), which);
  if (atomic_load(mine) < times) atomic_store(mine, times);
}

static void ipc_refilled(dm_transport *transport, int s, uint64_t times) {
  advance((ipc *)transport, FILLED + s, times);
}

static void ipc_abandon(dm_transport *transport) {
  for (int s = 0; s < DM_SHARES; s++) {
    advance((ipc *)transport, FILLED + s, UINT64_MAX);
    advance((ipc *)transport, DRAINED + s, UINT64_MAX);
  }
}

static bool ipc_drained(const dm_transport *transport, int s, uint64_t times) {
  const ipc *t = (const ipc *)transport;
  const share *mine = &t->shares[s];
  for (int r = 0; mine->group && r < dm_comm_size(mine->group); r++)
    if (atomic_load(counter(t, mine->offers[r].line, DRAINED + s)) < times) return false;
  return true;
}

static void signal_drained(ipc *t, int s) {
  uint64_t times = t->shares[s].latest;
  for (int g = 0; g < DM_GATHERS; g++)
    if (t->gathers[g].busy && t->gathers[g].share == s)
      times = t->gathers[g].filling <= times ? t->gathers[g].filling - 1 : times;
  advance(t, DRAINED + s, times);
}

/* A piece that is already in its slot is not copied. */
static void add_pull(ipc *t, const dm_gather *wanted, gathering *g, int r) {
  const share *mine = &t->shares[g->share];
  const offer *theirs = &mine->offers[r];
  if (wanted->bytes[r] == 0) return;
  if (wanted->source[r] < 0 || wanted->bytes[r] > theirs->bytes - wanted->source[r]) {
    fprintf(stderr, "emulated links: a piece beyond the share of rank %d\n", theirs->line);
    abort();
  }
  char *to = (char *)wanted->slot + wanted->offset[r];
  const bool own = r == dm_comm_rank(wanted->group);
  if (own && to == wanted->own) return;
  if (!own) t->base.received += wanted->bytes[r];
  g->pull[g->pulls++] =
      (pull){theirs->line, wanted->bytes[r], mine->peer[r] + wanted->source[r], to};
}

static dm_status ipc_post(dm_transport *transport, const dm_gather *wanted, int *ticket) {
  ipc *t = (ipc *)transport;
  for (*ticket = 0; *ticket < DM_GATHERS && t->gathers[*ticket].busy;) ++*ticket;
  if (*ticket == DM_GATHERS) return dm_fail(DM_E_BUG, "more than %d gathers", DM_GATHERS);
  if (t->shares[wanted->share].group != wanted->group)
    return dm_fail(DM_E_BUG, "share %d was not exposed to this group", wanted->share);
  gathering *g = &t->gathers[*ticket];
  *g = (gathering){.busy = true, .share = wanted->share, .filling = wanted->filling};
  if (g->filling == 0) g->filling = 1;
  t->shares[g->share].latest = g->filling;
  const int ranks = dm_comm_size(wanted->group), me = dm_comm_rank(wanted->group);
  for (int i = 1; i <= ranks; i++) add_pull(t, wanted, g, (me + i) % ranks);
  return DM_OK;
}

static dm_status ipc_test(dm_transport *transport, int ticket, bool *done) {
  ipc *t = (ipc *)transport;
  gathering *g = &t->gathers[ticket];
  *done = false;
  if (g->looks-- > 0) return DM_OK;
  t->noise = t->noise * 1664525u + 1013904223u;
  g->looks = (int)(t->noise >> 24) % LATEST;
  if (g->pulled < g->pulls) {
    const pull *p = &g->pull[g->pulled];
    if (atomic_load(counter(t, p->line, FILLED + g->share)) < g->filling) return DM_OK;
    memcpy(emulated_reach(p->to, p->bytes), p->from, (size_t)p->bytes);
    g->pulled++;
    return DM_OK;
  }
  g->busy = false;
  signal_drained(t, g->share);
  *done = true;
  return DM_OK;
}

const dm_transport_ops dm_transport_ipc = {
    .name = "ipc",
    .about = "between emulated devices of one node",
    .device_memory = true,
    .one_node = true,
    .open = ipc_open,
    .close = ipc_close,
    .abandon = ipc_abandon,
    .expose = ipc_expose,
    .refilled = ipc_refilled,
    .drained = ipc_drained,
    .post = ipc_post,
    .test = ipc_test,
};
