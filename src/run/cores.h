/* cores: which cores of its node a rank computes on, and with how many threads.
 *
 * Launchers bind: Open MPI 4 gives each rank of `mpirun -n 2` one core, however many there are, and
 * libraries differ in whether they notice.  A rank uses its fair share of the cores of the job. */
#ifndef DM_RUN_CORES_H
#define DM_RUN_CORES_H

#include <sched.h>
#include <stdbool.h>

#include "run/topology.h"

/* What is known of a node. */
typedef struct dm_core_case {
  int ranks;              /* of the job on this node */
  const cpu_set_t *bound; /* RANKS: what the launcher left each of them */
  const cpu_set_t *near;  /* RANKS: next to the GPU of each, may be empty; NULL: there are none */
  cpu_set_t job;          /* what the launcher itself may use */
  double quota;           /* cores' worth of time that control groups grant; 0: no limit */
  bool keep;              /* the user chose the binding */
  int threads;            /* of each rank, as the user wishes; 0: no wish */
} dm_core_case;

typedef enum dm_core_reason {
  DM_CORES_ALL,    /* the only rank here has what it was given */
  DM_CORES_PART,   /* ranks with the same cores divide them */
  DM_CORES_BOUND,  /* as the launcher bound it */
  DM_CORES_WIDENED /* the launcher had bound ranks more narrowly than their fair part */
} dm_core_reason;

typedef struct dm_core_part {
  cpu_set_t cpus; /* to run on */
  int cores;      /* in CPUS; hardware threads of one core count once */
  int threads;    /* that multiply: at most the logical CPUs in CPUS */
  dm_core_reason reason;
} dm_core_part;

/* The part of RANK; no two ranks get the same core while there are enough. */
void dm_cores_divide(const dm_core_case *of, const dm_topology *topology, int rank,
                     dm_core_part *part);

/* ---- of this process ---- */

/* What this process may run on, and what its launcher may: the nearest ancestor that is one; the
 * same where there is none, or where the system takes no more. */
void dm_cores_allowed(cpu_set_t *own, cpu_set_t *job);

/* Whether the environment says that the user, or the batch system for the user, chose how ranks are
 * bound. */
bool dm_cores_asked(const cpu_set_t *job);

/* Threads as OPENBLAS_NUM_THREADS and its like state them; 0: none does. */
int dm_cores_threads_stated(void);

/* All threads of this process, those to come included, run on CPUS; false: the system refuses. */
bool dm_cores_take(const cpu_set_t *cpus);

#endif
