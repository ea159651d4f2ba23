/* engine: the options of a product that multiply and bench share. */
#ifndef DM_ENGINE_ENGINE_H
#define DM_ENGINE_ENGINE_H

#include "core/compute.h"
#include "file/file_writer.h"
#include "plan/machine.h"
#include "plan/plan.h"

/* The files of a job, as far as they have names; NULL: none. They determine the rates of
 * files. */
typedef struct dm_named_files {
  const char *reads[3], *writes;
} dm_named_files;

typedef struct dm_engine {
  const char *backend;   /* "auto", "cpu", "cuda" */
  const char *kernel;    /* "auto" or a name of the backend's */
  const char *transport; /* "auto" or a name of dm_transport_all */
  int threads;           /* threads of the CPU product, per rank; 0: the rank's cores */
  int io_threads;        /* threads for files, per rank; 0: none, -1: as many as help */
  bool read_copies;      /* read A and B even if they could be multiplied in the page cache */
  dm_write_way write_by;
  int64_t memory_host, memory_device; /* bytes per rank; 0: this rank's share of the node */
  int64_t process_bytes;              /* memory of the process at start; 0: its present memory */
  bool require_gpu_per_rank;
  int pretend_nodes; /* nodes that each computer counts as; 0 or 1: one */
  double
      fill;  /* not 0: replace the problem by a square product that fills this fraction of memory */
  bool once; /* a single product: "auto" considers the time for starting a GPU */
  const char
      *machine; /* words with rates for the planner (plan/machine.h); NULL or "": stated ones */
  dm_named_files files;
  const dm_compute_calls *compute; /* for an equation's own row with a FINISH; or NULL */
  dm_wishes wishes;
} dm_engine;

/* Whether CORES of the CPU finish FLOPS of products of type WORK before a GPU has started. */
bool dm_gpu_is_late(double flops, dm_dtype work, int cores);

#endif
