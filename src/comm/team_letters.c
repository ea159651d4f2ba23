#include <stdlib.h>
#include <string.h>

#include "comm/team_impl.h"

enum { SHORT = 4096 }; /* bytes */

static dm_letter *letter_of(const dm_request *request) {
  return (dm_letter *)(uintptr_t)request->word;
}

static bool fit(const dm_letter *send, const dm_letter *receive) {
  return send->to == receive->to && send->tag == receive->tag &&
         (receive->from == DM_ANY_RANK || receive->from == send->from);
}

/* Takes the oldest other side of MINE from the group's list. */
static dm_letter *take_other(dm_group *group, const dm_letter *mine) {
  for (dm_letter **at = &group->letters; *at; at = &(*at)->next) {
    dm_letter *other = *at;
    if (other->sent == mine->sent || !(mine->sent ? fit(mine, other) : fit(other, mine))) continue;
    *at = other->next;
    return other;
  }
  return NULL;
}

static void append(dm_group *group, dm_letter *letter) {
  dm_letter **end = &group->letters;
  while (*end) end = &(*end)->next;
  *end = letter;
}

/* With the lock held: its owner may free LETTER from now on. */
static void finish(dm_letter *letter) {
  if (letter->let_go)
    free(letter);
  else
    atomic_store_explicit(&letter->done, true, memory_order_release);
}

/* Copies outside of the lock: other messages go on meanwhile. */
static void deliver(dm_group *group, dm_letter *send, dm_letter *receive) {
  receive->cut = send->bytes > receive->bytes;
  receive->from = send->from;
  if (!receive->cut && send->bytes > 0) memcpy(receive->data, send->data, (size_t)send->bytes);
  pthread_mutex_lock(&group->lock);
  finish(send);
  finish(receive);
  pthread_cond_broadcast(&group->changed);
  pthread_mutex_unlock(&group->lock);
}

/* A short message that nobody receives yet is copied, and sent as far as its sender is concerned:
 * MPI libraries do so, too, and a sender may be left alone by a receiver that failed. */
static bool is_short(const dm_letter *letter) {
  return letter->sent && letter->bytes <= SHORT;
}

static void copy_into(dm_letter *letter) {
  if (letter->bytes > 0) memcpy(letter + 1, letter->data, (size_t)letter->bytes);
  letter->data = letter + 1;
  letter->let_go = true;
}

dm_status dm_letter_post(const dm_comm *comm, dm_letter stated, dm_request *request) {
  dm_group *group = dm_member_of(comm)->group;
  dm_letter *mine = malloc(sizeof *mine + (is_short(&stated) ? (size_t)stated.bytes : 0));
  *request = (dm_request){0};
  if (!mine) return dm_group_no_memory(group);
  if (atomic_load(&group->fate->broken)) {
    free(mine);
    return dm_group_broken(group);
  }
  *mine = stated;
  mine->group = group;
  pthread_mutex_lock(&group->lock);
  dm_letter *other = take_other(group, mine);
  if (!other && is_short(mine)) copy_into(mine);
  if (!mine->let_go)
    *request = (dm_request){.ops = &dm_team_ops, .word = (uint64_t)(uintptr_t)mine};
  if (!other) append(group, mine);
  pthread_mutex_unlock(&group->lock);
  if (other) deliver(group, mine->sent ? mine : other, mine->sent ? other : mine);
  return DM_OK;
}

dm_status dm_letter_test(dm_request *request, int *from) {
  dm_letter *letter = letter_of(request);
  if (!atomic_load_explicit(&letter->done, memory_order_acquire)) {
    dm_group *group = letter->group;
    if (!atomic_load(&group->fate->broken)) return DM_OK;
    dm_letter_cancel(request);
    return dm_group_broken(group);
  }
  const bool cut = letter->cut;
  if (from) *from = letter->from;
  free(letter);
  request->ops = NULL;
  return cut ? dm_fail(DM_E_BUG, "a message is longer than its place") : DM_OK;
}

dm_status dm_letter_let_go(dm_request *request) {
  dm_letter *letter = letter_of(request);
  dm_group *group = letter->group;
  pthread_mutex_lock(&group->lock);
  const bool done = atomic_load(&letter->done);
  letter->let_go = true;
  pthread_mutex_unlock(&group->lock);
  if (done) free(letter);
  request->ops = NULL;
  return DM_OK;
}

void dm_letter_cancel(dm_request *request) {
  dm_letter *letter = letter_of(request);
  dm_group *group = letter->group;
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
