#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/checked.h"

#include "comm/team_impl.h"

/* ---- the work of all ---- */

static void team_broadcast(const dm_meeting *m) {
  for (int r = 0; r < m->group->size; r++)
    if (r != m->of.what) memcpy(m->guests[r].out, m->guests[m->of.what].in, (size_t)m->of.size);
}

static void team_gather(const dm_meeting *m) {
  char *all = m->guests[m->of.what].out;
  for (int r = 0; r < m->group->size; r++) {
    char *to = all + (int64_t)r * m->of.size;
    if (m->of.size > 0 && to != m->guests[r].in) memcpy(to, m->guests[r].in, (size_t)m->of.size);
  }
}

/* Always in the order of ranks: sums have the same bits in every run. */
static void fold_into(dm_comm_fold fold, void *into, const void *values, int64_t count) {
  double *sums = into;
  uint64_t *wholes = into;
  int64_t *most = into;
  const double *reals = values;
  const uint64_t *numbers = values;
  const int64_t *integers = values;
  for (int64_t i = 0; i < count; i++) switch (fold) {
    case DM_SUM_F64:
      sums[i] += reals[i];
      break;
    case DM_SUM_U64:
      wholes[i] += numbers[i];
      break;
    case DM_MAX_F64:
      sums[i] = reals[i] > sums[i] ? reals[i] : sums[i];
      break;
    case DM_MAX_I64:
      most[i] = dm_max(most[i], integers[i]);
      break;
    }
}

static void team_combine(const dm_meeting *m) {
  void *into = m->guests[0].out;
  for (int r = 1; r < m->group->size; r++)
    fold_into((dm_comm_fold)m->of.what, into, m->guests[r].in, m->of.size);
  for (int r = 1; r < m->group->size; r++) memcpy(m->guests[r].out, into, 8 * (size_t)m->of.size);
}

static const dm_wish *wish_of(const dm_meeting *m, int rank) {
  return m->guests[rank].in;
}

/* Whether rank A of the old group comes before B in their new one. */
static bool precedes(const dm_meeting *m, int a, int b) {
  const dm_wish *one = wish_of(m, a), *other = wish_of(m, b);
  return one->key != other->key ? one->key < other->key : a < b;
}

static bool team_join(const dm_meeting *m, int rank, dm_team_group *group) {
  int place = 0;
  dm_comm *comm = m->guests[rank].out;
  for (int r = 0; r < m->group->size; r++)
    place += wish_of(m, r)->color == wish_of(m, rank)->color && precedes(m, r, rank);
  return dm_group_join(group, place, NULL, comm);
}

/* Makes the new group whose first member in the old one is FIRST. */
static bool split_off(const dm_meeting *m, int first) {
  const int color = wish_of(m, first)->color;
  int size = 0;
  if (color < 0) return true;
  for (int r = 0; r < m->group->size; r++) {
    if (wish_of(m, r)->color != color) continue;
    if (r < first) return true; /* made before */
    size++;
  }
  dm_team_group *group = dm_group_new(size, m->group->fate, m->group->ops);
  if (!group) return false;
  for (int r = first; r < m->group->size; r++)
    if (wish_of(m, r)->color == color && !team_join(m, r, group)) return false;
  return true;
}

static void team_meetings_split(dm_meeting *m) {
  for (int r = 0; r < m->group->size; r++)
    if (!split_off(m, r)) m->failed = DM_E_FIT; /* leaks some groups; the job ends here */
}

static void team_work(dm_meeting *m) {
  switch (m->of.purpose) {
  case DM_BARRIER:
    break;
  case DM_BROADCAST:
    team_broadcast(m);
    break;
  case DM_GATHER:
    team_gather(m);
    break;
  case DM_COMBINE:
    team_combine(m);
    break;
  case DM_SPLIT:
    team_meetings_split(m);
    break;
  }
}

/* ---- coming and going ---- */

/* Those that were given up. */
void dm_meetings_free(dm_team_group *group) {
  for (dm_meeting *m = group->meetings, *next; m; m = next) {
    next = m->next;
    free(m);
  }
}

/* With the lock held: this rank's next meeting; NULL: no memory. */
static dm_meeting *team_find(dm_team_group *group, uint64_t number) {
  dm_meeting *m = group->meetings;
  while (m && m->number != number) m = m->next;
  if (m) return m;
  m = calloc(1, sizeof *m + (size_t)group->size * sizeof *m->guests);
  if (!m) return NULL;
  m->number = number;
  m->group = group;
  m->next = group->meetings;
  group->meetings = m;
  return m;
}

static dm_status team_arrive(const dm_comm *comm, const dm_collective *mine, dm_meeting **out) {
  dm_member *member = dm_member_of(comm);
  dm_meeting *m = *out = team_find(member->group, member->meetings);
  if (!m) return dm_group_no_memory(member->group);
  if (m->given_up || atomic_load(&member->group->fate->broken))
    return dm_group_broken(member->group);
  member->meetings++;
  if (m->arrived > 0 &&
      (m->of.purpose != mine->purpose || m->of.size != mine->size || m->of.what != mine->what))
    return dm_fail(DM_E_BUG, "ranks call different collective functions");
  m->of = m->guests[comm->rank] = *mine;
  m->arrived++;
  return DM_OK;
}

/* With the lock held: this rank needs M no more. */
static dm_code team_leave(dm_meeting *m) {
  const dm_code failed = m->failed;
  if (++m->left < m->group->size) return failed;
  dm_meeting **at = &m->group->meetings;
  while (*at != m) at = &(*at)->next;
  *at = m->next;
  free(m);
  return failed;
}

static dm_status outcome(dm_code failed) {
  return failed ? dm_fail(failed, "no memory for communicators") : DM_OK;
}

/* With the lock held: whether the team is broken, and M will not take place. Nobody touches this
 * rank's memory any more; M is not freed. */
static bool gives_up(dm_meeting *m) {
  if (m->arrived < m->group->size && atomic_load(&m->group->fate->broken)) m->given_up = true;
  return m->given_up;
}

/* A broken team wakes nobody. */
static void wait_briefly(dm_team_group *group) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  (void)pthread_cond_timedwait(&group->changed, &group->lock, &until);
}

dm_status dm_meeting_begin(const dm_comm *comm, const dm_collective *mine,
                           dm_comm_request *request) {
  dm_team_group *group = dm_member_of(comm)->group;
  dm_meeting *m;
  dm_code failed = (dm_code)0;
  pthread_mutex_lock(&group->lock);
  dm_status status = team_arrive(comm, mine, &m);
  if (!status && m->arrived == group->size) {
    pthread_mutex_unlock(&group->lock);
    team_work(m);
    pthread_mutex_lock(&group->lock);
    atomic_store_explicit(&m->done, true, memory_order_release);
    pthread_cond_broadcast(&group->changed);
  }
  if (!status && !request) {
    while (!atomic_load(&m->done) && !gives_up(m)) wait_briefly(group);
    if (m->given_up)
      status = dm_group_broken(group);
    else
      failed = team_leave(m);
  }
  pthread_mutex_unlock(&group->lock);
  if (!status && request)
    *request = (dm_comm_request){.ops = group->ops, .word = (uint64_t)(uintptr_t)m | 1};
  return status ? status : outcome(failed);
}

dm_status dm_meeting_test(dm_comm_request *request) {
  dm_meeting *m = (dm_meeting *)(uintptr_t)(request->word & ~(uint64_t)1);
  dm_team_group *group = m->group;
  const bool done = atomic_load_explicit(&m->done, memory_order_acquire);
  if (!done && !atomic_load(&group->fate->broken)) return DM_OK;
  pthread_mutex_lock(&group->lock);
  const bool given_up = !done && gives_up(m);
  const dm_code failed = done ? team_leave(m) : (dm_code)0;
  pthread_mutex_unlock(&group->lock);
  if (done || given_up) request->ops = NULL;
  return given_up ? dm_group_broken(group) : outcome(failed);
}
