/* run: the ranks of a job, their nodes, and their messages to the user. */
#ifndef DM_RUN_RUN_H
#define DM_RUN_RUN_H

#include "comm/comm.h"
#include "core/cached_memory.h"
#include "core/log.h"
#include "core/status.h"
#include "run/cores.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/stop.h"
#include "run/trace.h"
#include "run/watch.h"

typedef enum dm_progress_mode {
  DM_PROGRESS_AUTO,
  DM_PROGRESS_ALWAYS,
  DM_PROGRESS_NEVER
} dm_progress_mode;

typedef struct dm_run dm_run;

struct dm_run {
  dm_comm *world;
  dm_comm *node; /* the ranks of this computer */
  int rank, ranks;
  int local_rank, local_ranks;
  int gpu;                   /* index of its GPU among those that the process sees; ranks beyond the
                                number of GPUs share them */
  dm_comm *near;             /* ranks that count as one node: all or some of NODE */
  int nodes;                 /* number of (pretended) nodes */
  bool pretends;             /* one computer counts as several nodes */
  dm_core_part cores;        /* cores of this rank */
  dm_topology *topology;     /* of this computer; NULL: not needed yet */
  cpu_set_t bound, job_cpus; /* by the launcher; allowed to all ranks of the node */
  cpu_set_t taken;           /* cores it is bound to now */
  bool stays;                /* the program has bound its threads */
  dm_log log;
  dm_progress_mode progress;
  const char *phase;   /* current phase; NULL: none yet */
  double shown;        /* time of the last progress line, in seconds after BORN; 0: none yet */
  const char *command; /* as typed; for records and provenance */
  double born, lap;    /* start of main; end of the last counted phase */
  dm_stop stop;        /* off by default */
  void (*on_progress)(void *context, int64_t done, int64_t total); /* or NULL */
  void *progress_context;
  dm_watch *watch;         /* the watchdog, or NULL */
  double timeout;          /* its seconds; 0: none */
  bool strict;             /* the same timeout in all phases */
  bool warned_late;        /* the user has been told that it is too late to stop */
  dm_keepalive keepalive;  /* of this run: dm_run_beat */
  dm_keepalive of_thread;  /* the same for any thread: only reports progress */
  dm_trace trace;          /* of this rank */
  dm_gpu_facts *facts;     /* of its GPU, for records; NULL: not asked for */
  dm_cached_memory cached; /* of the last product on CPUs, for the next */
  bool has_used_gpu;
  /* ENDS: the program promises to call AT_END last, even when this rank ends the job. AT_END, if
   * set, removes what tells the same command that C is complete, or what other ranks may open. */
  bool ends;
  dm_status (*at_end)(void *what);
  void *what;
};

/* Finds the nodes of WORLD, which the run then owns, even after an error; NULL: starts MPI. LEVEL
 * and PROGRESS come from the command line. */
dm_status dm_run_start(dm_run *run, dm_comm *world, dm_level level, dm_progress_mode progress,
                       const char *command);

/* The same for a program that started MPI itself: WORLD has its ranks. Prints nothing. The run owns
 * WORLD, even after an error; end it with dm_run_leave. */
dm_status dm_run_start_in(dm_run *run, dm_comm *world, const char *command);
void dm_run_leave(dm_run *run); /* collective */

/* Adds the time since the last lap, or since main, to *SECONDS. */
void dm_run_lap(dm_run *run, double *seconds);

/* Collective: the ranks of each node divide its cores as dm_cores_divide says; dm_run_start has
 * already done so without wishes. THREADS: of this rank, 0: as many as its cores; NEAR: CPUs close
 * to its GPU, as "0-15,32-47", or "". */
dm_status dm_run_place(dm_run *run, int threads, const char *near);

/* This rank takes all cores of its node, whose other ranks are done. */
void dm_run_take_node(dm_run *run);

/* Records rank 0's cores, and why it has those. */
void dm_run_record_cores(const dm_run *run, dm_record *record);

/* Records the time before main, as far as the system knows it. */
void dm_run_record_launch(const dm_run *run, dm_record *record);

/* Collective: from now on each computer counts as COUNT nodes of consecutive ranks, to test several
 * nodes on one computer. GPUs and memory are divided as before. DM_E_USAGE: a computer has fewer
 * ranks. */
dm_status dm_run_pretend_nodes(dm_run *run, int count);

/* Collective: from now on the run ends after SECONDS without progress (0: never), or if the
 * launcher is gone; it then uses CALLS. */
dm_status dm_run_watch(dm_run *run, double seconds, dm_watch_calls calls);

/* Sets the phase of the run, and how long it may go without progress, in multiples of the
 * timeout. */
void dm_run_phase(dm_run *run, const char *phase, int patience);

/* The same for all phases if the user stated the timeout. */
static inline int dm_run_patience(const dm_run *run, int patience) {
  return run->strict ? 1 : patience;
}

/* When the next line is due, in seconds since main; SHOWN is the time of the last one (0: none). */
double dm_run_next_line(double shown);

/* Reports progress. DM_E_STOPPED, on this rank only, if a stop was requested. */
dm_status dm_run_beat(dm_run *run);

/* Number of this rank's threads for files: WANTED, or, if negative, as many as help. */
int dm_run_io_threads(const dm_run *run, int wanted);

/* Number of threads that write files on this node at once; without threads the rank itself counts
 * as one. */
int dm_run_writers(const dm_run *run, int wanted);

/* Reports progress when it is too late to stop; says so once if a stop is requested. */
void dm_run_poll_late(dm_run *run);

/* Collective: this rank worked from START to END, in seconds of dm_now. SECONDS: from the start of
 * a node's first rank to the end of its last, for the slowest node. If ranks share cores, one may
 * start when another has finished, so the slowest rank's time is not enough. */
dm_status dm_run_span(const dm_run *run, double start, double end, double *seconds);

/* Collective in RUN: PART consists of COUNT of its ranks, including rank 0, on as few nodes as
 * possible; on other ranks PART->world is NULL. Each keeps its share of cores, memory and GPUs.
 * Close PART before RUN. */
dm_status dm_run_part_open(const dm_run *run, int count, dm_run *part);
void dm_run_part_close(dm_run *part);

/* Collective; ends MPI. */
void dm_run_stop(dm_run *run);

/* ---- progress on rank 0's stderr ----
 *
 * Lines come 1, 2, 5, 10 and 30 s after the start of main and then every 30 s; a multiplication
 * shows a bar instead if stderr is a terminal. Under a launcher stderr is a pipe, and prefixes of
 * the launcher would break a bar. */

/* The progress of this rank; rank 0 reports for the USED ranks, which have equal parts. */
typedef struct dm_standing {
  double done;           /* fraction of the whole work, 0 to 1 */
  int64_t read, written; /* bytes so far */
  const char *note;      /* shown behind the rest; or NULL */
} dm_standing;

typedef struct dm_progress {
  dm_run *run;
  const char *label;
  bool on, terminal, at_once;
  double flops;  /* operations of the whole work */
  double before; /* fraction done by an earlier run */
  int used;
  double started, shown;
  double measured; /* time of the last rates, */
  dm_standing then;
  char rates[160];
} dm_progress;

/* FLOPS operations in all; an earlier run did the fraction BEFORE (0 to 1). */
void dm_progress_start(dm_progress *progress, dm_run *run, const char *label, double flops,
                       double before, int used);

/* Whether progress is due to be shown. */
bool dm_progress_is_due(const dm_progress *progress);

/* Shows NOW: on a terminal at most 6 times a second, with rates over the last second; else with
 * rates since the last line. */
void dm_progress_show(dm_progress *progress, dm_standing now);

/* Ends the bar's line, so that other output can follow; may be called again. */
void dm_progress_end(dm_progress *progress);

#endif
