#include "plan/machine.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Rates in operations or bytes per second. */
typedef struct known_gpu {
  const char *name;
  dm_operand_rates flops;
  double device_link; /* between the GPUs of a node */
  double upload;
  double memory;         /* vendors' figures */
  int64_t gib;           /* free on an unused GPU */
  dm_operand_rates peak; /* dense peak of the data sheet (SXM if there is one) */
  bool hopper;
} known_gpu;

/* h200: measured (cuBLAS 13.1, n = 8192, all GPUs pulling at once). Others: peak of the data sheet
 * times the fraction measured on the h200: f64 0.97, f32 0.76, tf32 0.87, half 0.80, i8 0.77. */
/* clang-format off */
static const known_gpu gpus[] = {
    {"h200", {64.7e12, 51.1e12, 428e12, 790e12, 1524e12}, 374e9, 55e9, 4.8e12, 139,
             {67e12, 67e12, 494.7e12, 989.4e12, 1978.9e12}, true},
    {"h100", {64.7e12, 51.1e12, 428e12, 790e12, 1524e12}, 374e9, 55e9, 3.35e12, 79,
             {67e12, 67e12, 494.7e12, 989.4e12, 1978.9e12}, true},
    {"a100", {18.9e12, 14.8e12, 136e12, 250e12, 480e12}, 250e9, 24e9, 2.0e12, 79,
             {19.5e12, 19.5e12, 156e12, 312e12, 624e12}, false},
    {"l40s", {1.4e12, 69.0e12, 159e12, 290e12, 560e12}, 24e9, 24e9, 0.86e12, 44,
             {1.43e12, 91.6e12, 183e12, 362e12, 733e12}, false},
    {"v100", {7.6e12, 11.9e12, 11.9e12, 100e12, 48e12}, 120e9, 12e9, 0.9e12, 31,
             {7.8e12, 15.7e12, 15.7e12, 125e12, 62.8e12}, false},
};
/* clang-format on */

enum { KNOWN = sizeof gpus / sizeof gpus[0] };

static const char *const names[KNOWN + 1] = {"h200", "h100", "a100", "l40s", "v100", NULL};

const char *const *dm_machine_gpus(void) {
  return names;
}

/* NULL if NAME contains no known name. */
static const known_gpu *find_known(const char *name) {
  for (int i = 0; i < KNOWN; i++)
    if (strcasestr(name, gpus[i].name)) return &gpus[i];
  return NULL;
}

static const known_gpu *find(const char *name) {
  const known_gpu *known = find_known(name);
  return known ? known : &gpus[KNOWN - 1];
}

/* Rates that do not depend on the processor: an SSD, one adapter of 400 Gb/s (GPU) or 100 Gb/s
 * (CPU) per node, Open MPI through host memory. GPU ranks: measured, four ranks of one node
 * exchanging panels at once, Open MPI 4.1.6 without single copies; one message alone reaches 9
 * GB/s. */
static void state_surroundings(dm_machine *machine) {
  machine->nodes = machine->ranks_per_node = 1;
  machine->link = machine->staged = machine->gpu ? 2.1e9 : 5e9;
  machine->network = machine->gpu ? 48e9 : 12e9;
  machine->latency = machine->gpu ? 10e-6 : 3e-6;
  machine->host_copy = machine->gpu ? 40e9 : 10e9;
  machine->file_read = 2e9;
  machine->file_write = 1e9;
}

double dm_operand_rate(const dm_operand_rates *rates, dm_operand operand) {
  switch (operand) {
  case DM_F64:
  case DM_C128:
    return rates->f64;
  case DM_F32:
  case DM_C64:
    return rates->f32;
  case DM_TF32:
    return rates->tf32;
  case DM_F16:
  case DM_BF16:
    return rates->half;
  case DM_I8:
    return rates->i8;
  default:
    return 0;
  }
}

static void state_flops(dm_machine *machine, const dm_operand_rates *rates) {
  for (int i = 0; i < DM_OPERANDS; i++) machine->flops[i] = dm_operand_rate(rates, i);
  machine->flops[DM_I32] = rates->f64;
}

void dm_machine_stated(const char *name, int cores, dm_machine *machine) {
  *machine = (dm_machine){.cores_per_rank = cores > 0 ? cores : 1, .gpu = name != NULL};
  state_surroundings(machine);
  if (!name) { /* AVX2: two 4-wide fma units at 2 GHz; narrow types run as f32, converted */
    double f64 = 32e9 * machine->cores_per_rank, f32 = 2 * f64;
    snprintf(machine->name, sizeof machine->name, "cpu");
    state_flops(machine, &(dm_operand_rates){f64, f32, f32, 0.8 * f32, 0.8 * f32});
    return;
  }
  const known_gpu *gpu = find(name);
  snprintf(machine->name, sizeof machine->name, "%s", gpu->name);
  state_flops(machine, &gpu->flops);
  machine->upload = gpu->upload;
  machine->memory = gpu->memory;
  machine->hopper = gpu->hopper;
}

double dm_machine_flops(const dm_machine *machine, const dm_compute *compute, dm_dtype work) {
  return machine->flops[dm_compute_operand(compute, work)] / compute->products;
}

/* Measured with Open MPI 4.1 and one H200: 0.2 to 0.3 s for driver, context and kernels. */
double dm_machine_start(const dm_machine *machine, int ranks) {
  const double process = 0.03, mpi = 0.1, gpu = 0.25;
  return process + (ranks > 1 ? mpi : 0) + (machine->gpu ? gpu : 0);
}

double dm_machine_device_link(const char *name) {
  return find(name)->device_link;
}

double dm_machine_peak(const char *name, const dm_compute *compute) {
  const known_gpu *known = find_known(name);
  return known ? dm_operand_rate(&known->peak, compute->operand) / compute->products : 0;
}

int64_t dm_machine_device_memory(const char *name) {
  return find(name)->gib << 30;
}
