#include "ports.h"

#include <math.h>
#include <simgrid/engine.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "core/buffer.h"
#include "transport/transport.h"

/* A rank can be ahead of another by the gathers that may be pending, and gathers that it has posted
 * may still be queried. */
enum { RECENT = 2 * DM_GATHERS };

typedef struct rank_ports {
  sim_ports rate;
  double send_free[2], receive_free[2]; /* inside, between */
  sg_sem_t bell;
  bool asleep;
} rank_ports;

static rank_ports *all_ports;

struct sim_meeting {
  int share, members, open;
  const int *ranks; /* owned by the member that created this */
  int64_t number[RECENT];
  int posted[RECENT];
  double last[RECENT];
  double *left; /* RECENT x from x to: times at which pieces have left */
};

dm_status sim_ports_set(int rank, int all, sim_ports ports) {
  if (!all_ports) DM_TRY(dm_buffer_zeroed(all, sizeof *all_ports, (void **)&all_ports));
  all_ports[rank].rate = ports;
  all_ports[rank].bell = sg_sem_init(0);
  return DM_OK;
}

sim_ports sim_ports_of(int rank) {
  return all_ports[rank].rate;
}

/* ---- bells ---- */

void sim_bell_wait(int rank, double time) {
  rank_ports *own = &all_ports[rank];
  const double now = simgrid_get_clock();
  if (time <= now) return;
  own->asleep = true;
  if (isinf(time))
    sg_sem_acquire(own->bell);
  else
    sg_sem_acquire_timeout(own->bell, time - now);
  own->asleep = false;
}

void sim_bell_ring(int rank) {
  rank_ports *other = &all_ports[rank];
  if (!other->asleep) return;
  other->asleep = false;
  sg_sem_release(other->bell);
}

/* ---- meetings ---- */

dm_status sim_meeting_open(const dm_comm *group, int share, const int *ranks,
                           sim_meeting **meeting) {
  const int members = dm_comm_size(group);
  void *memory = NULL;
  dm_status status = DM_OK;
  if (dm_comm_rank(group) == 0) {
    status = dm_buffer_zeroed(1, sizeof(sim_meeting), &memory);
    sim_meeting *made = memory;
    if (!status) {
      *made = (sim_meeting){.share = share, .members = members, .open = members, .ranks = ranks};
      for (int i = 0; i < RECENT; i++) made->number[i] = -1;
      status = dm_buffer_zeroed((int64_t)RECENT * members * members, sizeof(double),
                                (void **)&made->left);
    }
  }
  DM_TRY(dm_comm_agree(group, status));
  *meeting = memory;
  return dm_comm_broadcast(group, meeting, sizeof *meeting, 0);
}

void sim_meeting_close(sim_meeting *meeting) {
  if (!meeting || --meeting->open > 0) return;
  free(meeting->left);
  free(meeting);
}

static double *left(const sim_meeting *m, int64_t number, int from, int to) {
  return &m->left[((number % RECENT) * m->members + from) * m->members + to];
}

static double rate_of(const rank_ports *p, bool near) {
  return near ? p->rate.inside : p->rate.between;
}

static void send_all(const sim_meeting *m, const dm_gather *g, int64_t number, const bool *near) {
  const int me = dm_comm_rank(g->group);
  rank_ports *own = &all_ports[m->ranks[me]];
  for (int i = 1; i < m->members; i++) {
    const int peer = (me + i) % m->members;
    const int64_t bytes = g->sent ? g->sent_bytes[peer] : g->bytes[me];
    double *busy = &own->send_free[!near[peer]];
    *busy = fmax(*busy, simgrid_get_clock()) + (double)bytes / rate_of(own, near[peer]);
    *left(m, number, me, peer) = *busy;
  }
}

void sim_meeting_enter(sim_meeting *m, const dm_gather *gather, int64_t number, const bool *near) {
  const int64_t at = number % RECENT;
  if (m->number[at] != number) m->posted[at] = 0;
  m->number[at] = number;
  m->posted[at]++;
  m->last[at] = simgrid_get_clock();
  send_all(m, gather, number, near);
  for (int i = 0; m->posted[at] == m->members && i < m->members; i++) sim_bell_ring(m->ranks[i]);
}

double sim_meeting_complete(const sim_meeting *m, int64_t number) {
  const int64_t at = number % RECENT;
  return m->number[at] == number && m->posted[at] == m->members ? m->last[at] : INFINITY;
}

double sim_meeting_received(sim_meeting *m, int me, int64_t number, const int64_t *bytes,
                            const bool *near, double posted) {
  rank_ports *own = &all_ports[m->ranks[me]];
  double end = posted;
  for (int i = 1; i < m->members; i++) {
    const int peer = (me - i + m->members) % m->members;
    double *busy = &own->receive_free[!near[peer]];
    *busy = fmax(fmax(*busy, posted) + (double)bytes[peer] / rate_of(own, near[peer]),
                 *left(m, number, peer, me));
    end = fmax(end, *busy);
  }
  return end;
}
