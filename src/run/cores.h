/* cores: the cores and the number of threads that a rank computes with.
 *
 * Launchers bind: Open MPI 4 gives each rank of `mpirun -n 2` one core, however many there are, and
 * libraries differ in whether they notice. A rank uses its fair share of the job's cores. */
#ifndef DM_RUN_CORES_H
#define DM_RUN_CORES_H

#include <sched.h>
#include <stdbool.h>

#include "core/status.h"

/* The logical CPUs of this computer, ordered by proximity. */
typedef struct dm_topology {
  int count;
  int cpu[CPU_SETSIZE]; /* numbers of logical CPUs; those of a core, cache or socket are consecutive
                         */
  int core[CPU_SETSIZE]; /* core of cpu[i]; the same for all hardware threads of a core */
} dm_topology;

/* Reads it from hwloc, which takes a few ms; HWLOC_SYNTHETIC or HWLOC_XMLFILE describe another
 * computer. If hwloc knows nothing, CPUs are in the order of their numbers. */
void dm_topology_read(dm_topology *topology);

/* A list of CPUs in the format of Linux, "0-7,16-23", truncated to SIZE characters; "" is no
 * CPU. */
void dm_cpus_text(const cpu_set_t *cpus, char *text, size_t size);

/* Parses such a list; an invalid list is empty. CPUs from CPU_SETSIZE are ignored. */
void dm_cpus_parse(const char *text, cpu_set_t *cpus);

/* Facts about a node. */
typedef struct dm_core_case {
  int ranks;              /* ranks of the job on this node */
  const cpu_set_t *bound; /* per rank: the CPUs that the launcher allows */
  const cpu_set_t *near;  /* per rank: CPUs close to its GPU, may be empty; NULL: no GPUs */
  cpu_set_t job;          /* the CPUs that the launcher itself may use */
  double quota;           /* CPU time per time of the control groups, in cores; 0: no limit */
  bool keep;              /* the user chose the binding */
  int threads;            /* threads per rank that the user requests; 0: none */
} dm_core_case;

typedef enum dm_core_reason {
  DM_CORES_ALL,    /* a single rank uses all that it may */
  DM_CORES_PART,   /* ranks with the same cores divide them */
  DM_CORES_BOUND,  /* the launcher's binding */
  DM_CORES_WIDENED /* wider than the launcher's binding, which left cores idle */
} dm_core_reason;

typedef struct dm_core_part {
  cpu_set_t cpus; /* CPUs to run on */
  int cores;      /* cores in CPUS; hardware threads of one core count once */
  int threads;    /* threads for products: at most the logical CPUs in CPUS */
  dm_core_reason reason;
} dm_core_part;

/* The part of RANK; no two ranks share a core while there are enough. */
void dm_cores_divide(const dm_core_case *of, const dm_topology *topology, int rank,
                     dm_core_part *part);

/* The topology as far as it matters for dividing: hwloc is asked only if need be. */
void dm_topology_for(const dm_core_case *of, dm_topology *topology);

/* ---- this process ---- */

/* The CPUs that this process and its launcher may use. The launcher is the nearest ancestor that is
 * one; without one, or if the system limits the process further, both sets are equal. */
void dm_cores_allowed(cpu_set_t *own, cpu_set_t *job);

/* Whether the environment shows that the user, or the batch system on the user's behalf, chose the
 * binding of ranks. */
bool dm_cores_asked(const cpu_set_t *job);

/* The number of threads in OPENBLAS_NUM_THREADS and similar variables; 0: not set. */
int dm_cores_threads_stated(void);

/* The part of the first of RANKS ranks that would be started on this computer without a binding. */
dm_status dm_cores_expect(int ranks, dm_core_part *part);

/* Binds all threads of this process, and future ones, to CPUS; false: the system refuses. */
bool dm_cores_take(const cpu_set_t *cpus);

#endif
