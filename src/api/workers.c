#include "api/library.h"

#include <pthread.h>
#include <stdlib.h>

#include "comm/team.h"

/* What each worker does: RANK counts from 1. */
typedef void follow_work(void *argument, int rank);

typedef struct workers_one {
  pthread_t thread;
  dm_workers *all;
  int rank;
} workers_one;

struct dm_workers {
  pthread_mutex_t lock;
  pthread_cond_t begun, ended;
  follow_work *work; /* NULL: they end */
  void *argument;
  int count, round, working;
  workers_one list[];
};

/* Waits for the round after SEEN. */
static follow_work *await_work(dm_workers *all, int seen) {
  pthread_mutex_lock(&all->lock);
  while (all->round == seen) pthread_cond_wait(&all->begun, &all->lock);
  follow_work *work = all->work;
  pthread_mutex_unlock(&all->lock);
  return work;
}

static void *workers_serve(void *own) {
  workers_one *f = own;
  dm_workers *all = f->all;
  follow_work *work;
  for (int round = 0; (work = await_work(all, round)) != NULL; round++) {
    work(all->argument, f->rank);
    pthread_mutex_lock(&all->lock);
    if (--all->working == 0) pthread_cond_signal(&all->ended);
    pthread_mutex_unlock(&all->lock);
  }
  return NULL;
}

/* Has all begin WORK; end waits until they are done. NULL, for both: there are none. */
static void workers_begin(dm_workers *all, follow_work *work, void *argument) {
  if (!all) return;
  pthread_mutex_lock(&all->lock);
  all->work = work;
  all->argument = argument;
  all->working = all->count;
  all->round++;
  pthread_cond_broadcast(&all->begun);
  pthread_mutex_unlock(&all->lock);
}

static void workers_end(dm_workers *all) {
  if (!all) return;
  pthread_mutex_lock(&all->lock);
  while (all->working > 0) pthread_cond_wait(&all->ended, &all->lock);
  pthread_mutex_unlock(&all->lock);
}

void dm_workers_free(dm_workers *all) {
  if (!all) return;
  workers_begin(all, NULL, NULL);
  for (int i = 0; i < all->count; i++) pthread_join(all->list[i].thread, NULL);
  pthread_cond_destroy(&all->ended);
  pthread_cond_destroy(&all->begun);
  pthread_mutex_destroy(&all->lock);
  free(all);
}

dm_status dm_workers_new(int ranks, dm_workers **workers) {
  dm_workers *all = calloc(1, sizeof *all + (size_t)ranks * sizeof *all->list);
  if (!all) return dm_fail(DM_E_FIT, "no memory for %d ranks", ranks);
  pthread_mutex_init(&all->lock, NULL);
  pthread_cond_init(&all->begun, NULL);
  pthread_cond_init(&all->ended, NULL);
  while (all->count < ranks - 1) {
    workers_one *f = &all->list[all->count];
    *f = (workers_one){.all = all, .rank = all->count + 1};
    if (pthread_create(&f->thread, NULL, workers_serve, f) != 0) break;
    all->count++;
  }
  if (all->count == ranks - 1) {
    *workers = all;
    return DM_OK;
  }
  const int started = all->count + 1;
  dm_workers_free(all);
  return dm_fail(DM_E_FIT, "only %d of %d ranks could be started", started, ranks);
}

/* ---- calls of a context that has several GPUs ---- */

damier_matrix dm_led_part(const damier_matrix *m, int rank) {
  damier_matrix none = m->parts ? m->parts[rank] : *m;
  none.parts = NULL;
  if (m->parts || rank == 0) return none;
  none.data = NULL;
  none.own_rows = 0;
  none.memory = DAMIER_HOST_MEMORY;
  none.stream = NULL;
  return none;
}

/* An error that only one rank knows ends the call of all. */
static void end_all(const damier_context *context, dm_status status) {
  if (status && !status->agreed) dm_team_break(context->run.world, status);
}

static void workers_follow(void *argument, int rank) {
  const dm_led_call *call = argument;
  damier_context *own = call->led[rank];
  dm_plain_numbers numbers;
  dm_plain_numbers_begin(&numbers);
  own->numbers = numbers;
  dm_status status = call->work(own, call);
  end_all(own, status);
  dm_status_free(status);
  dm_plain_numbers_end(&numbers);
}

dm_status dm_lead(dm_led_call *call) {
  damier_context *leader = call->leader;
  dm_workers *workers = leader->workers; /* the call may close LEADER */
  call->led = leader->led;
  workers_begin(workers, workers_follow, call);
  dm_status status = call->work(leader, call);
  if (workers) end_all(leader, status);
  workers_end(workers);
  return status;
}
