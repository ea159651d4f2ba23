#include "files.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>

#include "carrier.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "ports.h"

/* A part of a matrix is striped over at most this many servers; with many ranks per server, each
 * piece goes to a single one. */
enum { MOST_STRIPES = 8 };

/* A rank's request to read or write. */
typedef struct piece {
  int64_t bytes;
  double end; /* INFINITY: not yet served */
  int client;
  int64_t turn; /* number among the client's pieces */
  struct piece *next;
} piece;

/* The requests of one client at one server. */
typedef struct queue {
  piece *first, *last;
  struct queue *next; /* client whose first piece has a later turn, or arrived later */
} queue;

typedef struct server {
  queue *of_client, *first, *last;
  int64_t bytes;
} server;

struct sim_files {
  const dm_rank_state *local;
  piece *load[2]; /* of A and B: by panel of the layer and stripe */
  piece store[MOST_STRIPES];
  int stripes;
  int64_t turn, next; /* turn of the next piece; its server, relative to this rank's first */
  bool storing;
  sim_file_bytes sum;
};

/* Shared by all ranks, which are threads of one process, one running at a time. */
static sim_file_system all;
static server *all_servers;
static double *adapter_free;
static int not_left;

dm_status sim_files_start(const sim_file_system *system) {
  if (all_servers) return DM_OK;
  all = *system;
  not_left = system->clients;
  DM_TRY(dm_buffer_zeroed(system->clients, sizeof *adapter_free, (void **)&adapter_free));
  DM_TRY(dm_buffer_zeroed(system->servers, sizeof *all_servers, (void **)&all_servers));
  for (int s = 0; s < system->servers; s++)
    DM_TRY(dm_buffer_zeroed(system->clients, sizeof(queue), (void **)&all_servers[s].of_client));
  return DM_OK;
}

void sim_files_leave(void) {
  if (--not_left > 0) return;
  for (int s = 0; s < all.servers; s++) sim_bell_ring(all.clients + s);
}

/* ---- servers ---- */

/* Queues clients by turn, the earliest first, so that ranks progress evenly. */
static void line_up(server *s, queue *q) {
  const int64_t turn = q->first->turn;
  queue **at = &s->first;
  if (s->last && s->last->first->turn <= turn) at = &s->last->next;
  while (*at && (*at)->first->turn <= turn) at = &(*at)->next;
  q->next = *at;
  *at = q;
  if (!q->next) s->last = q;
}

static piece *take(server *s) {
  queue *q = s->first;
  if (!q) return NULL;
  piece *p = q->first;
  s->first = q->next;
  if (!s->first) s->last = NULL;
  q->first = p->next;
  if (q->first) line_up(s, q);
  return p;
}

static void serve(server *s, piece *p) {
  double *adapter = &adapter_free[p->client];
  const double arrives = fmax(*adapter, simgrid_get_clock()) + (double)p->bytes / all.adapter;
  *adapter = arrives;
  sg_actor_sleep_for((double)p->bytes / all.rate);
  s->bytes += p->bytes;
  p->end = fmax(simgrid_get_clock(), arrives);
  sim_bell_ring(p->client);
}

void sim_files_serve(int number) {
  server *s = &all_servers[number];
  while (s->first || not_left > 0) {
    piece *p = take(s);
    if (p)
      serve(s, p);
    else
      sim_bell_wait(all.clients + number, INFINITY);
  }
}

/* ---- a rank ---- */

static void want(sim_files *f, piece *p, int64_t bytes) {
  const int client = f->local->run->rank;
  const int number = (int)(((int64_t)client * f->stripes + f->next++) % all.servers);
  server *s = &all_servers[number];
  queue *q = &s->of_client[client];
  *p = (piece){.bytes = bytes, .end = bytes > 0 ? INFINITY : 0.0, .client = client};
  p->turn = f->turn++;
  if (bytes == 0) return;
  if (q->first) {
    q->last->next = p;
  } else {
    q->first = p;
    line_up(s, q);
  }
  q->last = p;
  sim_bell_ring(all.clients + number);
}

static void want_striped(sim_files *f, piece *pieces, int64_t bytes) {
  for (int i = 0; i < f->stripes; i++)
    want(f, &pieces[i], dm_range_size(dm_split(bytes, f->stripes, i, 1)));
}

static bool arrived(const sim_files *f, const piece *pieces) {
  for (int i = 0; i < f->stripes; i++)
    if (pieces[i].end > simgrid_get_clock()) return false;
  return true;
}

static piece *load_of(const sim_files *f, dm_matrix matrix, int64_t panel) {
  return &f->load[matrix][(panel - f->local->panels.begin) * f->stripes];
}

static dm_status load(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  sim_files *f = context;
  const dm_problem *p = &local->plan->problem;
  const int64_t bytes = dm_range_size(dm_rank_piece_rows(local, matrix, panel)) *
                        dm_range_size(dm_rank_piece_cols(local, matrix, panel)) *
                        dm_dtype_size(matrix == DM_A ? p->file_a : p->file_b);
  f->sum.read += bytes;
  want_striped(f, load_of(f, matrix, panel), bytes);
  return DM_OK;
}

static dm_status loaded(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                        bool *done) {
  (void)local;
  *done = arrived(context, load_of(context, matrix, panel));
  return DM_OK;
}

static dm_status store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  sim_files *f = context;
  const int64_t bytes =
      dm_range_size(rows) * dm_range_size(local->cols) * dm_dtype_size(local->plan->problem.c);
  if (!f->storing) {
    f->sum.written += bytes;
    f->next = 0; /* distributes C evenly over servers, for any number of panels */
    want_striped(f, f->store, bytes);
  }
  *done = arrived(f, f->store);
  f->storing = !*done;
  return DM_OK;
}

static double sooner(double next, const piece *p) {
  return p->end > simgrid_get_clock() ? fmin(next, p->end) : next;
}

/* The next time at which something is known to progress. */
static double next_of(const sim_files *f) {
  double next = sim_carrier_next(f->local->transport);
  const int64_t pieces = dm_range_size(f->local->panels) * f->stripes;
  for (int64_t i = 0; i < 2 * pieces; i++) next = sooner(next, &f->load[i / pieces][i % pieces]);
  for (int i = 0; i < f->stripes; i++) next = sooner(next, &f->store[i]);
  return next;
}

void sim_files_wait(void *files, double time) {
  const sim_files *f = files;
  sim_bell_wait(f->local->run->rank, fmin(time, next_of(f)));
}

static dm_status rest(void *context) {
  sim_files_wait(context, INFINITY);
  return DM_OK;
}

dm_status sim_files_open(dm_rank_state *local, sim_files **files) {
  void *memory;
  DM_TRY(dm_buffer_zeroed(1, sizeof(sim_files), &memory));
  sim_files *f = *files = memory;
  f->local = local;
  f->stripes = (int)dm_max(1, dm_min(MOST_STRIPES, all.servers / all.clients));
  const int64_t pieces = dm_max(1, dm_range_size(local->panels)) * f->stripes;
  DM_TRY(dm_buffer_zeroed(pieces, sizeof(piece), (void **)&f->load[DM_A]));
  return dm_buffer_zeroed(pieces, sizeof(piece), (void **)&f->load[DM_B]);
}

void sim_files_close(sim_files *files) {
  if (!files) return;
  free(files->load[DM_A]);
  free(files->load[DM_B]);
  free(files);
}

dm_step_calls sim_files_calls(sim_files *files) {
  static const dm_source_ops source = {.load = load, .loaded = loaded};
  static const dm_sink_ops sink = {.store = store};
  return (dm_step_calls){.source = {{&source, files}, {&source, files}},
                         .sink = {&sink, files},
                         .context = files,
                         .rest = rest};
}

sim_file_bytes sim_files_bytes(const sim_files *files) {
  sim_file_bytes bytes = files->sum;
  for (int s = 0; s < all.servers; s++) bytes.busiest = dm_max(bytes.busiest, all_servers[s].bytes);
  return bytes;
}
