#include "engine/stated_rates.h"

#include <math.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "dataset/file_system.h"

/* ---- cores ---- */

static bool has_avx512(void) {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

/* Products of CORES on NODES computers relative to those of cores that share nothing: 43 GFLOP/s of
 * f64 for each of 16 cores of a Xeon, 26 for each of 32, whose hardware threads share units; at
 * other hours each of these took half as long again. */
static double rates_crowd(int64_t cores, int nodes) {
  const double few_cores = 16;
  return pow(fmin(1, few_cores * nodes / (double)cores), 0.75);
}

/* OpenBLAS's products relative to the stated rates of cores that are AVX2's: 47 GFLOP/s of f64 on 2
 * cores of an EPYC. */
static double speed_of(int64_t cores, int nodes) {
  return has_avx512() ? 1.4 * rates_crowd(cores, nodes) : 1;
}

/* Of 4096^3, in seconds: checking, mapping and writing, which a GPU does while it multiplies; and
 * what an idle GPU starts later than one in use. */
bool dm_cpu_is_sooner(double flops, dm_dtype work, int cores) {
  const double files = 0.1, idle = 0.07;
  dm_machine cpu, gpu;
  dm_machine_stated(NULL, cores, &cpu);
  dm_machine_stated("", 1, &gpu);
  return flops < (gpu.gpu_start + idle - files) * cpu.flops[work] * speed_of(cores, 1);
}

void dm_state_cores(int64_t cores, int64_t threads, int nodes, dm_machine *machine) {
  const double shared = fmin(1, (double)cores / (double)threads);
  if (machine->gpu) return;
  machine->speed_now = shared * speed_of(cores, nodes);
}

/* ---- files ---- */

/* Bytes per second of one core, and of a node with enough cores. Measured on 16 cores of an H200
 * node: 43 GB/s from the page cache, 28 GB/s to a file in memory. */
static const double core_reads = 3e9, node_reads = 45e9, core_writes = 1.5e9, node_writes = 25e9;

/* The same files as runs use them: writing to existing pages (22 GB/s on 32 cores of an H100 node),
 * and making new pages, which one thread does faster than sixteen: 64 MiB in 11 to 13 ms, and in 18
 * to 20 while rows of C are copied to them; half of that where memory of a virtual machine was used
 * before (two H200). */
static const double write_copies = 22e9, clears = 5e9;

/* Processors do what GPUs do beside products: 4096^3 in f64 on 32 cores of an H200 node maps A and
 * B in 0.015 s, sums and hashes them in 0.018 s, and sums, hashes and writes C in 0.023 s. */
static const double cpu_maps = 18e9, cpu_checks = 22e9, cpu_stores = 6e9;

static const double rates_nearly_all = 0.95;

dm_seen_files dm_see_files(const dm_named_files *files) {
  dm_seen_files seen = {.cached = files->reads[0] || files->reads_memory,
                        .in_memory = files->writes_memory ||
                                     (files->writes && dm_file_is_memory(files->writes)),
                        .new_pages = !files->writes_memory};
  int64_t bytes = 0;
  for (int i = 0; i < DM_FILES_READ && files->reads[i]; i++) {
    struct stat info;
    if (dm_file_cached(files->reads[i]) < rates_nearly_all) seen.cached = false;
    if (stat(files->reads[i], &info) == 0) bytes += (int64_t)info.st_size;
  }
  seen.fit = bytes > 0 ? bytes <= dm_memory_total() / 2 : files->reads_memory;
  return seen;
}

void dm_state_files(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine) {
  const double read = fmin(node_reads * nodes, core_reads * (double)cores);
  const double written = fmin(node_writes * nodes, core_writes * (double)cores);
  const double fast_read = fmax(machine->file_read, read);
  const double fast_write = fmax(machine->file_write, written);
  machine->inputs_cached = seen.cached;
  machine->pass_now = fmin(read, cpu_checks * nodes);
  machine->read_now = seen.cached ? fast_read : machine->file_read;
  machine->write_now =
      seen.in_memory ? fmin(fast_write, write_copies * nodes) : machine->file_write;
  if (!machine->gpu) {
    machine->read_now = fmin(machine->read_now, cpu_maps * nodes);
    machine->write_now = fmin(machine->write_now, cpu_stores * nodes);
  }
  machine->pages_now = seen.in_memory && seen.new_pages ? clears : 0;
  if (!seen.fit) return;
  machine->file_read = fast_read;
  machine->file_write = fast_write;
}
