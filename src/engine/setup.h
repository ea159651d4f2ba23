/* setup: turns options into an open backend on every rank and a common plan. */
#ifndef DM_ENGINE_SETUP_H
#define DM_ENGINE_SETUP_H

#include "backend/backend.h"
#include "core/compute.h"
#include "engine/links.h"
#include "engine/stated_rates.h"
#include "io/batch.h"
#include "plan/machine.h"
#include "plan/plan.h"
#include "run/record.h"
#include "run/run.h"

/* ---- options of a product ---- */

/* The GPU's backend of an earlier product, for the next one that needs the same. Initially zero. */
typedef struct dm_cached_backend {
  dm_backend *backend; /* NULL: none */
  dm_compute compute;
  char kernel[32];
  int64_t tile;
  int gpu, local_ranks;
} dm_cached_backend;
void dm_cached_backend_close(dm_cached_backend *cached);

typedef struct dm_engine_options {
  const char *backend;   /* "auto", "cpu", "cuda" */
  const char *kernel;    /* "auto" or a name of the backend's */
  const char *transport; /* "auto" or a name of dm_transport_all */
  int threads;           /* threads of the CPU product, per rank; 0: the rank's cores */
  int io_threads;        /* threads for files, per rank; 0: none, -1: as many as help */
  bool read_copies;      /* read A and B even if they could be multiplied in the page cache */
  dm_write_way write_by;
  int64_t memory_host, memory_device; /* bytes per rank; 0: this rank's share of the node */
  int64_t process_bytes;              /* memory of the process at start; 0: its present memory */
  int64_t beside; /* of it, what counts against MEMORY_HOST although matrices are in memory */
  bool require_gpu_per_rank;
  int pretend_nodes; /* nodes that each computer counts as; 0 or 1: one */
  bool once; /* a single product, after which the process ends: "auto" considers the time for
                starting a GPU, and its memory is not freed */
  const char
      *machine;  /* words with rates for the planner (plan/machine.h); NULL or "": stated ones */
  double slower; /* as in dm_machine; 0: not known */
  dm_named_files files;
  dm_known_links *known;           /* of this rank's earlier products; or NULL */
  dm_cached_backend *cached;       /* the same */
  const dm_compute_calls *compute; /* for an equation's own row with a FINISH; or NULL */
  dm_wishes wishes;
} dm_engine_options;

/* dm_cpu_is_sooner for this program, whose GPUs may start at once. */
bool dm_gpu_is_late(double flops, dm_dtype work, int cores);

/* ---- backend, transport and plan ---- */

typedef struct dm_setup {
  dm_backend *backend;
  dm_cached_backend *cached; /* has BACKEND; NULL: close does not keep it */
  dm_device device;
  dm_links links;
  const dm_transport_ops *transport; /* transport of the plan's panels */
  dm_machine machine;
  dm_plan plan;
} dm_setup;

/* Collective: opens the backend on every rank, examines the machine and its links, lets rank 0
 * choose the plan and broadcasts it, and logs its needs. Rejects a problem that does not fit before
 * allocating anything large. */
dm_status dm_setup_open(dm_run *run, const dm_engine_options *engine, const dm_problem *problem,
                        dm_setup *setup);
void dm_setup_close(dm_setup *setup);

/* The same after an error: nothing is kept. */
void dm_setup_discard(dm_setup *setup);

/* Rank 0: chooses SETUP's plan, for the machine that it describes. */
dm_status dm_setup_choose(const dm_run *run, const dm_engine_options *engine,
                          const dm_problem *problem, dm_setup *setup);

/* Collective: the first part of it: only backend and device, without links, machine and plan. */
dm_status dm_setup_open_backend(dm_run *run, const dm_engine_options *engine,
                                const dm_problem *problem, dm_setup *setup);

/* Host memory of this process that a plan counts as used by each rank in it, without what RUN keeps
 * for the plan's buffers. NULL: it is one rank. */
int64_t dm_setup_process_bytes(const dm_run *run);

/* The memory that a rank may use: the LIMIT that the user states, or a part of what is AVAILABLE.
 */
int64_t dm_setup_share(int64_t limit, double available);

/* Describes machine, device, plan and forecast in RECORD; or only, of backend and device, the
 * machine. */
void dm_setup_record(const dm_setup *setup, const dm_run *run, dm_record *record);
void dm_setup_record_sizes(const dm_problem *problem, dm_record *record); /* of an entry */

/* How a GPU sums products of 16 bits. */
void dm_setup_record_sums(const dm_problem *problem, dm_record *record);
void dm_setup_record_machine(const dm_setup *setup, const dm_run *run, dm_record *record);

#endif
