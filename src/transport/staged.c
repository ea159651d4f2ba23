/* staged: GPU memory through the host. Pieces are split into chunks that pass through small rings
 * of pinned buffers: while one is copied from the GPU, others are sent, or copied to the peer's
 * GPU.
 *
 * Every share has its own rings and serves its gathers in the order of posting, which is the same
 * on all ranks of its group: the oldest gather always has buffers on both sides, so there is no
 * deadlock. */
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "transport/transport_list.h"

enum { BUFFERS = 6, CHUNK = DM_STAGED_BYTES / (2 * BUFFERS) };

/* An outgoing buffer is copied to, then sent; an incoming one is received into, then copied
 * from. */
typedef struct staging {
  enum { FREE, COPIED, TRAVELS } state;
  char *memory;
  dm_messages *messages;
  uint64_t event; /* of the copy */
  uint64_t turn;  /* outgoing: chunks are sent in the order of their copies */
  int gather, peer;
  int64_t at, bytes;
} staging;

typedef struct staged_share {
  const dm_comm *group; /* NULL: not exposed */
  char *memory, *pinned;
  staging out[BUFFERS], in[BUFFERS];
  uint64_t copied, sent; /* chunks */
} staged_share;

/* The position of the next chunk: chunks in order, each for all neighbours in turn. */
typedef struct progress {
  int64_t at;
  int neighbour;
  bool ended;
} progress;

typedef struct staged_gather {
  uint64_t number; /* in order of posting */
  int share, tag, under_way;
  char *slot;
  int64_t *offset, *bytes, *given, *given_bytes; /* one entry per member of the group */
  progress out, in;
} staged_gather;

typedef struct staged {
  dm_transport base;
  dm_mover mover;
  staged_share shares[DM_SHARES];
  staged_gather gathers[DM_GATHERS];
  uint64_t posted;
} staged;

/* ---- opening and closing ---- */

static dm_status staged_open(const dm_transport_config *config, dm_transport **transport) {
  staged *t;
  if (!config->mover) return dm_fail(DM_E_BUG, "transport staged without a mover");
  DM_TRY(dm_buffer_table(1, &t));
  t->base.ops = &dm_transport_staged;
  t->mover = *config->mover;
  *transport = &t->base;
  return DM_OK;
}

static void staged_close(dm_transport *transport) {
  staged *t = (staged *)transport;
  for (int s = 0; s < DM_SHARES; s++) {
    staged_share *share = &t->shares[s];
    for (int i = 0; i < BUFFERS; i++) {
      dm_messages_free(share->out[i].messages);
      dm_messages_free(share->in[i].messages);
    }
    if (share->pinned) t->mover.release(t->mover.context, DM_HOST, share->pinned);
  }
  for (int g = 0; g < DM_GATHERS; g++) free(t->gathers[g].offset);
  free(t);
}

static dm_status staged_expose(dm_transport *transport, int s, const dm_comm *group, void *memory,
                               int64_t bytes) {
  (void)bytes;
  staged *t = (staged *)transport;
  staged_share *share = &t->shares[s];
  share->group = group;
  share->memory = memory;
  DM_TRY(t->mover.alloc(t->mover.context, DM_HOST, DM_STAGED_BYTES, (void **)&share->pinned));
  for (int i = 0; i < BUFFERS; i++) {
    share->out[i].memory = share->pinned + (int64_t)i * CHUNK;
    share->in[i].memory = share->out[i].memory + (int64_t)BUFFERS * CHUNK;
    DM_TRY(dm_messages_new(&share->out[i].messages));
    DM_TRY(dm_messages_new(&share->in[i].messages));
  }
  return DM_OK;
}

/* ---- chunks ---- */

static int member_at(const dm_comm *group, int neighbour) {
  return (dm_comm_rank(group) + neighbour) % dm_comm_size(group);
}

static bool same_piece(const staged_gather *g, int x, int y) {
  return g->given[x] == g->given[y] && g->given_bytes[x] == g->given_bytes[y];
}

/* A piece for several takers is copied once, for the first of them. */
static bool is_first_taker(const staged_gather *g, const dm_comm *group, int neighbour) {
  for (int before = 1; before < neighbour; before++)
    if (same_piece(g, member_at(group, before), member_at(group, neighbour))) return false;
  return true;
}

/* Advances to the next chunk; SIZES are those of the pieces. */
static void advance(const staged_gather *g, const dm_comm *group, bool out, progress *p) {
  const int64_t *sizes = out ? g->given_bytes : g->bytes;
  const int ranks = dm_comm_size(group);
  for (bool any = true; any; p->at += CHUNK, p->neighbour = 0) {
    for (p->neighbour++; p->neighbour < ranks; p->neighbour++)
      if (sizes[member_at(group, p->neighbour)] > p->at &&
          (!out || is_first_taker(g, group, p->neighbour)))
        return;
    any = false;
    for (int r = 0; r < ranks; r++) any |= r != dm_comm_rank(group) && sizes[r] > p->at + CHUNK;
  }
  p->ended = true;
}

static staging *free_buffer(staging *ring) {
  for (int i = 0; i < BUFFERS; i++)
    if (ring[i].state == FREE) return &ring[i];
  return NULL;
}

/* The oldest gather of share S with chunks to start; -1: none. */
static int oldest(const staged *t, int s, bool out) {
  int found = -1;
  for (int i = 0; i < DM_GATHERS; i++) {
    const staged_gather *g = &t->gathers[i];
    if (!t->base.busy[i] || g->share != s || (out ? g->out : g->in).ended) continue;
    if (found < 0 || g->number < t->gathers[found].number) found = i;
  }
  return found;
}

static dm_view run_of(char *memory, dm_space space, int64_t bytes) {
  return dm_view_strided(memory, DM_I8, space, 1, bytes, bytes);
}

static dm_status begin_chunk(staged *t, staged_share *share, int gather, bool out, staging *b) {
  staged_gather *g = &t->gathers[gather];
  progress *p = out ? &g->out : &g->in;
  b->gather = gather;
  b->peer = member_at(share->group, p->neighbour);
  b->at = p->at;
  b->bytes = dm_min(CHUNK, (out ? g->given_bytes : g->bytes)[b->peer] - p->at);
  b->state = out ? COPIED : TRAVELS;
  g->under_way++;
  advance(g, share->group, out, p);
  if (!out)
    return dm_messages_receive(b->messages, share->group, b->memory, b->bytes, b->peer, g->tag);
  b->turn = share->copied++;
  return t->mover.copy(t->mover.context, run_of(b->memory, DM_HOST, b->bytes),
                       run_of(share->memory + g->given[b->peer] + b->at, DM_DEVICE, b->bytes),
                       &b->event);
}

static dm_status begin_chunks(staged *t, int s, bool out) {
  staged_share *share = &t->shares[s];
  staging *b;
  for (int g; (b = free_buffer(out ? share->out : share->in)) && (g = oldest(t, s, out)) >= 0;)
    DM_TRY(begin_chunk(t, share, g, out, b));
  return DM_OK;
}

static void end_chunk(staged *t, staging *b) {
  b->state = FREE;
  t->gathers[b->gather].under_way--;
}

static dm_status send(staged *t, staged_share *share, staging *b) {
  const staged_gather *g = &t->gathers[b->gather];
  b->state = TRAVELS;
  share->sent++;
  for (int i = 1; i < dm_comm_size(share->group); i++) {
    const int taker = member_at(share->group, i);
    if (same_piece(g, taker, b->peer))
      DM_TRY(dm_messages_send(b->messages, share->group, b->memory, b->bytes, taker, g->tag));
  }
  return DM_OK;
}

static dm_status move_on(staged *t, staged_share *share, bool out, staging *b) {
  bool done = false;
  if (b->state == COPIED) {
    if (out && b->turn != share->sent) return DM_OK;
    DM_TRY(t->mover.test(t->mover.context, b->event, &done));
    if (done && out) return send(t, share, b);
  } else {
    DM_TRY(dm_messages_test(b->messages, &done));
    if (done && !out) {
      const staged_gather *g = &t->gathers[b->gather];
      b->state = COPIED;
      return t->mover.copy(t->mover.context,
                           run_of(g->slot + g->offset[b->peer] + b->at, DM_DEVICE, b->bytes),
                           run_of(b->memory, DM_HOST, b->bytes), &b->event);
    }
  }
  if (done) end_chunk(t, b);
  return DM_OK;
}

static dm_status move_all(staged *t) {
  for (int s = 0; s < DM_SHARES; s++) {
    staged_share *share = &t->shares[s];
    if (!share->group) continue;
    for (int out = 0; out < 2; out++) {
      for (int i = 0; i < BUFFERS; i++) {
        staging *b = out ? &share->out[i] : &share->in[i];
        if (b->state != FREE) DM_TRY(move_on(t, share, out, b));
      }
      DM_TRY(begin_chunks(t, s, out));
    }
  }
  return DM_OK;
}

/* ---- gathers ---- */

static dm_status take_lists(const staged_share *share, const dm_gather *wanted, staged_gather *g) {
  const int ranks = dm_comm_size(share->group), me = dm_comm_rank(share->group);
  free(g->offset);
  g->offset = NULL;
  DM_TRY(dm_buffer_zeroed(4 * (int64_t)ranks, sizeof(int64_t), (void **)&g->offset));
  g->bytes = g->offset + ranks;
  g->given = g->bytes + ranks;
  g->given_bytes = g->given + ranks;
  for (int r = 0; r < ranks; r++) {
    g->offset[r] = wanted->offset[r];
    g->bytes[r] = wanted->bytes[r];
    g->given[r] = wanted->given ? wanted->given[r] : (const char *)wanted->own - share->memory;
    g->given_bytes[r] = wanted->given ? wanted->given_bytes[r] : wanted->bytes[me];
  }
  return DM_OK;
}

static dm_status staged_post(dm_transport *transport, const dm_gather *wanted, int *ticket) {
  staged *t = (staged *)transport;
  DM_TRY(dm_transport_ticket(transport, ticket));
  const staged_share *share = &t->shares[wanted->share];
  staged_gather *g = &t->gathers[*ticket];
  DM_TRY(take_lists(share, wanted, g));
  g->number = t->posted++;
  g->share = wanted->share;
  g->tag = wanted->tag;
  g->slot = wanted->slot;
  g->out = g->in = (progress){0};
  advance(g, share->group, true, &g->out);
  advance(g, share->group, false, &g->in);
  for (int i = 1; i < dm_comm_size(share->group); i++)
    t->base.received += g->bytes[member_at(share->group, i)];
  return move_all(t);
}

static dm_status staged_test(dm_transport *transport, int ticket, bool *done) {
  staged *t = (staged *)transport;
  staged_gather *g = &t->gathers[ticket];
  DM_TRY(move_all(t));
  *done = g->out.ended && g->in.ended && g->under_way == 0;
  if (*done) transport->busy[ticket] = false;
  return DM_OK;
}

const dm_transport_ops dm_transport_staged = {
    .name = "staged",
    .about = "GPU memory through pinned host memory, by MPI",
    .device_memory = true,
    .staging = DM_STAGED_BYTES,
    .open = staged_open,
    .close = staged_close,
    .expose = staged_expose,
    .post = staged_post,
    .test = staged_test,
};
