#include "comm/team.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/team_impl.h"
#include "core/buffer.h"

/* ---- groups ---- */

static void free_group(dm_team_group *group) {
  for (dm_letter *at = group->letters, *next; at; at = next) {
    next = at->next;
    if (at->let_go) free(at); /* a message that was never received */
  }
  dm_meetings_free(group);
  if (atomic_fetch_sub(&group->fate->groups, 1) == 1) free(group->fate);
  pthread_cond_destroy(&group->changed);
  pthread_mutex_destroy(&group->lock);
  free(group);
}

static void team_release(dm_comm *comm) {
  dm_member *member = dm_member_of(comm);
  dm_team_group *group = member->group;
  pthread_mutex_lock(&group->lock);
  const bool last = --group->members == 0;
  pthread_mutex_unlock(&group->lock);
  if (last) free_group(group);
  free(member);
}

/* ---- messages ---- */

enum { TEAM_SHORT = 4096 }; /* bytes */

static dm_letter *letter_of(const dm_comm_request *request) {
  return (dm_letter *)(uintptr_t)request->word;
}

static bool fit(const dm_letter *send, const dm_letter *receive) {
  return send->to == receive->to && send->tag == receive->tag && send->from == receive->from;
}

/* Takes the oldest other side of MINE from the group's list. */
static dm_letter *take_other(dm_team_group *group, const dm_letter *mine) {
  for (dm_letter **at = &group->letters; *at; at = &(*at)->next) {
    dm_letter *other = *at;
    if (other->sent == mine->sent || !(mine->sent ? fit(mine, other) : fit(other, mine))) continue;
    *at = other->next;
    return other;
  }
  return NULL;
}

static void team_append(dm_team_group *group, dm_letter *letter) {
  dm_letter **end = &group->letters;
  while (*end) end = &(*end)->next;
  *end = letter;
}

/* With the lock held: its owner may free LETTER from now on. */
static void team_finish(dm_letter *letter) {
  if (letter->let_go)
    free(letter);
  else
    atomic_store_explicit(&letter->done, true, memory_order_release);
}

/* Copies outside of the lock: other messages go on meanwhile. */
static void team_deliver(dm_team_group *group, dm_letter *send, dm_letter *receive) {
  receive->cut = send->bytes > receive->bytes;
  if (!receive->cut && send->bytes > 0) memcpy(receive->data, send->data, (size_t)send->bytes);
  pthread_mutex_lock(&group->lock);
  team_finish(send);
  team_finish(receive);
  pthread_cond_broadcast(&group->changed);
  pthread_mutex_unlock(&group->lock);
}

/* A short message that nobody receives yet is copied, and sent as far as its sender is concerned:
 * MPI libraries do so, too, and a sender may be left alone by a receiver that failed. */
static void copy_into(dm_letter *letter) {
  if (letter->bytes > 0) memcpy(letter + 1, letter->data, (size_t)letter->bytes);
  letter->data = letter + 1;
  letter->let_go = true;
}

static dm_status team_post(const dm_comm *comm, dm_way way, void *data, int bytes, int peer,
                           int tag, dm_comm_request *request) {
  dm_team_group *group = dm_member_of(comm)->group;
  const bool sends = way == DM_SEND, copied = sends && bytes <= TEAM_SHORT;
  dm_letter *mine = malloc(sizeof *mine + (copied ? (size_t)bytes : 0));
  *request = (dm_comm_request){0};
  if (!mine) return dm_group_no_memory(group);
  if (atomic_load(&group->fate->broken)) {
    free(mine);
    return dm_group_broken(group);
  }
  *mine = (dm_letter){.group = group,
                      .sent = sends,
                      .from = sends ? comm->rank : peer,
                      .to = sends ? peer : comm->rank,
                      .tag = tag,
                      .data = data,
                      .bytes = bytes};
  pthread_mutex_lock(&group->lock);
  dm_letter *other = take_other(group, mine);
  if (!other && copied) copy_into(mine);
  if (!mine->let_go)
    *request = (dm_comm_request){.ops = group->ops, .word = (uint64_t)(uintptr_t)mine};
  if (!other) team_append(group, mine);
  pthread_mutex_unlock(&group->lock);
  if (other) team_deliver(group, sends ? mine : other, sends ? other : mine);
  return DM_OK;
}

static void cancel(dm_comm_request *request) {
  dm_letter *letter = letter_of(request);
  dm_team_group *group = letter->group;
  dm_letter **at = &group->letters;
  pthread_mutex_lock(&group->lock);
  while (*at && *at != letter) at = &(*at)->next;
  if (*at)
    *at = letter->next;
  else
    while (!atomic_load(&letter->done)) pthread_cond_wait(&group->changed, &group->lock);
  pthread_mutex_unlock(&group->lock);
  free(letter);
  request->ops = NULL;
}

static dm_status test_letter(dm_comm_request *request) {
  dm_letter *letter = letter_of(request);
  if (!atomic_load_explicit(&letter->done, memory_order_acquire)) {
    dm_team_group *group = letter->group;
    if (!atomic_load(&group->fate->broken)) return DM_OK;
    cancel(request);
    return dm_group_broken(group);
  }
  const bool cut = letter->cut;
  free(letter);
  request->ops = NULL;
  return cut ? dm_fail(DM_E_BUG, "a message is longer than its place") : DM_OK;
}

/* ---- the table ---- */

static dm_status team_test(dm_comm_request *request) {
  return dm_request_meets(request) ? dm_meeting_test(request) : test_letter(request);
}

static dm_status team_wait(dm_comm_request *request) {
  while (request->ops) {
    DM_TRY(team_test(request));
    if (request->ops) sched_yield();
  }
  return DM_OK;
}

static dm_status team_split(const dm_comm *comm, int color, int key, dm_comm *new, bool *member) {
  const dm_wish wish = {color == DM_OF_NODE ? 0 : color, key};
  snprintf(new->host, sizeof new->host, "%s", comm->host);
  *member = wish.color >= 0;
  return dm_meeting_begin(comm, &(dm_collective){.purpose = DM_SPLIT, .in = &wish, .out = new},
                          NULL);
}

static const dm_comm_ops team_ops = {
    .one_process = true,
    .post = team_post,
    .collect = dm_meeting_begin,
    .test = team_test,
    .wait = team_wait,
    .split = team_split,
    .release = team_release,
};

/* ---- threads ---- */

typedef struct player {
  pthread_t thread;
  dm_comm *world;
  struct team_crowd *crowd;
} player;

typedef struct team_crowd {
  void (*work)(dm_comm *world, void *context);
  void *context;
  pthread_mutex_t lock;
  pthread_cond_t decided;
  int go; /* 1: work; -1: some thread could not be started */
  player players[];
} team_crowd;

static void *team_play(void *own) {
  player *p = own;
  team_crowd *c = p->crowd;
  pthread_mutex_lock(&c->lock);
  while (c->go == 0) pthread_cond_wait(&c->decided, &c->lock);
  const bool works = c->go > 0;
  pthread_mutex_unlock(&c->lock);
  if (works)
    c->work(p->world, c->context);
  else
    dm_comm_free(p->world);
  return NULL;
}

static void decide(team_crowd *c, int go) {
  pthread_mutex_lock(&c->lock);
  c->go = go;
  pthread_cond_broadcast(&c->decided);
  pthread_mutex_unlock(&c->lock);
}

/* On failure some memory is not freed: programs end soon. */
dm_status dm_team_worlds(int ranks, dm_comm **worlds) {
  dm_comm *alone;
  DM_TRY(dm_comm_take_alone(&alone));
  dm_fate *fate = calloc(1, sizeof *fate);
  if (fate) atomic_flag_clear(&fate->taken);
  dm_team_group *group = fate ? dm_group_new(ranks, fate, &team_ops) : NULL;
  bool joined = group != NULL;
  for (int r = 0; joined && r < ranks; r++) {
    DM_TRY(dm_comm_allocate(&worlds[r]));
    joined = dm_group_join(group, r, alone->host, worlds[r]);
  }
  dm_comm_free(alone);
  return joined ? DM_OK : dm_fail(DM_E_FIT, "no memory for %d ranks", ranks);
}

void dm_team_break(const dm_comm *comm, const dm_error *why) {
  dm_group_break(dm_member_of(comm)->group->fate, why);
}

static dm_status gather_players(int ranks, team_crowd *c) {
  DM_FREED dm_comm **worlds = calloc((size_t)ranks, sizeof *worlds);
  dm_status status =
      worlds ? dm_team_worlds(ranks, worlds) : dm_fail(DM_E_FIT, "no memory for %d ranks", ranks);
  for (int r = 0; !status && r < ranks; r++) {
    c->players[r].crowd = c;
    c->players[r].world = worlds[r];
  }
  return status;
}

dm_status dm_team_run(int ranks, void (*work)(dm_comm *world, void *context), void *context) {
  team_crowd *c = calloc(1, sizeof *c + (size_t)ranks * sizeof *c->players);
  if (!c) return dm_fail(DM_E_FIT, "no memory for %d ranks", ranks);
  c->work = work;
  c->context = context;
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->decided, NULL);
  int started = 1;
  dm_status status = gather_players(ranks, c);
  while (!status && started < ranks) {
    player *p = &c->players[started];
    if (pthread_create(&p->thread, NULL, team_play, p) != 0)
      status = dm_fail(DM_E_FIT, "only %d of %d ranks could be started", started, ranks);
    else
      started++;
  }
  decide(c, status ? -1 : 1);
  if (!status) (void)team_play(&c->players[0]);
  for (int r = 1; r < started; r++) pthread_join(c->players[r].thread, NULL);
  pthread_cond_destroy(&c->decided);
  pthread_mutex_destroy(&c->lock);
  free(c);
  return status;
}
