/* Partitions as described by sinfo. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan_slurm.h"
#include "core/checked.h"
#include "core/units.h"

/* The rest of a node's memory is left to the system and libraries. */
static const double usable = 0.85;

/* One line of sinfo: identical nodes of a partition. */
typedef struct line {
  char name[128], nodes[32], cpus[32], megabytes[32], gres[256], limit[32];
} line;

static bool read_line(const char *text, line *l) {
  return sscanf(text, "%127[^|]|%31[^|]|%31[^|]|%31[^|]|%255[^|]|%31[^|\n]", l->name, l->nodes,
                l->cpus, l->megabytes, l->gres, l->limit) == 6;
}

/* "debug*": the star marks the default. */
static bool is_wanted(line *l, const char *wanted) {
  char *star = strchr(l->name, '*');
  if (star) *star = '\0';
  return wanted[0] ? strcmp(l->name, wanted) == 0 : star != NULL;
}

/* Parses "gpu:h100:8(S:0-1)" or "gpu:8"; other resources may precede it. */
static int gpus_of(const char *gres, char type[32]) {
  const char *at = strstr(gres, "gpu:");
  int count = 0;
  type[0] = '\0';
  if (!at) return 0;
  if (sscanf(at, "gpu:%d", &count) == 1) return count;
  return sscanf(at, "gpu:%31[^:,(]:%d", type, &count) == 2 ? count : type[0] ? 1 : 0;
}

/* The planner's name of a GPU: "nvidia_h100_80gb" is an h100. */
static const char *known_gpu(const char *type) {
  const char *const *known = dm_machine_gpus();
  for (int i = 0; known[i]; i++)
    if (strstr(type, known[i])) return known[i];
  return NULL;
}

static dm_status describe(const line *l, dm_partition *p) {
  char words[160], type[32];
  int nodes = atoi(l->nodes), cpus = (int)dm_max(1, atoi(l->cpus));
  p->gpus = gpus_of(l->gres, type);
  for (char *c = type; *c; c++)
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  const char *gpu = p->gpus ? known_gpu(type) : NULL;
  if (p->gpus && !gpu)
    return dm_hint(
        dm_fail(DM_E_USAGE, "the GPUs of partition %s are of unknown type: %s", l->name, l->gres),
        "describe it: --machine \"nodes=%d gpus=%d gpu=h100\"", nodes, p->gpus);
  if (nodes < 1) return dm_fail(DM_E_USAGE, "partition %s has no nodes", l->name);
  /* One rank per node on CPUs: its threads use all cores. */
  int ranks = p->gpus ? p->gpus : 1;
  p->cores = (int)dm_max(1, cpus / ranks);
  p->memory = (int64_t)atoll(l->megabytes) << 20;
  snprintf(p->name, sizeof p->name, "%s", l->name);
  if (strcmp(l->limit, "infinite") == 0 || !dm_parse_duration(l->limit, &p->time_limit))
    p->time_limit = 0;
  snprintf(words, sizeof words, "nodes=%d cores=%d %s%s %s=%d", nodes, p->cores, gpu ? "gpu=" : "",
           gpu ? gpu : "", gpu ? "gpus" : "ranks", ranks);
  DM_TRY(dm_machine_parse(words, &p->machine));
  p->machine.host_bytes = (int64_t)((double)p->memory * usable / ranks);
  return DM_OK;
}

dm_status dm_partition_parse(const char *text, const char *name, dm_partition *partition) {
  line best = {0};
  *partition = (dm_partition){0};
  for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
    line one;
    if (!read_line(at, &one) || !is_wanted(&one, name)) continue;
    if (atoi(one.nodes) > atoi(best.nodes)) best = one; /* the largest group of identical nodes */
  }
  if (best.name[0]) return describe(&best, partition);
  return dm_hint(name[0] ? dm_fail(DM_E_USAGE, "sinfo knows no partition '%s'", name)
                         : dm_fail(DM_E_USAGE, "sinfo knows no default partition"),
                 "--partition names one, or --machine describes one");
}

dm_status dm_partition_detect(const char *name, dm_partition *partition) {
  static const char command[] = "sinfo --noheader --format='%P|%D|%c|%m|%G|%l' 2>/dev/null";
  char text[64 * 1024];
  FILE *sinfo = popen(command, "r");
  size_t size = sinfo ? fread(text, 1, sizeof text - 1, sinfo) : 0;
  text[size] = '\0';
  if (!sinfo || pclose(sinfo) != 0)
    return dm_hint(dm_fail(DM_E_USAGE, "sinfo failed: is Slurm installed here?"),
                   "--machine \"nodes=16 gpus=8 gpu=h200\" describes the partition");
  return dm_partition_parse(text, name, partition);
}
