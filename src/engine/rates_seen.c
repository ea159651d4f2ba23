/* Rates of files by a look at them, where nothing was measured. */
#include <math.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "engine/rates.h"
#include "io/page_cache.h"

/* Of one core, and of a node that has enough of them: measured on 16 cores beside an H200, 43 GB/s
 * from the page cache, 28 GB/s to a file in memory. */
static const double core_reads = 3e9, node_reads = 45e9, core_writes = 1.5e9, node_writes = 25e9;

static const double nearly_all = 0.95;

dm_seen_files dm_rates_look(const dm_named_files *files) {
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

void dm_rates_state_seen(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine) {
  const double read = fmin(node_reads * nodes, core_reads * (double)cores);
  const double written = fmin(node_writes * nodes, core_writes * (double)cores);
  const double fast_read = fmax(machine->file_read, read);
  const double fast_write = fmax(machine->file_write, written);
  machine->inputs_cached = seen.cached;
  machine->read_now = seen.cached ? fast_read : machine->file_read;
  machine->write_now = seen.in_memory ? fast_write : machine->file_write;
  if (!seen.fit) return;
  machine->file_read = fast_read;
  machine->file_write = fast_write;
}
