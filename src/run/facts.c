#include "run/facts.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "comm/comm.h"
#include "core/buffer.h"
#include "core/version.h"
#include "dataset/dataset_text.h"
#include "dataset/file_system.h"

enum { MOST_SOCKETS = 64 };

/* The first line of PATH; "unknown" if it cannot be read. */
static void facts_read_line(const char *path, char text[64]) {
  snprintf(text, 64, "unknown");
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fgets(text, 64, file)) text[strcspn(text, "\n")] = '\0';
  fclose(file);
}

/* Number of entries "NAMEn" in folder PATH or, with SOCKETS, the number of sockets of those that
 * are processors. */
static int64_t count_entries(const char *path, const char *name, bool sockets) {
  bool seen[MOST_SOCKETS] = {false};
  int64_t count = 0;
  const size_t length = strlen(name);
  DIR *folder = opendir(path);
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char file[300], text[64], *end;
    if (strncmp(entry->d_name, name, length) != 0) continue;
    if (entry->d_name[length] < '0' || entry->d_name[length] > '9') continue;
    count++;
    if (!sockets) continue;
    snprintf(file, sizeof file, "%.30s/%.200s/topology/physical_package_id", path, entry->d_name);
    facts_read_line(file, text);
    const long socket = strtol(text, &end, 10);
    if (end != text && socket >= 0 && socket < MOST_SOCKETS) seen[socket] = true;
  }
  closedir(folder);
  if (!sockets) return count;
  count = 0;
  for (int i = 0; i < MOST_SOCKETS; i++) count += seen[i];
  return count;
}

static void record_processors(bool shown, dm_record *record) {
  static const char cpus_at[] = "/sys/devices/system/cpu", nodes_at[] = "/sys/devices/system/node";
  char cpus[64], numa[64];
  facts_read_line("/sys/devices/system/cpu/online", cpus);
  facts_read_line("/sys/devices/system/node/online", numa);
  const int64_t sockets = count_entries(cpus_at, "cpu", true);
  dm_record_integer(record, "machine.cores", shown ? "cores" : NULL, DM_SHOWN_PLAIN,
                    sysconf(_SC_NPROCESSORS_ONLN));
  dm_record_integer(record, "machine.sockets", NULL, DM_SHOWN_PLAIN, sockets);
  dm_record_integer(record, "machine.numa_nodes", NULL, DM_SHOWN_PLAIN,
                    count_entries(nodes_at, "node", false));
  dm_record_text(record, "machine.topology", shown ? "topology" : NULL,
                 "CPUs %s, sockets: %lld, NUMA nodes %s", cpus, (long long)sockets, numa);
  dm_record_integer(record, "machine.memory_bytes", shown ? "memory" : NULL, DM_SHOWN_BYTES,
                    dm_memory_total());
}

static void record_software(bool shown, dm_record *record) {
  struct utsname system;
  char text[256];
  if (uname(&system) == 0)
    dm_record_text(record, "machine.system", shown ? "system" : NULL, "%s %s %s", system.sysname,
                   system.release, system.machine);
  dm_comm_library(text, sizeof text);
  dm_record_text(record, "libraries.mpi", shown ? "MPI" : NULL, "%s", text);
  dm_h5_library(text, sizeof text);
  dm_record_text(record, "libraries.hdf5", shown ? "HDF5" : NULL, "%s", text);
  dm_record_text(record, "build.compiler", shown ? "compiler" : NULL, "%s, %s", DM_COMPILER,
                 DM_BUILD_TYPE);
}

static double facts_known(double value) {
  return value > 0 ? value : NAN;
}

static void *facts_describe(void *context) {
  dm_gpu_facts *facts = context;
  dm_nvml_describe(facts->uuid, &facts->found);
  return NULL;
}

static void await(dm_gpu_facts *facts) {
  if (facts->threaded) pthread_join(facts->thread, NULL);
  facts->threaded = false;
}

void dm_gpu_facts_ask(dm_gpu_facts **facts, const char *uuid) {
  if (!uuid[0] || strlen(uuid) >= sizeof(*facts)->uuid) return;
  if (*facts && strcmp((*facts)->uuid, uuid) == 0) return;
  dm_gpu_facts_close(*facts);
  dm_gpu_facts *new = *facts = calloc(1, sizeof *new);
  if (!new) return; /* records say less */
  strcpy(new->uuid, uuid);
  new->threaded = pthread_create(&new->thread, NULL, facts_describe, new) == 0;
  if (!new->threaded) facts_describe(new);
}

void dm_gpu_facts_close(dm_gpu_facts *facts) {
  if (facts) await(facts);
  free(facts);
}

static void record_gpu(dm_gpu_facts *gpu, dm_record *record) {
  await(gpu);
  const dm_nvml_facts facts = gpu->found;
  dm_record_text(record, "machine.driver", NULL, "%s", facts.driver);
  dm_record_integer(record, "machine.nvlinks", NULL, DM_SHOWN_PLAIN, facts.nvlinks);
  dm_record_text(record, "machine.gpu_links", NULL, "%s", facts.links);
  dm_record_real(record, "machine.gpu_clock_most_hz", NULL, DM_SHOWN_PLAIN,
                 facts_known(facts.clock));
  dm_record_real(record, "machine.gpu_power_limit_W", NULL, DM_SHOWN_PLAIN,
                 facts_known(facts.power));
}

void dm_facts_record(dm_gpu_facts *gpu, bool shown, dm_record *record) {
  record_software(shown, record);
  record_processors(shown, record);
  if (gpu) record_gpu(gpu, record);
}

void dm_facts_file_system(const char *name, const char *path, dm_record *record) {
  char text[DM_FILE_SYSTEM], where[64];
  snprintf(where, sizeof where, "files.%s_system", name);
  dm_record_text(record, where, NULL, "%s", dm_file_file_system(path, text));
}
