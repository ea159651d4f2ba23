/* engine: the options of a product that multiply and bench share. */
#ifndef DM_ENGINE_ENGINE_H
#define DM_ENGINE_ENGINE_H

#include "core/compute_calls.h"
#include "io/write_way.h"
#include "plan/machine.h"
#include "plan/plan.h"

/* Of a job, as far as they have names; NULL: none.  They tell which rates of files are theirs. */
typedef struct dm_named_files {
  const char *reads[3], *writes;
} dm_named_files;

typedef struct dm_engine {
  const char *backend;   /* "auto", "cpu", "cuda" */
  const char *kernel;    /* "auto" or a name of the backend's */
  const char *transport; /* "auto" or a name of dm_transport_all */
  int threads;           /* of the CPU product, per rank; 0: the rank's part of the cores */
  int io_threads;        /* that read and write files, per rank; 0: none, -1: as many as help */
  bool read_copies; /* A and B are read, also where they could be multiplied in the page cache */
  dm_write_way write_by;
  int64_t memory_host, memory_device; /* bytes per rank; 0: this rank's share of the node */
  bool require_gpu_per_rank;
  int pretend_nodes; /* that each computer counts as; 0 or 1: it is what it is */
  double fill;       /* not 0: a square product that fills this part of memory, whatever is posed */
  bool once;         /* one product and the end: what starting a GPU takes counts for "auto" */
  bool stated_rates; /* plan with stated rates, whatever was measured */
  dm_named_files files;
  const dm_compute_calls *compute; /* of an equation's own row, where it has a FINISH; or NULL */
  dm_wishes wishes;
} dm_engine;

/* Whether CORES of the CPU multiply matrices of type WORK, so many FLOPS, before a GPU has started.
 */
bool dm_gpu_is_late(double flops, dm_dtype work, int cores);

#endif
