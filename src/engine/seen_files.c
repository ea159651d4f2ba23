/* Rates of files from their state, if nothing was measured. */
#include <math.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "engine/seen_files.h"
#include "file/page_cache.h"

/* Bytes per second of one core, and of a node with enough cores. Measured on 16 cores of an H200
 * node: 43 GB/s from the page cache, 28 GB/s to a file in memory. */
static const double core_reads = 3e9, node_reads = 45e9, core_writes = 1.5e9, node_writes = 25e9;

/* The same files as runs use them: writing to existing pages, and clearing new pages, which one
 * thread does as fast as sixteen (4 to 9 GB/s). */
static const double write_copies = 15e9, clears = 5e9;

/* OpenBLAS's f64 products with AVX-512, relative to a core's stated rate: 47 GFLOP/s on 2 cores of
 * an EPYC, 43 on 16 and 26 on 32 of a Xeon whose hardware threads share units. */
static const double by_avx512 = 1.4, few_cores = 16;

static const double nearly_all = 0.95;

dm_seen_files dm_see_files(const dm_named_files *files) {
  const int count = (int)(sizeof files->reads / sizeof files->reads[0]);
  dm_seen_files seen = {.cached = files->reads[0] != NULL,
                        .in_memory = files->writes && dm_io_is_memory(files->writes)};
  int64_t bytes = 0;
  for (int i = 0; i < count && files->reads[i]; i++) {
    struct stat info;
    if (dm_io_cached(files->reads[i]) < nearly_all) seen.cached = false;
    if (stat(files->reads[i], &info) == 0) bytes += (int64_t)info.st_size;
  }
  seen.fit = bytes > 0 && bytes <= dm_memory_total() / 2;
  return seen;
}

static bool has_avx512(void) {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

void dm_state_cores(int64_t cores, int64_t threads, int nodes, dm_machine *machine) {
  const double shared = fmin(1, (double)cores / (double)threads);
  const double crowd = sqrt(fmin(1, few_cores * nodes / (double)cores));
  if (machine->gpu) return;
  machine->speed_now = shared * (has_avx512() ? by_avx512 * crowd : 1);
}

void dm_state_files(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine) {
  const double read = fmin(node_reads * nodes, core_reads * (double)cores);
  const double written = fmin(node_writes * nodes, core_writes * (double)cores);
  const double fast_read = fmax(machine->file_read, read);
  const double fast_write = fmax(machine->file_write, written);
  machine->inputs_cached = seen.cached;
  machine->read_now = seen.cached ? fast_read : machine->file_read;
  machine->write_now =
      seen.in_memory ? fmin(fast_write, write_copies * nodes) : machine->file_write;
  machine->pages_now = seen.in_memory ? clears : 0;
  if (!seen.fit) return;
  machine->file_read = fast_read;
  machine->file_write = fast_write;
}
