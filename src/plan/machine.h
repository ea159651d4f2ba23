/* machine: the planner's description of the computer.  Rates are bytes or operations per second. */
#ifndef DM_PLAN_MACHINE_H
#define DM_PLAN_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compute.h"
#include "core/status.h"

typedef struct dm_machine {
  char name[64];      /* "h200", "cpu", ...: the source of the stated rates */
  int nodes;          /* computers */
  int ranks_per_node; /* ranks = nodes * ranks_per_node, unless the ranks are given */
  int cores_per_rank;
  bool gpu;               /* each rank multiplies on its own GPU, or its share of one */
  bool own_kernels;       /* ... with kernels of ours (dm_compute.own_kernels) */
  bool device_links;      /* the transport moves GPU memory: panels do not pass through the host */
  bool shared_slots;      /* CPU ranks of a node read panels directly from shared memory */
  int copies_a, copies_b; /* copies of a panel that products reorder on the GPU */
  int64_t host_bytes;     /* memory that one rank may use; 0: not known, not limited */
  int64_t device_bytes;   /* the same on its GPU */
  int64_t process_bytes;  /* memory of a rank's process at start; 0: a typical amount */
  double flops[DM_OPERANDS];   /* of one rank */
  double lasting[DM_OPERANDS]; /* the fraction of it at which long products run; 0: all of it */
  double gpu_start;            /* seconds until a process has started its first GPU, */
  double next_gpu_start;       /* and each further one, with the links between them */
  double upload;               /* host to device, one rank */
  double memory;               /* of the GPU, for reading and writing C in products */
  double link;                 /* received by one rank from ranks of its node */
  double staged;               /* the same through host memory, if link is for GPU memory */
  double network;              /* received by one node from other nodes */
  double latency;              /* seconds per message */
  double host_copy;            /* memory traffic of one rank's host: conversion, summation */
  double file_read;            /* whole job */
  double file_write;           /* whole job */
  double read_now, write_now; /* for this run's files in their present state; 0: as above.  Only for
                               the forecast: the page cache must not change the bits of C */
  double speed_now; /* of products, relative to flops, for the cores of this run; 0: as flops.  Only
                     for the forecast */
  double pass_now;  /* bytes per second at which all cores read memory, to check matrices; 0: not
                       known. Only for the forecast */
  double pages_now; /* bytes per second at which C's file system, if in memory, clears pages; 0:
                       none to clear */
  double pages_since; /* seconds of clearing before the first read */
  double slower; /* how many times longer products and transfers take than these rates say, as a run
                    of this job has shown; 0: not known. Only for the forecast */
  bool inputs_cached; /* inputs are in the page cache: reading copies them */
  bool rates_of_user; /* some rates are the user's (--machine), not built in */
} dm_machine;

/* Parses words "key=value ...": nodes, gpus (per node) or ranks (per node; with gpus too, ranks
 * share GPUs), gpu (a known name, see dm_machine_gpus), cores (per rank), memory and device-memory
 * (per rank, "64GiB"), gflops (f64, per rank; other types keep their proportion, unless gflops-f32
 * and the like state them), links (device:
 * the transport moves GPU memory, as ipc inside a node, the default with GPUs; shared: shared
 * memory, the default of CPU ranks; host), link, network, upload, copy, read, write (GB/s), latency
 * (us). Unstated values are those of the named GPU, or of a plain CPU rank; unstated host memory is
 * unlimited. '#' begins a comment, up to the end of the line. DM_E_USAGE names an unknown key or
 * value and the closest match. */
dm_status dm_machine_parse(const char *text, dm_machine *machine);

/* Replaces rates of MACHINE by those in TEXT, words as above; its other words have no effect. */
dm_status dm_machine_take_rates(const char *text, dm_machine *machine);

/* Appends MACHINE's rates to TEXT as such words: those of products and links, and of files if
 * FILES. */
void dm_machine_put_rates(const dm_machine *machine, bool files, char *text, size_t room);

/* Stated rates of the GPU whose product name contains a known name ("NVIDIA H200"), or, if NAME is
 * NULL, of a CPU rank with CORES cores; nodes = ranks_per_node = 1; memory is 0. Unknown GPUs get
 * the rates of the slowest known one. Sources: measurements of this project for the H200; else the
 * vendor's dense peak times the fraction that the H200 reached. */
void dm_machine_stated(const char *name, int cores, dm_machine *machine);

/* Seconds from the start of main until RANKS ranks of MACHINE read, as stated: libraries, MPI and
 * GPUs start, and the plan is made. ONE_PROCESS: the ranks are its threads, without MPI. */
double dm_machine_start(const dm_machine *machine, int ranks, bool one_process);

/* Names for gpu=, NULL at the end. */
const char *const *dm_machine_gpus(void);

/* Bytes per second that a GPU of this name receives from the others of its node over device
 * links. */
double dm_machine_device_link(const char *name);

/* Free memory in bytes of an unused GPU of this name. */
int64_t dm_machine_device_memory(const char *name);

/* Dense peak in the data sheet of the GPU of this name; 0: unknown. */
double dm_machine_peak(const char *name, const dm_compute *compute);

/* Operations per second of one rank for products of WORK by COMPUTE (a complex product counts 8
 * operations): in the first twentieth of a second, and later, as the power of a GPU is limited. */
double dm_machine_flops(const dm_machine *machine, const dm_compute *compute, dm_dtype work);
double dm_machine_lasting_flops(const dm_machine *machine, const dm_compute *compute,
                                dm_dtype work);

/* Seconds that one rank takes for FLOPS operations of such products. */
double dm_machine_product_seconds(const dm_machine *machine, const dm_compute *compute,
                                  dm_dtype work, double flops);

/* A rate for each operand that GPUs multiply; half: f16 and bf16. */
typedef struct dm_operand_rates {
  double f64, f32, tf32, half, i8;
} dm_operand_rates;

/* The rate of OPERAND, or of the parts of a complex operand; 0: none. */
double dm_operand_rate(const dm_operand_rates *rates, dm_operand operand);

#endif
