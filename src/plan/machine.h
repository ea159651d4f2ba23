/* machine: the planner's description of the computer.  Rates are bytes or operations per second. */
#ifndef DM_PLAN_MACHINE_H
#define DM_PLAN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compute.h"
#include "core/status.h"

typedef struct dm_machine {
  char name[64];      /* "h200", "cpu", ...: what the stated rates were taken from */
  int nodes;          /* computers */
  int ranks_per_node; /* ranks = nodes * ranks_per_node, unless the ranks are given */
  int cores_per_rank;
  bool gpu;          /* each rank multiplies on a GPU of its own, or on its share of one */
  bool hopper;       /* ... of compute capability 9.0 (dm_compute_needs_hopper) */
  bool device_links; /* the transport moves GPU memory itself: no panel passes through the host */
  bool shared_slots; /* CPU ranks of a node read panels where they lie, in memory that they share */
  int copies_a, copies_b; /* of a panel, that the product makes on the GPU in the order it needs */
  int64_t host_bytes;     /* memory that one rank may use; 0: not known, not limited */
  int64_t device_bytes;   /* the same on its GPU */
  int64_t process_bytes;  /* what a rank of a job has before it asks for any; 0: a usual amount */
  int64_t staging;        /* bytes of host memory that the transport takes for each exposed share */
  double flops[DM_OPERANDS]; /* of one rank */
  double upload;             /* host to device, one rank */
  double memory;             /* of the GPU: what products read and write of their old and new C */
  double link;               /* received by one rank from ranks of its node */
  double staged;             /* the same through host memory, where link is that of GPU memory */
  double network;            /* received by one node from other nodes */
  double beside;      /* by a CPU rank from there, if its cores did nothing else for it; 0: as fast
                         as they read and write memory */
  double latency;     /* seconds per message */
  double host_copy;   /* memory traffic of one rank's host: conversion, summation */
  double file_read;   /* whole job */
  double file_cached; /* file_read where the inputs are in the page cache; 0: not known */
  double file_write;  /* whole job */
  double read_now, write_now; /* of this run's files as they are now; 0: as above.  For the forecast
                                 alone: what the page cache has must not change the bits of C */
  double speed_now;   /* of products, beside flops: by what is known of the cores; 0: as flops.  For
                         the forecast alone, like the rates of files now */
  double pages_now;   /* bytes per second at which C's file system, in memory, clears pages; 0: it
                         has none to clear */
  double pages_since; /* seconds that it has done so before the first read */
  bool inputs_cached; /* known to be in the page cache: to read them is to copy */
  bool reads_measured, writes_measured; /* ... file_read, file_write; else stated */
  char rates[24]; /* the name of the measurement that rates were taken from; empty: stated */
} dm_machine;

/* A machine from words "key=value ...": nodes, gpus (per node) or ranks (per node; with gpus too,
 * ranks share them), gpu (a known name, see dm_machine_gpus), cores (per rank), memory and
 * device-memory (per rank, "64GiB"), gflops (f64, per rank; other types keep their proportion),
 * links (device: a transport that moves GPU memory, as ipc does inside a node: those of GPUs unless
 * host is stated; shared: shared memory, those of CPU ranks unless host is stated), link, network,
 * upload, copy, read, write (GB/s), latency (us).  Unstated values are those of the named GPU, or
 * of a plain CPU rank; unstated memory of the host is not limited.  DM_E_USAGE names an unknown key
 * or value and the closest match. */
dm_status dm_machine_parse(const char *text, dm_machine *machine);

/* Stated rates of the GPU whose product name contains a known name ("NVIDIA H200"), or of a CPU
 * rank with CORES cores where NAME is NULL; nodes = ranks_per_node = 1; memory is left 0.  An
 * unknown GPU gets the rates of the slowest known one.  Sources: measurements of this project for
 * the H200, else the vendor's peak without sparsity times the share of it that the H200 was
 * measured to reach. */
void dm_machine_stated(const char *name, int cores, dm_machine *machine);

/* Seconds from the start of main until RANKS ranks of MACHINE read, as stated: libraries, MPI and
 * GPUs start, and the plan is made. */
double dm_machine_start(const dm_machine *machine, int ranks);

/* Names for gpu=, NULL at the end. */
const char *const *dm_machine_gpus(void);

/* Bytes per second that a GPU of that name receives from the others of its node by device links. */
double dm_machine_device_link(const char *name);

/* Bytes that are free on a fresh GPU of that name. */
int64_t dm_machine_device_memory(const char *name);

/* What the data sheet of the GPU of that name promises, without sparsity; 0 where it is not known.
 */
double dm_machine_peak(const char *name, const dm_compute *compute);

/* Operations per second of one rank for products of WORK by COMPUTE (a complex one counts as 8
 * operations). */
double dm_machine_flops(const dm_machine *machine, const dm_compute *compute, dm_dtype work);

/* A number for each operand that GPUs multiply; half: f16 and bf16. */
typedef struct dm_operand_rates {
  double f64, f32, tf32, half, i8;
} dm_operand_rates;

/* That of OPERAND, or of the parts of a complex one; 0 where there is none. */
double dm_operand_rate(const dm_operand_rates *rates, dm_operand operand);

#endif
