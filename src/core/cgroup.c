#include "core/cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"

enum { CGROUP_PATH = 1024, CGROUP_ROOM = 256 };

/* A group's folder: version 2 has one tree for all controllers, version 1 one tree for each. */
typedef struct cgroup_group {
  char path[CGROUP_PATH];
  size_t top; /* length of the mount point's path in CGROUP_PATH */
  bool first; /* version 1 */
} cgroup_group;

static bool cgroup_names(const char *list, const char *controller) {
  const size_t length = strlen(controller);
  for (const char *at = strstr(list, controller); at; at = strstr(at + 1, controller))
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return true;
  return false;
}

static bool cgroup_exists(const char *path) {
  FILE *file = fopen(path, "r");
  if (file) fclose(file);
  return file != NULL;
}

/* In a container, the group's path may not exist below the mount point, which is then the group
 * itself. */
static void cgroup_locate(const char *root, const char *mount, const char *path, cgroup_group *g) {
  char member[CGROUP_PATH + 32];
  g->top = (size_t)snprintf(g->path, sizeof g->path, "%.256s%s", root, mount);
  snprintf(g->path + g->top, sizeof g->path - g->top, "%.512s", strcmp(path, "/") ? path : "");
  snprintf(member, sizeof member, "%s/cgroup.procs", g->path);
  if (!cgroup_exists(member)) g->path[g->top] = 0;
}

/* With both versions mounted, a controller is in one of them; version 1 has precedence. */
static bool find_group(const char *root, const char *controller, cgroup_group *g) {
  char line[CGROUP_PATH], name[CGROUP_PATH], unified[CGROUP_PATH] = "";
  snprintf(name, sizeof name, "%.256s/proc/self/cgroup", root);
  FILE *file = fopen(name, "r");
  if (!file) return false;
  *g = (cgroup_group){.first = false};
  while (!g->first && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *path++ = 0;
    if (!controllers[1]) snprintf(unified, sizeof unified, "%s", path);
    g->first = cgroup_names(controllers + 1, controller);
    if (!g->first) continue;
    snprintf(name, sizeof name, "/sys/fs/cgroup/%s", controller);
    cgroup_locate(root, name, path, g);
  }
  fclose(file);
  if (!g->first) cgroup_locate(root, "/sys/fs/cgroup", unified, g);
  return true;
}

/* Moves to the parent group; false at the top. */
static bool cgroup_leave(cgroup_group *g) {
  char *slash = strrchr(g->path + g->top, '/');
  if (!slash) return false;
  *slash = 0;
  return true;
}

static bool cgroup_read_line(const cgroup_group *g, const char *name, char text[CGROUP_ROOM]) {
  char path[CGROUP_PATH + 64];
  snprintf(path, sizeof path, "%s/%s", g->path, name);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const bool read = fgets(text, CGROUP_ROOM, file) != NULL;
  fclose(file);
  return read;
}

static int64_t number_in(const cgroup_group *g, const char *name) {
  char text[CGROUP_ROOM];
  int64_t value;
  return cgroup_read_line(g, name, text) && sscanf(text, "%" SCNd64, &value) == 1 ? value : 0;
}

static double cores_of(const cgroup_group *g) {
  char text[CGROUP_ROOM];
  double quota = 0, period = 0;
  if (g->first) {
    quota = (double)number_in(g, "cpu.cfs_quota_us"); /* -1: no limit */
    period = (double)number_in(g, "cpu.cfs_period_us");
  } else if (!cgroup_read_line(g, "cpu.max", text) ||
             sscanf(text, "%lf %lf", &quota, &period) != 2) {
    return 0; /* "max" */
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

double dm_cgroup_cores(const char *root) {
  cgroup_group g;
  double least = 0;
  if (!find_group(root, "cpu", &g)) return 0;
  do {
    const double cores = cores_of(&g);
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
  } while (cgroup_leave(&g));
  return least;
}

static int64_t clean_pages(const cgroup_group *g) {
  char path[CGROUP_PATH + 64], line[CGROUP_ROOM];
  int64_t bytes = 0;
  snprintf(path, sizeof path, "%s/memory.stat", g->path);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, g->first ? "total_inactive_file %" SCNd64 : "inactive_file %" SCNd64,
               &bytes) == 1)
      break;
  if (file) fclose(file);
  return bytes;
}

static int64_t limit_of(const cgroup_group *g) {
  const int64_t most = INT64_MAX / 4; /* version 1 states no limit as a number near 2^63 */
  const int64_t limit = number_in(g, g->first ? "memory.limit_in_bytes" : "memory.max");
  return limit < most ? limit : 0;
}

static int64_t least_memory(const char *root, bool left) {
  cgroup_group g;
  int64_t least = 0;
  if (!find_group(root, "memory", &g)) return 0;
  do {
    int64_t bytes = limit_of(&g);
    if (bytes <= 0) continue;
    if (left) {
      const int64_t used = number_in(&g, g.first ? "memory.usage_in_bytes" : "memory.current");
      bytes = dm_max(1, bytes - dm_max(0, used - clean_pages(&g)));
    }
    if (least == 0 || bytes < least) least = bytes;
  } while (cgroup_leave(&g));
  return least;
}

int64_t dm_cgroup_memory(const char *root) {
  return least_memory(root, false);
}

int64_t dm_cgroup_memory_left(const char *root) {
  return least_memory(root, true);
}
